//! What clients ask of an order, held against its scenario: a registration, an update, a pre-condition.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::document::Fault;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::order::amendment::Update;
use pagurus_domain::order::notification::AllowList;
use pagurus_domain::order::registration::{NewOrder, Request, Rules, ScenarioTerms};

use crate::params::params_faults;
use crate::{Scenario, StateKind};

/// Holds a request against its scenario and the rules of the deployment.
///
/// `sent_at` is when the client says it sent the request; the receipt time where that is unknown or in the future.
///
/// # Errors
/// Everything that is wrong, each with a JSON pointer.
pub fn check_request(
    request: Arc<Request>,
    no: ScenarioNo,
    scenario: &Scenario,
    rules: &Rules,
    sent_at: Timestamp,
) -> Result<NewOrder, Vec<Fault>> {
    let terms = ScenarioTerms {
        no,
        params_faults: params_faults(&request.params, scenario),
        process_timeout: scenario.timeouts.process,
        search: &scenario.search,
        queue: scenario.queue.as_ref().map(|queue| queue.queue(&request.params)),
    };
    request.check(terms, rules, sent_at)
}

/// Holds an update against the order's scenario and the rules of the deployment.
///
/// # Errors
/// Everything that is wrong, each with a JSON pointer.
pub fn check_update(update: &Update, scenario: &Scenario, allow: &AllowList) -> Result<(), Vec<Fault>> {
    let mut faults = update.params.as_ref().map_or_else(Vec::new, |params| params_faults(params, scenario));
    faults.append(&mut update.faults(allow));
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The expected states, by index, that are no terminal states of the scenario; a message for each.
#[must_use]
pub fn unknown_states(states: &[String], scenario: &Scenario) -> Vec<(usize, String)> {
    let terminal: Vec<&str> = scenario
        .states
        .iter()
        .filter(|state| state.kind == StateKind::Terminal)
        .map(|state| state.name.as_str())
        .collect();
    states
        .iter()
        .enumerate()
        .filter(|(_, state)| !terminal.contains(&state.as_str()))
        .map(|(index, state)| {
            let message = format!(
                "scenario `{}` does not end in a state `{state}`; it ends in: {}",
                scenario.name,
                terminal.join(", ")
            );
            (index, message)
        })
        .collect()
}
