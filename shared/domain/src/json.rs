//! JSON of plain data.

use serde::Serialize;
use serde_json::json;

/// The JSON text of a value. One that does not serialize becomes an object that says why, never an empty text: its
/// reader finds that it lacks everything.
#[must_use]
pub fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| json!({"unwritable": error.to_string()}).to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn qlt_8_what_does_not_serialize_is_no_empty_text() {
        assert_eq!(json_text(&json!({"a": 1})), r#"{"a":1}"#);
        let keys_that_are_no_text = BTreeMap::from([((1, 2), 3)]);
        assert_eq!(json_text(&keys_that_are_no_text), r#"{"unwritable":"key must be a string"}"#);
    }
}
