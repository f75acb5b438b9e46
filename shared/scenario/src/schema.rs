//! Work that the JSON Schema of the parameters takes, before anything is held against it.
//!
//! A few lines of a schema may ask for more evaluations than can ever be made: each of forty definitions
//! refers twice to the next. So evaluations are counted along the paths through the schema, each place
//! once and remembered, and a validator runs only where the count is small. A validator cannot be broken off.

mod faults;
mod found;

use std::collections::HashMap;

use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

pub use faults::{SchemaFault, find as find_faults, message as fault_message};

/// Evaluations at one place of the parameters that a schema may ask for when it is stored.
pub const MAX_EXPANSION: u64 = 10_000;
/// Depth of the parameters for which that is promised: a schema that refers to itself may ask
/// for more with each level.
pub const EXPANSION_DEPTH: usize = 8;
/// Schemas inside of one another, or that refer to one another.
const LONGEST_CHAIN: usize = 256;
/// Depth up to which work is counted. A deeper level is like the last if that was like the one before.
const DEEPEST: usize = 64;
/// Schemas times depths that are looked at: some tens of milliseconds.
const MOST_PLACES: usize = 500_000;
/// Evaluations that one check of parameters may take: about a tenth of a second.
pub const MAX_WORK: u64 = 2_000_000;
/// Work from which a check of parameters delays the rest of its thread: some milliseconds.
pub const COSTLY_WORK: u64 = 50_000;

/// Keywords whose schemas see the same value.
const ALL_OF: &[&str] = &["allOf", "anyOf", "oneOf"];
const ONE_OF: &[&str] = &["not", "if", "then", "else"];
/// Keywords whose schema sees the items or members of the value, whichever they are.
const BELOW: &[&str] = &[
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Faults up to which the library may collect all of them: some 400 bytes each.
const FEW_FAULTS: u64 = 10_000;
/// Names of required members that are looked up in the time of one evaluation.
const LOOKUPS: u64 = 8;

/// Compiles a schema.
///
/// # Errors
/// The value is not a valid schema.
pub fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        // This engine takes linear time, whatever pattern and text outsiders write.
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(schema)
}

/// Reason for which a schema is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TooMuch {
    /// Number of evaluations that it asks for at one place.
    Evaluations(u64),
    /// The schema refers to itself without going down into the parameters, or along a very long way.
    Endless,
    /// The schema is too large to be counted.
    Large,
}

/// Work of a check against a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Evaluations at one place of the parameters, by how deep it stands; what is deeper is like the last.
    by_depth: Vec<u64>,
    /// Faults that one evaluation finds at most.
    faults_of_one: u64,
}

impl Expansion {
    /// Counts along the paths through a schema.
    ///
    /// # Errors
    /// The schema can never be evaluated.
    pub fn of(schema: &Value) -> Result<Self, TooMuch> {
        let mut resources = Vec::new();
        collect_resources(schema, &mut resources);
        let mut counter = Counter { resources, known: HashMap::new(), open: Vec::new(), inside: 0 };
        let mut by_depth: Vec<u64> = Vec::new();
        for depth in 0..DEEPEST {
            let count = counter.at(schema, depth)?;
            by_depth.push(count);
            if count == 0 || count == u64::MAX {
                break;
            }
        }
        if let [.., before, last] = by_depth[..]
            && last > before
        {
            by_depth.push(u64::MAX);
        }
        Ok(Self { by_depth, faults_of_one: faults_of_one(schema) })
    }

    /// True if these parameters have so few faults, whatever they are, that all of them may be held in memory.
    #[must_use]
    pub fn has_few_faults(&self, params: &Value) -> bool {
        self.work(params).saturating_mul(self.faults_of_one) <= FEW_FAULTS
    }

    /// True if so much may be asked for by a schema that is stored.
    ///
    /// # Errors
    /// The schema asks for too much.
    pub fn check(&self) -> Result<(), TooMuch> {
        let most = self.by_depth.iter().take(EXPANSION_DEPTH + 1).copied().max().unwrap_or(0);
        if most > MAX_EXPANSION { Err(TooMuch::Evaluations(most)) } else { Ok(()) }
    }

    /// Evaluations that it takes at most to check these parameters.
    #[must_use]
    pub fn work(&self, params: &Value) -> u64 {
        let mut depth = 0;
        let weight = weigh(params, 0, &mut depth);
        let most = self.by_depth.iter().take(depth + 1).copied().max().unwrap_or(1);
        weight.saturating_mul(most)
    }
}

/// Places of a value, and how deep it is. A pattern walks over a text, so that a long one counts for more.
fn weigh(value: &Value, at: usize, depth: &mut usize) -> u64 {
    *depth = (*depth).max(at);
    1 + match value {
        Value::String(text) => (text.len() / 64) as u64,
        Value::Array(items) => items.iter().map(|item| weigh(item, at + 1, depth)).sum(),
        // Names are held against patterns as texts are.
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.len() / 64) as u64 + weigh(member, at + 1, depth)).sum()
        }
        _ => 0,
    }
}

/// Collects the schema and every schema inside it that has an identity of its own: references may begin at each.
fn collect_resources<'s>(value: &'s Value, resources: &mut Vec<&'s Value>) {
    if resources.is_empty() || value.get("$id").is_some_and(Value::is_string) {
        resources.push(value);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_resources(item, resources)),
        Value::Object(members) => members.values().for_each(|member| collect_resources(member, resources)),
        _ => {}
    }
}

/// A schema by its place in memory, and how deep below the value that it sees the evaluations are counted.
type SchemaAddress = (usize, usize);

struct Counter<'s> {
    resources: Vec<&'s Value>,
    known: HashMap<SchemaAddress, u64>,
    /// Places that are being counted, on the same value.
    open: Vec<SchemaAddress>,
    /// Schemas inside of one another that are being counted.
    inside: usize,
}

impl<'s> Counter<'s> {
    /// Evaluations at one value so deep below the one that the schema sees.
    fn at(&mut self, schema: &'s Value, depth: usize) -> Result<u64, TooMuch> {
        let Value::Object(keywords) = schema else {
            return Ok(u64::from(depth == 0));
        };
        let place = (std::ptr::from_ref(schema) as usize, depth);
        if let Some(count) = self.known.get(&place) {
            return Ok(*count);
        }
        if self.open.contains(&place) || self.inside >= LONGEST_CHAIN {
            return Err(TooMuch::Endless);
        }
        if self.known.len() >= MOST_PLACES {
            return Err(TooMuch::Large);
        }
        self.open.push(place);
        self.inside += 1;
        let count = self.sum(keywords, depth)?;
        self.inside -= 1;
        self.open.pop();
        self.known.insert(place, count);
        Ok(count)
    }

    fn sum(&mut self, keywords: &'s Map<String, Value>, depth: usize) -> Result<u64, TooMuch> {
        let mut sum = if depth == 0 { own_of(keywords) } else { 0 };
        for schema in self.beside(keywords) {
            sum = sum.saturating_add(self.at(schema, depth)?);
        }
        if depth > 0 {
            sum = sum.saturating_add(self.below(keywords, depth - 1)?);
        }
        // What was not evaluated is found by evaluating the rest again.
        let again = keywords.keys().any(|keyword| keyword.starts_with("unevaluated"));
        Ok(if again { sum.saturating_mul(2) } else { sum })
    }

    /// Schemas that see the same value.
    fn beside(&self, keywords: &'s Map<String, Value>) -> Vec<&'s Value> {
        let mut found: Vec<&Value> = Vec::new();
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(target)) => found.extend(self.targets(target)),
                // The second is of older drafts, and the validator knows it all the same.
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    found.extend(schemas.values());
                }
                (keyword, Value::Array(schemas)) if ALL_OF.contains(&keyword) => found.extend(schemas),
                (keyword, schema) if ONE_OF.contains(&keyword) => found.push(schema),
                _ => {}
            }
        }
        found
    }

    /// Evaluations below: a member has one name, so of `properties` only the largest counts.
    fn below(&mut self, keywords: &'s Map<String, Value>, depth: usize) -> Result<u64, TooMuch> {
        // What is open sees the value above.
        let open = std::mem::take(&mut self.open);
        let (mut sum, mut largest, mut first) = (0_u64, 0, 0);
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(schemas)) => {
                    for schema in schemas.values() {
                        largest = self.at(schema, depth)?.max(largest);
                    }
                }
                ("prefixItems", Value::Array(schemas)) => {
                    for schema in schemas {
                        first = self.at(schema, depth)?.max(first);
                    }
                }
                ("patternProperties", Value::Object(schemas)) => {
                    for schema in schemas.values() {
                        sum = sum.saturating_add(self.at(schema, depth)?);
                    }
                }
                (keyword, schema) if BELOW.contains(&keyword) => {
                    sum = sum.saturating_add(self.at(schema, depth)?);
                }
                _ => {}
            }
        }
        self.open = open;
        Ok(sum.saturating_add(largest).saturating_add(first))
    }

    /// Schemas that a reference may lead to. One that leads nowhere is reported by the validator.
    fn targets(&self, target: &str) -> Vec<&'s Value> {
        let Some(fragment) = target.strip_prefix('#') else { return Vec::new() };
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.resources.iter().filter_map(|resource| resource.pointer(&fragment)).collect();
        }
        let mut found = Vec::new();
        if let Some(root) = self.resources.first() {
            collect_anchors(root, &fragment, &mut found);
        }
        found
    }
}

/// Faults that one evaluation of any schema in here finds at most by itself: one for a keyword, or for a required name.
fn faults_of_one(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(faults_of_one).max().unwrap_or(0),
        Value::Object(members) => {
            let own = members.len() as u64 + names_required(members);
            members.values().map(faults_of_one).max().unwrap_or(0).max(own)
        }
        _ => 0,
    }
}

/// Names of members that a schema requires, always or beside others.
fn names_required(keywords: &Map<String, Value>) -> u64 {
    let count = |value: &Value| value.as_array().map_or(0, |names| names.len() as u64);
    let beside = ["dependentRequired", "dependencies"];
    let beside = beside.iter().filter_map(|keyword| keywords.get(*keyword)?.as_object());
    keywords.get("required").map_or(0, count) + beside.flat_map(Map::values).map(count).sum::<u64>()
}

/// Evaluations of the schema itself. Values of a long `enum` are compared one by one, and so are names
/// with patterns; required names are looked up; a pattern takes the longer, the more states it has.
fn own_of(keywords: &Map<String, Value>) -> u64 {
    let values = keywords.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    let of_text = keywords.get("pattern").and_then(Value::as_str).map_or(0, pattern_work);
    let of_names = keywords.get("patternProperties").and_then(Value::as_object);
    let of_names =
        of_names.map_or(0, |patterns| patterns.keys().map(|pattern| 1 + pattern_work(pattern)).sum());
    let of_required = names_required(keywords) / LOOKUPS;
    (1 + (values / 64) as u64 + of_required).saturating_add(of_text).saturating_add(of_names)
}

/// Number of evaluations that a pattern counts for: its length, times the largest numbers of its repetitions.
fn pattern_work(pattern: &str) -> u64 {
    let repeated = pattern.split('{').skip(1).map(|rest| {
        let numbers = rest.split('}').next().unwrap_or_default().split(',');
        numbers.filter_map(|number| number.trim().parse::<u64>().ok()).max().unwrap_or(1).max(1)
    });
    let states = repeated.fold(pattern.len() as u64, u64::saturating_mul);
    states / 64
}

fn collect_anchors<'s>(value: &'s Value, name: &str, found: &mut Vec<&'s Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_anchors(item, name, found)),
        Value::Object(members) => {
            let is_named = |keyword: &str| members.get(keyword).and_then(Value::as_str) == Some(name);
            if is_named("$anchor") || is_named("$dynamicAnchor") {
                found.push(value);
            }
            members.values().for_each(|member| collect_anchors(member, name, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
