//! The model of a scenario: what [`source`] reads and proves sound, and [`stage`] runs.
//!
//! The model is data only. A value of type [`Scenario`] has passed every check, so the
//! interpreter relies on it: names resolve, every event has its transition, scripts compile.

mod action;
pub mod admission;
mod called;
mod conceal;
pub mod consistency;
mod context;
pub mod deployment;
mod folded;
mod library;
pub mod markup;
mod mask;
pub mod migration;
mod nearest;
mod operation;
pub mod params;
mod places;
mod reads;
pub mod repair;
pub mod schema;
pub mod script;
pub mod sequential;
pub mod source;
pub mod stage;
pub mod start;
mod state;
pub mod value;
pub mod xml;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use pagurus_domain::attributes::SearchAttribute;
use pagurus_domain::folded::Folded;
use pagurus_domain::id::spelled;
use pagurus_domain::retry::ErrorPolicy;
use sequential::QueueTemplate;
use serde_json::Value;

pub use action::{
    Action, ActorAction, AmqpAction, Auth, Body, Branch, EachAction, HttpAction, Lapse, Method, OrderAction,
    SleepUntil, Soap, StatusRange, is_certificate_name,
};
pub use conceal::{Concealed, holds_credentials};
pub use library::{Library, LibraryEntry, LibraryNo, OperationUse};
pub use mask::Mask;
pub use operation::{CalledOperation, EnterAction, ExitAction, INSIDE, MOST_NESTED, ParamsSchema};
pub use state::{Event, Poll, State, StateKind, TerminalOutcome};
use value::Template;

/// Index of a state in [`Scenario::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub usize);

/// Checked version of a scenario.
#[derive(Debug)]
pub struct Scenario {
    /// The name that orders use.
    pub name: String,
    /// The file it was read from, where there was one: faults at run time name it.
    pub file: Option<String>,
    /// Kind of the scenario.
    pub kind: ScenarioKind,
    /// Purpose of the scenario, in the author's words.
    pub description: String,
    /// JSON Schema of `params`, as written; compiled once into [`Scenario::params_validator`].
    pub params_schema: Option<Value>,
    /// The compiled schema; it never fetches anything.
    pub params_validator: Option<jsonschema::Validator>,
    /// Work that the schema takes; `None` if it could not be determined: then there is no limit.
    pub params_expansion: Option<schema::Expansion>,
    /// State in which a fresh order starts.
    pub initial: StateId,
    /// The states, in file order.
    pub states: Vec<State>,
    /// The terminal states that count as target.
    pub targets: BTreeSet<StateId>,
    /// Time for which ended orders are kept; none means the configured period.
    pub retention: Option<Duration>,
    /// Deadlines that override the configured ones.
    pub timeouts: Timeouts,
    /// Calls that a live order handles whatever its state, without leaving it.
    pub calls: Vec<CallHandler>,
    /// Parts of parameters, bodies and header fields that are shown to nobody without the right to see them.
    pub mask: Mask,
    /// Attributes by which its orders are found (REC-13).
    pub search: Vec<SearchAttribute>,
    /// The queue of its orders, which are sequential then (SCN-21); `None` leaves the mode to the order.
    pub queue: Option<QueueTemplate>,
    /// Rules and policies that it brings along, asked behind those of the deployment (ERR-15).
    pub errors: ErrorPolicy,
}

/// Kind of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioKind {
    /// States and transitions.
    Workflow,
    /// A list of actions with savepoints. It is kept as the workflow that it stands for: a state
    /// for each part between two savepoints, so that one interpreter runs both.
    Operation,
}

spelled!(ScenarioKind { Workflow => "workflow", Operation => "operation" });

/// Handling of a call that does not move the order (SCN-9).
#[derive(Debug)]
pub struct CallHandler {
    /// The name that callers use.
    pub name: String,
    /// Actions of the handling, laid out like those of a state; none of them suspends the order.
    pub actions: Vec<Action>,
    /// Answer to the caller; none is an empty answer, or what a script said by `answer(…)`.
    pub answer: Option<Template>,
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
        let state = self.state(id);
        let with_names = state.named.iter().chain(&state.calls).map(|(_, to)| *to);
        state.on.iter().map(|(_, to)| *to).chain(with_names)
    }

    /// True if live orders of it take the call of this name in some state or other.
    #[must_use]
    pub fn takes_call(&self, name: &str) -> bool {
        self.handler(name).is_some() || self.states.iter().any(|state| state.call(name).is_some())
    }

    /// True if a state of it says what follows when the time of the whole order is over.
    #[must_use]
    pub fn handles_process_timeout(&self) -> bool {
        self.states.iter().any(|state| state.target_of(Event::ProcessTimeout).is_some())
    }

    /// True if live orders of it take any calls.
    #[must_use]
    pub fn takes_calls(&self) -> bool {
        !self.calls.is_empty() || self.states.iter().any(|state| !state.calls.is_empty())
    }

    /// True if an order of it may give its queue up before its end, other than by a sleep.
    #[must_use]
    pub fn releases(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Release))
    }

    fn actions(&self) -> impl Iterator<Item = &Action> {
        let of_states = self.states.iter().flat_map(|state| &state.actions);
        of_states.chain(self.calls.iter().flat_map(|call| &call.actions)).flat_map(Action::with_inner)
    }

    /// True if orders of it ask anything that is answered later, under `callbacks`.
    #[must_use]
    pub fn asks(&self) -> bool {
        let mut actions = self.states.iter().flat_map(|state| &state.actions).flat_map(Action::with_inner);
        actions.any(|action| action.request().is_some())
    }

    /// Handler of a call of this name that does not move the order.
    #[must_use]
    pub fn handler(&self, name: &str) -> Option<&CallHandler> {
        self.calls.iter().find(|handler| handler.name == name)
    }

    /// Number of transitions of the shortest way from here to a target state; `None` where no
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
    /// Time without any change of the order.
    pub idle: Option<Duration>,
    /// Time of one stage, from claim to end.
    pub work: Option<Duration>,
}

/// Bounds of scenarios and of their scripts, from the configuration.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// States of one scenario.
    pub max_states: usize,
    /// Bytes of `vars` as JSON.
    pub max_vars_bytes: usize,
    /// Orders that one order may start.
    pub max_children: u32,
    /// Elements that one `each` goes through.
    pub max_each: usize,
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
            max_children: 1000,
            max_each: 1000,
            min_sleep: Duration::from_secs(20),
            max_transitions_per_stage: 1000,
            script: script::Limits::default(),
            target_steps: vec!["done".into(), "rolled_back".into()],
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
