//! Bulk operations, as the API takes and shows them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Action, the orders that it is for, and its pace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationRequest {
    /// The action: `restart`, `cancel`, `interrupt`, `kill`, `repair`, `update`, `resend`, `shift` or
    /// `check`.
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
    /// Why.
    pub reason: String,
    /// Urgency among operations: `high`, `normal` (default) or `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// Orders a second, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Growth by steps, and when it pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Value>,
    /// So long orders that come to match are taken, too, like `2h`; left out: those that match at the begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<String>,
    /// True to see how many orders it would be, and do nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The answer to a request for an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationOutcome {
    /// The operation; none where it was only looked at what it would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationView>,
    /// Number of orders that it would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<u64>,
    /// False where there are more orders than were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// Ids of some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// An operation, how far it is, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationView {
    /// Number.
    pub no: i64,
    /// The action.
    pub action: String,
    /// Fields of the action.
    pub with: Value,
    /// Conditions of the orders.
    pub search: Value,
    /// The operation whose failed orders are taken again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<i64>,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: Value,
    /// Time at which it was asked for.
    pub made_at: Timestamp,
    /// Urgency among operations.
    pub urgency: String,
    /// Orders a second, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Growth by steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Value>,
    /// Until when orders that come to match are taken, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_until: Option<Timestamp>,
    /// `running`, `paused`, `done` or `aborted`.
    pub state: String,
    /// Why it came into this state by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// True while orders are still being selected: then the total grows.
    pub selecting: bool,
    /// Orders that were selected.
    pub total: u64,
    /// Orders on which the action was carried out.
    pub done: u64,
    /// Orders that were in no status for it any more.
    pub skipped: u64,
    /// Orders for which it was refused otherwise.
    pub failed: u64,
    /// Fate of those done, where the action let them go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<AftermathView>,
    /// Orders a second of late.
    pub speed: f64,
    /// Seconds until all is done, at this speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<f64>,
    /// Time at which it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why orders were passed over or refused; only where one operation is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonView>,
}

/// Fate of orders that an operation let go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AftermathView {
    /// Ended `success`.
    pub succeeded: u64,
    /// Failed again in the same class.
    pub failed_again: u64,
    /// Failed otherwise.
    pub failed_otherwise: u64,
    /// Canceled, restarted by somebody else, or removed.
    pub left: u64,
    /// Not ended yet.
    pub open: u64,
}

/// Why orders were passed over or refused.
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

/// One order of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationOrderView {
    /// Id of the order; none where the order is not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `open`, `done`, `skipped` or `failed`.
    pub outcome: String,
    /// Why it was passed over or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fate of the order afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<String>,
}

/// Why an operation is paused, resumed or aborted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OperationSteering {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
