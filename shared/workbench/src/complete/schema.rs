//! The schema of a file, asked for what may stand at a path.

use std::collections::BTreeMap;

use serde_json::Value;

/// Name of the path for the items of a list.
pub(super) const ITEM: &str = "[]";

/// Schemas of what may stand at a path.
pub(super) fn at<'s>(root: &'s Value, path: &[String], is_operation: bool) -> Vec<&'s Value> {
    let mut schemas = spread(root, root, is_operation);
    for name in path {
        let inner = schemas.iter().filter_map(|schema| inside(schema, name));
        schemas = inner.flat_map(|schema| spread(root, schema, is_operation)).collect();
    }
    schemas
}

fn inside<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    if name == ITEM {
        return schema.get("items");
    }
    let known = schema.get("properties").and_then(|properties| properties.get(name));
    let by_pattern = || schema.get("patternProperties")?.as_object()?.values().next();
    known.or_else(by_pattern).or_else(|| schema.get("additionalProperties").filter(|inner| inner.is_object()))
}

/// A schema with all that it may stand for.
fn spread<'s>(root: &'s Value, schema: &'s Value, is_operation: bool) -> Vec<&'s Value> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let referred = root.pointer(name.trim_start_matches('#'));
        return referred.map_or_else(Vec::new, |referred| spread(root, referred, is_operation));
    }
    let chosen = if is_operation { "then" } else { "else" };
    let kinds = schema.get(chosen).filter(|_| schema.get("properties").is_none()).into_iter();
    let ways =
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    let inner = kinds.chain(ways).flat_map(|one| spread(root, one, is_operation));
    std::iter::once(schema).chain(inner).collect()
}

/// Keys that a mapping may have, with a sentence about each.
pub(super) fn members(
    root: &Value,
    schemas: &[&Value],
    is_operation: bool,
) -> BTreeMap<String, Option<String>> {
    let mut members = BTreeMap::new();
    for properties in schemas.iter().filter_map(|schema| schema.get("properties")?.as_object()) {
        for (name, schema) in properties {
            let said = spread(root, schema, is_operation).into_iter();
            let said = std::iter::once(schema).chain(said).find_map(|one| one.get("description")?.as_str());
            members.insert(name.clone(), said.map(str::to_owned));
        }
    }
    members
}

/// Words that a value may be.
pub(super) fn words(root: &Value, schemas: &[&Value]) -> Vec<String> {
    let mut words = Vec::new();
    for schema in schemas.iter().flat_map(|schema| spread(root, schema, false)) {
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let all = listed.chain(schema.get("const"));
        words.extend(all.filter_map(Value::as_str).map(str::to_owned));
        if schema.get("type").is_some_and(|kind| kind == "boolean") {
            words.extend(["true", "false"].map(str::to_owned));
        }
    }
    words.sort();
    words.dedup();
    words
}
