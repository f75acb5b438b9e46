//! Begin and end of a life: where it goes back to, and what it leaves to the next.

use pagurus_domain::order::stage::Then;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::super::{Folded, ScenarioKind};
use super::stored::is_default;
use super::{Answers, Snapshot, Visit};

/// The state to which a repeat goes back, and a restart: the last entry point that was visited, or the state
/// at which an operator let the order begin or go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryPoint {
    /// The state.
    pub state: String,
    /// Number of the visit.
    pub visit: u32,
    /// Values that a repeat goes back to: in an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub savepoint: Option<Box<Savepoint>>,
}

/// Values of an operation at a savepoint: the repeat makes the same calls, under the same keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Savepoint {
    /// Variables, a map.
    pub vars: Folded,
    /// The answers that its actions saw.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answers: Answers,
}

impl EntryPoint {
    /// The start of a visit, before anything was done in it.
    #[must_use]
    pub fn new(state: &str, visit: u32) -> Self {
        Self { state: state.to_owned(), visit, savepoint: None }
    }

    pub(in super::super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        let saved = self.savepoint.iter_mut();
        saved.flat_map(|saved| saved.answers.iter_mut().chain([&mut saved.vars]))
    }

    pub(super) fn bytes(&self) -> usize {
        let Some(saved) = &self.savepoint else { return 0 };
        let Answers { last, named } = &saved.answers;
        named.values().chain(last).chain([&saved.vars]).map(Folded::bytes).sum()
    }
}

impl Snapshot {
    /// The start of a life at this state: that is what its repeats go back to.
    #[must_use]
    pub fn entering(state: &str, vars: Map<String, Value>) -> Self {
        let visit = Visit { state: Some(state.to_owned()), ..Visit::default() };
        Self { visit, vars, entry_point: Some(EntryPoint::new(state, 1)), ..Self::default() }
    }

    /// The start of the next life at this state, with the variables of this one: those of the savepoint,
    /// where the state is one.
    #[must_use]
    pub fn restarted_at(self, state: &str) -> Self {
        let known = self.known_vars();
        let saved = self.entry_point.filter(|entry| entry.state == state).and_then(|entry| entry.savepoint);
        let vars = saved.map_or(known, |saved| saved.vars.into_map());
        Self::entering(state, vars)
    }

    /// The position of an order that goes on from this state by hand, in the same life.
    #[must_use]
    pub fn repaired_at(self, state: &str, vars: Map<String, Value>, kind: ScenarioKind) -> Self {
        let number = self.visit.number + 1;
        let savepoint = (kind == ScenarioKind::Operation).then(|| {
            let vars = Value::Object(vars.clone()).into();
            Box::new(Savepoint { vars, answers: Answers::default() })
        });
        Self {
            visit: Visit { state: Some(state.to_owned()), number, ..Visit::default() },
            entry_point: Some(EntryPoint { state: state.to_owned(), visit: number, savepoint }),
            vars,
            result: self.result.clone(),
            message: self.message.clone(),
            rounds: self.rounds_of_order(),
            ..Self::default()
        }
    }

    /// The variables as they are where the state is left: with what went through of an unfinished action.
    #[must_use]
    pub fn known_vars(&self) -> Map<String, Value> {
        let so_far = self.main.so_far.as_ref().and_then(|vars| vars.value().as_object());
        let so_far = so_far.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
        self.vars.clone().into_iter().chain(so_far).collect()
    }

    /// Keeps what a call from outside has set when a repeat or a restart goes back to a savepoint: its caller was
    /// informed that it is done.
    pub(in super::super) fn keep_behind_savepoint(
        &mut self,
        before: &Map<String, Value>,
        now: &Map<String, Value>,
    ) {
        if before == now {
            return;
        }
        let Some(saved) = self.entry_point.as_mut().and_then(|entry| entry.savepoint.as_mut()) else {
            return;
        };
        let mut vars = std::mem::replace(&mut saved.vars, Value::Null.into()).into_map();
        vars.retain(|name, _| now.contains_key(name) || !before.contains_key(name));
        let set = now.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        vars.extend(set.map(|(name, value)| (name.clone(), value.clone())));
        saved.vars = Value::Object(vars).into();
    }

    /// Number of states that were entered in this life, as it is stored.
    #[must_use]
    pub fn visited(&self) -> i32 {
        i32::try_from(self.visit.number).unwrap_or(i32::MAX)
    }

    /// The position and variables that are kept behind a stage; `None` if nothing is.
    #[must_use]
    pub fn kept_behind(self, then: &Then) -> Option<Self> {
        match then {
            Then::End { status, .. } => {
                let mut position = self;
                position.keep_failure_of(*status);
                position.remains()
            }
            _ => Some(self),
        }
    }

    /// Returns what is kept of a life that is over: a restart goes on with its variables, a repair may go on at the action
    /// that failed. `None` if there is nothing.
    #[must_use]
    pub fn remains(self) -> Option<Self> {
        let vars = self.known_vars();
        let entry_point = self.entry_point.filter(|entry| entry.savepoint.is_some()).map(|mut entry| {
            // A life begins without answers.
            entry.savepoint.iter_mut().for_each(|saved| saved.answers = Answers::default());
            entry
        });
        let had = entry_point.as_ref().and_then(|entry| entry.savepoint.as_ref());
        let had_none = had.is_none_or(|saved| saved.vars.value().as_object().is_none_or(Map::is_empty));
        if vars.is_empty() && had_none && self.failed.is_none() {
            return None;
        }
        Some(Self { vars, entry_point, failed: self.failed, ..Self::default() })
    }
}
