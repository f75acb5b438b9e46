//! Whether an order can go on under another version of its scenario. Decides for one order that
//! rests; must never look at anything but the two versions and where the order stands.

use crate::order::Status;
use crate::scenario::{Scenario, State};

/// Where an order rests.
#[derive(Clone, Copy, Debug)]
pub struct Resting<'a> {
    /// Its status.
    pub status: Status,
    /// The state it stands in; none before its first stage.
    pub state: Option<&'a str>,
    /// The action that comes next in the state.
    pub action: usize,
}

/// Why an order stays on its version.
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
        /// Its kind in the old version.
        from: &'static str,
        /// Its kind in the new one.
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
    /// What an order brings along cannot be read.
    #[error("the stored position of the order cannot be read")]
    Unreadable,
}

/// Whether an order that rests here can go on under the new version.
///
/// # Errors
/// Why not.
pub fn move_to(from: &Scenario, to: &Scenario, order: Resting<'_>) -> Result<(), Hindrance> {
    let rests = matches!(
        order.status,
        Status::New
            | Status::Postponed
            | Status::Sleep
            | Status::Wait
            | Status::Polling
            | Status::Retry
            | Status::Reopen
    );
    if !rests {
        return Err(Hindrance::NotResting(order.status.as_str()));
    }
    // Nothing was executed yet: the order begins at the initial state, whichever that is.
    let Some(name) = order.state else {
        return Ok(());
    };
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
        Some(old) => same_actions(old, new, order.action),
        None => Ok(()),
    }
}

/// An order in the middle of a state goes on behind what it has done: up to there both versions
/// must do the same things, by the words of their actions.
fn same_actions(old: &State, new: &State, action: usize) -> Result<(), Hindrance> {
    let word = |state: &State, at: usize| state.actions.get(at).map(super::super::Action::word);
    if action == 0 {
        return Ok(());
    }
    match (0..=action).find(|at| word(old, *at) != word(new, *at)) {
        None => Ok(()),
        Some(at) => Err(Hindrance::OtherAction { state: new.name.clone(), number: at + 1 }),
    }
}
