//! Reasons for which an order does not run now, as a closed list for programs (ORD-28). Figures of orders by what they wait for
//! have the same words, as far as the tables tell, and a sleep by its group.

use crate::id::spelled;

/// Reason for which no worker is at an order now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitReason {
    /// Ended.
    Ended,
    /// A worker is at it.
    Running,
    /// Sleeps, as its scenario says.
    Sleep,
    /// Waits for callbacks, decisions of actors, children, or calls from outside.
    Wait,
    /// Waits for an actor whose programs are connected and have other tasks in hand, or take none.
    ActorBusy,
    /// Polls, and rests between two attempts.
    Polling,
    /// Failed, and is repeated later.
    Retry,
    /// Waits for its start time.
    Postponed,
    /// Waits for other orders.
    Dependent,
    /// May run, and is about to be handed out.
    Worker,
    /// Stands behind others of its queue.
    Queue,
    /// Waits because its flow is stopped: by hand, by a window, or for the sake of its called system.
    FlowStopped,
    /// Waits because its flow has as much in progress as it may.
    FlowLimited,
    /// The called system is left alone.
    System,
    /// No dispatcher leads.
    NoDispatcher,
    /// No worker takes stages.
    NoWorker,
    /// All places are taken.
    Capacity,
    /// Stands nowhere, which the consistency check repairs.
    Nowhere,
}

spelled!(WaitReason {
    Ended => "ended",
    Running => "running",
    Sleep => "sleep",
    Wait => "wait",
    ActorBusy => "actor_busy",
    Polling => "polling",
    Retry => "retry",
    Postponed => "postponed",
    Dependent => "dependent",
    Worker => "worker",
    Queue => "queue",
    FlowStopped => "flow_stopped",
    FlowLimited => "flow_limited",
    System => "system",
    NoDispatcher => "no_dispatcher",
    NoWorker => "no_worker",
    Capacity => "capacity",
    Nowhere => "nowhere",
});
