//! A scenario as it was read, with the place of everything that a check may complain about.
//!
//! Between the tree of the file and the model: names are not resolved yet, and what could not be
//! read is `None`, so that one fault does not bring forth others. Must never run or be kept.

use pagurus_domain::document::{Fault, Position};

use crate::value::Template;
use crate::{Action, EnterAction, Event, Poll, StateKind, TerminalOutcome};

/// A place in the file, as faults name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Line and column.
    pub at: Position,
    /// The same place as a JSON pointer.
    pub pointer: String,
}

impl Mark {
    /// A fault at this place.
    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::placed(Some(self.at), self.pointer.clone(), message)
    }
}

/// A name with its place.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// The name.
    pub name: String,
    /// Place in the file.
    pub mark: Mark,
}

/// A scenario before its checks.
#[derive(Debug)]
pub(crate) struct Draft {
    /// State in which a fresh order starts.
    pub initial: Option<Named>,
    /// The target states, where the scenario names them.
    pub targets: Option<Vec<Named>>,
    /// The states, in file order.
    pub states: Vec<DraftState>,
    /// Place of the states.
    pub states_mark: Mark,
    /// Calls that are handled in every state.
    pub calls: Vec<DraftCall>,
}

/// A call that is handled in every state, before its checks.
#[derive(Debug)]
pub(crate) struct DraftCall {
    /// Name of the call, at its key.
    pub name: Named,
    /// Actions of the handling.
    pub actions: Vec<DraftAction>,
    /// Answer to the caller.
    pub answer: Option<Template>,
}

/// A state before its checks.
#[derive(Debug)]
pub(crate) struct DraftState {
    /// Name of the state, at its key.
    pub name: Named,
    /// Kind of the state; `None` if the file names no kind that exists.
    pub kind: Option<StateKind>,
    /// The place of `entryPoint: true`.
    pub entry_point: Option<Mark>,
    /// The place of `actions`.
    pub actions_mark: Option<Mark>,
    /// Actions of the state.
    pub actions: Vec<DraftAction>,
    /// The place of `on`.
    pub on_mark: Option<Mark>,
    /// Transitions of the state.
    pub on: Vec<DraftTransition>,
    /// The outcome, where the file names one.
    pub outcome: Option<(TerminalOutcome, Mark)>,
    /// The rhythm of a polling state.
    pub poll: Option<Poll>,
    /// The place of `poll`.
    pub poll_mark: Option<Mark>,
    /// The place of `retryFailedOnly: true`.
    pub retry_failed_only: Option<Mark>,
    /// True if all of its actions and events were understood. Where not, nothing is said about
    /// events that it lacks or has too many.
    pub understood: bool,
}

/// A transition before its checks.
#[derive(Debug)]
pub(crate) struct DraftTransition {
    /// The event; `None` if the file names one that does not exist.
    pub event: Option<Event>,
    /// The name of the call, or of the event that a script raises, where the event is one of these.
    pub name: Option<String>,
    /// Place of the event.
    pub mark: Mark,
    /// The state it leads to.
    pub to: Named,
}

impl DraftTransition {
    /// The event as the file has it.
    pub fn word(&self, event: Event) -> String {
        match (event, &self.name) {
            (Event::Call, Some(name)) => format!("call:{name}"),
            (_, Some(name)) => name.clone(),
            (event, None) => event.to_string(),
        }
    }
}

/// An action before its checks.
#[derive(Debug)]
pub(crate) struct DraftAction {
    /// Place in the file.
    pub mark: Mark,
    /// The action; `None` if it has faults of its own.
    pub action: Option<Action>,
    /// Effect that it can have on its state.
    pub effect: Effect,
    /// The request that it registers.
    pub request: Option<Named>,
    /// The events that it raises by names of their own.
    pub raises: Vec<Named>,
    /// The branches of a `choose`, in their order; empty for all other actions.
    pub branches: Vec<DraftBranch>,
    /// The operation of a `do`.
    pub operation: Option<Box<DraftOperation>>,
}

/// An operation that a scenario runs, read from its own text, which has no faults.
#[derive(Debug)]
pub(crate) struct DraftOperation {
    /// Entry of the operation, whose exit is not placed yet.
    pub enter: EnterAction,
    /// Actions from savepoint to savepoint.
    pub parts: Vec<DraftPart>,
    /// Variables to set from its result.
    pub save: Vec<(String, Template)>,
}

/// Actions of an operation that run in one go.
#[derive(Debug)]
pub(crate) struct DraftPart {
    /// The savepoint in front of them, where it has a name.
    pub savepoint: Option<String>,
    /// The actions.
    pub actions: Vec<DraftAction>,
}

impl DraftAction {
    /// Calls `visit` with this action and with all of its branches.
    pub fn each<'d>(&'d self, visit: &mut dyn FnMut(&'d Self)) {
        visit(self);
        for action in self.branches.iter().flat_map(|branch| &branch.actions) {
            action.each(visit);
        }
    }
}

/// A branch of a `choose`, before its checks.
#[derive(Debug)]
pub(crate) struct DraftBranch {
    /// Condition of the branch; none in the branch that is taken otherwise.
    pub when: Option<Template>,
    /// Actions of the branch.
    pub actions: Vec<DraftAction>,
}

/// Effect that an action can have on its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The word of an action that can raise `fail`.
    pub fails: Option<&'static str>,
    /// True if it can raise `success` before the state's last action.
    pub succeeds: bool,
    /// True if it can ask for another attempt of its polling state.
    pub polls: bool,
    /// True if it can end the stage by `wait`.
    pub waits: bool,
    /// True if it can end the stage by `sleep`.
    pub sleeps: bool,
    /// True if it can suspend the order and go on in the same state afterwards.
    pub suspends: bool,
    /// Event by which it always ends the state.
    pub ends: Option<Event>,
}

impl Effect {
    /// Effect that either of two can have.
    pub fn or(self, other: Self) -> Self {
        Self {
            fails: self.fails.or(other.fails),
            succeeds: self.succeeds || other.succeeds,
            polls: self.polls || other.polls,
            waits: self.waits || other.waits,
            sleeps: self.sleeps || other.sleeps,
            suspends: self.suspends || other.suspends,
            ends: self.ends.or(other.ends),
        }
    }
}
