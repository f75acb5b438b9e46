//! Plays an order from its registration to its end: every stage as a worker would run it, with the
//! table in place of the world and a clock that jumps.

mod asking;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::world::World;
use super::{Call, Ended, Moment, Played, Trial};
use crate::document::Fault;
use crate::id::RequestId;
use crate::order::Mode;
use crate::scenario::script::Scripting;
use crate::scenario::stage::{
    Answer, Callback, Facts, Input, LogLine, Need, OutsideCall, Settings, Snapshot, Stage, StageEnd, Then,
    Wake,
};
use crate::scenario::{Bounds, Scenario, StateKind};

/// Stages after which an order is held to go round in a circle.
const MAX_STAGES: u32 = 1000;
/// Virtual time after which an order is held to have no end.
const MAX_TIME: Duration = Duration::from_secs(20 * 365 * 24 * 3600);
/// Chance is always the same, so that a test is.
const DICE: f64 = 0.5;
/// What callback URLs begin with in tests.
const CALLBACK_BASE: &str = "http://pagurus.test";
const HOUR: Duration = Duration::from_secs(3600);

/// Plays the test to the end of the order, or to where it cannot go on.
pub(super) fn play(
    scenario: &Arc<Scenario>,
    bounds: &Bounds,
    trial: &Trial,
    go_on: &mut dyn FnMut() -> bool,
) -> Played {
    let mut play = Play {
        trial,
        settings: Arc::new(settings(bounds, trial)),
        scenario: scenario.clone(),
        world: World::of(trial),
        now: trial.now,
        registered: None,
        coming: Vec::new(),
        callbacks: BTreeMap::new(),
        asked: Vec::new(),
        played: Played::default(),
    };
    play.played.answers = trial.calls.iter().map(|_| None).collect();
    let initial = scenario.state(scenario.initial).name.clone();
    play.played.path.push(initial.clone());
    play.tell(format!("the order begins at `{initial}`"));
    let outcome = play.check_params().and_then(|()| play.life(go_on));
    // What a stage asked before it was broken off belongs to the story, too.
    play.played.story.extend(play.asked.into_iter().map(|(_, moment)| moment));
    play.played.broken = outcome.err();
    play.played
}

/// What a deployment with default settings would set.
fn settings(bounds: &Bounds, trial: &Trial) -> Settings {
    Settings {
        scripting: Scripting::new(bounds.script.clone()),
        bounds: bounds.clone(),
        errors: trial.errors.clone(),
        constants: Arc::new(trial.config.clone()),
        secrets: Arc::new(trial.secrets.clone()),
        vhost: "/".to_owned(),
        callback_base: CALLBACK_BASE.to_owned(),
        max_sync_duration: HOUR / 12,
        max_acquisition_duration: HOUR,
        max_wait_sequential: HOUR,
        max_wait_parallel: HOUR * 24 * 93,
    }
}

struct Play<'t> {
    trial: &'t Trial,
    scenario: Arc<Scenario>,
    settings: Arc<Settings>,
    world: World<'t>,
    now: Timestamp,
    /// The request that was registered last and is not sent yet.
    registered: Option<(RequestId, String)>,
    coming: Vec<Coming>,
    callbacks: BTreeMap<String, Callback>,
    /// What the present stage asked of the world, each with the state that asked.
    asked: Vec<(String, Moment)>,
    played: Played,
}

/// A callback on its way.
struct Coming {
    at: Timestamp,
    id: RequestId,
    name: String,
    value: Value,
    /// It has been handed to the scenario, or nobody waits for it any more.
    over: bool,
}

type Going<T> = Result<T, Fault>;

impl Play<'_> {
    /// The engine would refuse an order whose parameters break the schema.
    fn check_params(&self) -> Going<()> {
        let Some(validator) = &self.scenario.params_validator else {
            return Ok(());
        };
        match validator.iter_errors(&self.trial.order.params).next() {
            None => Ok(()),
            Some(error) => {
                let told = format!("the order would be refused: params{}: {error}", error.instance_path());
                Err(self.fault(told).hint("mend `params` of this test"))
            }
        }
    }

    fn life(&mut self, go_on: &mut dyn FnMut() -> bool) -> Going<()> {
        let (mut snapshot, mut wake, mut due) = (Snapshot::default(), Wake::Start, self.now);
        for attempt in 1..=MAX_STAGES {
            if !go_on() {
                return Err(self.fault("the test takes too long and was broken off"));
            }
            let end = self.stage(attempt, snapshot, wake, due)?;
            if let Some(ended) = self.ended(&end) {
                self.played.end = Some(ended);
                return Ok(());
            }
            (wake, due) = self.rest(&end.then);
            (wake, due) = self.call_before(wake, due, &end.snapshot);
            self.now = due.max(self.now);
            if self.elapsed() > MAX_TIME {
                return Err(self.fault("the order has no end: twenty years of virtual time are over"));
            }
            // Through the stored form, as between two workers.
            snapshot = Snapshot::from_value(&end.snapshot.to_value())
                .map_err(|error| self.fault(error.to_string()))?;
        }
        Err(self.fault(format!("the order goes round in a circle: it is not over after {MAX_STAGES} stages")))
    }

    fn stage(
        &mut self,
        attempt: u32,
        snapshot: Snapshot,
        wake: Wake,
        due: Timestamp,
    ) -> Going<Box<StageEnd>> {
        self.deliver();
        let input = Input {
            params: Arc::new(self.trial.order.params.clone()),
            callbacks: self.callbacks.values().cloned().collect(),
            calls: self.waiting_calls(&snapshot),
            snapshot,
            wake,
            due_at: due,
            dice: DICE,
        };
        let (scenario, settings) = (self.scenario.clone(), self.settings.clone());
        let resumed = Stage::resume(scenario, settings, self.facts(attempt), input, self.now);
        let mut stage = resumed.map_err(|error| self.fault(error.to_string()))?;
        let mut need = stage.next(self.now);
        loop {
            let answer = match need {
                Need::Done(end) => {
                    self.note(&end);
                    return Ok(end);
                }
                Need::Register { name, visit, action, task } => {
                    // The same place gives the same request; each hand-out of a task has its own.
                    let hand_out = task.map_or(0, |task| task.hand_out);
                    let place = (u128::from(visit) << 64) | (u128::from(action) << 32) | u128::from(hand_out);
                    let id = RequestId(Uuid::from_u128(place));
                    self.registered = Some((id, name));
                    Answer::Registered(id)
                }
                Need::Http(call) => self.http(&call, stage.step())?,
                Need::Parallel(calls) => self.parallel(&calls, stage.step())?,
                Need::Publish(message) => self.publish(&message, stage.step())?,
                Need::Task(task) => self.task(&task, stage.step())?,
                Need::Release => Answer::Released,
                Need::Order(child) => self.child(&child, stage.step())?,
            };
            need = match stage.answer(answer, self.now, DICE) {
                Some(need) => need,
                None => stage.next(self.now),
            };
        }
    }

    fn facts(&self, attempt: u32) -> Facts {
        let order = &self.trial.order;
        Facts {
            id: order.id.clone(),
            transaction_id: order.transaction_id.clone(),
            life: 1,
            mode: if order.queue.is_some() { Mode::Sequential } else { Mode::Parallel },
            queue: order.queue.clone(),
            attempt: i32::try_from(attempt).unwrap_or(i32::MAX),
            created_at: self.trial.now,
        }
    }

    /// Hands over every callback that has come by now.
    fn deliver(&mut self) {
        self.coming.sort_by_key(|coming| coming.at);
        for coming in self.coming.iter_mut().filter(|coming| !coming.over && coming.at <= self.now) {
            coming.over = true;
            let callback = Callback {
                name: coming.name.clone(),
                body: match &coming.value["body"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                },
                step_status: coming.value["stepStatus"].as_str().map(str::to_owned),
                value: coming.value.clone(),
            };
            self.callbacks.insert(coming.name.clone(), callback);
            let after = between(self.trial.now, coming.at);
            self.played.story.push(Moment { after, text: format!("callback `{}`", coming.name) });
        }
    }

    /// What wakes the order, and when.
    fn rest(&mut self, then: &Then) -> (Wake, Timestamp) {
        match then {
            Then::Sleep { until } => {
                self.tell(format!("sleeps until {until}"));
                (Wake::Timer, *until)
            }
            Then::Retry { at, error } => {
                let class = error.class.as_deref().unwrap_or("unclassified");
                self.tell(format!("retries at {at} ({class}: {})", error.message));
                (Wake::Retry, *at)
            }
            Then::Poll { at } => {
                self.tell(format!("polls again at {at}"));
                (Wake::Poll, *at)
            }
            Then::Wait { until, requests } => {
                self.tell(format!("waits until {until}"));
                self.wait(*until, requests)
            }
            Then::End { .. } => (Wake::Start, self.now),
        }
    }

    fn wait(&mut self, until: Timestamp, requests: &[RequestId]) -> (Wake, Timestamp) {
        let arrival = |id: &RequestId| {
            self.coming.iter().find(|coming| coming.id == *id).map(|coming| coming.at.max(self.now))
        };
        let arrivals: Option<Vec<Timestamp>> = requests.iter().map(arrival).collect();
        let last = arrivals.map(|arrivals| arrivals.into_iter().max().unwrap_or(self.now));
        if let Some(last) = last.filter(|last| *last <= until) {
            return (Wake::Callback, last);
        }
        // What comes after the time-out comes too late: the engine keeps it, but shows it to nobody.
        for coming in self.coming.iter_mut().filter(|coming| coming.at > until) {
            coming.over |= requests.contains(&coming.id);
        }
        (Wake::Timer, until)
    }

    /// A call that comes before the rest is over wakes the order; calls come before timers.
    fn call_before(&self, wake: Wake, due: Timestamp, snapshot: &Snapshot) -> (Wake, Timestamp) {
        let next = self.open_calls(snapshot).map(|(_, at, _)| at).next();
        match next.map(|at| at.max(self.now)) {
            Some(at) if at <= due => (Wake::Call, at),
            _ => (wake, due),
        }
    }

    /// Calls that nobody has taken up yet: their numbers, times, and what they bring.
    fn open_calls(&self, snapshot: &Snapshot) -> impl Iterator<Item = (i64, Timestamp, &Call)> {
        let taken: Vec<i64> = snapshot.calls_in_hand().collect();
        let calls = self.trial.calls.iter().zip(&self.played.answers).zip(0_i64..);
        calls.filter_map(move |((call, answer), no)| {
            let open = answer.is_none() && !taken.contains(&no);
            open.then(|| (no, later(self.trial.now, call.after), call))
        })
    }

    fn waiting_calls(&self, snapshot: &Snapshot) -> Vec<OutsideCall> {
        let come = self.open_calls(snapshot).filter(|(_, at, _)| *at <= self.now);
        come.map(|(no, _, call)| OutsideCall { no, name: call.name.clone(), body: call.body.clone() })
            .collect()
    }

    /// Keeps what the stage did: each request behind the transition into the state that made it.
    fn note(&mut self, end: &StageEnd) {
        let start = self.trial.now;
        for line in &end.log {
            self.played.log.push(line.text.clone());
        }
        let mut logged = end.log.iter().peekable();
        let mut asked = std::mem::take(&mut self.asked).into_iter().peekable();
        for one in &end.transitions {
            while let Some((_, moment)) = asked.next_if(|(step, _)| *step == one.from) {
                self.played.story.push(moment);
            }
            // What rests says nothing: a line of the same moment belongs to what was entered.
            let speaks = matches!(self.kind_of(&one.from), Some(StateKind::Plain | StateKind::Polling));
            while let Some(line) = logged.next_if(|line| speaks && line.at <= one.at) {
                self.played.story.push(said(start, line));
            }
            let text = format!("`{}` {} to `{}`", one.from, one.event, one.to);
            self.played.story.push(Moment { after: between(start, one.at), text });
            self.played.path.push(one.to.clone());
        }
        self.played.story.extend(asked.map(|(_, moment)| moment));
        self.played.story.extend(logged.map(|line| said(start, line)));
        for answer in &end.answers {
            let told = match &answer.outcome {
                Ok(value) => format!("answered {value}"),
                Err(error) => format!("refused: {}", error.message),
            };
            let at = usize::try_from(answer.no).unwrap_or(usize::MAX);
            let name = self.trial.calls.get(at).map_or("", |call| &call.name);
            self.tell(format!("call `{name}` is {told}"));
            if let Some(slot) = self.played.answers.get_mut(at) {
                *slot = Some(answer.outcome.clone());
            }
        }
        if end.released {
            self.tell("gives its queue up".to_owned());
        }
    }

    fn kind_of(&self, state: &str) -> Option<StateKind> {
        self.scenario.state_named(state).map(|id| self.scenario.state(id).kind)
    }

    fn ended(&mut self, end: &StageEnd) -> Option<Ended> {
        let Then::End { status, scenario_status, error } = &end.then else {
            return None;
        };
        let why = error.as_ref().map_or(String::new(), |error| format!(": {}", error.message));
        self.tell(format!("the order ends `{status}` in `{}`{why}", end.step));
        Some(Ended {
            status: *status,
            scenario_status: *scenario_status,
            step: end.step.clone(),
            error: error.clone(),
            result: end.snapshot.result.clone(),
            message: end.snapshot.message.clone(),
            vars: end.snapshot.vars.clone(),
            duration: self.elapsed(),
        })
    }

    fn pass(&mut self, time: Duration) {
        self.now = later(self.now, time);
    }

    fn tell(&mut self, text: String) {
        let after = self.elapsed();
        self.played.story.push(Moment { after, text });
    }

    /// Tells what came of a request.
    fn ask(&mut self, step: &str, text: String) {
        let after = self.elapsed();
        self.asked.push((step.to_owned(), Moment { after, text }));
    }

    fn elapsed(&self) -> Duration {
        between(self.trial.now, self.now)
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::placed(Some(self.trial.at), "", message)
    }
}

fn said(start: Timestamp, line: &LogLine) -> Moment {
    Moment { after: between(start, line.at), text: format!("log: {}", line.text) }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}
