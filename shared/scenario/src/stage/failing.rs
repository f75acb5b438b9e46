//! Failures of actions, as they are reported to people: a fault of code names file, line, state and action (SCN-18).

use pagurus_domain::order::OrderError;

use super::super::Action;
use super::super::script::RunError;
use super::{StageRun, StageTurn};

/// A reason for which an action fails.
pub(super) trait Failing {
    /// Returns the failure of the action under the cursor.
    fn into_error(self, run: &StageRun, turn: &StageTurn<'_>) -> OrderError;
}

impl Failing for OrderError {
    fn into_error(self, _: &StageRun, _: &StageTurn<'_>) -> OrderError {
        self
    }
}

impl Failing for RunError {
    fn into_error(self, run: &StageRun, turn: &StageTurn<'_>) -> OrderError {
        let Self { class, message, at } = self;
        let operation = run.entry(turn).map(|enter| &enter.operation);
        let (what, name, file) = match operation {
            Some(operation) => ("operation", &operation.name, &operation.file),
            None => ("scenario", &turn.scenario.name, &turn.scenario.file),
        };
        let mut place =
            file.as_deref().map_or_else(|| format!("{what} `{name}`"), |file| format!("`{file}`"));
        if let Some(at) = at {
            place.push_str(&format!(", line {}, column {}", at.line, at.column));
        }
        OrderError::new(class, format!("{place}, {}: {message}", run.place_of_action(turn)))
    }
}

impl StageRun {
    /// State and action under the cursor, in words.
    fn place_of_action(&self, turn: &StageTurn<'_>) -> String {
        let mut place = match &self.cursor.handling {
            Some(call) => format!("call `{}`", call.name),
            None => format!("state `{}`", turn.scenario.state(self.state).name),
        };
        let at = self.cursor.frame().action;
        let Some(action) = self.present(turn) else { return place };
        // The branches of a `choose` are laid out flat, and so are operations: behind one a number would not be that of
        // the file.
        let is_flat = |one: &Action| matches!(one, Action::Choose { .. } | Action::Enter(_));
        let is_numbered = !self.actions(turn)[..at].iter().any(is_flat);
        place.push_str(&match is_numbered {
            true => format!(", action {} (`{}`)", at + 1, action.word()),
            false => format!(", action `{}`", action.word()),
        });
        place
    }
}
