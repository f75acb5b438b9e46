//! Distribution: capacity, priorities, standby (04-distribution.md).

use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, callers, most_at_once, until};

#[tokio::test]
async fn dsp_1_no_more_stages_run_at_once_than_capacity_and_workers_allow() {
    let cases = [("PAGURUS__DISTRIBUTION__CAPACITY__PARALLEL_COUNT", 3), ("PAGURUS__WORKER__CONCURRENCY", 2)];
    for (setting, bound) in cases {
        let engine = Installation::with("dsp_1", &[(setting, &bound.to_string())]).await;
        engine.world().program(Program::at("/slow").delayed(Duration::from_millis(60)));
        engine.actions("slow", &call("/slow")).await;
        let orders: Vec<Value> = (0..24).map(|n| json!({"id": n.to_string(), "scenario": "slow"})).collect();
        engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
        for n in 0..24 {
            engine.reach(&n.to_string(), "success").await;
        }
        assert_eq!(most_at_once(&engine.world().calls("/slow")), bound, "{setting}");
    }
}

#[tokio::test]
async fn dsp_2_priorities_share_by_weight_and_the_low_ones_never_starve() {
    let mut engine = Installation::only(
        "dsp_2",
        &[Role::Intake, Role::Dispatcher],
        &[("PAGURUS__DISTRIBUTION__CAPACITY__PARALLEL_COUNT", "1")],
    )
    .await;
    engine.actions("one", &call("/do")).await;
    for priority in ["low", "normal", "high"] {
        let orders: Vec<Value> = (0..100)
            .map(|n| json!({"id": format!("{priority}-{n}"), "scenario": "one", "priority": priority}))
            .collect();
        engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    }
    engine.add(Role::Worker, "worker-1").await;
    let calls = engine.calls("/do", 100).await;
    let callers = callers(&calls[..100]);
    let count = |priority: &str| callers.iter().filter(|id| id.starts_with(priority)).count();
    let shares = (count("high"), count("normal"), count("low"));
    assert!(
        (60..=80).contains(&shares.0) && (15..=35).contains(&shares.1) && (2..=10).contains(&shares.2),
        "{shares:?}"
    );
}

// QLT-8, DSP-4: a scenario whose system hangs leaves room for the others.
#[tokio::test]
async fn qlt_8_a_scenario_whose_system_hangs_leaves_room_for_the_others() {
    let engine = Installation::start("hanging_flow").await;
    engine.world().program(Program::at("/hang").hang(5000));
    engine.actions("hangs", "- http: {method: POST, url: \"${config.demo}/hang\", timeout: 5m}").await;
    engine.actions("fine", &call("/do")).await;
    let hanging: Vec<Value> =
        (0..2500).map(|n| json!({"id": format!("h{n}"), "scenario": "hangs"})).collect();
    engine.post("/v1/orders/batch", &json!(hanging)).await.unwrap().success().unwrap();
    // Four fifths of the 2 000 places of the one worker, and no more.
    engine.calls("/hang", 1600).await;
    engine.run(json!({"id": "neighbour", "scenario": "fine"}), "success").await;
    // None has ended meanwhile, so nobody left the place that it took.
    assert_eq!(engine.world().calls("/hang").len(), 1600, "more than the flow may have");
    let mut explained = None;
    for n in (0..2500).rev() {
        let answer = engine.part(&format!("h{n}"), "explain").await;
        let text = answer["explanation"].as_str().unwrap().to_owned();
        if text.starts_with("ready since") {
            explained = Some(text);
            break;
        }
    }
    let text = explained.expect("some of them wait");
    assert!(text.contains("its flow `hangs` has 1600 stages in progress"), "{text}");
}

#[tokio::test]
async fn dsp_12_a_standby_takes_over_within_the_lease_and_at_once_after_a_normal_stop() {
    let mut engine = Installation::with(
        "dsp_12",
        &[("PAGURUS__DISPATCHER__LEASE__TTL", "3s"), ("PAGURUS__NODE__LOST_AFTER", "10m")],
    )
    .await;
    engine.actions("one", &call("/do")).await;
    engine.run(json!({"id": "first", "scenario": "one"}), "success").await;
    engine.add(Role::Dispatcher, "dispatcher-2").await;
    until("one leads, one stands by", PATIENCE, async || statuses(&engine).await == ["active", "standby"])
        .await;
    let before = lease(&engine).await;
    let of_holder = |lease: &Value| {
        let name = lease["holder"].as_str().unwrap();
        engine.nodes.iter().find(|node| node.spec.name == name).unwrap()
    };
    let first = of_holder(&before);
    first.kill().await.unwrap();
    let begun = Instant::now();
    let id = engine.accepted(json!({"id": "second", "scenario": "one"})).await;
    engine.reach(&id, "success").await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let after = lease(&engine).await;
    assert!(
        after["epoch"].as_i64() > before["epoch"].as_i64() && after["holder"] != before["holder"],
        "{before} {after}"
    );
    // The other way: a stop hands the lease over without waiting for its end.
    engine.env().restart(first).await.unwrap();
    of_holder(&after).stop(PATIENCE).await.unwrap();
    engine.run(json!({"id": "third", "scenario": "one"}), "success").await;
    assert!(lease(&engine).await["epoch"].as_i64() > after["epoch"].as_i64());
    assert_eq!(callers(&engine.world().calls("/do")), ["first", "second", "third"]);
}

async fn lease(engine: &Installation) -> Value {
    let leases = engine.get("/v1/leases").await.unwrap().success().unwrap();
    leases["items"].as_array().unwrap().iter().find(|lease| lease["name"] == "dispatcher").unwrap().clone()
}

async fn statuses(engine: &Installation) -> Vec<String> {
    let nodes = engine.get("/v1/nodes").await.unwrap().success().unwrap();
    let mut statuses: Vec<String> = nodes["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["role"] == "dispatcher")
        .map(|node| node["status"].as_str().unwrap().to_owned())
        .collect();
    statuses.sort();
    statuses
}
