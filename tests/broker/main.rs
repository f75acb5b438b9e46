//! `pagurus-broker` against a real RabbitMQ, under a prefix of its own for each test.
//!
//! Needs `AMQP_URL`. Never touches anything outside its prefixes, and removes them at the end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod consume;
mod foreign;
mod private;
mod proxy;
mod publish;
mod restore;
mod rights;

use std::time::Duration;

use lapin::{
    Connection, ConnectionProperties,
    options::{ExchangeDeleteOptions, QueueDeclareOptions, QueueDeleteOptions},
    types::FieldTable,
};
use pagurus_broker::{
    Broker, Config, ConsumeSpec, Consumer, Delivery, Message, Published, QueueSource, topology::Names,
};
use pagurus_domain::id::Role;

/// Far more than anything here takes; a test that needs it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

fn amqp_url() -> String {
    std::env::var("AMQP_URL")
        .expect("AMQP_URL is not set: these tests need a RabbitMQ; ./dev test starts one")
}

/// A prefix of one test. What stands under it is deleted by [`World::end`].
struct World {
    names: Names,
    admin: Connection,
}

impl World {
    async fn new() -> Self {
        let prefix = format!("t{:016x}", rand::random::<u64>());
        let url = amqp_url();
        let admin = Connection::connect(&url, ConnectionProperties::default()).await;
        Self { names: Names::new(&prefix), admin: admin.expect("RabbitMQ at AMQP_URL") }
    }

    fn config(&self, url: &str, service: Role) -> Config {
        Config::new(url, &self.names.prefix, service, "node-1")
    }

    async fn broker(&self, service: Role) -> Broker {
        let broker = Broker::connect(self.config(&amqp_url(), service)).unwrap();
        broker.ready(PATIENCE).await.unwrap();
        broker
    }

    /// Messages that are ready in the queue of orders.
    async fn waiting(&self, queue: &str) -> u32 {
        let channel = self.admin.create_channel().await.unwrap();
        let passive = QueueDeclareOptions::default().passive();
        let queue = channel.queue_declare(queue.into(), passive, FieldTable::default()).await.unwrap();
        queue.message_count()
    }

    /// Quorum queues publish their count with a delay.
    async fn until_waiting(&self, queue: &str, count: u32) {
        let look = async {
            while self.waiting(queue).await != count {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let message = format!("{count} messages in {queue}");
        tokio::time::timeout(PATIENCE, look).await.expect(&message);
    }

    async fn end(self, broker: Broker) {
        broker.close().await;
        let channel = self.admin.create_channel().await.unwrap();
        let Names {
            orders,
            orders_in,
            callbacks,
            callbacks_in,
            notifications,
            actors,
            refused,
            refused_queue,
            news,
            work,
            ..
        } = self.names;
        for queue in [&orders_in, &callbacks_in, &refused_queue] {
            let options = QueueDeleteOptions::default();
            channel.queue_delete(queue.as_str().into(), options).await.unwrap();
        }
        let inward = [orders, orders_in, callbacks, callbacks_in];
        for exchange in inward.into_iter().chain([notifications, actors, refused, news, work]) {
            let options = ExchangeDeleteOptions::default();
            channel.exchange_delete(exchange.into(), options).await.unwrap();
        }
        self.admin.close(200, "OK".into()).await.unwrap();
    }
}

fn order(names: &Names, number: usize) -> Message {
    let body = format!(r#"{{"id":"{number}"}}"#).into_bytes();
    let mut message = Message::json(&names.orders, "order.create", body);
    message.properties.message_id = Some(format!("m-{number}"));
    message
}

fn orders(names: &Names, count: usize) -> Vec<Message> {
    (0..count).map(|number| order(names, number)).collect()
}

fn consume_orders(broker: &Broker, prefetch: u16) -> Consumer {
    let spec = ConsumeSpec {
        queue: QueueSource::Named(broker.names().orders_in.clone()),
        prefetch,
        ack_on_take: false,
        own_connection: false,
    };
    broker.consume(spec).unwrap()
}

/// Takes until there are `count`, in as many batches as it takes.
async fn take(consumer: &Consumer, count: usize) -> Vec<Delivery> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let batch = tokio::time::timeout(PATIENCE, consumer.next_batch(count - taken.len()));
        taken.extend(batch.await.expect("a delivery"));
    }
    taken
}

fn all_confirmed(results: &[Published]) {
    let other = results.iter().find(|result| **result != Published::Confirmed);
    assert_eq!(other, None);
}
