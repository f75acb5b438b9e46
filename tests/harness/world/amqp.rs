//! A called system on the other side of the broker: takes requests from a queue and publishes callbacks.
//! Never acknowledges a request before its callback is confirmed: a broken connection brings it again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions,
    QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::client::lock;

/// A request that came in.
#[derive(Clone, Debug)]
pub struct Question {
    /// Routing key.
    pub key: String,
    /// `message_id`, stable over repeats.
    pub message_id: Option<String>,
    /// Correlation id that the callback has to carry.
    pub correlation_id: Option<String>,
    /// Body; null if it is not JSON.
    pub body: Value,
}

/// Reaction to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A callback with this body after this time.
    CallBack(Duration, Value),
    /// Two callbacks with the same body.
    Twice(Value),
    /// Nothing: the caller has to give up.
    Silence,
}

/// Decides what to answer.
pub type Decide = dyn Fn(&Question) -> Answer + Send + Sync;

/// A running system; it ends with this value.
#[derive(Debug)]
pub struct Responder {
    questions: Arc<Mutex<Vec<Question>>>,
    task: JoinHandle<()>,
    // Held because the connection closes with its last handle.
    _connection: Connection,
}

impl Responder {
    /// Declares a topic exchange and a queue of the same name for all of its keys, and answers by `decide`.
    ///
    /// # Errors
    /// The broker cannot be reached, or has an exchange of this name that is of another kind.
    pub async fn start(url: &str, exchange: &str, prefix: &str, decide: Arc<Decide>) -> Result<Self> {
        let connect = Connection::connect(url, ConnectionProperties::default());
        let connection =
            tokio::time::timeout(Duration::from_secs(10), connect).await.context("no answer in 10 s")??;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let none = FieldTable::default;
        channel.exchange_declare(exchange.into(), ExchangeKind::Topic, durable, none()).await?;
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(exchange.into(), durable, none()).await?;
        let binding = QueueBindOptions::default();
        channel.queue_bind(exchange.into(), exchange.into(), "#".into(), binding, none()).await?;
        let consume =
            channel.basic_consume(exchange.into(), "".into(), BasicConsumeOptions::default(), none());
        let mut consumer = consume.await?;
        let questions = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&questions);
        let callbacks = format!("{prefix}.callbacks");
        let task = tokio::spawn(async move {
            while let Some(Ok(delivery)) = consumer.next().await {
                let question = read(&delivery);
                lock(&sink).push(question.clone());
                let answer = decide(&question);
                let (channel, exchange) = (channel.clone(), callbacks.clone());
                tokio::spawn(async move {
                    // A failure here is a broken connection: the broker hands the request out again.
                    let _ = reply(&channel, &exchange, &question, answer, delivery).await;
                });
            }
        });
        Ok(Self { questions, task, _connection: connection })
    }

    /// Waits until its connection to the broker is lost.
    pub async fn ended(&mut self) {
        // Ended is ended, however.
        let _ = (&mut self.task).await;
    }

    /// All requests so far.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        lock(&self.questions).clone()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn read(delivery: &Delivery) -> Question {
    let text = |field: &Option<lapin::types::ShortString>| field.as_ref().map(ToString::to_string);
    Question {
        key: delivery.routing_key.to_string(),
        message_id: text(delivery.properties.message_id()),
        correlation_id: text(delivery.properties.correlation_id()),
        body: serde_json::from_slice(&delivery.data).unwrap_or(Value::Null),
    }
}

async fn reply(
    channel: &Channel,
    exchange: &str,
    question: &Question,
    answer: Answer,
    delivery: Delivery,
) -> Result<()> {
    let (delay, body, times) = match answer {
        Answer::CallBack(delay, body) => (delay, body, 1),
        Answer::Twice(body) => (Duration::ZERO, body, 2),
        Answer::Silence => (Duration::ZERO, Value::Null, 0),
    };
    tokio::time::sleep(delay).await;
    for _ in 0..times {
        let mut properties = BasicProperties::default().with_delivery_mode(2);
        if let Some(id) = &question.correlation_id {
            properties = properties.with_correlation_id(id.as_str().into());
        }
        let bytes = body.to_string().into_bytes();
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        channel.basic_publish(exchange.into(), "answer".into(), options, &bytes, properties).await?.await?;
    }
    delivery.ack(BasicAckOptions::default()).await?;
    Ok(())
}
