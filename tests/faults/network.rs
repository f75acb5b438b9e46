//! Connections to the servers cut or parted: `/readyz` tells it soon, and everything comes back by itself.
//! Never breaks the servers: other tests use them at the same time.

use std::time::Duration;

use pagurus_harness::client::items;
use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use pagurus_harness::world::program::{Program, Step};
use serde_json::json;
use tokio::sync::watch;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};

/// Time within which `/readyz` must report a server that is away.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// Server that is put behind a proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    Database,
    Broker,
}

async fn parted(server: Server, mode: Mode, test: &str) {
    // All nodes behind one proxy: what is true of one service must be true of all.
    let url = |variable: &str| std::env::var(variable).expect("./dev test sets it");
    let upstream = match server {
        Server::Database => url("DATABASE_URL"),
        Server::Broker => url("AMQP_URL"),
    };
    let proxy = Proxy::start(&host_of(&upstream)).await.unwrap();
    let engine = Installation::behind(test, |env| match server {
        Server::Database => ("PAGURUS__DATABASE__URL", proxy.url(&env.database_url())),
        // A network that is parted shows by missing heartbeats only; the usual ten seconds are long for a test.
        Server::Broker => ("PAGURUS__BROKER__URL", format!("{}?heartbeat=1", proxy.url(env.amqp_url()))),
    })
    .await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::new("before");
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();

    proxy.set(mode);
    let mut checks = Vec::new();
    for node in &engine.nodes {
        checks.push(engine.wait_readiness(node, false, NOTICED_WITHIN));
    }
    futures_util::future::join_all(checks).await;
    let during = Load::new("during");
    match server {
        // The messages wait in their queue.
        Server::Database => during.publish(&amqp).await,
        // Registration over HTTP needs the database only.
        Server::Broker => during.post(&engine).await,
    }
    proxy.set(Mode::Pass);
    for node in &engine.nodes {
        engine.wait_readiness(node, true, PATIENCE).await;
    }
    Load::check_all(&[load, during], &engine, &inbox, PATIENCE).await;
}

#[tokio::test]
async fn rec_1_connections_to_postgres_cut_under_load_come_back() {
    parted(Server::Database, Mode::Cut, "cut_database").await;
}

#[tokio::test]
async fn rec_1_connections_to_postgres_parted_under_load_come_back() {
    parted(Server::Database, Mode::BlackHole, "parted_database").await;
}

#[tokio::test]
async fn rec_1_connections_to_rabbitmq_cut_under_load_come_back() {
    parted(Server::Broker, Mode::Cut, "cut_broker").await;
}

#[tokio::test]
async fn rec_1_connections_to_rabbitmq_parted_under_load_come_back() {
    parted(Server::Broker, Mode::BlackHole, "parted_broker").await;
}

// REC-7: when nobody can reach the database, nobody is lost by that, and no stage begins again.
#[tokio::test]
async fn rec_7_a_partition_of_all_nodes_from_postgres_costs_no_node_its_life_and_no_stage_a_restart() {
    // All nodes connect again at once, which takes its time: who beats first must not find the others lost by then.
    let lost_after = [("PAGURUS__NODE__LOST_AFTER", "3s")];
    let (engine, databases, _brokers) = Installation::behind_proxies("parted_all", &lost_after).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.env.world().program(Program::at("/do").first(10, &held));
    let long = "scenario: long\ninitialState: call\nstates:\n  call:\n    actions: [{http: {method: POST, url: \"${config.demo}/do\", timeout: 4m}}]\n    \
                on: {success: done, fail: failed}\n  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";
    engine.api.put_scenario("long", long).await.unwrap();
    let orders: Vec<_> = (0..10).map(|n| json!({"id": format!("{n}"), "scenario": "long"})).collect();
    engine.api.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    engine.env.world().wait_calls("/do", 10, PATIENCE).await.unwrap();
    // Again and again, because it takes some luck to look before the others are back.
    for mode in [Mode::BlackHole, Mode::Cut, Mode::Cut, Mode::Cut] {
        databases.iter().for_each(|proxy| proxy.set(mode));
        // Twice as long as it takes to be lost.
        tokio::time::sleep(Duration::from_secs(6)).await;
        databases.iter().for_each(|proxy| proxy.set(Mode::Pass));
        for node in &engine.nodes {
            engine.wait_readiness(node, true, PATIENCE).await;
        }
    }
    gate.send_replace(true);
    for n in 0..10 {
        engine.api.wait_status(&n.to_string(), "success", PATIENCE).await.unwrap();
    }
    assert_eq!(engine.env.world().calls("/do").len(), 10, "a stage began again");
    let nodes = items(engine.api.get("/v1/nodes").await.unwrap().success().unwrap());
    let lost: Vec<_> = nodes.iter().filter(|node| node["status"] == "lost").collect();
    assert!(lost.is_empty() && nodes.len() == Role::ALL.len(), "{nodes:#?}");
    engine.holds().await;
    // A node that really is dead is found after that as ever.
    engine.node(Role::Worker).kill().await.unwrap();
    engine.wait_item("/v1/nodes", |node| node["name"] == "worker-1" && node["status"] == "lost").await;
}
