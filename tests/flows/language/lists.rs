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
