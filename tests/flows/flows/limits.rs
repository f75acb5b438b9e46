//! Flows whose limits follow what their systems can take.

use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};

use super::state_of;
use crate::installation::{Installation, PATIENCE, call, until};

/// The system of one of two scenarios fails. Without names, all paths of the world would be one system.
const STOPPING: &str = "
systems: {named: [{name: fragile, path: '/fragile'}, {name: billing, path: '/billing/**'}]}
distribution:
  mode: stopped_flows
  flows:
    limits:
      error_handling:
        policies:
          p: {error_classes: [down], scenarios: [{name: fragile}]}
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
async fn dsp_6_a_flow_whose_system_is_away_is_stopped_probed_and_resumed() {
    let engine = Installation::configured("dsp_6", STOPPING).await;
    engine.actions("fragile", &call("/fragile")).await;
    engine.actions("other", &call("/fine")).await;
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let switch = broken.clone();
    engine.world().program(Program::at("/fragile").decided_by(move |_| {
        if switch.load(std::sync::atomic::Ordering::Relaxed) {
            Step::answer(503, json!({}))
        } else {
            Step::fine()
        }
    }));
    let orders: Vec<Value> =
        (0..300).map(|n| json!({"id": format!("f{n}"), "scenario": "fragile"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    until("the flow stops", PATIENCE, async || {
        ["stopped", "probing"].contains(&state_of(&engine, "fragile").await.as_str())
    })
    .await;
    // Stages that were under way when the flow stopped still come to their end.
    until("nothing is under way", PATIENCE, async || {
        engine.get("/v1/flows/fragile").await.unwrap().success().unwrap()["inProgress"] == 0
    })
    .await;
    let before = engine.world().calls("/fragile").len();
    engine.run(json!({"id": "neighbour", "scenario": "other"}), "success").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let probes = engine.world().calls("/fragile").len() - before;
    assert!(probes <= 30, "{probes} calls while it is away");
    broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let back = Instant::now();
    for n in 0..300 {
        engine.reach(&format!("f{n}"), "success").await;
    }
    assert!(back.elapsed() < Duration::from_secs(60), "it took {:?} to come back", back.elapsed());
    let flow = engine.get("/v1/flows/fragile").await.unwrap().success().unwrap();
    let system = engine.get("/v1/systems/fragile").await.unwrap().success().unwrap();
    assert!(system["decisions"].to_string().contains("calls failed"), "{system}");
    assert!(flow["errors"]["down"].as_i64().unwrap_or(0) > 0, "{flow}");
}

/// The same, with limits that follow what the system can take.
fn limiting() -> String {
    STOPPING.replace("mode: stopped_flows", "mode: limited_flows")
}

/// Returns the orders a second of a scenario whose system can take all of them.
async fn free_rate(engine: &Installation) -> f64 {
    let orders: Vec<Value> =
        (0..500).map(|n| json!({"id": format!("free{n}"), "scenario": "fine"})).collect();
    let begun = Instant::now();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    engine.calls("/fine", orders.len()).await;
    orders.len() as f64 / begun.elapsed().as_secs_f64()
}

// DSP-7: a system whose time grows with what is asked of it at once. Beyond its capacity it refuses.
#[tokio::test]
async fn dsp_7_the_limit_of_a_flow_follows_what_its_system_can_take() {
    let engine = Installation::configured("dsp_7", &limiting()).await;
    engine.actions("fragile", &call("/fragile")).await;
    engine.actions("fine", &call("/fine")).await;
    let free = free_rate(&engine).await;
    // Ten servers of 20 ms each, and a queue of forty.
    let ends = std::sync::Mutex::new(vec![Instant::now(); 10]);
    engine.world().program(Program::at("/fragile").decided_by(move |_| {
        let now = Instant::now();
        let mut ends = ends.lock().unwrap();
        let first = ends.iter_mut().min().unwrap();
        let begin = (*first).max(now);
        if begin.duration_since(now) > Duration::from_millis(80) {
            return Step::answer(503, json!({}));
        }
        *first = begin + Duration::from_millis(20);
        Step { delay: first.duration_since(now), ..Step::fine() }
    }));
    let orders: Vec<Value> =
        (0..6000).map(|n| json!({"id": format!("f{n}"), "scenario": "fragile"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let calls = || engine.world().calls("/fragile").len();
    until("a limit is learnt", PATIENCE, async || {
        // The flow may not be known yet.
        let flow = engine.get("/v1/flows/fragile").await.unwrap().body;
        flow["limit"].as_i64().is_some_and(|limit| limit <= 100)
    })
    .await;
    let (begun, before) = (Instant::now(), calls());
    // The limit swings, the more the slower the machine is: the middle of many looks counts, not the last.
    let (mut limits, mut flow) = (Vec::new(), Value::Null);
    while begun.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        flow = engine.get("/v1/flows/fragile").await.unwrap().success().unwrap();
        limits.extend(flow["limit"].as_i64());
    }
    let rate = (calls() - before) as f64 / begun.elapsed().as_secs_f64();
    limits.sort_unstable();
    let limit = limits.get(limits.len() / 2).copied().unwrap_or(i64::MAX);
    assert!(
        limit <= 100,
        "the limit is {limit}, and ten servers with a queue of forty stand behind it: {limits:?} {flow}"
    );
    // The system can take 500 calls a second; a slow machine reaches less of them even where nothing limits it.
    assert!(
        rate > 150_f64.min(free / 3.0),
        "{rate} calls a second, {free} where nothing limits them: {flow}"
    );
}

#[tokio::test]
async fn dsp_16_limits_that_were_learnt_and_orders_about_systems_survive_the_death_of_every_process() {
    let mut engine = Installation::configured("dsp_16_death", &limiting()).await;
    engine.actions("fragile", &call("/fragile")).await;
    engine.actions("bills", &call("/billing/pay")).await;
    engine.run(json!({"id": "before", "scenario": "bills"}), "success").await;
    // Two calls at a time are borne.
    let free = std::sync::Mutex::new(vec![Instant::now(); 2]);
    engine.world().program(Program::at("/fragile").decided_by(move |_| {
        let now = Instant::now();
        let mut free = free.lock().unwrap();
        let Some(first) = free.iter_mut().find(|free| **free <= now) else {
            return Step::answer(503, json!({}));
        };
        *first = now + Duration::from_millis(50);
        Step { delay: Duration::from_millis(50), ..Step::fine() }
    }));
    let orders: Vec<Value> =
        (0..3000).map(|n| json!({"id": format!("f{n}"), "scenario": "fragile"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let stop = engine.post("/v1/systems/billing/stop", &json!({"reason": "works"})).await.unwrap();
    stop.success().unwrap();
    engine.accepted(json!({"id": "held", "scenario": "bills"})).await;
    let flow =
        async |engine: &Installation| engine.get("/v1/flows/fragile").await.unwrap().success().unwrap();
    until("a limit is learnt", PATIENCE, async || {
        // Not known at first.
        engine.get("/v1/flows/fragile").await.unwrap().body["limit"].is_u64()
    })
    .await;
    until("the system is stopped", PATIENCE, async || {
        engine.get("/v1/systems/billing").await.unwrap().body["state"] == "stopped"
    })
    .await;
    let roles = [Role::Dispatcher, Role::Worker, Role::Activator, Role::Notifier, Role::Intake];
    for role in roles {
        engine.node(role).kill().await.unwrap();
    }
    let calls = engine.world().calls("/fragile").len();
    for role in roles {
        engine.restart(role).await;
    }
    until("the flow goes on", PATIENCE, async || engine.world().calls("/fragile").len() > calls).await;
    let after = flow(&engine).await;
    let state = after["state"].as_str().unwrap();
    let limit = after["limit"].as_u64();
    assert!(limit.is_some_and(|limit| limit < 100) || ["stopped", "probing"].contains(&state), "{after}");
    let system = engine.get("/v1/systems/fragile").await.unwrap().success().unwrap();
    assert!(system["decisions"].as_array().unwrap().len() > 1, "what was decided before is there: {system}");
    let system = engine.get("/v1/systems/billing").await.unwrap().success().unwrap();
    assert_eq!(
        (&system["order"]["order"], &system["state"]),
        (&json!("keep_stopped"), &json!("stopped")),
        "{system}"
    );
    assert_eq!(engine.world().calls("/billing/pay").len(), 1, "it was left alone all the time");
    engine.post("/v1/systems/billing/clear", &json!({})).await.unwrap().success().unwrap();
    engine.reach("held", "success").await;
}
