//! The stage of a scenario: what runs in one go between two suspensions, as a machine.
//!
//! [`Stage::next`] says what it needs, [`Stage::answer`] takes what came of it, in turn, until the
//! need is [`Need::Done`]. The cursor (state, action) is the machine's only position, so that a
//! retry resumes at the very action that failed, and the same machine serves workers, offline
//! tests and simulations. Requests are registered before anything is sent because the needs come
//! in that order.
//!
//! The stage never does I/O and never reads a clock: `now` and `dice` are arguments.

mod call;
mod course;
mod end;
mod input;
mod need;
mod outside;
mod perform;
mod render;
mod snapshot;
mod task;
mod wait;

pub use end::{LogLine, StageEnd, Then, Transition};
pub use input::{Callback, Facts, Input, Settings, Wake};
pub use need::{
    Answer, ChildOrder, HttpBody, HttpCall, HttpFailure, NO_ROOM, Need, Publication, Response, Task,
    TaskTerms,
};
pub use outside::{CALL_REFUSED, CallAnswer, OutsideCall};
pub use snapshot::{
    Asked, Awaiting, EntryPoint, HandledCall, OpenRequest, Polling, Rest, Snapshot, SnapshotError,
};
pub use task::{ACTOR_FAILED, ACTOR_INVALID, ACTOR_TIMEOUT, ORDER_FAILED, ORDER_REFUSED, ORDER_TIMEOUT};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::value::Context;
use super::{Folded, Scenario, StateId};
use crate::id::RequestId;
use crate::order::{OrderError, ScenarioStatus, Status};

/// What the machine waits for.
#[derive(Debug)]
enum Pending {
    Nothing,
    Registration {
        name: String,
    },
    /// The pass of a hand-out.
    Task,
    /// The URL as it was called: rendered again after the answer, it might be another.
    Http {
        url: String,
    },
    /// The steps that were made, each with its URL.
    Parallel {
        made: Vec<(usize, String)>,
    },
    Publication,
    /// A task, on its way into the queue of its actor.
    Queueing,
    Order {
        request: Option<RequestId>,
    },
    /// The queue, on its way to the next order.
    Release,
}

/// The machine.
#[derive(Debug)]
pub struct Stage {
    scenario: Arc<Scenario>,
    settings: Arc<Settings>,
    facts: Facts,
    context: Context,
    cursor: Snapshot,
    state: StateId,
    started_at: Timestamp,
    dice: f64,
    /// The callbacks as they were received.
    received: Vec<Callback>,
    /// The variables while the world is asked; at all other times they are in the context.
    vars: Option<Folded>,
    /// Calls that wait.
    calls: VecDeque<OutsideCall>,
    /// Set as long as the order has not left the suspension that it was woken from.
    resting: Option<Wake>,
    pending: Pending,
    end: end::Builder,
    /// Until when the sleeping or waiting state that was just entered rests.
    rest_until: Option<Timestamp>,
}

impl Stage {
    /// Takes a stage up where the order rests.
    ///
    /// # Errors
    /// The snapshot names a state that this version of the scenario does not have.
    pub fn resume(
        scenario: Arc<Scenario>,
        settings: Arc<Settings>,
        facts: Facts,
        input: Input,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let Input { params, callbacks, mut calls, mut snapshot, mut wake, due_at, dice } = input;
        if wake == Wake::Retry {
            let late = Duration::try_from(now.duration_since(due_at)).unwrap_or(Duration::ZERO);
            snapshot.cycles_mut().for_each(|cycle| cycle.begin_attempt(late));
        }
        let state = match &snapshot.state {
            None => scenario.initial,
            Some(name) => scenario
                .state_named(name)
                .ok_or_else(|| SnapshotError(format!("the scenario has no state `{name}`")))?,
        };
        let shown = callbacks.iter().filter(|callback| !task::is_task(&callback.name));
        let event = snapshot.call.as_ref().map(|call| outside::event_value(&call.name, &call.body));
        let event = event.or_else(|| snapshot.event.clone());
        let context = Context {
            params,
            vars: std::mem::take(&mut snapshot.vars),
            response: snapshot.response.take(),
            responses: std::mem::take(&mut snapshot.responses),
            callbacks: shown.map(|callback| (callback.name.clone(), callback.value.clone())).collect(),
            order: Arc::new(order_value(&facts, &scenario)),
            config: settings.constants.clone(),
            now,
            request: None,
            event,
            secrets: settings.secrets.clone(),
        };
        let in_hand: Vec<i64> = snapshot.calls_in_hand().collect();
        calls.retain(|call| !in_hand.contains(&call.no));
        // While a call is in hand, its repeat is what wakes the order; the rest of the order itself
        // goes on afterwards. Whatever else wakes it comes before the repeat is due.
        let early = match &snapshot.call {
            Some(call) if wake == Wake::Call => call.rest.clone(),
            _ => None,
        };
        if snapshot.call.is_some() {
            wake = Wake::Call;
        }
        let suspended = snapshot.rest.is_some() || scenario.state(state).is_rest();
        let mut stage = Self {
            end: end::Builder::new(&snapshot),
            resting: (snapshot.visit > 0 && suspended).then_some(wake),
            scenario,
            settings,
            facts,
            context,
            cursor: snapshot,
            state,
            started_at: now,
            dice,
            received: callbacks,
            vars: None,
            calls: calls.into(),
            pending: Pending::Nothing,
            rest_until: None,
        };
        stage.conceal_secrets_of_scenario();
        if let Some(rest) = early {
            stage.rest_on(rest, now);
        }
        // A life begins, at the initial state or where the restart says: that is a visit, too.
        if stage.cursor.visit == 0 {
            stage.enter(state);
        }
        Ok(stage)
    }

    /// Lets go of what can be made again: to be called before the world is asked, which takes its time.
    pub fn fold(&mut self) {
        self.context.fold();
        if !self.context.vars.is_empty() {
            let vars = Value::Object(std::mem::take(&mut self.context.vars));
            self.vars.get_or_insert_with(|| Folded::from(vars)).fold();
        }
        let call = self.cursor.call.iter_mut();
        call.for_each(|call| call.fold());
        self.cursor
            .event
            .iter_mut()
            .chain(self.calls.iter_mut().map(|call| &mut call.body))
            .for_each(Folded::fold);
        self.received.iter_mut().for_each(|callback| callback.value.fold());
    }

    /// Takes the variables into the hand again.
    fn unfold(&mut self) {
        if let Some(vars) = self.vars.take() {
            self.context.vars = vars.into_map();
        }
    }

    /// Bytes of text that the stage holds: parameters, answers, callbacks, calls, and variables.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let call = self.cursor.call.as_ref().map_or(0, |call| call.held_bytes());
        let calls: usize = self.calls.iter().map(|call| call.body.bytes()).sum();
        // The text of a callback is kept for the rules beside what scenarios see.
        let received: usize = self.received.iter().map(|callback| callback.body.len()).sum();
        let vars = self.vars.as_ref().map_or(0, Folded::bytes);
        self.context.held_bytes() + vars + call + calls + received
    }

    /// What the stage needs to go on. Returns [`Need::Done`] for ever once it has ended.
    pub fn next(&mut self, now: Timestamp) -> Need {
        self.unfold();
        self.context.now = now;
        loop {
            if self.end.is_over() {
                return Need::Done(Box::new(self.finished()));
            }
            let need = if self.cursor.call.is_some() {
                self.handle_call(now)
            } else if let Some(wake) = self.resting {
                // Calls come before timers (SCN-9).
                if self.begin_call(now) { None } else { self.leave_rest(wake, now) }
            } else {
                self.go_on(now)
            };
            if let Some(need) = need {
                return need;
            }
        }
    }

    /// Takes the answer to the last need. `dice` is a random number in `0.0..1.0`, used for jitter.
    pub fn answer(&mut self, answer: Answer, now: Timestamp, dice: f64) -> Option<Need> {
        self.unfold();
        self.context.now = now;
        match (std::mem::replace(&mut self.pending, Pending::Nothing), answer) {
            (Pending::Registration { name }, Answer::Registered(id)) => {
                self.note_request(name, id);
                let scenario = self.scenario.clone();
                let action = self.present(&scenario)?;
                return self.send(action, Some(id), now);
            }
            (Pending::Task, Answer::Registered(pass)) => {
                let need = self.queue_task(pass, now);
                if need.is_some() {
                    self.pending = Pending::Queueing;
                }
                return need;
            }
            (Pending::Http { url }, Answer::Response(response)) => {
                self.take_answer(&url, Ok(&response), now, dice);
            }
            (Pending::Http { url }, Answer::Failed(failure)) => {
                self.take_answer(&url, Err(&failure), now, dice);
            }
            (Pending::Parallel { made }, Answer::Parallel(outcomes)) if made.len() == outcomes.len() => {
                self.take_parallel(&made, &outcomes, now, dice);
            }
            (Pending::Publication, Answer::Published) => self.advance(),
            (Pending::Queueing, Answer::Published) => self.await_task(now),
            (Pending::Publication | Pending::Queueing, Answer::Unpublished(message)) => {
                self.cursor.awaiting = None;
                let error = OrderError::new("amqp.unroutable", message);
                self.fail_action(error.about(self.cursor.called.clone()), now);
            }
            (Pending::Release, Answer::Released) => {
                self.end.release();
                self.advance();
            }
            (Pending::Order { request }, Answer::OrderStarted) => self.order_started(request, now),
            (Pending::Order { request }, Answer::OrderRefused(message)) => {
                self.cursor.requests.retain(|open| Some(open.id) != request);
                self.fail_action(OrderError::new(ORDER_REFUSED, message), now);
            }
            // An answer to a question that was not asked ends the order visibly, never silently.
            (_, answer) => self.end.over(Then::End {
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                error: Some(OrderError::new(
                    crate::order::PANIC,
                    format!("the worker answered {answer:?} to another question"),
                )),
            }),
        }
        None
    }

    /// The name of the present state.
    #[must_use]
    pub fn step(&self) -> &str {
        &self.scenario.state(self.state).name
    }

    fn finished(&mut self) -> StageEnd {
        self.answer_mover();
        self.end.conceal_all();
        let mut cursor = self.cursor.clone();
        cursor.vars.clone_from(&self.context.vars);
        // Where the same state goes on, it sees the answers that it had.
        let goes_on = self.end.retries() || cursor.awaiting.is_some();
        let handling = cursor.call.is_some();
        cursor.response = self.context.response.clone().filter(|_| goes_on);
        cursor.responses = if goes_on { self.context.responses.clone() } else { BTreeMap::new() };
        // The repeat of a call is not what the order itself rests for.
        match &mut cursor.call {
            Some(call) => call.rest = self.end.rest(),
            None => cursor.rest = self.end.rest(),
        }
        cursor.answer = self.end.said_answer().filter(|_| handling || cursor.moved_by.is_some());
        self.end.conceal_kept(&mut cursor);
        let on_target = self.scenario.distance_to_target(self.state);
        let step = self.step().to_owned();
        self.end.build(cursor, step, on_target, self.started_at)
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn order_value(facts: &Facts, scenario: &Scenario) -> Value {
    json!({
        "id": facts.id,
        "transactionId": facts.transaction_id,
        "scenario": scenario.name,
        "mode": facts.mode.as_str(),
        "queue": facts.queue,
        "attempt": facts.attempt,
        "life": facts.life,
        "createdAt": facts.created_at.to_string(),
    })
}

#[cfg(test)]
mod tests;
