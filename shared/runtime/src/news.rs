//! Transient messages between services. A message that is lost is made up for by whoever re-reads the
//! tables, so no failure here fails anything.

use pagurus_broker::Message;
use serde::Serialize;

use crate::Host;
use crate::metrics::Count;

/// Sends news under one of the keys of [`pagurus_wire::message::news`].
pub(crate) async fn send(host: &Host, key: &str, news: &impl Serialize) {
    send_to(host, host.broker.names().news.clone(), vec![(key.to_owned(), body(news))]).await;
}

/// Sends transient messages to one exchange of the engine: key and body of each.
pub async fn send_to(host: &Host, exchange: String, messages: Vec<(String, Vec<u8>)>) {
    let messages = messages
        .into_iter()
        .map(|(key, body)| {
            let mut message = Message::json(exchange.clone(), key, body);
            message.mandatory = false;
            message.properties.persistent = false;
            message
        })
        .collect();
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
