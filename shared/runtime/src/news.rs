//! Transient messages between services. A message that is lost is made up for by whoever re-reads the
//! tables, so no failure here fails anything.

use std::time::Duration;

use pagurus_broker::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Host;
use crate::metrics::{Count, Metrics};

/// Reads a message of another service; `what` names its kind in the count. One that cannot be read is of another version: it is
/// counted and passed over, because whoever re-reads the tables makes up for it.
pub fn read<T: DeserializeOwned>(metrics: &Metrics, what: &str, body: &[u8]) -> Option<T> {
    let read = serde_json::from_slice(body);
    if let Err(error) = &read {
        metrics.count(Count::UnreadableMessages, what, 1);
        tracing::debug!(what, %error, "a message of another service cannot be read");
    }
    read.ok()
}

/// Sends news under one of the keys of [`pagurus_wire::message::news`].
pub(crate) async fn send(host: &Host, key: &str, news: &impl Serialize) {
    send_to(host, host.broker.names().news.clone(), vec![(key.to_owned(), body(news))]).await;
}

/// Sends news that nobody is to hear later than this.
pub(crate) async fn send_for(host: &Host, key: &str, news: &impl Serialize, useful_for: Duration) {
    let mut message = Message::json(host.broker.names().news.clone(), key, body(news));
    message.useful_for = Some(useful_for);
    publish(host, vec![message]).await;
}

/// Sends transient messages to one exchange of the engine: key and body of each.
pub async fn send_to(host: &Host, exchange: String, messages: Vec<(String, Vec<u8>)>) {
    let messages = messages.into_iter().map(|(key, body)| Message::json(exchange.clone(), key, body));
    publish(host, messages.collect()).await;
}

async fn publish(host: &Host, mut messages: Vec<Message>) {
    for message in &mut messages {
        message.mandatory = false;
        message.properties.persistent = false;
    }
    if let Err(error) = host.broker.publish_transient(messages).await {
        host.metrics.count(Count::BrokerErrors, "news", 1);
        tracing::debug!(%error, "news could not be sent");
    }
}

/// Plain data as JSON; it always serializes.
#[must_use]
pub fn body(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}
