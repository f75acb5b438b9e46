//! Promises: orders that will probably be late are marked once, shown as a group of their own, and reported (ORD-31).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, at, call, until};

const WEBHOOKS: [(&str, &str); 2] = [
    ("PAGURUS__NOTIFY__ALLOW", "[{url: 'http://127.0.0.1:*', secret: hooks}, {exchange: '*'}]"),
    ("PAGURUS_SECRET_HOOKS", "a-secret-of-some-thirty-bytes-"),
];

/// Returns the time `seconds` from now, as the time of another place.
fn in_seconds(seconds: i64) -> String {
    let at = Timestamp::now().checked_add(SignedDuration::from_secs(seconds)).unwrap();
    at.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(3)))
        .strftime("%Y-%m-%dT%H:%M:%S%.3f%:z")
        .to_string()
}

fn promised(id: &str, scenario: &str, seconds: i64, notify: Value) -> Value {
    json!({"id": id, "scenario": scenario, "lifecycle": {"promiseAt": in_seconds(seconds)}, "notify": notify})
}

/// Ids of the orders in jeopardy, as lists have them.
async fn in_jeopardy(engine: &Installation) -> Vec<String> {
    let found = engine.get("/v1/orders?jeopardy=true").await.unwrap().success().unwrap();
    let mut ids: Vec<String> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort_unstable();
    ids
}

/// The mark of an order, once it has one.
async fn mark(engine: &Installation, id: &str) -> Value {
    let mut mark = Value::Null;
    until("it is in jeopardy", PATIENCE, async || {
        mark = engine.order(id).await.unwrap()["promise"]["jeopardy"].clone();
        mark.is_object()
    })
    .await;
    mark
}

async fn marks_in_history(engine: &Installation, id: &str) -> Vec<Value> {
    let events = engine.part(id, "events").await;
    events.as_array().unwrap().iter().filter(|event| event["kind"] == "jeopardy").cloned().collect()
}

#[tokio::test]
async fn ord_31_an_order_is_marked_before_it_is_late_by_what_others_took() {
    let engine = Installation::start("ord_31_learnt").await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_secs(6)));
    engine.actions("slow", &call("/slow").replace("5s", "1m")).await;
    let first: Vec<Value> = (0..8).map(|n| json!({"id": format!("first-{n}"), "scenario": "slow"})).collect();
    engine.post("/v1/orders/batch", &json!(first)).await.unwrap().success().unwrap();
    for n in 0..8 {
        engine.reach(&format!("first-{n}"), "success").await;
    }
    engine.accepted(promised("late", "slow", 5, Value::Null)).await;
    engine.accepted(promised("in-time", "slow", 60, Value::Null)).await;
    let mark = mark(&engine, "late").await;
    let order = engine.order("late").await.unwrap();
    let promise = at(&order["promise"], "promiseAt");
    assert!(at(&mark, "since") < promise, "it was known before: {mark}");
    assert!(at(&mark, "expectedAt") > promise, "{mark}");
    let cause = mark["cause"].as_str().unwrap();
    assert!(cause.contains("nine of ten like it") && cause.contains("`slow`"), "{cause}");
    assert_eq!(in_jeopardy(&engine).await, ["late"]);
    let explained = engine.part("late", "explain").await;
    assert!(explained["explanation"].as_str().unwrap().contains("in jeopardy since"), "{explained}");
    assert!(explained["promise"]["expectedAt"].is_string(), "{explained}");

    engine.reach("late", "success").await;
    engine.reach("in-time", "success").await;
    assert_eq!(in_jeopardy(&engine).await, Vec::<String>::new(), "what has ended leaves");
    assert_eq!(marks_in_history(&engine, "late").await.len(), 1);
    assert_eq!(marks_in_history(&engine, "in-time").await, Vec::<Value>::new());
    let kept = engine.order("late").await.unwrap();
    assert!(kept["promise"]["promiseAt"].is_string() && kept["promise"]["jeopardy"].is_null(), "{kept}");
    let activator = engine.node(Role::Activator);
    for (outcome, order) in [("kept", "in-time"), ("late", "late")] {
        let metric = format!("pagurus_promises_total{{scenario=\"slow\",outcome=\"{outcome}\"}}");
        until(order, PATIENCE, async || (engine.metric(activator, &metric).await - 1.0).abs() < 0.1).await;
    }
}

#[tokio::test]
async fn ord_31_jeopardy_is_reported_once_in_every_form_and_once_more_in_another_life() {
    let engine = Installation::with("ord_31_told", &WEBHOOKS).await;
    engine.scenario("asks", &asking("/asked", "1h")).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "late").await.unwrap();
    let plain = json!({"url": "amqp://?key=late", "on": ["jeopardy"], "timezone": "Asia/Kolkata"});
    let event = json!({"url": "amqp://?key=late", "on": ["jeopardy"], "format": "cloudevents"});
    let hook = json!({"url": format!("{}/hook", engine.world().url()), "on": ["jeopardy"]});
    let silent = json!({"url": "amqp://?key=ends", "on": ["final"]});
    for (id, notify) in [("plain", plain), ("event", event), ("hook", hook), ("silent", silent)] {
        engine.accepted(promised(id, "asks", 2, notify)).await;
    }
    let received = inbox.wait(PATIENCE, |all| all.len() == 2).await.unwrap();
    let plain = received.iter().find(|message| message.body["id"] == "plain").unwrap();
    let jeopardy = &plain.body["jeopardy"];
    for time in ["since", "promiseAt", "expectedAt"] {
        assert!(jeopardy[time].as_str().unwrap().ends_with("+05:30"), "{time}: {jeopardy}");
    }
    assert!(jeopardy["cause"].as_str().unwrap().contains("callback"), "{jeopardy}");
    assert_eq!((&plain.body["status"], &plain.body["finishedAt"]), (&json!("wait"), &Value::Null));
    let event =
        received.iter().find(|message| message.body["type"] == "io.pagurus.order.jeopardy.v1").unwrap();
    assert_eq!(event.body["subject"], "event");
    assert!(event.body["data"]["jeopardy"]["expectedAt"].is_string(), "{}", event.body);
    let calls = engine.calls("/hook", 1).await;
    assert_eq!((&calls[0].body["id"], calls.len()), (&json!("hook"), 1));
    mark(&engine, "silent").await;

    assert_eq!(in_jeopardy(&engine).await, ["event", "hook", "plain", "silent"]);
    let counts = engine.get("/v1/counts?by=scenario&jeopardy=true").await.unwrap().success().unwrap();
    assert!(counts.to_string().contains("\"orders\":4"), "{counts}");
    let named = engine.get("/v1/orders?ids=plain&jeopardy=false").await.unwrap().success().unwrap();
    assert_eq!(named["items"], json!([]), "the condition is held against other paths, too");

    let operation = json!({"action": "kill", "search": {"jeopardy": true}, "reason": "too late anyway"});
    engine.post("/v1/operations", &operation).await.unwrap().success().unwrap();
    for id in ["event", "hook", "plain", "silent"] {
        engine.reach(id, "canceled").await;
    }
    assert_eq!(in_jeopardy(&engine).await, Vec::<String>::new());
    assert_eq!(marks_in_history(&engine, "plain").await.len(), 1, "once");
    assert_eq!(inbox.messages().len(), 2, "reported once each");
}

#[tokio::test]
async fn ord_31_each_life_is_looked_at_again_and_clones_have_no_promise() {
    let engine = Installation::start("ord_31_lives").await;
    engine.scenario("asks", &asking("/asked", "8s")).await;
    engine.accepted(promised("again", "asks", 1, Value::Null)).await;
    mark(&engine, "again").await;
    engine.reach("again", "fail").await;
    assert_eq!(in_jeopardy(&engine).await, Vec::<String>::new());
    engine.act("again", "restart", &json!({"reason": "once more"})).await.success().unwrap();
    mark(&engine, "again").await;
    assert_eq!(marks_in_history(&engine, "again").await.len(), 2, "once in each life");
    let clone = engine.act("again", "clone", &json!({"id": "copy"})).await.success().unwrap();
    assert_eq!(clone["id"], "copy");
    assert!(engine.order("copy").await.unwrap()["promise"].is_null(), "the promise was to another client");
    for (lifecycle, pointer) in [
        (json!({"promiseAt": "soon"}), "/lifecycle/promiseAt"),
        (json!({"promiseAt": "2026-12-01T00:00:00"}), "/lifecycle/promiseAt"),
        (
            json!({"promiseAt": "2026-12-01T00:00:00Z", "startAt": "2026-12-01T00:00:00Z"}),
            "/lifecycle/promiseAt",
        ),
    ] {
        let refused =
            engine.submit(&json!({"id": "wrong", "scenario": "asks", "lifecycle": lifecycle})).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(format!("{refused:?}").contains(pointer), "{refused:?}");
    }
}

#[tokio::test]
async fn ord_31_what_sleeps_or_starts_too_long_is_in_jeopardy_at_once() {
    let engine = Installation::start("ord_31_sleep").await;
    engine
        .scenario(
            "sleeps",
            "initialState: one\nstates:\n  one:\n    actions: [{sleep: {for: 1h}}]\n    on: {sleep: nap}\n  \
             nap: {kind: sleeping, on: {timeout: good}}\n  good: {kind: terminal}\n",
        )
        .await;
    engine.scenario("asks", &asking("/asked", "1h")).await;
    engine.accepted(promised("sleeper", "sleeps", 600, Value::Null)).await;
    let found = mark(&engine, "sleeper").await;
    let order = engine.order("sleeper").await.unwrap();
    assert!(at(&found, "expectedAt") >= at(&order, "dueAt"), "{found} {order}");
    engine.accepted(promised("far", "asks", 600, Value::Null)).await;
    engine.reach("far", "wait").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(in_jeopardy(&engine).await, ["sleeper"]);
    let text = engine.part("sleeper", "log").await.to_string();
    assert!(text.contains("in jeopardy: promised for"), "{text}");
}
