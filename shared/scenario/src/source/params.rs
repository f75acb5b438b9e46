//! The JSON Schema of a scenario's parameters: checked with places, compiled once.
//!
//! Must never fetch anything: a schema comes from outside, and a reference to a URL or a file
//! would make the engine read what its author may not.

use jsonschema::Validator;
use pagurus_domain::document::{DocumentNode, Fault, Value as NodeValue};
use serde_json::Value;

use super::draft::Mark;
use super::reader::{ScenarioReader, Spot, quoted, shortened, with_nearest};
use crate::schema::{Expansion, MAX_EXPANSION, TooMuch, compile, fault_message};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];
/// Keywords whose values are data, not schemas.
const DATA: &[&str] = &["const", "default", "enum", "examples"];
/// Faults of one schema that are reported.
const MAX_SCHEMA_FAULTS: usize = 20;

/// Places of a schema up to which all of its faults are found.
const MOST_PLACES: usize = 5_000;

/// Content of `params`.
pub(super) struct Params {
    pub schema: Value,
    pub validator: Validator,
    pub expansion: Option<Expansion>,
}

/// Reads `params`.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Params> {
    let before = reader.fault_count();
    if spot.node.as_map().is_none() {
        let fault = spot.must_be("a JSON Schema");
        reader.push(fault.hint("write it like `{type: object, required: [a]}`"));
        return None;
    }
    check_references(reader, spot);
    let schema = spot.node.to_json();
    check_form(reader, spot, &schema);
    if reader.fault_count() > before {
        return None;
    }
    let expansion = Expansion::of(&schema);
    let taken = expansion.as_ref().map_err(Clone::clone).and_then(Expansion::check);
    if let (Err(why), false) = (taken, reader.scripting.is_of_stored()) {
        reader.push(too_much(spot, &why));
        return None;
    }
    match compile(&schema) {
        Ok(validator) => Some(Params { schema, validator, expansion: expansion.ok() }),
        Err(error) => {
            reader.push(fault_of(spot, &error));
            None
        }
    }
}

/// Finds what is no JSON Schema.
fn check_form(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, schema: &Value) {
    let validator = jsonschema::draft202012::meta::validator();
    if validator.is_valid(schema) {
        return;
    }
    // The library holds all faults in memory before it hands out the first; of a large schema only the first is found.
    if places_of(schema) <= MOST_PLACES {
        for error in validator.iter_errors(schema).take(MAX_SCHEMA_FAULTS) {
            reader.push(fault_of(spot, &error));
        }
    } else if let Err(error) = validator.validate(schema) {
        reader.push(fault_of(spot, &error));
    }
}

fn places_of(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(places_of).sum(),
        Value::Object(members) => members.values().map(places_of).sum::<usize>(),
        _ => 0,
    }
}

/// The fault of a schema that would be too much work.
fn too_much(spot: &Spot<'_>, why: &TooMuch) -> Fault {
    match why {
        TooMuch::Evaluations(count) => {
            let count = if *count > 1_000_000_000 { "over a billion".to_owned() } else { count.to_string() };
            let message = format!(
                "the schema asks for {count} evaluations of one value, at most {MAX_EXPANSION} are made"
            );
            let hint = "refer to a definition once instead of several times on the way to it: each `allOf`, \
                        `anyOf`, `oneOf` or `$ref` multiplies what it leads to";
            spot.fault(message).hint(hint)
        }
        TooMuch::Endless => spot
            .fault("the schema refers to itself endlessly")
            .hint("put references to itself under `properties` or `items`, and keep chains shorter than 256"),
        TooMuch::Large => {
            spot.fault("the schema is too large to check").hint("describe fewer parameters, or less of them")
        }
    }
}

/// Keywords whose members have names that the author chose: none of them is a keyword.
const NAMED: [&str; 7] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
];

/// Finds references out of the schema, and other dialects.
fn check_references(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) {
    for item in spot.items() {
        check_references(reader, &item);
    }
    for (mark, member) in spot.entries() {
        let text = member.node.as_str();
        reader.warn_keyword(&mark, &member.label);
        if NAMED.contains(&member.label.as_str()) {
            member.entries().for_each(|(_, schema)| check_references(reader, &schema));
            continue;
        }
        match (member.label.as_str(), text) {
            ("$ref" | "$dynamicRef", Some(target)) if !target.starts_with('#') => {
                let message = format!("{} points outside the schema", quoted(target));
                let fault = member.fault(message);
                reader.push(fault.hint("put it under `$defs`, and write `$ref: \"#/$defs/NAME\"`"));
            }
            ("$schema", Some(dialect)) if dialect.trim_end_matches('#') != DIALECT => {
                let fault = member.fault(format!("the dialect {} is not known", quoted(dialect)));
                reader.push(fault.hint(format!("remove it, or write `{DIALECT}`")));
            }
            (label, _) if DATA.contains(&label) => {}
            _ => check_references(reader, &member),
        }
    }
}

fn fault_of(spot: &Spot<'_>, error: &jsonschema::ValidationError<'_>) -> Fault {
    let path = error.instance_path().to_string();
    let node = node_at(spot.node, &path).unwrap_or(spot.node);
    let mark = Mark { at: node.at, pointer: format!("{}{path}", spot.mark.pointer) };
    let keyword = path.rsplit('/').next().unwrap_or_default();
    let name = node.as_str();
    if let ("type", Some(name)) = (keyword, name) {
        let fault = mark.fault(format!("{} is not a type of JSON Schema", quoted(name)));
        return with_nearest(fault, name, TYPES.iter().copied());
    }
    let fault = mark.fault(shortened(&format!("in the schema: {}", fault_message(error)), 300));
    if keyword == "pattern" {
        return fault.hint("patterns have no look-around and no references back");
    }
    fault.hint("write it as in JSON Schema 2020-12")
}

/// The value at a JSON pointer.
fn node_at<'n>(node: &'n DocumentNode, pointer: &str) -> Option<&'n DocumentNode> {
    let mut keys = pointer.split('/').skip(1);
    keys.try_fold(node, |node, key| {
        let key = key.replace("~1", "/").replace("~0", "~");
        match &node.value {
            NodeValue::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => node.get(&key),
        }
    })
}

/// Finds numbers that lost something of their text: outside of a schema, and in its data.
pub(super) fn check_numbers(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, in_schema: bool) {
    if !in_schema && spot.node.changed_by_typing() {
        let source = spot.node.source_text().unwrap_or_default();
        let shown = quoted(source);
        let fault = spot.fault(format!("{shown} is read as a number and loses its format"));
        let in_quotes = shortened(source, 64);
        reader.push(fault.hint(format!("put it in quotes: \"{in_quotes}\"")));
    }
    for item in spot.items() {
        check_numbers(reader, &item, in_schema);
    }
    for (_, member) in spot.entries() {
        let top = spot.mark.pointer.is_empty();
        let enters = top && member.label == "params";
        let leaves = in_schema && DATA.contains(&member.label.as_str());
        check_numbers(reader, &member, enters || in_schema && !leaves);
    }
}
