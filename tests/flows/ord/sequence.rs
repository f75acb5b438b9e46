//! Sequential orders: their order, what gives the resource up and what keeps it (ORD-10 to 13).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::err::{pagurus, policy};
use crate::installation::{Installation, PATIENCE, asking, at, call, callers, until, with_actions};

fn queued(id: &str, scenario: &str, queue: &str) -> Value {
    json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": queue})
}

#[tokio::test]
async fn ord_10_forty_queues_keep_their_order_and_never_overlap() {
    const QUEUES: usize = 40;
    const ORDERS: usize = 10;
    let engine = Installation::start("ord_10").await;
    engine.world().program(Program::at("/q/**").delayed(Duration::from_millis(5)));
    engine.actions("line", &call("/q/${order.queue}")).await;
    for index in 0..ORDERS {
        let orders: Vec<Value> = (0..QUEUES)
            .map(|queue| queued(&format!("{queue}.{index}"), "line", &format!("Q{queue}.")))
            .collect();
        let answers = engine.post("/v1/orders/batch", &json!(orders)).await.unwrap();
        assert!(
            answers.body.as_array().unwrap().iter().all(|one| one["status"] == "accepted"),
            "{answers:?}"
        );
    }
    engine.calls("/q/**", QUEUES * ORDERS).await;
    for queue in 0..QUEUES {
        engine.reach(&format!("{queue}.{}", ORDERS - 1), "success").await;
        let calls = engine.world().calls(&format!("/q/Q{queue}."));
        let expected: Vec<String> = (0..ORDERS).map(|index| format!("{queue}.{index}")).collect();
        assert_eq!(callers(&calls), expected);
        for pair in calls.windows(2) {
            assert!(pair[0].ended.unwrap() <= pair[1].started, "{pair:?}");
        }
    }
}

#[tokio::test]
async fn ord_10_a_start_time_that_has_passed_costs_no_place() {
    let engine = Installation::start("ord_10_past").await;
    engine.actions("line", &call("/q")).await;
    let mut orders = ["first", "second", "third"].map(|id| queued(id, "line", "Q"));
    orders[0]["lifecycle"] = json!({"startAt": "2020-01-01T00:00:00Z"});
    orders[1]["lifecycle"] = json!({"startAt": "2020-01-01T00:00:00Z"});
    let answers = engine.post("/v1/orders/batch", &json!(orders)).await.unwrap();
    assert!(answers.body.as_array().unwrap().iter().all(|one| one["status"] == "accepted"), "{answers:?}");
    engine.reach("third", "success").await;
    assert_eq!(callers(&engine.calls("/q", 3).await), ["first", "second", "third"]);
}

#[tokio::test]
async fn ord_11_sleep_gives_the_queue_up_and_enters_again_at_the_tail() {
    let engine = Installation::start("ord_11").await;
    engine.world().program(Program::at("/b").delayed(Duration::from_secs(4)));
    let states = r#"initialState: before
states:
  before:
    actions:
      - http: {method: POST, url: "${config.demo}/a1", body: {order: "${order.id}"}}
      - sleep: {for: 1500ms}
    on: {sleep: sleeping, fail: failed}
  sleeping: {kind: sleeping, on: {timeout: behind}}
  behind:
    actions:
      - http: {method: POST, url: "${config.demo}/a2", body: {order: "${order.id}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("sleeper", states).await;
    engine.actions("b", &call("/b").replace("5s", "1m")).await;
    engine.actions("c", &call("/c")).await;
    for id in ["sleeper", "b", "c"] {
        engine.accepted(queued(id, id, "Q")).await;
    }
    engine.calls("/b", 1).await;
    let asleep = engine.order("sleeper").await.unwrap();
    assert_eq!((&asleep["status"], &asleep["position"]), (&json!("sleep"), &Value::Null), "{asleep}");
    for id in ["sleeper", "b", "c"] {
        engine.reach(id, "success").await;
    }
    let paths: Vec<String> = engine.world().calls("/**").into_iter().map(|call| call.path).collect();
    assert_eq!(paths, ["/a1", "/b", "/c", "/a2"]);
}

#[tokio::test]
async fn ord_12_wait_and_retry_keep_the_queue() {
    let policies = policy(
        "{initial_interval: 300ms, multiplier: 1, max_interval: 300ms, jitter: 0, max_attempts: 5, max_duration: 1h}",
    );
    let engine = Installation::with("ord_12", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policies)]).await;
    engine.world().program(
        Program::at("/ask")
            .calling_back(CallBack::with(json!({"code": 0})).after(Duration::from_millis(500))),
    );
    engine.world().program(Program::at("/flaky").fail(2, 503));
    engine.scenario("waits", &asking("/ask", "1m")).await;
    engine.actions("retries", &call("/flaky")).await;
    engine.actions("next", &call("/next")).await;
    for (id, scenario) in [("w", "waits"), ("n1", "next"), ("r", "retries"), ("n2", "next")] {
        engine.accepted(queued(id, scenario, "Q")).await;
    }
    let explained = engine.part("n2", "explain").await;
    assert!(explained["explanation"].as_str().unwrap().contains("queue `Q`"), "{explained}");
    engine.reach("n2", "success").await;
    let paths: Vec<String> = engine.world().calls("/**").into_iter().map(|call| call.path).collect();
    assert_eq!(paths, ["/ask", "/after", "/next", "/flaky", "/flaky", "/flaky", "/next"]);
}

#[tokio::test]
async fn ord_12_the_bounds_of_sequential_orders_hold_for_them_only() {
    let policies = policy(
        "{initial_interval: 200ms, multiplier: 1, max_interval: 200ms, jitter: 0, max_attempts: 1000, max_duration: 1h}",
    );
    let engine = Installation::with(
        "ord_12_bounds",
        &[
            ("PAGURUS__EXECUTION__ERROR_HANDLING", policies.as_str()),
            ("PAGURUS__RESOURCE_CONTROL__MAX_ACQUISITION_DURATION", "1s"),
            ("PAGURUS__RESOURCE_CONTROL__MAX_SYNC_DURATION", "700ms"),
            ("PAGURUS__RESOURCE_CONTROL__MAX_WAIT_SEQUENTIAL", "600ms"),
        ],
    )
    .await;
    engine.world().program(Program::at("/down").fail(1000, 503));
    engine.world().program(Program::at("/slow").delayed(Duration::from_millis(4500)));
    engine.scenario("waits", &asking("/silent", "10m")).await;
    engine.actions("retries", &call("/down")).await;
    engine.actions("slow", &call("/slow").replace("5s", "1m")).await;
    for scenario in ["waits", "retries", "slow"] {
        engine.accepted(queued(&format!("s-{scenario}"), scenario, scenario)).await;
        engine.accepted(json!({"id": format!("p-{scenario}"), "scenario": scenario})).await;
    }
    for (id, status) in
        [("s-waits", "fail"), ("s-retries", "fail"), ("s-slow", "fail"), ("p-slow", "success")]
    {
        engine.reach(id, status).await;
    }
    assert_eq!(engine.order("p-waits").await.unwrap()["status"], "wait");
    let retries = engine.order("p-retries").await.unwrap();
    assert!(["retry", "running"].contains(&retries["status"].as_str().unwrap()), "{retries}");
    let held = engine.order("s-retries").await.unwrap();
    assert_eq!(held["error"]["class"], "all.unavailable", "{held}");
    let slow = engine.order("s-slow").await.unwrap();
    let took = at(&slow, "finishedAt").duration_since(at(&slow, "startedAt"));
    assert!(took.as_millis() < 4400, "broken off: {slow}");
}

#[tokio::test]
async fn ord_12_a_sequential_order_waits_no_longer_for_its_child_than_it_may_wait() {
    let bound = [("PAGURUS__RESOURCE_CONTROL__MAX_WAIT_SEQUENTIAL", "700ms")];
    let engine = Installation::with("ord_12_child", &bound).await;
    engine.scenario("slow", &asking("/silent", "10m")).await;
    engine
        .actions("parent", "- order: {id: kid, scenario: slow, wait: true, request: kid, timeout: 5m}")
        .await;
    engine.actions("next", &call("/next")).await;
    engine.accepted(json!({"id": "a", "scenario": "parent", "mode": "sequential", "queue": "q"})).await;
    engine.accepted(json!({"id": "b", "scenario": "next", "mode": "sequential", "queue": "q"})).await;
    let parent = engine.reach("a", "fail").await;
    assert_eq!(parent["error"]["class"], "order.timeout", "{parent}");
    engine.reach("b", "success").await;
    assert_eq!(engine.order("kid").await.unwrap()["status"], "wait", "the child goes on by itself");
}

#[tokio::test]
async fn ord_13_a_release_frees_the_queue_while_its_stage_goes_on() {
    let engine = Installation::start("ord_13_at_once").await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_secs(3)));
    engine.actions("gives", &format!("- release\n{}", call("/slow"))).await;
    engine.actions("next", &call("/next")).await;
    engine.accepted(json!({"id": "a", "scenario": "gives", "mode": "sequential", "queue": "q"})).await;
    engine.accepted(json!({"id": "b", "scenario": "next", "mode": "sequential", "queue": "q"})).await;
    let next = engine.reach("b", "success").await;
    assert_eq!(engine.order("a").await.unwrap()["status"], "running", "{next}");
    let first = engine.reach("a", "success").await;
    assert!(at(&next, "finishedAt") < at(&first, "finishedAt"), "{first} {next}");
}

#[tokio::test]
async fn ord_13_failure_release_and_an_operator_free_the_queue() {
    let engine = Installation::start("ord_13").await;
    engine.world().program(Program::at("/bad").fail(1, 400));
    engine.actions("bad", &call("/bad")).await;
    engine.actions("next", &call("/next")).await;
    engine
        .scenario(
            "generous",
            &asking("/open", "10m").replacen("      - http:", "      - release\n      - http:", 1),
        )
        .await;
    engine.scenario("stuck", &asking("/silent", "10m")).await;

    engine.accepted(queued("bad", "bad", "F")).await;
    engine.run(queued("behind-bad", "next", "F"), "success").await;
    assert_eq!(engine.order("bad").await.unwrap()["status"], "fail");

    engine.accepted(queued("generous", "generous", "G")).await;
    engine.run(queued("behind-generous", "next", "G"), "success").await;
    engine.reach("generous", "wait").await;

    engine.accepted(queued("stuck", "stuck", "S")).await;
    engine.accepted(queued("behind-stuck", "next", "S")).await;
    engine.reach("stuck", "wait").await;
    let queues = engine.get("/v1/queues").await.unwrap().success().unwrap();
    let queue =
        queues["items"].as_array().unwrap().iter().find(|queue| queue["queue"] == "S").unwrap().clone();
    assert_eq!((&queue["holder"], &queue["orders"]), (&json!("stuck"), &json!(2)));
    assert_eq!(queue["heldSince"], engine.get("/v1/queues/S").await.unwrap().body["holder"]["heldSince"]);
    let nobody = engine.post("/v1/queues/S/release", &json!({})).await.unwrap();
    assert_eq!((nobody.status, &nobody.body["pointer"]), (422, &json!("/reason")));
    let missing = engine.post("/v1/queues/none/release", &json!({"reason": "x"})).await.unwrap();
    assert_eq!(missing.status, 404);
    let released =
        engine.post("/v1/queues/S/release", &json!({"reason": "the network is down"})).await.unwrap();
    assert_eq!((released.status, &released.body["released"]), (200, &json!("stuck")));
    engine.reach("behind-stuck", "success").await;
    assert_eq!(engine.order("stuck").await.unwrap()["status"], "wait");
    let events = engine.part("stuck", "events").await;
    let event =
        events.as_array().unwrap().iter().find(|event| event["kind"] == "queue_released").unwrap().clone();
    assert_eq!(event["payload"]["reason"], "the network is down");
}

// The owner slept and came back to the tail between the look at the queue and the lock of the order.
#[tokio::test]
async fn ord_13_a_release_takes_the_queue_from_its_owner_of_that_moment() {
    let engine = Installation::start("ord_13_owner").await;
    engine.scenario("stuck", &asking("/silent", "10m")).await;
    engine.accepted(queued("first", "stuck", "S")).await;
    engine.reach("first", "wait").await;
    engine.accepted(queued("second", "stuck", "S")).await;
    let (mut session, watching) = (engine.database().await, engine.database().await);
    let moving = session.transaction().await.unwrap();
    moving.query("SELECT FROM orders WHERE id = 'first' FOR UPDATE", &[]).await.unwrap();
    let released = async { engine.post("/v1/queues/S/release", &json!({"reason": "r"})).await.unwrap() };
    let moved = async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while watching.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let tail = "UPDATE queued SET position = position + 1000000 WHERE order_no = (SELECT no FROM orders WHERE id = 'first')";
        assert_eq!(moving.execute(tail, &[]).await.unwrap(), 1);
        moving.commit().await.unwrap();
    };
    let (released, ()) = tokio::join!(released, moved);
    assert_eq!((released.status, &released.body["released"]), (200, &json!("second")), "{released:?}");
    engine.reach("second", "wait").await;
    let queue = engine.get("/v1/queues/S").await.unwrap().success().unwrap();
    assert_eq!((&queue["holder"]["order"], &queue["orders"]), (&json!("first"), &json!(1)), "{queue}");
}

#[tokio::test]
async fn ord_10_13_the_queue_outlives_the_death_of_worker_and_dispatcher() {
    let engine = Installation::with(
        "ord_10_death",
        &[("PAGURUS__NODE__LOST_AFTER", "1500ms"), ("PAGURUS__DISPATCHER__LEASE__TTL", "1s")],
    )
    .await;
    engine.world().program(Program::at("/step").delayed(Duration::from_millis(100)));
    engine.scenario("steps", &with_actions(&call("/step"))).await;
    for index in 0..12 {
        engine.accepted(queued(&format!("{index:02}"), "steps", "Q")).await;
    }
    engine.calls("/step", 3).await;
    engine.node(Role::Dispatcher).kill().await.unwrap();
    engine.env().restart(engine.node(Role::Dispatcher)).await.unwrap();
    engine.node(Role::Worker).kill().await.unwrap();
    engine.env().restart(engine.node(Role::Worker)).await.unwrap();
    until("all are through", PATIENCE, async || engine.order("11").await.unwrap()["status"] == "success")
        .await;
    let calls = engine.world().calls("/step");
    let mut callers = callers(&calls);
    // The call that the dead worker had made is made again; nothing is left out and nothing overtakes.
    callers.dedup();
    let expected: Vec<String> = (0..12).map(|index| format!("{index:02}")).collect();
    assert_eq!(callers, expected);
}

#[tokio::test]
async fn ord_10_a_queue_tells_who_holds_it_since_when_and_who_waits_in_order() {
    let engine = Installation::start("ord_10_who_waits").await;
    engine.scenario("stuck", &asking("/silent", "10m")).await;
    for index in 0..6 {
        engine.accepted(queued(&format!("{index}"), "stuck", "the/queue")).await;
    }
    let holder = engine.reach("0", "wait").await;
    let page = async |query: &str| {
        engine.get(&format!("/v1/queues/the%2Fqueue{query}")).await.unwrap().success().unwrap()
    };
    let first = page("?limit=3").await;
    assert_eq!((&first["orders"], &first["holder"]["order"]), (&json!(6), &json!("0")));
    let (joined, held, started) =
        (at(&first["holder"], "since"), at(&first["holder"], "heldSince"), at(&holder, "startedAt"));
    let apart = |one: jiff::Timestamp, other: jiff::Timestamp| one.duration_since(other).as_secs_f64().abs();
    assert!(apart(joined, at(&holder, "createdAt")) < 0.1 && apart(held, started) < 1.0, "{first}");
    let names = |page: &Value| -> Vec<(String, i64)> {
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|one| (one["order"].as_str().unwrap().into(), one["before"].as_i64().unwrap()))
            .collect()
    };
    let rest = page(&format!("?limit=3&cursor={}", first["next"].as_str().unwrap())).await;
    let all: Vec<(String, i64)> = names(&first).into_iter().chain(names(&rest)).collect();
    assert_eq!(all, (1..6).map(|place| (place.to_string(), place)).collect::<Vec<_>>());
    assert_eq!(rest["next"], Value::Null);
    for waiting in first["items"].as_array().unwrap() {
        let order = engine.order(waiting["order"].as_str().unwrap()).await.unwrap();
        assert!(apart(at(waiting, "since"), at(&order, "createdAt")) < 0.1, "{waiting}");
        assert_eq!(waiting["heldSince"], Value::Null, "it never held the queue");
    }
    assert_eq!(engine.get("/v1/queues/q?cursor=x").await.unwrap().status, 422);
    let empty = engine.get("/v1/queues/nobody").await.unwrap().success().unwrap();
    assert_eq!((&empty["holder"], &empty["items"]), (&Value::Null, &json!([])));
    engine
        .post("/v1/queues/the%2Fqueue/release", &json!({"reason": "test"}))
        .await
        .unwrap()
        .success()
        .unwrap();
    until("the next one holds it", PATIENCE, async || {
        let queue = page("").await;
        queue["holder"]["order"] == "1" && queue["holder"]["heldSince"].is_string()
    })
    .await;
    let next = page("").await;
    assert!(at(&next["holder"], "heldSince") > held, "since it holds it, not since it waits: {next}");
}

#[tokio::test]
async fn ord_13_the_command_line_lists_every_queue_however_many_there_are() {
    const QUEUES: usize = 1100;
    let engine = Installation::start("ord_13_lists").await;
    engine.actions("next", &call("/next")).await;
    // They stay in their queues.
    engine.node(Role::Worker).stop(PATIENCE).await.unwrap();
    let orders: Vec<Value> =
        (0..QUEUES).map(|no| queued(&format!("o-{no}"), "next", &format!("q-{no}"))).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let list = async |more: &[&str]| {
        let output =
            pagurus(&[&["--server", engine.base(), "queues", "list", "--json"], more].concat()).await;
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let whole = list(&[]).await;
    let mut names: Vec<&str> =
        whole["items"].as_array().unwrap().iter().map(|queue| queue["queue"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), &whole["next"]), (QUEUES, &Value::Null));
    let some = list(&["--limit", "700"]).await;
    assert_eq!(some["items"].as_array().unwrap().len(), 700);
    assert!(some["next"].is_string(), "there are more");
}
