//! "Why is it not running?" where the answer was once the wrong one (ORD-28).

use serde_json::json;

use crate::installation::{Installation, LOG, PATIENCE, asking, until};

async fn told(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["explanation"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn ord_28_of_a_pre_condition_that_was_given_up_no_restart_is_promised() {
    let engine = Installation::start("ord_28_given_up").await;
    engine.actions("quick", LOG).await;
    engine.actions("fails", "- script: 'fail(\"no\", \"x.y\")'").await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    let far = "2099-01-01T00:00:00Z";
    let after = |id: &str, before: &str| {
        json!({"id": id, "scenario": "quick", "lifecycle": {
        "startAt": far, "after": [{"order": before, "states": ["done"]}]}})
    };
    for before in ["stopped", "canceled"] {
        engine.accepted(json!({"id": before, "scenario": "quick", "lifecycle": {"startAt": far}})).await;
    }
    engine.run(json!({"id": "failed", "scenario": "fails"}), "fail").await;
    engine.run(json!({"id": "waits", "scenario": "asks"}), "wait").await;
    for before in ["stopped", "canceled", "failed", "waits"] {
        engine.accepted(after(&format!("after {before}"), before)).await;
    }
    let open = told(&engine, "after%20waits").await;
    assert!(
        open.contains("`waits`, now `wait`") && open.contains("not to start before 2099-01-01"),
        "{open}"
    );
    assert_eq!(engine.act("stopped", "interrupt", &json!({})).await.status, 200);
    assert_eq!(engine.act("canceled", "cancel", &json!({})).await.status, 200);
    for (before, restart) in [("stopped", false), ("canceled", false), ("failed", true)] {
        let id = format!("after%20{before}");
        until("its pre-condition is settled", PATIENCE, async || {
            told(&engine, &id).await.contains("that ended")
        })
        .await;
        let words = told(&engine, &id).await;
        assert_eq!(words.contains("a restart of that order may still"), restart, "{words}");
        assert_eq!(words.contains("cancel this order, or clone it"), !restart, "{words}");
        assert_eq!(engine.act(before, "restart", &json!({})).await.status == 200, restart, "{before}");
    }
    // What it advises can be done.
    assert_eq!(engine.act("after%20canceled", "clone", &json!({"id": "clone"})).await.status, 201);
    engine.reach("clone", "success").await;
    assert_eq!(engine.act("after%20canceled", "cancel", &json!({})).await.status, 200);
}

#[tokio::test]
async fn ord_28_a_polling_and_a_task_are_told_as_what_they_are() {
    let engine = Installation::start("ord_28_polling").await;
    let polls = "initialState: ask\nstates:\n  ask:\n    kind: polling\n    poll: {delay: 1h, interval: 1h, timeout: 1d}\n    \
        actions: [{script: 'poll()'}]\n    on: {success: done, fail: failed, timeout: failed}\n  \
        done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";
    engine.scenario("polls", polls).await;
    engine.actions("task", "- actor: {name: scoring, workTimeout: 1m}").await;
    engine.run(json!({"id": "polls", "scenario": "polls"}), "polling").await;
    let words = told(&engine, "polls").await;
    assert!(words.starts_with("polls in state `ask`: attempt 1 is due at "), "{words}");
    engine.run(json!({"id": "task", "scenario": "task"}), "wait").await;
    let words = told(&engine, "task").await;
    assert!(words.starts_with("waits for the decision of actor `scoring` until "), "{words}");
}
