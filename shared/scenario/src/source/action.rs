//! Reads the actions of a state, and tells what each can do to its state. Those that hold other actions are read below.

mod choose;
mod each;
mod run;

use pagurus_domain::document::Value;
use pagurus_domain::document::form::{Form, KeyRule, Keys, NamedForm, filled_list, key};

use super::draft::{DraftAction, Effect, Mark, Named};
use super::http::ActionParts;
use super::lapse::duration_template;
use super::reader::{Fields, LONGEST_DURATION, ScenarioReader, Spot, quoted, with_nearest};
use super::script_words::calls;
use super::template::is_constant;
use super::{actor, amqp, http};
use crate::script::EventCall;
use crate::value::Template;
use crate::{Action, Event, Lapse, SleepUntil};

/// The longest name of an event that a script raises.
const LONGEST_EVENT: usize = 64;

/// Form of an action.
pub(super) static ACTION: NamedForm = NamedForm {
    name: "action",
    form: Form::Either(&[Form::Word(&["wait", "release"]), Form::Fields(&WORDS)]),
};

/// The words of the actions.
#[rustfmt::skip]
static WORDS: Keys = Keys::with_rules(
    &[
        key("http", Form::Named(&http::HTTP), "Calls a system over HTTP."),
        key("amqp", Form::Fields(&amqp::KEYS), "Publishes a message."),
        key("script", Form::Text, "Code in the script language."),
        key("wait", Form::Either(&[Form::Fields(&WAIT), Form::Bare]), "Waits until all requests are answered; leads to a waiting state."),
        key("sleep", Form::Fields(&SLEEP), "Sleeps until a time; leads to a sleeping state."),
        key("actor", Form::Fields(&actor::ACTOR), "Hands a task to an external program, and waits for its decision."),
        key("order", Form::Fields(&actor::ORDER), "Starts a child order, and optionally waits for its end."),
        key("choose", filled_list(&Form::Fields(&choose::BRANCH)), "Runs the actions of the first branch whose condition holds."),
        key("parallel", choose::PARALLEL, "Makes 1 to 20 HTTP requests at once."),
        key("each", Form::Fields(&each::KEYS), "Runs the same actions for every element of a list."),
        key("do", Form::Fields(&run::KEYS), "Runs an operation here, with names of its own."),
        key("log", Form::AsWritten, "Writes a line to the log of the order."),
        key("release", Form::Bare, "Releases the queue of a sequential order before its end."),
    ],
    &[KeyRule::ExactlyOne],
);

#[rustfmt::skip]
static WAIT: Keys = Keys::new(&[key("timeout", Form::Lapse, "How long; default: as long as the order may wait.")]);

#[rustfmt::skip]
static SLEEP: Keys = Keys::with_rules(
    &[
        key("for", Form::Lapse, "How long."),
        key("until", Form::Matching(r"\$\{|^\d{4}-\d\d-\d\dT\d\d:\d\d.*([Zz]|[+-]\d\d:?\d\d)"), "The time of the end: `2030-12-31T08:00:00+03:00`."),
    ],
    &[KeyRule::OneOf(&[&["for"], &["until"]])],
);

/// True if an action has this word.
pub(super) fn is_word(word: &str) -> bool {
    WORDS.has(word) || word == "savepoint"
}

/// Reads one action; `None` if its word is unknown, and so what it would do.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<DraftAction> {
    match &spot.node.value {
        Value::String(word) => {
            reader.note_action(spot, word);
            bare(reader, spot, word).map(|read| draft(spot, read))
        }
        Value::Map(_) => with_keys(reader, spot),
        _ => {
            let fault = spot.fault(format!("an action is not {}", spot.node.kind()));
            reader.push(fault.hint("write it like `http: {url: …}`"));
            None
        }
    }
}

/// A list of actions.
pub(super) fn actions_of(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<DraftAction> {
    if spot.node.as_list().is_none() {
        let fault = spot.must_be("a list of actions");
        reader.push(fault.hint("start each action with `- `"));
        return Vec::new();
    }
    let items: Vec<Spot<'_>> = spot.items().collect();
    items.iter().filter_map(|item| read(reader, item)).collect()
}

fn draft(spot: &Spot<'_>, (action, effect, request): ActionParts) -> DraftAction {
    DraftAction {
        mark: spot.mark.clone(),
        action,
        effect,
        request,
        raises: Vec::new(),
        branches: Vec::new(),
        operation: None,
    }
}

/// An action without any settings: `- wait`, `- release`.
fn bare(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, word: &str) -> Option<ActionParts> {
    match word {
        "wait" => Some(ending(Event::Wait, Some(Action::Wait { timeout: None }))),
        "release" => Some((Some(Action::Release), Effect::default(), None)),
        "savepoint" => {
            misplaced_savepoint(reader, &spot.mark);
            None
        }
        word if WORDS.has(word) => {
            let fault = spot.fault(format!("the action `{word}` does not say what to do"));
            reader.push(fault.hint(format!("write it like `{}`", example(word))));
            None
        }
        word => {
            let fault = spot.fault(format!("there is no action {}", quoted(word)));
            reader.push(with_nearest(fault, word, WORDS.names()));
            None
        }
    }
}

fn misplaced_savepoint(reader: &mut ScenarioReader<'_>, mark: &Mark) {
    let fault = mark.fault("a savepoint may stand only between the actions of an operation");
    reader.push(fault.hint("in a workflow, start a state of its own with `entryPoint: true`"));
}

fn with_keys(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<DraftAction> {
    let mut entries = spot.entries();
    let Some((mark, member)) = entries.next() else {
        let fault = spot.fault("the action is empty");
        reader.push(with_nearest(fault, "", WORDS.names()));
        return None;
    };
    if let Some((second, other)) = entries.next() {
        let (word, key) = (quoted(&member.label), quoted(&other.label));
        let fault = second.fault(format!("{key} stands beside {word}"));
        reader.push(if WORDS.has(&other.label) {
            fault.hint("start the next action with `- `")
        } else {
            fault.hint(format!("indent it further if it belongs to {word}"))
        });
    }
    let word = member.label.as_str();
    if !matches!(word, "wait" | "release") && WORDS.has(word) && member.node.is_null() {
        let fault = mark.fault(format!("the action `{word}` does not say what to do"));
        reader.push(fault.hint(format!("write it like `{}`", example(word))));
        return None;
    }
    reader.note_action(spot, word);
    let read = match word {
        "choose" => return Some(choose::read_choose(reader, spot.mark.clone(), &member)),
        "script" => {
            let (read, raises) = script(reader, &member);
            return Some(DraftAction { raises, ..draft(spot, read) });
        }
        "do" => return Some(run::read(reader, spot.mark.clone(), &member)),
        "parallel" => choose::read_parallel(reader, &member),
        "each" => each::read(reader, &member),
        "actor" => actor::read_actor(reader, &member),
        "order" => actor::read_order(reader, &member),
        "http" => http::read(reader, &member),
        "amqp" => amqp::read(reader, &member),
        "wait" => wait(reader, &member),
        "sleep" => sleep(reader, &member),
        "log" => log(reader, &member),
        "release" => release(reader, &member),
        "savepoint" => {
            misplaced_savepoint(reader, &mark);
            return None;
        }
        word => {
            let fault = mark.fault(format!("there is no action {}", quoted(word)));
            reader.push(with_nearest(fault, word, WORDS.names()));
            return None;
        }
    };
    Some(draft(spot, read))
}

fn example(word: &str) -> &'static str {
    match word {
        "http" => "http: {url: \"${config.NAME}/path\"}",
        "amqp" => "amqp: {exchange: NAME, key: ROUTING_KEY}",
        "script" => "script: vars.a = 1;",
        "sleep" => "sleep: {for: 1d}",
        "actor" => "actor: {name: scoring, body: \"${params}\"}",
        "order" => "order: {scenario: NAME, params: {}, wait: true}",
        "choose" => "choose: [{when: \"params.amount > 100\", actions: []}]",
        "parallel" => "parallel: [{http: {name: a, url: \"${config.NAME}/path\"}}]",
        "each" => "each: {in: \"${params.items}\", actions: [{http: {url: \"${config.NAME}/${item}\"}}]}",
        "do" => "do: {operation: NAME, params: {}, save: {id: \"${result.id}\"}}",
        _ => "log: \"a text\"",
    }
}

fn ending(event: Event, action: Option<Action>) -> ActionParts {
    let effect = Effect {
        ends: Some(event),
        waits: event == Event::Wait,
        sleeps: event == Event::Sleep,
        ..Effect::default()
    };
    (action, effect, None)
}

/// A script, with the events that it raises by names of their own.
fn script(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> (ActionParts, Vec<Named>) {
    let mut effect = Effect { fails: Some("script"), ..Effect::default() };
    let mut raises = Vec::new();
    let Some(code) = reader.text(spot) else {
        return ((None, effect, None), raises);
    };
    effect.succeeds = calls(code, "success");
    effect.polls = calls(code, "poll");
    let action = match reader.scripting.compile_script_with(code, &reader.locals) {
        Ok(script) => {
            if reader.noted.is_some() {
                reader.note_names(spot, code, script.names());
            }
            raises = raised(reader, spot, code, &script.event_calls());
            Some(Action::Script(script.placed(reader.places_of(spot, code))))
        }
        Err(errors) => {
            reader.code_faults(spot, code, errors);
            None
        }
    };
    ((action, effect, None), raises)
}

/// The events that a script raises, each with the place where it does.
fn raised(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, code: &str, calls: &[EventCall]) -> Vec<Named> {
    let mut raises = Vec::new();
    for EventCall { name, line, column } in calls {
        let mark = Mark { at: reader.place(spot, code, *line, *column), pointer: spot.mark.pointer.clone() };
        match name {
            Some(name) if is_event_name(reader, &mark, name) => {
                raises.push(Named { name: name.clone(), mark });
            }
            Some(_) => {}
            None => {
                let fault = mark.fault("the name of the event is known only at run time");
                reader
                    .push(fault.hint("write the name as a text, `event(\"NAME\")`; `if` or `switch` choose"));
            }
        }
    }
    raises
}

/// True if a script may give this name to an event of its own.
fn is_event_name(reader: &mut ScenarioReader<'_>, mark: &Mark, name: &str) -> bool {
    if let Ok(event) = name.parse::<Event>() {
        let fault = mark.fault(format!("{} is an event of the engine", quoted(name)));
        reader.push(match event {
            Event::Success | Event::Fail | Event::Poll => fault.hint(format!("write `{event}()`")),
            _ => fault.hint("give the event another name"),
        });
        return false;
    }
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && name.len() <= LONGEST_EVENT;
    if !good {
        let fault = mark.fault(format!("{} is not a name for an event", quoted(name)));
        reader.push(
            fault.hint("write a letter, then letters, digits, `_`, `-` and `.`, 64 characters at most"),
        );
    }
    good
}

fn wait(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    if spot.node.is_null() {
        return ending(Event::Wait, Some(Action::Wait { timeout: None }));
    }
    let before = reader.fault_count();
    let fields = reader.fields(spot, &WAIT);
    let timeout = fields.as_ref().and_then(|fields| fields.get("timeout"));
    let timeout = timeout.and_then(|spot| reader.lapse(spot, LONGEST_DURATION));
    let is_computed = matches!(timeout, Some(Lapse::Computed(_)));
    let action = (reader.fault_count() == before).then_some(Action::Wait { timeout });
    let (action, mut effect, request) = ending(Event::Wait, action);
    effect.fails = is_computed.then_some("wait");
    (action, effect, request)
}

fn sleep(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    const HINT: &str = "write `{for: 1d}` or `{until: \"2030-12-31T08:00:00+03:00\"}`";
    let Some(fields) = reader.fields(spot, &SLEEP) else {
        return ending(Event::Sleep, None);
    };
    let until = match (fields.get("for"), fields.entry("until")) {
        (Some(length), None) => length_of_sleep(reader, length).map(SleepUntil::For),
        (None, Some((_, time))) => end_of_sleep(reader, time).map(SleepUntil::Until),
        (Some(_), Some((second, _))) => {
            let fault = second.fault("`for` and `until` exclude each other");
            reader.push(fault.hint("keep one of them"));
            None
        }
        (None, None) => {
            // A key that is unknown or without a value has its own fault.
            if spot.node.as_map().is_some_and(<[_]>::is_empty) {
                let fault = spot.fault("`sleep` does not say how long");
                reader.push(fault.hint(HINT));
            }
            None
        }
    };
    let constant = match &until {
        Some(SleepUntil::For(template) | SleepUntil::Until(template)) => is_constant(template),
        None => !holds_expression(&fields),
    };
    let (action, mut effect, request) = ending(Event::Sleep, until.map(Action::Sleep));
    effect.fails = (!constant).then_some("sleep");
    (action, effect, request)
}

fn holds_expression(fields: &Fields<'_>) -> bool {
    let spots = ["for", "until"].into_iter().filter_map(|key| fields.get(key));
    spots.filter_map(|spot| spot.node.as_str()).any(|text| text.contains("${"))
}

fn length_of_sleep(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    if !spot.node.as_str().is_some_and(|text| text.contains("${")) {
        reader.duration(spot, LONGEST_DURATION)?;
    }
    duration_template(reader, spot)
}

fn end_of_sleep(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = reader.text_template(spot)?;
    if let Some(text) = template.constant_text()
        && !is_time(text)
    {
        let fault = spot.fault(format!("{} is not a time with an offset", quoted(text)));
        reader.push(fault.hint("write it like `2030-12-31T08:00:00+03:00`"));
        return None;
    }
    Some(template)
}

/// `YYYY-MM-DDThh:mm:ss[.sss]±hh:mm`, and `Z` for the offset zero.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    separators.iter().all(|(at, sign)| bytes.get(*at) == Some(sign))
        && text.parse::<jiff::Timestamp>().is_ok()
}

fn log(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let template = reader.scalar_template(spot);
    let written = spot.node.as_str().unwrap_or_default();
    let evaluated = match &template {
        Some(template) => !is_constant(template),
        None => written.contains("${"),
    };
    let effect = Effect { fails: evaluated.then_some("log"), ..Effect::default() };
    (template.map(Action::Log), effect, None)
}

fn release(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let good = spot.node.is_null() || spot.node.as_bool() == Some(true);
    if !good {
        let fault = spot.fault("`release` takes no settings");
        reader.push(fault.hint("write `- release`"));
    }
    let action = good.then_some(Action::Release);
    (action, Effect::default(), None)
}
