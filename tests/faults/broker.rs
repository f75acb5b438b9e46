//! Harm that a living broker does to the engine: it raises an alarm, and closes connections (rows 32, 35, 36).
//! Each test has a broker of its own, because an alarm is for all.

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use lapin::options::{BasicConsumeOptions, BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::rabbit::{PORTS, Rabbit};
use pagurus_harness::world::program::Program;
use serde_json::json;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, body};
use crate::restart::{keep_notifications, kept_notifications, tempfolder};

struct Broker {
    rabbit: OfTest<Rabbit>,
    folder: std::path::PathBuf,
    _ports: Ports,
}

impl Broker {
    async fn start(name: &str) -> Self {
        let folder = tempfolder(name);
        let ports = Ports::reserve(PORTS, &Owner::this_process().unwrap()).unwrap();
        let rabbit = OfTest(Rabbit::prepare(&folder, ports.first(), false).unwrap());
        rabbit.start().await.unwrap();
        Self { rabbit, folder, _ports: ports }
    }

    async fn end(self) {
        self.rabbit.stop().await.unwrap();
        // A folder that stays costs only space.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn qlt_5_connections_that_the_broker_closes_again_and_again_lose_and_double_nothing() {
    let broker = Broker::start("closing").await;
    let url = broker.rabbit.url();
    let engine = Installation::behind("broker_closes", |_| ("PAGURUS__BROKER__URL", url.clone())).await;
    keep_notifications(&Amqp::connect(&url, engine.env.prefix()).await.unwrap(), engine.env.prefix()).await;
    let mut loads = Vec::new();
    for round in 0..4 {
        // Our own connection is closed with the others.
        let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
        let load = Load::with_naps(&format!("r{round}"), 10);
        load.publish(&amqp).await;
        loads.push(load);
        broker.rabbit.control(&["close_all_connections", "a test"]).await.unwrap();
    }
    let ids: Vec<String> = loads.iter().flat_map(Load::ids).collect();
    for id in &ids {
        engine.api.wait_status(id, "success", 2 * PATIENCE).await.unwrap();
    }
    let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
    assert_eq!(kept_notifications(&amqp, ids.len()).await, ids.len(), "orders that were notified");
    drop(amqp);
    engine.holds().await;
    // Not one more than at the beginning: a node that came back has closed its former ones.
    let count = broker.rabbit.control(&["-q", "list_connections", "pid"]).await.unwrap();
    let connections = count.lines().filter(|line| line.starts_with('<')).count();
    assert!(connections <= 4 * engine.nodes.len(), "{connections} connections:\n{count}");
    drop(engine);
    broker.end().await;
}

/// Duration of a call that exceeds the time within which the broker wants an acknowledgement.
const LONG_CALL: Duration = Duration::from_secs(5);

#[tokio::test]
async fn qlt_5_a_stage_that_is_longer_than_the_brokers_time_out_of_consumers_is_run_once() {
    let broker = Broker::start("consumer-time-out").await;
    // Two seconds, looked at four times a second, where a broker has half an hour, and looks once a minute.
    let short = "application:set_env(rabbit, consumer_timeout, 2000), application:set_env(rabbit, channel_tick_interval, 250).";
    broker.rabbit.control(&["eval", short]).await.unwrap();
    let url = broker.rabbit.url();
    // An unacknowledged message of our own is the proof that the time-out acts.
    let amqp = Amqp::connect(&url, "time-out").await.unwrap();
    let channel = amqp.channel();
    let auto_delete = QueueDeclareOptions { auto_delete: true, ..QueueDeclareOptions::default() };
    channel.queue_declare("held".into(), auto_delete, FieldTable::default()).await.unwrap();
    amqp.publish("", "held", b"{}", &BasicProperties::default()).await.unwrap();
    let consumer = channel.basic_consume(
        "held".into(),
        "".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    );
    let _held = consumer.await.unwrap();

    let settings = [("PAGURUS__BROKER__URL", url.as_str()), ("PAGURUS__NODE__LOST_AFTER", "1m")];
    let engine = Installation::start("consumer_time_out", &settings).await;
    let listener = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
    keep_notifications(&listener, engine.env.prefix()).await;
    engine.env.world().program(Program::at("/do").delayed(LONG_CALL));
    let ids: Vec<String> = (0..10).map(|number| format!("long-{number}")).collect();
    let load = Load { bodies: ids.iter().map(|id| body(id, "call", json!({}))).collect() };
    load.post(&engine).await;
    for id in &ids {
        engine.api.wait_status(id, "success", 2 * PATIENCE).await.unwrap();
    }
    assert_eq!(engine.env.world().calls("/do").len(), ids.len(), "each was called once");
    assert!(!channel.status().connected(), "the time-out of consumers does not act: the trial shows nothing");
    engine.holds().await;
    drop(engine);
    broker.end().await;
}

#[tokio::test]
async fn amqp_2_under_a_disk_alarm_http_takes_orders_and_nodes_stop_in_their_time() {
    let broker = Broker::start("disk").await;
    let url = broker.rabbit.url();
    let settings = [("PAGURUS__BROKER__URL", url.as_str()), ("PAGURUS__SHUTDOWN__GRACE", "5s")];
    let mut engine = Installation::start("disk_alarm", &settings).await;
    keep_notifications(&Amqp::connect(&url, engine.env.prefix()).await.unwrap(), engine.env.prefix()).await;
    let before = Load::some("before", 5);
    before.post(&engine).await;
    broker.rabbit.control(&["set_disk_free_limit", "100000000000000"]).await.unwrap();
    let during = Load::with_naps("during", 10);
    let begun = Instant::now();
    during.post(&engine).await;
    let taken = begun.elapsed();
    // The alarm lasts: who waits for the broker waits for its time-outs.
    assert!(taken < Duration::from_secs(20), "HTTP waits for the broker: {taken:?}");
    let begun = Instant::now();
    for index in 0..engine.nodes.len() {
        engine.nodes[index].stop(Duration::from_secs(20)).await.unwrap();
    }
    eprintln!(
        "{} orders in {taken:?} under the alarm; five nodes stopped in {:?}",
        during.bodies.len(),
        begun.elapsed()
    );
    broker.rabbit.control(&["set_disk_free_limit", "50000000"]).await.unwrap();
    for index in 0..engine.nodes.len() {
        engine.nodes[index] = engine.env.restart(&engine.nodes[index]).await.unwrap();
    }
    let ids: Vec<String> = [&before, &during].into_iter().flat_map(Load::ids).collect();
    for id in &ids {
        engine.api.wait_status(id, "success", 2 * PATIENCE).await.unwrap();
    }
    let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
    assert_eq!(kept_notifications(&amqp, ids.len()).await, ids.len(), "orders that were notified");
    engine.holds().await;
    drop(engine);
    broker.end().await;
}

#[tokio::test]
async fn ord_19_a_queue_that_never_confirms_is_left_alone_and_holds_up_no_other_receiver() {
    let broker = Broker::start("silent").await;
    let url = broker.rabbit.url();
    let amqp = Amqp::connect(&url, "silent").await.unwrap();
    let channel = amqp.channel();
    for queue in ["dead", "well"] {
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(queue.into(), durable, FieldTable::default()).await.unwrap();
    }
    // As a quorum queue without its majority: it takes messages, and says nothing.
    let suspend = "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"dead\">>)), sys:suspend(amqqueue:get_pid(Q)).";
    broker.rabbit.control(&["eval", suspend]).await.unwrap();
    let settings = [
        ("PAGURUS__BROKER__URL", url.as_str()),
        ("PAGURUS__BROKER__CONFIRM_TIMEOUT", "3s"),
        ("PAGURUS__NOTIFY__ALLOW", "[{queue: dead}, {queue: well}]"),
    ];
    let engine = Installation::start("silent_queue", &settings).await;
    let order = |id: &str, queue: &str| {
        body(id, "call", json!({"notify": {"url": format!("amqp://?queue={queue}")}}))
    };
    let shows = async |id: &str, said: &str| {
        let begun = Instant::now();
        loop {
            let path = format!("/v1/orders/{id}");
            let order = engine.api.get(&path).await.unwrap().success().unwrap().to_string();
            if order.contains(said) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{id}: {order}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    Load { bodies: vec![order("first", "dead")] }.post(&engine).await;
    shows("first", "did not answer within").await;
    let begun = Instant::now();
    for number in 0..10 {
        let bodies = vec![order(&format!("dead-{number}"), "dead"), order(&format!("well-{number}"), "well")];
        Load { bodies }.post(&engine).await;
        while channel.basic_get("well".into(), BasicGetOptions { no_ack: true }).await.unwrap().is_none() {
            assert!(begun.elapsed() < 2 * PATIENCE, "well-{number} was never notified");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let took = begun.elapsed();
    shows("dead-9", "has not confirmed for a while").await;
    assert!(took < Duration::from_secs(12), "ten receivers wait for another one: {took:?}");
    broker.rabbit.control(&["eval", &suspend.replace("suspend", "resume")]).await.unwrap();
    engine.holds().await;
    drop(engine);
    broker.end().await;
}
