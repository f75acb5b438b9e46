//! States at which somebody lets an order start: with a restart, or with a repair.

use pagurus_domain::document::{Fault, nearest};
use pagurus_domain::order::registration::fault;

use crate::{Scenario, State, StateKind};

/// Returns the state of this name, if an order can start there: one that does something.
///
/// # Errors
/// The fault of the field at `pointer`, with the states at which an order can start.
pub fn start_state<'s>(scenario: &'s Scenario, name: &str, pointer: &str) -> Result<&'s State, Fault> {
    let acts = |kind: StateKind| matches!(kind, StateKind::Plain | StateKind::Polling);
    let why = match scenario.state_named(name).map(|id| scenario.state(id)) {
        Some(state) if acts(state.kind) => return Ok(state),
        Some(state) => {
            format!("asks for a start at `{name}`, a {} state, where nothing can start", state.kind)
        }
        None => format!("asks for a start at `{name}`, which is no state of the scenario"),
    };
    let known = scenario.states.iter().filter(|state| acts(state.kind));
    let names: Vec<&str> = known.map(|state| state.name.as_str()).collect();
    let hint = nearest(name, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    Err(Fault { hint, ..fault(pointer, format!("{why}; there are: {}", names.join(", "))) })
}
