//! Bodies of `/v1/actors`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An actor: its tasks, and the programs that take them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActorView {
    /// Name of the actor.
    pub actor: String,
    /// `served`, `busy` (programs are connected, and tasks wait in the queue), `unserved` (orders wait, and no program is
    /// connected), `idle` (no order waits), or `unknown` if the broker did not answer.
    pub state: String,
    /// Programs that are connected to its queue; absent if the broker did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<u32>,
    /// Tasks that wait in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<u32>,
    /// Tasks that orders wait for.
    pub tasks: u32,
    /// Tasks among them that programs have in hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_hand: Option<u32>,
    /// Time since which the oldest hand-out waits or is in hand.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub oldest_since: Option<Timestamp>,
    /// Latest time since which a program is known to have taken a task: the newest task in hand was queued then, or one was decided
    /// in that minute. Absent if none is known within a day.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub last_taken_at: Option<Timestamp>,
    /// Tasks that were decided within a day.
    pub decided: u64,
    /// Hand-outs whose work time-out passed within a day.
    pub work_timeouts: u64,
}
