//! Operations among the actions of a state (SCN-19): their savepoints, their rests, their ends.
//!
//! The actions of an operation are those of the state, between an entry and an exit, so that everything that holds for
//! actions holds for them. What is its own are its names, which stand in `names`.

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::classes::{ASYNC_TIMEOUT, OPERATION_PARAMS};
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::{Then, Wake};
use serde_json::{Map, Value};

use super::super::params::operation_faults;
use super::super::{Action, EnterAction, Event, ExitAction, Folded};
use super::snapshot::{AnsweredCall, Answers, OpenOperation, OpenRequest, OperationSavepoint};
use super::{StageRun, StageTurn, Transition};

/// Faults of parameters that a failure names.
const SHOWN_FAULTS: usize = 3;

impl StageRun {
    /// Begins an operation: evaluates its parameters, and puts the names of its caller aside.
    pub(super) fn enter_operation(&mut self, enter: &EnterAction, turn: &StageTurn<'_>) {
        let params = match self.params_of(enter, turn) {
            Ok(params) => params,
            Err(error) => return self.fail(error, turn),
        };
        let entry = self.cursor.main.action;
        self.put_names_aside();
        // No script of it judges a call of its caller.
        self.cursor.main.answered = None;
        self.cursor.advance();
        let nothing = || Folded::from(Value::Object(Map::new()));
        let (visit, action) = (self.cursor.visit.number, self.cursor.main.action);
        self.cursor.operations.push(OpenOperation {
            entry,
            params: Folded::from(params),
            vars: nothing(),
            answers: Answers::default(),
            asked: BTreeSet::new(),
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
            return self.fail_at(None, error, turn);
        }
        let state = turn.scenario.state(self.state).name.clone();
        self.end.operations.push((state, operation.entry));
        // A script that refuses the result has all of it done again.
        let here = self.cursor.main.action;
        let is_judged = self.actions(turn)[here..].iter().any(|next| matches!(next, Action::Script(_)));
        let before = self.context.response.clone();
        self.cursor.main.answered =
            is_judged.then_some(AnsweredCall { action: operation.entry, before, hand_out: 0, each: None });
        self.cursor.advance();
    }

    /// Ends all operations at once, as their state is left: nothing of them goes on.
    pub(super) fn close_operations(&mut self, turn: &StageTurn<'_>) {
        let mut operations = std::mem::take(&mut self.cursor.operations).into_iter();
        let Some(outermost) = operations.next() else { return };
        self.cursor.requests.extend(operations.flat_map(|operation| operation.requests_around));
        self.take_around(&outermost);
        let main = &mut self.cursor.main;
        (main.each, main.so_far, main.answered) = (None, None, None);
        main.parallel_done.clear();
        self.show_names(turn);
    }

    fn take_around(&mut self, operation: &OpenOperation) {
        let inside = std::mem::replace(&mut self.cursor.requests, operation.requests_around.clone());
        self.cursor.requests.extend(inside.into_iter().filter_map(OpenRequest::into_over));
        self.cursor.rounds.clone_from(&operation.rounds_around);
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
                self.fail(error.unwrap_or_else(nothing), turn);
            }
        }
    }
}
