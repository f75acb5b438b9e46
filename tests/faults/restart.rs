//! The servers themselves stopped and started, each test with servers of its own.
//! Never touches the servers of the run.

use std::time::{Duration, Instant};

use lapin::options::{BasicGetOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{Postgres, Stop};
use pagurus_harness::process::Signal;
use pagurus_harness::rabbit::{PORTS, Rabbit};
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};

#[tokio::test]
async fn rec_14_rabbitmq_killed_and_started_under_load_loses_and_doubles_nothing() {
    let folder = tempfolder("rabbitmq");
    let ports = Ports::reserve(PORTS, &Owner::this_process().unwrap()).unwrap();
    let broker = OfTest(Rabbit::prepare(&folder, ports.first(), false).unwrap());
    broker.start().await.unwrap();
    let url = broker.url();
    let engine = Installation::behind("broker_restart", |_| ("PAGURUS__BROKER__URL", url.clone())).await;
    let load = Load::new("a");
    {
        let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
        keep_notifications(&amqp, engine.env.prefix()).await;
        load.publish(&amqp).await;
    }
    engine.env.world().wait_calls("/do", 10, PATIENCE).await.unwrap();
    broker.identity().unwrap().signal(Signal::Kill).unwrap();
    for node in &engine.nodes {
        engine.wait_readiness(node, false, Duration::from_secs(5)).await;
    }
    // What it had taken must be on its disk.
    let during = Load::new("b");
    during.post(&engine).await;
    broker.start().await.unwrap();
    for node in &engine.nodes {
        engine.wait_readiness(node, true, PATIENCE).await;
    }
    let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
    // Declared with each connection, as clients do: a RabbitMQ 3.10 that was killed has lost the binding of a durable queue.
    keep_notifications(&amqp, engine.env.prefix()).await;
    let inbox = engine.listen(&amqp).await;
    for load in [&load, &during] {
        for id in load.ids() {
            // A RabbitMQ 3.10 that was killed can leave a queue without a leader for a minute.
            let order = engine.api.wait_status(&id, "success", 4 * PATIENCE).await.unwrap();
            assert!(order["error"].is_null(), "{order}");
            resend_if_parked(&engine, order).await;
        }
    }
    let expected = load.bodies.len() + during.bodies.len();
    let kept = kept_notifications(&amqp, expected).await;
    if kept != expected {
        let elsewhere = notified(&inbox.messages()).len();
        let state = broker_and_outbox(&broker, &engine).await;
        panic!("{kept} of {expected} orders were notified, {elsewhere} of them to another queue;\n{state}");
    }
    engine.holds().await;
    drop(inbox);
    drop(engine);
    broker.stop().await.unwrap();
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&folder);
}

/// Sends the notification of an order again if no queue took it before the client had declared its own once more (ORD-19).
async fn resend_if_parked(engine: &Installation, mut order: Value) {
    let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while !order["unsentNotifications"][0].is_null() {
        if order["unsentNotifications"][0]["parkedBecause"].is_string() {
            engine.api.post(&format!("{path}/resend"), &json!({})).await.unwrap().success().unwrap();
            return;
        }
        assert!(Instant::now() < deadline, "neither sent nor parked: {order}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        order = engine.api.get(&path).await.unwrap().success().unwrap();
    }
}

/// Queues and bindings of the broker, and what stands in the outbox, for the message of a test that fails.
async fn broker_and_outbox(broker: &Rabbit, engine: &Installation) -> String {
    let list = async |what: &[&str]| broker.control(what).await.unwrap();
    let queues = list(&["-q", "list_queues", "name", "messages", "state"]).await;
    let bindings = list(&["-q", "list_bindings", "source_name", "destination_name", "routing_key"]).await;
    let outbox = "SELECT coalesce(json_agg(o), '[]')::text
                    FROM (SELECT parked_because, last_error, attempts, next_at - now() AS next, count(*) FROM outbox GROUP BY 1, 2, 3, 4) AS o";
    let outbox: String = engine.session().await.query_one(outbox, &[]).await.unwrap().get(0);
    format!("queues:\n{queues}\nbindings:\n{bindings}\noutbox: {outbox}")
}

const KEPT: &str = "kept";

/// A durable queue of the client, which outlives the broker's death.
pub async fn keep_notifications(amqp: &Amqp, prefix: &str) {
    keep_notifications_in(amqp, prefix, FieldTable::default()).await;
}

/// The same in a queue of these arguments.
pub async fn keep_notifications_in(amqp: &Amqp, prefix: &str, arguments: FieldTable) {
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    amqp.channel().queue_declare(KEPT.into(), durable, arguments).await.unwrap();
    let exchange = format!("{prefix}.notifications");
    let bind = amqp.channel().queue_bind(
        KEPT.into(),
        exchange.as_str().into(),
        "#".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bind.await.unwrap();
}

/// Number of orders that were notified, each under one id only, however many copies came.
pub async fn kept_notifications(amqp: &Amqp, expected: usize) -> usize {
    let mut ids = std::collections::BTreeMap::<String, std::collections::BTreeSet<String>>::new();
    let deadline = std::time::Instant::now() + PATIENCE;
    while ids.len() < expected && std::time::Instant::now() < deadline {
        let options = BasicGetOptions { no_ack: true };
        match amqp.channel().basic_get(KEPT.into(), options).await.unwrap() {
            Some(message) => {
                let body: serde_json::Value = serde_json::from_slice(&message.delivery.data).unwrap();
                let message_id = message.delivery.properties.message_id().as_ref().unwrap().to_string();
                ids.entry(body["id"].as_str().unwrap().to_owned()).or_default().insert(message_id);
            }
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    assert!(ids.values().all(|ids| ids.len() == 1), "{ids:?}");
    ids.len()
}

#[tokio::test]
async fn rec_1_postgres_stopped_at_once_and_started_under_load_loses_and_doubles_nothing() {
    let folder = tempfolder("postgres");
    let ports = Ports::reserve(1, &Owner::this_process().unwrap()).unwrap();
    let server = OfTest(Postgres::prepare(&folder, &folder.join("log"), ports.first()).unwrap());
    server.start().await.unwrap();
    server.create_database("engine").await.unwrap();
    let url = server.url("engine");
    let engine = Installation::behind("database_restart", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::new("a");
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    server.stop(Stop::Immediate).await.unwrap();
    let during = Load::new("b");
    during.publish(&amqp).await;
    for node in &engine.nodes {
        engine.wait_readiness(node, false, Duration::from_secs(5)).await;
    }
    server.start().await.unwrap();
    Load::check_all(&[load, during], &engine, &inbox, PATIENCE).await;
    drop(engine);
    server.stop(Stop::Immediate).await.unwrap();
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(server.data());
}

const PATIENT: &str = r#"
scenario: patient
initialState: call
targetStates: [done]
states:
  call:
    actions:
      - http: {method: POST, url: "${config.demo}/do", body: {order: "${order.id}", queue: ""}, timeout: 2m}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

// AMQP-2, REC-14: what a memory alarm of the broker stops, and what it does not.
#[tokio::test]
async fn amqp_2_under_a_memory_alarm_what_runs_ends_and_the_rest_waits_and_is_done_when_it_is_over() {
    let folder = tempfolder("alarm");
    let ports = Ports::reserve(PORTS, &Owner::this_process().unwrap()).unwrap();
    let broker = OfTest(Rabbit::prepare(&folder, ports.first(), false).unwrap());
    broker.start().await.unwrap();
    let url = broker.url();
    let engine = Installation::behind("broker_alarm", |_| ("PAGURUS__BROKER__URL", url.clone())).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    let world = engine.env.world();
    world.program(Program::at("/do").first(1, &held));
    // The alarm is raised, seen and gone by under this call, however slow the broker's own program is.
    engine.api.put_scenario("patient", PATIENT).await.unwrap();
    let order = |id: &str| json!({"id": id, "scenario": "patient", "params": {"queue": ""}});
    engine.api.post("/v1/orders", &order("runs")).await.unwrap().success().unwrap();
    world.wait_calls("/do", 1, PATIENCE).await.unwrap();
    broker.control(&["set_vm_memory_high_watermark", "absolute", "1000000"]).await.unwrap();
    let alarmed = Instant::now();
    while !broker.control(&["status"]).await.unwrap().contains("Memory alarm on node") {
        assert!(alarmed.elapsed() < PATIENCE, "no alarm");
    }
    // Some notifications may go out before the broker has informed its clients.
    let mut waiting = Vec::new();
    let mut taken_in = Vec::new();
    for number in 0..50 {
        let id = format!("waits-{number}");
        let begun = Instant::now();
        engine.api.post("/v1/orders", &order(&id)).await.unwrap().success().unwrap();
        taken_in.push(begun.elapsed());
        waiting.push(id);
    }
    gate.send_replace(true);
    engine.api.wait_status("runs", "success", PATIENCE).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let called = world.calls("/do").len() - 1;
    assert!(
        called < waiting.len(),
        "hand-outs do not go by the broker any more: the guide on faults is outdated"
    );
    broker.control(&["set_vm_memory_high_watermark", "0.6"]).await.unwrap();
    let lifted = Instant::now();
    for id in &waiting {
        engine.api.wait_status(id, "success", PATIENCE).await.unwrap();
    }
    taken_in.sort_unstable();
    eprintln!(
        "registered in {:?} at most during the alarm, {called} of {} handed out; all had ended {:?} after it",
        taken_in.last(),
        waiting.len(),
        lifted.elapsed()
    );
    engine.holds().await;
    drop(engine);
    broker.stop().await.unwrap();
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&folder);
}

pub fn tempfolder(name: &str) -> std::path::PathBuf {
    let logs =
        std::env::var_os("PAGURUS_TEST_LOGS").map_or_else(std::env::temp_dir, std::path::PathBuf::from);
    let folder = logs.join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
