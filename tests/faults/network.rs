//! Connections to the servers cut or parted: `/readyz` tells it soon, and everything comes back by itself.
//! Never breaks the servers: other tests use them at the same time.

use std::time::Duration;

use pagurus_harness::proxy::{Mode, Proxy};

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};

/// By then `/readyz` must tell of a server that is away.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// Which server is put behind a proxy.
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
        Server::Broker => ("PAGURUS__BROKER__URL", format!("{}?heartbeat=2", proxy.url(env.amqp_url()))),
    })
    .await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::new("before");
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();

    proxy.set(mode);
    let mut told = Vec::new();
    for node in &engine.nodes {
        told.push(engine.wait_readiness(node, false, TOLD_WITHIN));
    }
    futures_util::future::join_all(told).await;
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
    load.check(&engine, &inbox, PATIENCE).await;
    during.check(&engine, &inbox, PATIENCE).await;
}

/// `host:port` of a URL.
pub fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    authority.rsplit('@').next().unwrap_or(authority).to_owned()
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
