//! Checks that there is a way from the initial state to every state, and from there to an end.

use super::{DraftGraph, FaultSink};
use crate::StateKind;
use crate::source::reader::quoted;

/// Reports states that no order reaches, and states from which none ends.
pub(super) fn check(graph: &DraftGraph<'_>, report: FaultSink<'_>) {
    let states = &graph.draft.states;
    // A name that could not be resolved may stand for any state.
    let all_known =
        graph.edges.iter().flatten().all(Option::is_some) && states.iter().all(|state| state.understood);
    let forward: Vec<Vec<usize>> =
        graph.edges.iter().map(|edges| edges.iter().copied().flatten().collect()).collect();
    if let Some(initial) = graph.initial.filter(|_| all_known) {
        let reached = spread(&forward, [initial]);
        for (state, _) in states.iter().zip(reached).filter(|(_, reached)| !reached) {
            let message = format!("{} cannot be reached from the initial state", quoted(&state.name.name));
            let fault = state.name.mark.fault(message);
            report(fault.hint("add a transition to it, or remove it"));
        }
    }
    let terminal = |at: &usize| states[*at].kind.is_none_or(|kind| kind == StateKind::Terminal);
    let ends: Vec<usize> = (0..states.len()).filter(terminal).collect();
    if ends.is_empty() {
        if !states.is_empty() {
            let fault = graph.draft.states_mark.fault("there is no terminal state");
            report(fault.hint("add `done: {kind: terminal}`, and a transition to it"));
        }
        return;
    }
    // What could not be resolved or read may lead to an end: only where no such thing can be met, none can.
    let unknown = |at: &usize| !states[*at].understood || graph.edges[*at].iter().any(Option::is_none);
    let ends = ends.into_iter().chain((0..states.len()).filter(unknown));
    let mut backward = vec![Vec::new(); states.len()];
    for (from, edges) in forward.iter().enumerate() {
        for to in edges {
            backward[*to].push(from);
        }
    }
    let can_end = spread(&backward, ends);
    let endless = states.iter().zip(can_end).filter(|(_, ends)| !ends);
    // A state without transitions has its own faults: each of its events lacks one.
    for (state, _) in endless.filter(|(state, _)| !state.on.is_empty()) {
        let message = format!("no terminal state can be reached from {}", quoted(&state.name.name));
        let fault = state.name.mark.fault(message);
        report(fault.hint("add a transition towards a terminal state"));
    }
}

/// Returns which states can be reached from `start`.
fn spread(edges: &[Vec<usize>], start: impl IntoIterator<Item = usize>) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut frontier: Vec<usize> = start.into_iter().collect();
    while let Some(at) = frontier.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            frontier.extend(&edges[at]);
        }
    }
    reached
}
