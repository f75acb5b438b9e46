//! Proves that a scenario is a sound state machine (SCN-1): every name resolves, every event that
//! can arise has its transition and no other, every state can be reached and can end.
//!
//! Works on the draft, which knows places; must never change it, and never stop at a first fault.
//! Parts that could not be read are passed over, so that each reported fault is a real one.

mod events;
mod requests;
mod ways;

use std::collections::HashMap;

use pagurus_domain::document::Fault;

use super::draft::{Draft, DraftAction, DraftState, Mark, Named};
use super::reader::{HINTED, quoted, with_nearest};
use crate::nearest::nearest;
use crate::{Bounds, Event, StateKind};

/// Takes each fault that is found.
pub(super) type FaultSink<'r> = &'r mut dyn FnMut(Fault);

/// Multiple of the allowed number of states that is still checked one by one. Beyond, the file is
/// no scenario that grew too large but a burden, and only its size is reported.
const STILL_CHECKED: usize = 10;

/// The draft with its names resolved.
struct DraftGraph<'d> {
    draft: &'d Draft,
    /// Targets of the transitions of each state, as `on` has them. A name that is misspelt stands
    /// for the one that was probably meant, so that one letter does not make states unreachable.
    edges: Vec<Vec<Option<usize>>>,
    initial: Option<usize>,
}

/// Reports every rule that the draft breaks.
pub(super) fn check(draft: &Draft, bounds: &Bounds, report: FaultSink<'_>) {
    let count = draft.states.len();
    if count > bounds.max_states {
        let message = format!("the scenario has {count} states, {} are allowed", bounds.max_states);
        let fault = draft.states_mark.fault(message);
        report(fault.hint("split it, or raise `scenario.max_states`"));
    }
    if count > bounds.max_states.saturating_mul(STILL_CHECKED) {
        return;
    }
    let graph = resolve(draft, report);
    check_initial(&graph, report);
    check_targets(draft, report);
    for (state, edges) in draft.states.iter().zip(&graph.edges) {
        check_kind(state, report);
        check_entry(draft, state, edges, report);
        events::check(state, report);
    }
    for call in &draft.calls {
        events::check_call(call, report);
    }
    ways::check(&graph, report);
    requests::check(&graph, report);
}

fn resolve<'d>(draft: &'d Draft, report: FaultSink<'_>) -> DraftGraph<'d> {
    let names = draft.states.iter().enumerate();
    let index: HashMap<&str, usize> = names.map(|(at, state)| (state.name.name.as_str(), at)).collect();
    let mut unknown = 0;
    let mut find = |named: &Named| {
        let found = index.get(named.name.as_str()).copied();
        found.or_else(|| {
            unknown += 1;
            if unknown > HINTED {
                report(no_state(named));
                return None;
            }
            report(unknown_state(draft, named));
            let names = draft.states.iter().map(|state| state.name.name.as_str());
            let meant = nearest(&named.name, names)?;
            index.get(meant).copied()
        })
    };
    // Without any state each name would be unknown, and the missing states have been reported.
    let initial = draft.initial.as_ref().filter(|_| !draft.states.is_empty());
    let initial = initial.and_then(&mut find);
    let edges = draft.states.iter();
    let edges = edges.map(|state| state.on.iter().map(|on| find(&on.to)).collect());
    DraftGraph { draft, edges: edges.collect(), initial }
}

fn no_state(named: &Named) -> Fault {
    named.mark.fault(format!("there is no state {}", quoted(&named.name)))
}

fn unknown_state(draft: &Draft, named: &Named) -> Fault {
    with_nearest(no_state(named), &named.name, draft.states.iter().map(|state| state.name.name.as_str()))
}

fn check_initial(graph: &DraftGraph<'_>, report: FaultSink<'_>) {
    let (Some(at), Some(named)) = (graph.initial, &graph.draft.initial) else {
        return;
    };
    if let Some(kind @ (StateKind::Waiting | StateKind::Sleeping)) = graph.draft.states[at].kind {
        let message = format!("the initial state {} is {kind}", quoted(&named.name));
        let fault = named.mark.fault(message);
        report(fault.hint("start with a plain state: nothing could end this wait"));
    }
}

fn check_targets(draft: &Draft, report: FaultSink<'_>) {
    let targets = draft.targets.as_deref().unwrap_or_default();
    let mut unknown = 0;
    for (position, named) in targets.iter().enumerate() {
        let mut states = draft.states.iter();
        let Some(state) = states.find(|state| state.name.name == named.name) else {
            unknown += 1;
            if !draft.states.is_empty() {
                report(if unknown > HINTED { no_state(named) } else { unknown_state(draft, named) });
            }
            continue;
        };
        let name = quoted(&named.name);
        if let Some(kind) = state.kind.filter(|kind| *kind != StateKind::Terminal) {
            let fault = named.mark.fault(format!("the target state {name} is {kind}"));
            report(fault.hint("name terminal states only, or make it `kind: terminal`"));
        }
        // Looking back over thousands of names would take long; no real scenario has them.
        let earlier = &targets[position.saturating_sub(100)..position];
        if earlier.iter().any(|other| other.name == named.name) {
            let fault = named.mark.fault(format!("the target state {name} is given twice"));
            report(fault.hint("remove one of the two"));
        }
    }
}

/// Checks what a state of this kind must not have, or must have.
fn check_kind(state: &DraftState, report: FaultSink<'_>) {
    let Some(kind) = state.kind else {
        return;
    };
    let article = article(kind);
    let acts = matches!(kind, StateKind::Plain | StateKind::Polling);
    if let Some(mark) = state.actions_mark.as_ref().filter(|_| !acts) {
        let fault = mark.fault(format!("{article} state cannot have actions"));
        report(fault.hint("move them to a plain state before or after it"));
    }
    if let Some(mark) = state.entry_point.as_ref().filter(|_| !acts) {
        let fault = mark.fault(format!("{article} state cannot be an entry point"));
        report(fault.hint("mark the plain state from which a restart is to continue"));
    }
    if let Some(mark) = state.on_mark.as_ref().filter(|_| kind == StateKind::Terminal) {
        let fault = mark.fault("a terminal state cannot have transitions");
        report(fault.hint("remove `on`, or `kind: terminal`"));
    }
    if let Some((_, mark)) = state.outcome.as_ref().filter(|_| kind != StateKind::Terminal) {
        let fault = mark.fault(format!("{article} state cannot have an outcome"));
        report(fault.hint("write `outcome` in the terminal state that it leads to"));
    }
    match (&state.poll_mark, kind) {
        (None, StateKind::Polling) => {
            let fault = state.name.mark.fault("a polling state does not say how often it polls");
            report(fault.hint("add `poll: {delay: 5s, interval: 30s, timeout: 1h}`"));
        }
        (Some(mark), kind) if kind != StateKind::Polling => {
            let fault = mark.fault(format!("{article} state does not poll"));
            report(fault.hint("add `kind: polling`, or remove `poll`"));
        }
        _ => {}
    }
    let registers = || state.actions.iter().any(registers_request);
    if let Some(mark) = &state.retry_failed_only
        && kind != StateKind::Waiting
        && !(kind == StateKind::Plain && (registers() || !state.understood))
    {
        let fault =
            mark.fault(format!("{} has no requests that could be sent again", quoted(&state.name.name)));
        report(fault.hint("mark the waiting state, or the state that registers the requests"));
    }
}

fn registers_request(action: &DraftAction) -> bool {
    let mut found = false;
    action.each(&mut |action| found |= action.request.is_some());
    found
}

const fn article(kind: StateKind) -> &'static str {
    match kind {
        StateKind::Plain => "a plain",
        StateKind::Sleeping => "a sleeping",
        StateKind::Waiting => "a waiting",
        StateKind::Polling => "a polling",
        StateKind::Terminal => "a terminal",
    }
}

/// States of rest are entered by the event that says how long the rest is, and by no other.
fn check_entry(draft: &Draft, state: &DraftState, edges: &[Option<usize>], report: FaultSink<'_>) {
    for (transition, to) in state.on.iter().zip(edges) {
        let (Some(event), Some(to)) = (transition.event, to) else {
            continue;
        };
        let target = &draft.states[*to];
        let Some(kind) = target.kind else {
            continue;
        };
        let name = quoted(&target.name.name);
        let wanted = match event {
            Event::Wait => Some(StateKind::Waiting),
            Event::Sleep => Some(StateKind::Sleeping),
            _ => None,
        };
        let mark: &Mark = &transition.to.mark;
        match (wanted, kind) {
            (Some(wanted), kind) if wanted != kind => {
                let wanted = article(wanted);
                let message = format!("`{event}` leads to {wanted} state, but {name} is {kind}");
                report(mark.fault(message).hint(format!("name {wanted} state")));
            }
            (None, StateKind::Waiting | StateKind::Sleeping) => {
                let action = if kind == StateKind::Waiting { "wait" } else { "sleep" };
                let event = transition.word(event);
                let message = format!("`{event}` must not lead to {name}, which is {kind}");
                let fault = mark.fault(message);
                report(fault.hint(format!(
                    "use a plain state with the action `{action}` and `on: {{{action}: {}}}`",
                    target.name.name
                )));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
