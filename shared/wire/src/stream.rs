//! Events of `/v1/stream`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that happened to an order. The field `id` of the event consists of the number of the order and that of the event:
/// the same event always has the same id, even if it is sent twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamedEvent {
    /// Our number of the order.
    pub no: i64,
    /// The client's id.
    pub order: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Flow of the order.
    pub flow: String,
    /// Sequential queue of the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Business transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// Number of the event, as `GET /v1/orders/{id}/events` has it: counts from 1 without gaps.
    pub number: i32,
    /// Life of the order.
    pub life: i32,
    /// Kind of the event: `registered`, `stage_started`, `stage_ended`, `restarted`, `killed`, …
    pub kind: String,
    /// Time of the event.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Person, program or node that caused it.
    pub source: String,
    /// Status of the order at the moment at which the event was sent.
    pub status: String,
    /// True if that status is final.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// State of the order at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

impl StreamedEvent {
    /// Id of the event in the stream.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}.{}", self.no, self.number)
    }
}

/// Sent in place of events that this client does not get: a client that needs them asks for the orders again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamLagged {
    /// Reason.
    pub reason: String,
    /// Number of events that were left out, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
}

/// The last event of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamEnd {
    /// Reason for which it ends.
    pub reason: String,
}
