//! Requests whose answer is not wanted any more (SCN-22): the called system is notified, whatever ends the wait, and whatever dies.

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, until};

/// A scenario that asks for a job, waits for its answer, and says how the job is canceled.
fn asking(timeout: &str) -> String {
    format!(
        r#"initialState: ask
targetStates: [done]
states:
  ask:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${{config.demo}}/ask"
          headers: {{X-Callback-Url: "${{request.url}}"}}
          body: {{order: "${{order.id}}"}}
          timeout: 5s
          request: job
          cancel:
            http:
              method: POST
              url: "${{config.demo}}/cancel"
              auth: {{bearer: "${{secret.job_key}}"}}
              body: {{order: "${{order.id}}", job: "${{response.body.id}}", request: "${{request.id}}"}}
              timeout: 2s
      - wait: {{timeout: {timeout}}}
    on: {{wait: asked, fail: failed}}
  asked: {{kind: waiting, on: {{callback: done, timeout: failed, "call:stop": failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}
"#
    )
}

async fn engine(name: &str, timeout: &str) -> Installation {
    let engine = Installation::with(name, &[("PAGURUS_SECRET_JOB_KEY", "s3cr3t-of-jobs")]).await;
    engine.world().program(Program::at("/ask").then_answer(202, json!({"id": "j-1"})));
    engine.scenario("asks", &asking(timeout)).await;
    engine
}

/// The state of the call that gives up the one request of an order, as soon as it is this.
async fn heard(engine: &Installation, id: &str, state: &str) -> Value {
    let mut last = Value::Null;
    until(&format!("`{state}` of `{id}`"), PATIENCE, async || {
        last = engine.part(id, "requests").await;
        last.as_array().unwrap().iter().any(|request| request["cancel"] == state)
    })
    .await;
    last
}

#[tokio::test]
async fn scn_22_whatever_ends_the_wait_the_called_system_is_notified_once() {
    let engine = engine("scn_22_ends", "10m").await;
    engine.scenario("short", &asking("300ms")).await;
    for id in ["kill", "repair", "stop", "restart"] {
        engine.accepted(json!({"id": id, "scenario": "asks"})).await;
        engine.reach(id, "wait").await;
    }
    engine.act("kill", "kill", &json!({"reason": "nobody wants it"})).await.success().unwrap();
    engine.act("repair", "repair", &json!({"state": "ask", "reason": "by hand"})).await.success().unwrap();
    engine.post("/v1/orders/stop/calls?timeout=5s", &json!({"name": "stop", "key": "k"})).await.unwrap();
    engine.post("/v1/orders/restart/calls?timeout=5s", &json!({"name": "stop", "key": "k"})).await.unwrap();
    engine.reach("restart", "fail").await;
    engine.act("restart", "restart", &json!({})).await.success().unwrap();
    engine.reach("restart", "wait").await;
    engine.run(json!({"id": "timeout", "scenario": "short"}), "fail").await;
    for id in ["kill", "repair", "stop", "timeout", "restart"] {
        let requests = heard(&engine, id, "done").await;
        let first = &requests[0];
        assert!(["canceled", "timeout"].contains(&first["status"].as_str().unwrap()), "{id}: {requests}");
        let log = engine.part(id, "log").await.to_string();
        assert!(log.contains("request canceled") && !log.contains("s3cr3t"), "{id}: {log}");
    }
    let calls = engine.world().calls("/cancel");
    let mut orders: Vec<&str> = calls.iter().map(|call| call.body["order"].as_str().unwrap()).collect();
    orders.sort_unstable();
    assert_eq!(orders, ["kill", "repair", "restart", "stop", "timeout"], "once each");
    for call in &calls {
        assert_eq!(call.headers["authorization"], "Bearer s3cr3t-of-jobs");
        assert_eq!(call.body["job"], "j-1", "{call:?}");
        assert!(!call.headers["idempotency-key"].is_empty());
    }
    let database = engine.database().await;
    let stored = database.query("SELECT cancel FROM requests", &[]).await.unwrap();
    for row in stored {
        let text: String = row.get("cancel");
        assert!(!text.contains("s3cr3t") && text.contains("/cancel"), "{text}");
    }
    // The second life of the restarted order waits on.
    let requests = engine.part("restart", "requests").await;
    assert_eq!(
        (&requests[1]["status"], &requests[1]["cancel"]),
        (&json!("open"), &json!("ready")),
        "{requests}"
    );
}

#[tokio::test]
async fn scn_22_a_call_that_holds_a_nul_is_made_and_holds_up_no_other() {
    let engine = engine("scn_22_nul", "10m").await;
    engine.world().program(Program::at("/odd").then_answer(202, json!({"id": "j\0-1"})));
    let body = r#"body: {order: "${order.id}", job: "${response.body.id}", request: "${request.id}"}"#;
    let odd = asking("10m").replace("/ask", "/odd").replace(body, r#"body: {text: "${response.body.id}"}"#);
    assert!(odd.contains("text:"), "{odd}");
    engine.scenario("odd", &odd).await;
    for (id, scenario) in [("odd", "odd"), ("other", "asks")] {
        engine.run(json!({"id": id, "scenario": scenario}), "wait").await;
        engine.act(id, "kill", &json!({"reason": "nobody wants it"})).await.success().unwrap();
        heard(&engine, id, "done").await;
    }
    assert_eq!(engine.world().calls("/cancel").len(), 2);
}

#[tokio::test]
async fn scn_22_nobody_is_notified_of_what_was_answered() {
    let engine = engine("scn_22_answered", "10m").await;
    let answering = Program::at("/ask").then_answer(202, json!({"id": "j-1"}));
    engine.world().program(answering.calling_back(CallBack::with(json!({"code": 0}))));
    engine.run(json!({"id": "a", "scenario": "asks"}), "success").await;
    // One that is given up afterwards shows that the other would have been notified.
    engine.world().program(Program::at("/ask").then_answer(202, json!({"id": "j-2"})));
    engine.accepted(json!({"id": "b", "scenario": "asks"})).await;
    engine.reach("b", "wait").await;
    engine.act("b", "kill", &json!({"reason": "a test"})).await.success().unwrap();
    heard(&engine, "b", "done").await;
    let calls = engine.world().calls("/cancel");
    assert!(calls.iter().all(|call| call.body["order"] == "b"), "{calls:?}");
    let requests = engine.part("a", "requests").await;
    assert_eq!((&requests[0]["status"], requests[0].get("cancel")), (&json!("answered"), None), "{requests}");
}

#[tokio::test]
async fn scn_22_a_system_in_trouble_is_notified_again_under_the_same_key_and_one_that_refuses_is_not() {
    let engine = engine("scn_22_repeats", "10m").await;
    engine.world().program(Program::at("/cancel").fail(2, 503));
    engine.accepted(json!({"id": "a", "scenario": "asks"})).await;
    engine.reach("a", "wait").await;
    engine.act("a", "kill", &json!({"reason": "a test"})).await.success().unwrap();
    let requests = heard(&engine, "a", "done").await;
    assert_eq!(requests[0].get("cancelError"), None, "{requests}");
    let calls = engine.world().calls("/cancel");
    let keys: Vec<&String> = calls.iter().map(|call| &call.headers["idempotency-key"]).collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    engine.world().program(Program::at("/cancel").then(Step::answer(409, json!({}))));
    engine.accepted(json!({"id": "b", "scenario": "asks"})).await;
    engine.reach("b", "wait").await;
    engine.act("b", "kill", &json!({"reason": "a test"})).await.success().unwrap();
    let requests = heard(&engine, "b", "failed").await;
    let error = requests[0]["cancelError"].as_str().unwrap();
    assert!(error.contains("answered 409"), "{requests}");
    let log = engine.part("b", "log").await.to_string();
    assert!(log.contains("request not canceled") && log.contains("409"), "{log}");
    assert_eq!(engine.world().calls("/cancel").len(), 4);
}

#[tokio::test]
async fn scn_22_a_worker_that_dies_in_the_call_loses_nothing() {
    let mut engine = engine("scn_22_killed", "10m").await;
    engine.world().program(Program::at("/cancel").hang(1));
    engine.accepted(json!({"id": "a", "scenario": "asks"})).await;
    engine.reach("a", "wait").await;
    engine.act("a", "kill", &json!({"reason": "a test"})).await.success().unwrap();
    engine.calls("/cancel", 1).await;
    engine.node(Role::Worker).kill().await.unwrap();
    engine.add(Role::Worker, "other").await;
    let calls = engine.world().wait_calls("/cancel", 2, PATIENCE + Duration::from_secs(30)).await.unwrap();
    assert_eq!(calls[0].headers["idempotency-key"], calls[1].headers["idempotency-key"]);
    heard(&engine, "a", "done").await;
}
