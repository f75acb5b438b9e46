//! Invariants of the engine, written once: what must hold at every moment, and what must hold of a whole run.
//!
//! Each is a function over plain data, which says what is broken and changes nothing. Property tests, the simulation, the
//! tests of faults and the running services (the consistency check) bring the data: rows of the tables, calls that a called system got,
//! notifications that a client got. Nothing here is shared with the code that it judges but its words: the graph of
//! statuses, for one, is written a second time.
//!
//! [`standing`] judges the rows of one moment, [`fencing`] who may write, [`life`] the course of an order, [`traffic`] what
//! others saw of it.

pub mod fencing;
pub mod life;
pub mod operation;
pub mod standing;
pub mod traffic;

use std::fmt;

use crate::id::spelled;

/// An invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Invariant {
    /// Nothing that was accepted is lost.
    NothingLost,
    /// No order without a registration.
    NothingInvented,
    /// Each id has one order, and the same registration gets the same answer.
    OneRegistration,
    /// Each change of a status is an edge of the graph.
    StatusGraph,
    /// Each life ends once, and silence follows.
    OneEnd,
    /// Every order ends.
    EverythingEnds,
    /// The transitions are one path.
    OnePath,
    /// The history is numbered without a gap, and only grows.
    WholeHistory,
    /// Each order has at most one live hand-out.
    OneAttempt,
    /// A stale pass changes nothing.
    StalePass,
    /// A key of idempotency stands for one action of one visit of one life.
    OneKey,
    /// Every repeat of a call is explained.
    ExplainedRepeat,
    /// An interrupted order is never executed.
    InterruptedIdle,
    /// A kill, or a cancel, that was answered is the end.
    KillWins,
    /// A stage is handed out again so often, and then it is poison.
    BoundedPoison,
    /// Each queue has one owner.
    OneOwner,
    /// A queue goes by the order of its registrations.
    QueueOrder,
    /// An order begins when all that it waits for has ended as it needs.
    ConditionsHold,
    /// A suspended order wakes.
    WillWake,
    /// Nothing wakes early.
    NeverEarly,
    /// Each callback has one verdict, and each request one outcome.
    CallbackKept,
    /// Each end has one notification, the same in all its copies.
    OneNotification,
    /// No notification of an end that is none.
    NoPhantom,
    /// No more runs than there are places.
    WithinLimits,
    /// Nothing of a stopped flow is handed out.
    StoppedIdle,
    /// Only one dispatcher decides.
    OneDecider,
    /// The work of a lost node goes to others in time.
    TakenOver,
    /// A bulk operation acts once on each order of which it says so.
    AccountsBalance,
    /// Nothing is left over when all orders have ended.
    CleanRest,
    /// The dispatcher counts what the rows say.
    CountsAreRows,
}

spelled!(Invariant {
    NothingLost => "INV-1",
    NothingInvented => "INV-3",
    OneRegistration => "INV-4",
    StatusGraph => "INV-5",
    OneEnd => "INV-6",
    EverythingEnds => "INV-7",
    OnePath => "INV-8",
    WholeHistory => "INV-9",
    OneAttempt => "INV-11",
    StalePass => "INV-12",
    OneKey => "INV-13",
    ExplainedRepeat => "INV-14",
    InterruptedIdle => "INV-15",
    KillWins => "INV-16",
    BoundedPoison => "INV-17",
    OneOwner => "INV-18",
    QueueOrder => "INV-19",
    ConditionsHold => "INV-21",
    WillWake => "INV-22",
    NeverEarly => "INV-23",
    CallbackKept => "INV-24",
    OneNotification => "INV-26",
    NoPhantom => "INV-27",
    WithinLimits => "INV-29",
    StoppedIdle => "INV-30",
    OneDecider => "INV-31",
    TakenOver => "INV-32",
    AccountsBalance => "INV-34",
    CleanRest => "INV-35",
    CountsAreRows => "INV-36",
});

/// An invariant that does not hold, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub invariant: Invariant,
    /// Evidence, for people.
    pub evidence: String,
}

impl Violation {
    /// A violation with its evidence.
    #[must_use]
    pub fn of(invariant: Invariant, evidence: impl Into<String>) -> Self {
        Self { invariant, evidence: evidence.into() }
    }

    /// None where it holds; the evidence is made only where it does not.
    #[must_use]
    pub fn unless(holds: bool, invariant: Invariant, evidence: impl FnOnce() -> String) -> Option<Self> {
        (!holds).then(|| Self::of(invariant, evidence()))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.evidence)
    }
}
