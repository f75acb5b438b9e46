//! "Why is it not running?" where the answer was once the wrong one (ORD-28).

use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, call, until};

async fn explanation(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["explanation"].as_str().unwrap().to_owned()
}

async fn reason(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["reason"].as_str().unwrap().to_owned()
}

/// Warning of a node that is ready all the same; none where it has none.
async fn warning(engine: &Installation, node: &Node) -> Option<String> {
    let page = engine.env().http().get(format!("{}/readyz", node.url())).send().await.unwrap();
    let page: Value = page.json().await.unwrap();
    assert_eq!(page["ready"], true, "{page}");
    Some(page["warning"].as_str()?.to_owned())
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
    let open = explanation(&engine, "after%20waits").await;
    assert!(
        open.contains("`waits`, now `wait`") && open.contains("does not start before 2099-01-01"),
        "{open}"
    );
    assert_eq!(reason(&engine, "after%20waits").await, "dependent");
    assert_eq!(reason(&engine, "stopped").await, "postponed");
    assert_eq!(reason(&engine, "failed").await, "ended");
    assert_eq!(engine.act("stopped", "interrupt", &json!({})).await.status, 200);
    assert_eq!(engine.act("canceled", "cancel", &json!({})).await.status, 200);
    for (before, restart) in [("stopped", false), ("canceled", false), ("failed", true)] {
        let id = format!("after%20{before}");
        until("its pre-condition is settled", PATIENCE, async || {
            explanation(&engine, &id).await.contains("that order ended")
        })
        .await;
        let words = explanation(&engine, &id).await;
        assert_eq!(words.contains("a restart of that order may still"), restart, "{words}");
        assert_eq!(words.contains("cancel this order, or clone it"), !restart, "{words}");
        assert_eq!(engine.act(before, "restart", &json!({})).await.status == 200, restart, "{before}");
    }
    // What it advises can be done.
    assert_eq!(engine.act("after%20canceled", "clone", &json!({"id": "clone"})).await.status, 201);
    let clone = engine.order("clone").await.unwrap();
    assert_eq!(
        (&clone["status"], &clone["after"]),
        (&json!("postponed"), &json!([])),
        "it keeps its time: {clone}"
    );
    let now = json!({"id": "now", "lifecycle": null});
    assert_eq!(engine.act("after%20canceled", "clone", &now).await.status, 201);
    engine.reach("now", "success").await;
    assert_eq!(engine.act("after%20canceled", "cancel", &json!({})).await.status, 200);
}

#[tokio::test]
async fn ord_28_a_polling_and_a_task_are_reported_as_what_they_are() {
    let engine = Installation::start("ord_28_polling").await;
    let polls = "initialState: ask\nstates:\n  ask:\n    kind: polling\n    poll: {delay: 1h, interval: 1h, timeout: 1d}\n    \
        actions: [{script: 'poll()'}]\n    on: {success: done, fail: failed, timeout: failed}\n  \
        done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";
    engine.scenario("polls", polls).await;
    engine.actions("task", "- actor: {name: scoring, workTimeout: 1m}").await;
    engine.run(json!({"id": "polls", "scenario": "polls"}), "polling").await;
    let words = explanation(&engine, "polls").await;
    assert!(words.starts_with("polls in state `ask`: attempt 1 is due at "), "{words}");
    assert_eq!(reason(&engine, "polls").await, "polling");
    engine.run(json!({"id": "task", "scenario": "task"}), "wait").await;
    let words = explanation(&engine, "task").await;
    assert!(words.starts_with("waits for the decision of actor `scoring` until "), "{words}");
    assert!(words.ends_with("; no program takes tasks of actor `scoring`: start one"), "{words}");
    assert_eq!(reason(&engine, "task").await, "wait");
}

#[tokio::test]
async fn ord_28_of_a_ready_order_it_is_reported_that_nobody_hands_it_out_or_takes_it() {
    let mut engine = Installation::only("ord_28_nobody", &[Role::Intake], &[]).await;
    engine.actions("quick", LOG).await;
    engine.accepted(json!({"id": "a", "scenario": "quick"})).await;
    let words = explanation(&engine, "a").await;
    assert!(words.contains("there is no active dispatcher, and there never was one"), "{words}");
    assert_eq!(reason(&engine, "a").await, "no_dispatcher");
    let dispatcher = engine.add(Role::Dispatcher, "dispatcher-1").await;
    until("the dispatcher leads", PATIENCE, async || {
        explanation(&engine, "a").await.contains("no worker is alive")
    })
    .await;
    assert!(explanation(&engine, "a").await.ends_with("no worker is alive (there never was one): start one"));
    assert_eq!(reason(&engine, "a").await, "no_worker");
    until("the dispatcher tells of it", PATIENCE, async || {
        warning(&engine, &dispatcher).await.as_deref() == Some("stages may run, and no worker takes any")
    })
    .await;
    until("the metrics tell of it", PATIENCE, async || {
        engine.metric(&dispatcher, "pagurus_ready_age_seconds").await > 0.0
    })
    .await;
    let worker = engine.add(Role::Worker, "worker-1").await;
    engine.reach("a", "success").await;
    until("the warning is over", PATIENCE, async || warning(&engine, &dispatcher).await.is_none()).await;
    // Of one that died nobody has said so yet: its silence tells.
    worker.kill().await.unwrap();
    engine.accepted(json!({"id": "b", "scenario": "quick"})).await;
    until("the dead worker is seen", PATIENCE, async || {
        explanation(&engine, "b").await.contains("no worker is alive (last seen 2")
    })
    .await;
    // The flow is known by now, and nobody can say when a worker will be there.
    assert!(engine.part("b", "explain").await["eta"].is_null());
}

#[tokio::test]
async fn ord_28_of_a_ready_order_it_is_reported_that_the_workers_are_full() {
    let settings = [
        ("PAGURUS__WORKER__CONCURRENCY", "1"),
        ("PAGURUS__DISTRIBUTION__FLOWS__MAX_SHARE_PERCENTAGE", "100"),
    ];
    let engine = Installation::with("ord_28_full", &settings).await;
    engine.world().program(Program::at("/hang").hang(10));
    engine.actions("hangs", &call("/hang").replace("5s", "60s")).await;
    engine.accepted(json!({"id": "a", "scenario": "hangs"})).await;
    engine.calls("/hang", 1).await;
    engine.accepted(json!({"id": "b", "scenario": "hangs"})).await;
    let words = explanation(&engine, "b").await;
    assert!(words.ends_with("; 1 of 1 places of the 1 workers are taken (`worker.concurrency`)"), "{words}");
    assert_eq!(
        (reason(&engine, "a").await, reason(&engine, "b").await),
        ("running".into(), "capacity".into())
    );
    let dispatcher = engine.node(Role::Dispatcher);
    until("the dispatcher tells of it", PATIENCE, async || {
        warning(&engine, dispatcher).await.is_some_and(|text| text.starts_with("all places of stages"))
    })
    .await;
    let nodes = engine.get("/v1/nodes").await.unwrap().success().unwrap();
    let worker = nodes["items"].as_array().unwrap().iter().find(|node| node["role"] == "worker").unwrap();
    assert_eq!((&worker["stages"], &worker["concurrency"]), (&json!(1), &json!(1)), "{nodes}");
    let activator = engine.node(Role::Activator);
    until("the living nodes are counted", PATIENCE, async || {
        engine.metric(activator, "pagurus_nodes{").await == 5.0
    })
    .await;
}
