//! Steps of a login, with the result of each.

use std::sync::{Arc, Mutex, PoisonError};

use crate::person::{LoginFailure, Person};

/// Account of how a person was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapExplanation {
    /// Steps in their order, each with its result; the last one is the one that failed, if one did.
    pub steps: Vec<(String, String)>,
    /// The person, or why none was found.
    pub outcome: Result<Person, LoginFailure>,
}

/// Steps that were taken so far; they stay readable where the work on them ends early.
#[derive(Clone, Debug, Default)]
pub(super) struct StepsTaken(Arc<Mutex<Vec<(String, String)>>>);

impl StepsTaken {
    /// Notes a step.
    pub(super) fn note(&self, step: &str, result: impl Into<String>) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push((step.to_owned(), result.into()));
    }

    /// The outcome of a step, noted where it failed.
    pub(super) fn noted<T>(&self, step: &str, outcome: Result<T, LoginFailure>) -> Result<T, LoginFailure> {
        outcome.inspect_err(|failure| self.note(step, failure.to_string()))
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
