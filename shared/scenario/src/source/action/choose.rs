//! Reads `choose` and `parallel`: the actions that hold other actions.

use pagurus_domain::document::form::{Form, KeyRule, Keys, key, list, required};

use super::super::draft::{DraftAction, DraftBranch, Effect, Mark};
use super::super::http;
use super::super::reader::{ScenarioReader, Spot, quoted};
use super::{ACTION, actions_of};
use crate::value::Template;
use crate::{Action, HttpAction};

/// Most requests that one `parallel` makes at once.
const MOST_AT_ONCE: usize = 20;

const HINT: &str =
    "write it like `choose: [{when: \"params.amount > 100\", actions: […]}, {otherwise: […]}]`";

/// The keys of one branch of a `choose`.
pub(super) static BRANCH: Keys = Keys::with_rules(
    &[
        key("when", Form::Text, "The condition: an expression that is `true` or `false`."),
        key("actions", list(&Form::Named(&ACTION)), "What is done where the condition holds."),
        key("otherwise", list(&Form::Named(&ACTION)), "What is done where no condition held."),
    ],
    &[KeyRule::OneOf(&[&["when", "actions"], &["actions"], &["otherwise"]])],
);

/// The steps of a `parallel`.
pub(super) const PARALLEL: Form = Form::List { of: &Form::Fields(&STEP), least: 1, most: Some(MOST_AT_ONCE) };

static STEP: Keys = Keys::new(&[required(
    "http",
    Form::Narrowed { form: &http::HTTP, needs: &["name"], refuses: &["request"] },
    "One request, with a `name` and without a `request`.",
)]);

/// Reads a `choose` action.
pub(super) fn read_choose(reader: &mut ScenarioReader<'_>, mark: Mark, spot: &Spot<'_>) -> DraftAction {
    let nothing = |effect| DraftAction {
        mark: mark.clone(),
        action: None,
        effect,
        request: None,
        raises: Vec::new(),
        branches: Vec::new(),
        operation: None,
    };
    if spot.node.as_list().is_none_or(<[_]>::is_empty) {
        let fault = match spot.node.as_list() {
            Some(_) => spot.fault("`choose` has no branches"),
            None => spot.must_be("a list of branches"),
        };
        reader.push(fault.hint(HINT));
        return nothing(Effect { fails: Some("choose"), ..Effect::default() });
    }
    let mut branches: Vec<DraftBranch> = Vec::new();
    for item in spot.items() {
        if let Some(last) = branches.last()
            && last.when.is_none()
        {
            let fault = item.fault("this branch is never taken: the one before it has no condition");
            reader.push(fault.hint("move the branch without a condition to the end"));
        }
        branches.extend(branch(reader, &item));
    }
    if branches.first().is_some_and(|first| first.when.is_none()) {
        let fault = spot.fault("`choose` has nothing to choose: its first branch has no condition");
        reader.push(fault.hint("give it `when: CONDITION`, or write the actions without `choose`"));
    }
    let effect = effect(&branches);
    if branches.is_empty() {
        return nothing(effect);
    }
    DraftAction { mark, action: None, effect, request: None, raises: Vec::new(), branches, operation: None }
}

fn branch(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<DraftBranch> {
    let fields = reader.fields(spot, &BRANCH)?;
    let (list, when) = match (fields.get("when"), fields.get("actions"), fields.get("otherwise")) {
        (Some(when), Some(actions), None) => (actions, Some(condition(reader, when))),
        (None, Some(actions), None) | (None, None, Some(actions)) => (actions, None),
        _ => {
            let fault = spot.fault("a branch has `when` and `actions`, or `otherwise` alone");
            reader.push(fault.hint(HINT));
            return None;
        }
    };
    let actions = actions_of(reader, list);
    // A condition with faults of its own still stands for one.
    let when = when.map(|when| when.unwrap_or(Template::Constant(serde_json::Value::Null)));
    Some(DraftBranch { when, actions })
}

/// A condition: `${…}`, or the expression itself.
fn condition(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let text = match spot.node.as_bool() {
        Some(_) => {
            let fault = spot.fault("this condition is always the same");
            reader.push(fault.hint("write an expression, such as `params.amount > 100`"));
            return None;
        }
        None => reader.text(spot)?,
    };
    if text.contains("${") {
        return reader.text_template(spot);
    }
    match Template::compile_with(&format!("${{{text}}}"), reader.scripting, &reader.locals) {
        Ok(mut template) => {
            // The two characters in front of it are not in the file.
            template.place(&reader.places_of(spot, text).into(), 2);
            reader.note_template(spot, text, &template);
            Some(template)
        }
        Err(mut errors) => {
            // The two characters in front of the first line are not in the file.
            for error in errors.iter_mut().filter(|error| error.line == 1) {
                error.column = error.column.saturating_sub(2).max(1);
            }
            reader.code_faults(spot, text, errors);
            None
        }
    }
}

fn effect(branches: &[DraftBranch]) -> Effect {
    let actions = branches.iter().flat_map(|branch| &branch.actions);
    let mut effect = actions
        .fold(Effect { fails: Some("choose"), ..Effect::default() }, |all, action| all.or(action.effect));
    // What stands after it never runs only where every way through it ends the state.
    let ends = |branch: &DraftBranch| branch.actions.iter().find_map(|action| action.effect.ends);
    let complete = branches.last().is_some_and(|last| last.when.is_none());
    let all_end = complete && branches.iter().all(|branch| ends(branch).is_some());
    effect.ends = if all_end { branches.first().and_then(ends) } else { None };
    effect
}

/// Reads a `parallel` action.
pub(super) fn read_parallel(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> http::ActionParts {
    let effect = Effect { fails: Some("parallel"), ..Effect::default() };
    let count = spot.node.as_list().map_or(0, <[_]>::len);
    if count == 0 || count > MOST_AT_ONCE {
        let wanted = format!("a list of 1 to {MOST_AT_ONCE} `http` steps");
        let fault = match spot.node.as_list() {
            Some(_) => spot.fault(format!("`parallel` is {wanted}, not of {count}")),
            None => spot.must_be(&wanted),
        };
        reader.push(
            fault.hint("write it like `parallel: [{http: {name: a, url: …}}, {http: {name: b, url: …}}]`"),
        );
        return (None, effect, None);
    }
    let items: Vec<Spot<'_>> = spot.items().collect();
    let mut calls: Vec<HttpAction> = Vec::new();
    for item in &items {
        let Some(call) = step(reader, item) else {
            continue;
        };
        let twice = call.name.is_some() && calls.iter().any(|other| other.name == call.name);
        if twice {
            let name = quoted(call.name.as_deref().unwrap_or_default());
            let fault = item.fault(format!("two steps of this `parallel` have the name {name}"));
            reader.push(fault.hint("each answer is kept as `responses.NAME`: give each a name of its own"));
        }
        calls.push(call);
    }
    let action = (calls.len() == count).then_some(Action::Parallel(calls));
    (action, effect, None)
}

fn step(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<HttpAction> {
    let mut entries = spot.entries();
    let (first, second) = (entries.next(), entries.next());
    let Some((_, member)) = first.filter(|(_, member)| second.is_none() && member.label == "http") else {
        let fault = spot.fault("a step of `parallel` is one `http` request");
        reader.push(fault.hint("write it like `- http: {name: a, url: …}`"));
        return None;
    };
    let (call, _, request) = http::read_call(reader, &member);
    if let Some(request) = request {
        let fault = request.mark.fault("a step of `parallel` registers no request");
        reader.push(
            fault.hint("write asynchronous requests one after the other: they do not wait for each other"),
        );
        return None;
    }
    let call = call?;
    if call.name.is_none() {
        let fault = member.fault("a step of `parallel` needs a name");
        reader.push(fault.hint("add `name: NAME`; its answer is kept as `responses.NAME`"));
        return None;
    }
    Some(call)
}
