//! Coverage of a scenario by its tests: the states, transitions and error branches that their orders go through (SCN-13).

use std::collections::BTreeSet;

use pagurus_scenario::{Action, Event, Scenario};
use serde_json::{Value, json};

use super::TrialOutcome;

/// Coverage of a scenario by tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// States that an order stood in.
    pub states: CoveredParts,
    /// Transitions that an order took.
    pub transitions: CoveredParts,
    /// Places at which a state runs an operation, each with the operation run to its end (SCN-19).
    pub operations: CoveredParts,
    /// Transitions by a failure or a time that was over; they count among the transitions, too.
    pub error_branches: CoveredParts,
}

/// Coverage of the parts of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredParts {
    /// Number of parts that are reached.
    pub reached: usize,
    /// Parts that no test reaches, in the order of the file.
    pub missed: Vec<String>,
}

impl Coverage {
    /// Coverage by the outcomes of these tests.
    #[must_use]
    pub fn of<'o>(scenario: &Scenario, outcomes: impl IntoIterator<Item = &'o TrialOutcome>) -> Self {
        let (mut entered, mut taken, mut run) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for outcome in outcomes {
            entered.extend(outcome.path.iter().map(String::as_str));
            run.extend(outcome.operations.iter().map(|(state, entry)| (&**state, *entry)));
            taken.extend(outcome.transitions.iter().map(|one| (&*one.from, &*one.event, &*one.to)));
        }
        let mut coverage = Self::default();
        for state in &scenario.states {
            let from = &*state.name;
            coverage.states.note(entered.contains(from), || format!("`{from}`"));
            // Those inside of others, too.
            for (entry, action) in state.actions.iter().enumerate() {
                if let Action::Enter(enter) = action {
                    let text = || format!("the end of operation `{}` in `{from}`", enter.path());
                    coverage.operations.note(run.contains(&(from, entry)), text);
                }
            }
            let by_event = state.on.iter().map(|(event, to)| (Some(*event), event.as_str().to_owned(), *to));
            let by_name = state.named.iter().map(|(name, to)| (None, name.clone(), *to));
            let by_call = state.calls.iter().map(|(name, to)| (None, format!("call:{name}"), *to));
            for (event, word, to) in by_event.chain(by_name).chain(by_call) {
                let to = &*scenario.state(to).name;
                let is_taken = taken.contains(&(from, &*word, to));
                let text = || format!("`{from}` {word} to `{to}`");
                coverage.transitions.note(is_taken, text);
                if matches!(event, Some(Event::Fail | Event::Timeout | Event::ProcessTimeout)) {
                    coverage.error_branches.note(is_taken, text);
                }
            }
        }
        coverage
    }

    /// The least percentage of all.
    #[must_use]
    pub fn least(&self) -> usize {
        let parts = [&self.states, &self.transitions, &self.error_branches, &self.operations];
        parts.map(CoveredParts::percentage).into_iter().min().unwrap_or(100)
    }

    /// The coverage as programs read it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let parts = |parts: &CoveredParts| json!({"reached": parts.reached, "total": parts.total(), "missed": parts.missed});
        json!({
            "states": parts(&self.states),
            "transitions": parts(&self.transitions),
            "errorBranches": parts(&self.error_branches),
            "operations": parts(&self.operations),
        })
    }
}

impl CoveredParts {
    /// Number of all parts.
    #[must_use]
    pub fn total(&self) -> usize {
        self.reached.saturating_add(self.missed.len())
    }

    /// Whole per cent that are reached, rounded down; 100 where there is no part.
    #[must_use]
    pub fn percentage(&self) -> usize {
        self.reached.saturating_mul(100).checked_div(self.total()).unwrap_or(100)
    }

    fn note(&mut self, is_reached: bool, text: impl FnOnce() -> String) {
        if is_reached {
            self.reached = self.reached.saturating_add(1);
        } else {
            self.missed.push(text());
        }
    }
}
