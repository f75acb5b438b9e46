//! Systems that only a few orders of a flow call: who does not call them, does not wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pagurus_harness::world::program::{Program, Step};
use serde_json::json;

use super::{explained, state_of};
use crate::installation::{Installation, PATIENCE, until};

const NAMED: &str = "
systems: {named: [{name: rare, path: '/rare/**'}, {name: usual, path: '/usual/**'}]}
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

#[tokio::test]
async fn dsp_16_orders_that_do_not_call_a_system_go_on_while_the_one_in_a_hundred_that_does_is_held() {
    let engine = Installation::configured("dsp_16_rare", NAMED).await;
    engine.actions("mixed", "- http: {url: \"${config.demo}/${params.path}\", timeout: 5s}").await;
    let order = |id: String, path: &str| json!({"id": id, "scenario": "mixed", "params": {"path": path}});
    let is_away = Arc::new(AtomicBool::new(false));
    let switch = is_away.clone();
    engine.world().program(Program::at("/rare/pay").decided_by(move |_| {
        if switch.load(Ordering::Relaxed) { Step::answer(503, json!({})) } else { Step::fine() }
    }));
    let path = |n: usize| if n % 100 == 99 { "rare/pay" } else { "usual/pay" };
    let first: Vec<_> = (0..300).map(|n| order(format!("b{n}"), path(n))).collect();
    engine.post("/v1/orders/batch", &json!(first)).await.unwrap().success().unwrap();
    for n in 0..300 {
        engine.reach(&format!("b{n}"), "success").await;
    }
    is_away.store(true, Ordering::Relaxed);
    for n in 0..6 {
        engine.accepted(order(format!("r{n}"), "rare/pay")).await;
    }
    let rare = async || engine.get("/v1/systems/rare").await.unwrap().body;
    until("the system is stopped", PATIENCE, async || rare().await["control"] == "stopped").await;
    // Those that call it rest before the call, and say so; the others go through as if nothing were.
    engine.accepted(order("held".to_owned(), "rare/pay")).await;
    for n in 0..100 {
        engine.accepted(order(format!("u{n}"), "usual/pay")).await;
    }
    for n in 0..100 {
        engine.reach(&format!("u{n}"), "success").await;
    }
    assert_eq!(state_of(&engine, "mixed").await, "enabled");
    assert_ne!(rare().await["state"], "healthy", "{}", rare().await);
    until("the held one says for which system it rests", PATIENCE, async || {
        explained(&engine, "held").await.contains("the system `rare`")
    })
    .await;
    let before = engine.order("held").await.unwrap()["retries"].as_i64().unwrap_or(0);
    assert!(before <= 5, "it loses attempts by probes alone: {before}");
    is_away.store(false, Ordering::Relaxed);
    engine.reach("held", "success").await;
    for n in 0..6 {
        engine.reach(&format!("r{n}"), "success").await;
    }
    until("the system is back", PATIENCE, async || rare().await["calls"] == "healthy").await;
}
