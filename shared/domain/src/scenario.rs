//! The model of a scenario: what [`source`] reads, [`check`] proves sound and [`stage`] runs.
//!
//! The model is data only. A value of type [`Scenario`] has passed every check, so the
//! interpreter relies on it: names resolve, every event has its transition, scripts compile.

pub mod check;
pub mod diff;
pub mod graph;
pub mod script;
pub mod source;
pub mod stage;
pub mod trial;
pub mod value;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::id::spelled;
use script::Script;
use value::Template;

/// Index of a state in [`Scenario::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub usize);

/// One version of a scenario, checked.
#[derive(Debug)]
pub struct Scenario {
    /// The name that orders use.
    pub name: String,
    /// What it is for, in the author's words.
    pub description: String,
    /// JSON Schema of `params`, as written; compiled once into [`Scenario::params_validator`].
    pub params_schema: Option<Value>,
    /// The compiled schema; it never fetches anything.
    pub params_validator: Option<jsonschema::Validator>,
    /// Where a fresh order starts.
    pub initial: StateId,
    /// The states, in file order.
    pub states: Vec<State>,
    /// The terminal states that count as target.
    pub targets: BTreeSet<StateId>,
    /// How long ended orders are kept; none means the configured period.
    pub retention: Option<Duration>,
    /// Deadlines that override the configured ones.
    pub timeouts: Timeouts,
}

impl Scenario {
    /// The state with this index.
    #[must_use]
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.0]
    }

    /// The state of this name, compared exactly.
    #[must_use]
    pub fn state_named(&self, name: &str) -> Option<StateId> {
        self.states.iter().position(|state| state.name == name).map(StateId)
    }

    /// The states that can be reached in one transition.
    pub fn successors(&self, id: StateId) -> impl Iterator<Item = StateId> + '_ {
        self.state(id).on.iter().map(|(_, to)| *to)
    }

    /// How many transitions the shortest way from here to a target state has; `None` where no
    /// target can be reached.
    #[must_use]
    pub fn distance_to_target(&self, from: StateId) -> Option<usize> {
        let mut seen = vec![false; self.states.len()];
        let mut frontier = vec![from];
        let mut steps = 0;
        while !frontier.is_empty() {
            if frontier.iter().any(|id| self.targets.contains(id)) {
                return Some(steps);
            }
            let mut next = Vec::new();
            for id in frontier {
                for to in self.successors(id) {
                    if !std::mem::replace(&mut seen[to.0], true) {
                        next.push(to);
                    }
                }
            }
            frontier = next;
            steps += 1;
        }
        None
    }
}

/// Deadlines of a scenario that override those of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// The whole order, from its registration.
    pub process: Option<Duration>,
    /// Without any change of the order.
    pub idle: Option<Duration>,
    /// One stage, from claim to end.
    pub work: Option<Duration>,
}

/// What a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// Runs its actions, then moves on.
    Plain,
    /// Rests until its time.
    Sleeping,
    /// Rests until its callbacks are in, or their time is over.
    Waiting,
    /// The end.
    Terminal,
}

spelled!(StateKind {
    Plain => "plain",
    Sleeping => "sleeping",
    Waiting => "waiting",
    Terminal => "terminal",
});

/// Whether a terminal state is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order ends `success`.
    Success,
    /// The order ends `fail`.
    Fail,
}

spelled!(Outcome { Success => "success", Fail => "fail" });

/// A node of the workflow.
#[derive(Debug)]
pub struct State {
    /// Its name; outsiders see it as the order's `step`.
    pub name: String,
    /// What it is.
    pub kind: StateKind,
    /// Whether a restart may resume here.
    pub entry_point: bool,
    /// What runs in it, in order; empty unless the kind is plain.
    pub actions: Vec<Action>,
    /// Its transitions, at most one for each event.
    pub on: Vec<(Event, StateId)>,
    /// Only meaningful in a terminal state.
    pub outcome: Outcome,
}

impl State {
    /// Where the event leads.
    #[must_use]
    pub fn target_of(&self, event: Event) -> Option<StateId> {
        self.on.iter().find(|(on, _)| *on == event).map(|(_, to)| *to)
    }
}

/// What moves a workflow from state to state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// All actions of the state went through, or a script said so.
    Success,
    /// An action failed for good, or a script said so.
    Fail,
    /// A `sleep` action ended the stage.
    Sleep,
    /// A `wait` action ended the stage.
    Wait,
    /// All callbacks of the wait are in.
    Callback,
    /// The time of a sleep or of a wait is over.
    Timeout,
}

spelled!(Event {
    Success => "success",
    Fail => "fail",
    Sleep => "sleep",
    Wait => "wait",
    Callback => "callback",
    Timeout => "timeout",
});

/// One thing done in a state.
#[derive(Debug)]
pub enum Action {
    /// One HTTP request.
    Http(Box<HttpAction>),
    /// One message to RabbitMQ.
    Amqp(Box<AmqpAction>),
    /// Code in the script language.
    Script(Script),
    /// Ends the stage and waits for the callbacks of all requests registered in it.
    Wait {
        /// Longest wait; the mode of the order bounds it further.
        timeout: Option<Duration>,
    },
    /// Ends the stage until a time.
    Sleep(SleepUntil),
    /// A line in the order's log.
    Log(Template),
    /// Gives the order's queue up before its end.
    Release,
}

impl Action {
    /// The word that names this action in a scenario.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Amqp(_) => "amqp",
            Self::Script(_) => "script",
            Self::Wait { .. } => "wait",
            Self::Sleep(_) => "sleep",
            Self::Log(_) => "log",
            Self::Release => "release",
        }
    }
}

impl Action {
    /// The name of the asynchronous request that this action registers.
    #[must_use]
    pub fn request(&self) -> Option<&str> {
        match self {
            Self::Http(http) => http.request.as_deref(),
            Self::Amqp(amqp) => amqp.request.as_deref(),
            _ => None,
        }
    }
}

/// Until when a sleep lasts.
#[derive(Debug)]
pub enum SleepUntil {
    /// For so long from now; at least the configured minimum.
    For(Template),
    /// Until this time, written `YYYY-MM-DDThh:mm:ss[.sss]±hh:mm`.
    Until(Template),
}

/// Methods an `http` action may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// OPTIONS.
    Options,
}

spelled!(Method {
    Get => "GET",
    Head => "HEAD",
    Post => "POST",
    Put => "PUT",
    Patch => "PATCH",
    Delete => "DELETE",
    Options => "OPTIONS",
});

/// How the body of an `http` action is sent.
#[derive(Debug)]
pub enum Body {
    /// `body:` with a map, a list or a value: JSON.
    Json(Template),
    /// `form:`: a map, sent as `application/x-www-form-urlencoded`.
    Form(Vec<(String, Template)>),
    /// `text:`: text as it is.
    Text(Template),
}

/// An `http` action.
#[derive(Debug)]
pub struct HttpAction {
    /// The method; POST where there is a body and none is named, else GET.
    pub method: Method,
    /// The URL, with `${…}`.
    pub url: Template,
    /// Query parameters that are appended to the URL.
    pub query: Vec<(String, Template)>,
    /// Header fields.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Option<Body>,
    /// Longest time of the call; none means the configured one.
    pub timeout: Option<Duration>,
    /// Statuses that are no error, besides 1xx to 3xx.
    pub expect: Vec<StatusRange>,
    /// Variables to set from the answer.
    pub save: Vec<(String, Template)>,
    /// The answer is kept as `responses.<name>`, too.
    pub name: Option<String>,
    /// The `Authorization` header field.
    pub auth: Option<Auth>,
    /// Registers an asynchronous request under this name; its callback URL is `${request.url}`.
    pub request: Option<String>,
}

/// Credentials of an `http` action.
#[derive(Debug)]
pub enum Auth {
    /// `auth: {bearer: …}`.
    Bearer(Template),
    /// `auth: {username: …, password: …}`.
    Basic {
        /// Name of the user.
        username: Template,
        /// Its password.
        password: Template,
    },
}

/// An inclusive range of HTTP statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange {
    /// The lowest status.
    pub from: u16,
    /// The highest status.
    pub to: u16,
}

impl StatusRange {
    /// Whether the status lies in the range.
    #[must_use]
    pub const fn contains(self, status: u16) -> bool {
        self.from <= status && status <= self.to
    }
}

/// An `amqp` action.
#[derive(Debug)]
pub struct AmqpAction {
    /// The exchange; empty text is the broker's default exchange and is refused.
    pub exchange: Template,
    /// The routing key.
    pub key: Template,
    /// Header fields.
    pub headers: Vec<(String, Template)>,
    /// The body: text as it is, all else as JSON.
    pub body: Option<Template>,
    /// Registers an asynchronous request under this name.
    pub request: Option<String>,
}

/// Bounds of scenarios and of their scripts, from the configuration.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// States of one scenario.
    pub max_states: usize,
    /// Bytes of `vars` as JSON.
    pub max_vars_bytes: usize,
    /// Shortest sleep; a shorter one is lengthened to it.
    pub min_sleep: Duration,
    /// Transitions of one stage: a scenario that circles without ever suspending is broken off.
    pub max_transitions_per_stage: u32,
    /// Bounds of scripts.
    pub script: script::Limits,
    /// Names that count as target where a scenario names none; compared without case.
    pub target_steps: Vec<String>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_states: 30,
            max_vars_bytes: 256 * 1024,
            min_sleep: Duration::from_secs(20),
            max_transitions_per_stage: 1000,
            script: script::Limits::default(),
            target_steps: vec!["done".into(), "rolled_back".into()],
        }
    }
}

/// A scenario that workers and intakes share.
pub type SharedScenario = Arc<Scenario>;

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
