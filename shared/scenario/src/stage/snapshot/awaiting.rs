//! Task or child order that an order awaits in the middle of a state.

use jiff::Timestamp;
use pagurus_domain::id::RequestId;
use serde::{Deserialize, Serialize};

/// Task or child order that is awaited in the middle of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Awaiting {
    /// Name of the request.
    pub name: String,
    /// Id of the request, once it is registered.
    #[serde(with = "super::stored::text_or_none")]
    pub id: Option<RequestId>,
    /// Start of the wait.
    pub queued_at: Timestamp,
    /// Set where it is a task: as they were when it was handed out for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskTimes>,
}

/// The times of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskTimes {
    /// Time for one hand-out without a decision or a heartbeat, in milliseconds.
    pub work_ms: u64,
    /// Time at which its task time-out passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
}
