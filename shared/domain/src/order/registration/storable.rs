//! Rules for JSON that may be stored at all.
//! Never changes a value: what cannot be stored is refused, with its place.

use serde_json::Value;

use super::{escape, fault};
use crate::depth::MAX_DEPTH;
use crate::document::Fault;

/// Fault of a value that could be stored here and break a later reader: nesting too deep, or the character NUL.
#[must_use]
pub fn unstorable(value: &Value) -> Option<Fault> {
    unstorable_at(value, 0).map(|(pointer, message)| fault(&pointer, message))
}

/// The same below a place, with the pointer from there.
fn unstorable_at(value: &Value, depth: usize) -> Option<(String, String)> {
    // A list or an object is a level of its own, also where it is empty.
    let is_level = matches!(value, Value::Array(_) | Value::Object(_));
    if depth + usize::from(is_level) > MAX_DEPTH {
        return Some((String::new(), format!("is nested deeper than {MAX_DEPTH} levels")));
    }
    let nul = || Some((String::new(), "contains the character NUL".to_owned()));
    let below = |step: &str, value: &Value| {
        unstorable_at(value, depth + 1).map(|(pointer, message)| (format!("/{step}{pointer}"), message))
    };
    match value {
        Value::String(text) if text.contains('\0') => nul(),
        Value::Array(list) => {
            list.iter().enumerate().find_map(|(index, item)| below(&index.to_string(), item))
        }
        Value::Object(map) => map
            .iter()
            .find_map(|(key, value)| if key.contains('\0') { nul() } else { below(&escape(key), value) }),
        _ => None,
    }
}
