//! Trying a scenario without a server: a whole order is run in virtual time against a table of
//! answers, and its outcome is compared with what its author expects (SCN-13).
//!
//! The interpreter is the engine's own, so that a trial shows what a worker would do; sleeps, waits
//! and retries only move the clock. A trial is the same in every run: chance is always one half, and
//! nothing here reads a clock or a file.

mod coverage;
mod judge;
mod mask;
mod play;
mod read;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::document::{Fault, Position};
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::{OrderError, ScenarioStatus, Status};
use pagurus_domain::retry::ErrorPolicy;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::stage::Transition;
use pagurus_scenario::{Method, Scenario};
use serde_json::{Map, Value, json};

pub use coverage::{Coverage, CoveredParts};
use mask::TextMask;
pub use read::editor_schema;

/// The tests of one scenario, as a file holds them.
#[derive(Debug)]
pub struct TrialFile {
    /// File of the scenario, relative to this one; `None` if the file leaves it to its reader.
    pub scenario: Option<String>,
    /// The tests, in the order of the file.
    pub trials: Vec<Trial>,
}

/// A test: an order, the world it meets, and what is expected of it.
#[derive(Debug)]
pub struct Trial {
    /// Name that the test gives itself.
    pub name: String,
    /// Place of the test in its file.
    pub at: Position,
    order: Ordered,
    config: Value,
    secrets: TrialSecrets,
    now: Timestamp,
    answers: Vec<TrialRule>,
    calls: Vec<TrialCall>,
    /// Rules in place of those of the deployment.
    errors: Option<ErrorPolicy>,
    expect: Expect,
}

/// Values of `${secret.NAME}` in a test.
#[derive(Clone, Debug, Default)]
struct TrialSecrets(BTreeMap<String, String>);

impl pagurus_scenario::value::Secrets for TrialSecrets {
    fn secret(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

/// A call from outside.
#[derive(Debug)]
struct TrialCall {
    /// Virtual time since the registration.
    after: Duration,
    name: String,
    body: Value,
}

/// The order that is run.
#[derive(Debug)]
struct Ordered {
    id: String,
    transaction_id: Option<String>,
    labels: Labels,
    /// A queue makes the order sequential.
    queue: Option<String>,
    params: Value,
}

/// A line of the table: which requests it answers, with what, and how often.
#[derive(Debug)]
struct TrialRule {
    at: Position,
    to: To,
    /// Number of times that it may be used; none is any number.
    times: Option<u32>,
    reply: TrialReply,
    /// Virtual time until the answer.
    after: Duration,
    callback: Option<TrialCallback>,
}

/// Requests that a line answers.
#[derive(Debug)]
enum To {
    Http { method: Option<Method>, url: TextMask, body: Option<Value> },
    Amqp { exchange: Option<TextMask>, key: Option<TextMask>, body: Option<Value> },
    Actor { name: TextMask, body: Option<Value> },
    Order { scenario: TextMask, params: Option<Value> },
}

/// Immediate reply to a request.
#[derive(Debug)]
enum TrialReply {
    /// An HTTP answer.
    Response { status: u16, headers: Vec<(String, String)>, body: String },
    /// A failure without an answer; its names from the outermost to the cause.
    Fails(&'static [&'static str]),
    /// The broker took the message.
    Published,
    /// The broker has no place for it.
    Unroutable,
    /// The engine would never take such a child order.
    Refused,
    /// Decision of the actor, some time later.
    Decides(Value),
    /// End of the child order, some time later.
    Ends(Box<ChildEnd>),
    /// An actor that never decides, a child order that never ends.
    Never,
}

/// End of a child order.
#[derive(Debug)]
struct ChildEnd {
    status: Status,
    step: Option<String>,
    result: Option<Value>,
    message: Option<String>,
    error: Option<OrderError>,
}

/// Later answer to an asynchronous request.
#[derive(Debug)]
struct TrialCallback {
    /// Virtual time after the request was sent.
    after: Duration,
    body: Value,
    headers: Value,
    step_status: Option<String>,
}

/// Expectations of the author; what is left out may be as it likes.
#[derive(Debug, Default)]
struct Expect {
    status: Option<(Status, Position)>,
    scenario_status: Option<(ScenarioStatus, Position)>,
    step: Option<(String, Position)>,
    result: Option<(Value, Position)>,
    message: Option<(String, Position)>,
    error: Option<(String, Position)>,
    vars: Option<(Value, Position)>,
    log: Vec<(String, Position)>,
    path: Option<(Vec<String>, Position)>,
    requests: Option<(Vec<ExpectedRequest>, Position)>,
    duration: Option<(Duration, Position)>,
    answers: Option<(Vec<ExpectedAnswer>, Position)>,
}

/// Answer that the caller of a call is expected to get.
#[derive(Debug)]
struct ExpectedAnswer {
    at: Position,
    answer: Option<Value>,
    error: Option<String>,
}

/// An expected request.
#[derive(Debug)]
struct ExpectedRequest {
    at: Position,
    /// Method and URL, or `amqp`, exchange and key.
    line: TextMask,
    headers: Vec<(String, String)>,
    body: Option<Value>,
}

/// Outcome of a test.
#[derive(Debug)]
pub struct TrialOutcome {
    /// Name of the test.
    pub name: String,
    /// Differences from what was expected, each with its place in the file of the tests; empty if it passed.
    pub faults: Vec<Fault>,
    /// Remarks on what its author may have meant otherwise, each with its place: a test passes all the same.
    pub notes: Vec<Fault>,
    /// Events of the order, in order.
    pub story: Vec<Moment>,
    /// Virtual time from the registration to the end.
    pub duration: Duration,
    /// Result of an order that ended.
    pub result: Option<Value>,
    /// States that the order stood in, in their order.
    path: Vec<String>,
    /// Transitions that the order took.
    transitions: Vec<Transition>,
    /// Operations that came to their end: the state, and the action that is their entry.
    operations: Vec<(String, usize)>,
}

impl TrialOutcome {
    /// True if everything was as expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.faults.is_empty()
    }

    /// The outcome as programs read it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let fault = |fault: &Fault| {
            json!({
                "message": fault.message,
                "hint": fault.hint,
                "line": fault.at.map(|at| at.line),
                "column": fault.at.map(|at| at.column),
            })
        };
        let story = |moment: &Moment| {
            let mut value = json!({"after": spelled_duration(moment.after), "text": moment.text});
            if let Some(vars) = &moment.vars {
                value["vars"] = json!(vars);
            }
            value
        };
        json!({
            "test": self.name,
            "passed": self.passed(),
            "duration": spelled_duration(self.duration),
            "faults": self.faults.iter().map(fault).collect::<Vec<_>>(),
            "notes": self.notes.iter().map(fault).collect::<Vec<_>>(),
            "story": self.story.iter().map(story).collect::<Vec<_>>(),
            "result": self.result,
        })
    }
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Virtual time since the registration.
    pub after: Duration,
    /// Event in one line.
    pub text: String,
    /// Variables after it, where they are others than before it.
    pub vars: Option<Map<String, Value>>,
}

impl Moment {
    /// An event that changes no variable.
    fn new(after: Duration, text: String) -> Self {
        Self { after, text, vars: None }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}  {}", spelled_duration(self.after), self.text)
    }
}

/// Reads a file of tests.
///
/// # Errors
/// Everything that is wrong with it, in its order, each with line, column and remedy.
pub fn read(text: &str) -> Result<TrialFile, Vec<Fault>> {
    read::file(text)
}

/// Runs one test of a scenario.
///
/// `go_on` is asked before every stage: where it says no, the test is broken off and has failed. A
/// server uses it to bound the time that a test may take.
#[must_use]
pub fn run(
    scenario: &Arc<Scenario>,
    deployment: &Deployment,
    trial: &Trial,
    go_on: &mut dyn FnMut() -> bool,
) -> TrialOutcome {
    let played = play::play(scenario, deployment, trial, go_on);
    let (faults, notes) = match played.broken {
        // What the rest of the way would have been is unknown: only the reason helps.
        Some(fault) => (vec![fault], Vec::new()),
        None => (judge::judge(&trial.expect, &played), judge::notes(&played)),
    };
    let duration = played.story.last().map_or(Duration::ZERO, |moment| moment.after);
    TrialOutcome {
        name: trial.name.clone(),
        faults,
        notes,
        story: played.story,
        duration,
        result: played.end.and_then(|end| end.result),
        path: played.path,
        transitions: played.transitions,
        operations: played.operations,
    }
}

/// A duration as people write it in a scenario: `1d5s`, `250ms`, `0s`.
#[must_use]
pub fn spelled_duration(duration: Duration) -> String {
    let mut left = duration.as_millis();
    if left == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if left >= length {
            text.push_str(&format!("{}{unit}", left / length));
            left %= length;
        }
    }
    text
}

/// A request that the scenario made.
#[derive(Debug)]
struct Made {
    /// Method and URL, or `amqp`, exchange and key.
    line: String,
    headers: Vec<(String, String)>,
    body: Value,
}

/// Result of a play.
#[derive(Debug, Default)]
struct Played {
    /// Fault for which it could not be played to the end.
    broken: Option<Fault>,
    story: Vec<Moment>,
    path: Vec<String>,
    transitions: Vec<Transition>,
    operations: Vec<(String, usize)>,
    made: Vec<Made>,
    log: Vec<String>,
    /// Answers to the calls, in their order; `None` if the order ended before it.
    answers: Vec<Option<Result<Value, OrderError>>>,
    /// Lines of the table that nothing asked for.
    unused: Vec<Position>,
    end: Option<TrialEnd>,
}

/// End of the order.
#[derive(Debug)]
struct TrialEnd {
    status: Status,
    scenario_status: ScenarioStatus,
    step: String,
    error: Option<OrderError>,
    result: Option<Value>,
    message: Option<String>,
    vars: Map<String, Value>,
    duration: Duration,
}

#[cfg(test)]
mod tests;
