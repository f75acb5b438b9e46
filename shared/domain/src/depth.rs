//! Depth of values: lists and maps inside one another.
//!
//! Whatever goes through a value (copying, comparing, writing, releasing) calls itself for each level, and a thread has so
//! much stack and no more. Values are bounded where they come in and where scripts make them, so that nothing else has to ask.

use serde_json::Value;

/// Levels of lists and maps inside one another, at most: a text has none, `[]` has one. Readers of JSON stop at 128, and
/// what is stored stands a few levels further inside.
pub const MAX_DEPTH: usize = 64;

/// True if nothing in it is nested deeper. Never goes deeper itself.
#[must_use]
pub fn is_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(list) => depth > 0 && list.iter().all(|value| is_within(value, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|value| is_within(value, depth - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn qlt_8_depth_counts_lists_and_maps() {
        for (value, depth) in
            [(json!("text"), 0), (json!([]), 1), (json!({"a": 1, "b": [2]}), 2), (json!([1, {"a": [{}]}]), 4)]
        {
            assert!(is_within(&value, depth), "{value}");
            assert!(depth == 0 || !is_within(&value, depth - 1), "{value}");
        }
    }
}
