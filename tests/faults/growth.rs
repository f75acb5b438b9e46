//! What an installation grows to (RUN-3), as far as one machine shows it: a standby of Postgres that takes over, three nodes
//! of RabbitMQ of which any may die, and more than one node of every role.

use std::time::{Duration, Instant};

use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::nodes::Role;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{Postgres, Stop, USER};
use pagurus_harness::process::Signal;
use pagurus_harness::proxy::Proxy;
use pagurus_harness::rabbit::{PORTS, Rabbit};
use serde_json::json;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, body};
use crate::restart::tempfolder;

/// More than a server that was cut off needs on a machine that is busy with other tests.
const LONG: Duration = Duration::from_secs(120);

async fn all_succeed(engine: &Installation, load: &Load) {
    for id in load.ids() {
        let order = engine.api.wait_status(&id, "success", LONG).await.unwrap();
        assert!(order["error"].is_null(), "{order}");
    }
}

#[tokio::test]
async fn run_3_a_standby_of_postgres_is_promoted_and_no_accepted_order_is_lost() {
    let folder = tempfolder("standby");
    let ports = Ports::reserve(2, &Owner::this_process().unwrap()).unwrap();
    let (first, second) = (ports.first(), ports.first() + 1);
    let primary = Postgres::prepare(&folder.join("one"), &folder.join("one.log"), first).unwrap();
    primary.start().await.unwrap();
    primary.create_database("growth").await.unwrap();
    let standby = primary.standby(&folder.join("two"), &folder.join("two.log"), second).unwrap();
    standby.start().await.unwrap();
    primary.demand_standby().await.unwrap();

    let url = format!(
        "postgres://{USER}@127.0.0.1:{first},127.0.0.1:{second}/growth?target_session_attrs=read-write"
    );
    let engine = Installation::behind("standby", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let before = Load::new("before");
    before.post(&engine).await;
    engine.env.world().wait_calls("/do", 20, PATIENCE).await.unwrap();
    primary.stop(Stop::Immediate).await.unwrap();
    let begun = Instant::now();
    standby.promote().unwrap();
    let promoted = begun.elapsed();
    for node in &engine.nodes {
        engine.wait_readiness(node, true, LONG).await;
    }
    let ready = begun.elapsed();
    let after = Load::new("after");
    after.post(&engine).await;
    all_succeed(&engine, &before).await;
    all_succeed(&engine, &after).await;
    println!("promoted after {promoted:?}, every node ready after {ready:?}");
    drop(engine);
    standby.stop(Stop::Fast).await.unwrap();
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test]
async fn run_3_of_three_nodes_of_rabbitmq_any_may_die_and_no_confirmed_order_is_lost() {
    let folder = tempfolder("cluster");
    let ports = Ports::reserve(3 * PORTS, &Owner::this_process().unwrap()).unwrap();
    let one = Rabbit::prepare(&folder.join("one"), ports.first(), false).unwrap();
    one.start().await.unwrap();
    let mut cluster = vec![one.clone()];
    for (name, offset) in [("two", PORTS), ("three", 2 * PORTS)] {
        let node = one.neighbour(&folder.join(name), ports.first() + offset, name).unwrap();
        node.start().await.unwrap();
        node.join(&one).await.unwrap();
        cluster.push(node);
    }
    let addresses: Vec<String> = cluster.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let balancer = Proxy::start_before(&addresses).await.unwrap();
    let url = balancer.url(&one.url());
    let engine = Installation::behind("cluster", |_| ("PAGURUS__BROKER__URL", url.clone())).await;
    let queues =
        one.control(&["-q", "list_queues", "--no-table-headers", "name", "type", "members"]).await.unwrap();
    let doors = queues.lines().find(|line| line.starts_with(&format!("{}.orders.in\t", engine.env.prefix())));
    let doors = doors.unwrap_or_else(|| panic!("{queues}"));
    assert!(
        doors.contains("quorum") && ["pagurus@", "two@", "three@"].iter().all(|name| doors.contains(name)),
        "{doors}"
    );

    // First the node that everybody is connected to, then, when it is back, another one.
    for (round, index) in [0, 1].into_iter().enumerate() {
        let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
        let load = Load::new(&format!("r{round}"));
        load.publish(&amqp).await;
        engine.env.world().wait_calls("/do", 100 * round + 10, PATIENCE).await.unwrap();
        cluster[index].identity().unwrap().signal(Signal::Kill).unwrap();
        let begun = Instant::now();
        for node in &engine.nodes {
            engine.wait_readiness(node, true, LONG).await;
        }
        println!("node {index} killed; every service is ready after {:?}", begun.elapsed());
        all_succeed(&engine, &load).await;
        cluster[index].start().await.unwrap();
    }
    drop(engine);
    for node in cluster.iter().rev() {
        node.stop().await.unwrap();
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test]
async fn run_3_nodes_of_every_role_are_added_and_taken_away_while_orders_run() {
    let mut engine = Installation::start("growth", &[]).await;
    let load = Load::new("a");
    load.post(&engine).await;
    for role in Role::ALL {
        let node = engine.env.start(role, &format!("{role}-2")).await.unwrap();
        engine.nodes.push(node);
    }
    let more = Load::new("b");
    more.post(&engine).await;
    let second = engine.nodes.iter().find(|node| node.spec.name == "intake-2").unwrap();
    let answer = engine.env.api(second).post("/v1/orders", &body("by-the-second", "call", json!({}))).await;
    answer.unwrap().success().unwrap();
    let first: Vec<_> = engine.nodes.iter().filter(|node| node.spec.name.ends_with("-1")).cloned().collect();
    for node in first.iter().filter(|node| node.spec.role != Role::Intake) {
        node.stop(pagurus_harness::env::STOP_TIMEOUT).await.unwrap();
    }
    all_succeed(&engine, &load).await;
    all_succeed(&engine, &more).await;
    engine.api.wait_status("by-the-second", "success", PATIENCE).await.unwrap();
}
