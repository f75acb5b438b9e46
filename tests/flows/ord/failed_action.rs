//! Repairs that go on at the action that failed: what went through is not done again, whatever dies meanwhile (ORD-23).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, until};

/// Asks for a payment, charges each part, and books what was answered.
const PAYS: &str = r#"initialState: pay
states:
  pay:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/pay", headers: {X-Callback-Url: "${request.url}"}, body: {order: "${order.id}"}, request: payment}
      - wait: {timeout: 1m}
    on: {wait: waiting, fail: failed}
  waiting: {kind: waiting, on: {callback: charge, timeout: failed}}
  charge:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/open", body: {order: "${order.id}"}, name: opened}
      - each:
          in: "${params.parts}"
          as: part
          atOnce: 2
          actions:
            - http: {method: POST, url: "${config.demo}/charge/${part}", body: {order: "${order.id}"}, timeout: 30s}
          save: {charged: "${response.body.n}"}
      - http: {method: POST, url: "${config.demo}/book", body: {order: "${order.id}", code: "${callbacks.payment.body.code}", charged: "${vars.charged}", opened: "${responses.opened.status}"}}
    on: {success: done, fail: tell}
  tell: {actions: [{log: "not charged"}, {script: 'vars.said = true'}], on: {success: failed, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

async fn engine(test: &str) -> Installation {
    let engine = Installation::start(test).await;
    engine.scenario("pays", PAYS).await;
    engine.world().program(Program::at("/pay").calling_back(CallBack::with(json!({"code": 7}))));
    for (part, n) in [("a", 1), ("b", 2), ("c", 3)] {
        engine.world().program(Program::at(format!("/charge/{part}")).then_answer(200, json!({"n": n})));
    }
    engine
}

fn order(id: &str) -> Value {
    json!({"id": id, "scenario": "pays", "params": {"parts": ["a", "b", "c"]}})
}

/// Output of the command line, and its exit code.
async fn cli(engine: &Installation, arguments: &[&str]) -> (String, i32) {
    let output = pagurus(&[&["--server", engine.base()], arguments].concat()).await;
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// The number of calls of a path.
fn calls(engine: &Installation, path: &str) -> usize {
    engine.world().calls(path).len()
}

#[tokio::test]
async fn ord_23_only_the_failed_element_is_done_again_though_its_worker_dies() {
    let mut engine = engine("ord_23_failed_action").await;
    engine.world().program(Program::at("/charge/b").fail(1000, 404));
    let failed = engine.run(order("o"), "fail").await;
    assert_eq!(
        failed["failedAction"],
        json!({"state": "charge", "action": 1, "kind": "each", "elementsDone": 1, "elements": 3})
    );
    let visited: Vec<&Value> =
        failed["entryPoints"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(visited, ["pay", "charge"], "{failed}");

    // The system is well again, and the worker dies in the middle of the repeat.
    engine.world().program(Program::at("/charge/b").hang(1).then_answer(200, json!({"n": 2})));
    let asked = json!({"failedAction": true, "reason": "the account is open again"});
    let answer = engine.act("o", "repair", &asked).await;
    assert_eq!((answer.status, &answer.body["life"]), (200, &json!(2)), "{answer:?}");
    engine.calls("/charge/b", 2).await;
    engine.node(Role::Worker).kill().await.unwrap();
    engine.restart(Role::Worker).await;
    let done = engine.reach("o", "success").await;
    assert_eq!(done["vars"]["charged"], json!([1, 2, 3]), "{done}");
    assert_eq!(done["failedAction"], Value::Null);
    let paths = ["/pay", "/open", "/charge/a"];
    assert_eq!(paths.map(|path| calls(&engine, path)), [1, 1, 1], "what went through is not done again");
    let booked = &engine.world().calls("/book")[0].body;
    assert_eq!(booked, &json!({"order": "o", "code": 7, "charged": [1, 2, 3], "opened": 200}));
    let charged = engine.world().calls("/charge/b");
    let keys: Vec<&String> = charged.iter().map(|call| &call.headers["idempotency-key"]).collect();
    assert_ne!(keys[0], keys[1], "another life");
    assert!(
        keys[2..].iter().all(|key| *key == keys[1]),
        "the repeat after the death has the same key: {keys:?}"
    );
    let log = engine.part("o", "log").await.to_string();
    assert!(log.contains("continues from the failed action 1 of state `charge`"), "{log}");
    let moves = engine.part("o", "transitions").await;
    assert!(moves.as_array().unwrap().iter().any(|one| one["event"] == "repair" && one["to"] == "charge"));
}

#[tokio::test]
async fn ord_23_orders_go_on_from_their_failed_actions_by_command_and_as_a_bulk() {
    let engine = engine("ord_23_failed_bulk").await;
    engine.world().program(Program::at("/charge/b").fail(1000, 404));
    for id in ["o-1", "o-2", "o-3"] {
        engine.run(order(id), "fail").await;
    }
    engine.world().program(Program::at("/charge/b").then_answer(200, json!({"n": 2})));
    let (shown, _) = cli(&engine, &["order", "get", "o-1"]).await;
    assert!(shown.contains("charge[1] (each), 1 of 3 elements went through"), "{shown}");
    let repair = ["order", "repair", "o-1", "--failed-action", "--reason", "mended"];
    let (said, code) = cli(&engine, &repair).await;
    assert_eq!(code, 0, "{said}");
    engine.reach("o-1", "success").await;
    let bulk = json!({"action": "repair", "search": {"status": "fail"}, "with": {"failedAction": true}, "reason": "mended"});
    engine.post("/v1/operations", &bulk).await.unwrap().success().unwrap();
    for id in ["o-2", "o-3"] {
        engine.reach(id, "success").await;
    }
    assert_eq!(["/open", "/charge/a", "/charge/b"].map(|path| calls(&engine, path)), [3, 3, 6]);

    // Nothing of an order that went well can be repaired, and one that never failed in an action has no such place.
    let asked = json!({"failedAction": true, "reason": "r"});
    assert_eq!(engine.act("o-1", "repair", &asked).await.status, 409);
    engine.world().program(Program::at("/pay").then_answer(202, json!({})));
    engine.accepted(order("waits")).await;
    engine.reach("waits", "wait").await;
    for (body, pointer) in [
        (asked, "/failedAction"),
        (json!({"failedAction": "yes", "reason": "r"}), "/failedAction"),
        (json!({"failedAction": true, "state": "charge", "reason": "r"}), "/state"),
        (json!({"action": 1, "reason": "r"}), "/state"),
        (json!({"state": "charge", "action": -1, "reason": "r"}), "/action"),
        (json!({"state": "charge", "action": 3, "reason": "r"}), "/action"),
    ] {
        let answer = engine.act("waits", "repair", &body).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{body}: {answer:?}");
    }
    // From an action by its number: the parts are charged, the account is not opened.
    let from = json!({"state": "charge", "action": 1, "reason": "it is open"});
    assert_eq!(engine.act("waits", "repair", &from).await.status, 200);
    until("it has come to the last action", Duration::from_secs(20), async || {
        calls(&engine, "/charge/c") == 4
    })
    .await;
    assert_eq!(calls(&engine, "/open"), 3);
}
