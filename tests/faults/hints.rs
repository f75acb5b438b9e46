//! Every hint between the services once, twice or three times, at once or later, and so out of its order: the state of
//! the database decides, and never what arrives (rows 37, 38). Orders and callbacks come doubled, too.

use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::world::program::{CallBack, Program, Step};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::installation::{CALL, Installation, PATIENCE};
use crate::load::Load;

/// Header of copies, so that no copy is copied.
const COPY: &str = "x-test-copy";

/// Sends a copy or two of each message of an exchange, within the next two seconds.
async fn copy(amqp: &Amqp, exchange: String, key: &str, seed: u64) -> JoinHandle<()> {
    let channel = amqp.channel().clone();
    let queue = format!("{exchange}.copies");
    let exclusive =
        QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.as_str().into(), exclusive, FieldTable::default()).await.unwrap();
    let options = QueueBindOptions::default();
    let none = FieldTable::default;
    channel
        .queue_bind(queue.as_str().into(), exchange.as_str().into(), key.into(), options, none())
        .await
        .unwrap();
    let consume = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let mut consumer =
        channel.basic_consume(queue.as_str().into(), "".into(), consume, none()).await.unwrap();
    let mut dice = StdRng::seed_from_u64(seed);
    tokio::spawn(async move {
        while let Some(Ok(delivery)) = consumer.next().await {
            let headers = delivery.properties.headers().clone().unwrap_or_default();
            if headers.inner().contains_key(COPY) {
                continue;
            }
            for _ in 0..dice.random_range(1..=2) {
                let mut headers = headers.clone();
                headers.insert(COPY.into(), AMQPValue::Boolean(true));
                let properties = delivery.properties.clone().with_headers(headers);
                let (channel, exchange) = (channel.clone(), exchange.clone());
                let (key, data) = (delivery.routing_key.clone(), delivery.data.clone());
                let pause = Duration::from_millis(dice.random_range(0..2000));
                tokio::spawn(async move {
                    tokio::time::sleep(pause).await;
                    let options = BasicPublishOptions::default();
                    let sent =
                        channel.basic_publish(exchange.as_str().into(), key, options, &data, properties);
                    // The test may be over by then.
                    let _ = sent.await;
                });
            }
        }
    })
}

#[tokio::test]
async fn qlt_5_hints_orders_and_callbacks_that_come_doubled_and_out_of_order_have_one_effect() {
    let engine = Installation::start("doubled_hints", &[("PAGURUS__NODE__LOST_AFTER", "1m")]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let mut ask = Step::answer(202, json!({}));
    ask.callback = Some(CallBack::with(json!({"code": 0})).after(CALL).times(3));
    engine.env.world().program(Program::at("/ask").then(ask));
    let copier = engine.env.amqp().await.unwrap();
    let mut copiers = Vec::new();
    let worker = engine.wait_item("/v1/nodes", |node| node["name"] == "worker-1").await;
    // Hand-outs are addressed to one life of one worker.
    let life = worker["incarnation"].to_string();
    for (seed, (name, key)) in
        [("news", "#"), ("orders", "#"), ("work", life.as_str())].into_iter().enumerate()
    {
        copiers.push(copy(&copier, format!("{}.{name}", engine.env.prefix()), key, seed as u64).await);
    }
    let load = Load::with_naps("doubled", 40);
    load.publish(&amqp).await;
    load.check(&engine, &inbox, PATIENCE).await;
    // The last copies come when all has ended: they must not start anything again.
    tokio::time::sleep(Duration::from_secs(2)).await;
    engine.holds().await;
    for call in ["/do", "/ask"] {
        let calls = engine.env.world().calls(call);
        let mut keys: Vec<_> = calls.iter().map(|call| call.headers["idempotency-key"].clone()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), calls.len(), "{call}: a call was repeated without a fault");
    }
    let metrics = engine.env.http().get(format!("{}/metrics", engine.nodes[0].url())).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let duplicates =
        metrics.lines().find(|line| line.starts_with("pagurus_registrations_total{result=\"duplicate\"}"));
    assert!(
        duplicates.is_some_and(|line| !line.ends_with(" 0")),
        "no order came twice: the test shows nothing"
    );
    copiers.into_iter().for_each(|copier| copier.abort());
}
