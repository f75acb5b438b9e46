//! Ledgers: where the time of an order went, and that of many.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every millisecond of an order from its registration to its end, or to now, by reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerView {
    /// The client's id.
    pub id: String,
    /// Registered at.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// End of the order, or the time of the answer.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// Milliseconds between them: the sum of all shares.
    pub total_ms: i64,
    /// Milliseconds by reason, the longest first.
    pub shares: Vec<LedgerShareView>,
    /// Spans in sequence, the last thousand. Each starts where the previous one ends.
    pub spans: Vec<LedgerSpanView>,
    /// Spans before these.
    pub left_out: usize,
}

/// Part of the time of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerShareView {
    /// `postponed`, `queue`, `flow_stopped`, `capacity`, `call`, `work`, `wait`, `system`, `sleep`, `polling`, `retry` or `ended`.
    pub reason: String,
    /// The queue, the called system, the class of the error, the requests: what the reason is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Milliseconds.
    pub ms: i64,
    /// Share of the whole, from 0 to 1.
    pub share: f64,
}

/// A time of an order that passed for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerSpanView {
    /// Time at which it starts.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// Time at which it ends.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// Reason, as of a share.
    pub reason: String,
    /// Detail, as of a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Time of many orders in a range, by reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerSumsView {
    /// Start of the range.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// End of the range.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// Orders that fulfil the conditions and were there in the range.
    pub orders: usize,
    /// Orders among them, evenly spread, whose time was summed.
    pub summed: usize,
    /// False if there are more orders than were checked.
    pub complete: bool,
    /// Milliseconds of the summed orders within the range: the sum of all shares.
    pub total_ms: i64,
    /// Milliseconds by reason, the longest first; 50 by their detail, the others by their reason alone.
    pub shares: Vec<LedgerShareView>,
    /// The same for each flow or scenario, if the query asks for it; the longest first, 100 at most.
    pub groups: Vec<LedgerGroupView>,
}

/// Time of the summed orders of a flow or a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerGroupView {
    /// The flow or the scenario.
    pub key: String,
    /// Number of its orders whose time was summed.
    pub summed: usize,
    /// Their milliseconds within the range.
    pub total_ms: i64,
    /// Milliseconds by reason.
    pub shares: Vec<LedgerShareView>,
}
