//! Faults of a value by a JSON Schema, found one after the other until there are enough.
//!
//! The library collects every fault before it hands out the first: a schema and a value of some kilobytes have
//! millions of them. This search goes through schema and value itself, asks the library for one keyword at one
//! place, and stops early. It only explains: the library alone says if a value is valid.

use std::collections::HashMap;
use std::fmt::Display;

use jsonschema::Validator;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::found::{At, FoundFaults};
pub use super::found::{SchemaFault, message};
use super::{collect_anchors, collect_resources, compile};

/// Steps of one search: some tenths of a second. What was found until then is the answer.
const MOST_STEPS: u64 = 2_000_000;
/// Steps that one validator of a keyword counts for: it is compiled, and takes some kilobytes. A thousand are made at most.
const STEPS_TO_COMPILE: u64 = 2_000;
/// Schemas inside of one another that are entered: each takes some kilobytes of a thread's stack.
const DEEPEST: usize = 200;
/// Keywords about one value that lead to no other schema.
const OWN: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
];

/// The first faults of a value that is not valid, at most `most`. May find none of a schema with rare keywords.
#[must_use]
pub fn find(schema: &Value, value: &Value, most: usize) -> Vec<SchemaFault> {
    let mut resources = Vec::new();
    collect_resources(schema, &mut resources);
    let mut search = FaultSearch {
        root: schema,
        has_inner_resources: resources.len() > 1,
        own: HashMap::new(),
        patterns: HashMap::new(),
        steps: MOST_STEPS,
        depth: 0,
        is_over: false,
    };
    let mut found = FoundFaults { faults: Vec::new(), count: 0, most, is_probe: false };
    search.enter(schema, value, &At::Root, &mut found);
    found.faults
}

struct FaultSearch<'s> {
    root: &'s Value,
    /// References inside a schema with an identity of its own do not start at the root.
    has_inner_resources: bool,
    /// Validators of the [`OWN`] keywords, by the address of their schema. `None` where there are none.
    own: HashMap<usize, Option<Validator>>,
    patterns: HashMap<&'s str, Option<Validator>>,
    /// Steps that are left.
    steps: u64,
    depth: usize,
    /// True if no steps are left or a keyword is not understood here: nothing that follows is certain.
    is_over: bool,
}

type Keywords = Map<String, Value>;

impl<'s> FaultSearch<'s> {
    fn spend(&mut self, steps: u64) {
        self.steps = self.steps.saturating_sub(steps);
        self.is_over |= self.steps == 0;
    }

    /// Records a fault, unless the search ended on the way to it.
    fn add(&self, found: &mut FoundFaults, at: &At<'_>, text: &dyn Display) {
        if !self.is_over {
            found.add(at, text);
        }
    }

    fn enter(&mut self, schema: &'s Value, value: &Value, at: &At<'_>, found: &mut FoundFaults) {
        self.spend(1);
        self.is_over |= self.depth >= DEEPEST;
        if self.is_over || found.is_full() {
            return;
        }
        match schema {
            Value::Bool(false) => {
                self.add(found, at, &format_args!("False schema does not allow {value}"));
            }
            Value::Object(keywords) => {
                self.depth += 1;
                self.keywords(keywords, value, at, found);
                self.depth -= 1;
            }
            _ => {}
        }
    }

    fn is_valid(&mut self, schema: &'s Value, value: &Value) -> bool {
        let mut found = FoundFaults { faults: Vec::new(), count: 0, most: 1, is_probe: true };
        self.enter(schema, value, &At::Root, &mut found);
        found.count == 0
    }

    fn keywords(&mut self, keywords: &'s Keywords, value: &Value, at: &At<'_>, found: &mut FoundFaults) {
        self.own(keywords, value, at, found);
        self.beside(keywords, value, at, found);
        self.choices(keywords, value, at, found);
        match value {
            Value::Object(members) => self.members(keywords, members, at, found),
            Value::Array(items) => self.items(keywords, value, items, at, found),
            _ => {}
        }
        if !found.is_full() && keywords.keys().any(|keyword| keyword.starts_with("unevaluated")) {
            self.is_over |= value.is_object() || value.is_array();
        }
    }

    /// Keywords that the library checks: they have one fault each.
    fn own(&mut self, keywords: &'s Keywords, value: &Value, at: &At<'_>, found: &mut FoundFaults) {
        let address = std::ptr::from_ref(keywords) as usize;
        if !self.own.contains_key(&address) {
            let own = own_of(keywords);
            self.spend(if own.is_empty() { 1 } else { STEPS_TO_COMPILE });
            let validator = if own.is_empty() { None } else { compile(&Value::Object(own)).ok() };
            self.own.insert(address, validator);
        }
        if let Value::String(text) = value {
            self.spend((text.len() / 64) as u64);
        }
        let is_over = self.is_over;
        if let Some(Some(validator)) = self.own.get(&address)
            && !is_over
            && !validator.is_valid(value)
        {
            validator.iter_errors(value).for_each(|error| found.add(at, &error));
        }
    }

    /// Schemas that see the same value, and whose faults are faults of the whole.
    fn beside(&mut self, keywords: &'s Keywords, value: &Value, at: &At<'_>, found: &mut FoundFaults) {
        if keywords.contains_key("$dynamicRef") {
            self.is_over = true;
        }
        if let Some(Value::String(target)) = keywords.get("$ref") {
            match self.target(target) {
                Some(schema) => self.enter(schema, value, at, found),
                None => self.is_over = true,
            }
        }
        for schema in list(keywords, "allOf") {
            self.enter(schema, value, at, found);
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.is_valid(condition, value) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.enter(schema, value, at, found);
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, schema) in map(keywords, keyword) {
                if value.get(name).is_some() {
                    self.enter(schema, value, at, found);
                }
            }
        }
    }

    /// Schemas that see the same value, with one fault for all of them.
    fn choices(&mut self, keywords: &'s Keywords, value: &Value, at: &At<'_>, found: &mut FoundFaults) {
        let mut any = list(keywords, "anyOf").iter().peekable();
        if any.peek().is_some() && !any.any(|schema| self.is_valid(schema, value)) {
            let text = "is not valid under any of the schemas listed in the 'anyOf' keyword";
            self.add(found, at, &format_args!("{value} {text}"));
        }
        let one = list(keywords, "oneOf");
        let valid = one.iter().filter(|schema| self.is_valid(schema, value)).take(2).count();
        if !one.is_empty() && valid != 1 {
            let under = if valid == 0 { "not valid under any" } else { "valid under more than one" };
            let text = format_args!("{value} is {under} of the schemas listed in the 'oneOf' keyword");
            self.add(found, at, &text);
        }
        if let Some(schema) = keywords.get("not")
            && self.is_valid(schema, value)
        {
            self.add(found, at, &format_args!("{schema} is not allowed for {value}"));
        }
    }

    fn members(&mut self, keywords: &'s Keywords, members: &Keywords, at: &At<'_>, found: &mut FoundFaults) {
        self.require(list(keywords, "required"), members, at, found);
        for keyword in ["dependentRequired", "dependencies"] {
            for (name, names) in map(keywords, keyword) {
                if let (Value::Array(names), true) = (names, members.contains_key(name)) {
                    self.require(names, members, at, found);
                }
            }
        }
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let properties = keywords.get("properties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties").filter(|schema| schema.is_object());
        for (name, value) in members {
            if found.is_full() || self.is_over {
                return;
            }
            let at = At::Member(at, name);
            let mut is_named = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                is_named = true;
                self.enter(schema, value, &at, found);
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                if self.matches(pattern, name) {
                    is_named = true;
                    self.enter(schema, value, &at, found);
                }
            }
            if let (Some(schema), false) = (others, is_named) {
                self.enter(schema, value, &at, found);
            }
        }
        if let Some(schema) = keywords.get("propertyNames").filter(|schema| schema.is_object()) {
            for name in members.keys() {
                if found.is_full() || self.is_over {
                    return;
                }
                self.enter(schema, &Value::String(name.clone()), at, found);
            }
        }
    }

    fn require(&mut self, names: &[Value], members: &Keywords, at: &At<'_>, found: &mut FoundFaults) {
        for name in names {
            self.spend(1);
            if found.is_full() || self.is_over {
                return;
            }
            if name.as_str().is_some_and(|name| !members.contains_key(name)) {
                self.add(found, at, &format_args!("{name} is a required property"));
            }
        }
    }

    fn items(
        &mut self,
        keywords: &'s Keywords,
        value: &Value,
        items: &[Value],
        at: &At<'_>,
        found: &mut FoundFaults,
    ) {
        let first = list(keywords, "prefixItems");
        let rest = keywords.get("items");
        for (index, item) in items.iter().enumerate() {
            if found.is_full() || self.is_over {
                return;
            }
            if let Some(schema) = first.get(index).or(rest) {
                self.enter(schema, item, &At::Item(at, index), found);
            }
        }
        let Some(schema) = keywords.get("contains") else { return };
        let number = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
        let (least, most) = (number("minContains").unwrap_or(1.0), number("maxContains"));
        let count = items.iter().filter(|item| self.is_valid(schema, item)).count() as f64;
        if count < least || most.is_some_and(|most| count > most) {
            self.add(found, at, &format_args!("None of {value} are valid under the given schema"));
        }
    }

    fn matches(&mut self, pattern: &'s str, name: &str) -> bool {
        if !self.patterns.contains_key(pattern) {
            self.spend(STEPS_TO_COMPILE);
            self.patterns.insert(pattern, compile(&json!({ "pattern": pattern })).ok());
        }
        self.spend(1 + (name.len() / 64) as u64);
        let validator = self.patterns.get(pattern).and_then(Option::as_ref);
        validator.is_some_and(|validator| validator.is_valid(&Value::String(name.to_owned())))
    }

    /// The schema to which a reference leads, where that is plain.
    fn target(&self, target: &str) -> Option<&'s Value> {
        if self.has_inner_resources {
            return None;
        }
        let fragment = percent_decode_str(target.strip_prefix('#')?).decode_utf8().ok()?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        let mut found = Vec::new();
        collect_anchors(self.root, &fragment, &mut found);
        (found.len() == 1).then(|| found[0])
    }
}

/// A schema of the keywords that the library checks.
fn own_of(keywords: &Keywords) -> Keywords {
    let mut own: Keywords = OWN
        .iter()
        .filter_map(|keyword| Some(((*keyword).to_owned(), keywords.get(*keyword)?.clone())))
        .collect();
    if keywords.get("propertyNames") == Some(&Value::Bool(false)) {
        own.insert("propertyNames".into(), false.into());
    }
    if keywords.get("additionalProperties") == Some(&Value::Bool(false)) {
        own.insert("additionalProperties".into(), false.into());
        for keyword in ["properties", "patternProperties"] {
            if let Some(Value::Object(schemas)) = keywords.get(keyword) {
                let names = schemas.keys().map(|name| (name.clone(), Value::Bool(true))).collect();
                own.insert(keyword.into(), Value::Object(names));
            }
        }
    }
    own
}

fn list<'s>(keywords: &'s Keywords, keyword: &str) -> &'s [Value] {
    keywords.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map<'s>(keywords: &'s Keywords, keyword: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    keywords.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests;
