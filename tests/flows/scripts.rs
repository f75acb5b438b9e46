//! Scripts that would end their process, or keep the others from theirs (SCN-5, QLT-8), and stages that workers die of (REC-3).

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::json;
use tokio::sync::watch;

use crate::installation::{Installation, LOG, PATIENCE, call, until, with_actions};

/// Takes longer than any test, with few operations.
const LONG: &str = "- script: |\n    let words = []; words.pad(9000, \"x\"); loop { words.sort(); }";
/// A script may take that long.
const ENDLESS: &[(&str, &str)] = &[
    ("PAGURUS__SCENARIO__SCRIPT__MAX_DURATION", "10m"),
    ("PAGURUS__SCENARIO__SCRIPT__MAX_OPERATIONS", "250000"),
];

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

#[tokio::test]
async fn scn_5_qlt_8_scripts_that_take_their_whole_time_delay_no_other_scenario() {
    let engine = Installation::with("long_scripts", ENDLESS).await;
    engine.actions("long", LONG).await;
    engine.actions("short", &format!("- script: \"vars.n = 1;\"\n{LOG}")).await;
    let ids: Vec<String> = (0..30).map(|number| format!("long-{number}")).collect();
    for id in &ids {
        engine.accepted(json!({"id": id, "scenario": "long"})).await;
    }
    let database = engine.database().await;
    until("all of them are with the worker", PATIENCE, async || {
        let row = database.query_one("SELECT count(*) FROM running", &[]).await.unwrap();
        row.get::<_, i64>(0) == 30
    })
    .await;
    for number in 0..5 {
        let order = json!({"id": format!("short-{number}"), "scenario": "short"});
        engine.run(order, "success").await;
    }
    for id in &ids {
        let order = engine.part(id, "status").await;
        assert_eq!(order["status"], "running", "the others were to go by while it runs: {order}");
    }
}

#[tokio::test]
async fn rec_3_a_stage_that_two_workers_died_of_is_not_given_to_a_third_and_its_neighbours_are() {
    let mut engine = Installation::with("rec_3_deadly", ENDLESS).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/held").first(100, &held));
    engine.actions("deadly", LONG).await;
    engine.actions("held", &call("/held")).await;
    let neighbours = ["a", "b", "c", "d"];
    engine.accepted(json!({"id": "deadly", "scenario": "deadly"})).await;
    for id in &neighbours[..3] {
        engine.accepted(json!({"id": id, "scenario": "held"})).await;
    }
    engine.calls("/held", 3).await;
    let database = engine.database().await;
    // Orders that are noted to be computed on a hand-out, and how many deaths are held against them.
    let computed = async |id: &str, attempt: i32, deaths: i16| {
        let query = "SELECT count(*) FROM suspects s JOIN orders o ON o.no = s.order_no
             WHERE o.id = $1 AND s.attempt = $2 AND s.deaths = $3 AND s.is_computed";
        until("it is computed", PATIENCE, async || {
            database.query_one(query, &[&id, &attempt, &deaths]).await.unwrap().get::<_, i64>(0) == 1
        })
        .await;
    };
    computed("deadly", 1, 0).await;
    let first = engine.node(Role::Worker).clone();
    let second = engine.add(Role::Worker, "worker-2").await;
    first.kill().await.unwrap();
    computed("deadly", 2, 1).await;
    // What stood beside it goes on, and so does what is new to the second worker.
    engine.accepted(json!({"id": "d", "scenario": "held"})).await;
    engine.calls("/held", 7).await;
    engine.add(Role::Worker, "worker-3").await;
    second.kill().await.unwrap();
    let order = engine.reach("deadly", "fail").await;
    assert_eq!(order["error"]["class"], "recovery.poison", "{order}");
    assert!(order["error"]["message"].as_str().unwrap().contains("last workers died"), "{order}");
    let attempt = database.query_one("SELECT attempt FROM orders WHERE id = 'deadly'", &[]).await.unwrap();
    assert_eq!(attempt.get::<_, i32>(0), 2, "the third worker was not given it: {order}");
    gate.send_replace(true);
    for id in neighbours {
        engine.reach(id, "success").await;
    }
}

#[tokio::test]
async fn scn_5_rec_9_a_worker_that_runs_a_long_script_is_drained_and_the_script_goes_to_another() {
    let grace = [ENDLESS, &[("PAGURUS__SHUTDOWN__GRACE", "500ms")]].concat();
    let mut engine = Installation::with("long_drain", &grace).await;
    engine.actions("long", LONG).await;
    engine.accepted(json!({"id": "long", "scenario": "long"})).await;
    let database = engine.database().await;
    let with = async |attempt: i32| {
        until("it is with a worker", PATIENCE, async || {
            let query = "SELECT count(*) FROM running WHERE attempt = $1";
            database.query_one(query, &[&attempt]).await.unwrap().get::<_, i64>(0) == 1
        })
        .await;
    };
    with(1).await;
    let first = engine.node(Role::Worker).clone();
    engine.add(Role::Worker, "worker-2").await;
    first.stop(PATIENCE).await.unwrap();
    with(2).await;
    // Its work time-out passes as for any other.
    database.execute("UPDATE running SET deadline_at = now()", &[]).await.unwrap();
    with(3).await;
}
