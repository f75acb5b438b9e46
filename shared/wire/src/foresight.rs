//! Foresight: when an order will start, and whether its client will be served in time.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time at which an order that waits will start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EtaView {
    /// In half of the cases not later.
    pub p50: Timestamp,
    /// In nine of ten cases not later.
    pub p90: Timestamp,
}

/// The promise to the client of an order (ORD-31).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromiseView {
    /// Time at which the client must be served.
    pub promise_at: Timestamp,
    /// When nine of ten orders like it would have ended; in `explain`, as far as orders of its scenario tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_at: Option<Timestamp>,
    /// Set while the order will probably be late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jeopardy: Option<JeopardyView>,
}

/// Mark of an order that will probably be late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JeopardyView {
    /// Since when.
    pub since: Timestamp,
    /// When nine of ten orders like it would have ended, as it was then.
    pub expected_at: Timestamp,
    /// Why, in words.
    pub cause: String,
}
