//! Reads the states of a scenario.

use std::collections::BTreeSet;
use std::time::Duration;

use pagurus_domain::document::form::{Form, KeyRule, Keys, key, list, required};

use super::action;
use super::draft::{DraftAction, DraftState, DraftTransition, Mark, Named};
use super::reader::{Fields, HINTED, LONGEST_DURATION, ScenarioReader, Spot, quoted, with_nearest};
use crate::nearest::nearest;
use crate::{Action, Event, Lapse, Poll, StateKind, TerminalOutcome};

/// States by their names.
pub(super) const STATES: Form =
    Form::Map { names: "^[A-Za-z_][A-Za-z0-9_.-]{0,63}$", of: &Form::Fields(&KEYS), least: 1 };

#[rustfmt::skip]
static KEYS: Keys = Keys::with_rules(
    &[
        key("kind", Form::Words(kinds), "What the state is; default: `plain`."),
        key("entryPoint", Form::Flag, "A restart, or an asynchronous retry, starts at the last such state."),
        key("actions", list(&Form::Named(&action::ACTION)), "What is done, from top to bottom."),
        key("on", ON, "The events, each with the state that follows."),
        key("outcome", Form::Words(outcomes), "Of a terminal state: status of the order; default: `success`."),
        key("poll", Form::Fields(&POLL), "How often a polling state polls."),
        key("retryFailedOnly", Form::Flag, "An asynchronous retry repeats only requests whose answers failed or did not come."),
    ],
    &[
        KeyRule::Where { key: "kind", word: "plain", is_default: true, needs: &[], refuses: &["outcome", "poll"] },
        KeyRule::Where { key: "kind", word: "polling", is_default: false, needs: &["poll"], refuses: &["outcome", "retryFailedOnly"] },
        KeyRule::Where { key: "kind", word: "waiting", is_default: false, needs: &[], refuses: RESTS },
        KeyRule::Where { key: "kind", word: "sleeping", is_default: false, needs: &[], refuses: ASLEEP },
        KeyRule::Where { key: "kind", word: "terminal", is_default: false, needs: &[], refuses: &["actions", "entryPoint", "on", "poll", "retryFailedOnly"] },
    ],
);

/// Keys that no state of rest has.
const RESTS: &[&str] = &["actions", "entryPoint", "outcome", "poll"];

/// Keys that no sleeping state has.
const ASLEEP: &[&str] = &["actions", "entryPoint", "outcome", "poll", "retryFailedOnly"];

const ON: Form = Form::Open {
    keys: &TRANSITIONS,
    names: "^(?!poll$|timeout:)(call:)?[A-Za-z][A-Za-z0-9_.-]{0,63}$",
    of: &Form::Text,
};

static TRANSITIONS: Keys = Keys::new(&[
    key("success", Form::Text, "All actions succeeded, or a script called `success()`."),
    key("fail", Form::Text, "An action failed and is not retried, or a script called `fail(…)`."),
    key("sleep", Form::Text, "The action `sleep` was reached; leads to a sleeping state."),
    key("wait", Form::Text, "The action `wait` was reached; leads to a waiting state."),
    key("callback", Form::Text, "Of a waiting state: all requests are answered."),
    key("timeout", Form::Text, "Of a waiting, sleeping or polling state: the time has passed."),
    key("timeout:process", Form::Text, "The order outlived its process time-out here."),
]);

static POLL: Keys = Keys::new(&[
    key("delay", Form::LapseOrZero, "The time before the first attempt; default: none."),
    required("interval", Form::Lapse, "The time between attempts."),
    required("timeout", Form::Lapse, "The time for all attempts, from the entry of the state."),
]);

fn kinds() -> Vec<&'static str> {
    StateKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

fn outcomes() -> Vec<&'static str> {
    TerminalOutcome::ALL.iter().map(|outcome| outcome.as_str()).collect()
}

/// The events that a transition may name; besides them `call:NAME`, and the events that scripts of the state raise.
const EVENTS: &[Event] = &[
    Event::Success,
    Event::Fail,
    Event::Sleep,
    Event::Wait,
    Event::Callback,
    Event::Timeout,
    Event::ProcessTimeout,
];

/// The longest name of a state.
const LONGEST_NAME: usize = 64;

/// Reads all states.
pub(super) fn read_all(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<DraftState> {
    if spot.node.as_map().is_none_or(<[_]>::is_empty) {
        let fault = spot.must_be("a mapping of names to states");
        reader.push(fault.hint("write it like `states: {done: {kind: terminal}}`"));
        return Vec::new();
    }
    let states = spot.entries();
    states.map(|(mark, state)| read(reader, mark, &state)).collect()
}

fn read(reader: &mut ScenarioReader<'_>, mark: Mark, spot: &Spot<'_>) -> DraftState {
    check_name(reader, &mark, &spot.label);
    let name = Named { name: spot.label.clone(), mark };
    let mut state = DraftState {
        name,
        kind: None,
        entry_point: None,
        actions_mark: None,
        actions: Vec::new(),
        on_mark: None,
        on: Vec::new(),
        outcome: None,
        poll: None,
        poll_mark: None,
        retry_failed_only: None,
        understood: false,
    };
    let Some(fields) = reader.fields(spot, &KEYS) else {
        return state;
    };
    state.kind = match fields.get("kind") {
        None => Some(StateKind::Plain),
        Some(kind) => self::kind(reader, kind),
    };
    if let Some((mark, flag)) = fields.entry("entryPoint")
        && reader.flag(flag) == Some(true)
    {
        state.entry_point = Some(mark.clone());
    }
    if let Some((mark, flag)) = fields.entry("retryFailedOnly")
        && reader.flag(flag) == Some(true)
    {
        state.retry_failed_only = Some(mark.clone());
    }
    if let Some((mark, spot)) = fields.entry("poll") {
        state.poll_mark = Some(mark.clone());
        state.poll = poll(reader, spot);
    }
    state.outcome = outcome(reader, &fields);
    let actions = read_actions(reader, &fields, &mut state);
    let transitions = read_transitions(reader, &fields, &mut state, actions);
    // A key that was not read may have been meant for `actions` or `on`.
    let keys = spot.node.as_map().unwrap_or_default();
    let all_known = keys.iter().all(|(key, value)| KEYS.has(&key.name) && !value.is_null());
    state.understood = actions && transitions && all_known;
    state
}

fn check_name(reader: &mut ScenarioReader<'_>, mark: &Mark, name: &str) {
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && name.len() <= LONGEST_NAME;
    if !good {
        let fault = mark.fault(format!("{} is not a name for a state", quoted(name)));
        reader
            .push(fault.hint(
                "write a letter or `_`, then letters, digits, `_`, `-` and `.`, 64 characters at most",
            ));
    }
}

fn kind(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<StateKind> {
    let word = reader.text(spot)?;
    let kind = word.parse::<StateKind>().ok();
    if kind.is_none() {
        let fault = spot.fault(format!("there is no kind of state {}", quoted(word)));
        let known = StateKind::ALL.iter().map(|kind| kind.as_str());
        reader.push(with_nearest(fault, word, known));
    }
    kind
}

fn poll(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Poll> {
    let fields = reader.fields(spot, &POLL)?;
    let delay = match fields.get("delay") {
        None => Some(Lapse::Known(Duration::ZERO)),
        Some(spot) => reader.lapse_or_zero(spot, LONGEST_DURATION),
    };
    let interval = reader.required(spot, &fields, "interval", "interval: 30s").cloned();
    let interval = interval.and_then(|spot| reader.lapse(&spot, LONGEST_DURATION));
    let timeout = reader.required(spot, &fields, "timeout", "timeout: 1h").cloned();
    let timeout = timeout.and_then(|spot| reader.lapse(&spot, LONGEST_DURATION));
    Some(Poll { delay: delay?, interval: interval?, timeout: timeout? })
}

fn outcome(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) -> Option<(TerminalOutcome, Mark)> {
    let (mark, spot) = fields.entry("outcome")?;
    let word = reader.text(spot)?;
    let Ok(outcome) = word.parse() else {
        let fault = spot.fault(format!("there is no outcome {}", quoted(word)));
        let known = TerminalOutcome::ALL.iter().map(|outcome| outcome.as_str());
        reader.push(with_nearest(fault, word, known));
        return None;
    };
    Some((outcome, mark.clone()))
}

/// True if all actions were understood.
fn read_actions(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>, state: &mut DraftState) -> bool {
    let Some((mark, spot)) = fields.entry("actions") else {
        return true;
    };
    state.actions_mark = Some(mark.clone());
    if spot.node.as_list().is_none() {
        let fault = spot.must_be("a list of actions");
        reader.push(fault.hint("start each action with `- `"));
        return false;
    }
    let mut understood = true;
    for item in spot.items() {
        match action::read(reader, &item) {
            Some(action) => state.actions.push(action),
            None => understood = false,
        }
    }
    settle_orders(&mut state.actions);
    understood
}

/// Settles where child orders are awaited: by the `wait` of the state, or else right where they are started.
pub(super) fn settle_orders(actions: &mut [DraftAction]) {
    let waits = actions.iter().any(|action| action.effect.waits);
    settle(actions, !waits);
}

fn settle(actions: &mut [DraftAction], here: bool) {
    for draft in actions {
        if let Some(Action::Order(order)) = &mut draft.action {
            order.waits_here &= here;
            draft.effect.suspends = order.waits_here;
        }
        for branch in &mut draft.branches {
            settle(&mut branch.actions, here);
            draft.effect.suspends |= branch.actions.iter().any(|action| action.effect.suspends);
        }
    }
}

/// True if all transitions were understood. `all_known` tells that the actions were: else an event that none of them
/// raises may be that of one that could not be read.
fn read_transitions(
    reader: &mut ScenarioReader<'_>,
    fields: &Fields<'_>,
    state: &mut DraftState,
    all_known: bool,
) -> bool {
    let Some((mark, spot)) = fields.entry("on") else {
        return true;
    };
    state.on_mark = Some(mark.clone());
    if spot.node.as_map().is_none() {
        let fault = spot.must_be("a mapping of events to states");
        reader.push(fault.hint("write it like `on: {success: done}`"));
        return false;
    }
    let raised: BTreeSet<String> =
        all_raised(&state.actions).into_iter().map(|event| event.name.clone()).collect();
    let mut understood = true;
    for (mark, member) in spot.entries() {
        let word = member.label.as_str();
        let (event, name) = match raised.contains(word) {
            true => (Some(Event::Named), Some(word.to_owned())),
            false if !all_known && is_of_unknown(word) => (None, None),
            false => event(reader, &mark, word, &raised),
        };
        understood &= event.is_some();
        match reader.reference(&member) {
            Some(to) => state.on.push(DraftTransition { event, name, mark, to }),
            None => understood = false,
        }
    }
    understood
}

/// The events that actions and their branches raise by names of their own, in the order of the file.
pub(crate) fn all_raised(actions: &[DraftAction]) -> Vec<&Named> {
    let mut raised = Vec::new();
    for action in actions {
        action.each(&mut |action| raised.extend(&action.raises));
    }
    raised
}

/// True if the word may be the event of an action that could not be read.
fn is_of_unknown(word: &str) -> bool {
    let known = EVENTS.iter().map(|event| event.as_str()).chain(["poll"]);
    !word.contains(':') && nearest(word, known).is_none()
}

fn event(
    reader: &mut ScenarioReader<'_>,
    mark: &Mark,
    word: &str,
    raised: &BTreeSet<String>,
) -> (Option<Event>, Option<String>) {
    if let Some(call) = word.strip_prefix("call:") {
        return match call_name(reader, mark, call) {
            true => (Some(Event::Call), Some(call.to_owned())),
            false => (None, None),
        };
    }
    let event = word.parse::<Event>().ok().filter(|event| EVENTS.contains(event));
    match (event, word) {
        (Some(_), _) => {}
        (None, "poll") => {
            let fault = mark.fault(
                "`poll` is not a transition: the order stays in the state and tries again after the interval",
            );
            reader.push(fault.hint("remove it; `timeout` says what follows when polling takes too long"));
        }
        (None, word) => {
            let fault = mark.fault(format!("there is no event {}", quoted(word)));
            let known = EVENTS.iter().map(|event| event.as_str()).chain(raised.iter().map(String::as_str));
            let is_hinted = reader.fault_count() < HINTED;
            reader.push(match is_hinted.then(|| nearest(word, known)).flatten() {
                Some(near) => fault.hint(format!("did you mean `{near}`?")),
                None => fault.hint(format!(
                    "there are: {}; an event of its own is raised by a script of the state: `event(\"NAME\")`",
                    EVENTS.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(", ")
                )),
            });
        }
    }
    (event, None)
}

/// True if the name can be the name of a call.
pub(super) fn call_name(reader: &mut ScenarioReader<'_>, mark: &Mark, name: &str) -> bool {
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && name.len() <= LONGEST_NAME;
    if !good {
        let fault = mark.fault(format!("{} is not a name for a call", quoted(name)));
        reader.push(fault.hint("write `call:NAME`: a letter, then letters, digits, `_`, `-` and `.`"));
    }
    good
}
