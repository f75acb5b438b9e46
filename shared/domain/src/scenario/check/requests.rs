//! Whether there is something to wait for, and whether each callback has a name of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, Report};
use crate::document::Position;
use crate::scenario::Event;
use crate::scenario::source::draft::{DraftAction, DraftState, Mark, Named};
use crate::scenario::source::reader::quoted;

/// Double names after which no more states are followed: no scenario has so many requests.
const MAX_TOLD: usize = 100;

/// Reports waits without any request, and two requests of one name before one wait.
pub(super) fn check(graph: &Graph<'_>, report: Report<'_>) {
    let states = &graph.draft.states;
    let understood = states.iter().all(|state| state.understood);
    let actions = || states.iter().flat_map(|state| &state.actions);
    let no_request = actions().all(|action| action.request.is_none() && !may_register(action));
    if understood && no_request {
        for wait in actions().filter(|action| action.effect.ends == Some(Event::Wait)) {
            let fault = wait.mark.fault("there is nothing to wait for: no action registers a request");
            report(fault.hint("add `request: NAME` to an `http` or `amqp` action before it"));
        }
    }
    let mut told: BTreeSet<Position> = BTreeSet::new();
    for start in 0..states.len() {
        if told.len() >= MAX_TOLD {
            return;
        }
        check_from(graph, start, &mut |request, first| {
            // The same two may meet on the ways from several states.
            if told.insert(request.mark.at) {
                let name = quoted(&request.name);
                let line = first.at.line;
                let message = format!("the request {name} is registered twice before one wait");
                let fault = request.mark.fault(message);
                report(fault.hint(format!("give it another name than the one in line {line}")));
            }
        });
    }
}

/// An action with faults of its own may have been meant to register one.
fn may_register(action: &DraftAction) -> bool {
    let calls = matches!(action.effect.fails, Some("http" | "amqp"));
    action.action.is_none() && calls
}

/// Follows the stage that begins in a state, as long as all goes well.
fn check_from(graph: &Graph<'_>, start: usize, double: &mut dyn FnMut(&Named, &Mark)) {
    let mut registered: BTreeMap<&str, &Mark> = BTreeMap::new();
    let mut visited = vec![false; graph.draft.states.len()];
    let mut at = Some(start);
    // A state that is visited again registers its own requests again: that is a loop with its
    // reasons, and no two actions that got in each other's way.
    while let Some(here) = at.filter(|here| !std::mem::replace(&mut visited[*here], true)) {
        let state = &graph.draft.states[here];
        for request in state.actions.iter().filter_map(|action| action.request.as_ref()) {
            match registered.get(request.name.as_str()) {
                Some(first) => double(request, first),
                None => {
                    registered.insert(&request.name, &request.mark);
                }
            }
        }
        at = next_in_stage(graph, here, state);
    }
}

fn next_in_stage(graph: &Graph<'_>, here: usize, state: &DraftState) -> Option<usize> {
    if state.actions.iter().any(|action| action.effect.ends.is_some()) {
        return None;
    }
    let on = state.on.iter().position(|on| on.event == Some(Event::Success))?;
    graph.edges[here].get(on).copied().flatten()
}
