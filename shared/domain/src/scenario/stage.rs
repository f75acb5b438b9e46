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
mod end;
mod perform;
mod snapshot;

pub use call::{Answer, HttpBody, HttpCall, HttpFailure, Need, Publication, Response};
pub use end::{LogLine, StageEnd, Then, Transition};
pub use snapshot::{OpenRequest, Snapshot, SnapshotError};

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::script::Scripting;
use super::value::Context;
use super::{Bounds, Event, Outcome, Scenario, State, StateId, StateKind};
use crate::id::spelled;
use crate::order::{Mode, OrderError, ScenarioStatus, Status};
use crate::retry::ErrorPolicy;

/// What the order is, for the stage: nothing here changes while it runs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The client's id.
    pub id: String,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Which life of the order this is, from 1.
    pub life: i32,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue of a sequential order.
    pub queue: Option<String>,
    /// Number of this hand-out.
    pub attempt: i32,
    /// Registered at.
    pub created_at: Timestamp,
}

/// What the deployment sets, shared by all stages.
#[derive(Debug)]
pub struct Settings {
    /// The sandbox.
    pub scripting: Scripting,
    /// Bounds of scenarios.
    pub bounds: Bounds,
    /// Rules and policies for failures.
    pub errors: ErrorPolicy,
    /// Named constants, `config.…`.
    pub constants: Arc<Value>,
    /// What callback URLs begin with, without a slash at the end.
    pub callback_base: String,
    /// Longest synchronous part of a sequential order's stage (ORD-12).
    pub max_sync_duration: Duration,
    /// Longest time a sequential order may hold its queue in retries (ORD-12).
    pub max_acquisition_duration: Duration,
    /// Longest wait of sequential orders (ORD-12).
    pub max_wait_sequential: Duration,
    /// Longest wait of parallel orders (ORD-12).
    pub max_wait_parallel: Duration,
}

/// Why the stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wake {
    /// The first stage of a life, or one that goes on at the cursor.
    Start,
    /// The time of a sleep or of a wait is over.
    Timer,
    /// All callbacks are in.
    Callback,
    /// A retry is due.
    Retry,
}

spelled!(Wake {
    Start => "start",
    Timer => "timer",
    Callback => "callback",
    Retry => "retry",
});

/// What the machine waits for.
#[derive(Debug)]
enum Pending {
    Nothing,
    Registration {
        name: String,
    },
    /// The URL as it was called: rendered again after the answer, it might be another.
    Http {
        url: String,
    },
    Publication,
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
    /// When the order was due; the retry cycle counts what lies between it and the start.
    due_at: Timestamp,
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
    #[allow(clippy::too_many_arguments, reason = "each is a different thing the order brings along")]
    pub fn resume(
        scenario: Arc<Scenario>,
        settings: Arc<Settings>,
        facts: Facts,
        params: Arc<Value>,
        callbacks: serde_json::Map<String, Value>,
        snapshot: Snapshot,
        wake: Wake,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let state = match &snapshot.state {
            None => scenario.initial,
            Some(name) => scenario
                .state_named(name)
                .ok_or_else(|| SnapshotError(format!("the scenario has no state `{name}`")))?,
        };
        let context = Context {
            params,
            vars: snapshot.vars.clone(),
            response: snapshot.response.clone(),
            responses: snapshot.responses.clone(),
            callbacks,
            order: Arc::new(order_value(&facts, &scenario)),
            config: settings.constants.clone(),
            now,
            request: None,
        };
        let mut stage = Self {
            end: end::Builder::new(&snapshot),
            scenario,
            settings,
            facts,
            context,
            cursor: snapshot,
            state,
            started_at: now,
            due_at,
            pending: Pending::Nothing,
            rest_until: None,
        };
        // A life begins, at the initial state or where the restart says: that is a visit, too.
        if stage.cursor.visit == 0 {
            stage.enter(state);
        }
        stage.wake(wake, now);
        Ok(stage)
    }

    /// What the stage needs to go on. Returns [`Need::Done`] for ever once it has ended.
    pub fn next(&mut self, now: Timestamp) -> Need {
        self.context.now = now;
        loop {
            if self.end.is_over() {
                return Need::Done(Box::new(self.finished()));
            }
            let scenario = self.scenario.clone();
            let state = scenario.state(self.state);
            match state.kind {
                StateKind::Terminal => self.arrive(state),
                StateKind::Sleeping => {
                    let until = self.rest_until.take().unwrap_or(now);
                    self.end.over(Then::Sleep { until });
                }
                StateKind::Waiting => {
                    let until = self.rest_until.take().unwrap_or(now);
                    let requests = self.cursor.requests.iter().map(|request| request.id).collect();
                    self.end.over(Then::Wait { until, requests });
                }
                StateKind::Plain => match state.actions.get(self.cursor.action) {
                    None => self.raise(Event::Success, now),
                    Some(action) => {
                        if let Some(need) = self.perform(action, now) {
                            return need;
                        }
                    }
                },
            }
        }
    }

    /// Takes the answer to the last need. `dice` is a random number in `0.0..1.0`, used for jitter.
    pub fn answer(&mut self, answer: Answer, now: Timestamp, dice: f64) -> Option<Need> {
        self.context.now = now;
        match (std::mem::replace(&mut self.pending, Pending::Nothing), answer) {
            (Pending::Registration { name }, Answer::Registered(id)) => {
                self.cursor.requests.retain(|request| request.id != id);
                self.cursor.requests.push(OpenRequest { name, id });
                let scenario = self.scenario.clone();
                let action = scenario.state(self.state).actions.get(self.cursor.action)?;
                return self.send(action, Some(id), now);
            }
            (Pending::Http { url }, Answer::Response(response)) => {
                self.take_response(&url, &response, now, dice);
            }
            (Pending::Http { url }, Answer::Failed(failure)) => self.take_failure(&url, &failure, now, dice),
            (Pending::Publication, Answer::Published) => self.advance(),
            (Pending::Publication, Answer::Unpublished(message)) => {
                let error = OrderError { class: Some("amqp.unroutable".into()), message };
                self.fail_action(error, now);
            }
            // An answer to a question that was not asked ends the order visibly, never silently.
            (_, answer) => self.end.over(Then::End {
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                error: Some(OrderError {
                    class: Some(crate::order::PANIC.into()),
                    message: format!("the worker answered {answer:?} to another question"),
                }),
            }),
        }
        None
    }

    /// Ends the stage from outside: the driver found that it cannot go on.
    pub fn break_off(&mut self, error: OrderError) -> Need {
        self.end.over(Then::End {
            status: Status::Fail,
            scenario_status: ScenarioStatus::Failed,
            error: Some(error),
        });
        Need::Done(Box::new(self.finished()))
    }

    /// The name of the present state.
    #[must_use]
    pub fn step(&self) -> &str {
        &self.scenario.state(self.state).name
    }

    fn wake(&mut self, wake: Wake, now: Timestamp) {
        let kind = self.scenario.state(self.state).kind;
        match (kind, wake) {
            (StateKind::Sleeping, _) => self.raise(Event::Timeout, now),
            (StateKind::Waiting, Wake::Callback) => self.leave_wait(Event::Callback, now),
            (StateKind::Waiting, _) => self.leave_wait(Event::Timeout, now),
            (StateKind::Plain | StateKind::Terminal, _) => {}
        }
    }

    fn leave_wait(&mut self, event: Event, now: Timestamp) {
        self.cursor.requests.clear();
        self.raise(event, now);
    }

    fn enter(&mut self, state: StateId) {
        self.state = state;
        self.cursor.visit += 1;
        self.cursor.action = 0;
        let state = self.scenario.state(state);
        self.cursor.state = Some(state.name.clone());
        if state.entry_point {
            self.end.entry_point(&state.name);
        }
    }

    fn raise(&mut self, event: Event, now: Timestamp) {
        let from = self.scenario.state(self.state);
        let Some(to) = from.target_of(event) else {
            let message = format!("state `{}` has no transition for event `{event}`", from.name);
            self.end.over(Then::End {
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                error: Some(OrderError { class: Some("scenario.incomplete".into()), message }),
            });
            return;
        };
        self.cursor.cycle = None;
        self.cursor.retrying_since = None;
        let to_name = self.scenario.state(to).name.clone();
        self.end.transition(&from.name, event, &to_name, now);
        if self.end.transitions() > self.settings.bounds.max_transitions_per_stage {
            let bound = self.settings.bounds.max_transitions_per_stage;
            self.end.over(Then::End {
                status: Status::Fail,
                scenario_status: ScenarioStatus::Failed,
                error: Some(OrderError {
                    class: Some("scenario.loop".into()),
                    message: format!("more than {bound} transitions without a suspension"),
                }),
            });
            return;
        }
        self.enter(to);
    }

    fn arrive(&mut self, state: &State) {
        let target = self.scenario.targets.contains(&self.state);
        let (status, error) = match state.outcome {
            Outcome::Success => (Status::Success, None),
            Outcome::Fail => (Status::Fail, self.end.last_error()),
        };
        let scenario_status = if target { ScenarioStatus::Target } else { ScenarioStatus::Failed };
        self.end.over(Then::End { status, scenario_status, error });
    }

    fn finished(&self) -> StageEnd {
        let mut cursor = self.cursor.clone();
        cursor.vars.clone_from(&self.context.vars);
        let keep_responses = self.end.retries();
        cursor.response = self.context.response.clone().filter(|_| keep_responses);
        cursor.responses =
            if keep_responses { self.context.responses.clone() } else { serde_json::Map::new() };
        let on_target = self.scenario.distance_to_target(self.state);
        self.end.build(cursor, self.step().to_owned(), on_target, self.started_at)
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
