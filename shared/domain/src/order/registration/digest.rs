//! The digest of a registration, which distinguishes a repeat from a conflict (ORD-2).
//! Never depends on the form of the text: key order, escapes and the spelling of numbers do not count.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// SHA-256 of the JSON with sorted keys and one form for each number.
#[must_use]
pub fn digest(value: &Value) -> [u8; 32] {
    digest_as(value, false)
}

/// The same of the body of a registration, where a field that is null counts as left out.
pub(super) fn digest_of_fields(body: &Value) -> [u8; 32] {
    digest_as(body, true)
}

/// Fields with fields of the contract inside. What a client makes up, as `params`, counts as it is.
const NESTED: [&str; 3] = ["lifecycle", "after", "notify"];

/// True if a field of a registration is null.
pub(super) fn has_null_field(body: &Value) -> bool {
    match body {
        Value::Array(list) => list.iter().any(has_null_field),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| value.is_null() || NESTED.contains(&key.as_str()) && has_null_field(value)),
        _ => false,
    }
}

fn digest_as(value: &Value, has_fields: bool) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hash_into(value, has_fields, &mut hasher);
    hasher.finalize().into()
}

fn hash_into(value: &Value, has_fields: bool, hasher: &mut Sha256) {
    match value {
        Value::Null => hasher.update(b"n"),
        Value::Bool(value) => hasher.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => {
            hasher.update(b"#");
            // 100, 100.0 and 1e2 are one number.
            let float = number.as_f64().unwrap_or(f64::NAN);
            if number.is_f64() && float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 {
                hasher.update(format!("{float:.0}").replace("-0", "0"));
            } else {
                hasher.update(number.to_string());
            }
        }
        Value::String(text) => {
            hasher.update(b"s");
            hasher.update(text.len().to_le_bytes());
            hasher.update(text);
        }
        Value::Array(list) => {
            hasher.update(b"[");
            list.iter().for_each(|item| hash_into(item, has_fields, hasher));
            hasher.update(b"]");
        }
        // The map is sorted by key: the JSON library keeps it in a tree.
        Value::Object(map) => {
            hasher.update(b"{");
            for (key, value) in map.iter().filter(|(_, value)| !(has_fields && value.is_null())) {
                hasher.update(key.len().to_le_bytes());
                hasher.update(key);
                hash_into(value, has_fields && NESTED.contains(&key.as_str()), hasher);
            }
            hasher.update(b"}");
        }
    }
}
