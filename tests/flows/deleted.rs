//! One deletion at the broker needs no person (QLT-8): whatever of the engine's exchanges, queues and bindings is deleted comes
//! back while the services run, every node says what it is, and what was confirmed to a client is done, once.

use std::collections::{BTreeMap, BTreeSet};

use lapin::BasicProperties;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use pagurus_harness::nodes::Role;
use pagurus_harness::rabbit::parts::{BrokerApi, Part, parts};
use pagurus_harness::world::program::{CallBack, Program, Step};
use rand::seq::SliceRandom;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, call, until};

/// An order that the broker has confirmed and routed: tried until then, as a client does.
async fn confirmed(engine: &Installation, id: &str, scenario: &str) {
    until(&format!("{id} is taken"), PATIENCE, async || {
        // The broker ends the channel of who publishes to an exchange that is not there.
        let client = engine.env().amqp().await.unwrap();
        let order = json!({"id": id, "scenario": scenario});
        client.publish_orders("order.create", &[order], &BasicProperties::default()).await.is_ok()
    })
    .await;
}

async fn ready(engine: &Installation) -> bool {
    for node in &engine.nodes {
        let answer = engine.env().http().get(format!("{}/readyz", node.url())).send().await.unwrap();
        let (ready, body) = (answer.status().is_success(), answer.json::<Value>().await.unwrap());
        if !ready || body["broker"]["topology"] != "up" {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn qlt_8_what_is_deleted_at_the_broker_comes_back_and_every_confirmed_order_ends_once() {
    let engine = Installation::start("deleted_parts").await;
    let api = BrokerApi::of_run().unwrap();
    let mut ask = Step::answer(202, json!({}));
    ask.callback = Some(CallBack::with(json!({"code": 0})));
    engine.world().program(Program::at("/ask").then(ask));
    engine.actions("canary", &call("/canary")).await;
    engine.scenario("asks", &asking("/ask", "2m")).await;
    let parent = format!(
        "- order: {{id: \"kid-${{order.id}}\", scenario: canary, wait: true, request: kid, timeout: 2m}}\n{}",
        call("/parent")
    );
    engine.actions("parent", &parent).await;
    let shipped =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../rabbitmq/definitions.json"));
    let mut all = parts(&shipped.unwrap(), engine.env().prefix()).unwrap();
    all.shuffle(&mut rand::rng());
    // Both ways to the queue of callbacks at once: nobody but intake can see that they are missing.
    let callbacks = format!("{}.callbacks.in", engine.env().prefix());
    all.sort_by_key(|part| !matches!(part, Part::Binding { queue, .. } if *queue == callbacks));
    let wanted = api.parts(engine.env().prefix()).await.unwrap();
    assert!(all.iter().all(|part| wanted.contains(part)), "{wanted:?}");
    // Private queues have other names with each connection; their bindings count.
    let ways = |parts: &BTreeSet<Part>| {
        let mut ways: BTreeMap<(String, String), usize> = BTreeMap::new();
        for part in parts {
            if let Part::Binding { exchange, key, .. } = part {
                *ways.entry((exchange.clone(), key.clone())).or_default() += 1;
            }
        }
        ways
    };
    let mut ids = Vec::new();
    for (round, some) in all.chunks(3).enumerate() {
        let client = engine.env().amqp().await.unwrap();
        for part in some {
            part.delete(client.channel()).await.unwrap();
        }
        for scenario in ["canary", "asks", "parent"] {
            for n in 0..2 {
                let id = format!("{scenario}-{round}-{n}");
                confirmed(&engine, &id, scenario).await;
                ids.push(id);
            }
        }
        let what = some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        // Nothing may stand in a queue that the next round deletes.
        for id in &ids {
            engine
                .wait_status(id, "success", PATIENCE)
                .await
                .unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        until(&what, PATIENCE, async || {
            let there = api.parts(engine.env().prefix()).await.unwrap();
            all.iter().all(|part| there.contains(part))
                && ways(&there) == ways(&wanted)
                && ready(&engine).await
        })
        .await;
    }
    for path in ["/canary", "/parent", "/ask", "/after"] {
        let calls = engine.world().calls(path);
        let mut by_order: BTreeMap<String, usize> = BTreeMap::new();
        for call in &calls {
            *by_order.entry(call.body["order"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        let twice: Vec<_> = by_order.iter().filter(|(_, count)| **count != 1).collect();
        assert!(!calls.is_empty() && twice.is_empty(), "{path}: {twice:?}");
    }
}

/// Somebody else holds the name of a queue, so that nobody can declare it: as long as one likes.
#[tokio::test]
async fn qlt_8_every_node_says_what_is_missing_at_the_broker_as_long_as_it_is() {
    let engine = Installation::start("missing_part").await;
    until("all are ready", PATIENCE, async || ready(&engine).await).await;
    let name = format!("{}.refused", engine.env().prefix());
    let client = loop {
        let client = engine.env().amqp().await.unwrap();
        Part::Queue(name.clone()).delete(client.channel()).await.unwrap();
        let holds = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
        let taken = client.channel().queue_declare(name.as_str().into(), holds, FieldTable::default()).await;
        // A service may have been quicker.
        if taken.is_ok() {
            break client;
        }
    };
    for node in &engine.nodes {
        until("it is reported", PATIENCE, async || {
            let answer = engine.env().http().get(format!("{}/readyz", node.url())).send().await.unwrap();
            let body = answer.json::<Value>().await.unwrap();
            let topology = body["broker"]["topology"].as_str().unwrap_or_default().to_owned();
            let is_intake = node.spec.role == Role::Intake;
            topology.starts_with(&format!("incomplete: queue {name}")) && body["ready"] == is_intake
        })
        .await;
    }
    drop(client);
    until("all are ready", PATIENCE, async || ready(&engine).await).await;
}
