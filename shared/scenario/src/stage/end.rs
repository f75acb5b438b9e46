//! End of a stage: the one value from which everything about it is written.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::classes::PANIC;
use pagurus_domain::id::RequestId;
use pagurus_domain::order::stage::Then;
use pagurus_domain::order::{OrderError, ScenarioStatus};
use pagurus_domain::time;
use serde::Serialize;
use serde_json::Value;

use super::super::Folded;
use super::super::conceal::Concealed;
use super::call::CallAnswer;
use super::sample::CallMade;
use super::snapshot::{Destination, EntryPoint, FailurePoint, OpenOperation, Remembered, Rest, Snapshot};
use super::step::StepMade;

/// Move from state to state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// State that the order left.
    pub from: String,
    /// Cause of the move: an event, or `call:NAME`.
    pub event: Cow<'static, str>,
    /// The state that was entered.
    pub to: String,
    /// Time of the event.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Number of lines of the same stage, or since its position was saved last, that were said before.
    #[serde(rename = "saidBefore")]
    pub said_before: usize,
}

/// Line of an order's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Time of the event.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Text of the engine or the scenario.
    pub text: String,
}

/// Event of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happened<'s> {
    /// A line was logged.
    Said(&'s LogLine),
    /// The order moved.
    Moved(&'s Transition),
}

/// Lines and transitions of a stage in the order in which they came.
pub fn in_order<'s>(log: &'s [LogLine], transitions: &'s [Transition]) -> impl Iterator<Item = Happened<'s>> {
    let mut said = 0;
    let moves = transitions.iter().flat_map(move |one| {
        let before = said..one.said_before.clamp(said, log.len());
        said = before.end;
        log[before].iter().map(Happened::Said).chain([Happened::Moved(one)])
    });
    let last = transitions.last().map_or(0, |one| one.said_before.min(log.len()));
    moves.chain(log[last..].iter().map(Happened::Said))
}

/// The end of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageEnd {
    /// The way in which the order goes on.
    pub then: Then,
    /// Position and variables to keep.
    pub snapshot: Snapshot,
    /// The present state.
    pub step: String,
    /// Status of the order in relation to its target.
    pub scenario_status: ScenarioStatus,
    /// Transitions from here to a target; `None` where there is no way.
    pub distance: Option<usize>,
    /// The last entry point that this stage visited.
    pub entry_point: Option<String>,
    /// The moves of this stage.
    pub transitions: Vec<Transition>,
    /// Lines of the log.
    pub log: Vec<LogLine>,
    /// True if the scenario gave the queue up.
    pub released: bool,
    /// True if a position was stored on the way.
    pub saved: bool,
    /// The calls from outside that were handled.
    pub answers: Vec<CallAnswer>,
    /// The calls of systems that came to an end in it.
    pub calls: Vec<CallMade>,
    /// The systems of the requests that it waits for.
    pub asked: Vec<(RequestId, String)>,
    /// Ways in which open requests are given up, as far as they follow from answers: each as the JSON of its call.
    pub cancels: Vec<(RequestId, String)>,
    /// True if it ends where an action says how its request is given up.
    pub gives_up: bool,
    /// Requests of its actions to the world.
    pub steps: Vec<StepMade>,
    /// Operations that came to their end in it: the state, and the action that is their entry.
    pub operations: Vec<(String, usize)>,
    /// Time for which the stage ran.
    pub duration: Duration,
}

/// Position of a stage when it enters an entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Position and variables to go on with.
    pub snapshot: Snapshot,
    /// The present state.
    pub step: String,
    /// The entry point, where the present state is one: a savepoint of an operation is none.
    pub entry_point: Option<String>,
    /// Status of the order in relation to its target.
    pub scenario_status: ScenarioStatus,
    /// Transitions from here to a target; `None` where there is no way.
    pub distance: Option<usize>,
    /// Moves since the start of the stage, or since the entry point before.
    pub transitions: Vec<Transition>,
    /// Lines of the log since then.
    pub log: Vec<LogLine>,
    /// The calls from outside that were handled since then.
    pub answers: Vec<CallAnswer>,
    /// Requests of its actions to the world since then.
    pub steps: Vec<StepMade>,
}

const fn standing(distance: Option<usize>) -> ScenarioStatus {
    if distance.is_some() { ScenarioStatus::OnTarget } else { ScenarioStatus::OffTarget }
}

/// Longest line kept, in bytes.
const MAX_LINE_BYTES: usize = 2000;
/// Most lines kept of one stage.
const MAX_LINES: usize = 1000;

/// Gathers the end while the stage runs.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub then: Option<Then>,
    pub entry_point: Option<String>,
    pub transitions: Vec<Transition>,
    pub log: Vec<LogLine>,
    pub released: bool,
    pub answers: Vec<CallAnswer>,
    /// Calls of systems that came to an end.
    pub calls: Vec<CallMade>,
    /// Requests of actions to the world.
    pub steps: Vec<StepMade>,
    /// Operations that came to their end.
    pub operations: Vec<(String, usize)>,
    /// Moment of the last move or line that was saved at an entry point.
    pub saved_at: Option<Timestamp>,
    /// Lines that were saved at entry points.
    pub saved_lines: usize,
    /// Values of the secrets that were used: no output may hold them.
    pub secrets: Concealed,
}

impl Builder {
    /// Sets the end, unless there is one: the first one stands.
    pub fn over(&mut self, then: Then) {
        self.then.get_or_insert(match then {
            Then::Retry { at, error } => Then::Retry { at, error: error.storable() },
            Then::End { status, scenario_status, error } => {
                Then::End { status, scenario_status, error: error.map(OrderError::storable) }
            }
            other => other,
        });
    }

    pub fn answer(&mut self, no: i64, outcome: Result<Value, OrderError>) {
        self.answers.push(CallAnswer { no, outcome: outcome.map_err(OrderError::storable) });
    }

    pub fn log(&mut self, at: Timestamp, mut text: String) {
        if self.saved_lines + self.log.len() < MAX_LINES {
            // Before it is cut: a part of a secret would not be known for one.
            if !self.secrets.is_empty() {
                text = self.secrets.excerpt(&text);
            }
            text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
            self.log.push(LogLine { at, text });
        }
    }

    /// The value as it may be stored, without secrets.
    pub fn kept(&self, value: Value) -> Value {
        if self.secrets.is_empty() { value } else { self.secrets.kept(&value) }
    }

    fn last_moment(&self) -> Option<Timestamp> {
        let moved = self.transitions.last().map(|transition| transition.at);
        moved.max(self.log.last().map(|line| line.at)).max(self.saved_at)
    }

    /// Hands over what is to be saved at an entry point: the end tells no more of it.
    pub fn reach(
        &mut self,
        snapshot: Snapshot,
        (step, is_entry_point): (&str, bool),
        distance: Option<usize>,
    ) -> Reached {
        self.saved_at = self.last_moment();
        self.saved_lines += self.log.len();
        let mut reached = Reached {
            snapshot,
            step: step.to_owned(),
            entry_point: is_entry_point.then(|| step.to_owned()),
            scenario_status: standing(distance),
            distance,
            transitions: std::mem::take(&mut self.transitions),
            log: std::mem::take(&mut self.log),
            answers: std::mem::take(&mut self.answers),
            steps: std::mem::take(&mut self.steps),
        };
        if !self.secrets.is_empty() {
            let Reached { snapshot, log, answers, steps, .. } = &mut reached;
            self.conceal(snapshot, log, answers);
            self.conceal_steps(steps);
        }
        reached
    }

    pub fn build(
        &self,
        snapshot: Snapshot,
        step: &str,
        distance: Option<usize>,
        started_at: Timestamp,
    ) -> StageEnd {
        // A stage that is over has its `then`; without one there is a defect above, and going on would
        // be a circle.
        let then = self.then.clone().unwrap_or_else(|| {
            Then::failed(OrderError::new(PANIC, "a defect of the engine left the stage without an end"))
        });
        let last = self.last_moment().unwrap_or(started_at);
        let milliseconds = last.as_millisecond().saturating_sub(started_at.as_millisecond());
        let mut end = StageEnd {
            scenario_status: match &then {
                Then::End { scenario_status, .. } => *scenario_status,
                _ => standing(distance),
            },
            then,
            snapshot,
            step: step.to_owned(),
            distance,
            entry_point: self.entry_point.clone(),
            transitions: self.transitions.clone(),
            log: self.log.clone(),
            released: self.released,
            saved: self.saved_at.is_some(),
            answers: self.answers.clone(),
            calls: self.calls.clone(),
            asked: Vec::new(),
            cancels: Vec::new(),
            gives_up: false,
            steps: self.steps.clone(),
            operations: self.operations.clone(),
            duration: Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)),
        };
        if !self.secrets.is_empty() {
            if let Then::Retry { error, .. } | Then::End { error: Some(error), .. } = &mut end.then {
                error.message = self.secrets.excerpt(&error.message);
            }
            self.conceal(&mut end.snapshot, &mut end.log, &mut end.answers);
            self.conceal_steps(&mut end.steps);
        }
        // The repeat of a call is not what the order itself rests for.
        end.snapshot.frame_mut().rest = Rest::of(&end.then);
        end
    }

    /// Keeps out of targets the secrets that were used after they were asked.
    fn conceal_steps(&self, steps: &mut [StepMade]) {
        for step in steps {
            step.target = self.secrets.text(&step.target);
            step.error.iter_mut().for_each(|error| *error = self.secrets.excerpt(error));
        }
    }

    /// Keeps the secrets that were used out of everything that is reported and kept: a called system may
    /// have sent them back.
    fn conceal(&self, snapshot: &mut Snapshot, log: &mut [LogLine], answers: &mut [CallAnswer]) {
        let text = |text: &mut String| *text = self.secrets.text(text);
        // Messages of failures are cut where they are made.
        let excerpt = |text: &mut String| *text = self.secrets.excerpt(text);
        let shown = |value: &mut Value| *value = self.secrets.value(value);
        let kept = |value: &mut Value| *value = self.secrets.kept(value);
        let fold = |value: &mut Folded| *value = Folded::from(self.secrets.kept(value.value())).folded();
        log.iter_mut().for_each(|line| text(&mut line.text));
        for answer in answers {
            match &mut answer.outcome {
                Ok(value) => shown(value),
                Err(error) => excerpt(&mut error.message),
            }
        }
        let Snapshot {
            main,
            operations,
            handling,
            mover,
            entry_point,
            requests,
            vars,
            error,
            failed,
            result,
            message,
            ..
        } = snapshot;
        vars.values_mut().for_each(kept);
        main.values_mut().for_each(fold);
        operations.iter_mut().flat_map(OpenOperation::values_mut).for_each(fold);
        operations.iter_mut().flat_map(|operation| &mut operation.result).for_each(kept);
        entry_point.iter_mut().flat_map(EntryPoint::values_mut).for_each(fold);
        mover.iter_mut().flat_map(|call| &mut call.answer).for_each(kept);
        error.iter_mut().for_each(|error| excerpt(&mut error.message));
        main.errors_mut().for_each(|error| excerpt(&mut error.message));
        failed.iter_mut().flat_map(FailurePoint::values_mut).for_each(fold);
        failed.iter_mut().flat_map(FailurePoint::errors_mut).for_each(|error| excerpt(&mut error.message));
        result.iter_mut().for_each(shown);
        message.iter_mut().for_each(text);
        if let Some(call) = handling {
            call.frame.values_mut().for_each(fold);
            call.frame.errors_mut().for_each(|error| excerpt(&mut error.message));
            call.answer.iter_mut().for_each(kept);
            if let Some(Remembered { vars, result, message }) = &mut call.before {
                fold(vars);
                result.iter_mut().for_each(shown);
                message.iter_mut().for_each(text);
            }
        }
        let around = operations.iter_mut().flat_map(|operation| &mut operation.requests_around);
        for request in requests.iter_mut().chain(around) {
            if let Some(Destination::Http { path, .. }) = &mut request.asked {
                text(path);
            }
        }
    }
}
