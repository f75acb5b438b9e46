//! Requests as the actions that make them know them: where they are answered, and whom they ask.

use pagurus_domain::id::RequestId;
use serde_json::{Value, json};

use super::StageTurn;
use super::need::Publication;
use super::snapshot::Destination;

/// A request as `request` shows it.
pub(super) fn request_value(id: RequestId, turn: &StageTurn<'_>) -> Value {
    let url = format!("{}/v1/callbacks/{id}", turn.settings.callback_base);
    json!({"id": id.to_string(), "url": url})
}

/// Returns the destination of a message.
pub(super) fn asked_by_amqp(message: &Publication, turn: &StageTurn<'_>) -> Destination {
    Destination::Amqp {
        vhost: message.vhost.clone().unwrap_or_else(|| turn.settings.vhost.clone()),
        exchange: message.exchange.clone(),
        key: message.key.clone(),
    }
}
