//! Bulk operations, as the API takes and shows them.

use jiff::Timestamp;
use pagurus_domain::operation::BulkKind;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Action, the orders that it is for, and its pace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationRequest {
    /// The action: a word of [`BulkKind`].
    #[schemars(description = format!("The action: {}.", BulkKind::listed("`")))]
    pub action: String,
    /// Fields of the action, as its own request has them: `from` of a restart, `state` of a repair, `priority` of an
    /// update, `by` of a shift.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// Conditions of the orders; one of `search`, `saved` and `again` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Value>,
    /// Name of a saved search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// Number of an operation: the orders that it could not act on, and those that failed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<i64>,
    /// Reason.
    pub reason: String,
    /// Urgency among operations: `high`, `normal` (default) or `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// Most orders per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Growth by steps, and when it pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Value>,
    /// Time for which orders that come to match are also included, such as `2h`; default: only those that match at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<String>,
    /// True to only report how many orders it would take.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The answer to a request for an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationOutcome {
    /// The operation; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationView>,
    /// Number of orders that it would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<u64>,
    /// False if there are more orders than were checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// Ids of some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// An operation with its progress and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationView {
    /// Number.
    pub no: i64,
    /// The action.
    pub action: String,
    /// Fields of the action.
    #[schemars(extend("x-payload" = true))]
    pub with: Value,
    /// Conditions of the orders.
    #[schemars(extend("x-payload" = true))]
    pub search: Value,
    /// The operation whose failed orders are taken again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<i64>,
    /// Reason.
    pub reason: String,
    /// Principal who requested it.
    pub by: Value,
    /// Time at which it was requested.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// Urgency among operations.
    pub urgency: String,
    /// Most orders per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Growth by steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Value>,
    /// Time until which orders that come to match are also included.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub follow_until: Option<Timestamp>,
    /// `running`, `paused`, `done` or `aborted`.
    pub state: String,
    /// Reason why it entered this state by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// True while orders are still being selected: then the total grows.
    pub selecting: bool,
    /// Orders that were selected.
    pub total: u64,
    /// Orders on which the action was carried out.
    pub done: u64,
    /// Orders whose status no longer allowed it.
    pub skipped: u64,
    /// Orders for which it was refused otherwise.
    pub failed: u64,
    /// Later outcome of the orders done, if the action resumed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<AftermathView>,
    /// Recent speed, in orders a second.
    pub speed: f64,
    /// Seconds until all is done, at this speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<f64>,
    /// Time at which it ended.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub ended_at: Option<Timestamp>,
    /// Reasons why orders were skipped or refused; only if one operation is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonView>,
}

/// Later outcome of the orders that an operation resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AftermathView {
    /// Ended `success`.
    pub succeeded: u64,
    /// Failed again in the same class.
    pub failed_again: u64,
    /// Failed otherwise.
    pub failed_otherwise: u64,
    /// Canceled, restarted otherwise, or removed.
    pub left: u64,
    /// Orders that have not ended yet.
    pub open: u64,
}

/// Reason for which orders were passed over or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonView {
    /// `skipped` or `failed`.
    pub outcome: String,
    /// Reason.
    pub reason: String,
    /// Number of orders.
    pub orders: i64,
    /// Id of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// An order of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationOrderView {
    /// Id of the order; absent if it no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `open`, `done`, `skipped` or `failed`.
    pub outcome: String,
    /// Reason for which it was passed over or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Outcome of the order afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<String>,
}

/// Request to pause, resume or abort an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OperationSteering {
    /// Reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
