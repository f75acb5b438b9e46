//! Flows that are stopped, shifted and limited, and called systems that are to be left alone (04-distribution.md).

use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step, Then};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, until};

/// Stops flows by a keyword; the answer, once it was confirmed.
async fn stop(engine: &Installation, keyword: &str, more: Value) -> Value {
    let mut body = json!({"keyword": keyword, "reason": "works"});
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name.as_str()] = value.clone();
    }
    engine.post("/v1/flows/stop", &body).await.unwrap().success().unwrap()
}

async fn resume(engine: &Installation, body: Value) -> Value {
    let mut body = body;
    body["reason"] = json!("done");
    engine.post("/v1/flows/resume", &body).await.unwrap().success().unwrap()
}

async fn state_of(engine: &Installation, flow: &str) -> String {
    let answer = engine.get(&format!("/v1/flows/{flow}")).await.unwrap();
    answer.body["state"].as_str().unwrap_or_default().to_owned()
}

async fn explained(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["explanation"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn dsp_10_a_stop_is_confirmed_holds_over_restarts_and_only_a_resumption_lifts_it() {
    let mut engine = Installation::start("dsp_10").await;
    engine.actions("tariff-a", &call("/tariff")).await;
    engine.actions("card", &call("/card")).await;
    engine.run(json!({"id": "before", "scenario": "tariff-a"}), "success").await;
    until("the flow is known", PATIENCE, async || state_of(&engine, "tariff-a").await == "enabled").await;

    let dry = stop(&engine, "tariff", json!({"dryRun": true})).await;
    assert_eq!((&dry["flows"], &dry["stops"]), (&json!(["tariff-a"]), &json!([])));
    let first = stop(&engine, "tariff", json!({})).await;
    assert_eq!((&first["flows"], &first["confirmed"]), (&json!(["tariff-a"]), &json!(true)), "{first}");
    assert!(first["serial"].as_i64().unwrap() >= 1, "{first}");
    let second = stop(&engine, "tariff-a", json!({})).await;

    // It holds for a flow that appears later, too, and for nobody else.
    engine.actions("tariff-b", &call("/tariff")).await;
    for (id, scenario) in [("a", "tariff-a"), ("b", "tariff-b")] {
        engine.accepted(json!({"id": id, "scenario": scenario})).await;
    }
    engine.run(json!({"id": "other", "scenario": "card"}), "success").await;
    until("the state is shown", PATIENCE, async || {
        state_of(&engine, "tariff-b").await == "disabled_manually"
    })
    .await;
    let told = explained(&engine, "a").await;
    assert!(
        told.contains("its flow `tariff-a` is stopped by hand since") && told.ends_with(": works"),
        "{told}"
    );

    // Neither the death of the dispatcher nor another one changes that.
    engine.node(Role::Dispatcher).kill().await.unwrap();
    engine.restart(Role::Dispatcher).await;
    engine.run(json!({"id": "after", "scenario": "card"}), "success").await;
    assert_eq!(engine.order("a").await.unwrap()["status"], "new");

    // Overlapping stops are independent.
    let lifted = resume(&engine, json!({"keyword": "tariff"})).await;
    assert_eq!((&lifted["stops"], &lifted["confirmed"]), (&first["stops"], &json!(true)));
    engine.reach("b", "success").await;
    assert_eq!(engine.order("a").await.unwrap()["status"], "new");
    resume(&engine, json!({"stop": second["stops"][0]})).await;
    engine.reach("a", "success").await;
    assert_eq!(engine.world().calls("/tariff").len(), 3);

    let stops = engine.get("/v1/stops?ended=true").await.unwrap().success().unwrap();
    assert_eq!(stops["items"].as_array().unwrap().len(), 2, "{stops}");
    let again = engine.post("/v1/flows/resume", &json!({"keyword": "tariff", "reason": "x"})).await.unwrap();
    assert_eq!(again.status, 404, "{again:?}");
}

// ACT-3: what wakes while its flow is stopped is no repeat.
#[tokio::test]
async fn act_3_wake_ups_of_a_stopped_flow_are_no_repeats_and_a_stop_with_an_end_lifts_itself() {
    let settings = [("PAGURUS__ACTIVATION__MIN_SHIFT", "300ms"), ("PAGURUS__DISPATCHER__REREAD", "200ms")];
    let engine = Installation::with("act_3_stopped", &settings).await;
    let naps = "initialState: nap\nstates:\n  nap: {actions: [{sleep: {for: 200ms}}], on: {sleep: napping}}\n  \
                napping: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("naps", naps).await;
    for n in 0..20 {
        engine.accepted(json!({"id": format!("n{n}"), "scenario": "naps"})).await;
        engine.reach(&format!("n{n}"), "sleep").await;
    }
    let stopped = stop(&engine, "naps", json!({"for": "4s", "resume": true})).await;
    assert_eq!(stopped["confirmed"], true, "{stopped}");
    let begun = Instant::now();
    for n in 0..20 {
        engine.reach(&format!("n{n}"), "success").await;
    }
    assert!(begun.elapsed() > Duration::from_secs(3), "it went on after {:?}", begun.elapsed());
    let repeats = engine.metric(engine.node(Role::Dispatcher), "pagurus_activation_repeats_total").await;
    assert_eq!(repeats, 0.0);
}

#[tokio::test]
async fn dsp_10_the_head_of_a_queue_in_a_stopped_flow_holds_the_queue_and_explain_says_so() {
    let engine = Installation::start("dsp_10_queue").await;
    engine.actions("held", &call("/held")).await;
    engine.actions("behind", &call("/behind")).await;
    stop(&engine, "held", json!({})).await;
    let member = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "q"});
    engine.accepted(member("head", "held")).await;
    engine.accepted(member("second", "behind")).await;
    engine.run(json!({"id": "free", "scenario": "behind"}), "success").await;
    assert_eq!(engine.order("second").await.unwrap()["status"], "new");
    let told = explained(&engine, "second").await;
    assert!(
        told.contains("of which order `head` is the next; the flow of that order `held` is stopped"),
        "{told}"
    );
    resume(&engine, json!({"keyword": "held"})).await;
    engine.reach("second", "success").await;
    assert_eq!(engine.world().calls("/behind").len(), 2);
}

/// A retry each hour.
const HOURLY: &str = "
execution:
  error_handling:
    sync:
      classification:
        rules:
          r: {requests: [{path: '/**'}], classes: {down: {responses: [{status_codes: [503]}]}}}
      retry:
        policies:
          p: {error_classes: [down], parameters: {initial_interval: 1h, max_interval: 1h, jitter: 0, max_duration: 90m}}
";

#[tokio::test]
async fn dsp_11_a_shift_moves_what_waits_with_all_its_deadlines_and_can_be_undone() {
    let engine = Installation::configured("dsp_11", HOURLY).await;
    engine.world().program(Program::at("/down").fail(100, 503));
    engine.actions("retries", &call("/down")).await;
    engine.run(json!({"id": "r", "scenario": "retries"}), "retry").await;
    let before = engine.order("r").await.unwrap();
    let due = |order: &Value| order["dueAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();

    let body = json!({"flow": "retries", "by": "3h", "reason": "works"});
    let mut dry = body.clone();
    dry["dryRun"] = json!(true);
    let counted = engine.post("/v1/flows/shift", &dry).await.unwrap().success().unwrap();
    assert_eq!((&counted["orders"], counted.get("shift")), (&json!(1), None));
    let moved = engine.post("/v1/flows/shift", &body).await.unwrap().success().unwrap();
    assert_eq!(moved["orders"], 1, "{moved}");
    let after = engine.order("r").await.unwrap();
    assert_eq!(due(&after).duration_since(due(&before)).as_secs(), 3 * 3600);
    assert_eq!(
        after["retry"]["cycleEndsAt"],
        moved_by_three_hours(&before["retry"]["cycleEndsAt"]),
        "the cycle would be over before its next attempt: {after}"
    );
    let events = engine.part("r", "events").await.to_string();
    assert!(events.contains("shifted") && events.contains("works"), "{events}");

    let undo = json!({"undo": moved["shift"], "reason": "earlier"});
    let undone = engine.post("/v1/flows/shift", &undo).await.unwrap().success().unwrap();
    assert_eq!(undone["orders"], 1, "{undone}");
    assert_eq!(due(&engine.order("r").await.unwrap()), due(&before));
    assert_eq!(engine.post("/v1/flows/shift", &undo).await.unwrap().status, 404);
}

fn moved_by_three_hours(at: &Value) -> Value {
    match at.as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok()) {
        Some(at) => json!((at + jiff::SignedDuration::from_hours(3)).to_string()),
        None => Value::Null,
    }
}

// A stop for a time moves only what would be due in it.
#[tokio::test]
async fn dsp_11_planned_works_move_what_is_due_meanwhile_behind_their_end() {
    let engine = Installation::configured("dsp_11_works", HOURLY).await;
    engine.world().program(Program::at("/down").fail(100, 503));
    engine.actions("retries", &call("/down")).await;
    engine.run(json!({"id": "r", "scenario": "retries"}), "retry").await;
    let short = stop(&engine, "retries", json!({"for": "10m"})).await;
    assert_eq!(short["shift"]["orders"], 0, "{short}");
    let long = stop(&engine, "retries", json!({"for": "3h"})).await;
    assert_eq!(long["shift"]["orders"], 1, "{long}");
}

#[tokio::test]
async fn dsp_16_a_system_that_asks_to_be_left_alone_is_left_alone_by_all_and_nobody_loses_an_attempt() {
    let engine = Installation::start("dsp_16").await;
    let headers = vec![("retry-after".to_owned(), "3".to_owned())];
    let later = Step { then: Then::Answer { status: 429, headers, body: json!({}) }, ..Step::fine() };
    engine.world().program(Program::at("/limited").first(1, &later));
    engine.actions("limited", &call("/limited")).await;
    // A first action elsewhere, so that the closed system is met in the middle of a stage.
    engine.actions("middle", &format!("{}\n{}", call("/elsewhere"), call("/limited"))).await;
    let first = engine.run(json!({"id": "first", "scenario": "limited"}), "fail").await;
    let begun = Instant::now();
    assert_eq!(first["status"], "fail", "no rule retries it");
    for n in 0..10 {
        let scenario = if n % 2 == 0 { "limited" } else { "middle" };
        engine.accepted(json!({"id": format!("o{n}"), "scenario": scenario})).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(engine.world().calls("/limited").len(), 1, "it is not called before its time");
    for n in 0..10 {
        let order = engine.reach(&format!("o{n}"), "success").await;
        assert_eq!(order["retries"].as_i64().unwrap_or(0), 0, "{order}");
    }
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(engine.world().calls("/elsewhere").len(), 5, "what was done is not done again");
}

#[tokio::test]
async fn dsp_16_an_operator_keeps_a_system_stopped_and_lets_it_go() {
    let engine = Installation::configured(
        "dsp_16_order",
        "systems: {named: [{name: billing, path: '/billing/**'}]}\n",
    )
    .await;
    engine.actions("bills", &call("/billing/pay")).await;
    engine.run(json!({"id": "before", "scenario": "bills"}), "success").await;
    until("the system is known", PATIENCE, async || {
        engine.get("/v1/systems/billing").await.unwrap().body["state"] == "healthy"
    })
    .await;
    let stopped = engine.post("/v1/systems/billing/stop", &json!({"reason": "works"})).await.unwrap();
    assert_eq!(stopped.success().unwrap()["confirmed"], true);
    engine.accepted(json!({"id": "held", "scenario": "bills"})).await;
    until("the system is shown as stopped", PATIENCE, async || {
        engine.get("/v1/systems/billing").await.unwrap().body["state"] == "stopped"
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(engine.world().calls("/billing/pay").len(), 1);
    let shown = engine.get("/v1/systems").await.unwrap().success().unwrap();
    assert_eq!(shown["items"][0]["order"]["order"], "keep_stopped", "{shown}");
    engine.post("/v1/systems/billing/clear", &json!({})).await.unwrap().success().unwrap();
    engine.reach("held", "success").await;
}

/// Two scenarios call the same path; the class of its failures is limiting for the first.
const STOPPING: &str = "
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
    assert!(back.elapsed() < Duration::from_secs(20), "it took {:?} to come back", back.elapsed());
    let flow = engine.get("/v1/flows/fragile").await.unwrap().success().unwrap();
    assert!(flow["decisions"].to_string().contains("calls failed"), "{flow}");
    assert!(flow["errors"]["down"].as_i64().unwrap_or(0) > 0, "{flow}");
}

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
    until("the API refuses more of the flow", PATIENCE, async || {
        let answer = engine.submit(&json!({"id": "more", "scenario": "piled"})).await;
        answer.status == 429 && answer.body["detail"].as_str().unwrap().contains("the flow `piled`")
    })
    .await;
    engine.run(json!({"id": "other", "scenario": "free"}), "success").await;

    let member =
        |n: usize| json!({"id": format!("q{n}"), "scenario": "free", "mode": "sequential", "queue": "q"});
    engine.world().program(Program::at("/free").delayed(Duration::from_secs(2)));
    for n in 0..3 {
        engine.accepted(member(n)).await;
    }
    let refused = engine.submit(&member(3)).await;
    assert_eq!(refused.status, 429, "{refused:?}");

    resume(&engine, json!({"keyword": "piled"})).await;
    until("the API takes them again", PATIENCE, async || {
        engine.submit(&json!({"id": "again", "scenario": "piled"})).await.status == 201
    })
    .await;
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
    let mut told = Value::Null;
    until("there is a time", PATIENCE, async || {
        told = engine.part("s39", "explain").await;
        told["eta"].is_object()
    })
    .await;
    let at = |name: &str| told["eta"][name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let order = engine.reach("s39", "success").await;
    let started: jiff::Timestamp = order["startedAt"].as_str().unwrap().parse().unwrap();
    assert!(at("p50") <= at("p90"), "{told}");
    let off = started.duration_since(at("p50")).as_secs_f64();
    assert!(off.abs() < 8.0, "started {off} s after the middle of what was told: {told}");
}

// DSP-14: an operator makes the active dispatcher step down, and one that stands by goes on.
#[tokio::test]
async fn dsp_14_the_active_dispatcher_steps_down_when_it_is_told_to() {
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

/// The same, with limits that follow what the system bears.
fn limiting() -> String {
    STOPPING.replace("mode: stopped_flows", "mode: limited_flows")
}

// DSP-7: a system whose time grows with what is asked of it at once. Beyond its capacity it refuses.
#[tokio::test]
async fn dsp_7_the_limit_of_a_flow_follows_what_its_system_bears() {
    let engine = Installation::configured("dsp_7", &limiting()).await;
    engine.actions("fragile", &call("/fragile")).await;
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
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (begun, before) = (Instant::now(), calls());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let rate = (calls() - before) as f64 / begun.elapsed().as_secs_f64();
    let flow = engine.get("/v1/flows/fragile").await.unwrap().success().unwrap();
    let limit = flow["limit"].as_i64().unwrap_or(i64::MAX);
    assert!(
        limit <= 100,
        "the limit is {limit}, and ten servers with a queue of forty stand behind it: {flow}"
    );
    assert!(rate > 150.0, "{rate} calls a second of 500 that are borne: {flow}");
}
