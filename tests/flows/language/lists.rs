//! Lists, events of their own, and faults with their places on the real servers (SCN-16, SCN-17, SCN-18).

use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::json;

use super::path;
use crate::err::policy;
use crate::installation::Installation;

const SOON: &str = "{initial_interval: 200ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 4}";

#[tokio::test]
async fn scn_17_each_element_is_called_once_for_good_and_its_request_answered() {
    let engine = Installation::with("scn_17", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    engine.world().program(Program::at("/line/b").fail(1, 503));
    let answering = Step { callback: Some(CallBack::with(json!({"fine": true}))), ..Step::fine() };
    for name in ["x", "y", "z"] {
        engine.world().program(Program::at(format!("/ask/{name}")).then(answering.clone()));
    }
    let text = r#"initialState: a
states:
  a:
    actions:
      - each:
          in: "${params.lines}"
          atOnce: 2
          actions: [{http: {method: POST, url: "${config.demo}/line/${item}"}}]
          save: {statuses: "${response.status}", names: "${item}"}
      - each:
          in: [x, y, z]
          actions: [{http: {method: POST, url: "${config.demo}/ask/${item}", headers: {X-Callback-Url: "${request.url}"}, request: asked}}]
      - wait: {timeout: 20s}
    on: {wait: w, fail: failed}
  w: {kind: waiting, on: {callback: b, timeout: failed}}
  b:
    actions: [{script: 'result(#{names: vars.names, statuses: vars.statuses, fine: callbacks.asked.map(|one| one.body.fine)}); event("well")'}]
    on: {well: done, success: failed, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("lists", text).await;
    let lines = ["a", "b", "c", "d", "e"];
    let order = json!({"id": "o", "scenario": "lists", "params": {"lines": lines}});
    let order = engine.run(order, "success").await;
    let expected = json!({"names": lines, "statuses": [200, 200, 200, 200, 200], "fine": [true, true, true]});
    assert_eq!(order["result"], expected, "{order}");
    for (line, count) in [("a", 1), ("b", 2), ("c", 1), ("d", 1), ("e", 1)] {
        let calls = engine.world().calls(&format!("/line/{line}"));
        assert_eq!(calls.len(), count, "{line}");
        assert!(
            calls.iter().all(|call| call.headers["idempotency-key"] == calls[0].headers["idempotency-key"])
        );
    }
    assert_eq!(path(&engine, "o").await, ["a", "w", "b", "done"]);
    let moved = &order["transitions"].as_array().unwrap().last().unwrap()["event"];
    assert_eq!(*moved, "well", "the history names the event: {order}");
}

/// Silence is repeated soon.
const SILENT: &str = "{async: {classification: {rules: {r: {requests: {http: [{path: \"/**\"}]}, classes: {\
    asked.silent: {timeout: true}}}}}, retry: {policies: {p: {error_classes: [asked.silent], \
    parameters: {initial_interval: 200ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 3}}}}}}";

#[tokio::test]
async fn err_13_a_repeat_over_another_list_asks_what_was_not_answered() {
    let engine = Installation::with("err_13_list", &[("PAGURUS__EXECUTION__ERROR_HANDLING", SILENT)]).await;
    let all = Step::answer(200, json!(["a", "b", "c"]));
    engine.world().program(Program::at("/list").first(1, &all).then_answer(200, json!(["b"])));
    for name in ["a", "b", "c"] {
        let answering = Step { callback: Some(CallBack::with(json!({"of": name}))), ..Step::fine() };
        let silent = usize::from(name == "b");
        engine
            .world()
            .program(Program::at(format!("/ask/{name}")).first(silent, &Step::fine()).then(answering));
    }
    let text = r#"initialState: a
states:
  a:
    entryPoint: true
    actions:
      - http: {url: "${config.demo}/list"}
      - each:
          in: "${response.body}"
          actions: [{http: {method: POST, url: "${config.demo}/ask/${item}", headers: {X-Callback-Url: "${request.url}"}, request: asked}}]
      - wait: {timeout: 2s}
    on: {wait: w, fail: failed}
  w: {kind: waiting, retryFailedOnly: true, on: {callback: b, timeout: failed}}
  b: {actions: [{script: 'result(callbacks.asked.map(|one| one.body.of))'}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("left", text).await;
    let order = engine.run(json!({"id": "o", "scenario": "left"}), "success").await;
    assert_eq!(order["result"], json!(["b"]), "{order}");
    let counts = ["a", "b", "c"].map(|name| engine.world().calls(&format!("/ask/{name}")).len());
    assert_eq!(counts, [1, 2, 1], "{order}");
}

#[tokio::test]
async fn scn_17_a_call_that_leaves_a_list_finds_what_went_through_saved() {
    let later = "{initial_interval: 1h, multiplier: 1, max_interval: 1h, jitter: 0, max_attempts: 4}";
    let engine =
        Installation::with("scn_17_left", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(later))]).await;
    engine.world().program(Program::at("/reserve/x").then_answer(200, json!({"id": "r-1"})));
    engine.world().program(Program::at("/reserve/y").fail(9, 503));
    let text = r#"initialState: a
states:
  a:
    actions:
      - each:
          in: [x, y]
          actions: [{http: {method: POST, url: "${config.demo}/reserve/${item}"}}]
          save: {got: "${response.body.id}"}
    on: {success: done, fail: undo, "call:stop": undo}
  undo:
    actions:
      - each:
          in: "${vars.got.filter(|id| id != ())}"
          actions: [{http: {method: DELETE, url: "${config.demo}/release/${item}"}}]
    on: {success: stopped, fail: stopped}
  done: {kind: terminal}
  stopped: {kind: terminal, outcome: fail}
"#;
    engine.scenario("reserves", text).await;
    engine.accepted(json!({"id": "o", "scenario": "reserves"})).await;
    engine.reach("o", "retry").await;
    let said = engine.act("o", "calls", &json!({"name": "stop", "key": "k"})).await;
    assert!(said.status < 300, "{said:?}");
    let order = engine.reach("o", "fail").await;
    assert_eq!(engine.world().calls("/release/r-1").len(), 1, "{order}");
    assert_eq!(path(&engine, "o").await, ["a", "undo", "stopped"]);
}

#[tokio::test]
async fn scn_18_a_fault_at_run_time_is_shown_with_its_place() {
    let engine = Installation::start("scn_18").await;
    let text = "initialState: a\nstates:\n  a:\n    actions:\n      - script: |\n          let n = params?.n ?? 1;\n          \
                vars.m = params.missing + n;\n    on: {success: done, fail: failed}\n  done: {kind: terminal}\n  \
                failed: {kind: terminal, outcome: fail}\n";
    engine.scenario("broken", text).await;
    let order = engine.run(json!({"id": "o", "scenario": "broken"}), "fail").await;
    let message = order["error"]["message"].as_str().unwrap();
    // Name and kind stand in front of the text.
    let begin =
        "scenario `broken`, line 9, column 27, state `a`, action 1 (`script`): there is no field `missing`;";
    assert!(message.starts_with(begin), "{message}");
}
