//! What a stage leaves behind: the one value from which everything about its end is written.

mod then;

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::Folded;
use super::super::conceal::Concealed;
use super::super::script::Said;
use super::outside::CallAnswer;
use super::snapshot::{Asked, Rest, Snapshot};
use crate::order::{OrderError, PANIC, ScenarioStatus, Status, storable};
pub use then::Then;

/// One move from state to state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state that was left.
    pub from: String,
    /// What moved the order: an event, or `call:NAME`.
    pub event: Cow<'static, str>,
    /// The state that was entered.
    pub to: String,
    /// When.
    pub at: Timestamp,
}

/// One line of an order's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: Timestamp,
    /// What the engine or the scenario said.
    pub text: String,
}

/// The end of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageEnd {
    /// What comes after it.
    pub then: Then,
    /// Position and variables to keep.
    pub snapshot: Snapshot,
    /// The present state.
    pub step: String,
    /// How the order stands to its target.
    pub scenario_status: ScenarioStatus,
    /// Transitions from here to a target; `None` where there is no way.
    pub distance: Option<usize>,
    /// The last entry point that this stage visited.
    pub entry_point: Option<String>,
    /// The moves of this stage.
    pub transitions: Vec<Transition>,
    /// What was said.
    pub log: Vec<LogLine>,
    /// Whether the scenario gave the queue up.
    pub released: bool,
    /// The calls from outside that were handled.
    pub answers: Vec<CallAnswer>,
    /// How long the stage ran.
    pub duration: Duration,
}

impl StageEnd {
    /// Transitions and log as one JSON value, for the history.
    #[must_use]
    pub fn history(&self) -> Value {
        let transitions: Vec<Value> = self
            .transitions
            .iter()
            .map(|t| json!({"from": t.from, "event": t.event, "to": t.to, "at": t.at.to_string()}))
            .collect();
        let log: Vec<Value> =
            self.log.iter().map(|line| json!({"at": line.at.to_string(), "text": line.text})).collect();
        json!({"transitions": transitions, "log": log})
    }
}

/// Longest line kept, in bytes.
const MAX_LINE_BYTES: usize = 2000;
/// Most lines kept of one stage.
const MAX_LINES: usize = 1000;

/// Gathers the end while the stage runs.
#[derive(Debug)]
pub(super) struct Builder {
    then: Option<Then>,
    entry_point: Option<String>,
    transitions: Vec<Transition>,
    log: Vec<LogLine>,
    released: bool,
    error: Option<OrderError>,
    result: Option<Value>,
    message: Option<String>,
    answers: Vec<CallAnswer>,
    said_answer: Option<Value>,
    /// Values of the secrets that were used: nothing that is told may hold them.
    secrets: Concealed,
}

impl Builder {
    pub fn new(snapshot: &Snapshot) -> Self {
        Self {
            then: None,
            entry_point: None,
            transitions: Vec::new(),
            log: Vec::new(),
            released: false,
            error: snapshot.error.clone(),
            result: snapshot.result.clone(),
            message: snapshot.message.clone(),
            answers: Vec::new(),
            said_answer: snapshot.answer.clone(),
            secrets: Concealed::default(),
        }
    }

    pub fn is_over(&self) -> bool {
        self.then.is_some()
    }

    /// The first end stands: nothing after it counts.
    pub fn over(&mut self, then: Then) {
        self.then.get_or_insert(match then {
            Then::Retry { at, error } => Then::Retry { at, error: error.storable() },
            Then::End { status, scenario_status, error } => {
                Then::End { status, scenario_status, error: error.map(OrderError::storable) }
            }
            other => other,
        });
    }

    pub fn rest(&self) -> Option<Rest> {
        self.then.as_ref().and_then(Then::rest)
    }

    pub fn retries(&self) -> bool {
        matches!(self.then, Some(Then::Retry { .. }))
    }

    pub fn entry_point(&mut self, name: &str) {
        self.entry_point = Some(name.to_owned());
    }

    pub fn transition(&mut self, from: &str, event: Cow<'static, str>, to: &str, at: Timestamp) {
        self.transitions.push(Transition { from: from.to_owned(), event, to: to.to_owned(), at });
    }

    pub fn answer(&mut self, no: i64, outcome: Result<Value, OrderError>) {
        self.answers.push(CallAnswer { no, outcome: outcome.map_err(OrderError::storable) });
    }

    /// What a script said by `answer(…)` since the last time.
    pub fn take_said_answer(&mut self) -> Option<Value> {
        self.said_answer.take()
    }

    /// What was said so far and has not been taken.
    pub fn said_answer(&self) -> Option<Value> {
        self.said_answer.clone()
    }

    /// From now on the value is kept out of everything that is told.
    pub fn conceal(&mut self, secret: &str) {
        self.secrets.add(secret);
    }

    /// The text without secrets.
    pub fn concealed(&self, text: &str) -> String {
        self.secrets.text(text)
    }

    /// The value as it may be stored and gone on with, without secrets.
    pub fn kept(&self, value: &Value) -> Value {
        if self.secrets.is_empty() { value.clone() } else { self.secrets.kept(value) }
    }

    /// What a snapshot keeps, without secrets: a called system may have told them back.
    pub fn conceal_kept(&self, cursor: &mut Snapshot) {
        if self.secrets.is_empty() {
            return;
        }
        cursor
            .vars
            .values_mut()
            .chain(&mut cursor.answer)
            .for_each(|value| *value = self.secrets.kept(value));
        let aside =
            cursor.call.iter_mut().flat_map(|call| call.responses.values_mut().chain(&mut call.response));
        for response in cursor.responses.values_mut().chain(&mut cursor.response).chain(aside) {
            *response = Folded::from(self.secrets.kept(response.value())).folded();
        }
        // A call that came before may have left there what it was told.
        if let Some(before) = cursor.call.as_mut().and_then(|call| call.before.as_mut()) {
            before.vars = Folded::from(self.secrets.kept(before.vars.value())).folded();
            before.result = before.result.as_ref().map(|result| self.secrets.value(result));
            before.message = before.message.as_ref().map(|message| self.concealed(message));
        }
        for request in &mut cursor.requests {
            if let Some(Asked::Http { path, .. }) = &mut request.asked {
                *path = self.concealed(path);
            }
        }
    }

    fn concealed_error(&self, error: &OrderError) -> OrderError {
        OrderError { message: self.concealed(&error.message), ..error.clone() }
    }

    pub fn transitions(&self) -> u32 {
        u32::try_from(self.transitions.len()).unwrap_or(u32::MAX)
    }

    pub fn log(&mut self, at: Timestamp, mut text: String) {
        if self.log.len() < MAX_LINES {
            // Before it is cut: a part of a secret would not be known for one.
            if !self.secrets.is_empty() {
                text = self.concealed(&text);
            }
            text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
            self.log.push(LogLine { at, text });
        }
    }

    pub fn release(&mut self) {
        self.released = true;
    }

    pub fn is_released(&self) -> bool {
        self.released
    }

    pub fn said(&mut self, said: &Said, at: Timestamp) {
        for line in &said.log {
            self.log(at, line.clone());
        }
        if let Some(result) = &said.result {
            self.result = Some(result.clone());
        }
        if let Some(message) = &said.message {
            self.message = Some(storable(message.clone()));
        }
        if let Some(answer) = &said.answer {
            self.said_answer = Some(answer.clone());
        }
    }

    /// Result and message so far.
    pub fn what_was_said(&self) -> (Option<Value>, Option<String>) {
        (self.result.clone(), self.message.clone())
    }

    /// Result and message are again what they were.
    pub fn unsay(&mut self, result: Option<Value>, message: Option<String>) {
        (self.result, self.message) = (result, message);
    }

    /// An action failed for good; the error is told if the order ends as failed.
    pub fn failed(&mut self, error: OrderError, at: Timestamp) {
        let class = error.class.as_deref().unwrap_or("unclassified");
        self.log(at, format!("failed ({class}): {}", error.message));
        self.error = Some(error.storable());
    }

    pub fn last_error(&self) -> Option<OrderError> {
        self.error.clone()
    }

    pub fn build(
        &mut self,
        mut snapshot: Snapshot,
        step: String,
        distance: Option<usize>,
        started_at: Timestamp,
    ) -> StageEnd {
        snapshot.error.clone_from(&self.error);
        snapshot.result.clone_from(&self.result);
        snapshot.message.clone_from(&self.message);
        // A stage that is over has its `then`; without one there is a defect above, and going on would
        // be a circle.
        let then = self.then.clone().unwrap_or_else(|| Then::End {
            status: Status::Fail,
            scenario_status: ScenarioStatus::Failed,
            error: Some(OrderError::new(PANIC, "a defect of the engine left the stage without an end")),
        });
        let last = self.transitions.last().map_or(started_at, |transition| transition.at);
        let last = self.log.last().map_or(last, |line| line.at.max(last));
        let milliseconds = last.as_millisecond().saturating_sub(started_at.as_millisecond());
        StageEnd {
            scenario_status: match &then {
                Then::End { scenario_status, .. } => *scenario_status,
                _ if distance.is_some() => ScenarioStatus::OnTarget,
                _ => ScenarioStatus::OffTarget,
            },
            then,
            snapshot,
            step,
            distance,
            entry_point: self.entry_point.clone(),
            transitions: self.transitions.clone(),
            log: self.log.clone(),
            released: self.released,
            answers: self.answers.clone(),
            duration: Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)),
        }
    }

    /// Keeps the secrets that were used out of everything that is told.
    pub fn conceal_all(&mut self) {
        if self.secrets.is_empty() {
            return;
        }
        let log =
            self.log.iter().map(|line| LogLine { at: line.at, text: self.concealed(&line.text) }).collect();
        let then = self.then.clone().map(|then| match then {
            Then::Retry { at, error } => Then::Retry { at, error: self.concealed_error(&error) },
            Then::End { status, scenario_status, error } => {
                let error = error.map(|error| self.concealed_error(&error));
                Then::End { status, scenario_status, error }
            }
            other => other,
        });
        let answers = self.answers.iter().map(|answer| CallAnswer {
            no: answer.no,
            outcome: match &answer.outcome {
                Ok(value) => Ok(self.secrets.value(value)),
                Err(error) => Err(self.concealed_error(error)),
            },
        });
        let answers = answers.collect();
        let error = self.error.as_ref().map(|error| self.concealed_error(error));
        let result = self.result.as_ref().map(|result| self.secrets.value(result));
        let message = self.message.as_ref().map(|message| self.concealed(message));
        *self = Self {
            log,
            then,
            answers,
            error,
            result,
            message,
            ..std::mem::replace(self, Self::new(&Snapshot::default()))
        };
    }
}
