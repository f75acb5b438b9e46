//! Checks that the transitions of a state are exactly the events that can arise in it.

use super::FaultSink;
use crate::script::RAISE;
use crate::source::draft::{DraftAction, DraftCall, DraftState, Mark};
use crate::source::reader::quoted;
use crate::source::state::all_raised;
use crate::{Event, StateKind};

/// An event that can arise, and why.
struct Possible {
    event: Event,
    /// The name, where a script raises it by one of its own.
    name: Option<String>,
    why: String,
}

impl Possible {
    fn new(event: Event, why: impl Into<String>) -> Self {
        Self { event, name: None, why: why.into() }
    }

    /// The event that a script raises by this name.
    fn named(name: &str) -> Self {
        let why = format!("its script raises it by `{RAISE}(\"{name}\")`");
        Self { event: Event::Named, name: Some(name.to_owned()), why }
    }

    fn word(&self) -> &str {
        self.name.as_deref().unwrap_or(self.event.as_str())
    }
}

/// Reports events without a transition, transitions without an event, actions that never run.
pub(super) fn check(state: &DraftState, report: FaultSink<'_>) {
    let Some(kind) = state.kind else {
        return;
    };
    if matches!(kind, StateKind::Plain | StateKind::Polling) {
        check_actions(&state.actions, report);
    }
    check_polling(state, kind, report);
    if kind == StateKind::Terminal || !state.understood {
        return;
    }
    let possible = possible(state, kind);
    let name = quoted(&state.name.name);
    for possible in &possible {
        let Possible { event, name: own, why } = possible;
        if !state.on.iter().any(|on| on.event == Some(*event) && (own.is_none() || on.name == *own)) {
            let event = possible.word();
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
        let Some(event) = transition.event.filter(|event| !matches!(event, Event::Call | Event::Named))
        else {
            continue;
        };
        // The time of the whole order may be over in any state; none need say what follows.
        if event == Event::ProcessTimeout {
            continue;
        }
        // A waiting state may tell a failed answer from a good one; it need not.
        if (kind, event) == (StateKind::Waiting, Event::Fail) {
            continue;
        }
        if !possible.iter().any(|possible| possible.event == event) {
            let fault = transition.mark.fault(format!("the event `{event}` cannot arise in {name}"));
            report(fault.hint(remedy(event, kind)));
        }
    }
}

fn possible(state: &DraftState, kind: StateKind) -> Vec<Possible> {
    match kind {
        StateKind::Terminal => Vec::new(),
        StateKind::Sleeping => vec![Possible::new(Event::Timeout, "the sleep ends")],
        StateKind::Waiting => vec![
            Possible::new(Event::Callback, "the callbacks may come in"),
            Possible::new(Event::Timeout, "the callbacks may not come in time"),
        ],
        StateKind::Plain | StateKind::Polling => {
            let mut all = of_actions(state);
            if kind == StateKind::Polling {
                all.push(Possible::new(Event::Timeout, "the time of the polling may be over"));
            }
            all
        }
    }
}

fn of_actions(state: &DraftState) -> Vec<Possible> {
    let effects = || state.actions.iter().map(|action| action.effect);
    let mut all = Vec::new();
    if effects().all(|effect| effect.ends.is_none()) {
        all.push(Possible::new(Event::Success, "its actions may all go through"));
    } else if effects().any(|effect| effect.succeeds) {
        all.push(Possible::new(Event::Success, "its script calls `success()`"));
    }
    if let Some(word) = effects().find_map(|effect| effect.fails) {
        all.push(Possible::new(Event::Fail, format!("its `{word}` may fail")));
    }
    let mut raised: Vec<&str> = all_raised(&state.actions).iter().map(|event| event.name.as_str()).collect();
    raised.sort_unstable();
    raised.dedup();
    all.extend(raised.into_iter().map(Possible::named));
    let rests = [
        (Event::Wait, effects().any(|effect| effect.waits)),
        (Event::Sleep, effects().any(|effect| effect.sleeps)),
    ];
    for (event, _) in rests.into_iter().filter(|(_, raised)| *raised) {
        all.push(Possible::new(event, format!("it has the action `{event}`")));
    }
    all
}

/// Checks what only a polling state does, and what it cannot do.
fn check_polling(state: &DraftState, kind: StateKind, report: FaultSink<'_>) {
    let polls = state.actions.iter().any(|action| action.effect.polls);
    if kind != StateKind::Polling {
        if let Some(action) = state.actions.iter().find(|action| action.effect.polls) {
            let fault = action.mark.fault("`poll()` is called in a state that does not poll");
            report(fault.hint("make the state `kind: polling`"));
        }
        return;
    }
    if !polls && state.understood {
        let fault = state.name.mark.fault(format!("{} never polls again", quoted(&state.name.name)));
        report(fault.hint("call `poll()` in a script of it as long as the answer is not there"));
    }
    for action in &state.actions {
        action.each(&mut |action| {
            let effect = action.effect;
            let suspends = effect.waits || effect.sleeps || effect.suspends || action.request.is_some();
            if action.branches.is_empty() && suspends {
                let fault = action.mark.fault("a polling state makes only calls that are answered at once");
                report(
                    fault.hint("move the action that suspends the order to a plain state before or after it"),
                );
            }
        });
    }
}

/// Checks the handling of a call: it runs while the order rests, so that nothing in it can rest or move.
pub(super) fn check_call(call: &DraftCall, report: FaultSink<'_>) {
    check_actions(&call.actions, report);
    for action in &call.actions {
        action.each(&mut |action| {
            let effect = action.effect;
            if action.operation.is_some() {
                let fault = action.mark.fault("a call cannot run an operation");
                report(fault.hint("use a transition to a state that does it: `on: {call:NAME: STATE}`"));
                return;
            }
            let suspends = effect.waits || effect.sleeps || effect.suspends || action.request.is_some();
            if action.branches.is_empty() && suspends {
                let fault = action.mark.fault("a call must not suspend the order");
                report(fault.hint("use a transition to a state that does it: `on: {call:NAME: STATE}`"));
            }
            if action.branches.is_empty() && effect.polls {
                let fault = action.mark.fault("`poll()` is called in a call, which does not poll");
                report(fault.hint("remove it"));
            }
            for event in &action.raises {
                let fault =
                    event.mark.fault("a call cannot raise events, because it does not move the order");
                report(
                    fault
                        .hint("use a transition to a state whose script raises it: `on: {call:NAME: STATE}`"),
                );
            }
        });
    }
}

fn remedy(event: Event, kind: StateKind) -> String {
    match (kind, event) {
        (StateKind::Sleeping, _) => "a sleeping state has only the event `timeout`".into(),
        (StateKind::Waiting, _) => {
            "a waiting state has only the events `callback`, `timeout` and `fail`".into()
        }
        (_, Event::Callback | Event::Timeout) => {
            format!("remove it: `{event}` occurs only in waiting and sleeping states")
        }
        (_, Event::Wait | Event::Sleep) => {
            format!("remove it, or end the actions with `{event}`")
        }
        (_, Event::Poll | Event::Named | Event::Call | Event::ProcessTimeout | Event::Retry) => {
            "remove it".into()
        }
        (_, Event::Success) => "remove it: the actions always end the stage before".into(),
        (_, Event::Fail) => "remove it: none of the actions can fail".into(),
    }
}

/// Reports actions after the end of the stage, which never run.
fn check_actions(actions: &[DraftAction], report: FaultSink<'_>) {
    for branch in actions.iter().flat_map(|action| &action.branches) {
        check_actions(&branch.actions, report);
    }
    let mut actions = actions.iter();
    let Some(end) = actions.by_ref().find_map(|action| action.effect.ends) else {
        return;
    };
    if let Some(idle) = actions.next() {
        let message = format!("this action never runs: the `{end}` before it ends the stage");
        let fault = idle.mark.fault(message);
        report(fault.hint(format!("move it before the `{end}`, or to the state after it")));
    }
}
