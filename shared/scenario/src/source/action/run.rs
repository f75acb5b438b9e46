//! Reads `do`: an operation that runs among the actions of a scenario (SCN-19).

use std::collections::BTreeSet;

use pagurus_domain::document::form::{Form, Keys, key, required};
use serde_json::{Map, Value};

use super::super::draft::{DraftAction, DraftOperation, Effect, Mark};
use super::super::http;
use super::super::inlining::Inlined;
use super::super::reader::{Fields, ScenarioReader, Spot, quoted};
use super::super::template::without_marks;
use crate::operation::{EnterAction, ParamsSchema};
use crate::params::literal_faults;
use crate::value::{RESULT, Template};

/// Greatest number of a version.
const LAST_VERSION: i64 = i32::MAX as i64;

/// The keys of a `do`.
#[rustfmt::skip]
pub(super) static KEYS: Keys = Keys::new(&[
    required("operation", Form::Matching("^[A-Za-z0-9._-]{1,64}$"), "The operation: a scenario of `kind: operation`."),
    key("version", Form::Whole { least: 1, most: LAST_VERSION as u64 }, "Its version; default: the newest one when this scenario is applied."),
    key("params", PARAMS, "Its parameters: a mapping of names to values, or an expression that is one."),
    key("save", http::SAVE, "Variables to set when it is over, from `result`: what it said by `result(…)`."),
]);

const PARAMS: Form = Form::Either(&[
    Form::Matching(r"^\$\{"),
    Form::Map { names: r"^(?!.*\$\{)", of: &Form::Anything, least: 0 },
]);

/// Reads a `do` action.
pub(super) fn read(reader: &mut ScenarioReader<'_>, mark: Mark, spot: &Spot<'_>) -> DraftAction {
    let mut draft = DraftAction {
        mark,
        action: None,
        effect: Effect { fails: Some("do"), ..Effect::default() },
        request: None,
        raises: Vec::new(),
        branches: Vec::new(),
        operation: None,
    };
    let Some(fields) = reader.fields(spot, &KEYS) else { return draft };
    let named = reader.required(spot, &fields, "operation", "operation: NAME").cloned();
    let version = fields.get("version").map(|spot| version(reader, spot));
    let params = fields.get("params").map(|spot| (spot, params(reader, spot)));
    reader.locals.push(RESULT.to_owned());
    let save = without_marks(http::save(reader, &fields));
    reader.locals.pop();
    let Some(spot) = named else { return draft };
    let Some(name) = reader.text(&spot) else { return draft };
    if version == Some(None) {
        return draft;
    }
    let Some(Inlined { operation, prefix, parts }) = reader.inlined(&spot, name, version.flatten()) else {
        return draft;
    };
    if let Some(schema) = &operation.params {
        check_params(reader, &fields, &spot, params.as_ref().map(|(_, params)| params.as_ref()), schema);
    }
    draft.effect.suspends = parts.iter().flat_map(|part| &part.actions).any(may_suspend);
    let params = params.and_then(|(_, params)| params);
    let enter = EnterAction { operation, prefix, params, exit: 0 };
    draft.operation = Some(Box::new(DraftOperation { enter, parts, save }));
    draft
}

fn version(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<i32> {
    let number = spot.node.as_i64().filter(|number| (1..=LAST_VERSION).contains(number));
    if number.is_none() {
        let fault = spot.fault("`version` must be a whole number from 1");
        reader.push(fault.hint("write the number of a stored version, or leave it out for the newest"));
    }
    number.and_then(|number| i32::try_from(number).ok())
}

fn params(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = reader.template(spot)?;
    let may_be_map = match &template {
        Template::Constant(value) => value.is_object(),
        Template::Expression(_) | Template::Map(_) => true,
        Template::Text(_) | Template::List(_) => false,
    };
    if !may_be_map {
        let fault = spot.fault("`params` can never be a mapping of names to values");
        reader.push(fault.hint("write it like `params: {msisdn: \"${params.msisdn}\"}`"));
    }
    may_be_map.then_some(template)
}

/// True if the order may rest in this action, or ask for something that it waits for later.
fn may_suspend(action: &DraftAction) -> bool {
    let mut found = false;
    action.each(&mut |action| {
        let Effect { waits, sleeps, suspends, .. } = action.effect;
        found |= waits || sleeps || suspends || action.request.is_some();
    });
    found
}

/// Holds what is known of the parameters before any order against the schema of the operation.
fn check_params(
    reader: &mut ScenarioReader<'_>,
    fields: &Fields<'_>,
    operation: &Spot<'_>,
    params: Option<Option<&Template>>,
    schema: &ParamsSchema,
) {
    let mut computed = BTreeSet::new();
    let known = match params {
        None => Value::Object(Map::new()),
        Some(Some(Template::Constant(value))) => value.clone(),
        Some(Some(Template::Map(members))) => {
            let mut known = Map::new();
            for (name, member) in members {
                let value = match member {
                    Template::Constant(value) => value.clone(),
                    _ => {
                        computed.insert(name.as_str());
                        Value::Null
                    }
                };
                known.insert(name.clone(), value);
            }
            Value::Object(known)
        }
        // What an expression gives, or has faults of its own.
        Some(_) => return,
    };
    let whole = fields.get("params").unwrap_or(operation);
    for fault in literal_faults(&known, &computed, schema) {
        // The place of the parameter, where it has one.
        let name = fault.pointer.split('/').nth(1).unwrap_or_default();
        let of_name = whole.entries().find(|(_, member)| member.label == name).map(|(_, member)| member.mark);
        let mark = of_name.unwrap_or_else(|| whole.mark.clone());
        let message = format!(
            "{} of the operation: {}",
            quoted(if name.is_empty() { "params" } else { name }),
            fault.message
        );
        reader.push(mark.fault(message).hint("see `params` of the operation"));
    }
}
