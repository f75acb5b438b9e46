//! Forecasts: when an order will start, and whether its client will be served in time.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time at which an order that waits will start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EtaView {
    /// Time by which half of such orders start.
    pub p50: Timestamp,
    /// Time by which nine of ten such orders start.
    pub p90: Timestamp,
    /// Record of the last forecasts; none before there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<EtaRecord>,
}

/// Record of the last forecasts: how many orders started before the `p90` that was given for them first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EtaRecord {
    /// Number of the last forecasts whose time has come, at most a thousand.
    pub forecasts: i64,
    /// Number of those that held.
    pub held: i64,
}

/// The promise to the client of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromiseView {
    /// Time at which the client must be served.
    #[serde(serialize_with = "time::serialize")]
    pub promise_at: Timestamp,
    /// Time by which nine of ten orders like it would have ended; in `explain`, if the orders of its scenario allow a forecast.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub expected_at: Option<Timestamp>,
    /// Set while the order will probably be late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jeopardy: Option<JeopardyView>,
}

/// Mark of an order that will probably be late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JeopardyView {
    /// Time at which it was marked.
    #[serde(serialize_with = "time::serialize")]
    pub since: Timestamp,
    /// Time by which nine of ten orders like it would have ended, as forecast then.
    #[serde(serialize_with = "time::serialize")]
    pub expected_at: Timestamp,
    /// Reason, in words.
    pub cause: String,
}
