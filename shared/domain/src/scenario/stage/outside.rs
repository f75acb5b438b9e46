//! Calls from outside, handled while the order rests (SCN-9).
//!
//! A call moves the order where its state says so (`on: {call:NAME: STATE}`), or is handled beside
//! it by the scenario's `calls`. The rest, its timer with it, goes on afterwards unless the order
//! was moved.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::Folded;
use super::snapshot::{HandledCall, Remembered, Rest};
use super::{Need, Stage, Then};
use crate::order::{OrderError, Status};

/// A call that waits for the order.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideCall {
    /// Number under which it is stored.
    pub no: i64,
    /// Its name.
    pub name: String,
    /// What it brings.
    pub body: Folded,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAnswer {
    /// Number under which it is stored.
    pub no: i64,
    /// What the caller gets: the answer, or why there is none.
    pub outcome: Result<Value, OrderError>,
}

/// Error class of a call that the present state does not take.
pub const CALL_REFUSED: &str = "call.refused";

/// A call as `event` shows it.
pub(super) fn event_value(name: &str, body: &Folded) -> Folded {
    json!({"name": name, "body": body}).into()
}

impl Stage {
    /// Begins the next call that waits; false where none does.
    pub(super) fn begin_call(&mut self, now: Timestamp) -> bool {
        let Some(call) = self.calls.pop_front() else { return false };
        let scenario = self.scenario.clone();
        let state = scenario.state(self.state);
        self.context.event = Some(event_value(&call.name, &call.body));
        if let Some(to) = state.call(&call.name) {
            self.end.log(now, format!("call `{}` leads to `{}`", call.name, scenario.state(to).name));
            self.resting = None;
            self.cursor.rest = None;
            self.cursor.from_entry_point = false;
            self.requests_are_earlier();
            self.forget_async_cycle();
            // The one before it has come no further than here.
            self.answer_moved_to_here();
            self.end.take_said_answer();
            self.cursor.moved_by = Some(call.no);
            self.cursor.event.clone_from(&self.context.event);
            self.go(format!("call:{}", call.name).into(), to, now);
            return true;
        }
        if scenario.handler(&call.name).is_none() {
            let message = format!("state `{}` does not take call `{}`", state.name, call.name);
            let error = OrderError::new(CALL_REFUSED, message);
            self.end.answer(call.no, Err(error));
            self.context.event.clone_from(&self.cursor.event);
            return true;
        }
        self.end.log(now, format!("call `{}`", call.name));
        self.end.take_said_answer();
        self.cursor.call = Some(Box::new(HandledCall {
            no: call.no,
            name: call.name,
            body: call.body,
            action: 0,
            cycle: None,
            response: self.context.response.take(),
            responses: std::mem::take(&mut self.context.responses),
            parallel_done: std::mem::take(&mut self.cursor.parallel_done),
            rest: None,
            before: Some(self.what_it_remembers()),
        }));
        true
    }

    fn what_it_remembers(&self) -> Remembered {
        let (result, message) = self.end.what_was_said();
        Remembered { vars: Value::Object(self.context.vars.clone()).into(), result, message }
    }

    /// Goes on with the call that is being handled.
    pub(super) fn handle_call(&mut self, now: Timestamp) -> Option<Need> {
        let scenario = self.scenario.clone();
        match self.present(&scenario) {
            Some(action) => self.perform(action, now),
            None => {
                self.finish_call(now);
                None
            }
        }
    }

    /// All actions of the handling went through.
    pub(super) fn finish_call(&mut self, now: Timestamp) {
        let scenario = self.scenario.clone();
        let Some(call) = &self.cursor.call else { return };
        let template = scenario.handler(&call.name).and_then(|handler| handler.answer.as_ref());
        let rendered = template.map(|template| template.render(&self.context, &self.settings.scripting));
        match rendered {
            None => {
                let said = self.end.take_said_answer().unwrap_or(Value::Null);
                self.close_call(Ok(said));
            }
            Some(Ok(answer)) => self.close_call(Ok(answer)),
            Some(Err(error)) => {
                let error = OrderError::from(error);
                self.fail_call(error, now);
            }
        }
    }

    /// The handling failed for good: the caller is told, the order stays where it was.
    pub(super) fn fail_call(&mut self, error: OrderError, now: Timestamp) {
        self.end.log(now, format!("the call failed: {}", error.message));
        if let Some(before) = self.cursor.call.as_mut().and_then(|call| call.before.take()) {
            self.context.vars = before.vars.into_map();
            self.end.unsay(before.result, before.message);
        }
        self.close_call(Err(error));
    }

    fn close_call(&mut self, outcome: Result<Value, OrderError>) {
        let Some(call) = self.cursor.call.take() else { return };
        self.end.answer(call.no, outcome);
        self.end.take_said_answer();
        self.context.event.clone_from(&self.cursor.event);
        self.context.response = call.response;
        self.context.responses = call.responses;
        self.cursor.parallel_done = call.parallel_done;
    }

    /// A call that moved the order is answered when the order comes to rest or to its end.
    pub(super) fn answer_mover(&mut self) {
        if !self.end.retries() {
            self.answer_moved_to_here();
        }
    }

    fn answer_moved_to_here(&mut self) {
        if let Some(no) = self.cursor.moved_by.take() {
            self.cursor.event = None;
            let step = self.step().to_owned();
            let said = self.end.take_said_answer();
            let answer =
                said.unwrap_or_else(|| Value::Object(Map::from_iter([("step".into(), step.into())])));
            self.end.answer(no, Ok(answer));
        }
    }

    /// Nothing but calls came: the rest goes on to the time that it had.
    pub(super) fn rest_again(&mut self, now: Timestamp) {
        if let Some(rest) = self.cursor.rest.clone() {
            self.rest_on(rest, now);
        }
    }

    pub(super) fn rest_on(&mut self, rest: Rest, now: Timestamp) {
        let until = rest.until;
        self.end.over(match rest.status {
            Status::Sleep => Then::Sleep { until },
            Status::Polling => Then::Poll { at: until },
            Status::Retry => Then::Retry {
                at: until,
                error: rest.error.unwrap_or_else(|| OrderError {
                    class: None,
                    message: format!("since {now}"),
                    system: None,
                }),
            },
            _ => Then::Wait { until, requests: self.awaited_requests() },
        });
    }
}

impl HandledCall {
    fn folded(&mut self) -> impl Iterator<Item = &mut Folded> {
        let before = self.before.iter_mut().map(|before| &mut before.vars);
        self.responses.values_mut().chain(&mut self.response).chain(before).chain([&mut self.body])
    }

    /// Lets go of the trees of large values.
    pub(super) fn fold(&mut self) {
        self.folded().for_each(Folded::fold);
    }

    /// Bytes of text that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |before| before.vars.bytes());
        let answers = self.responses.values().chain(&self.response).chain([&self.body]);
        answers.map(Folded::bytes).sum::<usize>() + before
    }
}
