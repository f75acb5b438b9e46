//! Messages: receipts to clients, and messages between services.
//!
//! News and hand-outs are hints about rows of the database: they may be lost, doubled or late, and
//! nothing is ever wrong because of it. One message carries many items: a message for each order
//! would cost more than everything else that is done for it.

mod outbox;
mod systems;

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Problem;

pub use outbox::{EndedLife, OutboxNews, OutboxRow};
pub use systems::{CallNews, CallNewsOutcome, ClosedSystem, SystemsClosed};

/// Routing keys of the exchange for orders.
pub mod key {
    /// Register an order.
    pub const CREATE: &str = "order.create";
    /// Begin a new life of an order.
    pub const RESTART: &str = "order.restart";
    /// Give an order up.
    pub const CANCEL: &str = "order.cancel";
    /// Stop an order before it begins.
    pub const INTERRUPT: &str = "order.interrupt";
    /// Stop an order that runs or waits.
    pub const KILL: &str = "order.kill";
    /// Call a live order.
    pub const CALL: &str = "order.call";
}

/// Routing keys of the exchange for news.
pub mod news {
    /// To the active dispatcher: [`super::News`].
    pub const DISPATCH: &str = "dispatch";
    /// To all activators: [`super::DueNews`].
    pub const DUE: &str = "due";
    /// To those who follow orders: [`super::OrdersNews`].
    pub const ORDERS: &str = "orders";

    /// To the notifier that hears this part of the news of notifications: [`super::OutboxNews`].
    #[must_use]
    pub fn outbox(part: u32) -> String {
        format!("outbox.{part}")
    }
}

/// Routing keys of the exchange for hand-outs, beside the incarnation of a worker.
pub mod work {
    /// To all workers: [`super::BreakOff`].
    pub const BREAK_OFF: &str = "break-off";
    /// To all workers: [`super::SystemsClosed`].
    pub const SYSTEMS: &str = "systems";
}

/// Messages to programs of actors beside their tasks, over the same exchange.
pub mod actor {
    /// Type of the message that asks them to stop.
    pub const CANCEL: &str = "cancel";

    /// Routing key under which all programs of an actor are asked to stop: no name of an actor is written like this.
    #[must_use]
    pub fn cancel_key(actor: &str) -> String {
        format!("{CANCEL}:{actor}")
    }
}

/// Asks the program that is at a task to stop: the stage that handed the task out is given to another worker, which hands it out
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCancel {
    /// The token of the hand-out.
    pub pass: String,
    /// Name of the actor.
    pub actor: String,
    /// The order.
    pub order: String,
    /// Number of the hand-out.
    pub hand_out: i32,
    /// Reason: `overdue`, `node_lost`, `released` or `unheld`.
    pub reason: String,
}

/// The answer to a message of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The order, if the message named one.
    pub id: Option<String>,
    /// `accepted`, `duplicate`, `conflict`, `rejected`, `done` for an action; `answered`, `failed` or
    /// `waiting` for a call.
    pub status: String,
    /// Present status of the order, if it exists.
    #[serde(rename = "orderStatus", default, skip_serializing_if = "Option::is_none")]
    pub order_status: Option<String>,
    /// Note that something was not done exactly as requested, such as a sending time in the future.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Reason for which it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
    /// The call, for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallView>,
}

/// A call to a live order, as it is shown and answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallView {
    /// The caller's key: the same key is never handled twice.
    pub key: String,
    /// Name of the call.
    pub name: String,
    /// `waiting`, `answered` or `failed`.
    pub status: String,
    /// Answer of the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payload" = true))]
    pub answer: Option<Value>,
    /// Error that stands in place of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
    /// Time at which it arrived.
    #[serde(serialize_with = "time::serialize")]
    pub received_at: Timestamp,
    /// Time at which it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub answered_at: Option<Timestamp>,
}

/// Error of a call without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallError {
    /// The class of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Message for people.
    #[schemars(extend("x-payload" = true))]
    pub message: String,
}

/// Place of a sequential order in its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlace {
    /// The queue.
    pub queue: String,
    /// Place in the queue; the smallest of the queue owns it.
    pub position: i64,
}

/// A stage that may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyNews {
    /// Our number of the order.
    pub no: i64,
    /// Number that the hand-out will have.
    pub attempt: i32,
    /// Flow marker.
    pub flow: String,
    /// `high`, `normal`, `low`.
    pub priority: String,
    /// Queue and position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<QueuePlace>,
    /// True if it was woken from a suspension.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub woken: bool,
    /// The stream whose command to wake it is repeated by this, if it is a repeat (ACT-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_of: Option<String>,
}

/// A stage that ended in any way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedStage {
    /// Our number of the order.
    pub no: i64,
    /// Number of the hand-out.
    pub attempt: i32,
    /// Incarnation of the node that ran it.
    pub node: i64,
    /// The queue that the order left by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_queue: Option<String>,
    /// Time that it ran.
    pub duration_ms: u64,
    /// Time for which it was ready before it was claimed; none for one that was broken off or is held before a call,
    /// which says nothing about its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// Class of the error, if it ended by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// Reason for which a hand-out was not claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// No such stage is ready any more.
    Gone,
    /// Another order is at the head of its queue.
    Behind,
    /// The node has no room, or is stopping.
    Busy,
    /// The dispatcher that sent it is no longer the active one.
    StaleEpoch,
}

/// A hand-out that was not claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedHandOut {
    /// Our number of the order.
    pub no: i64,
    /// Number of the hand-out.
    pub attempt: i32,
    /// Incarnation of the node that refused.
    pub node: i64,
    /// Serial of the hand-out among those of its dispatcher.
    pub serial: u64,
    /// Epoch of that dispatcher: another one does not know the serial.
    pub epoch: i64,
    /// Reason of the refusal.
    pub why: RefusalReason,
}

/// An order that is no member of its queue any more, or not ready any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Our number of the order.
    pub no: i64,
    /// Number of the hand-out that will not be, if a stage of it was ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i32>,
    /// The queue that it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}

/// Change of the number of requests that a flow has open at a called system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestsNews {
    /// The flow.
    pub flow: String,
    /// The called system.
    pub system: String,
    /// Number of requests more, or fewer where it is negative.
    pub by: i32,
}

/// News to the dispatcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// Stages that may run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<ReadyNews>,
    /// Stages that ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedStage>,
    /// Hand-outs that were not claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedHandOut>,
    /// Orders that were taken away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Left>,
    /// Calls of systems that came to an end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallNews>,
    /// Requests that are waited for from now on, or not any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestsNews>,
    /// The set of workers has changed: look at the registry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub workers_changed: bool,
    /// Decisions of operators about flows and systems have changed: read them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rules_changed: bool,
}

/// News to those who follow orders: these have changed, and no other news names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersNews {
    /// Our numbers of the orders.
    #[serde(default)]
    pub changed: Vec<i64>,
}

// Items of messages between services are objects with names, and unknown names are passed over: a node of
// another version beside this one may know a field more or less.

/// A stage that somebody else has ended, or given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenOff {
    /// Our number of the order.
    pub no: i64,
    /// The attempt that is over.
    pub attempt: i32,
}

/// To all workers, under [`work::BREAK_OFF`]: who runs one of these stages stops it at once, because its
/// end would be refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakOff {
    /// The stages.
    pub stages: Vec<BrokenOff>,
}

/// Time at which something is due in a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The stream.
    pub stream: String,
    /// The earliest due time, as milliseconds since 1970.
    pub at: i64,
}

/// News to the activators: something is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueNews {
    /// Streams, each once.
    pub due: Vec<Due>,
}

/// Hand-out of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOut {
    /// Our number of the order.
    pub no: i64,
    /// Number of the hand-out.
    pub attempt: i32,
    /// Number of the hand-out among those of its dispatcher.
    pub serial: u64,
}

/// Hand-outs to one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOuts {
    /// Epoch of the dispatcher.
    pub epoch: i64,
    /// The stages.
    pub orders: Vec<HandedOut>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
