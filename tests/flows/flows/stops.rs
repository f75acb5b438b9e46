//! Stops by hand, and planned works.

use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};

use super::{explained, reason, resume, state_of, stop};
use crate::err::policy;
use crate::installation::{Installation, PATIENCE, call, until, with_actions};

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
    let text = explained(&engine, "a").await;
    assert_eq!(reason(&engine, "a").await, "flow_stopped");
    assert!(
        text.contains("its flow `tariff-a` is stopped by hand from") && text.ends_with(": works"),
        "{text}"
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
    let naps = "initialState: nap\nstates:\n  nap: {actions: [{sleep: {for: 4s}}], on: {sleep: napping}}\n  \
                napping: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("naps", naps).await;
    for n in 0..20 {
        engine.accepted(json!({"id": format!("n{n}"), "scenario": "naps"})).await;
    }
    let stopped = stop(&engine, "naps", json!({"for": "8s", "resume": true})).await;
    assert_eq!(stopped["confirmed"], true, "{stopped}");
    let begun = Instant::now();
    for n in 0..20 {
        engine.reach(&format!("n{n}"), "success").await;
    }
    assert!(begun.elapsed() > Duration::from_secs(6), "it went on after {:?}", begun.elapsed());
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
    let text = explained(&engine, "second").await;
    assert_eq!(reason(&engine, "second").await, "queue");
    assert!(text.contains("where order `head` is next; the flow of that order `held` is stopped"), "{text}");
    resume(&engine, json!({"keyword": "held"})).await;
    engine.reach("second", "success").await;
    assert_eq!(engine.world().calls("/behind").len(), 2);
}

/// A retry each hour.
pub const HOURLY: &str = "
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
    let at = |time: &Value| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let due = |order: &Value| at(&order["dueAt"]);
    let three_hours = jiff::SignedDuration::from_hours(3);

    let body = json!({"flow": "retries", "by": "3h", "reason": "works"});
    let mut dry = body.clone();
    dry["dryRun"] = json!(true);
    let counted = engine.post("/v1/flows/shift", &dry).await.unwrap().success().unwrap();
    assert_eq!((&counted["orders"], counted.get("shift")), (&json!(1), None));
    let moved = engine.post("/v1/flows/shift", &body).await.unwrap().success().unwrap();
    assert_eq!(moved["orders"], 1, "{moved}");
    let after = engine.order("r").await.unwrap();
    assert_eq!(due(&after).duration_since(due(&before)), three_hours);
    assert_eq!(
        at(&after["retry"]["endsAt"]).duration_since(at(&before["retry"]["endsAt"])),
        three_hours,
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

#[tokio::test]
async fn dsp_11_a_shift_that_is_asked_for_twice_under_one_key_moves_once() {
    let engine = Installation::configured("dsp_11_key", HOURLY).await;
    engine.world().program(Program::at("/down").fail(100, 503));
    engine.actions("retries", &call("/down")).await;
    engine.run(json!({"id": "r", "scenario": "retries"}), "retry").await;
    let due = async || {
        let order = engine.order("r").await.unwrap();
        order["dueAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    let before = due().await;
    let shift = async |by: &str, key: &str| {
        let body = json!({"flow": "retries", "by": by, "reason": "works"});
        let request = engine.env().http().post(format!("{}/v1/flows/shift", engine.base()));
        let answer = request.header("idempotency-key", key).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (_, first) = shift("3h", "once").await;
    engine.run(json!({"id": "later", "scenario": "retries"}), "retry").await;
    let later = engine.order("later").await.unwrap();
    let (status, again) = shift("3h", "once").await;
    assert_eq!((status, &again, &again["orders"]), (200, &first, &json!(1)), "the answer may have been lost");
    assert_eq!(due().await.duration_since(before), jiff::SignedDuration::from_hours(3));
    assert_eq!(
        engine.order("later").await.unwrap()["dueAt"],
        later["dueAt"],
        "it was asked for before this order"
    );
    let (status, misused) = shift("4h", "once").await;
    assert_eq!(status, 422, "{misused}");
    let (_, second) = shift("3h", "twice").await;
    assert_ne!(second["shift"], first["shift"]);
    assert_eq!(due().await.duration_since(before), jiff::SignedDuration::from_hours(6));
    let undo = json!({"undo": first["shift"], "reason": "earlier"});
    engine.post("/v1/flows/shift", &undo).await.unwrap().success().unwrap();
    assert_eq!(shift("3h", "once").await.0, 404, "it was undone");
    let audit = engine.get("/v1/audit?action=shift").await.unwrap().success().unwrap();
    assert_eq!(audit["items"].as_array().unwrap().len(), 2, "{audit}");
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

// What runs when the stop begins runs on, and may come to retry or wait; and orders are registered meanwhile.
#[tokio::test]
async fn dsp_11_what_comes_while_flows_are_stopped_is_moved_behind_the_end_too_and_no_more_once_it_is_undone()
{
    let mut engine = Installation::configured("dsp_11_later", HOURLY).await;
    let (release, held) = tokio::sync::watch::channel(false);
    let fails = Step { hold: Some(held), ..Step::answer(503, json!({})) };
    engine.world().program(Program::at("/down").first(100, &fails));
    engine.actions("works-run", &call("/down").replace("5s", "60s")).await;
    engine
        .scenario("works-new", &format!("timeouts: {{process: 1h}}\n{}", with_actions(&call("/fine"))))
        .await;
    engine.accepted(json!({"id": "runs", "scenario": "works-run"})).await;
    engine.calls("/down", 1).await;

    let stopped = stop(&engine, "works", json!({"for": "2h"})).await;
    assert_eq!(stopped["shift"]["orders"], 0, "nothing waits yet: {stopped}");
    release.send(true).unwrap();
    engine.accepted(json!({"id": "new", "scenario": "works-new"})).await;
    // The activator that moves them may be another one by then.
    engine.node(Role::Activator).kill().await.unwrap();
    engine.restart(Role::Activator).await;
    let database = engine.database().await;
    let deadline = async || -> i64 {
        let left = "SELECT extract(epoch FROM l.at - o.created_at)::bigint FROM deadlines l JOIN orders o ON o.no = l.order_no
                     WHERE o.id = 'new' AND l.kind = 'process'";
        database.query_one(left, &[]).await.unwrap().get(0)
    };
    until("both are moved", Duration::from_secs(60), async || {
        let moved = async |id: &str| engine.part(id, "events").await.to_string().contains("\"shifted\"");
        moved("runs").await && moved("new").await
    })
    .await;
    let runs = engine.order("runs").await.unwrap();
    let (now, hours) = (jiff::Timestamp::now(), |count| jiff::SignedDuration::from_hours(count));
    let due = runs["dueAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(due > now + hours(2) && due < now + hours(4), "an hour later, and two: {runs}");
    let cycle = runs["retry"]["endsAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(cycle > due, "{runs}");
    assert_eq!(deadline().await, 3 * 3600);

    let undo = json!({"undo": stopped["shift"]["shift"], "reason": "earlier"});
    let undone = engine.post("/v1/flows/shift", &undo).await.unwrap().success().unwrap();
    assert_eq!(undone["orders"], 2, "{undone}");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(deadline().await, 3600, "nobody moves it again");
    resume(&engine, json!({"keyword": "works"})).await;
    engine.reach("new", "success").await;
}

#[tokio::test]
async fn ord_28_an_order_that_waits_for_its_time_names_the_stop_of_its_flow() {
    let rules = policy(
        "{initial_interval: 1h, multiplier: 1, max_interval: 1h, jitter: 0, max_attempts: 5, max_duration: 1d}",
    );
    let engine = Installation::with("ord_28_stop", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules)]).await;
    engine.world().program(Program::at("/down").fail(1, 503));
    engine.actions("repeats", &call("/down")).await;
    engine.accepted(json!({"id": "a", "scenario": "repeats"})).await;
    engine.reach("a", "retry").await;
    assert!(!explained(&engine, "a").await.contains("is stopped"));
    stop(&engine, "repeats", json!({})).await;
    let text = explained(&engine, "a").await;
    assert!(
        text.contains("next attempt at") && text.contains("its flow `repeats` is stopped by hand from"),
        "{text}"
    );
    assert_eq!(reason(&engine, "a").await, "retry");
}
