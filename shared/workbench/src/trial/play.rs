//! Plays an order from its registration to its end: every stage as a worker would run it, with the
//! table in place of the world and a clock that jumps.

mod asking;
mod requests;
mod rest;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::document::Fault;
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::order::{Mode, OrderError};
use pagurus_scenario::params::params_faults;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::stage::{
    Answer, CallAnswer, Facts, Happened, Input, LogLine, Need, Snapshot, Stage, StageEnd, StageSettings,
    Transition, in_order,
};
use pagurus_scenario::{Concealed, Event, Scenario};

use serde_json::{Map, Value};

use super::world::World;
use super::{Deployment, Moment, Played, Trial, TrialEnd};
use requests::Requests;

/// Stages after which an order is held to go round in a circle.
const MAX_STAGES: u32 = 1000;
/// Virtual time after which an order is held to have no end.
const MAX_TIME: Duration = Duration::from_secs(20 * 365 * 24 * 3600);
/// Chance is always the same, so that a test is.
const DICE: f64 = 0.5;
/// Prefix of callback URLs in tests.
const CALLBACK_BASE: &str = "http://pagurus.test";

/// Plays the test to the end of the order, or to where it cannot go on.
pub(super) fn play(
    scenario: &Arc<Scenario>,
    deployment: &Deployment,
    trial: &Trial,
    go_on: &mut dyn FnMut() -> bool,
) -> Played {
    let process_timeout = scenario.timeouts.process.or(deployment.process_timeout);
    let mut play = Play {
        trial,
        settings: Arc::new(settings(deployment, trial)),
        scenario: scenario.clone(),
        world: World::of(trial),
        now: trial.now,
        deadline: process_timeout.map(|timeout| later(trial.now, timeout)),
        requests: Requests::default(),
        queue: trial.order.queue.clone(),
        released: false,
        heard: 0,
        begin: 0,
        asked: Vec::new(),
        failure: None,
        vars: Map::new(),
        played: Played::default(),
    };
    play.played.answers = trial.calls.iter().map(|_| None).collect();
    let initial = scenario.state(scenario.initial).name.clone();
    play.played.path.push(initial.clone());
    play.tell(format!("the order begins at `{initial}`"));
    let outcome = play.check_order().and_then(|()| play.life(go_on));
    play.end_calls();
    play.played.broken = outcome.err();
    play.played.unused = play.world.unused().collect();
    play.played
}

/// Settings that a worker of this deployment would be given.
fn settings(deployment: &Deployment, trial: &Trial) -> StageSettings {
    StageSettings {
        scripting: Scripting::new(deployment.bounds.script.clone()),
        bounds: deployment.bounds.clone(),
        errors: trial.errors.clone().unwrap_or_else(|| (*deployment.errors).clone()),
        systems: Arc::default(),
        constants: Arc::new(trial.config.clone()),
        secret_constants: Arc::new(Concealed::of_constants(&trial.config)),
        secrets: Arc::new(trial.secrets.clone()),
        vhost: "/".to_owned(),
        callback_base: CALLBACK_BASE.to_owned(),
        call_timeout: deployment.call_timeout,
        max_sync_duration: deployment.max_sync_duration,
        max_acquisition_duration: deployment.max_acquisition_duration,
        max_wait_sequential: deployment.max_wait_sequential,
        max_wait_parallel: deployment.max_wait_parallel,
        max_retry_after: deployment.max_retry_after,
    }
}

struct Play<'t> {
    trial: &'t Trial,
    scenario: Arc<Scenario>,
    settings: Arc<StageSettings>,
    world: World<'t>,
    now: Timestamp,
    /// Time at which the time of the whole order is over.
    deadline: Option<Timestamp>,
    requests: Requests,
    /// The queue of a sequential order: that of the test, or that of the scenario.
    queue: Option<String>,
    /// True from the release of the queue to the next sleep, after which the order takes its turn again.
    released: bool,
    /// Number of the lines of the present stage that are in the story by now, since its position was saved last.
    heard: usize,
    /// Index in the story at which the present stage begins, and the requests that it made.
    begin: usize,
    asked: Vec<usize>,
    /// The last failure that went to the scenario.
    failure: Option<OrderError>,
    /// Variables as the story has them.
    vars: Map<String, Value>,
    played: Played,
}

type Going<T> = Result<T, Fault>;

impl Play<'_> {
    /// Checks the order: the engine would refuse one whose parameters break the schema, or give no queue.
    fn check_order(&mut self) -> Going<()> {
        let said = self.queue.take();
        self.queue = match (&self.scenario.queue, said) {
            (None, said) => said,
            (Some(queue), said) => {
                let queue = queue.queue(&self.trial.order.params).map_err(|fault| self.refused(&fault))?;
                if said.is_some_and(|said| said != queue) {
                    let text =
                        format!("the order would be refused: its scenario gives it the queue `{queue}`");
                    return Err(self.fault(text).hint("leave `queue` out of this test"));
                }
                Some(queue)
            }
        };
        match params_faults(&self.trial.order.params, &self.scenario).first() {
            None => Ok(()),
            Some(fault) => Err(self.refused(fault)),
        }
    }

    fn refused(&self, fault: &Fault) -> Fault {
        let place = fault.pointer.trim_start_matches('/');
        let text = format!("the order would be refused: {place}: {}", fault.message);
        self.fault(text).hint("mend `params` of this test")
    }

    fn life(&mut self, go_on: &mut dyn FnMut() -> bool) -> Going<()> {
        let (mut snapshot, mut wake, mut due) = (Snapshot::default(), Wake::Start, self.now);
        for attempt in 1..=MAX_STAGES {
            if !go_on() {
                return Err(self.fault("the test takes too long and was broken off"));
            }
            let Some(end) = self.stage(attempt, snapshot.clone(), wake, due)? else {
                self.played.end = Some(self.outlive(snapshot));
                return Ok(());
            };
            if let Some(ended) = self.ended(&end) {
                self.give_up_all();
                self.played.end = Some(ended);
                return Ok(());
            }
            (wake, due) = self.next_wake(&end);
            if let Some(deadline) = self.deadline.filter(|deadline| *deadline <= due) {
                if !self.handles_process_timeout(&end.step) {
                    self.played.end = Some(self.outlive(end.snapshot));
                    return Ok(());
                }
                (wake, due) = (Wake::ProcessTimeout, deadline.max(self.now));
                self.deadline = None;
                self.tell_at(due, "the order outlives its process time-out".to_owned());
            }
            self.advance(due, wake, &end.then);
            if self.elapsed() > MAX_TIME {
                return Err(self.fault("the order has no end: twenty years of virtual time are over"));
            }
            // Through the stored form, as between two workers.
            snapshot = Snapshot::from_value(&end.snapshot.to_value())
                .map_err(|error| self.fault(error.to_string()))?;
        }
        Err(self.fault(format!("the order goes round in a circle: it is not over after {MAX_STAGES} stages")))
    }

    /// Plays a stage; `None` if the time of the order passes before it ends: its end is never written.
    fn stage(
        &mut self,
        attempt: u32,
        snapshot: Snapshot,
        wake: Wake,
        due: Timestamp,
    ) -> Going<Option<Box<StageEnd>>> {
        let input = Input {
            params: self.trial.order.params.clone().into(),
            callbacks: self.requests.answers(),
            calls: self.waiting_calls(&snapshot),
            snapshot,
            wake,
            due_at: due,
            dice: DICE,
        };
        let (scenario, settings) = (self.scenario.clone(), self.settings.clone());
        let resumed = Stage::resume(scenario, settings, self.facts(attempt), input, self.now);
        let mut stage = resumed.map_err(|error| self.fault(error.to_string()))?;
        (self.heard, self.begin) = (0, self.played.story.len());
        self.asked.clear();
        let mut need = stage.next(self.now);
        loop {
            self.failure = stage.failure().cloned();
            let moments: Vec<Moment> = match &need {
                Need::Done(end) => self.moments(in_order(&end.log, &end.transitions)),
                Need::Save(reached) => self.moments(in_order(&reached.log, &reached.transitions)),
                _ => self.moments(stage.happened()),
            };
            self.heard += moments.len();
            self.played.story.extend(moments);
            let vars = match &need {
                Need::Done(end) => end.snapshot.known_vars(),
                _ => stage.vars().clone(),
            };
            self.note_vars(vars);
            // Where a state says what follows, the stage comes to its end first.
            let handles_timeout = self.scenario.handles_process_timeout();
            if !handles_timeout && self.deadline.is_some_and(|deadline| deadline < self.now) {
                return Ok(None);
            }
            let answer = match need {
                Need::Done(end) => {
                    self.note(&end.transitions, &end.log, &end.answers);
                    end.cancels.iter().for_each(|(id, call)| self.requests.note_cancel(*id, Some(call)));
                    self.played.operations.extend(end.operations.iter().cloned());
                    if end.released {
                        self.tell("gives its queue up".to_owned());
                    }
                    return Ok(Some(end));
                }
                Need::Register { name, visit, action, hand_out, task, cancel } => {
                    let id = self.requests.register(&name, (visit, action), hand_out, task);
                    self.requests.note_cancel(id, cancel.call());
                    Answer::Registered(id)
                }
                Need::Http(call) => self.http(&call, stage.step())?,
                Need::Parallel(calls) => self.parallel(&calls, stage.step())?,
                Need::Publish(message) => self.publish(&message, stage.step())?,
                Need::Task(task) => self.task(&task, stage.step())?,
                Need::Release => {
                    self.released = true;
                    Answer::Released
                }
                Need::Save(reached) => {
                    self.heard = 0;
                    self.note(&reached.transitions, &reached.log, &reached.answers);
                    Answer::Saved
                }
                Need::Order(child) => self.child(&child, stage.step())?,
            };
            need = stage.answer(answer, self.now, DICE);
        }
    }

    fn handles_process_timeout(&self, step: &str) -> bool {
        let state = self.scenario.state_named(step).map(|state| self.scenario.state(state));
        state.is_some_and(|state| state.target_of(Event::ProcessTimeout).is_some())
    }

    const fn holds_queue(&self) -> bool {
        self.queue.is_some() && !self.released
    }

    fn facts(&self, attempt: u32) -> Facts {
        let order = &self.trial.order;
        Facts {
            id: order.id.clone(),
            transaction_id: order.transaction_id.clone(),
            labels: order.labels.clone(),
            life: 1,
            mode: if self.queue.is_some() { Mode::Sequential } else { Mode::Parallel },
            queue: self.queue.clone(),
            holds_queue: self.holds_queue(),
            attempt: i32::try_from(attempt).unwrap_or(i32::MAX),
            created_at: self.trial.now,
        }
    }

    /// Lines of the stage beyond those that are in the story by now.
    fn moments<'s>(&self, lines: impl Iterator<Item = Happened<'s>>) -> Vec<Moment> {
        let start = self.trial.now;
        let moment = |one| match one {
            Happened::Said(line) => Moment::new(between(start, line.at), format!("log: {}", line.text)),
            Happened::Moved(Transition { from, event, to, at, .. }) => {
                Moment::new(between(start, *at), format!("`{from}` {event} to `{to}`"))
            }
        };
        lines.skip(self.heard).map(moment).collect()
    }

    /// Notes at the last event that the variables are others by now.
    fn note_vars(&mut self, vars: Map<String, Value>) {
        if self.vars == vars {
            return;
        }
        if let Some(last) = self.played.story.last_mut() {
            last.vars = Some(vars.clone());
        }
        self.vars = vars;
    }

    /// Keeps what is written of the stage.
    fn note(&mut self, transitions: &[Transition], log: &[LogLine], answers: &[CallAnswer]) {
        self.played.log.extend(log.iter().map(|line| line.text.clone()));
        self.played.path.extend(transitions.iter().map(|one| one.to.clone()));
        self.played.transitions.extend(transitions.iter().cloned());
        for answer in answers {
            let text = match &answer.outcome {
                Ok(value) => format!("answered {value}"),
                Err(error) => format!("refused: {}", error.message),
            };
            let at = usize::try_from(answer.no).unwrap_or(usize::MAX);
            let name = self.trial.calls.get(at).map_or("", |call| &call.name);
            self.tell(format!("call `{name}` is {text}"));
            if let Some(slot) = self.played.answers.get_mut(at) {
                *slot = Some(answer.outcome.clone());
            }
        }
    }

    fn ended(&mut self, end: &StageEnd) -> Option<TrialEnd> {
        let Then::End { status, scenario_status, error } = &end.then else {
            return None;
        };
        let why = error.as_ref().map_or(String::new(), |error| format!(": {}", error.message));
        self.tell(format!("the order ends `{status}` in `{}`{why}", end.step));
        Some(TrialEnd {
            status: *status,
            scenario_status: *scenario_status,
            step: end.step.clone(),
            error: error.clone(),
            result: end.snapshot.result.clone(),
            message: end.snapshot.message.clone(),
            vars: end.snapshot.known_vars(),
            duration: self.elapsed(),
        })
    }

    fn pass(&mut self, time: Duration) {
        self.now = later(self.now, time);
    }

    fn tell(&mut self, text: String) {
        self.tell_at(self.now, text);
    }

    fn tell_at(&mut self, at: Timestamp, text: String) {
        self.played.story.push(Moment::new(between(self.trial.now, at), text));
    }

    /// Adds the outcome of a request to the story.
    fn ask(&mut self, text: String) {
        self.asked.push(self.played.story.len());
        self.tell(text);
    }

    fn elapsed(&self) -> Duration {
        between(self.trial.now, self.now)
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::placed(Some(self.trial.at), "", message)
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}
