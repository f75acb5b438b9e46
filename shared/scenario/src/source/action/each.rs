//! Reads `each`: the same actions for each element of a list (SCN-17).

use std::sync::Arc;

use pagurus_domain::document::Value;
use pagurus_domain::document::form::{Form, KeyRule, Keys, key, required};

use super::super::draft::{DraftAction, Effect, Named};
use super::super::http::{self, ActionParts};
use super::super::layout::lay_out;
use super::super::reader::{Fields, ScenarioReader, Spot, quoted, with_nearest};
use super::super::template::without_marks;
use super::super::{actor, amqp};
use super::{is_word, read as read_action};
use crate::action::MOST_ACTIONS;
use crate::script::ROOTS;
use crate::value::{INDEX, Template};
use crate::{Action, EachAction};

/// The keys of an `each`.
#[rustfmt::skip]
pub(super) static KEYS: Keys = Keys::new(&[
    required("in", LIST, "The list: an expression, or the list itself."),
    key("as", Form::Matching(ELEMENT), "The name of the element in `actions` and `save`; default: `item`. `index` is its place, from 0."),
    key("atOnce", Form::Whole { least: 1, most: MOST_AT_ONCE as u64 }, "How many elements are at work at the same time, 1 to 20; default: 10."),
    required("actions", ACTIONS, "What is done for one element: `http` without `name` and `save`, `amqp`, `script`, `order`."),
    key("save", http::SAVE, "Variables, each set to a list: what the expression is for each element when its actions are over."),
    key("onError", Form::Word(&ON_ERROR), "`fail`: an element that fails ends the action. `collect`: its place in the lists has the failure."),
]);

/// A name that means nothing else.
const ELEMENT: &str = "^(?!(params|vars|response|responses|error|callbacks|order|config|now|request|event|index)$)[A-Za-z_][A-Za-z0-9_]{0,63}$";

const LIST: Form =
    Form::Either(&[Form::Matching(r"^\$\{"), Form::List { of: &Form::Anything, least: 0, most: None }]);
const ACTIONS: Form = Form::List { of: &Form::Fields(&ACTION), least: 1, most: Some(MOST_ACTIONS) };

/// The actions that may run for an element.
#[rustfmt::skip]
static ACTION: Keys = Keys::with_rules(
    &[
        key("http", Form::Narrowed { form: &http::HTTP, needs: &[], refuses: &["name", "save"] }, "Calls a system over HTTP."),
        key("amqp", Form::Fields(&amqp::KEYS), "Publishes a message."),
        key("script", Form::Text, "Code in the script language; it changes its own element."),
        key("order", Form::Fields(&actor::ORDER), "Starts a child order."),
    ],
    &[KeyRule::ExactlyOne],
);

/// Words for the fate of a failure.
const ON_ERROR: [&str; 2] = ["fail", "collect"];

/// Most elements at once: as many as a `parallel` has steps.
const MOST_AT_ONCE: i64 = 20;
/// Elements at once where the file does not say.
const USUAL_AT_ONCE: usize = 10;

/// Reads an `each` action.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let effect = Effect { fails: Some("each"), ..Effect::default() };
    let before = reader.fault_count();
    let Some(fields) = reader.fields(spot, &KEYS) else {
        return (None, effect, None);
    };
    let list = reader.required(spot, &fields, "in", "in: \"${params.items}\"").cloned();
    let list = list.and_then(|spot| self::list(reader, &spot));
    let name = name(reader, &fields);
    let at_once = fields.get("atOnce").map_or(Some(USUAL_AT_ONCE), |spot| at_once(reader, spot));
    let collects = fields.get("onError").and_then(|spot| on_error(reader, spot));
    let actions = reader.required(spot, &fields, "actions", "actions: [{http: {url: …}}]").cloned();
    reader.locals = vec![name.clone(), INDEX.to_owned()];
    let drafts = actions.map_or_else(Vec::new, |spot| self::actions(reader, &spot));
    let save = http::save(reader, &fields);
    reader.locals.clear();
    let request = only_request(reader, &drafts);
    let (Some(list), Some(at_once), true) = (list, at_once, reader.fault_count() == before) else {
        return (None, effect, request);
    };
    let action = EachAction {
        list,
        name: Arc::from(name),
        at_once,
        actions: lay_out(drafts),
        collects: collects.unwrap_or(false),
        save: without_marks(save),
    };
    (Some(Action::Each(Box::new(action))), effect, request)
}

fn list(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = reader.template(spot)?;
    let may_be_list = match &template {
        Template::Constant(value) => value.is_array(),
        Template::Expression(_) | Template::List(_) => true,
        Template::Text(_) | Template::Map(_) => false,
    };
    if !may_be_list {
        let fault = spot.fault("`in` can never be a list");
        reader.push(fault.hint("write an expression, `in: \"${params.items}\"`, or the list itself"));
    }
    may_be_list.then_some(template)
}

fn name(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) -> String {
    const USUAL: &str = "item";
    let Some(named) = http::name(reader, fields, "as", "an element") else {
        return USUAL.to_owned();
    };
    if ROOTS.contains(&named.name.as_str()) || named.name == INDEX {
        let fault = named.mark.fault(format!("{} means something else already", quoted(&named.name)));
        reader.push(fault.hint("give the element another name, such as `item`"));
        return USUAL.to_owned();
    }
    named.name
}

fn at_once(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<usize> {
    let count = spot.node.as_i64().filter(|count| (1..=MOST_AT_ONCE).contains(count));
    if count.is_none() {
        let fault = spot.fault(format!("`atOnce` must be a whole number from 1 to {MOST_AT_ONCE}"));
        reader.push(fault.hint("write how many elements are at work at the same time"));
    }
    count.and_then(|count| usize::try_from(count).ok())
}

/// True if failures are collected.
fn on_error(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<bool> {
    let word = reader.text(spot)?;
    if !ON_ERROR.contains(&word) {
        let fault = spot.fault(format!("{} does not say what happens on a failure", quoted(word)));
        reader.push(with_nearest(fault, word, ON_ERROR.into_iter()));
    }
    Some(word == "collect")
}

fn actions(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<DraftAction> {
    let items: Vec<Spot<'_>> = spot.items().collect();
    if !(1..=MOST_ACTIONS).contains(&items.len()) {
        let fault = match spot.node.as_list() {
            Some(_) => spot.fault(format!("an `each` has 1 to {MOST_ACTIONS} actions, not {}", items.len())),
            None => spot.must_be("a list of actions"),
        };
        reader.push(fault.hint("write what is done for one element, each action with `- ` in front"));
        return Vec::new();
    }
    items.iter().filter_map(|item| action(reader, item)).collect()
}

fn action(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<DraftAction> {
    let word = match &spot.node.value {
        Value::String(word) => Some(word.clone()),
        _ => spot.entries().next().map(|(_, member)| member.label),
    };
    if let Some(word) = word.filter(|word| is_word(word) && !ACTION.has(word)) {
        let fault = spot.fault(format!("{} has no place inside `each`", quoted(&word)));
        reader.push(fault.hint("there are: http, amqp, script, order"));
        return None;
    }
    let mut draft = read_action(reader, spot)?;
    check(reader, spot, &mut draft);
    Some(draft)
}

/// Refuses what an action may not do while others are at work beside it.
fn check(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, draft: &mut DraftAction) {
    let mark = &spot.mark;
    let raises = draft.effect.polls || !draft.raises.is_empty();
    match &mut draft.action {
        Some(Action::Http(http)) if http.name.is_some() || !http.save.is_empty() => {
            let fault = mark.fault("an answer inside `each` is kept for its element alone");
            reader.push(fault.hint("remove `name` and `save`; take what is needed by `save` of the `each`"));
        }
        Some(Action::Script(script)) if !script.names().sets.is_empty() => {
            let fault = mark.fault("a script inside `each` sets no variables");
            reader.push(fault.hint("change the element, and take what is needed by `save` of the `each`"));
        }
        Some(Action::Script(_)) if raises => {
            let fault = mark.fault("a script inside `each` does not move the order");
            reader.push(fault.hint("write a script behind the `each`, which looks at the results of all"));
        }
        Some(Action::Order(order)) => {
            if order.timeout.is_some() {
                let fault = mark.fault("an order inside `each` is awaited by a `wait` behind it");
                reader.push(fault.hint("move `timeout` to that `wait`"));
            }
            order.waits_here = false;
            if order.request.is_some()
                && let Some(noted) = reader.noted.as_mut()
            {
                noted.awaited_children.push(mark.clone());
            }
        }
        _ => {}
    }
}

/// The request of its elements.
fn only_request(reader: &mut ScenarioReader<'_>, drafts: &[DraftAction]) -> Option<Named> {
    let mut requests = drafts.iter().filter_map(|draft| draft.request.as_ref());
    let first = requests.next();
    if let Some(second) = requests.next() {
        let fault = second.mark.fault("an `each` registers one request for each element");
        reader.push(fault.hint("write another `each` for the second"));
    }
    first.cloned()
}
