//! Maintenance windows of flows and called systems (DSP-16), over restarts, deaths and take-overs, beside orders of others.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use super::stops::HOURLY;
use super::{explained, state_of};
use crate::installation::{Installation, PATIENCE, at, call, until};

const NAMED: &str = "systems: {named: [{name: billing, path: '/billing/**'}]}\n";

/// Makes a window that begins in `begins_in` milliseconds; returns the answer once the window is confirmed.
async fn window(engine: &Installation, begins_in: i64, length: &str, more: Value) -> Value {
    let from = Timestamp::now() + SignedDuration::from_millis(begins_in);
    let mut body = json!({"from": from, "for": length, "reason": "works"});
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name.as_str()] = value.clone();
    }
    let made = engine.post("/v1/windows", &body).await.unwrap().success().unwrap();
    assert_eq!(made["confirmed"], json!(body["dryRun"] != json!(true)), "{made}");
    made
}

async fn act(engine: &Installation, window: &Value, word: &str) -> Value {
    let path = format!("/v1/windows/{}/{word}", window["window"]);
    engine.post(&path, &json!({"reason": "changed"})).await.unwrap().success().unwrap()
}

fn end_of(window: &Value) -> Timestamp {
    window["next"][0]["until"].as_str().unwrap().parse().unwrap()
}

/// Sleeps until a moment before the end of a window, which must not have come yet.
async fn sleep_up_to(window: &Value) {
    let left = end_of(window).duration_since(Timestamp::now()) - SignedDuration::from_millis(300);
    tokio::time::sleep(Duration::try_from(left).expect("the test took longer than its window")).await;
}

/// Calls of a path after a time.
fn calls_since(engine: &Installation, path: &str, after: Instant) -> usize {
    engine.world().calls(path).iter().filter(|call| call.started > after).count()
}

#[tokio::test]
async fn dsp_16_a_window_holds_its_flows_over_death_and_take_over_and_ends_by_itself() {
    let mut engine = Installation::start("windows_flow").await;
    engine.actions("tariff-a", &call("/tariff")).await;
    engine.actions("card", &call("/card")).await;
    engine.run(json!({"id": "before", "scenario": "tariff-a"}), "success").await;
    until("the flow is known", PATIENCE, async || state_of(&engine, "tariff-a").await == "enabled").await;
    let dry = window(&engine, 60_000, "1h", json!({"flow": "tariff", "dryRun": true})).await;
    assert_eq!((&dry["flows"], dry.get("window")), (&json!(["tariff-a"]), None), "{dry}");
    let made = window(&engine, 700, "40s", json!({"flow": "tariff"})).await;
    until("the window is shown", PATIENCE, async || {
        state_of(&engine, "tariff-a").await == "disabled_manually"
    })
    .await;
    let begun = Instant::now();
    let shown = engine.get("/v1/flows/tariff-a").await.unwrap().success().unwrap();
    assert_eq!(shown["maintenance"]["window"], made["window"], "{shown}");

    // Parallel, at the head of a queue, and behind it; the orders of others go on.
    engine.accepted(json!({"id": "a", "scenario": "tariff-a"})).await;
    let member = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "q"});
    engine.accepted(member("head", "tariff-a")).await;
    engine.accepted(member("behind", "card")).await;
    engine.run(json!({"id": "other", "scenario": "card"}), "success").await;
    let text = explained(&engine, "a").await;
    let expected = format!("its flow `tariff-a` is stopped by maintenance window {} from", made["window"]);
    assert!(text.contains(&expected) && text.ends_with(": works"), "{text}");

    // The death of the dispatcher, another one that takes over, and a flow that appears under it.
    engine.add(Role::Dispatcher, "dispatcher-2").await;
    engine.node(Role::Dispatcher).kill().await.unwrap();
    engine.run(json!({"id": "after", "scenario": "card"}), "success").await;
    engine.actions("tariff-b", &call("/tariff")).await;
    engine.accepted(json!({"id": "b", "scenario": "tariff-b"})).await;
    engine.restart(Role::Dispatcher).await;
    engine.run(json!({"id": "last", "scenario": "card"}), "success").await;
    for id in ["a", "b", "head", "behind"] {
        assert_eq!(engine.order(id).await.unwrap()["status"], "new", "{id}");
    }
    sleep_up_to(&made).await;
    assert_eq!(calls_since(&engine, "/tariff", begun), 0);

    for id in ["a", "b", "head", "behind"] {
        let order = engine.reach(id, "success").await;
        assert!(at(&order, "finishedAt") >= end_of(&made), "{order}");
    }
    let repeats = engine.metric(engine.node(Role::Dispatcher), "pagurus_activation_repeats_total").await;
    assert_eq!(repeats, 0.0);
    let listed = engine.get("/v1/windows").await.unwrap().success().unwrap();
    assert_eq!(listed["items"], json!([]), "it is over");
    let listed = engine.get("/v1/windows?ended=true").await.unwrap().success().unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn dsp_16_orders_that_meet_a_system_in_its_window_keep_their_place_and_lose_no_attempt() {
    let mut engine = Installation::configured("windows_system", NAMED).await;
    engine.actions("bills", &call("/billing/pay")).await;
    engine.actions("middle", &format!("{}\n{}", call("/elsewhere"), call("/billing/pay"))).await;
    engine.actions("card", &call("/card")).await;
    engine.run(json!({"id": "before", "scenario": "bills"}), "success").await;
    let made = window(&engine, 500, "40s", json!({"system": "billing"})).await;
    until("the system is shown in its window", PATIENCE, async || {
        let system = engine.get("/v1/systems/billing").await.unwrap().body;
        system["state"] == "stopped" && system["maintenance"]["window"] == made["window"]
    })
    .await;
    // `middle` is not known to call the system: it comes to it in the middle of its stage, and rests there.
    for n in 0..3 {
        let order = json!({"id": format!("m{n}"), "scenario": "middle", "mode": "sequential", "queue": "q"});
        engine.accepted(order).await;
    }
    engine.accepted(json!({"id": "b", "scenario": "bills"})).await;
    engine.reach("m0", "wait").await;
    until("it is explained", PATIENCE, async || {
        let text = explained(&engine, "b").await;
        text.contains("calls the system `billing`, which is in maintenance window")
    })
    .await;
    engine.node(Role::Dispatcher).kill().await.unwrap();
    engine.restart(Role::Dispatcher).await;
    engine.run(json!({"id": "other", "scenario": "card"}), "success").await;
    sleep_up_to(&made).await;
    assert_eq!(engine.world().calls("/billing/pay").len(), 1, "it was called in its window");
    let mut ended: Vec<Value> = Vec::new();
    for id in ["m0", "m1", "m2", "b"] {
        ended.push(engine.reach(id, "success").await);
    }
    for order in &ended {
        assert_eq!(order["retries"].as_i64().unwrap_or(0), 0, "{order}");
        assert!(at(order, "finishedAt") >= end_of(&made), "{order}");
    }
    assert_eq!(engine.world().calls("/elsewhere").len(), 3, "what was done is not done again");
    let order = |index: usize| at(&ended[index], "finishedAt");
    assert!(order(0) <= order(1) && order(1) <= order(2), "the queue kept its order");
}

#[tokio::test]
async fn dsp_16_a_window_is_ended_skipped_overruled_and_removed() {
    let engine = Installation::configured("windows_changed", NAMED).await;
    engine.actions("bills", &call("/billing/pay")).await;
    engine.run(json!({"id": "before", "scenario": "bills"}), "success").await;
    let daily = json!({"flow": "bills", "every": "day", "at": "00:00", "for": "23h", "reason": "works", "zone": "Etc/GMT-14"});
    let daily = engine.post("/v1/windows", &daily).await.unwrap().success().unwrap();
    let once = window(&engine, 0, "1h", json!({"flow": "bill"})).await;
    until("it is stopped", PATIENCE, async || state_of(&engine, "bills").await == "disabled_manually").await;
    engine.accepted(json!({"id": "a", "scenario": "bills"})).await;
    let refused = engine.post("/v1/flows/resume", &json!({"keyword": "bill", "reason": "x"})).await.unwrap();
    assert!(refused.status == 404 && refused.body.to_string().contains("/v1/windows"), "{refused:?}");

    // Each window ends alone. The daily one is over for today, and stays for tomorrow.
    let daily_view = engine.get(&format!("/v1/windows/{}", daily["window"])).await.unwrap().body;
    if daily_view.get("open").is_some() {
        let ended = act(&engine, &daily, "end").await;
        assert_ne!(ended["next"][0]["from"], daily_view["open"]["from"], "{ended}");
    }
    let skipped = act(&engine, &daily, "skip").await;
    assert_ne!(skipped["next"][0]["from"], daily_view["next"]["from"], "{skipped}");
    assert_eq!(engine.order("a").await.unwrap()["status"], "new");
    act(&engine, &once, "end").await;
    engine.reach("a", "success").await;
    let again = format!("/v1/windows/{}/end", once["window"]);
    let again = engine.post(&again, &json!({"reason": "x"})).await.unwrap();
    assert_eq!(again.status, 409, "{again:?}");

    // An operator who opens the system in its window knows better; the removal of the window leaves that order alone.
    let system = window(&engine, 0, "1h", json!({"system": "billing"})).await;
    until("the system is stopped", PATIENCE, async || {
        engine.get("/v1/systems/billing").await.unwrap().body["state"] == "stopped"
    })
    .await;
    engine.accepted(json!({"id": "b", "scenario": "bills"})).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_ne!(engine.order("b").await.unwrap()["status"], "success");
    engine.post("/v1/systems/billing/open", &json!({"reason": "needed"})).await.unwrap().success().unwrap();
    engine.reach("b", "success").await;
    engine.post("/v1/systems/billing/clear", &json!({})).await.unwrap().success().unwrap();
    engine.accepted(json!({"id": "c", "scenario": "bills"})).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_ne!(engine.order("c").await.unwrap()["status"], "success", "the window holds again");
    act(&engine, &system, "remove").await;
    engine.reach("c", "success").await;
    act(&engine, &daily, "remove").await;
    let audit = engine.get("/v1/audit?kind=window").await.unwrap().success().unwrap();
    let mut actions: Vec<&str> =
        audit["items"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    actions.sort_unstable();
    actions.dedup();
    assert_eq!(actions, ["add", "end", "remove", "skip"]);
}

#[tokio::test]
async fn dsp_16_a_window_with_shift_moves_what_waits_or_retries_behind_its_end() {
    let engine = Installation::configured("windows_shift", HOURLY).await;
    engine.world().program(Program::at("/down").fail(100, 503));
    engine.actions("retries", &call("/down")).await;
    engine.actions("others", &call("/down")).await;
    engine.run(json!({"id": "r", "scenario": "retries"}), "retry").await;
    engine.run(json!({"id": "o", "scenario": "others"}), "retry").await;
    let (before, other) = (engine.order("r").await.unwrap(), engine.order("o").await.unwrap());
    // It begins within the minute in which orders are moved ahead.
    let made = window(&engine, 20_000, "3h", json!({"flow": "retries", "shift": true})).await;
    until("the order is moved", PATIENCE, async || {
        at(&engine.order("r").await.unwrap(), "dueAt") != at(&before, "dueAt")
    })
    .await;
    let moved = engine.order("r").await.unwrap();
    let by = |now: &Value, before: &Value| at(now, "dueAt").duration_since(at(before, "dueAt")).as_secs();
    assert_eq!(by(&moved, &before), 3 * 3600);
    assert_eq!(engine.order("o").await.unwrap()["dueAt"], other["dueAt"]);
    assert!(engine.part("r", "events").await.to_string().contains("maintenance window"));

    // The shift can be undone, as any other: while its window is ahead, too.
    let shift: i64 = engine
        .database()
        .await
        .query_one("SELECT shift FROM window_shifts WHERE window_no = $1", &[&made["window"].as_i64()])
        .await
        .unwrap()
        .get(0);
    let undo = json!({"undo": shift, "reason": "no works"});
    let undone = engine.post("/v1/flows/shift", &undo).await.unwrap().success().unwrap();
    assert_eq!(undone["orders"], 1, "{undone}");
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(engine.order("r").await.unwrap()["dueAt"], before["dueAt"], "nobody moves it again");
    assert_eq!(act(&engine, &made, "skip").await["shift"], shift);
}
