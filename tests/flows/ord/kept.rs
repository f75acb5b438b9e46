//! Restarts that keep the answers of the former life, and the warning without that (ORD-22); a sleep whose time is restored (ORD-27).

use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, at};
use crate::ord::amend::patch;

/// Asks for a payment, and then does what may fail with its answer.
const PAYS: &str = r#"initialState: pay
states:
  pay:
    actions:
      - http: {method: POST, url: "${config.demo}/pay", headers: {X-Callback-Url: "${request.url}"}, body: {n: 0}, request: payment}
      - each: {in: "${params.parts}", as: part, actions: [{http: {method: POST, url: "${config.demo}/part", headers: {X-Callback-Url: "${request.url}"}, body: {part: "${part}"}, request: parts}}]}
      - wait: {timeout: 1m}
    on: {wait: waiting, fail: failed}
  waiting: {kind: waiting, on: {callback: charged, timeout: failed}}
  charged:
    entryPoint: true
    actions:
      - script: 'vars.code = callbacks.payment.body.code; vars.parts = callbacks.parts.len()'
      - http: {method: POST, url: "${config.demo}/book", body: {code: "${vars.code}", parts: "${vars.parts}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

fn bodies(engine: &Installation, path: &str) -> Vec<Value> {
    engine.world().calls(path).into_iter().map(|call| call.body).collect()
}

#[tokio::test]
async fn ord_22_a_restart_keeps_the_callbacks_of_the_former_life_or_warns_that_the_state_reads_them() {
    let engine = Installation::start("ord_22_kept").await;
    engine.scenario("pays", PAYS).await;
    for path in ["/pay", "/part"] {
        engine.world().program(Program::at(path).calling_back(CallBack::with(json!({"code": 7}))));
    }
    engine.world().program(Program::at("/book").fail(2, 500));
    engine.run(json!({"id": "a", "scenario": "pays", "params": {"parts": [1, 2, 3]}}), "fail").await;
    let expected = json!({"code": 7, "parts": 3});
    assert_eq!(bodies(&engine, "/book"), std::slice::from_ref(&expected));

    // Without the answers the state cannot run, and the answer to the restart says so.
    let warned = engine.act("a", "restart", &json!({"reason": "again"})).await.success().unwrap();
    let note = warned["note"].as_str().unwrap();
    assert!(
        note.contains("`callbacks.parts`, `callbacks.payment`") && note.contains("keepCallbacks"),
        "{note}"
    );
    let failed = engine.reach("a", "fail").await;
    assert_eq!(failed["error"]["class"], "script.error", "{failed}");

    // That life has none to keep; those before it are over.
    let again = json!({"reason": "again", "keepCallbacks": true});
    engine.act("a", "restart", &again).await.success().unwrap();
    assert_eq!(engine.reach("a", "fail").await["error"]["class"], "script.error");

    // A new payment, and from then on the answers are kept from life to life.
    engine.act("a", "restart", &json!({"reason": "pay again", "from": "initial"})).await.success().unwrap();
    engine.reach("a", "fail").await;
    assert_eq!(bodies(&engine, "/book").len(), 2);
    let kept = engine.act("a", "restart", &again).await.success().unwrap();
    assert_eq!(kept["note"], Value::Null);
    let done = engine.reach("a", "success").await;
    assert_eq!(bodies(&engine, "/book"), [expected.clone(), expected.clone(), expected]);
    assert_eq!(bodies(&engine, "/pay").len(), 2, "nobody was asked to pay a third time");
    assert_eq!(done["vars"]["code"], 7);
    let shown = engine.part("a", "callbacks").await;
    let lives: Vec<i64> = shown.as_array().unwrap().iter().filter_map(|one| one["life"].as_i64()).collect();
    assert_eq!(lives.iter().filter(|life| **life == done["life"].as_i64().unwrap()).count(), 4, "{lives:?}");

    // From the initial state, a request of the new life counts instead of what was kept.
    engine.world().program(Program::at("/pay").calling_back(CallBack::with(json!({"code": 8}))));
    let initial = json!({"reason": "once more", "from": "initial", "keepCallbacks": true});
    engine.act("a", "restart", &initial).await.success().unwrap();
    assert_eq!(engine.reach("a", "success").await["vars"]["code"], 8);
    let wrong = engine.act("a", "restart", &json!({"keepCallbacks": "yes"})).await;
    assert_eq!((wrong.status, &wrong.body["pointer"]), (422, &json!("/keepCallbacks")));
}

#[tokio::test]
async fn ord_27_without_a_start_a_sleeper_sleeps_as_long_as_its_scenario_said() {
    let engine = Installation::start("ord_27_restored").await;
    let sleeper = "initialState: s\nstates:\n  s: {actions: [{sleep: {for: 1h}}], on: {sleep: z}}\n  \
                   z: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("sleep", sleeper).await;
    let slept = engine.run(json!({"id": "a", "scenario": "sleep"}), "sleep").await;
    let due = |order: &Value| at(order, "dueAt");
    for year in ["2098", "2099"] {
        let moved = json!({"lifecycle": {"startAt": format!("{year}-01-01T00:00:00Z")}});
        assert_eq!(patch(&engine, "a", moved).await.status, 200);
    }
    let moved = engine.order("a").await.unwrap();
    assert!(moved["dueAt"].as_str().unwrap().starts_with("2099"), "{moved}");
    for _ in 0..2 {
        assert_eq!(patch(&engine, "a", json!({"lifecycle": {"startAt": null}})).await.status, 200);
        let restored = engine.order("a").await.unwrap();
        assert_eq!((due(&restored), &restored["startAt"]), (due(&slept), &Value::Null), "{restored}");
    }
    let now = pagurus(&["--server", engine.base(), "order", "update", "a", "--start-at", "now"]).await;
    assert!(now.status.success(), "{now:?}");
    engine.reach("a", "success").await;
}
