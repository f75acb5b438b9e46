//! Where the time of an order goes: each reason as it is lived through, with real waits, calls and stops.

use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use super::{resume, stop};
use crate::installation::{Installation, PATIENCE, until};

async fn ledger(engine: &Installation, id: &str) -> Value {
    engine.part(id, "ledger").await
}

/// Milliseconds of an order by reason; what does not add up ends the test.
fn shares(ledger: &Value) -> std::collections::BTreeMap<String, i64> {
    let mut sums = std::collections::BTreeMap::new();
    for share in ledger["shares"].as_array().unwrap() {
        *sums.entry(share["reason"].as_str().unwrap().to_owned()).or_default() +=
            share["ms"].as_i64().unwrap();
    }
    let total = ledger["totalMs"].as_i64().unwrap();
    assert_eq!(sums.values().sum::<i64>(), total, "{ledger}");
    let share: f64 =
        ledger["shares"].as_array().unwrap().iter().map(|one| one["share"].as_f64().unwrap()).sum();
    assert!(total == 0 || (share - 1.0).abs() < 1e-9, "{ledger}");
    let spans = ledger["spans"].as_array().unwrap();
    let mut at = ledger["from"].clone();
    for span in spans {
        assert_eq!(span["from"], at, "a gap or an overlap: {ledger}");
        at = span["until"].clone();
    }
    assert_eq!(at, ledger["until"], "{ledger}");
    sums
}

const LONG: &str = "initialState: ask
targetStates: [done]
states:
  ask:
    actions:
      - http: {method: POST, url: '${config.demo}/slow'}
      - http: {method: POST, url: '${config.demo}/ask', headers: {X-Callback-Url: '${request.url}'}, request: answer}
      - wait: {timeout: 1m}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: rest, timeout: failed}}
  rest: {actions: [{sleep: {for: 400ms}}], on: {sleep: resting}}
  resting: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

#[tokio::test]
async fn ord_32_calls_callbacks_and_sleeps_have_their_own_share_and_add_up() {
    let engine = Installation::start("ord_32").await;
    let mut slow = Step::answer(200, json!({}));
    slow.delay = std::time::Duration::from_millis(300);
    engine.world().program(Program::at("/slow").decided_by(move |_| slow.clone()));
    engine.world().program(Program::at("/ask").decided_by(|_| {
        let mut step = Step::answer(202, json!({}));
        step.callback = Some(CallBack::with(json!({})).after(std::time::Duration::from_millis(500)));
        step
    }));
    engine.scenario("long", LONG).await;
    engine.run(json!({"id": "a", "scenario": "long"}), "success").await;
    let whole = ledger(&engine, "a").await;
    let sums = shares(&whole);
    // Each end of a span is cut to a millisecond.
    assert!(sums["call"] >= 299 && sums["sleep"] >= 399, "{whole}");
    let waits = whole["shares"].as_array().unwrap().iter().find(|one| one["reason"] == "wait").unwrap();
    assert_eq!(waits["detail"], "answer", "{whole}");
    assert!(waits["ms"].as_i64().unwrap() >= 300, "{whole}");
    // Whatever happens after its end is not its time.
    assert_eq!(ledger(&engine, "a").await, whole);
    assert_eq!(engine.get("/v1/orders/nobody/ledger").await.unwrap().status, 404);
}

#[tokio::test]
async fn ord_32_a_stop_and_a_start_time_have_their_share_while_they_last() {
    let engine = Installation::start("ord_32_now").await;
    engine.actions("held", "- script: 'result(1)'").await;
    stop(&engine, "held", json!({})).await;
    engine.accepted(json!({"id": "first", "scenario": "held", "mode": "sequential", "queue": "q"})).await;
    until("the stop has its part", PATIENCE, async || {
        shares(&ledger(&engine, "first").await).get("flow_stopped").is_some_and(|ms| *ms > 200)
    })
    .await;
    let later = json!({"id": "later", "scenario": "held", "lifecycle": {"startAt": "2200-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    let postponed = ledger(&engine, "later").await;
    assert_eq!(shares(&postponed).into_keys().collect::<Vec<_>>(), ["postponed"], "{postponed}");
    resume(&engine, json!({"keyword": "held"})).await;
    engine.reach("first", "success").await;
    let whole = ledger(&engine, "first").await;
    assert!(shares(&whole)["flow_stopped"] > 200, "{whole}");
}
