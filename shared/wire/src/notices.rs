//! Bodies of messages that the engine sends: notifications, and tasks of actors. The engine writes them where their values
//! are; tests hold live messages against these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A notification of the end of a life, or of an order that needs a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndNotice {
    /// Id of the order.
    pub id: String,
    /// Mark of the client.
    pub correlation_id: Option<String>,
    /// Id of the business transaction.
    pub transaction_id: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Status of the order.
    pub status: String,
    /// Relation of the end to the targets of the scenario.
    pub scenario_status: String,
    /// Last state.
    pub step: Option<String>,
    /// Result that the scenario set.
    #[serde(default)]
    pub result: Option<Value>,
    /// Message that the scenario set.
    pub message: Option<String>,
    /// Cause of a failure.
    pub error: Option<NoticeError>,
    /// Registration, in the time zone that the client asked for.
    pub created_at: String,
    /// Begin of the first stage of this life.
    pub started_at: Option<String>,
    /// End of this life.
    pub finished_at: Option<String>,
    /// Milliseconds from the begin to the end.
    pub duration_ms: Option<i64>,
    /// Number of the life.
    pub life: i32,
    /// Stages of this life that ran.
    pub stages: i32,
    /// Those among them that were repeats after a classified error.
    pub retries: i32,
    /// Need of a person; none where the notification is of an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<NoticeParked>,
    /// Jeopardy of the order; none where the notification is of an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jeopardy: Option<NoticeJeopardy>,
}

/// Jeopardy of an order in a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoticeJeopardy {
    /// Time since which it is so.
    pub since: String,
    /// Time by which the client must be served.
    pub promise_at: String,
    /// Time at which nine of ten orders like it would have ended.
    pub expected_at: String,
    /// Words for people.
    pub cause: String,
}

/// Cause of a failure in a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeError {
    /// Class; none where no rule gave one.
    pub class: Option<String>,
    /// Words for people.
    pub message: String,
}

/// Need of a person in a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeParked {
    /// `retries_exhausted`, `suspended` or `inconsistent`.
    pub reason: String,
    /// Time since which it is so.
    pub since: String,
}

/// A notification of a move from state to state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveNotice {
    /// Id of the order.
    pub id: String,
    /// Mark of the client.
    pub correlation_id: Option<String>,
    /// Id of the business transaction.
    pub transaction_id: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Number of the life.
    pub life: i32,
    /// Move.
    pub transition: NoticeMove,
}

/// A move in a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeMove {
    /// State that was left.
    pub from: String,
    /// Event that moved the order.
    pub event: String,
    /// State that was entered.
    pub to: String,
    /// Time of the move.
    pub at: String,
}

/// A task of an actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActorTask {
    /// Key of the task, the same over its hand-outs.
    pub task: String,
    /// Token that the decision must bear as its correlation id.
    pub pass: String,
    /// Name of the actor.
    pub actor: String,
    /// Id of the order.
    pub order: String,
    /// Id of the business transaction.
    pub transaction_id: Option<String>,
    /// Number of the hand-out, from 1.
    pub hand_out: u32,
    /// Milliseconds after which the task is handed out again, unless the actor gives a sign of life.
    pub work_timeout_ms: u64,
    /// Body that the scenario gives.
    #[serde(default)]
    pub body: Value,
}
