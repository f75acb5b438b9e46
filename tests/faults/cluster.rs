//! Three nodes of RabbitMQ, of which any may die (RUN-3). Services and clients reach them by one address, as behind a load
//! balancer. Never kills two at once: two of three are what quorum queues need.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::process::Signal;
use pagurus_harness::proxy::Proxy;
use pagurus_harness::rabbit::{CLUSTER_PORTS, RabbitCluster};

use crate::installation::{Installation, PATIENCE};
use crate::load::Load;
use crate::restart::{keep_notifications_in, kept_notifications, tempfolder};

/// Time that suffices for three brokers on two cores that are busy with other tests.
const LONG: Duration = Duration::from_secs(120);

/// The name, the kind and the nodes of each queue of the engine, as the broker tells them.
async fn queues(cluster: &RabbitCluster, prefix: &str) -> Vec<String> {
    let arguments = ["-q", "list_queues", "--no-table-headers", "name", "type", "members", "durable"];
    let listed = cluster.nodes[0].control(&arguments).await.unwrap();
    let own = listed.lines().filter(|line| line.starts_with(&format!("{prefix}.")));
    own.map(str::to_owned).collect()
}

/// Sends as a client does that insists: a quorum queue that has no leader for a moment refuses what comes first, and says so. What
/// was taken before is a duplicate.
async fn send(load: &Load, url: &str, prefix: &str) {
    let deadline = Instant::now() + LONG;
    loop {
        let sent = async {
            let amqp = Amqp::connect(url, prefix).await?;
            amqp.publish_orders("order.create", &load.bodies, &BasicProperties::default()).await
        };
        match sent.await {
            Ok(()) => return,
            Err(error) => assert!(Instant::now() < deadline, "orders are not taken: {error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// An order whose broker node died must not have called twice by that: no worker has died.
fn called_once(engine: &Installation) {
    let mut calls: BTreeMap<String, u32> = BTreeMap::new();
    for call in engine.env.world().calls("/do") {
        *calls.entry(call.headers["idempotency-key"].clone()).or_default() += 1;
    }
    let twice: Vec<_> = calls.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "calls that were repeated: {twice:?}");
}

#[tokio::test]
async fn run_3_each_of_three_nodes_of_rabbitmq_is_killed_under_load_and_nothing_is_lost_or_doubled() {
    let folder = tempfolder("cluster");
    let ports = Ports::reserve(CLUSTER_PORTS, &Owner::this_process().unwrap()).unwrap();
    let cluster = RabbitCluster::start(&folder, ports.first()).await.unwrap();
    let addresses = cluster.addresses();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let balancer = Proxy::start_before(&addresses).await.unwrap();
    let url = balancer.url(&cluster.nodes[0].url());
    // Three brokers start beside it: only what they do is meant to disturb the services.
    let settings = [("PAGURUS__BROKER__URL", url.as_str()), ("PAGURUS__NODE__LOST_AFTER", "1m")];
    let engine = Installation::start("cluster", &settings).await;
    let prefix = engine.env.prefix();
    {
        let amqp = Amqp::connect(&url, prefix).await.unwrap();
        let mut quorum = FieldTable::default();
        quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        keep_notifications_in(&amqp, prefix, quorum).await;
    }
    for queue in queues(&cluster, prefix).await {
        let everywhere = ["one@", "two@", "three@"].iter().all(|node| queue.contains(node));
        assert!(queue.contains(".private.") || queue.contains("quorum") && everywhere, "{queue}");
    }

    let mut loads = Vec::new();
    for (index, name) in ["one", "two", "three"].into_iter().enumerate() {
        let called = engine.env.world().calls("/do").len();
        let before = Load::some(&format!("{name}-before"), 20);
        send(&before, &url, prefix).await;
        engine.env.world().wait_calls("/do", called + 5, PATIENCE).await.unwrap();
        cluster.nodes[index].identity().unwrap().signal(Signal::Kill).unwrap();
        let begun = Instant::now();
        let during = Load::some(&format!("{name}-during"), 10);
        during.post(&engine).await;
        for node in &engine.nodes {
            engine.wait_readiness(node, true, LONG).await;
        }
        let ready = begun.elapsed();
        // Over AMQP, too, with two nodes.
        let after = Load::some(&format!("{name}-after"), 10);
        send(&after, &url, prefix).await;
        for load in [before, during, after] {
            for id in load.ids() {
                let order = engine.api.wait_status(&id, "success", LONG).await.unwrap();
                assert!(order["error"].is_null(), "{order}");
            }
            loads.push(load);
        }
        println!(
            "{name} killed: all services ready after {ready:?}, all orders ended after {:?}",
            begun.elapsed()
        );
        cluster.nodes[index].start().await.unwrap();
        cluster.nodes[index].control(&["await_online_nodes", "3"]).await.unwrap();
    }
    let amqp = Amqp::connect(&url, prefix).await.unwrap();
    let expected = loads.iter().map(|load| load.bodies.len()).sum();
    assert_eq!(kept_notifications(&amqp, expected).await, expected, "orders that were notified");
    called_once(&engine);
    engine.holds().await;
    drop(amqp);
    drop(engine);
    cluster.stop().await.unwrap();
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&folder);
}
