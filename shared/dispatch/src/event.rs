//! Events that the dispatcher receives, and its answers: plain data, no decisions.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{FlowRecord, FlowStop, OpenRequests, SystemOverride, SystemRecord};
use pagurus_domain::id::{Attempt, Incarnation, OrderNo, spelled};
use pagurus_domain::maintenance::MaintenanceWindow;
use pagurus_domain::order::{Mode, Priority};
use pagurus_domain::system::CallSamples;

/// A stage that may run, as its row in the table of ready stages says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The order.
    pub no: OrderNo,
    /// Tells one readiness of an order from the next: it grows with each new row, so that late
    /// news of an earlier stage cannot be taken for news of this one.
    pub attempt: Attempt,
    /// Flow by which capacity is shared and counted.
    pub flow: Arc<str>,
    /// Priority.
    pub priority: Priority,
    /// True if it starts or goes on.
    pub lane: Lane,
    /// Position in its queue; `None` for an order that runs beside all others.
    pub place: Option<QueuePosition>,
}

impl Ready {
    /// Returns the capacity that the stage counts against.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        if self.place.is_some() { Mode::Sequential } else { Mode::Parallel }
    }
}

/// True if a stage begins an order or goes on with one. The two take turns within a priority, so
/// that a mass wake-up never holds up fresh orders, nor a mass registration those that wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// The first stage of an order.
    Fresh,
    /// A stage after a suspension, a retry or a recovery.
    Woken,
}

spelled!(Lane { Fresh => "fresh", Woken => "woken" });

/// Position of a sequential order in its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePosition {
    /// The queue's name.
    pub queue: Arc<str>,
    /// Smaller goes first; unique within the queue, and newcomers always get a greater one.
    pub position: i64,
}

/// The decision that a stage may run now, on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandOut {
    /// The order.
    pub no: OrderNo,
    /// Number of its readiness.
    pub attempt: Attempt,
    /// Who shall run it.
    pub node: Incarnation,
    /// Number of the hand-out of this dispatcher. A refusal repeats it: a late or doubled one
    /// must not be taken for the refusal of a later hand-out of the same stage.
    pub serial: u64,
}

/// Why a worker did not take what it was handed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The ready row does not exist any more. A worker must not say this of a stage that itself
    /// runs already: a message delivered twice is to be dropped in silence.
    Gone,
    /// The order is not the head of its queue.
    Behind,
    /// The node is full or draining.
    Busy,
    /// The hand-out came from a dispatcher that has been replaced.
    Epoch,
}

spelled!(Refusal {
    Gone => "gone",
    Behind => "behind",
    Busy => "busy",
    Epoch => "epoch",
});

/// A stage that runs, as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The order.
    pub no: OrderNo,
    /// Number of the readiness that was claimed.
    pub attempt: Attempt,
    /// Who runs it.
    pub node: Incarnation,
    /// The flow it counts for.
    pub flow: Arc<str>,
    /// The queue it owns, if it is a sequential order.
    pub queue: Option<Arc<str>>,
}

/// Stages that really are in progress. Read the ready rows first, or both in one statement: a claim moves
/// a row from ready to running, and read the other way round it would be seen in neither. The next
/// reading must not begin before this one was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgress {
    /// All that runs.
    pub running: Vec<Running>,
    /// Stages of the last answer of [`super::Dispatcher::doubtful`] that still are ready, with attempt.
    pub ready: Vec<(OrderNo, Attempt)>,
}

/// The present head of a queue that [`super::Dispatcher::wanted_queues`] asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueHead {
    /// The queue's name.
    pub queue: Arc<str>,
    /// The member with the smallest position; none if the queue has no members.
    pub head: Option<QueueMember>,
}

/// A member of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueMember {
    /// The order.
    pub no: OrderNo,
    /// Position in the queue.
    pub position: i64,
    /// Ready row, if it has one.
    pub ready: Option<Ready>,
}

/// Measured of a stage that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageMeasured {
    /// Time from claimed to ended.
    pub took: Duration,
    /// Time from ready to claimed.
    pub waited: Duration,
    /// Class of the error that it ended with, if it did.
    pub class: Option<Arc<str>>,
}

/// Change of the number of open requests of a flow to a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestsMoved {
    /// The flow.
    pub flow: Arc<str>,
    /// The system that is to answer.
    pub system: Arc<str>,
    /// Number of requests more, or fewer where it is negative.
    pub by: i32,
}

/// An event that the dispatcher receives. Each may come late, twice, out of order or not at all,
/// except where it says that the tables were read.
#[derive(Clone, Debug, PartialEq)]
pub enum DispatchEvent {
    /// Stages that may run: news, or a page of the re-reading of the table. After a start they
    /// come by ascending number, so that the old keep their turn.
    Ready(Vec<Ready>),
    /// A stage that was ready will not run: canceled or interrupted.
    LeftReady {
        /// The order.
        no: OrderNo,
        /// Number of its readiness.
        attempt: Attempt,
    },
    /// An order is no longer a member of its queue, other than by the end of a stage: released by
    /// the scenario or by hand, or canceled while it was suspended.
    LeftQueue {
        /// The order.
        no: OrderNo,
        /// The queue that is free now.
        queue: Arc<str>,
    },
    /// A stage ended, in whatever way.
    Ended {
        /// The order.
        no: OrderNo,
        /// Number of the readiness that had been claimed.
        attempt: Attempt,
        /// The queue that the order left by it; none if it keeps its queue or never had one.
        left_queue: Option<Arc<str>>,
        /// Measurements of it; none where it ended without running.
        measured: Option<StageMeasured>,
    },
    /// Calls that stages made and that came to an end, or were sent and will be answered by callback.
    Called(Vec<CallSamples>),
    /// Requests are awaited from now on, or not any more.
    RequestsMoved(Vec<RequestsMoved>),
    /// The rows of open requests begin to be counted: the next [`DispatchEvent::OpenRequests`] says what there was now.
    RequestsMarked,
    /// The tables were read: all requests that are sent and unanswered. The first reading after a start counts as it is.
    OpenRequests(Vec<OpenRequests>),
    /// All that is ready was read: since when the oldest of each flow may run. Of flows that are not listed nothing was.
    OldestReady(Vec<(Arc<str>, Timestamp)>),
    /// The tables were read: all stops by hand that hold now or later. Nothing is handed out before the first.
    Stops(Vec<FlowStop>),
    /// The tables were read: all orders of operators about systems that hold now or later.
    SystemOverrides(Vec<SystemOverride>),
    /// All maintenance windows that are open now or later. To be sent before stops and orders about systems.
    Windows(Vec<MaintenanceWindow>),
    /// Knowledge of the dispatcher before this one: sent once, before anything is handed out.
    Remembered {
        /// Records of flows.
        flows: Vec<FlowRecord>,
        /// Records of called systems.
        systems: Vec<SystemRecord>,
    },
    /// A worker did not take a hand-out of this dispatcher. Refusals of what a former one handed
    /// out must not be sent: their serials mean nothing here.
    Refused {
        /// Hand-out that it refuses.
        hand_out: HandOut,
        /// Why not.
        why: Refusal,
    },
    /// A worker node is there, or runs with another concurrency than before.
    NodeUp {
        /// The node.
        node: Incarnation,
        /// Stages that it runs at once, at most.
        concurrency: u32,
    },
    /// A worker node finishes what it has and takes nothing more.
    NodeDraining {
        /// The node.
        node: Incarnation,
    },
    /// A worker node is gone. What it ran counts as in progress until recovery has dealt with it.
    NodeDown {
        /// The node.
        node: Incarnation,
    },
    /// The tables were read: this is in progress. Nothing is handed out before the first one.
    InProgress(InProgress),
    /// The tables were read: these are the heads of the queues asked for.
    QueueHeads(Vec<QueueHead>),
}
