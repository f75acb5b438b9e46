//! Private queues of news: bound again while they are consumed; and the shared queue that earlier versions had in their place.

use std::collections::BTreeSet;
use std::time::Duration;

use lapin::BasicProperties;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicPublishOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use pagurus_broker::{Broker, Config, ConsumeSpec, Consumer, LocalConsumers, Message, QueueSource};
use pagurus_domain::id::Role;

use crate::{PATIENCE, World, amqp_url, proxy::Proxy};

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_a_private_queue_is_bound_again_while_it_is_consumed_and_stays_so_after_a_cut() {
    let world = World::new().await;
    let (proxy, url) = Proxy::start(&amqp_url()).await;
    let broker = Broker::connect(world.config(&url, Role::Notifier)).unwrap();
    broker.ready(PATIENCE).await.unwrap();
    let by = |keys: &[&str]| keys.iter().map(|key| (world.names.news.clone(), (*key).to_owned())).collect();
    let spec = ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: "node-1".to_owned(),
            bindings: by(&["outbox.0", "outbox.1"]),
            max_length: 100,
        },
        prefetch: 100,
        ack_on_take: true,
        own_connection: false,
    };
    let consumer = broker.consume(spec).unwrap();
    hears(&broker, &consumer, &["outbox.0", "outbox.1"]).await;
    consumer.bind_only(by(&["outbox.1", "outbox.2"])).unwrap();
    hears(&broker, &consumer, &["outbox.1", "outbox.2"]).await;
    proxy.cut().await;
    hears(&broker, &consumer, &["outbox.1", "outbox.2"]).await;
    assert!(consumer.bind_only(by(&["k".repeat(300).as_str()])).is_err());
    world.end(broker).await;
}

/// Waits, with the patience of the tests, until exactly these of three keys arrive.
async fn hears(broker: &Broker, consumer: &Consumer, wanted: &[&str]) {
    let wanted: BTreeSet<String> = wanted.iter().map(|key| (*key).to_owned()).collect();
    let news = |key: &str| Message {
        exchange: broker.names().news.clone(),
        key: key.to_owned(),
        ..Message::default()
    };
    let heard = async {
        loop {
            // One that arrives after all others of its round shows that these are there.
            let _ = broker.publish_transient(["outbox.0", "outbox.1", "outbox.2"].map(news).into()).await;
            let mut keys = BTreeSet::new();
            while let Ok(batch) =
                tokio::time::timeout(Duration::from_millis(300), consumer.next_batch(100)).await
            {
                keys.extend(batch.into_iter().map(|delivery| delivery.routing_key));
            }
            if keys == wanted {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_the_shared_queue_of_hints_of_an_earlier_version_is_deleted_once_nobody_uses_it() {
    let world = World::new().await;
    let former = format!("{}.outbox", world.names.prefix);
    let channel = world.admin.create_channel().await.unwrap();
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongLongInt(10_000));
    channel.queue_declare(former.as_str().into(), QueueDeclareOptions::durable(), arguments).await.unwrap();
    let consume = channel.basic_consume(
        former.as_str().into(),
        "old".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    );
    let old = consume.await.unwrap();
    // A notifier of the earlier version takes from it: it stays, and is in nobody's way.
    let broker = world.broker(Role::Notifier).await;
    assert_eq!(broker.depth_of(&former, PATIENCE).await.unwrap(), Some((0, 1)));
    broker.close().await;
    channel.basic_cancel("old".into(), BasicCancelOptions::default()).await.unwrap();
    drop(old);
    // What it holds are hints: it goes with them.
    let properties = BasicProperties::default();
    channel
        .basic_publish("".into(), former.as_str().into(), BasicPublishOptions::default(), b"{}", properties)
        .await
        .unwrap();
    let other = world.broker(Role::Worker).await;
    assert!(other.depth_of(&former, PATIENCE).await.unwrap().is_some(), "only its owner deletes it");
    other.close().await;
    let broker = world.broker(Role::Notifier).await;
    assert_eq!(broker.depth_of(&former, PATIENCE).await.unwrap(), None);
    world.end(broker).await;
}

/// Messages between services of one process, over the broker's queues or past them.
#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_services_of_one_process_hear_each_other_once_and_others_as_well() {
    let world = World::new().await;
    let local = LocalConsumers::default();
    let of_process = |service| {
        let config = Config { local: Some(local.clone()), ..world.config(&amqp_url(), service) };
        Broker::connect(config).unwrap()
    };
    let (sender, hearer, elsewhere) =
        (of_process(Role::Worker), of_process(Role::Dispatcher), world.broker(Role::Dispatcher).await);
    for broker in [&sender, &hearer] {
        broker.ready(PATIENCE).await.unwrap();
    }
    let spec = |key: &str| ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: "node-1".to_owned(),
            bindings: vec![
                (world.names.news.clone(), "all".to_owned()),
                (world.names.work.clone(), key.to_owned()),
            ],
            max_length: 5000,
        },
        prefetch: 1000,
        ack_on_take: true,
        own_connection: false,
    };
    let (near, far) = (hearer.consume(spec("near")).unwrap(), elsewhere.consume(spec("far")).unwrap());
    for consumer in [&near, &far] {
        while !consumer.is_consuming() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let message = |exchange: &str, key: &str, number: usize, to_one| Message {
        exchange: exchange.to_owned(),
        key: key.to_owned(),
        body: number.to_string().into_bytes(),
        to_one,
        ..Message::default()
    };
    // Many more than the broker sends without an acknowledgement.
    for number in 0..3000 {
        let all = message(&world.names.news, "all", number, false);
        let one = ["near", "far"].map(|key| message(&world.names.work, key, number, true));
        sender.publish_transient([vec![all], one.into()].concat()).await.unwrap();
        for (consumer, own) in [(&near, "near"), (&far, "far")] {
            let mut heard = Vec::new();
            while heard.len() < 2 {
                let batch = tokio::time::timeout(PATIENCE, consumer.next_batch(1000)).await.unwrap();
                heard.extend(batch.into_iter().map(|one| (one.routing_key, one.body)));
            }
            heard.sort();
            let body = number.to_string().into_bytes();
            let mut expected = vec![("all".to_owned(), body.clone()), (own.to_owned(), body)];
            expected.sort();
            assert_eq!(heard, expected, "once each");
        }
    }
    // A queue that is not consumed hears neither way, and the sender goes on.
    drop(near);
    drop(hearer);
    sender.publish_transient(vec![message(&world.names.work, "near", 0, true)]).await.unwrap();
    sender.close().await;
    world.end(elsewhere).await;
}
