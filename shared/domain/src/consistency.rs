//! Consistency of an order: what its rows say together, held against what can be so (REC-6).
//!
//! A judge gets the facts of one order, all read in one snapshot of the database, and names what contradicts itself, each
//! with the one right repair where there is one; the judgement reads the stored position, and stands with its reader. Every change of an order is one transaction, so
//! that no snapshot shows half of a change; who repairs looks a second time all the same.

mod standing;

use jiff::Timestamp;

use crate::activation::Stream;
use crate::id::{Attempt, Life, OrderNo, RequestId, spelled};
use crate::order::{Mode, Status};

/// A contradiction between the rows of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Inconsistency {
    /// Order that has not ended and stands nowhere.
    NoPlace,
    /// Order in more than one place.
    TwoPlaces,
    /// Ended order in a place.
    PlaceOfEnded,
    /// Rows have a number that no order has: a place, a queue, a deadline, parameters or a position.
    RowsWithoutOrder,
    /// A member of a queue is no order: nobody behind it would ever run.
    QueuedWithoutOrder,
    /// Ended order that still is a member of its queue.
    QueueOwnerGone,
    /// Place and queue of the order disagree about its membership.
    MembershipDiffers,
    /// The position of the order is above the last one that its queue gave away.
    PositionAboveLast,
    /// The stage of the order is with a node that was never registered.
    RunningWithoutNode,
    /// The number of its hand-out is not above that of the last one.
    AttemptBehind,
    /// Order suspended in a stream that nobody looks at, or in that of another status.
    DueWithoutStream,
    /// Order that waits for others without an open condition.
    WaitsForNothing,
    /// Open condition of an order that no longer waits for others.
    ConditionLeftOpen,
    /// Order that waits for the answer to a request that is not stored.
    AwaitedRequestMissing,
    /// All that it waits for is answered, and nobody woke it.
    AnsweredNotWoken,
    /// Call that waits to be handled by an ended order.
    CallWaitingOnEnded,
    /// A notification, a request, a call or an event belongs to a life that it never had.
    UnknownLife,
    /// The list of failures and the order say different things.
    FailureRowMismatch,
    /// Deadline of an ended order.
    DeadlineOfEnded,
    /// Order with a latest start that has not begun, and whose time nobody watches.
    DeadlineMissing,
    /// The parameters of the order are not stored.
    PayloadMissing,
    /// Order suspended in the middle of its scenario without a stored position.
    ContextMissing,
    /// The stored position of the order cannot be read.
    ContextUnreadable,
    /// The version of its scenario is not stored.
    ScenarioMissing,
    /// Events are missing in its history, or there are more than it counted.
    HistoryGap,
}

spelled!(Inconsistency {
    NoPlace => "no_place",
    TwoPlaces => "two_places",
    PlaceOfEnded => "place_of_ended",
    RowsWithoutOrder => "rows_without_order",
    QueuedWithoutOrder => "queued_without_order",
    QueueOwnerGone => "queue_owner_gone",
    MembershipDiffers => "membership_differs",
    PositionAboveLast => "position_above_last",
    RunningWithoutNode => "running_without_node",
    AttemptBehind => "attempt_behind",
    DueWithoutStream => "due_without_stream",
    WaitsForNothing => "waits_for_nothing",
    ConditionLeftOpen => "condition_left_open",
    AwaitedRequestMissing => "awaited_request_missing",
    AnsweredNotWoken => "answered_not_woken",
    CallWaitingOnEnded => "call_waiting_on_ended",
    UnknownLife => "unknown_life",
    FailureRowMismatch => "failure_row_mismatch",
    DeadlineOfEnded => "deadline_of_ended",
    DeadlineMissing => "deadline_missing",
    PayloadMissing => "payload_missing",
    ContextMissing => "context_missing",
    ContextUnreadable => "context_unreadable",
    ScenarioMissing => "scenario_missing",
    HistoryGap => "history_gap",
});

/// The name of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlaceName {
    /// A stage of it may run.
    Ready,
    /// A stage of it is with a worker.
    Running,
    /// Suspended.
    Due,
}

spelled!(PlaceName { Ready => "ready", Running => "running", Due => "due" });

/// The one right repair of an inconsistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsistencyRepair {
    /// A stage of it may run, from where its position is.
    MakeReady {
        /// True where it takes the tail of its queue, unless it is a member.
        joins_queue: bool,
    },
    /// Suspends it in this stream until this time; without a time it waits for other orders.
    Suspend {
        /// The stream.
        stream: Stream,
        /// The time.
        at: Option<Timestamp>,
    },
    /// Removes it from all other places.
    KeepOnly(PlaceName),
    /// Removes it from every place.
    LeavePlaces,
    /// Removes it from its queue.
    LeaveQueue,
    /// The place of the order gets the queue and position that the queue has for it.
    FollowQueue,
    /// Makes it a member of its queue again, at the position that its place has.
    RejoinQueue,
    /// The queue of the order gives away no position any more that is not above its own.
    RaiseQueue,
    /// The stage of the order is handed out again, under a new pass.
    HandOutAgain,
    /// The hand-out of the order gets the next number, and a new pass.
    Renumber,
    /// Starts it, because nothing holds it.
    Start,
    /// The conditions of the order are closed.
    CloseConditions,
    /// Wakes it.
    WakeAnswered,
    /// The calls are answered: it has ended.
    CloseCalls,
    /// The list of failures says what the order says.
    RewriteFailure,
    /// The deadlines of the order are removed.
    DropDeadlines,
    /// The deadline to start is watched again.
    WatchStart,
    /// The rows are removed.
    RemoveRows,
}

/// An inconsistency, with its repair; none where only a person can tell what is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Kind of the finding.
    pub kind: Inconsistency,
    /// The remedy.
    pub repair: Option<ConsistencyRepair>,
}

/// The rows under one number, as one snapshot of the database has them.
#[derive(Clone, Debug)]
pub struct OrderFacts {
    /// The number.
    pub no: OrderNo,
    /// Order; `None` if only other rows have its number.
    pub order: Option<OrderRowFacts>,
    /// Row of `running`.
    pub running: Option<RunningFacts>,
    /// Row of `ready`.
    pub ready: Option<ReadyFacts>,
    /// Row of `due`.
    pub due: Option<DueFacts>,
    /// Membership: queue, position, and the last position that the queue gave away.
    pub queued: Option<(String, i64, Option<i64>)>,
    /// True where it has deadlines.
    pub has_deadlines: bool,
    /// True where one of them is that to start.
    pub has_start_deadline: bool,
    /// True where it has parameters.
    pub has_params: bool,
    /// Position and variables, as JSON.
    pub snapshot: Option<String>,
}

/// The order itself, with what is counted of its other rows.
#[derive(Clone, Debug)]
pub struct OrderRowFacts {
    /// Status as it is stored.
    pub status: Status,
    /// Parallel or sequential.
    pub mode: Mode,
    /// Number of the life.
    pub life: Life,
    /// Last hand-out that left something behind.
    pub attempt: Attempt,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// True where a stage of this life has left something behind.
    pub has_started: bool,
    /// Events that it counted.
    pub events: i64,
    /// Events that its history tells, the registration counted in.
    pub events_in_history: i64,
    /// True where its version is stored.
    pub has_scenario: bool,
    /// Conditions that are neither met nor closed.
    pub open_conditions: i64,
    /// Calls that wait.
    pub waiting_calls: i64,
    /// Greatest life that a notification, request, call or event of it names.
    pub greatest_life: Life,
    /// True where the list of failures says the same of it.
    pub failure_fits: bool,
    /// Requests of it while it waits: id, and true where it is answered; none where there are too many to read.
    pub requests: Option<Vec<(RequestId, bool)>>,
    /// Requests among them that are awaited and open.
    pub awaited_open: i64,
}

/// A row of `running`.
#[derive(Clone, Debug)]
pub struct RunningFacts {
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// The queue that it owns.
    pub queue: Option<String>,
    /// True where its node is, or was, registered.
    pub is_node_known: bool,
}

/// A row of `ready`.
#[derive(Clone, Debug)]
pub struct ReadyFacts {
    /// Number that the hand-out will have.
    pub attempt: Attempt,
    /// Queue and position.
    pub place: Option<(String, i64)>,
    /// True where it was with a worker before.
    pub is_reissued: bool,
}

/// A row of `due`.
#[derive(Clone, Copy, Debug)]
pub struct DueFacts {
    /// Number of the stream.
    pub stream: i16,
}
