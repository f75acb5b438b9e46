//! Values between JSON and the script engine. Must never lose anything silently: what JSON cannot
//! hold is an error.

use std::collections::HashMap;

use pagurus_domain::classes::SCRIPT_LIMIT;
use rhai::Dynamic;
use serde_json::{Map, Number, Value};

use super::{RunError, holding};

/// A JSON value as the engine's own.
pub(super) fn to_dynamic(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(value) => Dynamic::from_bool(*value),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| Dynamic::from_float(number.as_f64().unwrap_or(f64::NAN)), Dynamic::from_int),
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => Dynamic::from_array(list.iter().map(to_dynamic).collect()),
        Value::Object(map) => Dynamic::from_map(
            map.iter().map(|(key, value)| (key.as_str().into(), to_dynamic(value))).collect(),
        ),
    }
}

/// Whole numbers that the script engine can only round, by what it makes of them; none where two become the same.
#[derive(Debug, Default)]
pub(super) struct ExactNumbers(HashMap<u64, Option<Number>>);

impl ExactNumbers {
    /// Adds those in a value that is given to a script.
    pub fn add(&mut self, value: &Value) {
        match value {
            Value::Number(number) if number.is_u64() && !number.is_i64() => {
                let rounded = number.as_f64().unwrap_or(f64::NAN).to_bits();
                let known = self.0.entry(rounded).or_insert_with(|| Some(number.clone()));
                known.take_if(|known| known != number);
            }
            Value::Array(list) => list.iter().for_each(|item| self.add(item)),
            Value::Object(map) => map.values().for_each(|item| self.add(item)),
            _ => {}
        }
    }

    /// Puts them back where the script has left or moved them.
    pub fn restore(&self, value: &mut Value) {
        match value {
            Value::Number(number) if number.is_f64() => {
                let rounded = number.as_f64().unwrap_or(f64::NAN).to_bits();
                if let Some(Some(exact)) = self.0.get(&rounded) {
                    *number = exact.clone();
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.restore(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.restore(item)),
            _ => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The engine's value as JSON.
///
/// # Errors
/// A number or a kind of value that JSON does not have, or more levels of nesting than the run of this thread may make.
pub(super) fn from_dynamic(value: &Dynamic) -> Result<Value, RunError> {
    within(value, holding::deepest())
}

/// The same, with `depth` levels left.
fn within(value: &Dynamic, depth: usize) -> Result<Value, RunError> {
    let inside = || {
        depth.checked_sub(1).ok_or_else(|| RunError {
            class: SCRIPT_LIMIT,
            ..RunError::new(format!("{} exceeds limit", holding::DEPTH))
        })
    };
    if value.is_unit() {
        return Ok(Value::Null);
    }
    if let Ok(value) = value.as_bool() {
        return Ok(Value::Bool(value));
    }
    if let Ok(value) = value.as_int() {
        return Ok(Value::Number(value.into()));
    }
    if let Ok(value) = value.as_float() {
        return Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| RunError::new(format!("{value} is no JSON number")));
    }
    if let Ok(text) = value.as_immutable_string_ref() {
        return Ok(Value::String(text.to_string()));
    }
    if let Ok(list) = value.as_array_ref() {
        let depth = inside()?;
        return list
            .iter()
            .map(|value| within(value, depth))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array);
    }
    if let Ok(map) = value.as_map_ref() {
        let depth = inside()?;
        return map
            .iter()
            .map(|(key, value)| Ok((key.to_string(), within(value, depth)?)))
            .collect::<Result<Map<_, _>, RunError>>()
            .map(Value::Object);
    }
    if let Ok(char) = value.as_char() {
        return Ok(Value::String(char.to_string()));
    }
    Err(RunError::new(format!("a value of type {} cannot be kept", value.type_name())))
}
