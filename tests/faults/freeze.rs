//! Processes that stop for a while and go on, unaware that they were given up for lost.
//! Never kills: what is dangerous about a frozen process is that it comes back.

use std::time::{Duration, Instant};

use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use pagurus_harness::client::items;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};

#[tokio::test]
async fn rec_7_a_worker_frozen_for_too_long_changes_nothing_more_and_begins_a_new_life() {
    let engine = Installation::start("frozen_worker", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let frozen = engine.node(Role::Worker).clone();
    let node = |name: &str, status: &str| {
        let (name, status) = (name.to_owned(), status.to_owned());
        move |item: &Value| item["name"] == name.as_str() && item["status"] == status.as_str()
    };
    let first = engine.wait_item("/v1/nodes", node("worker-1", "active")).await;

    let sequential = json!({"id": "s", "scenario": "call", "params": {"queue": "q"}, "mode": "sequential",
                            "queue": "q", "notify": {"url": "amqp://?key=done"}});
    let parallel =
        json!({"id": "p", "scenario": "ask", "params": {"queue": ""}, "notify": {"url": "amqp://?key=done"}});
    engine.api.post("/v1/orders", &sequential).await.unwrap().success().unwrap();
    engine.api.post("/v1/orders", &parallel).await.unwrap().success().unwrap();
    engine.env.world().wait_calls("/do", 1, PATIENCE).await.unwrap();
    // Its call is under way, its claim committed: the answer will be there when it wakes up.
    frozen.pause().unwrap();
    engine.wait_item("/v1/nodes", node("worker-1", "lost")).await;
    let second = engine.env.start(Role::Worker, "worker-2").await.unwrap();
    inbox.wait(PATIENCE, |messages| notified(messages).len() == 2).await.unwrap();
    let before = seen(&engine, &["s", "p"]).await;

    frozen.resume().unwrap();
    let again = engine.wait_item("/v1/nodes", node("worker-1", "active")).await;
    assert!(again["incarnation"].as_i64() > first["incarnation"].as_i64(), "{again}");
    assert!(frozen.identity.alive(), "a new life, not a new process");
    second.stop(PATIENCE).await.unwrap();
    // QLT-6: what the old life tried is counted.
    let refused = engine.metric(&frozen, "pagurus_guards_refused_total").await;
    assert!(refused >= 1.0, "nothing was refused: {refused}");
    // The new life works, and by then whatever was left of the old one has been said.
    let load = Load::new("after");
    load.publish(&amqp).await;
    load.check(&engine, &inbox, PATIENCE).await;
    assert_eq!(seen(&engine, &["s", "p"]).await, before);
    engine.holds().await;
}

#[tokio::test]
async fn rec_7_an_intake_frozen_for_too_long_begins_a_new_life_and_nothing_of_the_old_one_goes_on() {
    let engine = Installation::start("frozen_intake", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let second = engine.env.start(Role::Intake, "intake-2").await.unwrap();
    let beside = engine.env.api(&second);
    let consumers = async || {
        let queue = format!("{}.orders.in", engine.env.prefix());
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        amqp.channel()
            .queue_declare(queue.into(), passive, FieldTable::default())
            .await
            .unwrap()
            .consumer_count()
    };
    until(async || consumers().await == 2).await;
    let frozen = engine.node(Role::Intake);
    let lives = async |status: &str| {
        let nodes = items(beside.get("/v1/nodes").await.unwrap().success().unwrap());
        nodes.iter().filter(|node| node["name"] == "intake-1" && node["status"] == status).count()
    };
    frozen.pause().unwrap();
    until(async || lives("lost").await == 1).await;
    frozen.resume().unwrap();
    until(async || lives("active").await == 1).await;
    // Two loops of one process would take the messages of one client in turns, and out of order.
    until(async || consumers().await == 2).await;
    let load = Load::new("after");
    load.publish(&amqp).await;
    load.check(&engine, &inbox, PATIENCE).await;
    assert_eq!(consumers().await, 2);
    engine.holds().await;
}

#[tokio::test]
async fn rec_7_a_process_whose_name_another_has_taken_ends_and_says_why() {
    // Only the other process ends the former life, and not a moment in which the machine does other things.
    let engine = Installation::start("one_name", &[("PAGURUS__NODE__LOST_AFTER", "1m")]).await;
    let former = engine.node(Role::Worker);
    let present = engine.env.start(Role::Worker, "worker-1").await.unwrap();
    assert!(former.identity.ended(PATIENCE).await, "two processes have one name");
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::new("after");
    load.publish(&amqp).await;
    load.check(&engine, &inbox, PATIENCE).await;
    let nodes = items(engine.api.get("/v1/nodes").await.unwrap().success().unwrap());
    let lives: Vec<_> =
        nodes.iter().filter(|node| node["name"] == "worker-1").map(|node| &node["status"]).collect();
    assert_eq!(lives, ["lost", "active"], "they displaced each other");
    assert!(present.identity.alive());
    let log = std::fs::read_to_string(&former.spec.log).unwrap();
    assert!(log.contains("another process has registered as worker-1, role worker"), "{log}");
    engine.holds().await;
}

async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "it does not come");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// Reads everything that the API shows of orders that have ended.
async fn seen(engine: &Installation, ids: &[&str]) -> Vec<Value> {
    let mut seen = Vec::new();
    for id in ids {
        // A notification is struck off a moment after it was confirmed.
        until(async || engine.api.order(id).await.unwrap()["unsentNotifications"] == json!([])).await;
        let order = engine.api.order(id).await.unwrap();
        assert_eq!(order["status"], "success", "{order}");
        seen.push(order);
        seen.extend(engine.api.transitions(id).await.unwrap());
    }
    seen
}

#[tokio::test]
async fn dsp_12_a_frozen_dispatcher_is_followed_by_the_standby_and_hands_out_nothing_more() {
    // Its life goes on: the lease alone must keep it from leading.
    let settings = [("PAGURUS__NODE__LOST_AFTER", "10m"), ("PAGURUS__DISPATCHER__LEASE__TTL", "3s")];
    let engine = Installation::start("frozen_dispatcher", &settings).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    engine.env.start_with(Role::Dispatcher, "dispatcher-2", &settings).await.unwrap();
    let leads = |name: &str| {
        let name = name.to_owned();
        move |lease: &Value| lease["name"] == "dispatcher" && lease["holder"] == name.as_str()
    };
    let first = engine.wait_item("/v1/leases", leads("dispatcher-1")).await;
    let load = Load::new("a");
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    let frozen = engine.node(Role::Dispatcher);
    frozen.pause().unwrap();
    let second = engine.wait_item("/v1/leases", leads("dispatcher-2")).await;
    assert!(second["epoch"].as_i64() > first["epoch"].as_i64(), "{first} {second}");
    let more = Load::new("b");
    more.publish(&amqp).await;
    // It wakes up in the middle of the work of the other one, with news in its queue and room in its books.
    frozen.resume().unwrap();
    load.check(&engine, &inbox, PATIENCE).await;
    more.check(&engine, &inbox, PATIENCE).await;
    let now = engine.wait_item("/v1/leases", leads("dispatcher-2")).await;
    assert_eq!(now["epoch"], second["epoch"], "the lease went to and fro");
    engine.wait_readiness(frozen, true, PATIENCE).await;
    // Nothing was run twice: no stage was claimed under both epochs.
    for (path, orders) in [("/do", 200), ("/ask", 100)] {
        let calls = engine.env.world().calls(path);
        assert_eq!(calls.len(), orders, "{path}");
    }
    engine.holds().await;
}

#[tokio::test]
async fn rec_7_pauses_shorter_than_the_time_outs_cost_no_life_and_no_hand_out() {
    let settings = [("PAGURUS__NODE__LOST_AFTER", "4s"), ("PAGURUS__DISPATCHER__LEASE__TTL", "4s")];
    let engine = Installation::start("short_pauses", &settings).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let mut loads = Vec::new();
    for round in 0..3 {
        let load = Load::with_naps(&format!("r{round}"), 10);
        load.publish(&amqp).await;
        loads.push(load);
        for node in &engine.nodes {
            node.pause().unwrap();
            tokio::time::sleep(Duration::from_millis(800)).await;
            node.resume().unwrap();
        }
    }
    Load::check_all(&loads, &engine, &inbox, PATIENCE).await;
    let nodes = items(engine.api.get("/v1/nodes").await.unwrap().success().unwrap());
    assert!(nodes.iter().all(|node| node["status"] != "lost"), "{nodes:#?}");
    let again = "SELECT count(*) FROM history WHERE kind = 'reissued'";
    assert_eq!(engine.session().await.query_one(again, &[]).await.unwrap().get::<_, i64>(0), 0);
}
