//! Conditions of an order, held against the scenarios of the orders that it names (ORD-14).
//!
//! Only what is registered already, or in the same batch, can be checked;
//! the activator looks at the rest as soon as it is registered.

use std::collections::HashMap;
use std::sync::Arc;

use pagurus_domain::document::Fault;
use pagurus_domain::order::dependency::written_way;
use pagurus_domain::order::registration::NewOrder;
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_scenario::Scenario;
use pagurus_scenario::admission::unknown_states;
use pagurus_store::hot::dependencies::admission;
use pagurus_store::{Client, Error};
use pagurus_wire::problem::{Problem, Type};

/// Refuses those that expect a state in which an order that they wait for cannot end. An order that
/// is registered already is not looked at: it is a duplicate or a conflict, whatever it says.
pub(super) async fn check(
    client: &Client,
    catalogue: &Catalogue,
    checked: &mut [Result<NewOrder, Problem>],
) -> Result<(), Error> {
    let ids: Vec<&str> = checked
        .iter()
        .flatten()
        .filter(|order| !order.request.after.is_empty())
        .flat_map(|order| {
            let after = order.request.after.iter().map(|one| one.order.as_str());
            after.chain([order.request.id.as_str()])
        })
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let registered = admission::registered(client, &ids).await?;
    let mut scenarios: HashMap<String, Arc<Scenario>> = HashMap::new();
    for order in checked.iter().flatten() {
        let known = catalogue.get(client, order.scenario).await?;
        if let Some(scenario) = known.and_then(Known::readable) {
            scenarios.entry(order.request.id.clone()).or_insert(scenario);
        }
    }
    for (id, no) in &registered {
        let known = catalogue.get(client, *no).await?;
        match known.and_then(|known| known.scenario.ok()) {
            Some(scenario) => scenarios.insert(id.clone(), scenario),
            None => scenarios.remove(id),
        };
    }
    for item in checked {
        let Ok(order) = item else { continue };
        if registered.contains_key(&order.request.id) {
            continue;
        }
        let faults = faults(order, &scenarios);
        if !faults.is_empty() {
            *item = Err(Problem::of_faults(Type::Invalid, &faults));
        }
    }
    Ok(())
}

fn faults(order: &NewOrder, scenarios: &HashMap<String, Arc<Scenario>>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, one) in order.request.after.iter().enumerate() {
        let Some(scenario) = scenarios.get(&one.order) else { continue };
        for (state, reason) in unknown_states(&one.states, scenario) {
            let pointer = format!("/lifecycle/after/{index}/states/{state}");
            faults.push(Fault {
                at: None,
                pointer,
                message: format!("cannot be reached: {reason}"),
                hint: None,
            });
        }
    }
    faults
}

/// Returns the problem of an order that would wait for itself.
pub(super) fn of_cycle(way: &[String]) -> Problem {
    let message =
        format!("would make the order wait for itself: {}; each waits for the next", written_way(way));
    Problem::of_field("/lifecycle/after", message)
}
