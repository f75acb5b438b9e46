//! Bodies of the order API.

use jiff::Timestamp;
use pagurus_domain::order::labels::Labels;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::dependencies::{ConditionView, DependencyGraph, GraphNode};
pub use crate::registered::{RegisteredView, RegistrationAnswer, StartedView};

use crate::consistency::InconsistencyView;
use crate::foresight::PromiseView;

/// An error, as orders show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorView {
    /// The class; none if no rule matched.
    pub class: Option<String>,
    /// Message of the error.
    #[schemars(extend("x-payload" = true))]
    pub message: String,
    /// The called system that it is about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// A retry cycle, as orders show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryView {
    /// `sync`: a call is repeated; `async`: requests are sent again after a failed callback.
    #[serde(default)]
    pub kind: String,
    /// The class of the error.
    pub class: String,
    /// The policy.
    pub policy: String,
    /// Number of the cycle.
    pub cycle: u32,
    /// Attempts so far, with the one that is awaited.
    pub attempt: u32,
    /// Number that the policy allows; none is any number.
    #[serde(default)]
    pub max_attempts: Option<u32>,
    /// The first failure of the cycle.
    #[serde(default, serialize_with = "time::serialize")]
    pub started_at: Option<Timestamp>,
    /// Time at which the next one is due.
    #[serde(serialize_with = "time::serialize")]
    pub next_at: Option<Timestamp>,
    /// No attempt starts after it.
    #[serde(default, serialize_with = "time::serialize")]
    pub ends_at: Option<Timestamp>,
    /// Time left until then, in milliseconds.
    #[serde(default)]
    pub time_left_ms: Option<u64>,
}

/// A notification that is not delivered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsentView {
    /// Life of the order.
    pub life: i32,
    /// Kind of event that it reports.
    pub kind: String,
    /// Address that it goes to.
    #[schemars(extend("x-payload" = true))]
    pub target: String,
    /// Subscription that it is for; absent if the order asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<String>,
    /// Number of times that it was tried.
    pub attempts: i32,
    /// Reason for which only an operator can help.
    pub parked_because: Option<String>,
    /// The last error.
    #[schemars(extend("x-payload" = true))]
    pub last_error: Option<String>,
    /// Time at which it is tried again; `null` of one that is parked.
    #[serde(default, serialize_with = "time::serialize")]
    pub next_at: Option<Timestamp>,
}

/// A parked notification in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotificationLine {
    /// The order.
    pub order: String,
    /// Time at which it was stored.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Timestamp,
    /// The notification.
    #[serde(flatten)]
    pub notification: UnsentView,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransitionView {
    /// Counts from 1 over all lives.
    pub number: u32,
    /// Life of the order.
    pub life: i32,
    /// State that the order left.
    pub from: String,
    /// Event that moved the order.
    pub event: String,
    /// The state that was entered.
    pub to: String,
    /// Time of the event.
    pub at: String,
    /// Number of the hand-out by which the node had the stage.
    #[serde(default)]
    pub hand_out: i64,
    /// The node that ran the stage.
    pub node: String,
}

/// An event of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// Counts from 1 without gaps.
    pub number: i32,
    /// Life of the order.
    pub life: i32,
    /// Kind of the event.
    pub kind: String,
    /// Time of the event.
    pub at: String,
    /// Person, program or node that caused it.
    pub source: String,
    /// Details.
    #[schemars(extend("x-payload" = true))]
    pub payload: Value,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLineView {
    /// Counts from 1.
    pub line: usize,
    /// Time of the event.
    pub at: String,
    /// Text of the line.
    #[schemars(extend("x-payload" = true))]
    pub text: String,
}

/// An order that was started by another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildView {
    /// Id of the order.
    pub id: String,
    /// Present status of the order.
    pub status: String,
}

/// A state that goes for an entry point, as the present life has visited it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryPointView {
    /// Name of the state.
    pub state: String,
    /// Time of the last visit.
    pub visited_at: String,
}

/// The action that failed, from which a repair may continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedActionView {
    /// The state.
    pub state: String,
    /// Index of the action in the state, from 0.
    pub action: u32,
    /// Word of the action in its scenario, such as `http` or `each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Elements of an `each` that went through: they are not done again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements_done: Option<u32>,
    /// Elements of that `each` in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<u32>,
}

/// An order with everything that is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderView {
    /// The client's id.
    pub id: String,
    /// Our number.
    pub no: i64,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Present status.
    pub status: String,
    /// Relation of the order to its target.
    pub scenario_status: String,
    /// Present state.
    pub step: Option<String>,
    /// `parallel` or `sequential`.
    pub mode: String,
    /// The queue of a sequential order.
    pub queue: Option<String>,
    /// Place in the queue of a member: the millisecond since 1970 in which it joined, or one soon after it. Lower ones come first.
    pub position: Option<i64>,
    /// Urgency.
    pub priority: String,
    /// Flow marker.
    pub flow: String,
    /// Business transaction.
    pub transaction_id: Option<String>,
    /// Labels that its client chose; absent if there are none.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Parameters.
    #[schemars(extend("x-payload" = true))]
    pub params: Value,
    /// Variables.
    #[schemars(extend("x-payload" = true))]
    pub vars: Value,
    /// Receiver of notifications, or a list of several.
    pub notify: Option<Value>,
    /// Result of the scenario.
    #[schemars(extend("x-payload" = true))]
    pub result: Option<Value>,
    /// Message of the scenario.
    #[schemars(extend("x-payload" = true))]
    pub message: Option<String>,
    /// Error by which it failed or is retried.
    pub error: Option<ErrorView>,
    /// The retry cycle it is in.
    pub retry: Option<RetryView>,
    /// The asynchronous cycle that goes on, also while an answer is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_retry: Option<RetryView>,
    /// Set if its stored rows contradict each other, and a person has to check it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconsistent: Option<InconsistencyView>,
    /// Promise to its client, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<PromiseView>,
    /// Number of the life.
    pub life: i32,
    /// Stages of this life that ran.
    #[serde(default)]
    pub stages: i32,
    /// Stages of this life that repeated another after a classified error.
    #[serde(default)]
    pub retries: i32,
    /// The node that runs its stage.
    pub node: Option<String>,
    /// Stages of it that were taken over from nodes that were lost; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_over: Option<crate::parts::FailedOverView>,
    /// Time of registration.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Timestamp,
    /// Start of the first stage of this life.
    #[serde(serialize_with = "time::serialize")]
    pub started_at: Option<Timestamp>,
    /// End of this life.
    #[serde(serialize_with = "time::serialize")]
    pub finished_at: Option<Timestamp>,
    /// Milliseconds of this ended life, from its first stage to its end.
    #[serde(default)]
    pub duration_ms: Option<i64>,
    /// Time of the last change.
    #[serde(serialize_with = "time::serialize")]
    pub updated_at: Timestamp,
    /// Earliest start.
    #[serde(serialize_with = "time::serialize")]
    pub start_at: Option<Timestamp>,
    /// Latest start.
    #[serde(serialize_with = "time::serialize")]
    pub start_deadline: Option<Timestamp>,
    /// End of its suspension.
    #[serde(serialize_with = "time::serialize")]
    pub due_at: Option<Timestamp>,
    /// Time since which a stage of it waits for a worker.
    #[serde(serialize_with = "time::serialize")]
    pub ready_since: Option<Timestamp>,
    /// Share of the way, from 0 to 1.
    pub progress: f64,
    /// State at which a restart resumes.
    pub entry_point: Option<String>,
    /// Entry points that this life has visited, each once, the last one last: a restart may start at any of them. Of a long
    /// history, those in its first and last 500 rows.
    #[serde(default)]
    pub entry_points: Vec<EntryPointView>,
    /// The action that failed, if a repair may continue from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_action: Option<FailedActionView>,
    /// Call whose answer its running stage has awaited for some seconds.
    pub asking: Option<crate::parts::AskingView>,
    /// The orders that it waits for, or waited for.
    #[serde(default)]
    pub after: Vec<ConditionView>,
    /// The order that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The orders that it started.
    #[serde(default)]
    pub children: Vec<ChildView>,
    /// The first transitions, at most 250, of the first 500 rows of its history; all of them are under `/transitions`.
    pub transitions: Vec<TransitionView>,
    /// True if there may be more transitions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more_transitions: bool,
    /// Notifications that are not confirmed yet.
    pub unsent_notifications: Vec<UnsentView>,
}

/// An order in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderLine {
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Present status.
    pub status: String,
    /// Relation of the order to its target.
    pub scenario_status: String,
    /// Present state.
    pub step: Option<String>,
    /// Class of the error.
    pub error_class: Option<String>,
    /// Labels that its client chose; absent if there are none.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Time of registration.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Timestamp,
    /// Time of the last change.
    #[serde(serialize_with = "time::serialize")]
    pub updated_at: Timestamp,
    /// True if its stored rows contradict each other, and a person has to check it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub inconsistent: bool,
    /// True if it will probably miss its promise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub jeopardy: bool,
}

/// True if the flag is not set and is left out of the JSON.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Give it as `cursor` to get the next page; none on the last. A page may be short, or empty, and
    /// have a next one: the number of rows examined for one is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A short answer about an order: status calls and actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The client's id.
    pub id: String,
    /// Present status.
    pub status: String,
    /// True if this life has ended.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Number of the life.
    pub life: i32,
    /// Note that something was not done exactly as requested, such as a sending time in the future.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
