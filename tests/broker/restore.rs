//! Deletions in the topology while services are connected: each part comes back with all of its bindings, and nothing that
//! was confirmed is lost.

use std::collections::BTreeSet;

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation, Connection, ConnectionProperties};
use pagurus_broker::topology::{definitions, password_hash};
use pagurus_broker::{Broker, Config, ConsumeSpec, Message, Published, QueueSource};
use pagurus_domain::id::Role;
use pagurus_harness::rabbit::parts::{BrokerApi, Part, parts};
use rand::seq::SliceRandom;
use serde_json::json;

use crate::{PATIENCE, World, all_confirmed, amqp_url, order, orders};

fn all_parts(world: &World) -> Vec<Part> {
    let shipped = definitions("pagurus", &Default::default()).to_string();
    parts(&shipped, &world.names.prefix).unwrap()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "in vain: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn qlt_8_every_part_of_the_topology_that_is_deleted_comes_back_with_all_bindings() {
    let (world, api) = (World::new().await, BrokerApi::of_run().unwrap());
    let mut brokers = Vec::new();
    for service in Role::ALL {
        brokers.push(world.broker(*service).await);
    }
    let spec = ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: "node-1".to_owned(),
            bindings: vec![
                (world.names.news.clone(), "all".to_owned()),
                (world.names.work.clone(), "one".to_owned()),
            ],
            max_length: 100,
        },
        prefetch: 100,
        ack_on_take: true,
        own_connection: false,
    };
    let _private = brokers[3].consume(spec).unwrap();
    brokers[3].ensure_actor_queue("robot", PATIENCE).await.unwrap();
    let mut wanted: BTreeSet<Part> = all_parts(&world).into_iter().collect();
    until("all is there", async || {
        let there = api.parts(&world.names.prefix).await.unwrap();
        wanted.is_subset(&there) && there.iter().any(|part| part.to_string().contains("private"))
    })
    .await;
    // The private queue and that of the actor as well.
    wanted.extend(api.parts(&world.names.prefix).await.unwrap());
    let mut order = all_parts(&world);
    order.shuffle(&mut rand::rng());
    for some in order.chunks(order.len().div_ceil(4)) {
        let channel = world.admin.create_channel().await.unwrap();
        for part in some {
            part.delete(&channel).await.unwrap();
        }
        // A task for the actor tells that its queue has lost its way.
        let task = || Message::json(&world.names.actors, "robot", b"{}".to_vec());
        all_confirmed(&brokers[3].publish_many_foreign(vec![task()]).await);
        let what = some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        until(&what, async || wanted.is_subset(&api.parts(&world.names.prefix).await.unwrap())).await;
        for broker in &brokers {
            until(&what, async || broker.state().is_up()).await;
        }
    }
    let channel = world.admin.create_channel().await.unwrap();
    Part::Queue(world.names.actor_queue("robot")).delete(&channel).await.unwrap();
    let last = brokers.pop().unwrap();
    for broker in brokers {
        broker.close().await;
    }
    world.end(last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_what_meets_a_missing_part_is_sent_again_once_that_is_restored() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let refused = || Message { exchange: world.names.refused.clone(), mandatory: true, ..Message::default() };
    let mut count = 0;
    for part in all_parts(&world) {
        let is_of = |name: &str| part.to_string().contains(name);
        if !is_of(&world.names.orders) && !is_of(&world.names.refused) {
            continue;
        }
        let kept = !matches!(&part, Part::Queue(_));
        part.delete(&world.admin.create_channel().await.unwrap()).await.unwrap();
        // Apart: what shares a channel with one that meets a missing exchange may be taken twice.
        all_confirmed(&broker.publish_many(orders(&world.names, 3)).await);
        all_confirmed(&broker.publish_many(vec![refused()]).await);
        let lost = !kept && is_of(&world.names.orders_in);
        count = if lost { 3 } else { count + 3 };
        world.until_waiting(&world.names.orders_in, count).await;
    }
    assert!(count > 3);
    world.end(broker).await;
}

/// A notifier can neither see nor restore the ways from the exchange of callbacks to its queue: intake binds them.
#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_what_no_binding_of_the_engine_takes_at_present_is_to_be_sent_again() {
    let world = World::new().await;
    // Declares everything, and is gone before somebody deletes a part.
    world.broker(Role::Intake).await.close().await;
    let (notifier, name) = (world.broker(Role::Notifier).await, &world.names);
    let ended = || Message::json(&name.callbacks, "order", b"{}".to_vec());
    all_confirmed(&notifier.publish_many(vec![ended()]).await);
    let admin = world.admin.create_channel().await.unwrap();
    for part in all_parts(&world) {
        if matches!(&part, Part::Binding { queue, .. } if *queue == name.callbacks_in) {
            part.delete(&admin).await.unwrap();
        }
    }
    for foreign in [false, true] {
        let published = match foreign {
            true => notifier.publish_many_foreign(vec![ended()]).await,
            false => notifier.publish_many(vec![ended()]).await,
        };
        let [Published::Failed(error)] = &published[..] else { panic!("{published:?}") };
        assert!(error.is_transient(), "{error}");
    }
    // A queue of somebody else is nobody's to restore.
    let unknown = Message::json("", "nowhere", b"{}".to_vec());
    let published = notifier.publish_many_foreign(vec![unknown]).await;
    assert!(matches!(&published[..], [Published::Unroutable { .. }]), "{published:?}");
    world.broker(Role::Intake).await.close().await;
    all_confirmed(&notifier.publish_many(vec![ended()]).await);
    world.until_waiting(&name.callbacks_in, 2).await;
    world.end(notifier).await;
}

/// A client that awaits each confirm, and asks for nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_no_confirmed_order_is_lost_while_its_exchange_is_deleted_and_declared() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let name = &world.names;
    let client = Connection::connect(&amqp_url(), ConnectionProperties::default()).await.unwrap();
    let (mut confirmed, mut refused) = (0, 0);
    let ways: Vec<Part> = all_parts(&world)
        .into_iter()
        .filter(|part| match part {
            Part::Exchange(exchange) => *exchange == name.orders,
            Part::Binding { exchange, .. } => *exchange == name.orders || *exchange == name.orders_in,
            Part::Queue(_) => false,
        })
        .collect();
    for round in 0..30 {
        let admin = world.admin.create_channel().await.unwrap();
        ways[round % ways.len()].delete(&admin).await.unwrap();
        for _ in 0..20 {
            let channel = client.create_channel().await.unwrap();
            channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
            let sent = async {
                let options = BasicPublishOptions::default();
                let (exchange, key) = (name.orders.as_str().into(), "order.create".into());
                channel.basic_publish(exchange, key, options, b"{}", BasicProperties::default()).await?.await
            };
            match sent.await {
                Ok(Confirmation::Ack(None)) => confirmed += 1,
                Ok(other) => panic!("{other:?}"),
                Err(_) => refused += 1,
            }
        }
        // One that asks the broker's handle restores it at once; at most one way is missing at a time.
        all_confirmed(&broker.publish_many(vec![order(name, round)]).await);
        confirmed += 1;
        let api = BrokerApi::of_run().unwrap();
        until("all ways are there", async || {
            let there = api.parts(&name.prefix).await.unwrap();
            ways.iter().all(|way| there.contains(way))
        })
        .await;
        if round >= 6 && refused > 0 {
            break;
        }
    }
    assert!(refused > 0, "it was never missing: the test shows nothing");
    world.until_waiting(&name.orders_in, confirmed).await;
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_5_a_service_without_the_right_to_declare_works_on_and_tells_what_is_missing() {
    let (world, api) = (World::new().await, BrokerApi::of_run().unwrap());
    world.broker(Role::Intake).await.close().await;
    world.broker(Role::Notifier).await.close().await;
    let dispatcher = world.broker(Role::Dispatcher).await;
    let user = format!("{}-worker", world.names.prefix);
    let hash = password_hash("secret", [1, 2, 3, 4]);
    let shipped = definitions(&world.names.prefix, &Default::default());
    let all = shipped["permissions"].as_array().unwrap();
    let rights = all.iter().find(|one| one["user"] == user.as_str()).unwrap();
    api.put(&format!("users/{user}"), &json!({"password_hash": hash, "tags": ""})).await.unwrap();
    api.put(&format!("permissions/%2F/{user}"), rights).await.unwrap();
    let (_, place) = amqp_url().split_once('@').map(|(_, place)| ((), place.to_owned())).unwrap();
    let config: Config = world.config(&format!("amqp://{user}:secret@{place}"), Role::Worker);
    let worker = Broker::connect(config).unwrap();
    worker.ready(PATIENCE).await.unwrap();
    until("nothing is missing", async || worker.state().is_up()).await;

    dispatcher.close().await;
    let work = Part::Exchange(world.names.work.clone());
    work.delete(&world.admin.create_channel().await.unwrap()).await.unwrap();
    until("it is noticed", async || !worker.state().missing.is_empty()).await;
    let missing = worker.state().missing;
    assert!(missing.len() == 1 && missing[0].starts_with(&work.to_string()), "{missing:?}");
    assert!(missing[0].contains("which the dispatcher declares"), "{missing:?}");
    // Its own work goes on meanwhile, and so it is when it connects.
    let news = Message { mandatory: false, ..Message::json(&world.names.news, "k", b"{}".to_vec()) };
    for _ in 0..20 {
        assert_eq!(worker.publish_many(vec![news.clone()]).await, [Published::Confirmed]);
    }
    assert!(worker.state().publish.is_up() && worker.state().consume.is_up());
    worker.close().await;
    let worker = Broker::connect(world.config(&format!("amqp://{user}:secret@{place}"), Role::Worker));
    let worker = worker.unwrap();
    worker.ready(PATIENCE).await.unwrap();
    until("it is noticed", async || !worker.state().missing.is_empty()).await;

    let dispatcher = world.broker(Role::Dispatcher).await;
    until("nothing is missing", async || worker.state().is_up()).await;
    worker.close().await;
    api.delete(&format!("users/{user}")).await.unwrap();
    world.end(dispatcher).await;
}
