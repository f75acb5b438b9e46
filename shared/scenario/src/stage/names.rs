//! The names that the actions of a stage see: those of the innermost operation, or of the scenario itself (SCN-19). Those of
//! its caller are put aside.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::{Action, EnterAction, Folded, INSIDE};
use super::input::by_request;
use super::snapshot::{Answers, OpenOperation, Snapshot};
use super::task::is_task;
use super::{Callback, Scenario, StageRun, StageTurn, error_value};

impl StageRun {
    /// Stores the names that the actions see where they belong.
    pub(super) fn put_names_aside(&mut self) {
        let vars = std::mem::take(&mut self.context.vars);
        let (last, named) = (self.context.response.take(), std::mem::take(&mut self.context.responses));
        let answers = Answers { last, named };
        match self.cursor.operation_mut() {
            Some(operation) => {
                (operation.vars, operation.answers) = (Folded::from(Value::Object(vars)), answers);
            }
            None => (self.cursor.vars, self.cursor.main.answers) = (vars, answers),
        }
    }

    /// Shows the actions the names of the innermost operation, or those of the scenario.
    pub(super) fn show_names(&mut self, turn: &StageTurn<'_>) {
        let (vars, answers) = match self.cursor.operation_mut() {
            Some(operation) => {
                let vars = std::mem::replace(&mut operation.vars, Value::Null.into());
                (vars.into_map(), std::mem::take(&mut operation.answers))
            }
            None => (std::mem::take(&mut self.cursor.vars), std::mem::take(&mut self.cursor.main.answers)),
        };
        self.context.vars = vars;
        (self.context.response, self.context.responses) = (answers.last, answers.named);
        self.context.params =
            self.cursor.operation().map_or_else(|| self.params.clone(), |operation| operation.params.clone());
        self.context.callbacks = shown_callbacks(turn.received, &self.cursor, turn.scenario);
        self.show_error();
    }

    /// Shows the last failure, where it arose in what runs.
    pub(super) fn show_error(&mut self) {
        let is_own = self.cursor.operation().is_none_or(|operation| operation.has_failed);
        self.context.error = self.cursor.error.as_ref().filter(|_| is_own).map(error_value);
    }

    /// Keeps what a script of an operation said: its result is for its caller, its message a line of the log. Returns
    /// what is said of the order itself.
    pub(super) fn hear(
        &mut self,
        result: Option<Value>,
        message: Option<String>,
        turn: &StageTurn<'_>,
    ) -> (Option<Value>, Option<String>) {
        let Some(operation) = self.cursor.operation_mut() else { return (result, message) };
        operation.result = result.or_else(|| operation.result.take());
        message.into_iter().for_each(|line| self.end.log(turn.now, line));
        (None, None)
    }

    /// Puts the names that the actions see aside for a call that is handled beside them. Returns the variables that it
    /// sees, which are those of the scenario itself.
    pub(super) fn vars_for_call(&mut self) -> Map<String, Value> {
        if self.cursor.operation().is_some() {
            self.put_names_aside();
            return self.cursor.vars.clone();
        }
        let (last, named) = (self.context.response.take(), std::mem::take(&mut self.context.responses));
        self.cursor.main.answers = Answers { last, named };
        self.context.vars.clone()
    }

    /// Shows the call that was just begun the names of the scenario itself.
    pub(super) fn show_names_to_call(&mut self, turn: &StageTurn<'_>) {
        if self.cursor.operations.is_empty() {
            return;
        }
        self.context.vars = std::mem::take(&mut self.cursor.vars);
        self.context.params = self.params.clone();
        self.context.callbacks = shown_callbacks(turn.received, &self.cursor, turn.scenario);
        self.show_error();
    }

    /// Shows the actions their names again behind a call.
    pub(super) fn show_names_behind_call(&mut self, turn: &StageTurn<'_>) {
        if self.cursor.operations.is_empty() {
            let Answers { last, named } = std::mem::take(&mut self.cursor.main.answers);
            (self.context.response, self.context.responses) = (last, named);
            return;
        }
        self.cursor.vars = std::mem::take(&mut self.context.vars);
        self.show_names(turn);
    }

    /// The entry of the innermost operation.
    pub(super) fn entry<'t>(&self, turn: &StageTurn<'t>) -> Option<&'t EnterAction> {
        entry_of(turn.scenario, &self.cursor, self.cursor.operation()?)
    }
}

/// The entry of an operation that is being carried out.
pub(super) fn entry_of<'s>(
    scenario: &'s Scenario,
    cursor: &Snapshot,
    operation: &OpenOperation,
) -> Option<&'s EnterAction> {
    let state = scenario.state_named(cursor.visit.state.as_deref()?)?;
    match scenario.state(state).actions.get(operation.entry) {
        Some(Action::Enter(enter)) => Some(enter),
        _ => None,
    }
}

/// The callbacks that the actions of a position see, by the names that they know: an operation sees those of its own
/// requests.
pub(super) fn shown_callbacks(
    received: &[Callback],
    cursor: &Snapshot,
    scenario: &Scenario,
) -> BTreeMap<String, Folded> {
    let operation = cursor.operation();
    let prefix = operation.and_then(|operation| entry_of(scenario, cursor, operation));
    let prefix = prefix.map_or("", |enter| enter.prefix.as_str());
    let is_shown = |name: &str| {
        let local = name.strip_prefix(prefix).filter(|local| !local.contains(INSIDE));
        local.is_some_and(|local| {
            let base = local.split('.').next().unwrap_or_default();
            operation.is_none_or(|operation| operation.asked.contains(base))
        })
    };
    let shown = received.iter().filter(|callback| !is_task(&callback.name) && is_shown(&callback.name));
    let rounds = match cursor.operations.first().filter(|_| operation.is_none()) {
        Some(outermost) => &outermost.rounds_around,
        None => &cursor.rounds,
    };
    let named = by_request(shown, rounds);
    named.into_iter().map(|(name, value)| (local_name(&name).to_owned(), value)).collect()
}

/// The name of a request as its scenario or operation knows it.
pub(super) fn local_name(name: &str) -> &str {
    name.rsplit(INSIDE).next().unwrap_or(name)
}
