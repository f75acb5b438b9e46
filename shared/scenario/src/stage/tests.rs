//! The interpreter, played in virtual time: a scenario and the world's answers in, calls and ends
//! out. Every suspension goes through the stored form of the snapshot, as it does in production.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod again;
mod answers;
mod asynchronous;
mod bounds;
mod calls;
mod choose;
mod defects;
mod each;
mod failed_action;
mod failed_action_property;
mod failures;
mod flow;
mod given_up;
mod hold;
mod holds;
mod inside;
mod judged;
mod keys;
mod left;
mod lives;
mod model;
mod named;
mod operation;
mod own_rules;
mod pairs;
mod parallel;
mod places;
mod polling;
mod property;
mod reported;
mod sampled;
mod secrets;
mod soap;
mod stored;
mod tasks;
mod wide;
mod wide_inside_property;
mod wide_met;
mod wide_operation;
mod wide_operation_property;
mod wide_operation_walk;
mod wide_play;
mod wide_property;
mod wide_walk;

use std::collections::{BTreeMap, VecDeque};

use pagurus_domain::document::{DocumentLimits, parse, parse_duration};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::{Mode, ScenarioStatus, Status};
use pagurus_domain::retry::ErrorPolicy;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::script::Scripting;
use crate::{Bounds, script, source};
use answers::{One, after, library, said, said_at_once, settings};

/// Rules and policies of all plays that bring none of their own.
const ERRORS: &str = r#"
sync:
  classification:
    rules:
      any:
        requests: [{path: "/**"}]
        classes:
          busy: {responses: [{status_codes: [429, 503]}]}
          slow: {responses: [{status_codes: [503, 504]}]}
          lost: {responses: [{status_codes: [500]}]}
          down: {exceptions: [{name_keyword: ConnectError}]}
  retry:
    max_cycle_duration: 1d
    policies:
      busy:
        error_classes: [busy]
        parameters: {initial_interval: 10s, multiplier: 2, max_interval: 1m, jitter: 0, max_attempts: 3}
      slow:
        error_classes: [slow]
        parameters: {initial_interval: 10s, multiplier: 1, max_interval: 10s, jitter: 0, max_attempts: 1}
      down:
        error_classes: [down]
        parameters: {initial_interval: 8s, multiplier: 1, max_interval: 8s, jitter: 0, max_duration: 20s}
"#;

/// Time at which every play begins.
const START: &str = "2026-01-01T00:00:00Z";

/// An order, and the deployment it runs in.
struct Play {
    scenario: Arc<Scenario>,
    settings: StageSettings,
    facts: Facts,
    params: Arc<Value>,
    snapshot: Snapshot,
    /// True if a new request has nothing of the answers to an earlier one of its name, as in the store.
    forgets: bool,
}

/// Outcome of a play.
#[derive(Debug, Default)]
struct Played {
    /// Calls and messages, with visit and action of each.
    calls: Vec<(u32, usize, Need)>,
    /// Registrations, by visit, action and hand-out.
    requests: BTreeMap<(u32, u32, u32), RequestId>,
    /// Positions that were saved on the way.
    saved: Vec<Reached>,
    ends: Vec<StageEnd>,
}

/// Plays a scenario of the given states; see [`Play::go`].
fn play(states: &str, answers: &[&str]) -> Played {
    Play::of(states).go(answers)
}

impl Play {
    /// A scenario that begins at `a`.
    fn of(states: &str) -> Self {
        Self::whole(&format!("scenario: s\ninitialState: a\nstates:\n{states}"))
    }

    fn whole(text: &str) -> Self {
        Self::with_operations(text, &[])
    }

    /// A scenario with the operations that it runs, each by its own text.
    fn with_operations(text: &str, operations: &[&str]) -> Self {
        let scripting = Scripting::new(script::Limits::default());
        let bounds = Bounds::default();
        let library = library(operations);
        let scenario = source::read_with(text, &library, &scripting, &bounds)
            .unwrap_or_else(|faults| panic!("{}\n{text}", source::explain_faults(text, "s.yaml", &faults)));
        let settings = settings(scripting, bounds);
        let facts = Facts {
            id: "o-1".into(),
            transaction_id: None,
            labels: Default::default(),
            life: 1,
            mode: Mode::Parallel,
            queue: None,
            holds_queue: false,
            attempt: 1,
            created_at: START.parse().unwrap(),
        };
        let params = Arc::new(json!({"n": 7}));
        Self {
            scenario: Arc::new(scenario),
            settings,
            facts,
            params,
            snapshot: Snapshot::default(),
            forgets: false,
        }
    }

    fn sequential(mut self) -> Self {
        self.facts.mode = Mode::Sequential;
        self.facts.queue = Some("q".into());
        self.facts.holds_queue = true;
        self
    }

    fn errors(mut self, text: &str) -> Self {
        self.settings.errors = errors(text);
        self
    }

    fn set(mut self, change: impl FnOnce(&mut StageSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Starts at this state, like a restart.
    fn entering(mut self, state: &str, vars: Value) -> Self {
        self.snapshot = Snapshot::entering(state, vars.as_object().unwrap().clone());
        self.facts.life = 2;
        self
    }

    fn forgetting(mut self) -> Self {
        self.forgets = true;
        self
    }

    fn secret(mut self, name: &str, value: &str) -> Self {
        self.settings.secrets = Arc::new(One(name.to_owned(), value.to_owned()));
        self
    }

    /// Plays until the end. An answer is a status with an optional JSON body (`200 {"id": 1}`),
    /// `down`, `published`, `unroutable`, `started`, `refused`; those to a `parallel` stand between
    /// `|`. Any of them can be `held 5m`, and so can the hand-out of a task. A wait takes `timeout`, or `callback {…}` with the callbacks by name. Any rest takes
    /// `call NAME BODY; NAME BODY`. `+5m` before an answer is how long it takes; `late 5m` before
    /// it lets the next stage begin so long after it was due.
    fn go(self, answers: &[&str]) -> Played {
        self.go_while(answers, |_| true)
    }

    /// Plays until the order rests and nothing is left to answer.
    fn go_to_rest(self, answers: &[&str]) -> Played {
        self.go_while(answers, |left| !left.is_empty())
    }

    fn go_while(mut self, answers: &[&str], goes_on: impl Fn(&VecDeque<&str>) -> bool) -> Played {
        let settings = Arc::new(self.settings);
        let mut answers: VecDeque<&str> = answers.iter().copied().collect();
        let mut played = Played::default();
        let mut calls = Vec::new();
        let mut callbacks = serde_json::Map::new();
        let (mut snapshot, mut wake) = (self.snapshot, Wake::Start);
        let mut due: Timestamp = START.parse().unwrap();
        loop {
            let late = answers.front().and_then(|answer| answer.strip_prefix("late ")).map(|late| {
                let late = parse_duration(late).unwrap();
                answers.pop_front();
                late
            });
            let mut now = later(due, late.unwrap_or_default());
            let mut input = input(&self.params, &callbacks, snapshot, wake, due);
            input.calls.clone_from(&calls);
            let stage =
                Stage::resume(self.scenario.clone(), settings.clone(), self.facts.clone(), input, now);
            let end = played.stage(stage.unwrap(), &mut answers, &mut now);
            if self.forgets {
                callbacks.clear();
            }
            if end.released {
                self.facts.holds_queue = false;
            }
            snapshot = Snapshot::from_value(&end.snapshot.to_value()).unwrap();
            assert_eq!(snapshot, end.snapshot, "the stored form keeps everything");
            calls.retain(|call: &Call| end.answers.iter().all(|answer| answer.no != call.no));
            let over = matches!(end.then, Then::End { .. }) || !goes_on(&answers);
            (wake, due) = after(&end, &mut answers, &mut calls, &mut callbacks, now);
            played.ends.push(end);
            if over {
                assert!(answers.is_empty(), "answers nobody asked for: {answers:?}");
                return played;
            }
            assert!(played.ends.len() < 500, "the play does not end");
        }
    }
}

/// Input of a stage without calls from outside.
fn input(
    params: &Arc<Value>,
    callbacks: &serde_json::Map<String, Value>,
    snapshot: Snapshot,
    wake: Wake,
    due_at: Timestamp,
) -> Input {
    let callbacks = callbacks.iter().map(|(name, value)| Callback {
        name: name.clone(),
        value: value.clone().into(),
        received_at: value.get("receivedAt").and_then(Value::as_str).and_then(|at| at.parse().ok()),
        body: value
            .get("body")
            .map_or_else(String::new, |body| body.as_str().map_or_else(|| body.to_string(), str::to_owned)),
        step_status: value.get("stepStatus").and_then(Value::as_str).map(str::to_owned),
    });
    let callbacks = callbacks.collect();
    Input { params: params.clone().into(), callbacks, calls: Vec::new(), snapshot, wake, due_at, dice: 0.5 }
}

impl Played {
    /// Runs one stage. What was saved on the way is added to the end, as if nothing had been saved.
    fn stage(&mut self, mut stage: Stage, answers: &mut VecDeque<&str>, now: &mut Timestamp) -> StageEnd {
        let mut need = stage.next(*now);
        let (mut moves, mut log, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let answer = match need {
                Need::Done(mut end) => {
                    moves.append(&mut end.transitions);
                    log.append(&mut end.log);
                    replies.append(&mut end.answers);
                    return StageEnd { transitions: moves, log, answers: replies, ..*end };
                }
                Need::Save(mut reached) => {
                    assert_eq!(Snapshot::from_value(&reached.snapshot.to_value()).unwrap(), reached.snapshot);
                    self.saved.push(*reached.clone());
                    moves.append(&mut reached.transitions);
                    log.append(&mut reached.log);
                    replies.append(&mut reached.answers);
                    Answer::Saved
                }
                Need::Register { task: Some(_), .. }
                    if answers.front().is_some_and(|answer| answer.starts_with("held ")) =>
                {
                    let held =
                        answers.pop_front().and_then(|answer| parse_duration(&answer["held ".len()..]).ok());
                    Answer::Held { until: later(*now, held.unwrap()), system: "actor:scoring".into() }
                }
                Need::Register { visit, action, hand_out, .. } => {
                    let fresh = RequestId(Uuid::from_u128(self.requests.len() as u128 + 1));
                    Answer::Registered(*self.requests.entry((visit, action, hand_out)).or_insert(fresh))
                }
                Need::Release => Answer::Released,
                call => {
                    self.calls.push((stage.run.cursor.visit.number, stage.run.cursor.main.action, call));
                    let mut answer = answers.pop_front().expect("an answer to the call");
                    if let Some((took, rest)) = answer.strip_prefix('+').and_then(|rest| rest.split_once(' '))
                    {
                        *now = later(*now, parse_duration(took).unwrap());
                        answer = rest;
                    }
                    match &self.calls.last().unwrap().2 {
                        _ if answer.starts_with("held ") => {
                            let held = parse_duration(&answer["held ".len()..]).unwrap();
                            Answer::Held { until: later(*now, held), system: "billing".into() }
                        }
                        Need::Parallel(made) => said_at_once(answer, made.len()),
                        _ => said(answer),
                    }
                }
            };
            need = stage.answer(answer, *now, 0.5);
        }
    }

    fn last(&self) -> &StageEnd {
        self.ends.last().unwrap()
    }

    /// The states in the order in which they were entered by transitions, with their events:
    /// `success b, fail c`.
    fn path(&self) -> String {
        let moves = self.ends.iter().flat_map(|end| &end.transitions);
        moves.map(|t| format!("{} {}", t.event, t.to)).collect::<Vec<_>>().join(", ")
    }

    /// The status after each stage.
    fn statuses(&self) -> String {
        self.ends.iter().map(|end| end.then.status().as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Class and message of the error with which the order ended.
    fn error(&self) -> OrderError {
        match &self.last().then {
            Then::End { error: Some(error), .. } => error.clone(),
            other => panic!("no error: {other:?}"),
        }
    }

    fn class(&self) -> String {
        self.error().class.unwrap_or_else(|| "none".into())
    }

    /// Each request, those of a `parallel` one by one.
    fn http(&self) -> Vec<&HttpCall> {
        let calls = self.calls.iter().flat_map(|(_, _, need)| match need {
            Need::Http(call) => std::slice::from_ref(call),
            Need::Parallel(calls) => calls,
            _ => &[],
        });
        calls.collect()
    }

    /// Paths of the requests: `1, 2/7, 1`.
    fn paths(&self) -> String {
        let paths = self
            .http()
            .iter()
            .map(|call| call.url.trim_start_matches("http://h/").to_owned())
            .collect::<Vec<_>>();
        paths.join(", ")
    }

    /// Replies to callers from outside, in order: an answer, or a class.
    fn replies(&self) -> Vec<Value> {
        let answers = self.ends.iter().flat_map(|end| &end.answers);
        let replies = answers.map(|answer| match &answer.outcome {
            Ok(value) => value.clone(),
            Err(error) => json!(error.class.clone().unwrap_or_else(|| "none".into())),
        });
        replies.collect()
    }

    fn body(&self, call: usize) -> Value {
        serde_json::from_slice(&self.http()[call].body.as_ref().unwrap().bytes).unwrap()
    }

    /// Seconds from the last failure to the retry, for each retry.
    fn delays(&self) -> Vec<i64> {
        let retries = self.ends.iter().filter_map(|end| match &end.then {
            Then::Retry { at, .. } => Some(at.as_second() - end.log.last().unwrap().at.as_second()),
            _ => None,
        });
        retries.collect()
    }
}

fn errors(text: &str) -> ErrorPolicy {
    ErrorPolicy::read(&parse(text, &DocumentLimits::default()).unwrap()).unwrap()
}
