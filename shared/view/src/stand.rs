//! Position of an order as the API shows it: its state, where it may begin or go on, and its relation to a target.

use pagurus_domain::number::saturated;
use pagurus_domain::order::ScenarioStatus;
use pagurus_domain::time;
use pagurus_scenario::Scenario;
use pagurus_scenario::stage::{FailedAction, Snapshot};
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_wire::order::{EntryPointView, FailedActionView};

use crate::history::{OrderMoves, time_text};

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

/// Entry points of its scenario that the present life has visited, each once, the last one last; of a long life those that its
/// first and its last transitions went to.
pub(crate) fn entry_points(row: &Row, scenario: &Scenario, moves: &OrderMoves) -> Vec<EntryPointView> {
    let first_moves = || moves.first.items.iter().filter(|moved| moved.life == row.life.0);
    let last_moves = || moves.last.iter().filter(|(life, _)| *life == row.life).map(|(_, moved)| moved);
    let first = first_moves().next().map(|moved| moved.from.as_str());
    let first_of_last = || last_moves().next().filter(|_| moves.begins_among_last)?["from"].as_str();
    let first = first.or_else(first_of_last).or(row.step.as_deref());
    let began = row.started_at.or(row.running.map(|(_, at)| at)).map(time::shown);
    let visits = first
        .zip(began)
        .into_iter()
        .chain(first_moves().map(|moved| (moved.to.as_str(), moved.at.clone())))
        .chain(last_moves().map(|moved| (moved["to"].as_str().unwrap_or_default(), time_text(moved, "at"))));
    let mut visited: Vec<EntryPointView> = Vec::new();
    for (state, visited_at) in visits {
        if scenario.state_named(state).is_some_and(|id| scenario.state(id).entry_point) {
            visited.retain(|before| before.state != state);
            visited.push(EntryPointView { state: state.to_owned(), visited_at });
        }
    }
    visited
}

/// The action that failed, if a repair may continue from it.
pub(crate) fn failed_action(position: &Snapshot, scenario: Option<&Scenario>) -> Option<FailedActionView> {
    let FailedAction { state, action, elements } = position.failed_action()?;
    let named = scenario.and_then(|scenario| Some(scenario.state(scenario.state_named(state)?)));
    let kind = named.and_then(|state| state.actions.get(action)).map(|action| action.word().to_owned());
    let (elements_done, elements) = elements.unzip();
    Some(FailedActionView {
        state: state.to_owned(),
        action: saturated::<u32>(action),
        kind,
        elements_done: elements_done.map(saturated::<u32>),
        elements: elements.map(saturated::<u32>),
    })
}
