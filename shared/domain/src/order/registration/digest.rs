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
                hasher.update(key.len().to_le_bytes());
                hasher.update(key);
                hash_into(value, hasher);
            }
            hasher.update(b"}");
        }
    }
}
