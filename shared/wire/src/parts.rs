//! Parts of an order that have an address of their own.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stages of an order that were taken over from nodes that were lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedOverView {
    /// Number of times, in all lives.
    pub times: i64,
    /// The last time.
    #[serde(serialize_with = "time::serialize")]
    pub last_at: Timestamp,
}

/// Progress of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressView {
    /// Share of the way, from 0 to 1; 1 when the order is final.
    pub progress: f64,
}

/// A request of an order to another system. Its id is shown to nobody, because anyone who knows it may answer it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestView {
    /// Name that the scenario gives it.
    pub name: String,
    /// `open`, `answered`, `timeout` or `canceled`.
    pub status: String,
    /// True while the order waits for it.
    pub awaited: bool,
    /// Life of the order that asked.
    pub life: i32,
    /// Number of the stay in a state that asked.
    pub visit: i32,
    /// Called system that it went to, if known.
    #[serde(default)]
    pub system: Option<String>,
    /// Time at which it was stored.
    #[serde(serialize_with = "time::serialize")]
    pub registered_at: Timestamp,
    /// Time since which no answer is taken.
    #[serde(serialize_with = "time::serialize")]
    pub closed_at: Option<Timestamp>,
    /// The call that cancels it, if its action has one: `ready` while the request is open; `pending`, `done` or `failed`
    /// once it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<String>,
    /// Why that call has not succeeded so far, or never will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payload" = true))]
    pub cancel_error: Option<String>,
}

/// Call whose answer the running stage has awaited for some seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskingView {
    /// State.
    pub state: String,
    /// Index of the action in the state, from 0.
    pub action: u32,
    /// `http`, `amqp`, `actor` or `order`.
    pub kind: String,
    /// Name that the scenario gives it.
    pub name: Option<String>,
    /// Place that was asked: method, host and path; exchange and key; the actor; scenario and id of a child order.
    #[schemars(extend("x-payload" = true))]
    pub target: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Time at which it was asked.
    #[serde(serialize_with = "time::serialize")]
    pub since: Timestamp,
}

/// A callback that an order got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallbackView {
    /// Name of the request that it answers.
    pub request: String,
    /// Life of the order that asked.
    pub life: i32,
    /// `accepted`, `duplicate`, `late` or `orphan`.
    pub verdict: String,
    /// Status of the called system's step.
    pub step_status: Option<String>,
    /// Body, with `***` in place of what is masked.
    #[schemars(extend("x-payload" = true))]
    pub body: Value,
    /// Headers, with `***` in place of what is masked.
    #[schemars(extend("x-payload" = true))]
    pub headers: Value,
    /// Time at which it arrived.
    #[serde(serialize_with = "time::serialize")]
    pub received_at: Timestamp,
}

/// Answer to a heartbeat of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatView {
    /// Time until which the task is the actor's, unless it beats again.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
}

/// Question of one action to the world, and its outcome. Bodies are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Number over all lives, from 1.
    pub number: u32,
    /// Life of the order.
    pub life: i32,
    /// Number of the hand-out by which the node had the stage.
    pub hand_out: i64,
    /// Node that ran the stage.
    pub node: String,
    /// State.
    pub state: String,
    /// Index of the action in the state, from 0.
    pub action: u32,
    /// Operations that the action is a part of, from the outside to the inside: `outer/inner`.
    #[serde(default)]
    pub operation: Option<String>,
    /// `http`, `amqp`, `actor` or `order`.
    pub kind: String,
    /// Name that the scenario gives it.
    pub name: Option<String>,
    /// Place that was asked: method, host and path; exchange and key; the actor; scenario and id of a child order.
    #[schemars(extend("x-payload" = true))]
    pub target: String,
    /// `Idempotency-Key` of the call, or id of the message: the same over its repeats.
    pub key: Option<String>,
    /// Time at which it was asked.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Milliseconds until the answer, or until another part of the engine became responsible for it.
    pub duration_ms: u64,
    /// Status of an answer over HTTP.
    pub status: Option<u16>,
    /// Length of the body of an answer.
    pub bytes: Option<u64>,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// `answered`, `sent` or `failed`.
    pub outcome: String,
    /// Class of the failure.
    pub class: Option<String>,
    /// Why there was no answer.
    #[serde(default)]
    #[schemars(extend("x-payload" = true))]
    pub error: Option<String>,
}

/// A piece of work for an order: a stage, a request that is answered later, or a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// `stage`, `request`, `actor` or `notification`.
    pub kind: String,
    /// Reason of a stage, name of a request, occasion of a notification.
    pub name: String,
    /// `waiting`, `blocked`, `running`, `finished`, `error` or `cancelled`.
    pub status: String,
    /// Life of the order.
    pub life: i32,
    /// Tries so far; of a stage the number of its hand-out.
    pub attempts: i64,
    /// Time from which it may be done, or at which it was stored.
    #[serde(serialize_with = "time::serialize")]
    pub scheduled_at: Option<Timestamp>,
    /// Start.
    #[serde(serialize_with = "time::serialize")]
    pub started_at: Option<Timestamp>,
    /// End.
    #[serde(serialize_with = "time::serialize")]
    pub finished_at: Option<Timestamp>,
    /// Key by which the called system knows a repeat of a request or a task.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// W3C trace context that it continues.
    pub trace: Option<String>,
    /// Node that did it.
    pub node: Option<String>,
}
