//! Input of a stage: the order, the deployment, and why it runs. Data only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::Mode;
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::stage::Wake;
use pagurus_domain::retry::{ErrorPolicy, ErrorRules};
use pagurus_domain::system::SystemNames;
use pagurus_domain::time;
use serde_json::{Value, json};

use super::super::script::Scripting;
use super::super::value::{Context, Secrets};
use super::super::{Bounds, Concealed, Folded, INSIDE, Scenario};
use super::call::{Call, event_value};
use super::snapshot::{Answers, Snapshot};
use super::{error_value, later};

/// Facts about the order: none of them changes while the stage runs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The client's id.
    pub id: String,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Labels that its client chose.
    pub labels: Labels,
    /// Number of the life of the order, from 1.
    pub life: i32,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue of a sequential order, as it was registered.
    pub queue: Option<String>,
    /// True where the order holds that queue when the stage begins: it may have released it, or been made to.
    pub holds_queue: bool,
    /// Number of this hand-out.
    pub attempt: i32,
    /// Registered at.
    pub created_at: Timestamp,
}

/// Settings of the deployment, shared by all stages.
#[derive(Debug)]
pub struct StageSettings {
    /// The sandbox.
    pub scripting: Scripting,
    /// Bounds of scenarios.
    pub bounds: Bounds,
    /// Rules and policies for failures.
    pub errors: ErrorPolicy,
    /// Names of called systems.
    pub systems: Arc<SystemNames>,
    /// Named constants, `config.…`.
    pub constants: Arc<Value>,
    /// Values of those that are secrets.
    pub secret_constants: Arc<Concealed>,
    /// Source of `${secret.NAME}`.
    pub secrets: Arc<dyn Secrets>,
    /// Prefix of callback URLs, without a slash at the end.
    pub callback_base: String,
    /// The engine's own virtual host at the broker.
    pub vhost: String,
    /// Longest time of a call whose action sets none.
    pub call_timeout: Duration,
    /// Longest synchronous part of a sequential order's stage (ORD-12).
    pub max_sync_duration: Duration,
    /// Longest time a sequential order may hold its queue in retries (ORD-12).
    pub max_acquisition_duration: Duration,
    /// Longest wait of sequential orders (ORD-12).
    pub max_wait_sequential: Duration,
    /// Longest wait of parallel orders (ORD-12).
    pub max_wait_parallel: Duration,
    /// Longest pause for which a called system is believed that asks for one (ERR-8).
    pub max_retry_after: Duration,
}

/// An answer to an asynchronous request, as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Callback {
    /// Name of the request that it answers.
    pub name: String,
    /// Value that scenarios see: `body`, `headers`, `stepStatus`, `receivedAt`.
    pub value: Folded,
    /// Time at which it arrived.
    pub received_at: Option<Timestamp>,
    /// The body as text, for the rules.
    pub body: String,
    /// Status of the called system's step.
    pub step_status: Option<String>,
}

/// Input of a stage.
#[derive(Debug)]
pub struct Input {
    /// Parameters.
    pub params: Folded,
    /// The last answer to each request, by its name.
    pub callbacks: Vec<Callback>,
    /// Calls from outside that wait for it, in the order of arrival.
    pub calls: Vec<Call>,
    /// Position of the order.
    pub snapshot: Snapshot,
    /// Reason for which the stage runs.
    pub wake: Wake,
    /// Time from which the stage could have run.
    pub due_at: Timestamp,
    /// A random number in `0.0..1.0`, for the jitter of what fails without asking anybody.
    pub dice: f64,
}

/// Input that a stage keeps unchanged.
#[derive(Debug)]
pub(super) struct KeptInput {
    pub scenario: Arc<Scenario>,
    pub settings: Arc<StageSettings>,
    pub facts: Facts,
    /// The callbacks as they were received.
    pub received: Vec<Callback>,
    pub started_at: Timestamp,
    pub dice: f64,
}

/// Facts that hold from one answer of the world to the next.
#[derive(Debug)]
pub(super) struct StageTurn<'t> {
    pub scenario: &'t Scenario,
    pub settings: &'t StageSettings,
    pub facts: &'t Facts,
    pub received: &'t [Callback],
    pub started_at: Timestamp,
    pub now: Timestamp,
    pub dice: f64,
}

impl KeptInput {
    pub fn turn(&self, now: Timestamp, dice: f64) -> StageTurn<'_> {
        let Self { scenario, settings, facts, received, started_at, .. } = self;
        StageTurn { scenario, settings, facts, received, started_at: *started_at, now, dice }
    }

    /// Returns the context of the actions, with what the snapshot kept for them.
    pub fn context(
        &self,
        params: Folded,
        callbacks: BTreeMap<String, Folded>,
        snapshot: &mut Snapshot,
    ) -> Context {
        let operation = snapshot.operation();
        let is_own_error = operation.is_none_or(|operation| operation.has_failed);
        let params = operation.map_or(params, |operation| operation.params.clone());
        let vars = match snapshot.operation_mut() {
            Some(operation) => std::mem::replace(&mut operation.vars, Value::Null.into()).into_map(),
            None => std::mem::take(&mut snapshot.vars),
        };
        let answers = match snapshot.operation_mut() {
            Some(operation) => std::mem::take(&mut operation.answers),
            None => std::mem::take(&mut snapshot.frame_mut().answers),
        };
        let Answers { last, named } = answers;
        let handled = snapshot.handling.as_ref().map(|call| event_value(&call.name, &call.body));
        Context {
            params,
            vars,
            response: last,
            error: snapshot.error.as_ref().filter(|_| is_own_error).map(error_value),
            responses: named,
            callbacks,
            order: Arc::new(self.order()),
            config: self.settings.constants.clone(),
            now: self.started_at,
            request: None,
            event: handled.or_else(|| snapshot.mover.as_ref().map(|call| call.event.clone())),
            element: None,
            result: None,
            secrets: self.settings.secrets.clone(),
        }
    }

    fn order(&self) -> Value {
        let facts = &self.facts;
        json!({
            "id": facts.id,
            "transactionId": facts.transaction_id,
            "labels": facts.labels.to_value(),
            "scenario": self.scenario.name,
            "mode": facts.mode.as_str(),
            "queue": facts.queue,
            "holdsQueue": facts.holds_queue,
            "handOut": facts.attempt,
            // Scenarios that were stored earlier name it so.
            "attempt": facts.attempt,
            "life": facts.life,
            "createdAt": time::shown(facts.created_at),
        })
    }
}

impl<'t> StageTurn<'t> {
    /// Rules and policies for failures: those of the deployment, and behind them those of the scenario.
    pub const fn errors(&self) -> ErrorRules<'t> {
        ErrorRules::of(&self.settings.errors, &self.scenario.errors)
    }

    /// Returns the end of a wait with this time-out, or with none (ORD-12).
    pub fn longest_wait(&self, timeout: Option<Duration>) -> Timestamp {
        let longest = self.longest_wait_since(self.now);
        timeout.map_or(longest, |timeout| longest.min(later(self.now, timeout)))
    }

    /// Time at which a wait that began then is over at the latest.
    pub fn longest_wait_since(&self, begun: Timestamp) -> Timestamp {
        let longest = match self.facts.mode {
            Mode::Sequential => self.settings.max_wait_sequential,
            Mode::Parallel => self.settings.max_wait_parallel,
        };
        later(begun, longest)
    }

    /// Returns the longest time of a call with this time-out, or with none: the stage of a sequential order has a bound for
    /// its synchronous part (ORD-12).
    pub fn call_timeout(&self, timeout: Option<Duration>) -> Duration {
        let timeout = timeout.unwrap_or(self.settings.call_timeout);
        self.left_of_stage().map_or(timeout, |left| timeout.min(left.max(Duration::from_millis(1))))
    }

    /// True if a call with this time-out, or with none, ends before the stage must.
    pub fn has_room_for(&self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.unwrap_or(self.settings.call_timeout);
        self.left_of_stage().is_none_or(|left| timeout <= left)
    }

    /// True if the stage has lasted as long as one of a sequential order may.
    pub fn is_over(&self) -> bool {
        self.left_of_stage().is_some_and(|left| left.is_zero())
    }

    /// Time that the synchronous part of the stage may still take; `None` is any.
    fn left_of_stage(&self) -> Option<Duration> {
        if self.facts.mode == Mode::Parallel {
            return None;
        }
        let left = self.sync_ends_at().as_millisecond().saturating_sub(self.now.as_millisecond());
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    fn sync_ends_at(&self) -> Timestamp {
        later(self.started_at, self.settings.max_sync_duration)
    }
}

/// The callbacks by the names of their requests. Those of the elements of an `each` are a list in the order in which the
/// elements stood last, with null where none came; in positions that do not say how they stood, in that of their numbers.
pub(super) fn by_request<'c>(
    callbacks: impl Iterator<Item = &'c Callback>,
    rounds: &BTreeMap<String, Vec<Option<usize>>>,
) -> BTreeMap<String, Folded> {
    let mut named = BTreeMap::new();
    let mut lists: BTreeMap<&str, BTreeMap<usize, &Folded>> = BTreeMap::new();
    for Callback { name, value, .. } in callbacks {
        // No scenario names a request with a point in it; in front of it may stand the names of operations.
        let begin = name.rfind(INSIDE).map_or(0, |at| at + 1);
        let point = name[begin..].find('.').map(|at| begin + at);
        match point.and_then(|at| Some((&name[..at], name[at + 1..].parse().ok()?))) {
            Some((name, index)) => {
                lists.entry(name).or_default().insert(index, value);
            }
            None => {
                named.insert(name.clone(), value.clone());
            }
        }
    }
    for (name, round) in rounds {
        let elements = lists.remove(name.as_str()).unwrap_or_default();
        let value = |number: &Option<usize>| {
            let value = number.as_ref().and_then(|number| elements.get(number));
            value.map_or(Value::Null, |value| value.value().clone())
        };
        named.insert(name.clone(), Value::Array(round.iter().map(value).collect()).into());
    }
    for (name, elements) in lists {
        let count = elements.keys().last().map_or(0, |last| last + 1);
        let value = |index| elements.get(&index).map_or(Value::Null, |value| value.value().clone());
        named.insert(name.to_owned(), Value::Array((0..count).map(value).collect()).into());
    }
    named
}
