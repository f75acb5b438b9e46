//! Histories of flows and called systems: when something was stopped, why, and by whom.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};

use super::{resume, state_of, stop};
use crate::installation::{Installation, PATIENCE, call, until};

/// The system `billing` is stopped where its calls fail.
const STOPPING: &str = "
distribution:
  mode: stopped_flows
  flows:
    limits:
      error_handling:
        policies:
          p: {error_classes: [down], scenarios: [{name: bills}]}
systems: {named: [{name: billing, path: '/billing/**'}]}
execution:
  error_handling:
    sync:
      classification:
        rules:
          r: {requests: [{path: '/**'}], classes: {down: {responses: [{status_codes: [503]}]}}}
      retry:
        policies:
          p: {error_classes: [down], parameters: {initial_interval: 300ms, max_interval: 300ms}}
";

/// Decisions about a flow or a system, the newest first; none before it is known.
async fn history(engine: &Installation, path: &str) -> Vec<Value> {
    let answer = engine.get(&format!("/v1/{path}/decisions?limit=1000")).await.unwrap();
    answer.body["items"].as_array().cloned().unwrap_or_default()
}

/// True if one of these decisions has this state and this text in its reason.
fn says(history: &[Value], state: &str, why: &str) -> bool {
    history.iter().any(|one| one["state"] == state && one["why"].as_str().unwrap_or_default().contains(why))
}

#[tokio::test]
async fn dsp_14_the_history_says_when_and_why_a_system_was_stopped_and_when_it_was_back() {
    let mut engine = Installation::configured("dsp_14_history", STOPPING).await;
    engine.actions("bills", &call("/billing/pay")).await;
    let broken = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&broken);
    engine.world().program(Program::at("/billing/pay").decided_by(move |_| {
        if switch.load(Ordering::Relaxed) { Step::answer(503, json!({})) } else { Step::fine() }
    }));
    let orders: Vec<Value> = (0..100).map(|n| json!({"id": format!("b{n}"), "scenario": "bills"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    until("the trip is in the history", PATIENCE, async || {
        says(&history(&engine, "systems/billing").await, "stopped", "calls failed")
    })
    .await;
    until("a probe is in the history", PATIENCE, async || {
        history(&engine, "systems/billing").await.iter().any(|one| one["state"] == "probing")
    })
    .await;

    until("the doctor names the system and its flow", PATIENCE, async || {
        let verdict = engine.get("/v1/doctor").await.unwrap().success().unwrap();
        let findings = verdict["findings"].as_array().unwrap();
        let named = |check: &str, name: &str| {
            let message = |one: &Value| one["message"].as_str().unwrap_or_default().contains(name);
            findings.iter().any(|one| one["check"] == check && message(one))
        };
        named("systems", "`billing`") && named("flows", "`bills`")
    })
    .await;

    // Another dispatcher goes on with it, and writes nothing twice.
    let before = history(&engine, "systems/billing").await;
    engine.node(Role::Dispatcher).kill().await.unwrap();
    engine.restart(Role::Dispatcher).await;
    broken.store(false, Ordering::Relaxed);
    for n in 0..100 {
        engine.reach(&format!("b{n}"), "success").await;
    }
    until("the resumption is in the history", PATIENCE, async || {
        let history = history(&engine, "systems/billing").await;
        let newest = history.first().and_then(|one| one["state"].as_str()).unwrap_or_default().to_owned();
        history.len() > before.len() && !["stopped", "probing"].contains(&newest.as_str())
    })
    .await;
    let after = history(&engine, "systems/billing").await;
    for one in &before {
        assert_eq!(after.iter().filter(|other| *other == one).count(), 1, "{one} is there once: {after:?}");
    }
    let times: Vec<&str> = after.iter().filter_map(|one| one["at"].as_str()).collect();
    assert!(times.is_sorted_by(|later, earlier| later >= earlier), "the newest stands first: {times:?}");
    let trip = after.iter().find(|one| one["why"].as_str().unwrap_or_default().contains("calls failed"));
    assert!(trip.unwrap()["numbers"].is_object() && trip.unwrap()["by"].is_null(), "{trip:?}");

    // Since a time, and page by page.
    let none = engine.get("/v1/systems/billing/decisions?since=2999-01-01T00:00:00Z").await.unwrap();
    assert_eq!(none.success().unwrap()["items"], json!([]));
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/systems/billing/decisions?limit=2{cursor}");
        let page = engine.get(&path).await.unwrap().success().unwrap();
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={}", next.replace(' ', "%20"));
    }
    assert_eq!(paged, after);
    let nobody = engine.get("/v1/systems/nobody/decisions").await.unwrap();
    assert_eq!(nobody.status, 404, "{nobody:?}");
}

#[tokio::test]
async fn dsp_14_the_history_says_who_stopped_a_flow_or_a_system_and_why() {
    let engine = Installation::configured("dsp_14_by_hand", STOPPING).await;
    engine.actions("bills", &call("/billing/pay")).await;
    // A flow stands still for a system that most of its stages are known to call.
    for n in 0..12 {
        engine.run(json!({"id": format!("before-{n}"), "scenario": "bills"}), "success").await;
    }
    until("the flow is known", PATIENCE, async || !state_of(&engine, "bills").await.is_empty()).await;
    stop(&engine, "bill", json!({})).await;
    until("the stop is in the history", PATIENCE, async || {
        says(&history(&engine, "flows/bills").await, "disabled_manually", "of flows with `bill`: works")
    })
    .await;
    resume(&engine, json!({"keyword": "bill"})).await;
    until("so is its end", PATIENCE, async || {
        let history = history(&engine, "flows/bills").await;
        history.iter().any(|one| one["why"].as_str().unwrap_or_default().ends_with("was lifted: done"))
    })
    .await;
    let flow = history(&engine, "flows/bills").await;
    let by_hand: Vec<&Value> = flow.iter().filter(|one| one["by"]["door"] == "http").collect();
    assert_eq!(by_hand.len(), 2, "{flow:?}");
    assert!(by_hand[0]["at"].as_str() > by_hand[1]["at"].as_str(), "{flow:?}");

    let order = engine.post("/v1/systems/billing/stop", &json!({"reason": "night shift"})).await.unwrap();
    order.success().unwrap();
    until("the order about the system is in its history", PATIENCE, async || {
        says(&history(&engine, "systems/billing").await, "stopped", "ordered to keep it stopped: night shift")
    })
    .await;
    until("its flow says so", PATIENCE, async || {
        says(&history(&engine, "flows/bills").await, "stopped", "the system `billing` that it calls")
    })
    .await;
    engine.post("/v1/systems/billing/clear", &json!({})).await.unwrap().success().unwrap();
    until("so is that it was taken back", PATIENCE, async || {
        let history = history(&engine, "systems/billing").await;
        let over = history.iter().find(|one| one["why"] == "the order to keep it stopped was taken back");
        over.is_some_and(|one| one["by"]["door"] == "http")
    })
    .await;
}
