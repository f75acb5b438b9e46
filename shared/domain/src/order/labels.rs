//! Labels of orders: pairs of key and value that clients choose, and the engine does not interpret (ORD-33).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{Fault, pointer_to};

/// Labels of an order, at most.
pub const MOST_LABELS: usize = 16;
/// Longest key, in bytes of UTF-8.
pub const MAX_KEY_BYTES: usize = 64;
/// Longest value, in bytes of UTF-8: an entry of the index by which orders are found has room for it.
pub const MAX_VALUE_BYTES: usize = 255;

/// Labels of an order, by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Reads the object that a client sent.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer below this one.
    pub fn read(labels: Map<String, Value>, pointer: &str) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        if labels.len() > MOST_LABELS {
            let message = format!("has {} labels: at most {MOST_LABELS} are allowed", labels.len());
            return Err(vec![Fault::placed(None, pointer, message)]);
        }
        let mut read = BTreeMap::new();
        for (key, value) in labels {
            let shown: String = key.chars().take(100).collect();
            let at = pointer_to(pointer, &shown);
            let why_not = match &value {
                _ if key.is_empty() => Some("a label needs a key".to_owned()),
                _ if key.len() > MAX_KEY_BYTES => {
                    Some(format!("its key is longer than {MAX_KEY_BYTES} bytes of UTF-8"))
                }
                _ if key.chars().any(char::is_control) => {
                    Some("its key must not contain control characters".to_owned())
                }
                Value::String(text) if text.len() > MAX_VALUE_BYTES => {
                    Some(format!("is longer than {MAX_VALUE_BYTES} bytes of UTF-8"))
                }
                Value::String(text) if text.chars().any(char::is_control) => {
                    Some("must not contain control characters".to_owned())
                }
                Value::String(_) => None,
                _ => Some("must be text".to_owned()),
            };
            match (why_not, value) {
                (Some(message), _) => faults.push(Fault::placed(None, at, message)),
                (None, Value::String(text)) => drop(read.insert(key, text)),
                (None, _) => {}
            }
        }
        if faults.is_empty() { Ok(Self(read)) } else { Err(faults) }
    }

    /// Labels as they are stored; what cannot be read has none.
    #[must_use]
    pub fn of_stored(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// JSON by which they are stored; none without labels.
    #[must_use]
    pub fn stored(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.to_value().to_string())
    }

    /// Labels as an object.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect::<Map<_, _>>().into()
    }

    /// True for an order without labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels, unless there are none.
    #[must_use]
    pub fn given(&self) -> Option<&Self> {
        (!self.is_empty()).then_some(self)
    }

    /// Keys with their values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(labels: Value) -> Result<Labels, Vec<String>> {
        let Value::Object(labels) = labels else { panic!("labels are an object") };
        Labels::read(labels, "/labels")
            .map_err(|faults| faults.into_iter().map(|fault| fault.pointer).collect())
    }

    #[test]
    fn ord_33_up_to_sixteen_labels_of_any_text_are_taken() {
        let many = |count: usize| (0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<Map<_, _>>();
        assert!(read(Value::Object(many(16))).is_ok());
        assert_eq!(read(Value::Object(many(17))), Err(vec!["/labels".to_owned()]));
        let strange = json!({"a.b/c": "", "ключ ": "é".repeat(127), "k".repeat(64): "x".repeat(255)});
        assert_eq!(read(strange.clone()).unwrap().to_value(), strange);
    }

    #[test]
    fn ord_33_all_faults_of_labels_are_reported_at_once() {
        let wrong =
            json!({"": "a", "n": 1, "l": "x".repeat(256), "c": "a\nb", "k\u{7f}": "x", "ok": "y", "z": null});
        let mut pointers = read(wrong).unwrap_err();
        pointers.sort();
        assert_eq!(
            pointers,
            ["/labels/", "/labels/c", "/labels/k\u{7f}", "/labels/l", "/labels/n", "/labels/z"]
        );
        assert!(read(json!({"k".repeat(65): "x"})).is_err());
    }

    proptest! {
        #[test]
        fn ord_33_labels_are_stored_as_they_are(labels in prop::collection::btree_map("\\PC{1,16}", "\\PC{0,60}", 0..=16)) {
            let given: Map<String, Value> = labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            let read = Labels::read(given, "/labels").unwrap();
            prop_assert_eq!(&Labels::of_stored(read.stored().as_deref()), &read);
            prop_assert_eq!(read.stored().is_none(), labels.is_empty());
        }
    }
}
