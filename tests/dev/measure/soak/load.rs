//! The load of a soak: orders at a steady rate over both transports, some of them twice and some of them changed, and a
//! listener for their notifications. Never waits for the engine before the next order is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures_util::StreamExt;
use lapin::BasicProperties;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use pagurus_harness::client::Api;
use pagurus_harness::client::amqp::Amqp;
use serde_json::{Value, json};

use super::ground::Ground;
use super::kinds::Kind;
use super::ledger::Ledger;
use super::verdict::Violation;
use super::{Task, task};

/// Interval at which orders that are due are sent.
const TURN: Duration = Duration::from_millis(250);
/// Number of orders among which one is sent twice, over both transports.
const TWICE: u64 = 15;
/// Number of orders among which one is sent again with other parameters.
const CHANGED: u64 = 50;
const PAUSE: Duration = Duration::from_millis(300);
const QUEUE: &str = "soak-notifications";

/// A load under way.
pub struct Load {
    sender: Task<u64>,
    over: Arc<AtomicBool>,
    transports: Arc<Transports>,
    _listener: Task<()>,
}

struct Transports {
    apis: Vec<Api>,
    amqp_url: String,
    prefix: String,
    ledger: Arc<Ledger>,
    under_way: AtomicU64,
    wrongly_taken: AtomicU64,
}

impl Load {
    /// Begins to send and to listen.
    pub async fn start(ground: &Ground, ledger: Arc<Ledger>, rate: f64) -> Result<Self> {
        let transports = Arc::new(Transports {
            apis: ground.apis(),
            amqp_url: ground.rabbit.url(),
            prefix: ground.env().prefix().to_owned(),
            ledger,
            under_way: AtomicU64::new(0),
            wrongly_taken: AtomicU64::new(0),
        });
        // The first notification must find its queue.
        let amqp = transports.connect().await?;
        declare(&amqp, &transports.prefix).await?;
        let over = Arc::new(AtomicBool::new(false));
        let listener = task(listen(Arc::clone(&transports)));
        let sender = task(send(Arc::clone(&transports), rate, Arc::clone(&over)));
        Ok(Self { sender, over, transports, _listener: listener })
    }

    /// Sends nothing new, waits until all that was sent is confirmed, and leaves the listener at work.
    pub async fn stop(&self, within: Duration) -> Result<Vec<Violation>> {
        self.over.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + within;
        while !self.sender.is_finished() || self.transports.under_way.load(Ordering::SeqCst) > 0 {
            if Instant::now() > deadline {
                let left = self.transports.under_way.load(Ordering::SeqCst);
                return Ok(vec![Violation::of("not confirmed", left, format!("after {within:?} of calm"))]);
            }
            tokio::time::sleep(PAUSE).await;
        }
        let wrong = self.transports.wrongly_taken.load(Ordering::SeqCst);
        Ok(vec![Violation::of("taken with other content under the same id", wrong, "INV-4".to_owned())])
    }
}

async fn send(transports: Arc<Transports>, rate: f64, over: Arc<AtomicBool>) -> u64 {
    let (begun, mut number) = (Instant::now(), 0);
    while !over.load(Ordering::SeqCst) {
        let due = (begun.elapsed().as_secs_f64() * rate) as u64;
        let batch: Vec<u64> = (number..due).collect();
        number = due.max(number);
        let (api, amqp): (Vec<u64>, Vec<u64>) = batch.into_iter().partition(|number| number % 2 == 0);
        for number in api {
            transports.spawn(move |transports| async move { transports.by_http(number).await });
        }
        if !amqp.is_empty() {
            transports.spawn(move |transports| async move { transports.by_amqp(&amqp).await });
        }
        tokio::time::sleep(TURN).await;
    }
    number
}

impl Transports {
    fn spawn<F: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> F + Send + 'static,
    ) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let transports = Arc::clone(self);
        tokio::spawn(async move {
            work(Arc::clone(&transports)).await;
            transports.under_way.fetch_sub(1, Ordering::SeqCst);
        });
    }

    async fn connect(&self) -> Result<Amqp> {
        Amqp::connect(&self.amqp_url, &self.prefix).await
    }

    fn order(&self, number: u64) -> Value {
        let (id, kind) = (format!("o-{number:08}"), Kind::of(number));
        self.ledger.send(&id, kind);
        kind.order(&id, number)
    }

    /// Sends an order over HTTP until it is taken.
    async fn by_http(&self, number: u64) {
        let order = self.order(number);
        self.post(&order, number as usize).await;
        if number.is_multiple_of(TWICE) {
            self.publish(std::slice::from_ref(&order)).await;
        }
        if number.is_multiple_of(CHANGED) {
            self.change(order, number as usize).await;
        }
    }

    /// Sends orders over AMQP until the broker has them.
    async fn by_amqp(&self, numbers: &[u64]) {
        let orders: Vec<Value> = numbers.iter().map(|number| self.order(*number)).collect();
        self.publish(&orders).await;
        for (number, order) in numbers.iter().zip(&orders).filter(|(number, _)| *number % TWICE == 0) {
            self.post(order, *number as usize).await;
        }
    }

    async fn publish(&self, orders: &[Value]) {
        loop {
            let sent = async {
                let amqp = self.connect().await?;
                amqp.publish_orders("order.create", orders, &BasicProperties::default()).await
            };
            // A broker under an alarm confirms nothing and says nothing; what it had already is a duplicate then.
            if let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(20), sent).await {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        orders.iter().filter_map(|order| order["id"].as_str()).for_each(|id| self.ledger.confirm(id));
    }

    async fn post(&self, order: &Value, turn: usize) {
        for turn in turn.. {
            if matches!(self.ask(order, turn).await, Some(200 | 201)) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        if let Some(id) = order["id"].as_str() {
            self.ledger.confirm(id);
        }
    }

    /// Sends what was taken already with other parameters: it must be refused.
    async fn change(&self, mut order: Value, turn: usize) {
        order["params"]["note"] = json!("changed");
        for turn in turn.. {
            match self.ask(&order, turn).await {
                Some(200 | 201) => {
                    self.wrongly_taken.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                Some(409) => break,
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Tries once at one of the intakes; returns the status, if there was an answer.
    async fn ask(&self, order: &Value, turn: usize) -> Option<u16> {
        let api = &self.apis[turn % self.apis.len()];
        let asked = tokio::time::timeout(Duration::from_secs(10), api.post("/v1/orders", order));
        asked.await.ok()?.ok().map(|answer| answer.status)
    }
}

async fn declare(amqp: &Amqp, prefix: &str) -> Result<()> {
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    amqp.channel().queue_declare(QUEUE.into(), durable, FieldTable::default()).await?;
    let exchange = format!("{prefix}.notifications");
    let bind = amqp.channel().queue_bind(
        QUEUE.into(),
        exchange.as_str().into(),
        "#".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    Ok(bind.await?)
}

/// Takes notifications, and comes back after each loss of the broker.
async fn listen(transports: Arc<Transports>) {
    loop {
        // Why it ended does not matter: the queue is durable, and keeps what comes meanwhile.
        let _ = hear(&transports).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn hear(transports: &Transports) -> Result<()> {
    let amqp = transports.connect().await?;
    declare(&amqp, &transports.prefix).await?;
    let options = BasicConsumeOptions::default();
    let consume = amqp.channel().basic_consume(QUEUE.into(), "".into(), options, FieldTable::default());
    let mut consumer = consume.await?;
    while let Some(delivery) = consumer.next().await {
        let delivery = delivery?;
        let body: Value = serde_json::from_slice(&delivery.data)?;
        let message_id = delivery.properties.message_id().as_ref().map(ToString::to_string);
        transports.ledger.tell(
            body["id"].as_str().unwrap_or_default(),
            &message_id.unwrap_or_default(),
            delivery.redelivered,
        );
        delivery.ack(BasicAckOptions::default()).await?;
    }
    bail!("the consumer has ended")
}
