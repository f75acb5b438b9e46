//! Bulk operations (REC-12), and the audit of what operators do (ORD-24).

mod held_back;
mod keys;

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, PATIENCE, call, until};

async fn get(engine: &Installation, path: &str) -> Value {
    engine.get(path).await.unwrap().success().unwrap()
}

/// Starts an operation; returns its number.
async fn operate(engine: &Installation, asked: Value) -> i64 {
    let answer = engine.post("/v1/operations", &asked).await.unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["operation"]["no"].as_i64().unwrap()
}

/// Waits until an operation is in this state.
async fn in_state(engine: &Installation, no: i64, state: &str) -> Value {
    let path = format!("/v1/operations/{no}");
    until(state, PATIENCE, async || get(engine, &path).await["state"] == state).await;
    get(engine, &path).await
}

fn counts(operation: &Value) -> [i64; 4] {
    ["total", "done", "skipped", "failed"].map(|field| operation[field].as_i64().unwrap())
}

/// Makes `count` failed orders of the scenario `pay`, by one batch.
async fn failed_orders(engine: &Installation, count: usize) {
    engine.actions("pay", &call("/pay")).await;
    engine.world().program(Program::at("/pay").then_answer(422, json!({"code": "E7"})));
    let orders: Vec<Value> =
        (1..=count).map(|n| json!({"id": format!("o-{n}"), "scenario": "pay", "params": {"n": n}})).collect();
    let answer = engine.post("/v1/orders/batch", &json!(orders)).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    until("all have failed", PATIENCE * 3, async || {
        get(engine, "/v1/counts?status=fail").await["orders"] == json!(count)
    })
    .await;
}

#[tokio::test]
async fn rec_12_failed_orders_are_restarted_though_activators_die_meanwhile() {
    let mut engine = Installation::start("rec_12_kill").await;
    failed_orders(&engine, 700).await;
    engine.world().program(Program::at("/pay"));
    engine.world().forget();
    let second = engine.add(Role::Activator, "second").await;
    // Slow enough to be killed in the middle.
    let no = operate(
        &engine,
        json!({"action": "restart", "search": {"status": "fail"}, "reason": "mended", "rate": 150, "with": {"ifStatus": "fail"}}),
    )
    .await;
    let begun = async |engine: &Installation| counts(&get(engine, &format!("/v1/operations/{no}")).await)[1];
    until("some are done", PATIENCE, async || begun(&engine).await > 100).await;
    second.kill().await.unwrap();
    engine.node(Role::Activator).kill().await.unwrap();
    engine.restart(Role::Activator).await;
    let done = in_state(&engine, no, "done").await;
    assert_eq!(counts(&done), [700, 700, 0, 0], "{done}");
    until("all succeed", PATIENCE, async || {
        get(&engine, &format!("/v1/operations/{no}")).await["aftermath"]["succeeded"] == 700
    })
    .await;
    assert_eq!(engine.world().calls("/pay").len(), 700, "none was restarted twice");
    let events = get(&engine, "/v1/orders/o-7/events").await;
    let restarted: Vec<&Value> =
        events.as_array().unwrap().iter().filter(|event| event["kind"] == "restarted").collect();
    assert_eq!(restarted.len(), 1, "{events}");
    assert_eq!(restarted[0]["source"], json!(format!("operation:{no}")), "{events}");
    let audit = get(&engine, "/v1/audit?kind=operation").await;
    let entry = &audit["items"][0];
    assert_eq!((&entry["action"], &entry["reason"]), (&json!("restart"), &json!("mended")), "{audit}");
}

#[tokio::test]
async fn rec_12_an_operation_is_looked_at_before_paused_resumed_and_aborted() {
    let engine = Installation::start("rec_12_steer").await;
    failed_orders(&engine, 60).await;
    let asked = json!({"action": "cancel", "search": {"status": "fail", "params": {"n": 7}}, "reason": "r", "dryRun": true});
    let dry = engine.post("/v1/operations", &asked).await.unwrap().success().unwrap();
    assert_eq!((&dry["orders"], &dry["examples"]), (&json!(1), &json!(["o-7"])), "{dry}");
    let slow = json!({"action": "cancel", "search": {"status": "fail"}, "reason": "over", "rate": 5});
    let no = operate(&engine, slow).await;
    let path = |word: &str| format!("/v1/operations/{no}/{word}");
    until("it has begun", PATIENCE, async || {
        counts(&get(&engine, &format!("/v1/operations/{no}")).await)[1] > 0
    })
    .await;
    let paused = engine.post(&path("pause"), &json!({"reason": "lunch"})).await.unwrap().success().unwrap();
    assert_eq!(paused["state"], "paused");
    tokio::time::sleep(Duration::from_millis(700)).await;
    let before = counts(&get(&engine, &format!("/v1/operations/{no}")).await)[1];
    tokio::time::sleep(Duration::from_millis(700)).await;
    let rests = get(&engine, &format!("/v1/operations/{no}")).await;
    assert_eq!((counts(&rests)[1], &rests["because"]), (before, &json!("lunch")), "{rests}");
    engine.post(&path("resume"), &json!({})).await.unwrap().success().unwrap();
    until("it goes on", PATIENCE, async || {
        counts(&get(&engine, &format!("/v1/operations/{no}")).await)[1] > before
    })
    .await;
    engine.post(&path("abort"), &json!({})).await.unwrap().success().unwrap();
    let refused = engine.post(&path("resume"), &json!({})).await.unwrap();
    assert_eq!((refused.status, &refused.body["type"]), (409, &json!("urn:pagurus:problem:refused")));
    let open = get(&engine, &path("orders?outcome=open&limit=1000")).await;
    assert!(!open["items"].as_array().unwrap().is_empty());
    for (query, pointer) in [("outcome=opened", "/outcome"), ("aftermath=done", "/aftermath")] {
        let refused = engine.get(&path(&format!("orders?{query}"))).await.unwrap();
        assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!(pointer)), "{refused:?}");
    }
    let failed = get(&engine, "/v1/counts?status=fail").await;
    assert!(failed["orders"].as_i64().unwrap() > 30, "most are left as they were: {failed}");
}

#[tokio::test]
async fn rec_12_a_ramp_stops_by_itself_where_orders_fail_again_and_those_are_taken_again() {
    let engine = Installation::start("rec_12_ramp").await;
    failed_orders(&engine, 30).await;
    let ramp = json!({"start": 2, "factor": 2, "stop_if": {"failed_share": 0.2}});
    let asked = json!({"action": "restart", "search": {"scenario": "pay", "status": "fail"}, "reason": "try", "ramp": ramp});
    let no = operate(&engine, asked).await;
    let paused = in_state(&engine, no, "paused").await;
    assert_eq!(counts(&paused), [30, 2, 0, 0], "{paused}");
    assert!(paused["because"].as_str().unwrap().starts_with("100 % of the orders"), "{paused}");
    assert_eq!(paused["aftermath"]["failedAgain"], 2, "{paused}");
    engine.post(&format!("/v1/operations/{no}/abort"), &json!({})).await.unwrap().success().unwrap();

    engine.world().program(Program::at("/pay"));
    let again = operate(&engine, json!({"action": "restart", "again": no, "reason": "mended"})).await;
    let done = in_state(&engine, again, "done").await;
    assert_eq!(counts(&done), [2, 2, 0, 0], "{done}");
    let rest = json!({"action": "restart", "search": {"status": "fail"}, "reason": "all", "ramp": ramp});
    let rest = operate(&engine, rest).await;
    let done = in_state(&engine, rest, "done").await;
    assert_eq!(counts(&done), [28, 28, 0, 0], "{done}");
}

#[tokio::test]
async fn rec_12_every_action_reaches_its_orders_and_tells_why_not() {
    let engine = Installation::start("rec_12_actions").await;
    failed_orders(&engine, 3).await;
    let rest = "initialState: rest\nstates:\n  rest: {actions: [{sleep: {for: 1h}}], on: {sleep: rested}}\n  rested: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("rest", rest).await;
    for id in ["s-1", "s-2"] {
        engine.run(json!({"id": id, "scenario": "rest"}), "sleep").await;
    }
    let update = json!({"action": "update", "search": {"status": "sleep"}, "with": {"priority": "low"}, "reason": "r"});
    let done = in_state(&engine, operate(&engine, update).await, "done").await;
    assert_eq!(counts(&done), [2, 2, 0, 0], "{done}");
    assert_eq!(engine.order("s-1").await.unwrap()["priority"], "low");

    engine.world().program(Program::at("/pay"));
    let named = json!({
        "action": "restart", "search": {"ids": ["o-1", "s-1", "none"]}, "with": {"from": "work", "params": {"n": 9}}, "reason": "r",
    });
    let done = in_state(&engine, operate(&engine, named).await, "done").await;
    assert_eq!(counts(&done), [2, 1, 1, 0], "an id of nobody is no order: {done}");
    assert!(done["reasons"][0]["reason"].as_str().unwrap().contains("sleep"), "{done}");
    engine.reach("o-1", "success").await;
    assert_eq!(engine.part("o-1", "params").await["n"], 9);

    let repair = json!({"action": "repair", "search": {"idPrefix": "o-", "status": "fail"}, "with": {"state": "work"}, "reason": "by hand"});
    let repaired = operate(&engine, repair).await;
    let done = in_state(&engine, repaired, "done").await;
    let states = engine.order("o-2").await.unwrap();
    assert!(counts(&done)[1] + counts(&done)[3] == 2, "{done} {states}");

    let none = json!({"action": "resend", "search": {"ids": ["o-1"]}, "reason": "r"});
    let done = in_state(&engine, operate(&engine, none).await, "done").await;
    assert_eq!(counts(&done), [1, 0, 1, 0], "{done}");
    let kill = json!({"action": "kill", "search": {"status": ["sleep"]}, "reason": "r"});
    let done = in_state(&engine, operate(&engine, kill).await, "done").await;
    assert_eq!(counts(&done)[0], 2, "{done}");

    for (bad, pointer) in [
        (json!({"action": "restart", "search": {}, "reason": "r"}), "/search"),
        (json!({"action": "restart", "reason": "r"}), "/search"),
        (json!({"action": "restart", "search": {"status": "fail"}}), "/reason"),
        (json!({"action": "explode", "search": {"status": "fail"}, "reason": "r"}), "/action"),
        (
            json!({"action": "kill", "with": {"from": "x"}, "search": {"status": "fail"}, "reason": "r"}),
            "/with/from",
        ),
        (json!({"action": "kill", "search": {"status": "odd"}, "reason": "r"}), "/search/status"),
        (json!({"action": "kill", "search": {"status": "fail"}, "reason": "r", "rate": 0}), "/rate"),
        (
            json!({"action": "kill", "search": {"status": "fail"}, "reason": "r", "ramp": {"start": 0, "factor": 2}}),
            "/ramp/start",
        ),
        (json!({"action": "kill", "again": 999, "reason": "r"}), "/again"),
    ] {
        let refused = engine.post("/v1/operations", &bad).await.unwrap();
        assert_eq!(refused.body["pointer"], json!(pointer), "{bad}: {refused:?}");
    }
}

#[tokio::test]
async fn rec_12_an_operation_that_follows_takes_what_comes_to_match_and_a_key_makes_one_only() {
    let engine = Installation::start("rec_12_follow").await;
    failed_orders(&engine, 2).await;
    let asked = json!({"action": "cancel", "search": {"status": "fail"}, "reason": "r", "follow": "1h"});
    let post = async |key: &str, body: &Value| {
        let request = reqwest::Client::new().post(format!("{}/v1/operations", engine.base()));
        let answer = request.header("idempotency-key", key).json(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, first) = post("k-1", &asked).await;
    assert_eq!(status, 201, "{first}");
    let no = first["operation"]["no"].as_i64().unwrap();
    assert_eq!(post("k-1", &asked).await.1["operation"]["no"], no);
    let other = json!({"action": "kill", "search": {"status": "wait"}, "reason": "r"});
    assert_eq!(post("k-1", &other).await.0, 422);
    engine.reach("o-1", "canceled").await;
    engine.accepted(json!({"id": "late", "scenario": "pay"})).await;
    engine.reach("late", "canceled").await;
    // The result of a piece is noted after its orders were acted on.
    until("the third is counted while the operation goes on", PATIENCE, async || {
        let running = get(&engine, &format!("/v1/operations/{no}")).await;
        (&running["state"], counts(&running)[1]) == (&json!("running"), 3)
    })
    .await;
}

#[tokio::test]
async fn rec_12_the_command_shows_the_result() {
    let engine = Installation::start("rec_12_cli").await;
    failed_orders(&engine, 5).await;
    let base = engine.base().to_owned();
    let run = async |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let output = pagurus(&[&["--server", &base], &words[..]].concat()).await;
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, _, text) = run("operation start restart --status fail --reason r --dry-run").await;
    assert_eq!(code, Some(0));
    assert!(text.contains("restart 5 orders: o-"), "{text}");
    engine.world().program(Program::at("/pay"));
    let (code, text, _) = run("operation start restart --status fail --where n=3 --reason r --yes").await;
    assert_eq!((code, text.trim()), (Some(0), "restart: 1 of 1 order done"));
    engine.reach("o-3", "success").await;
    let (code, text, _) = run("operation start restart --id o-3 --id o-4 --reason r --yes --rate 100").await;
    assert_eq!(code, Some(0), "{text}");
    let (_, text, _) = run("operation list").await;
    assert!(text.contains("restart  done") && text.contains("2 of 2"), "{text}");
    let (_, text, _) = run("order list --status fail --where n=5").await;
    assert!(text.contains("o-5") && !text.contains("o-2"), "{text}");
    let (_, text, _) = run("order count --by status").await;
    assert!(text.contains("fail"), "{text}");
    let (_, text, _) = run("audit --kind operation --limit 1").await;
    assert!(text.contains("operation"), "{text}");
}

#[tokio::test]
async fn ord_24_every_action_of_an_operator_is_written_down_with_who_and_why() {
    let engine = Installation::start("ord_24").await;
    failed_orders(&engine, 1).await;
    engine.world().program(Program::at("/pay"));
    assert_eq!(engine.act("o-1", "restart", &json!({"reason": "mended"})).await.status, 200);
    engine.reach("o-1", "success").await;
    // What was refused was not done.
    assert_eq!(engine.act("o-1", "kill", &json!({"reason": "x"})).await.status, 409);
    let stop = engine.post("/v1/flows/stop", &json!({"keyword": "pay", "reason": "works"})).await.unwrap();
    stop.success().unwrap();
    let resumed =
        engine.post("/v1/flows/resume", &json!({"keyword": "pay", "reason": "done"})).await.unwrap();
    resumed.success().unwrap();
    let clone = engine.post("/v1/orders/o-1/clone", &json!({"id": "o-2"})).await.unwrap();
    assert_eq!(clone.status, 201, "{clone:?}");
    until("the clone is noted", PATIENCE, async || {
        !get(&engine, "/v1/audit?subject=o-2").await["items"].as_array().unwrap().is_empty()
    })
    .await;
    let audit = get(&engine, "/v1/audit").await;
    let entries: Vec<(&str, &str, &str)> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            assert_eq!(entry["by"]["door"], "http");
            assert!(entry["by"]["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{entry}");
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            (text("action"), text("subject"), text("reason"))
        })
        .collect();
    assert_eq!(
        entries,
        [
            ("cloned", "o-2", ""),
            ("resume", "pay", "done"),
            ("stop", "pay", "works"),
            ("restart", "o-1", "mended"),
            ("apply", "pay", "")
        ],
        "the newest first"
    );
    let of_order = get(&engine, "/v1/audit?subject=o-1&action=restart&since=1h").await;
    assert_eq!(of_order["items"].as_array().unwrap().len(), 1);
    assert_eq!(of_order["items"][0]["detail"]["from"], "fail");
    assert_eq!(engine.get("/v1/audit?kind=moon").await.unwrap().status, 422);
}

#[tokio::test]
async fn ord_24_orders_that_a_search_finds_are_cloned_once_each_and_no_clone_is() {
    let engine = Installation::start("ord_24_clones").await;
    failed_orders(&engine, 30).await;
    engine.world().program(Program::at("/pay"));
    let search = json!({"idPrefix": "o-", "scenario": "pay"});
    let with = json!({"priority": "low", "transactionId": "T"});
    let asked = json!({"action": "clone", "search": search, "with": with, "reason": "once more", "rate": 20});
    let dry = json!({"action": "clone", "search": search, "reason": "r", "dryRun": true});
    let dry = engine.post("/v1/operations", &dry).await.unwrap().success().unwrap();
    assert_eq!(dry["orders"], 30, "{dry}");
    let no = operate(&engine, asked).await;
    let done = in_state(&engine, no, "done").await;
    assert_eq!(counts(&done), [30, 30, 0, 0], "{done}");
    let clones = get(&engine, "/v1/orders?transactionId=T&limit=100").await;
    let clones = clones["items"].as_array().unwrap();
    assert_eq!(clones.len(), 30);
    let id = clones[0]["id"].as_str().unwrap();
    let clone = engine.reach(id, "success").await;
    assert_eq!((&clone["priority"], &clone["scenario"]), (&json!("low"), &json!("pay")), "{clone}");
    let events = get(&engine, &format!("/v1/orders/{id}/events")).await;
    let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "cloned").unwrap();
    assert_eq!(
        (&event["source"], &event["payload"]["reason"]),
        (&json!(format!("operation:{no}")), &json!("once more")),
        "{event}"
    );
    let audit = get(&engine, "/v1/audit?kind=operation").await;
    let entry = &audit["items"][0];
    assert_eq!((&entry["action"], &entry["reason"]), (&json!("clone"), &json!("once more")), "{audit}");
    let one_for_all = json!({"action": "clone", "search": search, "with": {"id": "x"}, "reason": "r"});
    let refused = engine.post("/v1/operations", &one_for_all).await.unwrap();
    assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!("/with/id")), "{refused:?}");
}

#[tokio::test]
async fn ord_24_queues_of_orders_that_a_search_finds_are_released() {
    let engine = Installation::start("ord_24_release").await;
    engine.scenario("asks", &crate::installation::asking("/open", "10m")).await;
    engine.actions("quick", &call("/do")).await;
    for queue in ["A", "B"] {
        let order = |id: &str, scenario: &str| json!({"id": format!("{id}-{queue}"), "scenario": scenario, "mode": "sequential", "queue": queue});
        engine.run(order("stuck", "asks"), "wait").await;
        engine.accepted(order("next", "quick")).await;
    }
    let search = json!({"status": ["wait", "new"]});
    let asked = json!({"action": "release", "search": search, "reason": "the network is down"});
    let no = operate(&engine, asked).await;
    let done = in_state(&engine, no, "done").await;
    let counts = counts(&done);
    // Those behind may have been looked at before they owned their queues, or while they did.
    assert!(counts[0] == 4 && counts[1] >= 2 && counts[3] == 0, "{done}");
    for queue in ["A", "B"] {
        engine.reach(&format!("next-{queue}"), "success").await;
        let events = get(&engine, &format!("/v1/orders/stuck-{queue}/events")).await;
        let event =
            events.as_array().unwrap().iter().find(|event| event["kind"] == "queue_released").unwrap();
        assert_eq!(
            (&event["source"], &event["payload"]["reason"]),
            (&json!(format!("operation:{no}")), &json!("the network is down")),
            "{event}"
        );
    }
}
