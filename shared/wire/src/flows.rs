//! Bodies of `/v1/flows` and `/v1/systems`.

use jiff::Timestamp;
use pagurus_domain::flow::{FlowRecord, SystemRecord};
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A flow, as the active dispatcher saw it last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowView {
    /// The figures.
    #[serde(flatten)]
    pub record: FlowRecord,
    /// Time at which the dispatcher wrote them. It writes changes once a second.
    #[serde(serialize_with = "time::serialize")]
    pub written_at: Timestamp,
    /// The maintenance window that stops it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<OpenWindowView>,
}

/// A called system, as the active dispatcher saw it last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemView {
    /// The figures.
    #[serde(flatten)]
    pub record: SystemRecord,
    /// Time at which the dispatcher wrote them.
    #[serde(serialize_with = "time::serialize")]
    pub written_at: Timestamp,
    /// Order of an operator about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<SystemOrderView>,
    /// The maintenance window that is open for it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<OpenWindowView>,
}

/// The window that holds a flow or a system now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenWindowView {
    /// Number of the window.
    pub window: i64,
    /// Start.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// End.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// Reason.
    pub reason: String,
}

/// A stop by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopView {
    /// Number of the stop.
    pub stop: i64,
    /// Keyword: every flow whose name contains it is stopped.
    pub keyword: String,
    /// Start.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// Time at which it ends by itself; absent if only a person ends it.
    #[serde(serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// Reason.
    pub reason: String,
    /// Principal who requested it.
    pub by: Value,
    /// Time at which it was asked.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// True while it holds, or will.
    pub holds: bool,
    /// Time at which it was lifted by hand.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub lifted_at: Option<Timestamp>,
    /// Principal who lifted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted_by: Option<Value>,
    /// Reason for lifting it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lift_reason: Option<String>,
}

/// An operator's order about a called system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemOrderView {
    /// `keep_stopped` or `force_open`.
    pub order: String,
    /// Start.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// Time at which it ends by itself; absent if only a person ends it.
    #[serde(serialize_with = "time::serialize")]
    pub until: Option<Timestamp>,
    /// Reason.
    pub reason: String,
    /// Principal who requested it.
    pub by: Value,
}

/// Body of `POST /v1/flows/stop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopRequest {
    /// Keyword: every flow whose name contains it is stopped, including flows that appear later.
    pub keyword: String,
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
    /// Start; default: at once.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub from: Option<Timestamp>,
    /// Duration, such as `3h`. Orders that wait or retry until a time within it are moved past its end.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// True if the flows resume by themselves at the end.
    #[serde(default)]
    pub resume: bool,
    /// True to only report what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// Body of `POST /v1/flows/resume`: a keyword or a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeRequest {
    /// Lifts the stops of exactly this keyword.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword: Option<String>,
    /// Lifts the stop of this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<i64>,
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
    /// True to only report what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// Outcome of a stop or a resumption.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopOutcome {
    /// Stops that were made or lifted; none for a dry run.
    pub stops: Vec<i64>,
    /// The flows that are hit now, by name; one that is held by another stop, too, stays stopped.
    pub flows: Vec<String>,
    /// True if there are more flows than are listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_flows: bool,
    /// Stages of these flows, also of those that are not listed, that were ready to run a moment ago.
    #[serde(default)]
    pub ready: i64,
    /// Move of the orders that are due while the flows are stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<ShiftOutcome>,
    /// Confirmation of the active dispatcher.
    #[serde(flatten)]
    pub confirmation: ConfirmationView,
}

/// Confirmation of a change of the rules by the active dispatcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationView {
    /// True if the active dispatcher follows it; otherwise it is stored, and the next active dispatcher will follow it.
    pub confirmed: bool,
    /// The epoch of that dispatcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i64>,
    /// The serial of its last hand-out before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<i64>,
}

/// Body of `POST /v1/systems/{name}/stop` and `…/open`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemOrderRequest {
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
    /// Start; default: at once.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub from: Option<Timestamp>,
    /// Duration, such as `3h`; default: until it is withdrawn.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
}

/// Body of `POST /v1/leases/{name}/resign`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResignRequest {
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// Body of `POST /v1/flows/shift`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShiftRequest {
    /// Keyword: waiting and retrying orders of every flow whose name contains it are moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Distance in time, such as `3h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Continues the shift of this number, if one request could not move all orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_on: Option<i64>,
    /// Undoes the shift of this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<i64>,
    /// Reason, for the history.
    #[serde(default)]
    pub reason: String,
    /// True to only report how many orders would be moved.
    #[serde(default)]
    pub dry_run: bool,
}

/// Outcome of a shift.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShiftOutcome {
    /// Number by which it can be undone; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<i64>,
    /// Orders that were moved by this request, or would be.
    pub orders: u64,
    /// True if there is more to move: send the request again with `goOn`, or with `undo`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}
