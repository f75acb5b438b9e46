//! Which events can arise in a state, and whether its transitions are just these.

use super::Report;
use crate::scenario::source::draft::{DraftState, Mark};
use crate::scenario::source::reader::quoted;
use crate::scenario::{Event, StateKind};

/// An event that can arise, and why.
struct Possible {
    event: Event,
    why: String,
}

/// Reports events without a transition, transitions without an event, actions that never run.
pub(super) fn check(state: &DraftState, report: Report<'_>) {
    let Some(kind) = state.kind else {
        return;
    };
    if kind == StateKind::Plain {
        check_actions(state, report);
    }
    if kind == StateKind::Terminal || !state.understood {
        return;
    }
    let possible = possible(state, kind);
    let name = quoted(&state.name.name);
    for Possible { event, why } in &possible {
        if !state.on.iter().any(|on| on.event == Some(*event)) {
            let mark: &Mark = state.on_mark.as_ref().unwrap_or(&state.name.mark);
            let fault = mark.fault(format!("{name} has no transition for `{event}`: {why}"));
            report(fault.hint(if state.on_mark.is_some() {
                format!("add `{event}: STATE` here")
            } else {
                format!("add `on: {{{event}: STATE}}` to it")
            }));
        }
    }
    for transition in &state.on {
        let Some(event) = transition.event else {
            continue;
        };
        if !possible.iter().any(|possible| possible.event == event) {
            let fault = transition.mark.fault(format!("the event `{event}` cannot arise in {name}"));
            report(fault.hint(remedy(event, kind)));
        }
    }
}

fn possible(state: &DraftState, kind: StateKind) -> Vec<Possible> {
    let because = |event, why: &str| Possible { event, why: why.to_owned() };
    match kind {
        StateKind::Terminal => Vec::new(),
        StateKind::Sleeping => vec![because(Event::Timeout, "the sleep ends")],
        StateKind::Waiting => vec![
            because(Event::Callback, "the callbacks may come in"),
            because(Event::Timeout, "the callbacks may not come in time"),
        ],
        StateKind::Plain => {
            let effects = || state.actions.iter().map(|action| action.effect);
            let mut all = Vec::new();
            let ends = effects().find_map(|effect| effect.ends);
            if ends.is_none() {
                all.push(because(Event::Success, "its actions may all go through"));
            } else if effects().any(|effect| effect.succeeds) {
                all.push(because(Event::Success, "its script calls `success()`"));
            }
            if let Some(word) = effects().find_map(|effect| effect.fails) {
                all.push(because(Event::Fail, &format!("its `{word}` may fail")));
            }
            for event in [Event::Wait, Event::Sleep] {
                if effects().any(|effect| effect.ends == Some(event)) {
                    all.push(because(event, &format!("it has the action `{event}`")));
                }
            }
            all
        }
    }
}

fn remedy(event: Event, kind: StateKind) -> String {
    match (kind, event) {
        (StateKind::Sleeping, _) => "a sleeping state knows `timeout` only".into(),
        (StateKind::Waiting, _) => "a waiting state knows `callback` and `timeout`".into(),
        (_, Event::Callback | Event::Timeout) => {
            format!("remove it: `{event}` ends the rest of waiting and sleeping states")
        }
        (_, Event::Wait | Event::Sleep) => {
            format!("remove it, or end the actions with `{event}`")
        }
        (_, Event::Success) => "remove it: the actions always end the stage before".into(),
        (_, Event::Fail) => "remove it: none of the actions can fail".into(),
    }
}

/// What stands after the end of the stage never runs.
fn check_actions(state: &DraftState, report: Report<'_>) {
    let mut actions = state.actions.iter();
    let Some(end) = actions.by_ref().find_map(|action| action.effect.ends) else {
        return;
    };
    if let Some(idle) = actions.next() {
        let message = format!("this action never runs: the `{end}` before it ends the stage");
        let fault = idle.mark.fault(message);
        report(fault.hint(format!("move it before the `{end}`, or to the state after it")));
    }
}
