//! Calls from outside, handled while the order rests (SCN-9).
//!
//! A call moves the order where its state says so (`on: {call:NAME: STATE}`), or is handled beside
//! it by the scenario's `calls`. The rest, its timer with it, goes on afterwards unless the order
//! was moved.

use pagurus_domain::classes::CALL_REFUSED;
use pagurus_domain::order::stage::Then;
use pagurus_domain::order::{OrderError, Status};
use serde_json::{Value, json};

use super::super::Folded;
use super::failing::Failing as _;
use super::snapshot::{Frame, Handling, Mover, Remembered, Rest};
use super::{StageRun, StageTurn};

/// A call that waits for the order.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Number under which it is stored.
    pub no: i64,
    /// Name of the call.
    pub name: String,
    /// Body of the call.
    pub body: Folded,
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAnswer {
    /// Number under which it is stored.
    pub no: i64,
    /// The answer for the caller, or the reason for which there is none.
    pub outcome: Result<Value, OrderError>,
}

/// A call as `event` shows it.
pub(super) fn event_value(name: &str, body: &Folded) -> Folded {
    json!({"name": name, "body": body}).into()
}

impl StageRun {
    /// Begins the next call that waits; false where none does.
    pub(super) fn begin_call(&mut self, turn: &StageTurn<'_>) -> bool {
        let Some(call) = self.calls.pop_front() else { return false };
        let state = turn.scenario.state(self.state);
        let event = event_value(&call.name, &call.body);
        if let Some(to) = state.call(&call.name) {
            let into = &turn.scenario.state(to).name;
            self.end.log(turn.now, format!("call `{}` leads to `{into}`", call.name));
            self.resting = None;
            self.cursor.main.rest = None;
            self.close_operations(turn);
            self.requests_are_earlier();
            self.cursor.forget_async_retry();
            // The one before it has come no further than here.
            self.answer_mover(turn);
            self.context.event = Some(event.clone());
            self.cursor.mover = Some(Mover { no: call.no, event, answer: None });
            self.go(format!("call:{}", call.name).into(), to, turn);
            return true;
        }
        let Call { no, name, body } = call;
        if turn.scenario.handler(&name).is_none() {
            let message = format!("state `{}` does not take call `{name}`", state.name);
            self.end.answer(no, Err(OrderError::new(CALL_REFUSED, message)));
            return true;
        }
        self.end.log(turn.now, format!("call `{name}`"));
        self.context.event = Some(event);
        let vars = Value::Object(self.vars_for_call()).into();
        let (result, message) = (self.cursor.result.clone(), self.cursor.message.clone());
        let before = Some(Remembered { vars, result, message });
        let frame = Frame::default();
        self.cursor.handling = Some(Box::new(Handling { no, name, body, frame, before, answer: None }));
        self.show_names_to_call(turn);
        true
    }

    /// Ends a handling whose actions all went through.
    pub(super) fn finish_call(&mut self, turn: &StageTurn<'_>) {
        let Some(call) = &mut self.cursor.handling else { return };
        let said = call.answer.take();
        let template = turn.scenario.handler(&call.name).and_then(|handler| handler.answer.as_ref());
        match template.map(|template| template.render(&self.context, &turn.settings.scripting)) {
            None => self.close_call(Ok(said.unwrap_or(Value::Null)), turn),
            Some(Ok(answer)) => self.close_call(Ok(answer), turn),
            Some(Err(error)) => {
                let error = error.into_error(self, turn);
                self.fail_call(error, turn);
            }
        }
    }

    /// Ends the handling of a call when the time of the order is over.
    pub(super) fn outlive_call(&mut self, turn: &StageTurn<'_>) {
        if self.cursor.handling.is_some() {
            let message = "the order outlived its process time-out before the call was handled";
            self.fail_call(OrderError::new(CALL_REFUSED, message), turn);
        }
    }

    /// Reports to the caller that the handling failed for good; the order stays where it was.
    pub(super) fn fail_call(&mut self, error: OrderError, turn: &StageTurn<'_>) {
        self.end.log(turn.now, format!("the call failed: {}", error.message));
        if let Some(before) = self.cursor.handling.as_mut().and_then(|call| call.before.take()) {
            self.context.vars = before.vars.into_map();
            (self.cursor.result, self.cursor.message) = (before.result, before.message);
        }
        self.close_call(Err(error), turn);
    }

    fn close_call(&mut self, outcome: Result<Value, OrderError>, turn: &StageTurn<'_>) {
        let Some(call) = self.cursor.handling.take() else { return };
        if let (Ok(_), Some(before)) = (&outcome, call.before) {
            self.cursor.keep_behind_savepoint(&before.vars.into_map(), &self.context.vars);
        }
        self.end.answer(call.no, outcome);
        self.cursor.sum_up_retries();
        self.context.event = self.cursor.mover.as_ref().map(|mover| mover.event.clone());
        self.show_names_behind_call(turn);
    }

    /// Answers the call that moved the order.
    pub(super) fn answer_mover(&mut self, turn: &StageTurn<'_>) {
        let Some(Mover { no, answer, .. }) = self.cursor.mover.take() else { return };
        let step = &turn.scenario.state(self.state).name;
        self.end.answer(no, Ok(answer.unwrap_or_else(|| json!({"step": step}))));
    }

    /// Goes on with the rest, to the time that it had: nothing but calls came.
    pub(super) fn rest_again(&mut self, turn: &StageTurn<'_>) {
        if let Some(rest) = self.cursor.main.rest.clone() {
            self.rest_on(rest, turn);
        }
    }

    pub(super) fn rest_on(&mut self, rest: Rest, turn: &StageTurn<'_>) {
        let until = rest.until;
        self.end.over(match rest.status {
            Status::Sleep => Then::Sleep { until },
            Status::Polling => Then::Poll { at: until },
            Status::Retry => Then::Retry {
                at: until,
                error: rest.error.unwrap_or_else(|| OrderError {
                    message: format!("since {}", turn.now),
                    ..OrderError::default()
                }),
            },
            _ if self.cursor.frame().held.is_some() => Then::Hold { until },
            _ => Then::Wait { until, requests: self.awaited_requests() },
        });
    }
}
