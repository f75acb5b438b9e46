//! Reads a scenario from YAML or JSON: the tree of the file becomes the model, or all of its
//! faults are reported at once, each with line, column, what is wrong and what to write.
//!
//! Reading and checking are pure and bounded: whatever the text, they never fetch, never run any
//! of its code, and never take longer than its size allows.

mod action;
mod actor;
mod amqp;
mod around;
mod calls;
mod check;
pub(super) mod draft;
mod errors;
mod explain;
mod http;
mod inlining;
mod keys;
mod lapse;
mod layout;
mod noted;
mod operation;
mod params;
mod place;
pub(super) mod reader;
mod script_words;
mod search;
mod sequential;
pub(super) mod state;
mod template;
mod uses;
mod warnings;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use pagurus_domain::attributes::SearchAttribute;
use pagurus_domain::document::{self, DocumentNode, Fault, Position};
use pagurus_domain::retry::ErrorPolicy;

use super::script::Scripting;
use super::sequential::QueueTemplate;
use super::{
    Action, Bounds, CallHandler, Event, Library, Mask, Scenario, ScenarioKind, State, StateId, StateKind,
    TerminalOutcome, Timeouts,
};
use around::Inlining;
use draft::{Draft, Named};
pub use explain::{explain_faults, explain_warnings};
pub use keys::editor_schema;
use keys::{OPERATION, TIMEOUTS, WORKFLOW};
use layout::lay_out;
use noted::Noted;
use reader::{Fields, LONGEST_DURATION, ScenarioReader, Spot, quoted, with_nearest};
pub use uses::{operations_of, operations_run_by};

/// The longest name of a scenario.
const LONGEST_NAME: usize = 64;

/// The longest key anywhere in a file. Faults repeat the keys that lead to their place.
const LONGEST_KEY: usize = 256;

/// Reads and checks one scenario that runs no operations.
///
/// # Errors
/// All faults of the text, in its order: what cannot be read, and what breaks a rule (SCN-1).
pub fn read(text: &str, scripting: &Scripting, bounds: &Bounds) -> Result<Scenario, Vec<Fault>> {
    let reader = ScenarioReader::new(text, scripting, Inlining::of(None, bounds));
    read_by(reader, text, bounds).map(|reading| reading.scenario)
}

/// Reads and checks one scenario, with the operations that it runs (SCN-19).
///
/// # Errors
/// The same as those of [`read`], and what is wrong with the operations.
pub fn read_with(
    text: &str,
    library: &Library,
    scripting: &Scripting,
    bounds: &Bounds,
) -> Result<Scenario, Vec<Fault>> {
    let reader = ScenarioReader::new(text, scripting, Inlining::of(Some(library), bounds));
    read_by(reader, text, bounds).map(|reading| reading.scenario)
}

/// A sound scenario with what is noted for its author while it is read.
#[derive(Debug)]
pub struct Reading {
    /// The scenario.
    pub scenario: Scenario,
    /// Sentences that it says and hardly means, in the order of the file.
    pub warnings: Vec<Fault>,
    /// The constants `config.NAME` that it takes from the deployment, each with its first place.
    pub constants: BTreeMap<String, Position>,
}

impl Reading {
    /// The scenarios that its child orders run, where these are named outright.
    #[must_use]
    pub fn children(&self) -> BTreeSet<&str> {
        let actions =
            self.scenario.states.iter().flat_map(|state| &state.actions).flat_map(Action::with_inner);
        let fields = actions.filter_map(|action| match action {
            Action::Order(order) => order.fields.iter().find(|(name, _)| name == "scenario"),
            _ => None,
        });
        fields.filter_map(|(_, name)| name.constant_text()).collect()
    }
}

/// Reads and checks one scenario, and finds what it says and hardly means. Warnings are for the author of a scenario:
/// stored ones are read without.
///
/// # Errors
/// The same as those of [`read_with`].
pub fn read_with_warnings(
    text: &str,
    library: &Library,
    scripting: &Scripting,
    bounds: &Bounds,
) -> Result<Reading, Vec<Fault>> {
    let mut reader = ScenarioReader::new(text, scripting, Inlining::of(Some(library), bounds));
    reader.noted = Some(Noted::default());
    read_by(reader, text, bounds)
}

fn read_by(mut reader: ScenarioReader<'_>, text: &str, bounds: &Bounds) -> Result<Reading, Vec<Fault>> {
    let tree = document::parse(text, &document::DocumentLimits::default())?;
    if let Some(fault) = long_key(&tree) {
        return Err(vec![fault]);
    }
    let root = Spot::root(&tree);
    let kind = kind(&mut reader, &tree);
    params::check_numbers(&mut reader, &root, false);
    let keys = match kind {
        ScenarioKind::Workflow => &WORKFLOW,
        ScenarioKind::Operation => &OPERATION,
    };
    let Some(fields) = reader.fields(&root, keys) else {
        return Err(reader.into_faults());
    };
    let mut head = head(&mut reader, &root, &fields, kind);
    reader.inlining.begin(&head.name);
    let mut draft = match kind {
        ScenarioKind::Workflow => draft(&mut reader, &root, &fields),
        ScenarioKind::Operation => {
            let actions = reader.required(&root, &fields, "actions", "actions: [{http: {url: …}}]").cloned();
            // What is missing has been reported; nothing is drafted from it.
            let Some(actions) = actions else { return Err(reader.into_faults()) };
            operation::read(&mut reader, &actions)
        }
    };
    if let Some(spot) = fields.get("calls") {
        draft.calls = calls::read_calls(&mut reader, spot);
    }
    check::check(&draft, bounds, &mut |fault| reader.push(fault));
    if reader.fault_count() > 0 {
        return Err(reader.into_faults());
    }
    // What an operation hides of bodies stays hidden; the parameters of the order are none of its.
    head.mask.join_bodies(&reader.inlining.mask);
    let noted = reader.noted.unwrap_or_default();
    let constants = noted.constants();
    let scenario = scenario(head, draft, bounds);
    let warnings = noted.into_warnings(&scenario);
    Ok(Reading { scenario, warnings, constants })
}

/// Keys that do not concern the states.
struct Head {
    name: String,
    kind: ScenarioKind,
    description: String,
    params: Option<params::Params>,
    retention: Option<Duration>,
    timeouts: Timeouts,
    mask: Mask,
    search: Vec<SearchAttribute>,
    queue: Option<QueueTemplate>,
    errors: ErrorPolicy,
}

fn head(reader: &mut ScenarioReader<'_>, root: &Spot<'_>, fields: &Fields<'_>, kind: ScenarioKind) -> Head {
    let name =
        reader.required(root, fields, "scenario", "scenario: NAME").and_then(|spot| name(reader, spot));
    let description = fields.get("description");
    let description = description.and_then(|spot| reader.text(spot));
    let params = fields.get("params");
    let params = params.and_then(|spot| params::read(reader, spot));
    let retention = fields.get("retention");
    let retention = retention.and_then(|spot| reader.duration(spot, LONGEST_DURATION));
    let timeouts = fields.get("timeouts");
    let timeouts = timeouts.and_then(|spot| self::timeouts(reader, spot));
    let mask = fields.get("mask");
    let mask = mask.map(|spot| calls::read_mask(reader, spot)).unwrap_or_default();
    let search = fields.get("search");
    let search = search.map(|spot| search::read(reader, spot, &mask));
    let queue = fields.get("sequential");
    let queue = queue.and_then(|spot| sequential::read(reader, spot, &mask));
    let errors = fields.get("errors");
    let errors = errors.map(|spot| errors::read(reader, spot, name.as_deref().unwrap_or_default()));
    Head {
        name: name.unwrap_or_default(),
        kind,
        mask,
        search: search.unwrap_or_default(),
        queue,
        errors: errors.unwrap_or_default(),
        description: description.unwrap_or_default().to_owned(),
        params,
        retention,
        timeouts: timeouts.unwrap_or_default(),
    }
}

fn name(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<String> {
    let name = reader.text(spot)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
        let fault = spot.fault(format!("{} is not a name for a scenario", quoted(name)));
        reader.push(fault.hint("write 1 to 64 letters, digits, `.`, `_` and `-`"));
        return None;
    }
    Some(name.to_owned())
}

/// Reads the kind, before everything else: it says which keys there are.
fn kind(reader: &mut ScenarioReader<'_>, tree: &DocumentNode) -> ScenarioKind {
    let Some((_, kind)) = tree.entry("kind") else {
        return ScenarioKind::Workflow;
    };
    // A key without a value is noted with the other keys.
    if kind.is_null() {
        return ScenarioKind::Workflow;
    }
    let word = kind.as_str();
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| {
        let shown = word.map_or_else(|| kind.kind().to_owned(), quoted);
        let fault = Fault::new(kind, "/kind", format!("there is no kind of scenario {shown}"));
        let known = ScenarioKind::ALL.iter().map(|kind| kind.as_str());
        reader.push(with_nearest(fault, word.unwrap_or_default(), known));
        // Actions in the place of states mean an operation.
        if tree.entry("actions").is_some() { ScenarioKind::Operation } else { ScenarioKind::Workflow }
    })
}

fn timeouts(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Timeouts> {
    let fields = reader.fields(spot, &TIMEOUTS)?;
    let mut read = |key| {
        let spot = fields.get(key)?;
        reader.duration(spot, LONGEST_DURATION)
    };
    Some(Timeouts { process: read("process"), idle: read("idle"), work: read("work") })
}

fn draft(reader: &mut ScenarioReader<'_>, root: &Spot<'_>, fields: &Fields<'_>) -> Draft {
    let states = reader.required(root, fields, "states", "states: {done: {kind: terminal}}");
    let states_mark = states.map_or(&root.mark, |spot| &spot.mark).clone();
    let states = states.map_or_else(Vec::new, |spot| state::read_all(reader, spot));
    let initial = reader
        .required(root, fields, "initialState", "initialState: NAME")
        .and_then(|spot| reader.reference(spot));
    let targets = fields.get("targetStates");
    let targets = targets.and_then(|spot| target_states(reader, spot));
    Draft { initial, targets, states, states_mark, calls: Vec::new() }
}

fn target_states(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Vec<Named>> {
    if spot.node.as_list().is_none_or(<[_]>::is_empty) {
        let fault = spot.fault("`targetStates` must be a list of names");
        reader.push(fault.hint("write it like `[done]`, or remove the key"));
        return None;
    }
    let names: Vec<Spot<'_>> = spot.items().collect();
    let named = names.iter().filter_map(|name| reader.reference(name));
    Some(named.collect())
}

/// The first key that is longer than any that this language has or needs.
fn long_key(node: &DocumentNode) -> Option<Fault> {
    let items = node.as_list().unwrap_or_default();
    let entries = node.as_map().unwrap_or_default();
    let here = entries.iter().find(|(key, _)| key.name.len() > LONGEST_KEY);
    if let Some((key, _)) = here {
        let message = format!("a key is longer than {LONGEST_KEY} bytes");
        let fault = Fault::placed(Some(key.at), "", message);
        return Some(fault.hint("shorten it; a line may have lost its indentation"));
    }
    let inside = items.iter().chain(entries.iter().map(|(_, value)| value));
    inside.into_iter().find_map(long_key)
}

/// The model. Only called for a draft without faults, so that every name resolves.
fn scenario(head: Head, draft: Draft, bounds: &Bounds) -> Scenario {
    let names = draft.states.iter().enumerate();
    let index: HashMap<String, StateId> =
        names.map(|(at, state)| (state.name.name.clone(), StateId(at))).collect();
    let find = |named: &Named| index.get(&named.name).copied();
    let targets = match &draft.targets {
        Some(named) => named.iter().filter_map(find).collect(),
        None => targets_by_default(&draft, bounds),
    };
    let initial = draft.initial.as_ref().and_then(find);
    let calls = draft.calls.into_iter().map(|call| CallHandler {
        name: call.name.name,
        actions: lay_out(call.actions),
        answer: call.answer,
    });
    let states = draft.states.into_iter().map(|state| {
        let (mut on, mut named, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for transition in &state.on {
            match (transition.event, &transition.name, find(&transition.to)) {
                (Some(Event::Named), Some(name), Some(to)) => named.push((name.clone(), to)),
                (_, Some(call), Some(to)) => calls.push((call.clone(), to)),
                (Some(event), None, Some(to)) => on.push((event, to)),
                _ => {}
            }
        }
        State {
            name: state.name.name,
            kind: state.kind.unwrap_or(StateKind::Plain),
            entry_point: state.entry_point.is_some(),
            actions: lay_out(state.actions),
            on,
            named,
            calls,
            poll: state.poll,
            retry_failed_only: state.retry_failed_only.is_some(),
            outcome: state.outcome.map_or(TerminalOutcome::Success, |(outcome, _)| outcome),
        }
    });
    let (params_schema, params_validator, params_expansion) = match head.params {
        Some(params) => (Some(params.schema), Some(params.validator), params.expansion),
        None => (None, None, None),
    };
    Scenario {
        name: head.name,
        file: None,
        kind: head.kind,
        description: head.description,
        params_schema,
        params_validator,
        params_expansion,
        initial: initial.unwrap_or(StateId(0)),
        states: states.collect(),
        targets,
        retention: head.retention,
        timeouts: head.timeouts,
        calls: calls.collect(),
        mask: head.mask,
        search: head.search,
        queue: head.queue,
        errors: head.errors,
    }
}

fn targets_by_default(draft: &Draft, bounds: &Bounds) -> BTreeSet<StateId> {
    let is_target = |name: &str| {
        let name = name.to_lowercase();
        let mut steps = bounds.target_steps.iter();
        steps.any(|step| step.to_lowercase() == name)
    };
    let states = draft.states.iter().enumerate();
    let targets =
        states.filter(|(_, state)| state.kind == Some(StateKind::Terminal) && is_target(&state.name.name));
    targets.map(|(at, _)| StateId(at)).collect()
}

#[cfg(test)]
pub(super) mod tests;
