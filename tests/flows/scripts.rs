//! Scripts that would end their process (SCN-5, QLT-8).

use serde_json::json;

use crate::installation::{Installation, with_actions};

#[tokio::test]
async fn scn_5_qlt_8_a_script_that_nests_values_without_end_ends_its_order_and_no_process() {
    let engine = Installation::start("nesting").await;
    let mut ids = Vec::new();
    for (name, code) in [
        ("lists", "let a = []; for i in 0..5000 { a = [a]; } vars.x = a;"),
        ("maps", "let a = #{}; for i in 0..9000 { a = #{k: a}; } vars.n = 1;"),
        ("this", "fn f() { loop { this = [this]; } } let a = []; a.f();"),
    ] {
        let script = format!("- script: \"{code}\"");
        engine.actions(name, &script).await;
        ids.push(engine.accepted(json!({"id": name, "scenario": name})).await);
        let scenario = format!("scenario: {name}\nkind: workflow\n{}", with_actions(&script));
        let tests = "tests:\n  - {test: it fails, expect: {status: fail}}\n";
        let tried =
            engine.post("/v1/scenarios/test", &json!({"scenario": scenario, "tests": tests})).await.unwrap();
        assert_eq!((tried.status, &tried.body["passed"]), (200, &json!(true)), "{name}: {tried:?}");
    }
    for id in ids {
        let order = engine.reach(&id, "fail").await;
        assert_eq!(order["error"]["class"], "script.limit", "{order}");
        let attempt = "SELECT attempt FROM orders WHERE no = $1";
        let row = engine.database().await.query_one(attempt, &[&order["no"].as_i64()]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), 1, "no worker died of it: {order}");
    }
}
