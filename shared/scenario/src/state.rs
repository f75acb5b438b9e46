//! The states of a scenario, and the events that move an order between them. Data only.

use pagurus_domain::id::spelled;

use crate::{Action, Lapse, StateId};

/// Kind of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// Runs its actions, then moves on.
    Plain,
    /// Rests until its time.
    Sleeping,
    /// Rests until its callbacks are in, or their time is over.
    Waiting,
    /// Runs its actions again and again until one of them ends it.
    Polling,
    /// The end.
    Terminal,
}

spelled!(StateKind {
    Plain => "plain",
    Sleeping => "sleeping",
    Waiting => "waiting",
    Polling => "polling",
    Terminal => "terminal",
});

/// True if a terminal state is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalOutcome {
    /// The order ends `success`.
    Success,
    /// The order ends `fail`.
    Fail,
}

spelled!(TerminalOutcome { Success => "success", Fail => "fail" });

/// A node of the workflow.
#[derive(Debug)]
pub struct State {
    /// Name of the state; outsiders see it as the order's `step`.
    pub name: String,
    /// Kind of the state.
    pub kind: StateKind,
    /// True if a restart may resume here.
    pub entry_point: bool,
    /// Actions of the state, in order; empty unless the kind is plain or polling. Branches of a `choose`
    /// are laid out flat and skipped forward over, so that one index is the whole position.
    pub actions: Vec<Action>,
    /// Transitions of the state, at most one for each event.
    pub on: Vec<(Event, StateId)>,
    /// Targets of the events that its scripts raise by names of their own (SCN-16).
    pub named: Vec<(String, StateId)>,
    /// Targets of calls from outside, by their names.
    pub calls: Vec<(String, StateId)>,
    /// The rhythm of a polling state.
    pub poll: Option<Poll>,
    /// An asynchronous retry sends only the failed requests again.
    pub retry_failed_only: bool,
    /// Outcome of the order; only meaningful in a terminal state.
    pub outcome: TerminalOutcome,
}

impl State {
    /// Returns where the event leads.
    #[must_use]
    pub fn target_of(&self, event: Event) -> Option<StateId> {
        self.on.iter().find(|(on, _)| *on == event).map(|(_, to)| *to)
    }

    /// Returns where the event of this name leads that a script raises.
    #[must_use]
    pub fn named_event(&self, name: &str) -> Option<StateId> {
        self.named.iter().find(|(event, _)| event == name).map(|(_, to)| *to)
    }

    /// Returns where the call of this name leads.
    #[must_use]
    pub fn call(&self, name: &str) -> Option<StateId> {
        self.calls.iter().find(|(call, _)| call == name).map(|(_, to)| *to)
    }

    /// True if an order can stand in it while no stage of it runs, without an action of its own.
    #[must_use]
    pub const fn is_rest(&self) -> bool {
        matches!(self.kind, StateKind::Sleeping | StateKind::Waiting)
    }
}

/// The rhythm of a polling state.
#[derive(Debug)]
pub struct Poll {
    /// Delay before the first attempt.
    pub delay: Lapse,
    /// Between two attempts.
    pub interval: Lapse,
    /// Time for all attempts together, from the entry of the state.
    pub timeout: Lapse,
}

/// Event that moves a workflow from state to state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// All actions of the state went through, or a script said so.
    Success,
    /// An action failed for good, or a script said so.
    Fail,
    /// A `sleep` action ended the stage.
    Sleep,
    /// A `wait` action ended the stage.
    Wait,
    /// All callbacks of the wait are in.
    Callback,
    /// The time of a sleep, of a wait or of a polling is over.
    Timeout,
    /// A script of a polling state wants another attempt. Never a transition.
    Poll,
    /// An event that a script raises by a name of its own. Transitions name which.
    Named,
    /// A call from outside. Transitions name which: `call:NAME`.
    Call,
    /// The order has outlived its process time-out.
    ProcessTimeout,
    /// The engine repeats from the last entry point what failed asynchronously (ERR-11). No scenario
    /// names it; the history does.
    Retry,
}

spelled!(Event {
    Success => "success",
    Fail => "fail",
    Sleep => "sleep",
    Wait => "wait",
    Callback => "callback",
    Timeout => "timeout",
    Poll => "poll",
    Named => "named",
    Call => "call",
    ProcessTimeout => "timeout:process",
    Retry => "retry",
});
