//! Activation of what is due (05-activation.md).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, callers, until};

const SLEEPER: &str = r#"initialState: doze
states:
  doze: {actions: [{sleep: {for: "${params.for}"}}], on: {sleep: dozing, fail: failed}}
  dozing: {kind: sleeping, on: {timeout: wake}}
  wake:
    actions:
      - http: {method: POST, url: "${config.demo}/woken", body: {order: "${order.id}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[tokio::test]
async fn act_1_sleepers_wake_on_time_and_once_with_two_activators() {
    let mut engine = Installation::start("act_1").await;
    engine.add(Role::Activator, "activator-2").await;
    engine.scenario("sleeper", SLEEPER).await;
    let orders: Vec<Value> = (0..60)
        .map(|n| json!({"id": format!("{n:02}"), "scenario": "sleeper", "params": {"for": format!("{}ms", 1200 + n * 5)}}))
        .collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let due = engine.wait_status("00", "sleep", PATIENCE).await.unwrap();
    let due = crate::installation::at(&due, "dueAt");
    for n in 0..60 {
        engine.reach(&format!("{n:02}"), "success").await;
    }
    let calls = engine.world().calls("/woken");
    let mut woken = callers(&calls);
    woken.sort_unstable();
    woken.dedup();
    assert_eq!((woken.len(), calls.len()), (60, 60), "each one once");
    let first = calls.iter().find(|call| call.body["order"] == "00").unwrap();
    let lag = first.at.duration_since(due).as_millis();
    assert!((0..1500).contains(&lag), "woken {lag} ms after its time");
}

#[tokio::test]
async fn act_3_4_a_wake_up_that_nobody_took_is_repeated_and_runs_the_order_once() {
    let mut engine = Installation::with(
        "act_3",
        &[("PAGURUS__ACTIVATION__MIN_SHIFT", "300ms"), ("PAGURUS__NODE__LOST_AFTER", "1500ms")],
    )
    .await;
    engine.scenario("sleeper", SLEEPER).await;
    for n in 0..5 {
        engine
            .accepted(json!({"id": n.to_string(), "scenario": "sleeper", "params": {"for": "500ms"}}))
            .await;
    }
    for n in 0..5 {
        engine.wait_status(&n.to_string(), "sleep", PATIENCE).await.unwrap();
    }
    // Nobody can take the orders when they are due.
    engine.node(Role::Worker).kill().await.unwrap();
    let metrics = format!("{}/metrics", engine.node(Role::Activator).url());
    until("wake-ups are repeated and counted", PATIENCE, async || {
        let page = engine.env().http().get(&metrics).send().await.unwrap().text().await.unwrap();
        let repeats = page.lines().filter(|line| line.contains("repeat") && !line.starts_with('#'));
        repeats.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() >= 5.0
    })
    .await;
    assert_eq!(
        engine.order("0").await.unwrap()["status"],
        "sleep",
        "ORD-29: its status stays until it is claimed"
    );
    engine.add(Role::Worker, "worker-2").await;
    for n in 0..5 {
        engine.reach(&n.to_string(), "success").await;
    }
    let calls = engine.world().calls("/woken");
    let mut woken = callers(&calls);
    woken.sort_unstable();
    assert_eq!(woken, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn act_1_a_start_time_is_waited_for() {
    let engine = Installation::start("act_1_start").await;
    engine.actions("one", &crate::installation::call("/do")).await;
    let start = jiff::Timestamp::now().checked_add(Duration::from_millis(900)).unwrap();
    let order = json!({"id": "a", "scenario": "one", "lifecycle": {"startAt": start.to_string()}});
    let answer = engine.submit(&order).await;
    assert_eq!((answer.status, &answer.body["orderStatus"]), (201, &json!("postponed")), "{answer:?}");
    engine.reach("a", "success").await;
    let called = engine.calls("/do", 1).await[0].at;
    assert!(called >= start, "{called} {start}");
}
