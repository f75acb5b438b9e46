//! Rows of the tables.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, Incarnation, Life, OrderNo, Pass, RequestId};
use pagurus_domain::invariants::life::HistoryEntry;
use pagurus_domain::order::stage::Wake;
use pagurus_domain::order::{Mode, OrderError, Priority, ScenarioStatus, Status};
use serde_json::Value;

use super::CallbackContent;

/// An order.
#[derive(Clone, Debug)]
pub struct OrderRow {
    /// The client's id.
    pub id: String,
    /// Digest of what was registered.
    pub digest: [u8; 32],
    /// Index of the scenario.
    pub scenario: usize,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue.
    pub queue: Option<String>,
    /// Urgency.
    pub priority: Priority,
    /// Flow marker.
    pub flow: String,
    /// True if the client wants notifications of its ends.
    pub notify: bool,
    /// The request of its parent that its end answers.
    pub answers: Option<RequestId>,
    /// Order that started it.
    pub parent: Option<OrderNo>,
    /// Parameters.
    pub params: Arc<Value>,
    /// Earliest start.
    pub start_at: Option<Timestamp>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Status as it is stored.
    pub status: Status,
    /// Status relative to the target of the scenario.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Last entry point.
    pub entry_point: Option<String>,
    /// Number of the life.
    pub life: Life,
    /// Last hand-out that left something behind.
    pub attempt: Attempt,
    /// States entered in this life.
    pub visited: i32,
    /// First stage of this life.
    pub started_at: Option<Timestamp>,
    /// End of this life.
    pub finished_at: Option<Timestamp>,
    /// Stages of this life.
    pub stages: i32,
    /// Repeats among them.
    pub retries: i32,
    /// Error by which it failed, or waits in `retry`.
    pub error: Option<OrderError>,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Number of the last event.
    pub events: i32,
    /// The history.
    pub history: Vec<HistoryEntry>,
    /// Transitions of this life.
    pub moves: Vec<(String, String)>,
    /// State in which the path of this life begins, if known.
    pub begin: Option<String>,
}

/// A stage that may run.
#[derive(Clone, Debug)]
pub struct ReadyRow {
    /// Token.
    pub pass: Pass,
    /// Number that the hand-out will have.
    pub attempt: Attempt,
    /// Reason to run.
    pub wake: Wake,
    /// Queue and position.
    pub place: Option<(String, i64)>,
    /// Number of times that it was handed out again.
    pub restarts: u16,
    /// True if it was with a worker before.
    pub reissued: bool,
    /// Time since which it may run.
    pub since: Timestamp,
    /// True if fresh ones go beside it in turn.
    pub woken: bool,
    /// Time at which its command is repeated.
    pub repeat_at: Option<Timestamp>,
}

/// A stage with a worker.
#[derive(Clone, Debug)]
pub struct RunningRow {
    /// Token.
    pub pass: Pass,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Reason to run.
    pub wake: Wake,
    /// Number of times that it was handed out again.
    pub restarts: u16,
    /// The queue that it owns.
    pub queue: Option<String>,
    /// Worker that has it.
    pub node: Incarnation,
    /// Start of the stage.
    pub started_at: Timestamp,
    /// Time until which it may be without progress.
    pub deadline_at: Timestamp,
}

/// A suspended order.
#[derive(Clone, Copy, Debug)]
pub struct DueRow {
    /// Kind of wake-up that it waits for.
    pub stream: Stream,
    /// Time of the wake-up.
    pub at: Timestamp,
}

/// A deadline of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadlineKind {
    /// To start.
    Start,
    /// To end.
    Process,
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStatus {
    /// May be answered.
    Open,
    /// Was answered.
    Answered,
    /// Too late.
    Timeout,
    /// Nobody waits any more.
    Canceled,
}

/// A question to another system.
#[derive(Clone, Debug)]
pub struct RequestRow {
    /// The order.
    pub no: OrderNo,
    /// Life of the order.
    pub life: Life,
    /// Visit and action.
    pub place: (u32, u32),
    /// Name in the scenario.
    pub name: String,
    /// State of the request.
    pub status: RequestStatus,
    /// True while the order waits for it.
    pub awaited: bool,
    /// Time at which it was registered.
    pub registered_at: Timestamp,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct CallbackRow {
    /// The request, if there is one.
    pub request: Option<RequestId>,
    /// Outcome of the answer.
    pub verdict: &'static str,
    /// Content of the answer.
    pub content: CallbackContent,
}

/// A stage that may run, as the dispatcher learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyStage {
    /// The order.
    pub no: OrderNo,
    /// Number that the hand-out will have.
    pub attempt: Attempt,
    /// Flow marker.
    pub flow: String,
    /// Urgency.
    pub priority: Priority,
    /// Queue and position.
    pub place: Option<(String, i64)>,
    /// True if it goes on with what was begun.
    pub woken: bool,
}
