//! Operations among the actions of a state (SCN-19): their names, their savepoints, their rests, their ends.
//!
//! The actions of an operation are those of the state, between an entry and an exit, so that everything that holds for
//! actions holds for them. What is its own are its names: those of whoever runs it are put aside.

use std::collections::BTreeMap;

use pagurus_domain::classes::{ASYNC_TIMEOUT, OPERATION_PARAMS};
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::retry::{ErrorPolicy, ErrorRules};
use serde_json::{Map, Value};

use super::super::params::operation_faults;
use super::super::{Action, EnterAction, Event, ExitAction, Folded, INSIDE};
use super::input::by_request;
use super::snapshot::{AnsweredCall, Answers, OpenOperation, OperationSavepoint, Snapshot};
use super::task::is_task;
use super::{Callback, Scenario, StageRun, StageTurn, Transition, error_value};

/// Faults of parameters that a failure names.
const SHOWN_FAULTS: usize = 3;

impl StageRun {
    /// Begins an operation: evaluates its parameters, and puts the names of whoever runs it aside.
    pub(super) fn enter_operation(&mut self, enter: &EnterAction, turn: &StageTurn<'_>) {
        let params = match self.params_of(enter, turn) {
            Ok(params) => params,
            Err(error) => return self.leave_frame(Err(error), turn),
        };
        let entry = self.cursor.main.action;
        self.put_names_aside();
        // No script of it judges a call of whoever runs it.
        self.cursor.main.answered = None;
        self.cursor.advance();
        let nothing = || Folded::from(Value::Object(Map::new()));
        let (visit, action) = (self.cursor.visit.number, self.cursor.main.action);
        self.cursor.operations.push(OpenOperation {
            entry,
            params: Folded::from(params),
            vars: nothing(),
            answers: Answers::default(),
            asked: Default::default(),
            result: None,
            has_failed: false,
            savepoint: OperationSavepoint { visit, action, vars: nothing(), answers: Answers::default() },
            requests_around: std::mem::take(&mut self.cursor.requests),
            rounds_around: std::mem::take(&mut self.cursor.rounds),
        });
        self.show_names(turn);
    }

    fn params_of(&self, enter: &EnterAction, turn: &StageTurn<'_>) -> Result<Value, OrderError> {
        use super::failing::Failing as _;
        let params = match &enter.params {
            None => Value::Object(Map::new()),
            Some(params) => {
                let rendered = params.render(&self.context, &turn.settings.scripting);
                // They are stored. What a called system sent back of a secret is none of theirs.
                self.end.kept(rendered.map_err(|error| error.into_error(self, turn))?)
            }
        };
        let refused = |why: String| {
            let message = format!("the parameters of operation `{}` {why}", enter.path());
            Err(OrderError::new(OPERATION_PARAMS, message))
        };
        if !params.is_object() {
            return refused("are no mapping of names to values".to_owned());
        }
        let Some(schema) = &enter.operation.params else { return Ok(params) };
        let faults = operation_faults(&params, schema);
        if faults.is_empty() {
            return Ok(params);
        }
        let shown =
            faults.iter().take(SHOWN_FAULTS).map(|fault| format!("{}: {}", fault.pointer, fault.message));
        refused(format!("do not fit its schema: {}", shown.collect::<Vec<_>>().join("; ")))
    }

    /// Ends the operation that has come to its exit: its result is what the scenario may save of it.
    pub(super) fn exit_operation(&mut self, exit: &ExitAction, turn: &StageTurn<'_>) {
        self.end_repeats_before(turn);
        let Some(operation) = self.cursor.operations.pop() else { return self.cursor.advance() };
        self.take_around(&operation);
        self.show_names(turn);
        self.context.result = Some(operation.result.unwrap_or(Value::Null));
        let saved = self.save(&exit.save, turn);
        self.context.result = None;
        if let Err(error) = saved {
            return self.leave_frame(Err(error), turn);
        }
        // A script that refuses the result has all of it done again.
        let here = self.cursor.main.action;
        let is_judged = self.actions(turn)[here..].iter().any(|next| matches!(next, Action::Script(_)));
        let before = self.context.response.clone();
        self.cursor.main.answered =
            is_judged.then_some(AnsweredCall { action: operation.entry, before, hand_out: 0 });
        self.cursor.advance();
    }

    /// Ends all operations at once, as their state is left: nothing of them goes on.
    pub(super) fn close_operations(&mut self, turn: &StageTurn<'_>) {
        let mut operations = std::mem::take(&mut self.cursor.operations).into_iter();
        let Some(outermost) = operations.next() else { return };
        self.take_around(&outermost);
        let main = &mut self.cursor.main;
        (main.each, main.so_far, main.answered) = (None, None, None);
        main.parallel_done.clear();
        self.show_names(turn);
    }

    fn take_around(&mut self, operation: &OpenOperation) {
        self.cursor.requests.clone_from(&operation.requests_around);
        self.cursor.rounds.clone_from(&operation.rounds_around);
    }

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
    fn show_error(&mut self) {
        let is_own = self.cursor.operation().is_none_or(|operation| operation.has_failed);
        self.context.error = self.cursor.error.as_ref().filter(|_| is_own).map(error_value);
    }

    /// Keeps what a script of an operation said: its result is for whoever runs it, its message a line of the log. Returns
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

    /// Rules and policies for failures: those of the deployment, behind them those of the operations from the inside to the
    /// outside, and those of the scenario.
    pub(super) fn errors<'t>(&self, turn: &StageTurn<'t>) -> ErrorRules<'t> {
        self.cursor.rules(&turn.settings.errors, turn.scenario)
    }

    /// Comes to a savepoint: repeats begin behind it, and what lies before it is stored. It is a visit of its own, so that
    /// what is done again behind it has the same keys as before.
    pub(super) fn pass_savepoint(&mut self, turn: &StageTurn<'_>) {
        self.end_repeats_before(turn);
        let (visit, action) = (self.cursor.visit.number + 1, self.cursor.main.action + 1);
        self.cursor.come_to(visit, action);
        self.cursor.main.each = None;
        self.cursor.main.numbers.clear();
        self.cursor.begin_at(visit, action);
        (self.cursor.visit.hand_out, self.cursor.visit.awaiting) = (0, None);
        let (last, named) = (self.context.response.clone(), self.context.responses.clone());
        let vars = Value::Object(self.context.vars.clone()).into();
        if let Some(operation) = self.cursor.operation_mut() {
            operation.savepoint =
                OperationSavepoint { visit, action, vars, answers: Answers { last, named } };
        }
        self.is_unsaved = true;
    }

    /// Ends the repeat of a rest of this state that the order has come behind.
    fn end_repeats_before(&mut self, turn: &StageTurn<'_>) {
        let state = &turn.scenario.state(self.state).name;
        let here = self.cursor.main.action;
        let is_passed =
            self.cursor.asynchronous.as_ref().is_some_and(|retry| {
                retry.state == *state && retry.action.is_some_and(|action| action < here)
            });
        if is_passed {
            self.cursor.forget_async_retry();
        }
    }

    /// Goes back to the last savepoint of the operation, where its next attempt begins (ERR-11).
    pub(super) fn back_into_operation(&mut self) {
        let here = (self.cursor.visit.number, self.cursor.main.action);
        self.cursor.main.retry.iter_mut().for_each(|retry| retry.failed_at = retry.failed_at.max(Some(here)));
        let Some(savepoint) = self.cursor.operation().map(|operation| operation.savepoint.clone()) else {
            return;
        };
        self.cursor.begin_at(savepoint.visit, savepoint.action);
        self.cursor.list_again();
        self.restore_operation(savepoint);
    }

    /// Begins the due repeat of what failed in a rest of the operation: the same actions ask again, as another visit.
    pub(super) fn repeat_in_operation(&mut self, turn: &StageTurn<'_>) {
        let Some(savepoint) = self.cursor.operation().map(|operation| operation.savepoint.clone()) else {
            return;
        };
        let (visit, action) = (self.cursor.visit.number + 1, savepoint.action);
        self.cursor.come_to(visit, action);
        (self.cursor.visit.hand_out, self.cursor.visit.awaiting) = (0, None);
        self.cursor.main.each = None;
        self.cursor.main.numbers.clear();
        self.cursor.begin_at(visit, action);
        self.restore_operation(savepoint);
        if let Some(operation) = self.cursor.operation_mut() {
            operation.savepoint.visit = visit;
        }
        let name = turn.scenario.state(self.state).name.clone();
        self.end.transitions.push(Transition {
            from: name.clone(),
            event: Event::Retry.as_str().into(),
            to: name,
            at: turn.now,
            said_before: self.end.log.len(),
        });
        self.is_unsaved = true;
    }

    fn restore_operation(&mut self, savepoint: OperationSavepoint) {
        self.context.vars = savepoint.vars.into_map();
        let Answers { last, named } = savepoint.answers;
        (self.context.response, self.context.responses) = (last, named);
    }

    /// Goes on behind the part of the operation that a script has ended by `success()`.
    pub(super) fn end_part(&mut self, turn: &StageTurn<'_>) {
        let here = self.cursor.main.action;
        let mut inside = 0_usize;
        let behind = self.actions(turn).iter().enumerate().skip(here + 1).find(|(_, action)| match action {
            Action::Enter(_) => {
                inside += 1;
                false
            }
            Action::Exit(_) if inside > 0 => {
                inside -= 1;
                false
            }
            Action::Exit(_) => true,
            Action::Savepoint(_) => inside == 0,
            _ => false,
        });
        let next = behind.map_or(here + 1, |(at, _)| at);
        self.cursor.come_to(self.cursor.visit.number, next);
        self.cursor.main.action = next;
    }

    /// Rests at a `wait` or `sleep` of an operation.
    pub(super) fn rest_in_operation(&mut self, event: Event, turn: &StageTurn<'_>) {
        // As in any rest, the last answer is gone behind it.
        (self.context.response, self.context.responses) = (None, BTreeMap::new());
        self.cursor.main.answered = None;
        // A rest is a visit of its own, as that of a state is.
        let visit = self.cursor.visit.number + 1;
        self.cursor.come_to(visit, self.cursor.main.action);
        self.cursor.visit.number = visit;
        let until = self.rest_until.take().unwrap_or(turn.now);
        self.end.over(match event {
            Event::Sleep => Then::Sleep { until },
            _ => Then::Wait { until, requests: self.awaited_requests() },
        });
    }

    /// Takes the event that ends a rest of an operation.
    pub(super) fn leave_rest_in_operation(&mut self, wake: Wake, turn: &StageTurn<'_>) {
        match (self.present(turn), wake) {
            (Some(Action::Sleep(_)), _) => {
                self.requests_are_earlier();
                self.cursor.advance();
            }
            (Some(Action::Wait { .. }), Wake::Callback) => self.leave_wait(Event::Callback, turn),
            (Some(Action::Wait { .. }), _) => self.leave_wait(Event::Timeout, turn),
            _ => {}
        }
    }

    /// Goes on behind a `wait` of an operation, or fails there.
    pub(super) fn pass_wait(&mut self, event: Event, error: Option<OrderError>, turn: &StageTurn<'_>) {
        match (event, error) {
            (Event::Callback, error) => {
                if let Some(error) = error {
                    self.note_failure(error, turn);
                    self.cursor.operation_mut().into_iter().for_each(|operation| operation.has_failed = true);
                    self.show_error();
                }
                self.cursor.advance();
            }
            (_, error) => {
                let nothing = || OrderError::new(ASYNC_TIMEOUT, "nothing came in time");
                self.leave_frame(Err(error.unwrap_or_else(nothing)), turn);
            }
        }
    }
}

impl Snapshot {
    /// Rules and policies for the next failure of an order that stands here: those of the deployment, behind them those of
    /// the operations from the inside to the outside, and those of the scenario.
    #[must_use]
    pub fn rules<'a>(&self, deployment: &'a ErrorPolicy, scenario: &'a Scenario) -> ErrorRules<'a> {
        let open = self.operations.iter().filter(|_| self.handling.is_none());
        let entries = open.filter_map(|operation| entry_of(scenario, self, operation));
        let rules = ErrorRules::of(deployment, &scenario.errors);
        entries.fold(rules, |rules, enter| rules.inside(&enter.operation.name, &enter.operation.errors))
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
