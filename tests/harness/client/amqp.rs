//! A client of the engine on the broker: publishes order commands, collects receipts and notifications.
//! Never counts a message as sent before the broker has confirmed it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use futures_util::future::join_all;
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};
use serde_json::Value;

use super::lock;

/// A connection to the broker of our own, as a client of the engine has one.
#[derive(Debug)]
pub struct Amqp {
    // Held because the connection closes with its last handle.
    _connection: Connection,
    channel: Channel,
    prefix: String,
}

impl Amqp {
    /// Connects; `prefix` is that of the engine's names.
    ///
    /// # Errors
    /// The broker cannot be reached.
    pub async fn connect(url: &str, prefix: &str) -> Result<Self> {
        let connect = Connection::connect(url, ConnectionProperties::default());
        let connection =
            tokio::time::timeout(Duration::from_secs(10), connect).await.context("no answer in 10 s")??;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Self { _connection: connection, channel, prefix: prefix.to_owned() })
    }

    /// The channel, in confirm mode.
    #[must_use]
    pub const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Publishes order commands (`order.create` and so on) and waits until the broker has all of them.
    ///
    /// # Errors
    /// The broker refused or returned one.
    pub async fn publish_orders(
        &self,
        key: &str,
        bodies: &[Value],
        properties: &BasicProperties,
    ) -> Result<()> {
        let exchange = format!("{}.orders", self.prefix);
        let bytes: Vec<Vec<u8>> = bodies.iter().map(|body| body.to_string().into_bytes()).collect();
        // Confirms are cheapest in groups, and a group must fit the window that a channel handles well.
        for group in bytes.chunks(500) {
            let sent = group.iter().map(|body| self.publish(&exchange, key, body, properties));
            join_all(sent).await.into_iter().collect::<Result<Vec<()>>>()?;
        }
        Ok(())
    }

    /// Publishes one persistent message, confirmed and routed.
    ///
    /// # Errors
    /// The broker refused or returned it.
    pub async fn publish(
        &self,
        exchange: &str,
        key: &str,
        body: &[u8],
        properties: &BasicProperties,
    ) -> Result<()> {
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let properties =
            properties.clone().with_delivery_mode(2).with_content_type("application/json".into());
        let confirm =
            self.channel.basic_publish(exchange.into(), key.into(), options, body, properties).await?;
        match confirm.await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) | Confirmation::Nack(_) => {
                bail!("{exchange}/{key} did not take the message")
            }
            Confirmation::NotRequested => bail!("the channel is not in confirm mode"),
        }
    }

    /// Collects from now on what arrives at an exchange with keys that match `pattern`.
    ///
    /// # Errors
    /// The exchange does not exist.
    pub async fn listen(&self, exchange: &str, pattern: &str) -> Result<Inbox> {
        let inbox = self.listen_directly().await?;
        let binding = self.channel.queue_bind(
            inbox.queue.as_str().into(),
            exchange.into(),
            pattern.into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        binding.await.with_context(|| format!("cannot bind to the exchange {exchange}"))?;
        Ok(inbox)
    }

    /// Collects what arrives at a queue of our own, whose name may serve as `reply_to`.
    ///
    /// # Errors
    /// The broker refused.
    pub async fn listen_directly(&self) -> Result<Inbox> {
        let name = format!("{}.reply.{}", self.prefix, uuid::Uuid::new_v4().simple());
        let exclusive =
            QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(name.as_str().into(), exclusive, FieldTable::default()).await?;
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let arguments = FieldTable::default();
        let mut consumer =
            self.channel.basic_consume(name.as_str().into(), "".into(), options, arguments).await?;
        let messages = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&messages);
        let task = tokio::spawn(async move {
            while let Some(Ok(delivery)) = consumer.next().await {
                let text =
                    |field: &Option<lapin::types::ShortString>| field.as_ref().map(ToString::to_string);
                lock(&sink).push(Message {
                    key: delivery.routing_key.to_string(),
                    message_id: text(delivery.properties.message_id()),
                    correlation_id: text(delivery.properties.correlation_id()),
                    headers: delivery.properties.headers().as_ref().map(read_headers).unwrap_or_default(),
                    body: serde_json::from_slice(&delivery.data).unwrap_or(Value::Null),
                });
            }
        });
        Ok(Inbox { queue: name, messages, task })
    }
}

/// Texts and whole numbers among the headers of a message, as JSON.
fn read_headers(table: &FieldTable) -> Value {
    let fields = table.inner().iter().filter_map(|(name, value)| {
        let value = match value {
            AMQPValue::LongString(text) => String::from_utf8_lossy(text.as_bytes()).into(),
            AMQPValue::LongLongInt(number) => (*number).into(),
            AMQPValue::LongInt(number) => (*number).into(),
            _ => return None,
        };
        Some((name.to_string(), value))
    });
    Value::Object(fields.collect())
}

/// A message that came in.
#[derive(Clone, Debug)]
pub struct Message {
    /// Routing key.
    pub key: String,
    /// `message_id`, if given.
    pub message_id: Option<String>,
    /// `correlation_id`, if given.
    pub correlation_id: Option<String>,
    /// Texts and whole numbers among its headers.
    pub headers: Value,
    /// Body; null if it is not JSON.
    pub body: Value,
}

/// Messages that have come in at one place since the listening began.
#[derive(Debug)]
pub struct Inbox {
    queue: String,
    messages: Arc<Mutex<Vec<Message>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Inbox {
    /// The name of its queue, for `reply_to`.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// All messages so far.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        lock(&self.messages).clone()
    }

    /// Waits until the messages satisfy a condition.
    ///
    /// # Errors
    /// The messages do not satisfy it in time; their number is in the error.
    pub async fn wait(&self, within: Duration, enough: impl Fn(&[Message]) -> bool) -> Result<Vec<Message>> {
        let deadline = Instant::now() + within;
        loop {
            let messages = self.messages();
            if enough(&messages) {
                return Ok(messages);
            }
            if Instant::now() > deadline {
                bail!("after {within:?} only {} messages: {messages:?}", messages.len());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.task.abort();
    }
}
