//! Bodies of messages that the engine sends: notifications, which the core writes itself, and tasks of actors.

pub use pagurus_domain::order::notification::{EndNotice, MoveNotice, NoticeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A task of an actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActorTask {
    /// Key of the task, the same over its hand-outs.
    pub task: String,
    /// Token that the decision must carry as its correlation id.
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
