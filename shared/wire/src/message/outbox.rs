//! News to the notifiers about rows of the outbox.

use pagurus_domain::order::notification::NotifyGroup;
use serde::{Deserialize, Serialize};

/// Life of an order with something to notify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLife {
    /// Our number of the order.
    pub no: i64,
    /// The life.
    pub life: i32,
    /// The one row of it that is to be read; left out: all that report an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Row of the outbox that was just written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// Our number of the order.
    pub no: i64,
    /// The life.
    pub life: i32,
    /// Kind of event that it reports.
    pub kind: String,
    /// Id of the message.
    pub message_id: String,
    /// The address as the client gave it.
    pub target: String,
    /// The client's mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// The business transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// W3C trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Terms on which it is gathered with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<NotifyGroup>,
    /// Content of the message.
    pub body: String,
}

/// News to the notifiers: somebody is to be notified of these ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxNews {
    /// Lives whose rows are to be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedLife>,
    /// Rows that need not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<OutboxRow>,
    /// True where there is something for receivers over HTTP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub webhooks: bool,
}
