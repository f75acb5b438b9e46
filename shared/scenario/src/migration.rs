//! Tells if an order can go on under another version of its scenario. Decides for one order that
//! rests; must never look at anything but the two versions and where the order stands.

#[cfg(test)]
mod tests;

use pagurus_domain::order::Status;

use crate::stage::Snapshot;
use crate::{Scenario, State};

/// Reason for which an order stays on its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Hindrance {
    /// A stage is with a worker, or the order is over.
    #[error("an order in status `{0}` does not rest; a running one can be moved once it rests again")]
    NotResting(&'static str),
    /// The new version does not have the state.
    #[error("the new version has no state `{0}`")]
    NoState(String),
    /// The state is of another kind there.
    #[error("state `{state}` is {from} in the old version and {to} in the new one")]
    OtherKind {
        /// The state.
        state: String,
        /// Kind of the state in the old version.
        from: &'static str,
        /// Kind of the state in the new one.
        to: &'static str,
    },
    /// The order is to repeat an action that is another one there.
    #[error(
        "the order stands before action {number} of state `{state}`, which is another one in the new version"
    )]
    OtherAction {
        /// The state.
        state: String,
        /// Number of the action, from 1.
        number: usize,
    },
    /// A call from outside is being handled.
    #[error("the order is handling a call; it can be moved once that is answered")]
    HandlesCall,
    /// The position that an order brings along cannot be read.
    #[error("the stored position of the order cannot be read")]
    Unreadable,
}

/// True if an order that rests here can go on under the new version.
///
/// # Errors
/// Why not.
pub fn move_to(from: &Scenario, to: &Scenario, status: Status, order: &Snapshot) -> Result<(), Hindrance> {
    let rests = matches!(
        status,
        Status::New
            | Status::Postponed
            | Status::Sleep
            | Status::Wait
            | Status::Polling
            | Status::Retry
            | Status::Reopen
    );
    if !rests {
        return Err(Hindrance::NotResting(status.as_str()));
    }
    if order.handling.is_some() {
        return Err(Hindrance::HandlesCall);
    }
    // Nothing was executed yet: the order begins at the initial state, whichever that is.
    let Some(name) = order.visit.state.as_deref() else {
        return Ok(());
    };
    // What failed asynchronously is repeated from its entry point.
    let repeats = order.asynchronous.as_ref().is_some_and(|retry| retry.from_entry_point);
    let entry = order.entry_point.as_ref().filter(|_| repeats);
    if let Some(entry) = entry.filter(|entry| to.state_named(&entry.state).is_none()) {
        return Err(Hindrance::NoState(entry.state.clone()));
    }
    let find = |scenario: &Scenario| scenario.state_named(name);
    let Some(new) = find(to).map(|id| to.state(id)) else {
        return Err(Hindrance::NoState(name.to_owned()));
    };
    match find(from).map(|id| from.state(id)) {
        Some(old) if old.kind != new.kind => Err(Hindrance::OtherKind {
            state: name.to_owned(),
            from: old.kind.as_str(),
            to: new.kind.as_str(),
        }),
        Some(old) => same_actions(old, new, order),
        None => Ok(()),
    }
}

/// True if a failed order can be restarted under the new version: at its entry point, or from the initial state.
///
/// # Errors
/// Why not.
pub fn restart_under(to: &Scenario, entry_point: Option<&str>) -> Result<(), Hindrance> {
    match entry_point.filter(|name| to.state_named(name).is_none()) {
        None => Ok(()),
        Some(name) => Err(Hindrance::NoState(name.to_owned())),
    }
}

/// Checks that both versions do the same things up to the position of the order, by the words of their
/// actions: an order in the middle of a state goes on behind what it has done.
fn same_actions(old: &State, new: &State, order: &Snapshot) -> Result<(), Hindrance> {
    let word = |state: &State, at: usize| state.actions.get(at).map(crate::Action::word);
    // Before the first action there is nothing behind the order, unless it awaits an outcome.
    if order.main.action == 0 && order.visit.awaiting.is_none() {
        return Ok(());
    }
    let other = (0..=order.main.action).find(|at| word(old, *at) != word(new, *at));
    // In the middle of an operation the order goes on with that very version of it.
    let mut entries = order.operations.iter().map(|operation| operation.entry);
    let other = other.or_else(|| entries.find(|at| operation(old, *at) != operation(new, *at)));
    match other {
        None => Ok(()),
        Some(at) => Err(Hindrance::OtherAction { state: new.name.clone(), number: at + 1 }),
    }
}

/// Name and version of the operation that begins at this action.
fn operation(state: &State, at: usize) -> Option<(&str, Option<i32>)> {
    match state.actions.get(at) {
        Some(crate::Action::Enter(enter)) => Some((&enter.operation.name, enter.operation.version)),
        _ => None,
    }
}
