//! Checks that there is something to wait for, and that each callback has a name of its own.

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::document::Position;

use super::{DraftGraph, FaultSink};
use crate::Event;
use crate::source::draft::{DraftAction, DraftState, Mark, Named};
use crate::source::reader::quoted;

/// Double names after which no more states are followed: no real scenario has as many.
const MAX_DOUBLES: usize = 100;

/// Reports waits without any request, and two requests of one name before one wait.
pub(super) fn check(graph: &DraftGraph<'_>, report: FaultSink<'_>) {
    let states = &graph.draft.states;
    let understood = states.iter().all(|state| state.understood);
    let mut all = Vec::new();
    for action in states.iter().flat_map(|state| &state.actions) {
        action.each(&mut |action| all.push(action));
    }
    let no_request = all.iter().all(|action| action.request.is_none() && !may_register(action));
    if understood && no_request {
        for wait in all.iter().filter(|action| action.branches.is_empty() && action.effect.waits) {
            let fault = wait.mark.fault("there is nothing to wait for: no action registers a request");
            report(fault.hint("add `request: NAME` to an `http` or `amqp` action before it"));
        }
    }
    let mut reported: BTreeSet<Position> = BTreeSet::new();
    for start in 0..states.len() {
        if reported.len() >= MAX_DOUBLES {
            return;
        }
        check_from(graph, start, &mut |request, first| {
            // The same two may meet on the ways from several states.
            if reported.insert(request.mark.at) {
                let name = quoted(&request.name);
                let line = first.at.line;
                let message = format!("the request {name} is registered twice before one wait");
                let fault = request.mark.fault(message);
                report(fault.hint(format!("give it another name than the one in line {line}")));
            }
        });
    }
}

/// True if the action has faults of its own and may have been meant to register a request.
fn may_register(action: &DraftAction) -> bool {
    let calls = matches!(action.effect.fails, Some("http" | "amqp"));
    action.action.is_none() && calls
}

/// Follows the stage that begins in a state, as long as all goes well.
fn check_from(graph: &DraftGraph<'_>, start: usize, double: &mut dyn FnMut(&Named, &Mark)) {
    let mut registered = RequestMarks::new();
    let mut visited = vec![false; graph.draft.states.len()];
    let mut at = Some(start);
    // A state that is visited again registers its own requests again: that is a loop with its
    // reasons, and no two actions that got in each other's way.
    while let Some(here) = at.filter(|here| !std::mem::replace(&mut visited[*here], true)) {
        let state = &graph.draft.states[here];
        follow(&state.actions, &mut registered, double);
        at = next_in_stage(graph, here, state);
    }
}

/// Names of requests with the place of the first of each.
type RequestMarks<'d> = BTreeMap<&'d str, &'d Mark>;

/// Requests in different branches never meet.
fn follow<'d>(
    actions: &'d [DraftAction],
    registered: &mut RequestMarks<'d>,
    double: &mut dyn FnMut(&Named, &Mark),
) {
    for action in actions {
        // A child that is awaited where it is started is no request any more by the next wait.
        if let Some(request) = action.request.as_ref().filter(|_| !action.effect.suspends) {
            match registered.get(request.name.as_str()) {
                Some(first) => double(request, first),
                None => {
                    registered.insert(&request.name, &request.mark);
                }
            }
        }
        let before = registered.clone();
        for branch in &action.branches {
            let mut of_branch = before.clone();
            follow(&branch.actions, &mut of_branch, double);
            registered.extend(of_branch);
        }
    }
}

fn next_in_stage(graph: &DraftGraph<'_>, here: usize, state: &DraftState) -> Option<usize> {
    if state.actions.iter().any(|action| action.effect.ends.is_some()) {
        return None;
    }
    let on = state.on.iter().position(|on| on.event == Some(Event::Success))?;
    graph.edges[here].get(on).copied().flatten()
}
