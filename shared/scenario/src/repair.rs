//! Where a stuck order goes on by hand: at a state, at one of its actions, or at the action that failed (ORD-23).

use pagurus_domain::document::Fault;
use pagurus_domain::order::ScenarioStatus;
use pagurus_domain::order::amendment::{Repair, RepairPlace};
use pagurus_domain::order::registration::fault;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::stage::{FailurePoint, Snapshot};
use crate::start::start_state;
use crate::{Scenario, ScenarioKind, State};

/// Position of an order that goes on by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// Position and variables.
    pub position: Snapshot,
    /// The state in which it goes on.
    pub state: String,
    /// Index of the action with which it goes on; none is the first of the state.
    pub action: Option<usize>,
    /// Status of the order in relation to its target.
    pub scenario_status: ScenarioStatus,
    /// Transitions from there to a target; none where there is no way.
    pub distance: Option<usize>,
}

/// Returns where an order goes on that stands at this position, or whose ended life left it.
///
/// # Errors
/// Everything that is wrong with the request, each with a JSON pointer.
pub fn repair(
    asked: &Repair,
    scenario: &Scenario,
    former: Snapshot,
    life: RepairedLife,
    max_vars_bytes: usize,
) -> Result<Repaired, Vec<Fault>> {
    let mut faults = Vec::new();
    let place = RepairPoint::of(&asked.from, scenario, &former).map_err(|found| faults.push(found)).ok();
    let bytes = asked.vars.as_ref().map_or(0, |vars| Value::Object(vars.clone()).to_string().len());
    if bytes > max_vars_bytes {
        let message =
            format!("have {bytes} bytes as JSON, more than `scenario.max_vars_bytes` = {max_vars_bytes}");
        faults.push(fault("/vars", message));
    }
    match place.filter(|_| faults.is_empty()) {
        Some(place) => Ok(place.repaired(asked.vars.clone(), scenario, former, life)),
        None => Err(faults),
    }
}

/// Life in which a repaired order goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairedLife {
    /// The present one, of an order that was suspended.
    Present,
    /// The next one, of an order whose end was notified.
    Next,
}

/// Place that a request names, held against the scenario.
enum RepairPoint<'s> {
    State(&'s State),
    Action(&'s State, usize),
    Failed(Box<FailurePoint>),
}

impl<'s> RepairPoint<'s> {
    fn of(asked: &RepairPlace, scenario: &'s Scenario, former: &Snapshot) -> Result<Self, Fault> {
        match asked {
            RepairPlace::State(name) => start_state(scenario, name, "/state").map(Self::State),
            RepairPlace::Action(name, index) => {
                let state = start_state(scenario, name, "/state")?;
                action_at(state, *index, scenario.kind)?;
                Ok(Self::Action(state, *index))
            }
            RepairPlace::FailedAction => {
                failed_action(scenario, former).map(|point| Self::Failed(Box::new(point)))
            }
        }
    }

    fn repaired(
        self,
        vars: Option<Map<String, Value>>,
        scenario: &Scenario,
        former: Snapshot,
        life: RepairedLife,
    ) -> Repaired {
        let vars = vars.unwrap_or_else(|| former.known_vars());
        let (state, action, position) = match self {
            Self::State(state) => {
                let position = match life {
                    RepairedLife::Present => former.repaired_at(&state.name, vars, scenario.kind),
                    RepairedLife::Next => Snapshot::entering(&state.name, vars),
                };
                (state.name.clone(), None, position)
            }
            Self::Action(state, index) => {
                (state.name.clone(), Some(index), former.repaired_at_action(&state.name, index, vars))
            }
            Self::Failed(point) => {
                let (state, index) = (point.state().to_owned(), point.action());
                (state, Some(index), former.resumed_at(*point, vars, scenario.kind))
            }
        };
        let distance = scenario.state_named(&state).and_then(|state| scenario.distance_to_target(state));
        let scenario_status =
            if distance.is_some() { ScenarioStatus::OnTarget } else { ScenarioStatus::OffTarget };
        Repaired { position, state, action, scenario_status, distance }
    }
}

/// Checks that an order can go on from the action of this index.
fn action_at(state: &State, index: usize, kind: ScenarioKind) -> Result<(), Fault> {
    let wrong = |message: String| Err(fault("/action", message));
    if kind == ScenarioKind::Operation {
        return wrong(
            "is none to go on from: an operation goes on from a savepoint, which is a state".into(),
        );
    }
    let actions = &state.actions;
    match actions.get(index) {
        None if actions.is_empty() => wrong(format!("is none: state `{}` has no actions", state.name)),
        None => {
            let last = actions.len() - 1;
            wrong(format!("is none: the actions of state `{}` have the numbers 0 to {last}", state.name))
        }
        Some(_) => match operation_around(actions, index) {
            None => Ok(()),
            Some((entry, name)) => wrong(format!(
                "is inside operation `{name}`: name the action that runs it, {entry}, or say `failedAction`"
            )),
        },
    }
}

/// Entry and name of the outermost operation that the action is a part of.
fn operation_around(actions: &[Action], index: usize) -> Option<(usize, &str)> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (at, action) in actions.iter().enumerate().take(index) {
        match action {
            Action::Enter(enter) => open.push((at, &enter.operation.name)),
            Action::Exit(_) => drop(open.pop()),
            _ => {}
        }
    }
    open.first().copied()
}

/// The action that failed, where an order can go on from it.
fn failed_action(scenario: &Scenario, former: &Snapshot) -> Result<FailurePoint, Fault> {
    let Some(point) = FailurePoint::of_retry(former, scenario).or_else(|| former.failed.clone()) else {
        let message = "is known of no action of this order: what failed was no action, had asked for answers that no \
                       other life gets, or another state has acted since; name a `state`";
        return Err(fault("/failedAction", message));
    };
    if point.fits(scenario) {
        return Ok(point);
    }
    let message = format!(
        "was action {} of state `{}`, and this version of the scenario does something else there; name a `state`",
        point.action(),
        point.state()
    );
    Err(fault("/failedAction", message))
}
