//! Operations on flows that are held back, and the actions that take no part in their work.

use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use super::{counts, failed_orders, get, in_state, operate};
use crate::flows::{resume, state_of, stop};
use crate::installation::{Installation, PATIENCE, at, until};

#[tokio::test]
async fn rec_12_a_flow_that_is_stopped_by_hand_is_given_no_more_work_and_everything_else_is_done() {
    let engine = Installation::start("rec_12_stopped").await;
    failed_orders(&engine, 30).await;
    engine.world().program(Program::at("/pay"));
    stop(&engine, "pay", json!({})).await;
    until("the activators can know", PATIENCE, async || {
        state_of(&engine, "pay").await == "disabled_manually"
    })
    .await;
    for n in 0..3 {
        engine.accepted(json!({"id": format!("n-{n}"), "scenario": "pay"})).await;
    }
    let restart =
        json!({"action": "restart", "search": {"scenario": "pay", "status": "fail"}, "reason": "r"});
    let held = operate(&engine, restart).await;
    // What makes nothing ready is not held back.
    let interrupt = json!({"action": "interrupt", "search": {"idPrefix": "n-"}, "reason": "not today"});
    let done = in_state(&engine, operate(&engine, interrupt).await, "done").await;
    assert_eq!(counts(&done), [3, 3, 0, 0], "{done}");
    assert_eq!(engine.order("n-1").await.unwrap()["status"], "interrupted");
    let check = json!({"action": "check", "search": {"scenario": "pay", "status": "fail"}, "reason": "r"});
    let done = in_state(&engine, operate(&engine, check).await, "done").await;
    assert_eq!(counts(&done)[..2], [30, 30], "{done}");
    let shown = get(&engine, &format!("/v1/operations/{held}")).await;
    assert_eq!((&shown["state"], counts(&shown)), (&json!("running"), [30, 0, 0, 0]), "{shown}");
    assert!(engine.world().calls("/pay").len() <= 30, "nothing was called again");

    resume(&engine, json!({"keyword": "pay"})).await;
    let done = in_state(&engine, held, "done").await;
    assert_eq!(counts(&done), [30, 30, 0, 0], "{done}");
    until("all succeed", PATIENCE, async || {
        get(&engine, &format!("/v1/operations/{held}")).await["aftermath"]["succeeded"] == 30
    })
    .await;
}

#[tokio::test]
async fn rec_12_orders_at_rest_are_shifted_and_the_urgent_operation_goes_first() {
    let mut engine = Installation::start("rec_12_urgent").await;
    failed_orders(&engine, 120).await;
    engine.world().program(Program::at("/pay"));
    let rest = "initialState: rest\nstates:\n  rest: {actions: [{http: {url: '${config.demo}/ask', method: POST, request: r}}, {wait: {timeout: 10h}}], on: {wait: asked, fail: done}}\n  asked: {kind: waiting, on: {callback: done, timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("rest", rest).await;
    engine.run(json!({"id": "w", "scenario": "rest"}), "wait").await;
    let before = engine.order("w").await.unwrap();
    let shift = json!({"action": "shift", "search": {"ids": ["w"]}, "with": {"by": "3h"}, "reason": "works"});
    let done = in_state(&engine, operate(&engine, shift).await, "done").await;
    assert_eq!(counts(&done), [1, 1, 0, 0], "{done}");
    let after = engine.order("w").await.unwrap();
    let moved = at(&after, "dueAt").duration_since(at(&before, "dueAt"));
    assert_eq!(moved.as_secs(), 3 * 3600, "{before} {after}");

    // Both are there before anybody carries them out.
    engine.node(pagurus_harness::nodes::Role::Activator).kill().await.unwrap();
    let mut numbers = Vec::new();
    for (urgency, last) in [("low", 60), ("high", 120)] {
        let ids: Vec<String> = (last - 59..=last).map(|n| format!("o-{n}")).collect();
        let asked = json!({"action": "restart", "search": {"ids": ids}, "reason": "r", "urgency": urgency});
        numbers.push(operate(&engine, asked).await);
    }
    engine.restart(pagurus_harness::nodes::Role::Activator).await;
    for no in &numbers {
        in_state(&engine, *no, "done").await;
    }
    let restarted = async |id: &str| {
        let events = get(&engine, &format!("/v1/orders/{id}/events")).await;
        let events: Vec<Value> = events.as_array().unwrap().clone();
        at(events.iter().find(|event| event["kind"] == "restarted").unwrap(), "at")
    };
    assert!(
        restarted("o-120").await < restarted("o-1").await,
        "the last of the urgent before the first of the other"
    );
}
