//! Bounds of a backlog, times of start, and the word of an operator to the dispatcher.

use std::time::Duration;

use lapin::BasicProperties;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{resume, stop};
use crate::installation::{Installation, PATIENCE, asking, call, until};

#[tokio::test]
async fn dsp_17_the_api_refuses_what_would_only_wait_and_messages_are_taken_all_the_same() {
    let settings = [
        ("PAGURUS__DISTRIBUTION__BACKLOG__MAX_PER_FLOW", "5"),
        ("PAGURUS__DISTRIBUTION__BACKLOG__MAX_PER_QUEUE", "3"),
    ];
    let engine = Installation::with("dsp_17", &settings).await;
    engine.actions("piled", &call("/piled")).await;
    engine.actions("free", &call("/free")).await;
    stop(&engine, "piled", json!({})).await;
    for n in 0..5 {
        engine.accepted(json!({"id": format!("p{n}"), "scenario": "piled"})).await;
    }
    // Each is a new order: one that is registered already is not refused.
    let mut more = 0;
    until("the API refuses more of the flow", PATIENCE, async || {
        more += 1;
        let answer = engine.submit(&json!({"id": format!("more{more}"), "scenario": "piled"})).await;
        answer.status == 429 && answer.body["detail"].as_str().unwrap().contains("the flow `piled`")
    })
    .await;
    // What is registered already is no further order, and a repeat of it must not seem to be refused.
    let repeated = engine.submit(&json!({"id": "p0", "scenario": "piled"})).await;
    assert_eq!((repeated.status, &repeated.body["status"]), (200, &json!("duplicate")), "{repeated:?}");
    let other = json!({"id": "p0", "scenario": "piled", "params": {"other": 1}});
    assert_eq!(engine.submit(&other).await.status, 409);
    let dry = engine.post("/v1/orders?dryRun=true", &json!({"id": "p0", "scenario": "piled"})).await.unwrap();
    assert_eq!(dry.body["status"], "duplicate", "{dry:?}");
    // A message is taken all the same: refused, it would be lost.
    let amqp = engine.env().amqp().await.unwrap();
    let message = json!({"id": "by-message", "scenario": "piled"});
    amqp.publish_orders("order.create", &[message], &BasicProperties::default()).await.unwrap();
    engine.reach("by-message", "new").await;
    assert_eq!(engine.submit(&json!({"id": "more", "scenario": "piled"})).await.status, 429, "still capped");
    engine.run(json!({"id": "other", "scenario": "free"}), "success").await;

    let member =
        |n: usize| json!({"id": format!("q{n}"), "scenario": "free", "mode": "sequential", "queue": "q"});
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().forget();
    engine.world().program(Program::at("/free").first(1, &held));
    engine.accepted(member(0)).await;
    engine.calls("/free", 1).await;
    // The one that runs waits no more.
    for n in 1..4 {
        engine.accepted(member(n)).await;
    }
    let refused = engine.submit(&member(4)).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(engine.submit(&member(1)).await.body["status"], "duplicate");
    gate.send_replace(true);
    engine.reach("q3", "success").await;
    engine.accepted(member(4)).await;

    resume(&engine, json!({"keyword": "piled"})).await;
    until("the API takes them again", PATIENCE, async || {
        engine.submit(&json!({"id": "again", "scenario": "piled"})).await.status == 201
    })
    .await;
    engine.reach("by-message", "success").await;
}

#[tokio::test]
async fn ord_30_explain_tells_when_an_order_that_waits_will_start() {
    let settings = [("PAGURUS__DISTRIBUTION__CAPACITY__PARALLEL_COUNT", "1")];
    let engine = Installation::with("ord_30", &settings).await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_millis(300)));
    engine.actions("slow", &call("/slow")).await;
    let orders: Vec<Value> = (0..40).map(|n| json!({"id": format!("s{n}"), "scenario": "slow"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    engine.reach("s9", "success").await;
    let mut answer = Value::Null;
    until("there is a time", PATIENCE, async || {
        answer = engine.part("s39", "explain").await;
        answer["eta"].is_object()
    })
    .await;
    let at = |name: &str| answer["eta"][name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let order = engine.reach("s39", "success").await;
    let started: jiff::Timestamp = order["startedAt"].as_str().unwrap().parse().unwrap();
    assert!(at("p50") <= at("p90"), "{answer}");
    let off = started.duration_since(at("p50")).as_secs_f64();
    assert!(off.abs() < 8.0, "started {off} s after the middle of what was forecast: {answer}");

    // Whether it held is shown beside the next one.
    let held = started <= at("p90");
    let orders: Vec<Value> = (0..40).map(|n| json!({"id": format!("t{n}"), "scenario": "slow"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    until("the record of forecasts is shown", PATIENCE, async || {
        answer = engine.part("t39", "explain").await;
        answer["eta"]["record"].is_object()
    })
    .await;
    assert_eq!(answer["eta"]["record"], json!({"forecasts": 1, "held": i64::from(held)}), "{answer}");
}

#[tokio::test]
async fn ord_30_behind_a_holder_that_waits_explain_goes_by_the_time_of_its_wait() {
    let engine = Installation::start("ord_30_holder").await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    for id in ["first", "second", "third"] {
        let order = json!({"id": id, "scenario": "asks", "mode": "sequential", "queue": "q"});
        engine.accepted(order).await;
    }
    let holder = engine.reach("first", "wait").await;
    let begun: jiff::Timestamp = holder["startedAt"].as_str().unwrap().parse().unwrap();
    let after = async |id: &str, name: &str| {
        let answer = engine.part(id, "explain").await;
        let at = answer["eta"][name].as_str()?.parse::<jiff::Timestamp>().unwrap();
        Some(at.duration_since(begun).as_secs_f64() / 60.0)
    };
    // It was the dispatcher's record of the flow that is awaited: before that nothing is forecast.
    until("there is a time", PATIENCE, async || after("second", "p50").await.is_some()).await;
    let [second, third] = [after("second", "p90").await.unwrap(), after("third", "p90").await.unwrap()];
    assert!((9.9..11.0).contains(&second) && (19.8..22.0).contains(&third), "{second}, {third} minutes");
}

// DSP-14: an operator makes the active dispatcher step down, and one that stands by goes on.
#[tokio::test]
async fn dsp_14_the_active_dispatcher_steps_down_when_it_is_asked_to() {
    let mut engine = Installation::start("dsp_14_resign").await;
    engine.add(Role::Dispatcher, "dispatcher-2").await;
    engine.actions("one", &call("/one")).await;
    engine.run(json!({"id": "before", "scenario": "one"}), "success").await;
    let holder = async || {
        let leases = engine.get("/v1/leases").await.unwrap().success().unwrap();
        leases["items"][0]["holder"].as_str().unwrap_or_default().to_owned()
    };
    let before = holder().await;
    let resigned = engine.post("/v1/leases/dispatcher/resign", &json!({"reason": "test"})).await.unwrap();
    assert_eq!(resigned.success().unwrap()["resigned"], json!(before));
    until("another leads", PATIENCE, async || holder().await != before).await;
    engine.run(json!({"id": "after", "scenario": "one"}), "success").await;
    let nobody = engine.post("/v1/leases/none/resign", &json!({"reason": "test"})).await.unwrap();
    assert_eq!(nobody.status, 404);
}
