//! Transient messages between services. A message that is lost is made up for by those who re-read the
//! tables, so no failure here fails anything.

use pagurus_broker::Message;
use pagurus_domain::json::json_text;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Host;
use crate::metrics::{Count, Metrics};

/// Reads a message of another service; `what` names its kind in the count. One that cannot be read is of another version: it is
/// counted and passed over, because those who re-read the tables make up for it.
pub fn read<T: DeserializeOwned>(metrics: &Metrics, what: &str, body: &[u8]) -> Option<T> {
    let read = serde_json::from_slice(body);
    if let Err(error) = &read {
        metrics.count(Count::UnreadableMessages, what, 1);
        tracing::debug!(what, %error, "a message of another service cannot be read");
    }
    read.ok()
}

/// News under one of the keys of [`pagurus_wire::message::news`].
pub(crate) fn news(host: &Host, key: &str, news: &impl Serialize) -> Message {
    Message::json(host.broker.names().news.clone(), key, body(news))
}

/// Sends one message to all workers, under a key of [`pagurus_wire::message::work`].
pub async fn tell_workers(host: &Host, key: &str, message: &impl Serialize) {
    send(host, vec![Message::json(host.broker.names().work.clone(), key, body(message))]).await;
}

/// Sends hand-outs: to each worker, by the incarnation of its node, a message of its own.
pub async fn hand_out(host: &Host, messages: Vec<(String, Vec<u8>)>) {
    let to_worker = |(node, body)| {
        let message = Message::json(host.broker.names().work.clone(), node, body);
        Message { to_one: true, ..message }
    };
    send(host, messages.into_iter().map(to_worker).collect()).await;
}

/// Sends transient messages.
pub(crate) async fn send(host: &Host, mut messages: Vec<Message>) {
    for message in &mut messages {
        message.mandatory = false;
        message.properties.persistent = false;
    }
    if let Err(error) = host.broker.publish_transient(messages).await {
        host.metrics.count(Count::BrokerErrors, "news", 1);
        tracing::debug!(%error, "news could not be sent");
    }
}

/// A message as JSON.
#[must_use]
pub fn body(message: &impl Serialize) -> Vec<u8> {
    json_text(message).into_bytes()
}
