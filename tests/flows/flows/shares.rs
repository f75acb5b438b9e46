//! How flows share the capacity and what bounds them: by time in `rated_flows` and under overload, by `max_limit`, and by requests
//! that wait for callbacks. What is counted is the calls of one flow beside those of another, never how fast they come.

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::reason;
use crate::installation::{Installation, PATIENCE, asking, call, callers, most_at_once, until};

/// Time of a call that takes long.
const LONG: Duration = Duration::from_secs(1);
/// Calls of that kind after which both flows are compared.
const COMPARED_AT: usize = 12;
/// Orders of the flow whose calls are answered at once: more than can be run meanwhile, or as good.
const QUICK: usize = 1500;

/// Calls of `quick` for each call of `slow`, where both have work all the time and four places.
async fn quick_for_each_slow(test: &str, distribution: &str) -> f64 {
    let settings = format!("distribution:\n  capacity: {{parallel_count: 4{distribution}\n");
    let mut engine = Installation::configured(test, &settings).await;
    engine.world().program(Program::at("/slow").delayed(LONG));
    engine.actions("slow", &call("/slow")).await;
    engine.actions("quick", &call("/quick")).await;
    engine.node(Role::Worker).kill().await.unwrap();
    let orders = |scenario: &str, count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"id": format!("{scenario}{n}"), "scenario": scenario})).collect()
    };
    for (scenario, count) in [("slow", 40), ("quick", QUICK)] {
        engine.post("/v1/orders/batch", &json!(orders(scenario, count))).await.unwrap().success().unwrap();
    }
    engine.restart(Role::Worker).await;
    until("enough slow calls have begun", PATIENCE, async || {
        engine.world().calls("/slow").len() >= COMPARED_AT
    })
    .await;
    engine.world().calls("/quick").len() as f64 / COMPARED_AT as f64
}

#[tokio::test]
async fn dsp_5_in_rated_flows_a_flow_of_slow_stages_gets_as_much_time_as_one_of_quick_ones() {
    let rated =
        quick_for_each_slow("dsp_5", "}\n  mode: rated_flows\n  flows: {max_share_percentage: 100}").await;
    assert!(rated >= 3.0, "{rated} quick calls for each slow one");
}

#[tokio::test]
async fn dsp_8_from_the_overload_threshold_on_flows_share_by_time_and_below_it_by_turns() {
    // Of four places three are in use when the next one is given away.
    let with = |threshold: u32| {
        format!(
            ", overload_threshold_percentage: {threshold}}}\n  mode: stopped_flows\n  \
             flows: {{max_share_percentage: 100}}"
        )
    };
    let overloaded = quick_for_each_slow("dsp_8_over", &with(50)).await;
    assert!(overloaded >= 3.0, "{overloaded} quick calls for each slow one");
    let by_turns = quick_for_each_slow("dsp_8_below", &with(100)).await;
    assert!(by_turns <= 2.0, "{by_turns} quick calls for each slow one");
}

/// Settings in which the flow `bounded` has three in progress at most, and capacity counts as overloaded from its first place on.
const BOUNDED: &str = "
distribution:
  mode: stopped_flows
  capacity: {overload_threshold_percentage: 1}
  flows:
    limits:
      open_requests_within: 1h
      policies:
        few: {scenarios: [{name: bounded}], params: {mode: limited_flows, max_limit: 3}}
";

/// The flow `bounded` as the dispatcher knows it.
async fn bounded(engine: &Installation) -> Value {
    engine.get("/v1/flows/bounded").await.unwrap().body
}

#[tokio::test]
async fn dsp_9_a_flow_with_a_max_limit_never_has_more_in_progress_also_under_overload() {
    let engine = Installation::configured("dsp_9_max_limit", BOUNDED).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/bounded").then(held));
    engine.actions("bounded", &call("/bounded").replace("timeout: 5s", "timeout: 5m")).await;
    engine.actions("free", &call("/free")).await;
    let orders: Vec<Value> = (0..10).map(|n| json!({"id": format!("b{n}"), "scenario": "bounded"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    engine.calls("/bounded", 3).await;
    until("the others wait at its limit", PATIENCE, async || {
        let flow = bounded(&engine).await;
        flow["inProgress"] == 3 && flow["limit"] == 3 && flow["ready"]["normal"] == 7
    })
    .await;
    // The dispatcher goes on handing out, and there are places.
    for n in 0..5 {
        engine.run(json!({"id": format!("free{n}"), "scenario": "free"}), "success").await;
    }
    assert_eq!(engine.world().calls("/bounded").len(), 3);
    let last =
        callers(&engine.world().calls("/bounded")).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let waits = (0..10).map(|n| format!("b{n}")).find(|id| !last.contains(id)).unwrap();
    assert_eq!(reason(&engine, &waits).await, "flow_limited");
    gate.send_replace(true);
    for n in 0..10 {
        engine.reach(&format!("b{n}"), "success").await;
    }
    assert_eq!(most_at_once(&engine.world().calls("/bounded")), 3);
}

#[tokio::test]
async fn dsp_7_requests_that_wait_for_callbacks_count_against_the_limit_of_their_flow() {
    let engine = Installation::configured("dsp_7_callbacks", BOUNDED).await;
    engine.scenario("bounded", &asking("/ask", "20m")).await;
    engine.actions("free", &call("/free")).await;
    // The dispatcher learns that this system answers soon.
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!("yes"))));
    for n in 0..8 {
        engine.run(json!({"id": format!("first{n}"), "scenario": "bounded"}), "success").await;
    }
    engine.world().program(Program::at("/ask"));
    let before = engine.world().calls("/ask").len();
    engine.accepted(json!({"id": "b0", "scenario": "bounded"})).await;
    until("an open request counts", PATIENCE, async || bounded(&engine).await["countedRequests"] == 1).await;
    let orders: Vec<Value> = (1..10).map(|n| json!({"id": format!("b{n}"), "scenario": "bounded"})).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    until("three requests are open and the others wait", PATIENCE, async || {
        let flow = bounded(&engine).await;
        flow["countedRequests"] == 3 && flow["inProgress"] == 0 && flow["ready"]["normal"] == 7
    })
    .await;
    for n in 0..5 {
        engine.run(json!({"id": format!("free{n}"), "scenario": "free"}), "success").await;
    }
    assert_eq!(engine.world().calls("/ask").len() - before, 3, "no place is free");
    // Each answer lets the next one go, until all have ended.
    for answered in 0..10 {
        let calls = engine.calls("/ask", before + answered + 1).await;
        let url = &calls[before + answered].headers["x-callback-url"];
        let request = url.rsplit('/').next().unwrap();
        engine.post(&format!("/v1/callbacks/{request}"), &json!("yes")).await.unwrap().success().unwrap();
        assert!(engine.world().calls("/ask").len() - before <= answered + 4, "three are open at most");
    }
    for n in 0..10 {
        engine.reach(&format!("b{n}"), "success").await;
    }
}
