//! The stage of a scenario: what runs in one go between two suspensions, as a machine.
//!
//! [`Stage::next`] says what it needs, [`Stage::answer`] takes the answer, in turn, until the
//! need is [`Need::Done`]. The cursor (state, action) is the machine's only position, so that a
//! retry resumes at the very action that failed, and the same machine serves workers, offline
//! tests and simulations. Requests are registered before anything is sent because the needs come
//! in that order.
//!
//! The stage never does I/O and never reads a clock: `now` and `dice` are arguments.

mod answered;
mod asked;
mod call;
mod cancel;
mod child;
mod course;
mod each;
mod end;
mod failing;
mod failure_point;
mod input;
mod kept;
mod names;
mod need;
mod operation;
mod perform;
mod position;
mod render;
mod response;
mod retry_after;
mod rules;
mod sample;
mod snapshot;
mod so_far;
mod step;
mod task;
mod wait;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::classes::{AMQP_UNROUTABLE, ORDER_REFUSED, PANIC, SECRET_FORBIDDEN};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::retry::ErrorRules;
use serde_json::{Map, Value, json};

use super::value::Context;
use super::{Folded, Scenario, StateId};
pub use call::{Call, CallAnswer};
pub use cancel::{Cancel, CancelCall};
pub use end::{Happened, LogLine, Reached, StageEnd, Transition, in_order};
pub use input::{Callback, Facts, Input, StageSettings};
use input::{KeptInput, StageTurn};
pub use need::{
    Answer, ChildOrder, HttpBody, HttpCall, HttpFailure, NO_ROOM, Need, Publication, Response, SECRET_KEPT,
    Task, TaskTerms,
};
pub use sample::CallMade;
pub use snapshot::{
    ActionHold, AnsweredCall, Answers, AsyncRetry, Awaiting, Destination, Digest, EachProgress, ElementEnd,
    ElementNumbers, ElementProgress, EntryPoint, FailedAction, FailedElement, FailurePoint, Frame, Handling,
    KeptAnswer, Mover, OpenOperation, OpenRequest, OperationSavepoint, Polling, Remembered, Rest, RetryTime,
    Savepoint, Snapshot, SnapshotError, SyncRetry, TaskTimes, Visit,
};
pub use step::{Asking, StepMade, StepOutcome};
pub use task::{TASK_PREFIX, system_of_task};

/// Answer that the machine waits for.
#[derive(Debug)]
enum Pending {
    Nothing,
    /// Name and content of the request.
    Registration(String, Option<Digest>),
    /// The pass of a hand-out.
    Task {
        /// True if an earlier one is awaited already.
        again: bool,
    },
    /// The URL as it was called: rendered again after the answer, it might be another.
    Http(String),
    /// The steps that were made, each with its URL.
    Parallel(Vec<(usize, String)>),
    Publication,
    /// A task, on its way into the queue of its actor.
    Queueing,
    Order(Option<RequestId>),
    /// A need of elements of an `each`.
    Each(each::EachRequest),
    /// The queue, on its way to the next order.
    Release,
    /// The position of the stage, on its way to the store.
    Save,
}

/// The machine.
#[derive(Debug)]
pub struct Stage {
    given: KeptInput,
    /// Apart, because a stage is moved about while it waits for the world.
    run: Box<StageRun>,
}

/// All of the machine that changes while it runs.
#[derive(Debug)]
struct StageRun {
    /// Values that the actions see; the answers in it are those of the frame whose actions run.
    context: Context,
    /// Parameters of the order.
    params: Folded,
    cursor: Snapshot,
    state: StateId,
    /// The variables while the world is asked; at all other times they are in the context.
    vars: Option<Folded>,
    /// Calls that wait.
    calls: VecDeque<Call>,
    /// Set as long as the order has not left the suspension that it was woken from.
    resting: Option<Wake>,
    pending: Pending,
    /// Request to the world that is open, for the records.
    asked: Option<step::AskedWorld>,
    /// Verdicts on the answers that came last, in their order.
    judged: Vec<step::Judged>,
    end: end::Builder,
    /// Transitions since the start of the stage.
    moves: u32,
    /// True if the stage has asked the world for anything.
    has_asked: bool,
    /// True if an entry point was entered and is not saved yet.
    is_unsaved: bool,
    /// End of the rest of the sleeping or waiting state that was just entered.
    rest_until: Option<Timestamp>,
    /// The hold that has just ended, until its action is carried out.
    held: Option<ActionHold>,
}

impl Stage {
    /// Takes a stage up where the order rests.
    ///
    /// # Errors
    /// The snapshot names a state that this version of the scenario does not have.
    pub fn resume(
        scenario: Arc<Scenario>,
        settings: Arc<StageSettings>,
        facts: Facts,
        input: Input,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let Input { params, callbacks, mut calls, mut snapshot, mut wake, due_at, dice } = input;
        if wake == Wake::Retry {
            let late = Duration::try_from(now.duration_since(due_at)).unwrap_or(Duration::ZERO);
            snapshot.cycles_mut().for_each(|cycle| cycle.begin_attempt(late));
            if ErrorRules::from(&settings.errors).leaves_out_delivery() {
                snapshot.retry_time.shift(SignedDuration::try_from(late).unwrap_or(SignedDuration::ZERO));
            }
        }
        let state = match &snapshot.visit.state {
            None => scenario.initial,
            Some(name) => scenario
                .state_named(name)
                .ok_or_else(|| SnapshotError(format!("the scenario has no state `{name}`")))?,
        };
        let in_hand: Vec<i64> = snapshot.calls_in_hand().collect();
        calls.retain(|call| !in_hand.contains(&call.no));
        // While a call is in hand, its repeat is what wakes the order; the rest of the order itself
        // goes on afterwards. Whatever else wakes it comes before the repeat is due.
        let early = match &snapshot.handling {
            Some(call) if wake == Wake::Call => call.frame.rest.clone(),
            _ => None,
        };
        if snapshot.handling.is_some() && wake != Wake::ProcessTimeout {
            wake = Wake::Call;
        }
        let suspended = snapshot.main.rest.is_some() || scenario.state(state).is_rest();
        let received = callbacks.into_iter().map(|callback| callback.read_again(&scenario)).collect();
        let given = KeptInput { scenario, settings, facts, received, started_at: now, dice };
        let callbacks = names::shown_callbacks(&given.received, &snapshot, &given.scenario);
        let mut run = Box::new(StageRun {
            end: end::Builder::default(),
            resting: (snapshot.visit.number > 0 && suspended).then_some(wake),
            context: given.context(params.clone(), callbacks, &mut snapshot),
            params,
            cursor: snapshot,
            state,
            vars: None,
            calls: calls.into(),
            pending: Pending::Nothing,
            asked: None,
            judged: Vec::new(),
            moves: 0,
            has_asked: false,
            is_unsaved: false,
            rest_until: None,
            held: None,
        });
        let turn = given.turn(now, dice);
        run.conceal_secrets_of_scenario(&turn);
        if wake == Wake::ProcessTimeout {
            run.outlive_call(&turn);
        }
        if let Some(rest) = early {
            run.rest_on(rest, &turn);
        }
        // A life begins, at the initial state or where the restart says: that is a visit, too.
        if run.cursor.visit.number == 0 {
            run.enter(state, &turn);
        }
        Ok(Self { given, run })
    }

    /// Drops what can be made again: to be called before the world is asked, which takes its time.
    pub fn fold(&mut self) {
        let StageRun { context, vars, cursor, calls, params, .. } = &mut *self.run;
        context.fold();
        params.fold();
        if !context.vars.is_empty() {
            let map = Value::Object(std::mem::take(&mut context.vars));
            vars.get_or_insert_with(|| Folded::from(map)).fold();
        }
        cursor.values_mut().for_each(Folded::fold);
        calls.iter_mut().for_each(|call| call.body.fold());
        self.given.received.iter_mut().for_each(|callback| callback.value.fold());
    }

    /// Bytes of text that the stage holds: parameters, answers, callbacks, calls, and variables.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let StageRun { context, vars, cursor, calls, .. } = &*self.run;
        let calls: usize = calls.iter().map(|call| call.body.bytes()).sum();
        // The text of a callback is kept for the rules beside what scenarios see.
        let received: usize = self.given.received.iter().map(|callback| callback.body.len()).sum();
        let vars = vars.as_ref().map_or(0, Folded::bytes);
        context.held_bytes() + vars + cursor.bytes_aside() + calls + received
    }

    /// Returns what the stage needs to go on: [`Need::Done`] for ever once it has ended.
    pub fn next(&mut self, now: Timestamp) -> Need {
        let turn = self.given.turn(now, self.given.dice);
        self.run.begin_turn(&turn);
        let need = self.run.next(&turn);
        self.run.note_need(&need, &turn);
        need
    }

    /// Takes the answer to the last need, and says the next. `dice` is a random number in `0.0..1.0`, used
    /// for jitter.
    pub fn answer(&mut self, answer: Answer, now: Timestamp, dice: f64) -> Need {
        let turn = self.given.turn(now, dice);
        self.run.begin_turn(&turn);
        let steps = self.run.steps_of(&answer, &turn);
        let need = self.run.take(answer, &turn);
        self.run.note_steps(steps);
        let need = need.unwrap_or_else(|| self.run.next(&turn));
        self.run.note_need(&need, &turn);
        need
    }

    /// Returns the request to the world that is not answered yet.
    #[must_use]
    pub fn asking(&self) -> Option<Asking> {
        self.run.asking()
    }

    /// Events since the start, or since the position was saved last.
    pub fn happened(&self) -> impl Iterator<Item = Happened<'_>> {
        in_order(&self.run.end.log, &self.run.end.transitions)
    }

    /// The last failure that went to the scenario.
    #[must_use]
    pub const fn failure(&self) -> Option<&OrderError> {
        self.run.cursor.error.as_ref()
    }

    /// The variables of the scenario itself, unless they are put away.
    #[must_use]
    pub fn vars(&self) -> &Map<String, Value> {
        let in_operation = self.run.cursor.operation().is_some();
        if in_operation { &self.run.cursor.vars } else { &self.run.context.vars }
    }

    /// The name of the present state.
    #[must_use]
    pub fn step(&self) -> &str {
        &self.given.scenario.state(self.run.state).name
    }
}

impl StageRun {
    /// Takes the variables into the hand again.
    fn begin_turn(&mut self, turn: &StageTurn<'_>) {
        if let Some(vars) = self.vars.take() {
            self.context.vars = vars.into_map();
        }
        self.context.now = turn.now;
    }

    fn next(&mut self, turn: &StageTurn<'_>) -> Need {
        loop {
            if self.end.then.is_some() {
                return Need::Done(Box::new(self.finished(turn)));
            }
            if std::mem::take(&mut self.is_unsaved) {
                self.pending = Pending::Save;
                return Need::Save(Box::new(self.reached(turn)));
            }
            let resting = self.resting;
            let need = match resting {
                _ if self.cursor.handling.is_some() => self.work(turn),
                // No call moves the order away before what its time-out leads to.
                Some(wake @ Wake::ProcessTimeout) => self.leave_rest(wake, turn),
                // Calls come before timers (SCN-9).
                Some(_) if self.begin_call(turn) => None,
                Some(wake) => self.leave_rest(wake, turn),
                None => self.go_on(turn),
            };
            if let Some(need) = need {
                return need;
            }
        }
    }

    /// Takes the answer to what the machine waits for; says the next need where the same action has one.
    fn take(&mut self, answer: Answer, turn: &StageTurn<'_>) -> Option<Need> {
        match (std::mem::replace(&mut self.pending, Pending::Nothing), answer) {
            (Pending::Registration(name, content), Answer::Registered(id)) => {
                self.note_request(name, id, content, turn);
                return self.send(self.present(turn)?, Some(id), turn);
            }
            (Pending::Task { .. }, Answer::Registered(pass)) => {
                let need = self.queue_task(pass, turn)?;
                self.pending = Pending::Queueing;
                return Some(need);
            }
            (Pending::Http(url), Answer::Response(response)) => {
                self.take_answer(&url, Ok(&response), turn);
            }
            (Pending::Http(url), Answer::Failed(failure)) => {
                self.take_answer(&url, Err(&failure), turn);
            }
            (Pending::Parallel(made), Answer::Parallel(outcomes)) if made.len() == outcomes.len() => {
                self.take_parallel(&made, &outcomes, turn);
            }
            (Pending::Publication, Answer::Published) => {
                self.note_sent(turn);
                self.cursor.advance();
            }
            (Pending::Queueing, Answer::Published) => self.await_task(turn),
            (Pending::Publication | Pending::Queueing, Answer::Unpublished(message)) => {
                self.cursor.visit.awaiting = None;
                let error = OrderError::new(AMQP_UNROUTABLE, message);
                self.fail(error.about(self.cursor.visit.called.clone()), turn);
            }
            (Pending::Publication, Answer::Forbidden(message)) => {
                self.fail(OrderError::new(SECRET_FORBIDDEN, message), turn);
            }
            (
                Pending::Http(_) | Pending::Parallel(_) | Pending::Publication | Pending::Each(_),
                Answer::Held { until, system },
            ) => {
                self.hold(until, system, turn);
            }
            (Pending::Task { again }, Answer::Held { until, system }) => {
                self.hold_task(again, until, system, turn);
            }
            (Pending::Release, Answer::Released) => self.released(),
            (Pending::Save, Answer::Saved) => {}
            (Pending::Each(asked), answer) if asked.takes(&answer) => self.take_each(asked, answer, turn),
            (Pending::Order(request), Answer::OrderStarted) => self.order_started(request, turn),
            (Pending::Order(request), Answer::OrderRefused(message)) => {
                self.cursor.requests.retain(|open| Some(open.id) != request);
                self.fail(OrderError::new(ORDER_REFUSED, message), turn);
            }
            // An answer to a question that was not asked ends the order visibly, never silently.
            (_, answer) => {
                let message = format!("the worker answered {answer:?} to another question");
                self.end.over(Then::failed(OrderError::new(PANIC, message)));
            }
        }
        None
    }
}

/// A failure as `error` shows it.
fn error_value(error: &OrderError) -> Value {
    json!({"class": error.class, "message": error.message, "system": error.system, "status": error.status})
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
