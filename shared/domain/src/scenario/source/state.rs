//! Reads the states of a scenario.

use super::action;
use super::draft::{DraftState, DraftTransition, Mark, Named};
use super::reader::{Fields, Keys, Reader, Spot, quoted, with_nearest};
use crate::scenario::{Event, Outcome, StateKind};

const KEYS: Keys = Keys {
    known: &["kind", "entryPoint", "actions", "on", "outcome"],
    later: &["poll", "retryFailedOnly", "mask", "calls"],
};

/// The longest name of a state.
const LONGEST_NAME: usize = 64;

/// Reads all states.
pub(super) fn read_all(reader: &mut Reader<'_>, spot: &Spot<'_>) -> Vec<DraftState> {
    if spot.node.as_map().is_none_or(<[_]>::is_empty) {
        let fault = spot.must_be("a mapping of names to states");
        reader.push(fault.hint("write it like `states: {done: {kind: terminal}}`"));
        return Vec::new();
    }
    let states = spot.entries();
    states.map(|(mark, state)| read(reader, mark, &state)).collect()
}

fn read(reader: &mut Reader<'_>, mark: Mark, spot: &Spot<'_>) -> DraftState {
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
    state.outcome = outcome(reader, &fields);
    let actions = read_actions(reader, &fields, &mut state);
    let transitions = read_transitions(reader, &fields, &mut state);
    // A key that was not read may have been meant for `actions` or `on`.
    let keys = spot.node.as_map().unwrap_or_default();
    let all_known =
        keys.iter().all(|(key, value)| KEYS.known.contains(&key.name.as_str()) && !value.is_null());
    state.understood = actions && transitions && all_known;
    state
}

fn check_name(reader: &mut Reader<'_>, mark: &Mark, name: &str) {
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

fn kind(reader: &mut Reader<'_>, spot: &Spot<'_>) -> Option<StateKind> {
    let word = reader.text(spot)?;
    let kind = word.parse::<StateKind>().ok();
    if kind.is_none() {
        if word == "polling" {
            reader.later(&spot.mark, "kind: polling");
        } else {
            let fault = spot.fault(format!("there is no kind of state {}", quoted(word)));
            let known = StateKind::ALL.iter().map(|kind| kind.as_str());
            reader.push(with_nearest(fault, word, known));
        }
    }
    kind
}

fn outcome(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<(Outcome, Mark)> {
    let (mark, spot) = fields.entry("outcome")?;
    let word = reader.text(spot)?;
    let Ok(outcome) = word.parse() else {
        let fault = spot.fault(format!("there is no outcome {}", quoted(word)));
        let known = Outcome::ALL.iter().map(|outcome| outcome.as_str());
        reader.push(with_nearest(fault, word, known));
        return None;
    };
    Some((outcome, mark.clone()))
}

/// Whether all actions were understood.
fn read_actions(reader: &mut Reader<'_>, fields: &Fields<'_>, state: &mut DraftState) -> bool {
    let Some((mark, spot)) = fields.entry("actions") else {
        return true;
    };
    state.actions_mark = Some(mark.clone());
    if spot.node.as_list().is_none() {
        let fault = spot.must_be("a list of actions");
        reader.push(fault.hint("begin each action with `- `"));
        return false;
    }
    let mut understood = true;
    for item in spot.items() {
        match action::read(reader, &item) {
            Some(action) => state.actions.push(action),
            None => understood = false,
        }
    }
    understood
}

/// Whether all transitions were understood.
fn read_transitions(reader: &mut Reader<'_>, fields: &Fields<'_>, state: &mut DraftState) -> bool {
    let Some((mark, spot)) = fields.entry("on") else {
        return true;
    };
    state.on_mark = Some(mark.clone());
    if spot.node.as_map().is_none() {
        let fault = spot.must_be("a mapping of events to states");
        reader.push(fault.hint("write it like `on: {success: done}`"));
        return false;
    }
    let mut understood = true;
    for (mark, member) in spot.entries() {
        let event = event(reader, &mark, &member.label);
        understood &= event.is_some();
        match reader.reference(&member) {
            Some(to) => state.on.push(DraftTransition { event, mark, to }),
            None => understood = false,
        }
    }
    understood
}

fn event(reader: &mut Reader<'_>, mark: &Mark, word: &str) -> Option<Event> {
    let event = word.parse::<Event>().ok();
    if event.is_none() {
        if word == "poll" || word.starts_with("call:") {
            reader.later(mark, word);
        } else {
            let fault = mark.fault(format!("there is no event {}", quoted(word)));
            let known = Event::ALL.iter().map(|event| event.as_str());
            reader.push(with_nearest(fault, word, known));
        }
    }
    event
}
