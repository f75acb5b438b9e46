//! A storm: random faults, one window after another, under a steady load over both transports. Every order that
//! was confirmed ends well, is reported under one id, and its queue keeps its order; no sample of the tables
//! shows an order in no place, or in two (INV-1, 2, 5, 18, 26).
//!
//! `PAGURUS_STORM_WINDOWS=NUMBER` and `PAGURUS_STORM_SEED=NUMBER` make another (`./dev storm`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pagurus_harness::client::Api;
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::client::raw::RawAmqp;
use pagurus_harness::env::Env;
use pagurus_harness::fuzz::{Input, Inputs};
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

use crate::installation::Installation;
use crate::load::{self, Load};

/// Windows of a usual run of the tests.
const USUAL: usize = 6;
/// Time within which everything must have ended after the last window.
const CALM: Duration = Duration::from_secs(90);
/// Time between two rounds of orders, three each.
const PACE: Duration = Duration::from_millis(200);

/// The nodes, each behind proxies of its own.
const NODES: [(Role, &str); 8] = [
    (Role::Intake, "intake-1"),
    (Role::Intake, "intake-2"),
    (Role::Dispatcher, "dispatcher-1"),
    (Role::Dispatcher, "dispatcher-2"),
    (Role::Activator, "activator-1"),
    (Role::Worker, "worker-1"),
    (Role::Worker, "worker-2"),
    (Role::Notifier, "notifier-1"),
];

fn setting<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().map_or(usual, |text| text.parse().ok().expect("a number"))
}

/// Fault of a window.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// `kill -9` of one node, started again afterwards.
    Kill,
    /// A node stands still.
    Freeze,
    /// A node is asked to stop, and started again.
    Stop,
    /// A node, or all of them, cannot reach the database.
    Database(Mode, bool),
    /// A node, or all of them, cannot reach the broker.
    Broker(Mode, bool),
    /// A session locks a third of the orders, and some queues.
    Lock,
    /// The database ends all sessions.
    Sessions,
    /// The database takes no writes.
    ReadOnly,
    /// Messages that nobody can read, and other garbage.
    Garbage,
}

const FAULTS: [Fault; 15] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Freeze,
    Fault::Stop,
    Fault::Database(Mode::Cut, true),
    Fault::Database(Mode::Cut, false),
    Fault::Database(Mode::BlackHole, true),
    Fault::Database(Mode::BlackHole, false),
    Fault::Database(Mode::Delay(Duration::from_millis(100)), false),
    Fault::Broker(Mode::Cut, true),
    Fault::Broker(Mode::BlackHole, false),
    Fault::Lock,
    Fault::Sessions,
    Fault::ReadOnly,
    Fault::Garbage,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn qlt_5_8_a_storm_of_random_faults_loses_doubles_and_misplaces_nothing() {
    let (windows, seed) = (setting("PAGURUS_STORM_WINDOWS", USUAL), setting("PAGURUS_STORM_SEED", 3_u64));
    let mut storm = Storm::start(seed).await;
    let amqp = storm.engine.env.amqp().await.unwrap();
    let inbox = storm.engine.listen(&amqp).await;
    let over = Arc::new(AtomicBool::new(false));
    let apis: Vec<Api> = storm.nodes[..2].iter().map(|node| storm.engine.env.api(node)).collect();
    let sent = tokio::spawn(send(apis, amqp, over.clone()));
    let watch = tokio::spawn(watch(session(&storm.engine.env).await, over.clone()));
    for window in 0..windows {
        let fault = *FAULTS.choose(&mut storm.dice).unwrap();
        println!("window {window} of seed {seed}: {fault:?}");
        storm.blow(fault).await;
        tokio::time::sleep(Duration::from_millis(storm.dice.random_range(300..1500))).await;
    }
    over.store(true, Ordering::SeqCst);
    let bodies = sent.await.unwrap();
    let samples = watch.await.unwrap();
    println!("{} orders, {samples} samples of the tables", bodies.len());
    Load { bodies }.check(&storm.engine, &inbox, CALM).await;
    storm.engine.holds().await;
}

struct Storm {
    engine: Installation,
    nodes: Vec<Node>,
    databases: Vec<Proxy>,
    brokers: Vec<Proxy>,
    dice: StdRng,
    seed: u64,
}

impl Storm {
    async fn start(seed: u64) -> Self {
        let env = Env::new("storm").await.unwrap();
        let (mut nodes, mut databases, mut brokers) = (Vec::new(), Vec::new(), Vec::new());
        Installation::prepare(&env);
        for (role, name) in NODES {
            let database = Proxy::start(&host_of(&env.database_url())).await.unwrap();
            let broker = Proxy::start(&host_of(env.amqp_url())).await.unwrap();
            let settings = [
                ("PAGURUS__DATABASE__URL", database.url(&env.database_url())),
                ("PAGURUS__BROKER__URL", format!("{}?heartbeat=2", broker.url(env.amqp_url()))),
            ];
            let settings: Vec<(&str, &str)> =
                settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            nodes.push(env.start_with(role, name, &settings).await.unwrap());
            databases.push(database);
            brokers.push(broker);
        }
        let engine = Installation::of(env, nodes.clone()).await;
        Self { engine, nodes, databases, brokers, dice: StdRng::seed_from_u64(seed), seed }
    }

    /// Breaks something for a second or three, and mends it.
    async fn blow(&mut self, fault: Fault) {
        let one = self.dice.random_range(0..self.nodes.len());
        let time = Duration::from_millis(self.dice.random_range(800..3000));
        match fault {
            Fault::Kill => {
                self.nodes[one].kill().await.unwrap();
                tokio::time::sleep(time).await;
                self.again(one).await;
            }
            Fault::Stop => {
                self.nodes[one].stop(Duration::from_secs(40)).await.unwrap();
                self.again(one).await;
            }
            Fault::Freeze => {
                self.nodes[one].pause().unwrap();
                tokio::time::sleep(time).await;
                self.nodes[one].resume().unwrap();
            }
            Fault::Database(mode, all) => part(&self.databases, mode, (!all).then_some(one), time).await,
            Fault::Broker(mode, all) => part(&self.brokers, mode, (!all).then_some(one), time).await,
            Fault::Lock => {
                let session = session(&self.engine.env).await;
                let lock = "BEGIN; SELECT FROM queues WHERE hashtext(name) % 2 = 0 FOR UPDATE; \
                            SELECT FROM orders WHERE no % 3 = 0 FOR UPDATE";
                // A deadlock with the engine costs this session its locks, which is as good.
                let _ = session.batch_execute(lock).await;
                tokio::time::sleep(time).await;
            }
            Fault::Sessions => end_sessions(&session(&self.engine.env).await).await,
            Fault::ReadOnly => {
                let session = session(&self.engine.env).await;
                for to in ["on", "off"] {
                    let database = self.engine.env.prefix();
                    let set = format!(
                        "SET default_transaction_read_only = off; \
                         ALTER DATABASE {database} SET default_transaction_read_only = {to}"
                    );
                    session.batch_execute(&set).await.unwrap();
                    end_sessions(&session).await;
                    tokio::time::sleep(time / 2).await;
                }
            }
            Fault::Garbage => self.garbage().await,
        }
    }

    async fn again(&mut self, one: usize) {
        self.nodes[one] = self.engine.env.restart(&self.nodes[one]).await.unwrap();
    }

    async fn garbage(&mut self) {
        self.seed += 1;
        let url = self.engine.env.amqp_url();
        let mut raw = RawAmqp::connect(url).await.unwrap();
        let inputs = Inputs::of(self.seed).filter_map(|input| match input {
            Input::Amqp(message) => Some(*message),
            Input::Http(_) => None,
        });
        for message in inputs.take(60) {
            let exchange = format!("{}.{}", self.engine.env.prefix(), message.exchange);
            if raw.publish(&exchange, &message.key, &message.properties, &message.body).await.is_err() {
                raw = RawAmqp::connect(url).await.unwrap();
            }
        }
    }
}

/// Parts one node from a server, or all, for a while.
async fn part(proxies: &[Proxy], mode: Mode, one: Option<usize>, time: Duration) {
    let parted = |index: usize| one.is_none_or(|one| one == index);
    for (_, proxy) in proxies.iter().enumerate().filter(|(index, _)| parted(*index)) {
        proxy.set(mode);
    }
    tokio::time::sleep(time).await;
    proxies.iter().for_each(|proxy| proxy.set(Mode::Pass));
}

async fn session(env: &Env) -> Client {
    let (client, connection) = tokio_postgres::connect(&env.database_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn end_sessions(session: &Client) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> ''";
    session.batch_execute(end).await.unwrap();
}

/// Sends orders at a pace until the storm is over; what was confirmed, and nothing else, is answered for.
async fn send(apis: Vec<Api>, amqp: Amqp, over: Arc<AtomicBool>) -> Vec<Value> {
    let mut confirmed: Vec<Value> = Vec::new();
    let mut round = 0;
    while !over.load(Ordering::SeqCst) {
        round += 1;
        let queue = format!("q-{}", round % 7);
        let fields = [
            ("call", json!({})),
            ("ask", json!({})),
            ("call", json!({"mode": "sequential", "queue": queue, "params": {"queue": queue}})),
        ];
        for (index, (scenario, more)) in fields.into_iter().enumerate() {
            let body = load::body(&format!("o-{round:05}-{index}"), scenario, more);
            // Sequential ones over one transport, so that the order of sending is the order of registration.
            if index == 2 || round % 2 == 0 {
                post(&apis, &body, round).await;
            } else {
                let bodies = std::slice::from_ref(&body);
                let properties = lapin::BasicProperties::default();
                amqp.publish_orders("order.create", bodies, &properties).await.unwrap();
            }
            confirmed.push(body);
        }
        tokio::time::sleep(PACE).await;
    }
    confirmed
}

/// Repeats the same request, at whichever intake answers, until it is confirmed.
async fn post(apis: &[Api], body: &Value, round: usize) {
    let deadline = Instant::now() + CALM;
    for turn in round.. {
        let asked =
            tokio::time::timeout(Duration::from_secs(5), apis[turn % apis.len()].post("/v1/orders", body));
        match asked.await {
            Ok(Ok(answer)) if matches!(answer.status, 200 | 201) => return,
            Ok(Ok(answer)) => assert!(answer.status == 503, "{body}: {answer:?}"),
            Ok(Err(_)) | Err(_) => {}
        }
        assert!(Instant::now() < deadline, "{body} is not confirmed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Looks at the tables again and again: an unfinished order stands in one place, a final one in none.
async fn watch(session: Client, over: Arc<AtomicBool>) -> usize {
    let misplaced = "
        SELECT o.id, o.status, places.count FROM orders o CROSS JOIN LATERAL (
               SELECT (SELECT count(*) FROM ready WHERE order_no = o.no) + (SELECT count(*) FROM running WHERE order_no = o.no)
                    + (SELECT count(*) FROM due WHERE order_no = o.no) AS count) AS places
         WHERE places.count <> CASE WHEN o.status IN ('success', 'fail', 'interrupted', 'canceled') THEN 0 ELSE 1 END";
    let mut samples = 0;
    while !over.load(Ordering::SeqCst) {
        let found = session.query(misplaced, &[]).await.unwrap();
        let wrong: Vec<(String, String, i64)> =
            found.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
        assert!(wrong.is_empty(), "orders in no place, or in two: {wrong:?}");
        samples += 1;
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    samples
}
