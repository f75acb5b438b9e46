//! Reads an operation: a list of actions with savepoints becomes the workflow that it stands for
//! (SCN-10), so that one set of checks and one interpreter serve both kinds.
//!
//! Each savepoint begins a plain state of its name that is an entry point. A `wait` or a `sleep`
//! ends its state; what follows it goes on in a state that is an entry point as well, because a rest
//! that is over is not rested again.

use super::action;
use super::draft::{Draft, DraftAction, DraftPart, DraftState, DraftTransition, Mark, Named};
use super::reader::{ScenarioReader, Spot, quoted};
use super::state::settle_orders;
use crate::{Event, StateKind, TerminalOutcome};

/// The part before the first savepoint.
const FIRST: &str = "start";
/// The end of an operation whose actions all went through.
const DONE: &str = "done";
/// The end of an operation of which an action failed.
const FAILED: &str = "failed";

/// The longest name of a savepoint.
const LONGEST_NAME: usize = 48;

/// Actions that run in one go, between savepoints and rests.
struct OperationPart {
    name: String,
    mark: Mark,
    is_savepoint: bool,
    actions: Vec<DraftAction>,
    /// True if everything in it was understood.
    understood: bool,
}

impl OperationPart {
    fn new(name: String, mark: Mark, is_savepoint: bool) -> Self {
        Self { name, mark, is_savepoint, actions: Vec::new(), understood: true }
    }

    /// The event by which its last action suspends the order.
    fn rest(&self) -> Option<Event> {
        self.actions.last().and_then(|last| last.effect.ends)
    }
}

/// Reads the list under `actions`.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Draft {
    let parts = parts(reader, spot);
    draft(parts, spot.mark.clone())
}

/// Reads the list under `actions` for a scenario that runs the operation among its own actions.
pub(super) fn read_parts(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<DraftPart> {
    let parts = parts(reader, spot).into_iter().map(|mut part| {
        settle_orders(&mut part.actions);
        DraftPart { savepoint: part.is_savepoint.then_some(part.name), actions: part.actions }
    });
    parts.collect()
}

fn parts(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<OperationPart> {
    let mark = spot.mark.clone();
    let mut parts = vec![OperationPart::new(FIRST.into(), mark, true)];
    match spot.node.as_list() {
        None => {
            let fault = spot.must_be("a list of actions");
            reader.push(fault.hint("start each action with `- `"));
        }
        Some([]) => {
            let fault = spot.fault("an operation without actions does nothing");
            reader.push(fault.hint("write what it does, each action with `- ` in front"));
        }
        Some(_) => {}
    }
    let items: Vec<Spot<'_>> = spot.items().collect();
    for (index, item) in items.iter().enumerate() {
        if let Some(name) = savepoint(item) {
            begin_at_savepoint(reader, &name, index == 0, &mut parts);
            continue;
        }
        let number = parts.len();
        // There is always a part: the list begins with one.
        let Some(part) = parts.last_mut() else { continue };
        match action::read(reader, item) {
            Some(draft) => {
                part.understood &= check_nested(reader, &draft);
                let rests = draft.effect.ends.is_some();
                part.actions.push(draft);
                if rests && index + 1 < items.len() {
                    let base = part.name.split('.').next().unwrap_or(FIRST);
                    let next = OperationPart::new(format!("{base}.{number}"), item.mark.clone(), false);
                    parts.push(next);
                }
            }
            None => part.understood = false,
        }
    }
    // A savepoint right after a rest leaves an empty part between the two.
    parts.retain(|part| part.is_savepoint || !part.actions.is_empty() || !part.understood);
    parts
}

fn savepoint<'a>(item: &Spot<'a>) -> Option<Spot<'a>> {
    let mut entries = item.entries();
    let (_, member) = entries.next()?;
    (member.label == "savepoint").then_some(member)
}

fn begin_at_savepoint(
    reader: &mut ScenarioReader<'_>,
    spot: &Spot<'_>,
    first: bool,
    parts: &mut Vec<OperationPart>,
) {
    let Some(name) = reader.text(spot) else { return };
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && name.len() <= LONGEST_NAME;
    if !good {
        let fault = spot.fault(format!("{} is not a name for a savepoint", quoted(name)));
        reader.push(fault.hint("write a letter, then letters, digits, `_` and `-`, 48 characters at most"));
        return;
    }
    if [FIRST, DONE, FAILED].contains(&name) {
        let fault = spot.fault(format!("{} is a step of every operation", quoted(name)));
        reader.push(fault.hint("give the savepoint a name of its own"));
        return;
    }
    if parts.iter().any(|part| part.name == name) {
        let fault = spot.fault(format!("the savepoint {} is given twice", quoted(name)));
        reader.push(fault.hint("give each a name of its own"));
        return;
    }
    let next = OperationPart::new(name.to_owned(), spot.mark.clone(), true);
    if first {
        parts.clear();
    }
    parts.push(next);
}

/// True if there is no rest and no event inside a branch: a rest would leave the actions after it in a state of
/// their own, and an event would lead nowhere.
fn check_nested(reader: &mut ScenarioReader<'_>, draft: &DraftAction) -> bool {
    let mut good = true;
    for event in &draft.raises {
        let fault = event.mark.fault("an operation cannot raise events");
        reader.push(fault.hint("write a workflow, whose states lead them somewhere"));
        good = false;
    }
    for action in draft.branches.iter().flat_map(|branch| &branch.actions) {
        if action.branches.is_empty() && action.effect.ends.is_some() {
            let fault =
                action.mark.fault("an operation may suspend between its actions, not inside a `choose`");
            reader.push(fault.hint("move it after the `choose`, or write a workflow"));
            good = false;
        }
        good &= check_nested(reader, action);
    }
    good
}

fn draft(parts: Vec<OperationPart>, mark: Mark) -> Draft {
    let mut states = Vec::new();
    let mut can_fail = false;
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    let first = names.first().map(|name| Named { name: name.clone(), mark: mark.clone() });
    for (index, mut part) in parts.into_iter().enumerate() {
        settle_orders(&mut part.actions);
        let next = names.get(index + 1).map_or(DONE, String::as_str).to_owned();
        let rest = part.rest();
        let fails = part.actions.iter().any(|action| action.effect.fails.is_some());
        let succeeds = rest.is_none() || part.actions.iter().any(|action| action.effect.succeeds);
        can_fail |= fails || rest == Some(Event::Wait);
        let mut state = state(&part.name, &part.mark, StateKind::Plain);
        state.entry_point = Some(part.mark.clone());
        if fails {
            state.on.push(transition(Event::Fail, FAILED, &part.mark));
        }
        if succeeds {
            state.on.push(transition(Event::Success, &next, &part.mark));
        }
        state.understood = part.understood;
        let resting = rest.map(|event| {
            let name = format!("{}.{event}", part.name);
            state.on.push(transition(event, &name, &part.mark));
            resting(event, &name, &next, &part.mark)
        });
        state.actions = part.actions;
        states.push(state);
        states.extend(resting);
    }
    states.push(state(DONE, &mark, StateKind::Terminal));
    if can_fail {
        let mut failed = state(FAILED, &mark, StateKind::Terminal);
        failed.outcome = Some((TerminalOutcome::Fail, mark.clone()));
        states.push(failed);
    }
    let targets = Some(vec![Named { name: DONE.into(), mark: mark.clone() }]);
    Draft { initial: first, targets, states, states_mark: mark, calls: Vec::new() }
}

fn resting(event: Event, name: &str, next: &str, mark: &Mark) -> DraftState {
    if event == Event::Sleep {
        let mut rest = state(name, mark, StateKind::Sleeping);
        rest.on.push(transition(Event::Timeout, next, mark));
        return rest;
    }
    let mut rest = state(name, mark, StateKind::Waiting);
    rest.on.push(transition(Event::Callback, next, mark));
    rest.on.push(transition(Event::Timeout, FAILED, mark));
    rest
}

fn state(name: &str, mark: &Mark, kind: StateKind) -> DraftState {
    DraftState {
        name: Named { name: name.to_owned(), mark: mark.clone() },
        kind: Some(kind),
        entry_point: None,
        actions_mark: None,
        actions: Vec::new(),
        on_mark: (kind != StateKind::Terminal).then(|| mark.clone()),
        on: Vec::new(),
        outcome: None,
        poll: None,
        poll_mark: None,
        retry_failed_only: None,
        understood: true,
    }
}

fn transition(event: Event, to: &str, mark: &Mark) -> DraftTransition {
    let to = Named { name: to.to_owned(), mark: mark.clone() };
    DraftTransition { event: Some(event), name: None, mark: mark.clone(), to }
}
