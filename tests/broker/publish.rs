//! Publishing: confirms, what cannot be routed, and what one bad message does to others.

use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueDeclareOptions};
use pagurus_broker::{Broker, Config, Error, LinkState, Message, Published};
use pagurus_domain::id::Role;

use crate::{PATIENCE, World, all_confirmed, amqp_url, order, orders, proxy::Proxy};

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_every_message_has_its_confirm() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let results = broker.publish_many(orders(&world.names, 2500)).await;
    assert_eq!(results.len(), 2500);
    all_confirmed(&results);
    world.until_waiting(&world.names.orders_in, 2500).await;
    assert!(broker.publish_many(Vec::new()).await.is_empty());
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_what_no_queue_takes_is_said_of_the_right_message() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let mut messages = orders(&world.names, 900);
    for message in messages.iter_mut().step_by(3) {
        // Receipts to a queue that is gone.
        message.exchange = String::new();
        message.key = format!("{}.reply.gone", world.names.prefix);
    }
    for _ in 0..5 {
        let results = broker.publish_many(messages.clone()).await;
        for (number, result) in results.iter().enumerate() {
            match result {
                Published::Unroutable { code: 312, .. } => assert_eq!(number % 3, 0, "{number}"),
                Published::Confirmed => assert_ne!(number % 3, 0, "{number}"),
                other => panic!("{number}: {other:?}"),
            }
        }
    }
    messages[0].mandatory = false;
    let results = broker.publish_many(vec![messages[0].clone()]).await;
    assert_eq!(results, [Published::Confirmed]);
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_a_bad_message_fails_alone() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let mut messages = orders(&world.names, 300);
    messages[7].exchange = "no.such.exchange".to_owned();
    messages[8].exchange = "nor.this".to_owned();
    messages[200].exchange = "no.such.exchange".to_owned();
    messages[9].properties.message_id = Some("x".repeat(256));
    let results = broker.publish_many_foreign(messages).await;
    let missing = |name: &str| Published::Failed(Error::MissingExchange(name.to_owned()));
    for (number, result) in results.iter().enumerate() {
        match number {
            7 | 200 => assert_eq!(*result, missing("no.such.exchange")),
            8 => assert_eq!(*result, missing("nor.this")),
            9 => assert!(matches!(
                result,
                Published::Failed(Error::InvalidName { field: "message_id", bytes: 256, .. })
            )),
            _ => assert_eq!(*result, Published::Confirmed, "{number}"),
        }
    }
    // And the engine's own channel never noticed.
    all_confirmed(&broker.publish_many(orders(&world.names, 10)).await);
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_the_engines_channel_comes_back_after_a_missing_exchange() {
    let world = World::new().await;
    let broker = world.broker(Role::Notifier).await;
    let mut messages = orders(&world.names, 3);
    messages[1].exchange = "no.such.exchange".to_owned();
    let results = broker.publish_many(messages).await;
    let missing = Error::MissingExchange("no.such.exchange".to_owned());
    assert_eq!(results[1], Published::Failed(missing));
    assert!(matches!(&results[2], Published::Failed(error) if error.is_transient()));
    all_confirmed(&broker.publish_many(orders(&world.names, 3)).await);
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_a_full_queue_is_a_refusal_not_a_success() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let name = format!("{}.private.full", world.names.prefix);
    let channel = world.admin.create_channel().await.unwrap();
    let mut arguments = lapin::types::FieldTable::default();
    arguments.insert("x-max-length".into(), 1_i32.into());
    let overflow = lapin::types::AMQPValue::LongString("reject-publish".into());
    arguments.insert("x-overflow".into(), overflow);
    let options = QueueDeclareOptions::exclusive();
    channel.queue_declare(name.as_str().into(), options, arguments).await.unwrap();
    let messages = vec![Message::json("", &name, b"{}".to_vec()); 20];
    let results = broker.publish_many_foreign(messages).await;
    let refused = results.iter().filter(|result| **result == Published::Failed(Error::NotTaken));
    assert!(refused.count() >= 15, "{results:?}");
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_publishing_resumes_after_a_cut() {
    let world = World::new().await;
    let (proxy, url) = Proxy::start(&amqp_url()).await;
    let broker = Broker::connect(world.config(&url, Role::Intake)).unwrap();
    broker.ready(PATIENCE).await.unwrap();
    for _ in 0..5 {
        proxy.cut().await;
        let mut left = orders(&world.names, 200);
        let publish = async {
            while !left.is_empty() {
                let results = broker.publish_many(left.clone()).await;
                let mut results = results.into_iter();
                left.retain(|_| results.next() != Some(Published::Confirmed));
            }
        };
        tokio::time::timeout(PATIENCE, publish).await.unwrap();
    }
    assert!(broker.state().publish.is_up());
    let deadline = std::time::Instant::now() + PATIENCE;
    while world.waiting(&world.names.orders_in).await < 1000 {
        assert!(std::time::Instant::now() < deadline, "what was confirmed is not there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!proxy.address.is_empty());
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_without_a_broker_nothing_hangs_and_the_state_says_why() {
    // A listener that accepts and never answers: the worst kind of broker.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqp://u:secret@{}/%2f", silent.local_addr().unwrap());
    let mut config = Config::new(url, "t", Role::Worker, "n");
    config.connect_timeout = Duration::from_millis(300);
    let broker = Broker::connect(config).unwrap();
    let message = Message::json("t.news", "k", Vec::new());
    let results = broker.publish_many(vec![message.clone(); 2]).await;
    assert_eq!(results.len(), 2);
    assert!(matches!(&results[1], Published::Failed(Error::Down(_))));
    assert!(broker.publish_transient(vec![message]).await.is_err());
    let reason = broker.ready(Duration::from_secs(2)).await.unwrap_err();
    assert!(reason.to_string().contains("300ms"), "{reason}");
    assert!(matches!(broker.state().consume, LinkState::Down(_)));
    assert!(!broker.state().is_up());
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_5_declaring_is_idempotent_and_tolerates_what_is_there() {
    let world = World::new().await;
    let channel = world.admin.create_channel().await.unwrap();
    // Another kind than ours, as an older version might have left it.
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel
        .exchange_declare(
            world.names.orders.as_str().into(),
            lapin::ExchangeKind::Fanout,
            options,
            lapin::types::FieldTable::default(),
        )
        .await
        .unwrap();
    let first = world.broker(Role::Worker).await;
    let second = world.broker(Role::Intake).await;
    all_confirmed(&second.publish_many(vec![order(&world.names, 1)]).await);
    first.close().await;
    world.end(second).await;
}
