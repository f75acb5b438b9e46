//! Orders and actions over AMQP, each with the receipt of the engine.
//! Never returns before the engine has answered: a confirm of the broker alone says that a message is kept, not that it is an order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::StreamExt as _;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::transport::Patience;
use crate::{Error, Order, Registered};

/// Queue to which the broker sends receipts without a queue being there.
const DIRECT_REPLY: &str = "amq.rabbitmq.reply-to";

/// Receipts that are waited for, by the correlation id of their message; none after the connection was lost.
type Waiting = Arc<Mutex<Option<HashMap<String, oneshot::Sender<Registered>>>>>;

/// A sender of orders. It connects when it is first needed, and again after the connection was lost.
#[derive(Debug)]
pub struct AmqpSender {
    url: String,
    exchange: String,
    patience: Duration,
    session: tokio::sync::Mutex<Option<Session>>,
}

/// A connection to the broker.
#[derive(Clone, Debug)]
struct Session {
    // The connection breaks off with its last handle.
    _connection: Arc<Connection>,
    channel: Channel,
    waiting: Waiting,
}

/// A message to the engine, the same over all repeats.
#[derive(Debug)]
struct Message {
    key: String,
    body: Vec<u8>,
    properties: BasicProperties,
}

impl AmqpSender {
    /// A sender to the broker at this address; `prefix` is that of the engine's names there, `pagurus` unless configured
    /// otherwise.
    #[must_use]
    pub fn new(url: &str, prefix: &str) -> Self {
        let (url, exchange) = (url.to_owned(), format!("{prefix}.orders"));
        Self { url, exchange, patience: Duration::from_secs(60), session: tokio::sync::Mutex::new(None) }
    }

    /// Time for which a message is repeated, and its receipt awaited; a minute unless it is set.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Registers an order, and returns its receipt. Repeats by itself while broker or engine are away: the id makes that
    /// harmless.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn register(&self, order: &Order, traceparent: Option<&str>) -> Result<Registered, Error> {
        self.ask("order.create", &order.id, &json!(order), traceparent).await
    }

    /// Does something to an order: `cancel`, `interrupt`, `kill` or `restart`.
    ///
    /// # Errors
    /// See [`Error`]; what the status does not allow is a problem of the kind `refused`.
    pub async fn act(
        &self,
        id: &str,
        action: &str,
        reason: &str,
        more: Map<String, Value>,
    ) -> Result<Registered, Error> {
        let mut body = more;
        body.extend([("id".to_owned(), json!(id)), ("reason".to_owned(), json!(reason))]);
        // Its id is the key under which the action is done once.
        let message = Uuid::new_v4().to_string();
        self.ask(&format!("order.{action}"), &message, &Value::Object(body), None).await
    }

    async fn ask(
        &self,
        key: &str,
        message_id: &str,
        body: &Value,
        traceparent: Option<&str>,
    ) -> Result<Registered, Error> {
        let message = Message::new(key, message_id, body, traceparent);
        let mut patience = Patience::new(self.patience, None);
        loop {
            let failure = match self.ask_once(&message).await {
                Err(failure) if failure.is_passing() => failure,
                answer => return answer,
            };
            let Some(pause) = patience.pause(None) else { return Err(failure) };
            tokio::time::sleep(pause).await;
        }
    }

    async fn ask_once(&self, message: &Message) -> Result<Registered, Error> {
        let session = self.session().await.map_err(away)?;
        let (correlation, receipt) = session.expect()?;
        let asked = async {
            session.publish(&self.exchange, message, &correlation).await?;
            receipt.await.map_err(|_| Error::Unreachable("the connection was lost".to_owned()))
        };
        let answer = tokio::time::timeout(self.patience, asked).await;
        session.forget(&correlation);
        let receipt = answer.map_err(|_| Error::Unreachable("no receipt has come".to_owned()))??;
        match (receipt.status.as_str(), receipt.error) {
            ("unavailable", _) => Err(Error::Unreachable("the engine could not register it".to_owned())),
            (_, Some(problem)) => Err(Error::Problem { problem: Box::new(problem), retry_after: None }),
            (_, error) => Ok(Registered { error, ..receipt }),
        }
    }

    async fn session(&self) -> Result<Session, lapin::Error> {
        let mut kept = self.session.lock().await;
        match &*kept {
            Some(session) if session.channel.status().connected() => Ok(session.clone()),
            _ => Ok(kept.insert(Session::open(&self.url).await?).clone()),
        }
    }
}

impl Session {
    async fn open(url: &str) -> Result<Self, lapin::Error> {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let receipts =
            channel.basic_consume(DIRECT_REPLY.into(), "".into(), options, FieldTable::default()).await?;
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(hand_out(receipts, Arc::clone(&waiting)));
        Ok(Self { _connection: Arc::new(connection), channel, waiting })
    }

    /// A new correlation id, and the receipt that will come under it.
    fn expect(&self) -> Result<(String, oneshot::Receiver<Registered>), Error> {
        let (correlation, (sender, receipt)) = (Uuid::new_v4().to_string(), oneshot::channel());
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = || Error::Unreachable("the connection was lost".to_owned());
        waiting.as_mut().ok_or_else(lost)?.insert(correlation.clone(), sender);
        Ok((correlation, receipt))
    }

    fn forget(&self, correlation: &str) {
        if let Some(waiting) = &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            waiting.remove(correlation);
        }
    }

    /// Returns when the broker has the message in a queue.
    async fn publish(&self, exchange: &str, message: &Message, correlation: &str) -> Result<(), Error> {
        let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let properties = message.properties.clone().with_correlation_id(correlation.into());
        let key = message.key.as_str();
        let sent =
            self.channel.basic_publish(exchange.into(), key.into(), mandatory, &message.body, properties);
        match sent.await.map_err(away)?.await.map_err(away)? {
            Confirmation::Ack(None) => Ok(()),
            _ => Err(Error::Unreachable(format!("the broker has no queue for `{key}` of {exchange}"))),
        }
    }
}

impl Message {
    fn new(key: &str, message_id: &str, body: &Value, traceparent: Option<&str>) -> Self {
        let mut headers = FieldTable::default();
        if let Some(traceparent) = traceparent {
            headers.insert("traceparent".into(), AMQPValue::LongString(traceparent.into()));
        }
        let properties = BasicProperties::default()
            .with_content_type("application/json".into())
            .with_delivery_mode(2)
            .with_message_id(message_id.into())
            .with_reply_to(DIRECT_REPLY.into())
            .with_timestamp(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs())
            .with_headers(headers);
        Self { key: key.to_owned(), body: body.to_string().into_bytes(), properties }
    }
}

/// Hands receipts to those who wait for them, until the connection is lost.
async fn hand_out(mut receipts: Consumer, waiting: Waiting) {
    while let Some(Ok(delivery)) = receipts.next().await {
        let correlation = delivery.properties.correlation_id().as_ref().map(ToString::to_string);
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = correlation.and_then(|correlation| waiting.as_mut()?.remove(&correlation));
        if let (Some(waits), Ok(receipt)) = (waits, serde_json::from_slice(&delivery.data)) {
            // Nobody waits any more, if the time is over.
            let _ = waits.send(receipt);
        }
    }
    // Those who wait learn it from the end of their channels.
    *waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

fn away(error: lapin::Error) -> Error {
    Error::Unreachable(error.to_string())
}
