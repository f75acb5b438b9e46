//! The digest of a registration, which distinguishes a repeat from a conflict (ORD-2).
//! Never depends on the form of the text: key order, escapes and the spelling of numbers do not count.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// SHA-256 of the JSON with sorted keys and one form for each number.
#[must_use]
pub fn digest(value: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hash_into(value, &mut hasher);
    hasher.finalize().into()
}

/// The same of the body of a registration, where a field that is null counts as left out.
#[must_use]
pub(super) fn digest_of_fields(body: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hash_fields(body, &mut hasher);
    hasher.finalize().into()
}

/// Fields with fields of the contract inside. What a client makes up, as `params`, counts as it is.
const NESTED: [&str; 3] = ["lifecycle", "after", "notify"];

fn hash_fields(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Array(list) => {
            hasher.update(b"[");
            list.iter().for_each(|item| hash_fields(item, hasher));
            hasher.update(b"]");
        }
        Value::Object(map) => {
            hasher.update(b"{");
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                hash_key(key, hasher);
                let hash = if NESTED.contains(&key.as_str()) { hash_fields } else { hash_into };
                hash(value, hasher);
            }
            hasher.update(b"}");
        }
        other => hash_into(other, hasher),
    }
}

fn hash_key(key: &str, hasher: &mut Sha256) {
    hasher.update(key.len().to_le_bytes());
    hasher.update(key);
}

fn hash_into(value: &Value, hasher: &mut Sha256) {
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
            list.iter().for_each(|item| hash_into(item, hasher));
            hasher.update(b"]");
        }
        // The map is sorted by key: the JSON library keeps it in a tree.
        Value::Object(map) => {
            hasher.update(b"{");
            for (key, value) in map {
                hash_key(key, hasher);
                hash_into(value, hasher);
            }
            hasher.update(b"}");
        }
    }
}
