//! Orders that stand still (REC-4), and orders that outlive their time (REC-5).

use lapin::options::BasicConsumeOptions;
use lapin::types::FieldTable;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, until};

const IDLE: (&str, &str) = ("PAGURUS__RECOVERY__TIMEOUTS__IDLE", "1500ms");

/// Returns the causes that the idle look has reported of an order so far.
async fn causes(engine: &Installation, id: &str) -> Vec<String> {
    let events = engine.part(id, "events").await;
    let idle = events.as_array().unwrap().iter().filter(|event| event["kind"] == "idle");
    idle.map(|event| event["payload"]["name"].as_str().unwrap().to_owned()).collect()
}

async fn tells(engine: &Installation, id: &str, cause: &str) {
    until(&format!("`{cause}` of {id}"), PATIENCE, async || {
        causes(engine, id).await.iter().any(|one| one == cause)
    })
    .await;
    let log = engine.part(id, "log").await.to_string();
    assert!(log.contains("made no progress, found by activator-1"), "{log}");
}

#[tokio::test]
async fn rec_4_the_idle_look_says_who_is_missing_and_leaves_what_waits_alone() {
    let mut engine = Installation::only("rec_4", &[Role::Intake, Role::Activator], &[IDLE]).await;
    engine.actions("one", &call("/do")).await;
    engine.accepted(json!({"id": "a", "scenario": "one"})).await;
    tells(&engine, "a", "no_dispatcher").await;
    engine.add(Role::Dispatcher, "dispatcher-1").await;
    tells(&engine, "a", "no_worker").await;
    // Not at each look, but once in a period.
    assert!(causes(&engine, "a").await.len() <= 12, "{:?}", causes(&engine, "a").await);
    engine.add(Role::Worker, "worker-1").await;
    engine.reach("a", "success").await;
    assert_eq!(engine.world().calls("/do").len(), 1);
}

#[tokio::test]
async fn rec_4_a_task_that_no_program_takes_is_reported() {
    let engine = Installation::with("rec_4_actor", &[IDLE]).await;
    engine.actions("asks", "- actor: {name: scoring, workTimeout: 1h}").await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "wait").await;
    tells(&engine, "a", "no_consumer").await;
    let explained = engine.part("a", "explain").await.to_string();
    assert!(explained.contains("no program takes tasks of actor `scoring`"), "{explained}");
    // The gauge that alerts go by: known to activators only.
    let series = "pagurus_actor_consumers{actor=\"scoring\"}";
    consumers_become(&engine, series, "0.0").await;
    let amqp = engine.env().amqp().await.unwrap();
    let queue = format!("{}.actors.scoring", engine.env().prefix());
    let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
    amqp.channel().basic_consume(queue.as_str().into(), "program".into(), options, arguments).await.unwrap();
    consumers_become(&engine, series, "1.0").await;
    engine.act("a", "kill", &json!({"reason": "nobody waits any more"})).await;
    consumers_become(&engine, series, "NaN").await;
}

async fn consumers_become(engine: &Installation, series: &str, value: &str) {
    let line = format!("{series} {value}");
    until(&line, PATIENCE, async || {
        let page = engine.env().http().get(format!("{}/metrics", engine.node(Role::Activator).url()));
        page.send().await.unwrap().text().await.unwrap().lines().any(|one| one == line)
    })
    .await;
}

/// A wait of an hour in a state that says what follows when the time of the whole order is over.
const HANDLED: &str = "timeouts: {process: 2s}
initialState: a
targetStates: [done]
states:
  a: {entryPoint: true, actions: [{sleep: {for: 1h}}], on: {sleep: rests}}
  rests: {kind: sleeping, on: {timeout: done, \"timeout:process\": late}}
  late:
    actions:
      - http: {method: POST, url: \"${config.demo}/late\", body: {order: \"${order.id}\", why: \"${error.class}\"}, timeout: 5s}
    on: {success: given-up, fail: failed}
  done: {kind: terminal}
  given-up: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

const SILENT: &str = "timeouts: {process: 2s}
initialState: a
targetStates: [done]
states:
  a: {entryPoint: true, actions: [{sleep: {for: 1h}}], on: {sleep: rests}}
  rests: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
";

#[tokio::test]
async fn rec_5_an_order_over_its_time_goes_on_where_its_state_says_so_and_fails_elsewhere() {
    let engine = Installation::start("rec_5").await;
    engine.scenario("told", HANDLED).await;
    engine.scenario("silent", SILENT).await;
    engine
        .scenario(
            "runs",
            &HANDLED
                .replace(
                    "{sleep: {for: 1h}}",
                    "{http: {method: POST, url: \"${config.demo}/slow\", timeout: 20s}}, {sleep: {for: 1h}}",
                )
                .replace("on: {sleep: rests}", "on: {sleep: rests, fail: failed}"),
        )
        .await;
    let slow = std::time::Duration::from_secs(4);
    engine.world().program(pagurus_harness::world::program::Program::at("/slow").delayed(slow));
    for scenario in ["told", "runs", "silent"] {
        engine.accepted(json!({"id": scenario, "scenario": scenario})).await;
    }
    for id in ["told", "runs"] {
        let order = engine.reach(id, "success").await;
        assert_eq!(order["step"], "given-up", "{order}");
        let moves: Vec<Value> =
            engine.transitions(id).await.unwrap().iter().map(|one| one["event"].clone()).collect();
        assert!(moves.contains(&json!("timeout:process")), "{moves:?}");
    }
    let order = engine.reach("silent", "fail").await;
    assert_eq!(order["error"]["class"], "process.timeout", "{order}");
    let calls = engine.world().calls("/late");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call.body["why"] == "process.timeout"), "{calls:?}");
}
