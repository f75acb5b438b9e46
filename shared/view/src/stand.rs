//! Position of an order as the API shows it: its state, and its relation to a target.

use pagurus_domain::order::ScenarioStatus;
use pagurus_scenario::Scenario;
use pagurus_store::outside::orders::OrderRow as Row;

/// The state of an order, and how it stands to its target. Of a first stage that is with a worker nothing is
/// written yet but where it was begun.
pub(crate) fn stand(row: &Row, known: Option<&Scenario>) -> (Option<String>, ScenarioStatus) {
    let begun = row.running.is_some() && row.step.is_none();
    let Some(scenario) = known.filter(|_| begun) else { return (row.step.clone(), row.scenario_status) };
    let named = row.entry_point.as_deref().and_then(|name| scenario.state_named(name));
    let state = named.unwrap_or(scenario.initial);
    let status = match scenario.distance_to_target(state) {
        Some(_) => ScenarioStatus::OnTarget,
        None => ScenarioStatus::OffTarget,
    };
    (Some(scenario.state(state).name.clone()), status)
}

/// Progress (ORD-25): 1 when final, else the states visited over them and the shortest way to a
/// target. An order off target has no such way: what it has visited, and one more, count.
pub(crate) fn progress(row: &Row) -> f64 {
    if row.status.is_final() {
        return 1.0;
    }
    let visited = f64::from(row.visited);
    visited / (visited + f64::from(row.distance.unwrap_or(1).max(1)))
}
