//! A single node without its server, and nodes that are asked to stop while a server is away (rows 8, 19, 20).
//! Never waits for the servers: a node that cannot reach one says so, and ends in its time.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::Mode;

use crate::installation::{Installation, PATIENCE};
use crate::load::Load;

/// Time within which `/readyz` must report a server that is away.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);
/// Longest time for a black hole without a reset before a node has got over it.
const SURVIVED_WITHIN: Duration = Duration::from_secs(20);

#[tokio::test]
async fn qlt_5_a_node_that_alone_falls_into_a_black_hole_says_so_and_others_do_its_work() {
    let (engine, databases, brokers) = Installation::behind_proxies("one_parted", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let mut others = Vec::new();
    for role in Role::ALL {
        others.push(engine.env.start(role, &format!("{role}-2")).await.unwrap());
    }
    let mut loads = Vec::new();
    for (index, node) in engine.nodes.iter().enumerate() {
        for (server, proxy) in [("postgres", &databases[index]), ("rabbitmq", &brokers[index])] {
            proxy.set(Mode::BlackHole);
            let load = Load::with_naps(&format!("{}-{server}", node.spec.role), 6);
            load.publish(&amqp).await;
            let noticed = engine.wait_readiness(node, false, NOTICED_WITHIN).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            // What was sent into the hole arrives nowhere: the connections are gone, and nobody was informed.
            proxy.set(Mode::Cut);
            proxy.set(Mode::Pass);
            let back = engine.wait_readiness(node, true, SURVIVED_WITHIN).await;
            eprintln!(
                "{} without {server}: noticed after {noticed:?}, ready again {back:?} after",
                node.spec.name
            );
            loads.push(load);
        }
    }
    Load::check_all(&loads, &engine, &inbox, 2 * PATIENCE).await;
}

#[tokio::test]
async fn rec_9_nodes_that_are_stopped_while_postgres_is_away_end_in_their_time_and_lose_nothing() {
    stopped_without(false, "stop_no_database").await;
}

#[tokio::test]
async fn rec_9_nodes_that_are_stopped_while_rabbitmq_is_away_end_in_their_time_and_lose_nothing() {
    stopped_without(true, "stop_no_broker").await;
}

async fn stopped_without(broker: bool, test: &str) {
    let (mut engine, databases, brokers) =
        Installation::behind_proxies(test, &[("PAGURUS__SHUTDOWN__GRACE", "5s")]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::with_naps("stopped", 30);
    load.publish(&amqp).await;
    engine.env.world().wait_calls("/do", 10, PATIENCE).await.unwrap();
    let proxies = if broker { &brokers } else { &databases };
    proxies.iter().for_each(|proxy| proxy.set(Mode::BlackHole));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    // The grace, five seconds for the last writes, five for the registry, and some for a busy machine.
    let stops = engine.nodes.iter().map(|node| node.stop(Duration::from_secs(20)));
    for stopped in join_all(stops).await {
        stopped.unwrap();
    }
    eprintln!("all had ended {:?} after they were asked to", begun.elapsed());
    for proxy in proxies {
        proxy.set(Mode::Cut);
        proxy.set(Mode::Pass);
    }
    for index in 0..engine.nodes.len() {
        engine.nodes[index] = engine.env.restart(&engine.nodes[index]).await.unwrap();
    }
    Load::check_all(&[load], &engine, &inbox, 2 * PATIENCE).await;
}
