//! Warnings of `response` where no call can have left an answer: the last one is gone when an order rests.

use pagurus_domain::document::Fault;

use super::super::noted::Noted;
use crate::{Scenario, State, StateKind};

impl Noted {
    /// The warnings of answers that are read after a rest.
    pub(super) fn of_answers(&self, scenario: &Scenario) -> Vec<Fault> {
        let read = self.mentions.iter().filter(|(path, _)| path[0] == "response");
        let gone = read.filter(|(_, mark)| self.is_gone(&mark.pointer, scenario));
        gone.map(|(_, mark)| {
            let warning =
                mark.fault("no call has left a `response` here: it is lost when the order is suspended");
            warning.hint("put what is needed later into `vars`, or take it from `callbacks.NAME`")
        })
        .collect()
    }

    fn is_gone(&self, pointer: &str, scenario: &Scenario) -> bool {
        let Some((list, number)) = place_of(pointer) else { return false };
        let last = |pointers: &[String], to: usize| {
            let places = pointers.iter().filter_map(|pointer| place_of(pointer));
            places.filter(|(of, at)| *of == list && *at < to).map(|(_, at)| at).max()
        };
        // What an action says of an answer may be about its own.
        match (last(&self.answering, number + 1), last(&self.resting, number)) {
            (Some(answered), Some(rested)) => rested > answered,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => list.strip_prefix("/states/").is_some_and(|state| follows_rests(scenario, state)),
        }
    }
}

/// True if a state is entered from resting states only.
fn follows_rests(scenario: &Scenario, name: &str) -> bool {
    let Some(index) = scenario.states.iter().position(|state| state.name == name) else { return false };
    let leads = |state: &State| {
        let named = state.named.iter().chain(&state.calls).map(|(_, to)| to.0);
        state.on.iter().map(|(_, to)| to.0).chain(named).any(|to| to == index)
    };
    let before: Vec<&State> = scenario.states.iter().filter(|state| leads(state)).collect();
    let rests = |state: &&State| matches!(state.kind, StateKind::Waiting | StateKind::Sleeping);
    scenario.initial.0 != index && !before.is_empty() && before.iter().all(rests)
}

/// The list of actions in which a place stands, and the number of its action there.
fn place_of(pointer: &str) -> Option<(&str, usize)> {
    pointer.match_indices("/actions/").find_map(|(at, word)| {
        let rest = &pointer[at + word.len()..];
        Some((&pointer[..at], rest.split('/').next()?.parse().ok()?))
    })
}
