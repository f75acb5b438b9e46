//! Differences between two texts of a scenario, and what a change means for orders that are
//! under way (SCN-13).
//!
//! Compares what the texts say, not how they are laid out: comments, order of keys and quotes do
//! not count. Knows the places of states, transitions and actions, and nothing of their meaning.

mod compare;

use std::fmt;

use pagurus_domain::document::{self, Fault};
use serde_json::Value;

/// Everything that is different.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// States that only the second text has.
    pub added: Vec<String>,
    /// States that only the first text has: orders that rest in one of them cannot be moved.
    pub removed: Vec<String>,
    /// States that both have, with what changed in each.
    pub changed: Vec<StateChange>,
    /// Changes outside the states: schema of the parameters, targets, time-outs, …
    pub whole: Vec<ValueChange>,
}

impl Difference {
    /// True if both say the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Changes of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct StateChange {
    /// Name of the state.
    pub state: String,
    /// Changed values.
    pub changes: Vec<ValueChange>,
}

/// A change of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange {
    /// The place: `on.fail`, `actions[1].http.url`.
    pub place: String,
    /// Value of the old text; `None` if nothing stood there.
    pub from: Option<Value>,
    /// Value of the new text; `None` if nothing stands there.
    pub to: Option<Value>,
}

impl fmt::Display for ValueChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(f, "{}: {from} -> {to}", self.place),
            (Some(from), None) => write!(f, "{}: {from} is gone", self.place),
            (None, Some(to)) => write!(f, "{}: {to} is new", self.place),
            (None, None) => write!(f, "{}", self.place),
        }
    }
}

/// Compares two texts of a scenario.
///
/// # Errors
/// The faults of the text that cannot be read, with the number of it: 1 or 2.
pub fn diff(from: &str, to: &str) -> Result<Difference, (u8, Vec<Fault>)> {
    let limits = document::DocumentLimits::default();
    let from = document::parse(from, &limits).map_err(|faults| (1, faults))?.to_json();
    let to = document::parse(to, &limits).map_err(|faults| (2, faults))?.to_json();
    Ok(compare::documents(&from, &to))
}

#[cfg(test)]
mod tests;
