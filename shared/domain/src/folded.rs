//! JSON values that are kept as their text while nobody looks at them.
//!
//! The tree of a list of numbers is sixteen to thirty times as large as its text. A stage holds the
//! answers that it got for as long as it runs, mostly waiting for the next one: so the tree of a large
//! value is made when something asks for it, and dropped before the stage turns to the world.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::depth::{MAX_DEPTH, is_within};

/// Bytes of text below which the tree stays: it is small, and making it again would cost more.
const SMALL_BYTES: usize = 1024;
/// Deeper values stay trees: a text of them might not be read again. An answer has a body inside, and named
/// answers stand in a map.
const READ_AGAIN: usize = MAX_DEPTH + 3;

/// A JSON value, as text, as a tree, or both. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Folded {
    bytes: usize,
    /// Set where the value is large; what the tree is made of again.
    text: Option<Arc<str>>,
    tree: OnceLock<Arc<Value>>,
}

impl Folded {
    /// Reads a text.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let value: Value = serde_json::from_str(text)?;
        Ok(Self::spelled(value, Some(text)))
    }

    /// A value whose text may be known.
    #[must_use]
    pub fn spelled(value: Value, known: Option<&str>) -> Self {
        let bytes = known.map_or_else(|| text_bytes(&value), str::len);
        let text: Option<Arc<str>> = (bytes > SMALL_BYTES && is_within(&value, READ_AGAIN))
            .then(|| known.map_or_else(|| value.to_string().into(), Arc::from));
        Self { bytes, text, tree: OnceLock::from(Arc::new(value)) }
    }

    /// A value of about `bytes` bytes of text: what is small is not counted.
    #[must_use]
    pub fn about(value: Value, bytes: usize) -> Self {
        if bytes <= SMALL_BYTES {
            return Self { bytes, text: None, tree: OnceLock::from(Arc::new(value)) };
        }
        Self::from(value)
    }

    /// The value; its tree is made if it is not there.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.tree.get_or_init(|| {
            // Only a text that was read before, or written from a tree, gets here.
            Arc::new(
                self.text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
            )
        })
    }

    /// The value as an owned one.
    #[must_use]
    pub fn into_value(self) -> Value {
        let _ = self.value();
        self.tree.into_inner().map_or(Value::Null, Arc::unwrap_or_clone)
    }

    /// The value as a map; an empty one where it is none.
    #[must_use]
    pub fn into_map(self) -> Map<String, Value> {
        match self.into_value() {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// Drops the tree if there is a text to make it from again.
    pub fn fold(&mut self) {
        if self.text.is_some() {
            self.tree = OnceLock::new();
        }
    }

    /// The same, without the tree where it is large.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.fold();
        self
    }

    /// Length of its text.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if both hold the same text: it is in memory once.
    #[must_use]
    pub fn shares_with(&self, other: &Self) -> bool {
        matches!((&self.text, &other.text), (Some(ours), Some(theirs)) if Arc::ptr_eq(ours, theirs))
    }
}

impl From<Value> for Folded {
    fn from(value: Value) -> Self {
        Self::spelled(value, None)
    }
}

impl From<Arc<Value>> for Folded {
    fn from(value: Arc<Value>) -> Self {
        Self::from(Arc::unwrap_or_clone(value))
    }
}

impl PartialEq for Folded {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Serialize for Folded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Folded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

/// Length of a value as JSON text.
#[must_use]
pub fn text_bytes(value: &(impl Serialize + ?Sized)) -> usize {
    let mut counted = ByteCount(0);
    // Counting cannot fail; JSON values always serialize.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

/// Counts the bytes of a serialized value without keeping them.
struct ByteCount(usize);

impl std::io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn qlt_3_a_large_value_is_kept_as_text_and_read_again_when_asked_for() {
        let value = json!({"items": (0..2000).collect::<Vec<i64>>(), "total": 0.1});
        let mut folded = Folded::from(value.clone());
        assert_eq!(folded.bytes(), value.to_string().len());
        let copy = folded.clone();
        folded.fold();
        assert!(folded.tree.get().is_none() && folded.shares_with(&copy));
        assert_eq!(folded.value(), &value);
        folded.fold();
        assert_eq!(serde_json::to_value(&folded).unwrap(), value);
        assert_eq!(serde_json::from_value::<Folded>(value.clone()).unwrap(), folded);
        assert_eq!(folded.into_value(), value);
    }

    #[test]
    fn what_is_small_or_too_deep_to_be_read_again_stays_a_tree() {
        let deep = |depth: usize| (0..depth).fold(json!("x".repeat(2000)), |inner, _| json!([inner]));
        for (value, stays) in
            [(json!({"a": 1}), true), (deep(MAX_DEPTH), false), (deep(127), true), (deep(500), true)]
        {
            let mut folded = Folded::from(value.clone());
            folded.fold();
            assert_eq!(folded.tree.get().is_some(), stays);
            assert_eq!(folded.value(), &value);
        }
    }

    proptest::proptest! {
        #[test]
        fn qlt_8_no_text_breaks_the_reader_and_a_value_comes_back(text in crate::any::text(), value in crate::any::json()) {
            let _ = Folded::read(&text);
            let written = value.to_string();
            let read = Folded::read(&written).unwrap();
            let expected: Value = serde_json::from_str(&written).unwrap();
            proptest::prop_assert_eq!(read.value(), &expected);
            proptest::prop_assert_eq!(read.into_value(), expected);
        }
    }
}
