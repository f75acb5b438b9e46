//! Parts of an order that have an address of their own.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Progress of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressView {
    /// Share of the way, from 0 to 1; 1 when the order is final.
    pub progress: f64,
}

/// A question of an order to another system. Its id is shown to nobody: who knows it may answer it.
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
    /// Time at which it was stored.
    pub registered_at: Timestamp,
    /// Time since which no answer is taken.
    pub closed_at: Option<Timestamp>,
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
    pub body: Value,
    /// Headers, with `***` in place of what is masked.
    pub headers: Value,
    /// Time at which it came.
    pub received_at: Timestamp,
}

/// Answer to a heartbeat of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatView {
    /// Time until which the task is the actor's, unless it beats again.
    pub until: Timestamp,
}
