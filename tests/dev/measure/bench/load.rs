//! The load: publishes orders with confirms, keeps a bounded number of them in flight, and takes the notifications.
//! Never keeps a table of what it sent: an order carries the time of its sending in its correlation id, and the
//! notification brings it back.

mod publish;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicQosOptions, ConfirmSelectOptions, QueueBindOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ConnectionProperties};
use rand::distr::Alphanumeric;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use publish::Publisher;
pub use publish::publish_confirmed;

/// The size that the reference work gives an order.
pub const BODY_BYTES: usize = 300;
/// Text that fills the bodies up: drawn once, so that making a body costs little, and compressing it gains nothing.
static PADDING: LazyLock<String> = LazyLock::new(|| {
    let random = StdRng::seed_from_u64(1).sample_iter(Alphanumeric);
    random.take(1 << 20).map(char::from).collect()
});
/// Time without any progress after which something must be broken.
const STALLED: Duration = Duration::from_secs(30);

/// Ways of orders and of notifications.
#[derive(Clone, Debug)]
pub struct Route {
    /// Exchange of the orders.
    pub exchange: &'static str,
    /// Routing key of the orders.
    pub key: &'static str,
    /// Target of the notifications.
    pub notify: &'static str,
    /// Exchange from which notifications come, and their key; `None` where they are sent to the queue itself.
    pub notifications: Option<(&'static str, &'static str)>,
    /// The queue of notifications, made for this load.
    pub queue: &'static str,
}

/// Kind of the orders.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// Scenario of the orders.
    pub scenario: &'static str,
    /// Number of queues, with one order after the other in each; `None` for parallel orders.
    pub queues: Option<u64>,
    /// Size of the body of an order, a megabyte at most.
    pub bytes: usize,
    /// True if many orders go in one message, and ask for their ends in groups.
    pub grouped: bool,
}

/// Density of the load.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Orders in flight at most.
    pub in_flight: usize,
    /// Orders a second, which come by chance and wait for none before them; `None` for as many as there is room for.
    pub pace: Option<f64>,
}

/// The body of an order of its size; with the URL and the mark of its notification, where it wants one.
pub fn body(tag: &str, number: u64, orders: Orders, notify: Option<(&str, &str)>) -> String {
    let mut text = format!(r#"{{"id":"{tag}-{number:08}","scenario":"{}""#, orders.scenario);
    if let Some(queues) = orders.queues {
        text.push_str(&format!(r#","mode":"sequential","queue":"bench-{}""#, number % queues));
    }
    if let Some((url, correlation)) = notify {
        let group = if orders.grouped { r#","group":{}"# } else { "" };
        text.push_str(&format!(r#","notify":{{"url":"{url}","correlationId":"{correlation}"{group}}}"#));
    }
    text.push_str(r#","params":{"account":"79110000001","tariff":"light","note":""#);
    let padding = orders.bytes.saturating_sub(text.len() + 3).min(PADDING.len());
    // Another part of the text for each order.
    let first = number as usize * 4099 % (PADDING.len() - padding + 1);
    text.push_str(&PADDING[first..first + padding]);
    text.push_str(r#""}}"#);
    text
}

/// Times from publishing to notification.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<u32>);

impl Latencies {
    /// Sorts times given in microseconds.
    pub fn of(mut microseconds: Vec<u32>) -> Self {
        microseconds.sort_unstable();
        Self(microseconds)
    }

    /// The time that this share of the orders stays within, in milliseconds.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        let index = (last as f64 * share).round() as usize;
        self.0.get(index).map(|&microseconds| f64::from(microseconds) / 1000.0)
    }
}

/// A running load.
#[derive(Debug)]
pub struct Generator {
    shared: Arc<Shared>,
    queue: &'static str,
    channel: Channel,
    // Held because the connection closes with its last handle.
    _connection: Connection,
    publisher: JoinHandle<Result<()>>,
    receiver: JoinHandle<Result<()>>,
}

#[derive(Debug)]
struct Shared {
    epoch: Instant,
    tag: String,
    room: Semaphore,
    sent: AtomicU64,
    received: AtomicU64,
    repeated: AtomicU64,
    latencies: Mutex<Vec<u32>>,
    stop: CancellationToken,
}

impl Generator {
    /// Makes the queue of notifications and begins to publish.
    pub async fn start(amqp_url: &str, route: Route, orders: Orders, flow: Flow) -> Result<Self> {
        let connection = Connection::connect(amqp_url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        let consumer = listen(&channel, &route).await?;
        let publishing = connection.create_channel().await?;
        publishing.confirm_select(ConfirmSelectOptions::default()).await?;
        let shared = Arc::new(Shared {
            epoch: Instant::now(),
            tag: uuid::Uuid::new_v4().simple().to_string()[..8].to_owned(),
            room: Semaphore::new(flow.in_flight),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            latencies: Mutex::default(),
            stop: CancellationToken::new(),
        });
        let queue = route.queue;
        let receiver = tokio::spawn(receive(Arc::clone(&shared), consumer));
        let publisher = Publisher { shared: Arc::clone(&shared), channel: publishing, route, orders };
        let publisher = tokio::spawn(publisher.run(flow.pace));
        Ok(Self { shared, queue, channel, _connection: connection, publisher, receiver })
    }

    /// Notifications so far, each order once.
    pub fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// Forgets the times measured so far and returns them.
    pub fn take_latencies(&self) -> Latencies {
        Latencies::of(std::mem::take(&mut *lock(&self.shared.latencies)))
    }

    /// Waits until this number of notifications has come in all, or the time is over.
    ///
    /// # Errors
    /// Nothing came for a long time.
    pub async fn wait_received(&self, count: u64, until: Option<Instant>) -> Result<()> {
        let (mut last, mut at) = (self.received(), Instant::now());
        loop {
            let now = self.received();
            if now >= count || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(());
            }
            if now > last {
                (last, at) = (now, Instant::now());
            }
            let publishing = !self.publisher.is_finished() || self.shared.stop.is_cancelled();
            if !publishing || self.receiver.is_finished() {
                bail!("the load broke off");
            }
            if at.elapsed() > STALLED {
                let sent = self.shared.sent.load(Ordering::Relaxed);
                bail!("no notification for {STALLED:?}: {sent} orders sent, {now} notified");
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Publishes no more, waits for what is in flight, and removes the queue of notifications. How many orders were
    /// sent in all, and how many notifications came more than once.
    ///
    /// # Errors
    /// Publishing or receiving had failed, or an order was never notified.
    pub async fn finish(self) -> Result<(u64, u64)> {
        self.shared.stop.cancel();
        let sent = loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if self.publisher.is_finished() {
                break self.shared.sent.load(Ordering::Relaxed);
            }
        };
        self.wait_received(sent, None).await.context("not all orders were notified")?;
        self.publisher.await??;
        self.receiver.abort();
        self.channel.queue_delete(self.queue.into(), QueueDeleteOptions::default()).await?;
        Ok((sent, self.shared.repeated.load(Ordering::Relaxed)))
    }
}

/// A durable queue as a careful client has it: a notification is safe before it is acknowledged.
async fn listen(channel: &Channel, route: &Route) -> Result<lapin::Consumer> {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_delete(route.queue.into(), QueueDeleteOptions::default()).await?;
    channel.queue_declare(route.queue.into(), options, arguments).await?;
    if let Some((exchange, key)) = route.notifications {
        let none = FieldTable::default();
        let bind = QueueBindOptions::default();
        channel.queue_bind(route.queue.into(), exchange.into(), key.into(), bind, none).await?;
    }
    channel.basic_qos(2000, BasicQosOptions::default()).await?;
    let consume = BasicConsumeOptions::default();
    Ok(channel.basic_consume(route.queue.into(), "".into(), consume, FieldTable::default()).await?)
}

async fn receive(shared: Arc<Shared>, consumer: lapin::Consumer) -> Result<()> {
    let mut seen = HashSet::new();
    let mut batches = consumer.ready_chunks(500);
    while let Some(batch) = batches.next().await {
        let batch = batch.into_iter().collect::<lapin::Result<Vec<Delivery>>>()?;
        let Some(last) = batch.last() else { continue };
        let fresh = note(&shared, &mut seen, &batch);
        shared.received.fetch_add(fresh, Ordering::Relaxed);
        shared.room.add_permits(usize::try_from(fresh)?);
        last.acker.ack(BasicAckOptions { multiple: true }).await?;
    }
    bail!("the consumer of notifications has ended")
}

/// Takes the times of a batch; how many of its orders had not been notified before.
fn note(shared: &Shared, seen: &mut HashSet<u64>, batch: &[Delivery]) -> u64 {
    let now = shared.epoch.elapsed().as_micros();
    let mut fresh = 0;
    let mut latencies = lock(&shared.latencies);
    // A notification without a mark of ours is of an order that somebody else has sent.
    for (number, at) in batch.iter().flat_map(marks) {
        if seen.insert(number) {
            fresh += 1;
            latencies.push(u32::try_from(now.saturating_sub(at)).unwrap_or(u32::MAX));
        } else {
            shared.repeated.fetch_add(1, Ordering::Relaxed);
        }
    }
    fresh
}

/// A notification in a group, as far as the load reads it.
#[derive(Deserialize)]
struct Grouped {
    body: Ended,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    correlation_id: String,
}

/// Numbers and sending times of the orders of which a message tells.
fn marks(delivery: &Delivery) -> Vec<(u64, u128)> {
    if let Some(correlation) = delivery.properties.correlation_id() {
        return mark(correlation.as_str()).into_iter().collect();
    }
    let group: Vec<Grouped> = serde_json::from_slice(&delivery.data).unwrap_or_default();
    group.iter().filter_map(|one| mark(&one.body.correlation_id)).collect()
}

/// Number and sending time of an order, from its correlation id.
fn mark(correlation: &str) -> Option<(u64, u128)> {
    let (number, at) = correlation.split_once('-')?;
    Some((number.parse().ok()?, at.parse().ok()?))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn an_order_has_its_size_and_is_json() {
        for (queues, mark, bytes) in
            [(None, None, BODY_BYTES), (Some(7), Some("12-34"), BODY_BYTES), (None, Some("1-1"), 100_000)]
        {
            let notify = mark.map(|mark| ("amqp://?key=bench", mark));
            let text = body("abc", 12, Orders { scenario: "one", queues, bytes, grouped: false }, notify);
            assert_eq!(text.len(), bytes);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["id"], "abc-00000012");
            assert_eq!(value["queue"].as_str(), queues.map(|_| "bench-5"));
        }
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let latencies = Latencies::of((1..=101).rev().map(|milliseconds| milliseconds * 1000).collect());
        assert_eq!((latencies.percentile(0.5), latencies.percentile(0.99)), (Some(51.0), Some(100.0)));
        assert_eq!(Latencies::default().percentile(0.5), None);
    }

    #[test]
    fn a_mark_is_number_and_time() {
        assert_eq!(mark("12-345"), Some((12, 345)));
        assert_eq!(mark("12"), None);
    }
}
