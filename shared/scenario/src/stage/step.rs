//! Requests of each action of a stage, with their outcomes: for people who look at an order. Bodies are never
//! kept. Must never move the stage.

use jiff::Timestamp;
use pagurus_domain::classes::{AMQP_UNROUTABLE, ORDER_REFUSED, SECRET_FORBIDDEN};
use pagurus_domain::system::host_and_path;
use pagurus_domain::time;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::super::Action;
use super::{Answer, HttpCall, HttpFailure, Need, Response, StageRun, StageTurn};

/// Records of one stage at most.
const MOST: usize = 200;
/// Longest target that is kept, in bytes.
const MAX_TARGET_BYTES: usize = 500;

/// Request of an action to the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepMade {
    /// The state.
    pub state: String,
    /// Index of the action in it.
    pub action: usize,
    /// Operations that the action is a part of, from the outside to the inside: `outer/inner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// `http`, `amqp`, `actor` or `order`.
    pub kind: &'static str,
    /// Name that the scenario gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Place that was asked: method, host and path; exchange and key; the actor; scenario and id of the child.
    pub target: String,
    /// Key by which the asked one knows a repeat.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub key: Option<Uuid>,
    /// Moment at which it was asked.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Milliseconds until the answer.
    pub ms: u64,
    /// Status of an answer over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Length of the body of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Outcome of the request.
    pub outcome: StepOutcome,
    /// Class of its failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// True if a line of the log tells of its failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub logged: bool,
    /// Lines and moves that came before its answer, as [`Transition::said_before`](super::Transition) counts.
    #[serde(rename = "saidBefore")]
    pub said_before: usize,
    /// Number of moves that came before its answer.
    #[serde(rename = "movedBefore")]
    pub moved_before: usize,
}

fn as_text<S: Serializer>(key: &Option<Uuid>, serializer: S) -> Result<S::Ok, S::Error> {
    key.map(|key| key.to_string()).serialize(serializer)
}

/// Outcome of a request to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepOutcome {
    /// Answered as the scenario hoped.
    Answered,
    /// Confirmed by the system that carries it on.
    Sent,
    /// Answered otherwise, or not at all.
    Failed,
}

/// Open request of a running stage to the world, for people who look at the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The state.
    pub state: String,
    /// Index of the action in it.
    pub action: usize,
    /// `http`, `amqp`, `actor` or `order`.
    pub kind: &'static str,
    /// Name that the scenario gives it.
    pub name: Option<String>,
    /// Place that was asked, as records of what was asked tell it; of several at a time the first, and how many more.
    pub target: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Moment at which it was asked.
    pub at: Timestamp,
}

/// Request that is not answered yet.
#[derive(Debug, Default)]
pub(super) struct AskedWorld {
    state: String,
    action: usize,
    operation: Option<String>,
    name: Option<String>,
    kind: &'static str,
    targets: Vec<StepTarget>,
    attempt: u32,
    at: Timestamp,
}

/// A place that was asked, and the key of the question.
type StepTarget = (String, Option<Uuid>);

/// Verdict on an answer over HTTP: the class of a failure, where it has one, and its message.
pub(super) type Judged = Result<(), (Option<String>, String)>;

impl StageRun {
    /// Keeps what is asked now.
    pub(super) fn note_need(&mut self, need: &Need, turn: &StageTurn<'_>) {
        let (kind, targets) = match need {
            Need::Http(call) => ("http", vec![target_of(call)]),
            Need::Parallel(calls) => ("http", calls.iter().map(target_of).collect()),
            Need::Publish(message) => {
                ("amqp", vec![(format!("{}:{}", message.exchange, message.key), Some(message.message_id))])
            }
            Need::Task(task) => ("actor", vec![(task.actor.clone(), Some(task.message_id))]),
            Need::Order(child) => {
                let text = |key: &str| child.registration[key].as_str().unwrap_or_default().to_owned();
                ("order", vec![(format!("{} {}", text("scenario"), text("id")), None)])
            }
            _ => {
                self.asked = None;
                return;
            }
        };
        self.has_asked = true;
        let frame = self.cursor.frame();
        self.asked = Some(AskedWorld {
            state: turn.scenario.state(self.state).name.clone(),
            action: frame.action,
            operation: self.entry(turn).map(|enter| enter.path().to_owned()),
            attempt: frame.retry.as_ref().map_or(1, |retry| retry.cycle.attempts.saturating_add(1)),
            name: self.present(turn).and_then(name_of),
            kind,
            targets,
            at: turn.now,
        });
    }

    /// Returns the request that is not answered yet; `None` if there is none.
    pub(super) fn asking(&self) -> Option<Asking> {
        let asked = self.asked.as_ref()?;
        let ((first, _), more) = asked.targets.split_first()?;
        let mut target = self.end.secrets.text(first);
        target.truncate(target.floor_char_boundary(MAX_TARGET_BYTES));
        if !more.is_empty() {
            target.push_str(&format!(" and {} more", more.len()));
        }
        Some(Asking {
            state: asked.state.clone(),
            action: asked.action,
            kind: asked.kind,
            name: asked.name.clone(),
            target,
            attempt: asked.attempt,
            at: asked.at,
        })
    }

    /// The records of what was asked, by its answer; the verdicts on it are added when they are known.
    pub(super) fn steps_of(&mut self, answer: &Answer, turn: &StageTurn<'_>) -> Vec<StepMade> {
        self.judged.clear();
        let Some(asked) = self.asked.take() else { return Vec::new() };
        let made = |(target, key): &StepTarget, outcome, class: Option<&str>| StepMade {
            state: asked.state.clone(),
            action: asked.action,
            operation: asked.operation.clone(),
            kind: asked.kind,
            name: asked.name.clone(),
            target: target.clone(),
            key: *key,
            at: asked.at,
            ms: u64::try_from(turn.now.as_millisecond().saturating_sub(asked.at.as_millisecond()))
                .unwrap_or(0),
            status: None,
            bytes: None,
            attempt: asked.attempt,
            outcome,
            class: class.map(str::to_owned),
            error: None,
            logged: false,
            said_before: self.end.log.len(),
            moved_before: self.end.transitions.len(),
        };
        let failed = |target: &StepTarget, class: Option<&str>, error: &str| StepMade {
            error: Some(error.to_owned()),
            ..made(target, StepOutcome::Failed, class)
        };
        let called = |target: &StepTarget, outcome: Result<&Response, &HttpFailure>| match outcome {
            Ok(response) => StepMade {
                status: Some(response.status),
                bytes: Some(response.body.len()),
                ms: u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
                ..made(target, StepOutcome::Answered, None)
            },
            Err(failure) => failed(target, None, &failure.message),
        };
        let targets = asked.targets.iter();
        match answer {
            Answer::Response(response) => targets.map(|target| called(target, Ok(response))).collect(),
            Answer::Failed(failure) => targets.map(|target| called(target, Err(failure))).collect(),
            Answer::Parallel(outcomes) => {
                targets.zip(outcomes).map(|(target, outcome)| called(target, outcome.as_ref())).collect()
            }
            Answer::Published | Answer::OrderStarted => {
                targets.map(|target| made(target, StepOutcome::Sent, None)).collect()
            }
            Answer::Unpublished(why) => {
                targets.map(|target| failed(target, Some(AMQP_UNROUTABLE), why)).collect()
            }
            Answer::Forbidden(why) => {
                targets.map(|target| failed(target, Some(SECRET_FORBIDDEN), why)).collect()
            }
            Answer::OrderRefused(why) => {
                targets.map(|target| failed(target, Some(ORDER_REFUSED), why)).collect()
            }
            // Nothing was asked of anybody.
            _ => Vec::new(),
        }
    }

    /// Keeps the records, each with the verdict on it.
    pub(super) fn note_steps(&mut self, steps: Vec<StepMade>) {
        let mut judged = std::mem::take(&mut self.judged).into_iter();
        for mut step in steps {
            let mut message = step.error.clone();
            if step.kind == "http"
                && let Some(Err((class, why))) = judged.next()
            {
                (step.outcome, step.class, message) = (StepOutcome::Failed, class, Some(why));
            }
            step.logged = message.is_some_and(|message| self.is_logged(&message, step.said_before));
            step.target = self.end.secrets.text(&step.target);
            step.target.truncate(step.target.floor_char_boundary(MAX_TARGET_BYTES));
            if let Some(error) = &mut step.error {
                *error = self.end.secrets.excerpt(error);
                error.truncate(error.floor_char_boundary(MAX_TARGET_BYTES));
            }
            if self.end.steps.len() < MOST {
                self.end.steps.push(step);
            }
        }
    }
}

impl StageRun {
    /// True if a line that was logged since tells of this failure.
    fn is_logged(&self, message: &str, since: usize) -> bool {
        let message = self.end.secrets.excerpt(message);
        self.end.log.iter().skip(since).any(|line| line.text.contains(&message))
    }
}

fn target_of(call: &HttpCall) -> StepTarget {
    let (host, path) = host_and_path(&call.url);
    (format!("{} {host}{path}", call.method), Some(call.idempotency_key))
}

/// The name of an action, or of its request.
fn name_of(action: &Action) -> Option<String> {
    let named = match action {
        Action::Http(http) => http.name.clone(),
        _ => None,
    };
    named.or_else(|| action.request().map(ToString::to_string))
}
