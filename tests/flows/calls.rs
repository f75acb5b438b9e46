//! Calls from outside, and when they wait (SCN-9): they start nothing, and overtake nobody in a queue.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::installation::{Installation, at, call, most_at_once, until};

/// Calls the world as it begins, then rests; takes call `say` beside it and call `go` out of it.
fn resting() -> String {
    format!(
        "initialState: begin\ncalls:\n  say: {{answer: fine}}\nstates:\n  begin:\n    actions:\n      {}\n      \
         - sleep: {{for: 10m}}\n    on: {{sleep: rest, fail: failed}}\n  \
         rest: {{kind: sleeping, on: {{timeout: done, call:go: go}}}}\n  \
         go:\n    actions:\n      {}\n    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n",
        call("/begin"),
        call("/go")
    )
}

#[tokio::test]
async fn scn_9_a_call_does_not_start_an_order_before_its_time() {
    let engine = Installation::start("scn_9_early").await;
    engine.scenario("rests", &resting()).await;
    let start_at = Timestamp::now() + SignedDuration::from_secs(4);
    let order = json!({"id": "a", "scenario": "rests", "lifecycle": {"startAt": start_at.to_string()}});
    engine.accepted(order).await;
    let never = json!({"id": "b", "scenario": "rests", "lifecycle": {"after": [{"order": "nobody", "states": ["done"]}]}});
    engine.accepted(never).await;
    for id in ["a", "b"] {
        let said = engine.act(id, "calls?timeout=300ms", &json!({"name": "say", "key": "k"})).await;
        assert_eq!((said.status, &said.body["status"]), (202, &json!("waiting")), "{said:?}");
        assert_eq!(engine.get(&format!("/v1/orders/{id}")).await.unwrap().body["status"], "postponed");
    }
    let order = engine.reach("a", "sleep").await;
    assert!(at(&order, "startedAt") >= start_at, "{order}");
    let said = engine.get("/v1/orders/a/calls/k?timeout=5s").await.unwrap();
    assert_eq!((said.status, &said.body["answer"]), (200, &json!("fine")), "{said:?}");
    assert_eq!(engine.world().calls("/begin").len(), 1, "the other has not begun");
    assert_eq!(engine.act("b", "interrupt", &json!({})).await.status, 200);
    let said = engine.get("/v1/orders/b/calls/k?timeout=5s").await.unwrap();
    assert_eq!(said.body["error"]["class"], "call.ended", "{said:?}");
}

#[tokio::test]
async fn ord_11_a_call_to_a_sleeping_order_takes_its_turn_in_the_queue() {
    let engine = Installation::start("ord_11_call").await;
    engine.scenario("rests", &resting()).await;
    engine.world().program(Program::at("/long").delayed(Duration::from_millis(1500)));
    engine.actions("holds", &call("/long")).await;
    let queued = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "Q"});
    engine.run(queued("sleeper", "rests"), "sleep").await;
    engine.accepted(queued("holder", "holds")).await;
    engine.calls("/long", 1).await;
    let went = engine.act("sleeper", "calls?timeout=10s", &json!({"name": "go"})).await;
    assert_eq!((went.status, &went.body["status"]), (200, &json!("answered")), "{went:?}");
    engine.reach("sleeper", "success").await;
    let mut calls = engine.world().calls("/long");
    calls.extend(engine.world().calls("/go"));
    assert_eq!((calls.len(), most_at_once(&calls)), (2, 1), "{calls:?}");
    // One that is handled beside the sleep gives the queue back when it sleeps on.
    engine.run(queued("other", "rests"), "sleep").await;
    let said: Value = engine.act("other", "calls?timeout=10s", &json!({"name": "say"})).await.body;
    assert_eq!(said["answer"], "fine", "{said}");
    engine.run(queued("next", "holds"), "success").await;
    until("the sleeper sleeps on", Duration::from_secs(5), async || {
        engine.get("/v1/orders/other").await.unwrap().body["status"] == "sleep"
    })
    .await;
}
