//! Consuming: acknowledgements, putting back, pausing, cuts, news, and refused messages.

use std::time::Duration;

use pagurus_broker::{
    Acknowledged, Broker, ConsumeSpec, Delivery, DeliveryTag, HeaderValue, Message, QueueSource,
    headers_to_json, refused::refused_message,
};
use pagurus_domain::id::Role;

use crate::{PATIENCE, World, all_confirmed, amqp_url, consume_orders, order, orders, proxy::Proxy, take};

fn tags(deliveries: &[Delivery]) -> Vec<DeliveryTag> {
    deliveries.iter().map(|delivery| delivery.tag).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_acknowledged_messages_are_gone_and_others_come_again() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    all_confirmed(&broker.publish_many(orders(&world.names, 100)).await);
    let consumer = consume_orders(&broker, 200);
    let taken = take(&consumer, 100).await;
    assert!(taken.iter().all(|delivery| !delivery.redelivered));
    assert_eq!(taken[3].properties.message_id.as_deref(), Some("m-3"));
    assert_eq!(taken[3].routing_key, "order.create");
    // A prefix, then scattered ones, then again the same.
    let tags = tags(&taken);
    let sent = |sent, stale| Acknowledged { sent, stale };
    assert_eq!(consumer.ack_many(&tags[..50]).await, sent(50, 0));
    let scattered: Vec<_> = tags[50..].iter().copied().step_by(2).collect();
    assert_eq!(consumer.ack_many(&scattered).await, sent(25, 0));
    assert_eq!(consumer.ack_many(&tags[..50]).await, sent(0, 50));
    let rest: Vec<_> = tags[51..].iter().copied().step_by(2).collect();
    assert_eq!(consumer.put_back(&rest).await, sent(25, 0));
    let again = take(&consumer, 25).await;
    assert!(again.iter().all(|delivery| delivery.redelivered));
    let last: Vec<_> = again.iter().map(|delivery| delivery.tag).collect();
    assert_eq!(consumer.ack_many(&last).await, sent(25, 0));
    drop(consumer);
    world.until_waiting(&world.names.orders_in, 0).await;
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_a_pause_gives_everything_back_and_a_resume_takes_it_again() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    all_confirmed(&broker.publish_many(orders(&world.names, 60)).await);
    let consumer = consume_orders(&broker, 40);
    let held = take(&consumer, 10).await;
    consumer.pause().await;
    consumer.pause().await;
    assert!(!consumer.is_consuming());
    world.until_waiting(&world.names.orders_in, 60).await;
    let nothing = tokio::time::timeout(Duration::from_millis(300), consumer.next_batch(100));
    assert!(nothing.await.is_err(), "a paused consumer delivers nothing");
    let late = consumer.ack_many(&tags(&held)).await;
    assert_eq!(late, Acknowledged { sent: 0, stale: 10 });
    assert_eq!(consumer.stale_acknowledgements(), 10);
    for _ in 0..20 {
        consumer.resume();
        consumer.pause().await;
    }
    consumer.resume();
    let mut numbers = std::collections::BTreeSet::new();
    while numbers.len() < 60 {
        for delivery in take(&consumer, 1).await {
            numbers.insert(delivery.properties.message_id.clone());
            let acknowledged = consumer.ack_many(&[delivery.tag]).await;
            assert_eq!(acknowledged, Acknowledged { sent: 1, stale: 0 });
        }
    }
    drop(consumer);
    world.until_waiting(&world.names.orders_in, 0).await;
    world.end(broker).await;
}

// AMQP-1: a caller that goes away at once, as a request whose client hangs up, leaves nothing behind at the broker.
#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_a_consumer_that_is_given_up_while_it_opens_keeps_no_message() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    all_confirmed(&broker.publish_many(orders(&world.names, 20)).await);
    for tenths in 0..150_u64 {
        let consumer = consume_orders(&broker, 10);
        // From before its channel is there to after its first messages have come.
        tokio::time::sleep(Duration::from_micros(100 * tenths)).await;
        drop(consumer);
    }
    world.until_waiting(&world.names.orders_in, 20).await;
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_a_consumer_survives_cuts_and_loses_nothing() {
    let world = World::new().await;
    let (proxy, url) = Proxy::start(&amqp_url()).await;
    let broker = Broker::connect(world.config(&url, Role::Intake)).unwrap();
    broker.ready(PATIENCE).await.unwrap();
    all_confirmed(&broker.publish_many(orders(&world.names, 500)).await);
    let consumer = consume_orders(&broker, 50);
    let held = take(&consumer, 20).await;
    proxy.cut().await;
    let mut seen = std::collections::BTreeSet::new();
    let mut redelivered = 0;
    while seen.len() < 500 {
        let batch = take(&consumer, 1).await;
        if batch[0].tag.generation == held[0].tag.generation {
            continue;
        }
        for delivery in &batch {
            redelivered += usize::from(delivery.redelivered);
            seen.insert(delivery.properties.message_id.clone());
        }
        consumer.ack_many(&tags(&batch)).await;
        if seen.len() == 250 {
            proxy.cut().await;
        }
    }
    assert!(redelivered >= 20, "{redelivered}");
    let late = consumer.ack_many(&tags(&held)).await;
    assert_eq!(late, Acknowledged { sent: 0, stale: 20 });
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_2_a_deleted_queue_is_made_again_with_the_next_connection() {
    let world = World::new().await;
    let (proxy, url) = Proxy::start(&amqp_url()).await;
    let broker = Broker::connect(world.config(&url, Role::Intake)).unwrap();
    broker.ready(PATIENCE).await.unwrap();
    let consumer = consume_orders(&broker, 50);
    let channel = world.admin.create_channel().await.unwrap();
    let options = lapin::options::QueueDeleteOptions::default();
    let queue = world.names.orders_in.as_str();
    channel.queue_delete(queue.into(), options).await.unwrap();
    proxy.cut().await;
    let publish = async {
        loop {
            let results = broker.publish_many(vec![order(&world.names, 1)]).await;
            if results == [pagurus_broker::Published::Confirmed] {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, publish).await.unwrap();
    assert_eq!(take(&consumer, 1).await.len(), 1);
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_news_reach_a_private_queue_also_after_a_cut() {
    let world = World::new().await;
    let (proxy, url) = Proxy::start(&amqp_url()).await;
    let broker = Broker::connect(world.config(&url, Role::Dispatcher)).unwrap();
    broker.ready(PATIENCE).await.unwrap();
    let spec = ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: "node-1".to_owned(),
            bindings: vec![(world.names.news.clone(), "order.#".to_owned())],
            max_length: 10_000,
        },
        prefetch: 100,
        ack_on_take: true,
        own_connection: false,
    };
    let consumer = broker.consume(spec).unwrap();
    let news =
        |key: &str| Message { exchange: world.names.news.clone(), key: key.to_owned(), ..Message::default() };
    for round in 0..3 {
        let key = format!("order.{round}");
        // Before the queue is bound, news go nowhere, as they may.
        let heard = async {
            loop {
                let _ = broker.publish_transient(vec![news(&key); 3]).await;
                let next = consumer.next_batch(1000);
                let batch = tokio::time::timeout(Duration::from_millis(200), next).await;
                let batch = batch.unwrap_or_default();
                if batch.iter().any(|delivery| delivery.routing_key == key) {
                    break;
                }
            }
        };
        tokio::time::timeout(PATIENCE, heard).await.unwrap();
        if round < 2 {
            proxy.cut().await;
        }
    }
    // More than the prefetch: what is taken is acknowledged.
    let flood = vec![news("order.flood"); 1000];
    // The way out may hear of the cut only now.
    let published = async { while broker.publish_transient(flood.clone()).await.is_err() {} };
    tokio::time::timeout(PATIENCE, published).await.unwrap();
    assert!(take(&consumer, 1000).await.len() >= 1000);
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amqp_1_a_refused_message_keeps_its_body_and_its_properties_as_data() {
    let world = World::new().await;
    let broker = world.broker(Role::Intake).await;
    let mut poison = order(&world.names, 1);
    poison.body = vec![0xff, 0x00, 0xfe];
    poison.properties.headers = vec![
        ("CC".to_owned(), HeaderValue::List(vec!["elsewhere".into()])),
        ("long".to_owned(), "x".repeat(20_000).into()),
    ];
    all_confirmed(&broker.publish_many(vec![poison.clone()]).await);
    let consumer = consume_orders(&broker, 10);
    let taken = take(&consumer, 1).await;
    let refused = refused_message(broker.names(), &taken[0], "not JSON", "2026-01-01T00:00:00Z");
    all_confirmed(&broker.publish_many(vec![refused]).await);
    consumer.ack_many(&tags(&taken)).await;

    let spec = ConsumeSpec {
        queue: QueueSource::Named(world.names.refused_queue.clone()),
        prefetch: 10,
        ack_on_take: false,
        own_connection: false,
    };
    let kept = take(&broker.consume(spec).unwrap(), 1).await;
    assert_eq!(kept[0].body, poison.body);
    assert!(kept[0].properties.persistent);
    let headers = headers_to_json(&kept[0].properties.headers);
    assert_eq!(headers["refused-reason"], "not JSON");
    assert_eq!(headers["refused-key"], "order.create");
    assert_eq!(headers["x-orig-message-id"], "m-1");
    let original: serde_json::Value =
        serde_json::from_str(headers["x-orig-headers"].as_str().unwrap()).unwrap();
    assert_eq!(original["CC"][0], "elsewhere");
    assert_eq!(original["long"].as_str().unwrap().len(), 20_000);
    world.end(broker).await;
}
