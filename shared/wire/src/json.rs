//! JSON as clients send it, read so that nothing of it is lost silently: a key that stands twice in one
//! object is refused, because only one of its values could be kept. Knows no key by name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads a text.
///
/// # Errors
/// The text is not JSON, or a key stands twice; with the place.
pub fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Strict>(text).map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let shown: String = key.chars().take(100).collect();
                return Err(A::Error::custom(format!("the key `{shown}` stands twice")));
            }
            let Strict(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::strategy::Strategy as _;

    use super::*;

    #[test]
    fn ord_1_a_text_is_read_as_it_stands() {
        let text = r#"{"a": [null, true, -1, 18446744073709551615, 0.5, "é\u0041"], "b": {"a": {}}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for bad in ["", "{", "{} {}", "[1,]", "1e999", r#""\ud800""#, &"[".repeat(4000)] {
            let (ours, theirs) = (parse(bad.as_bytes()), serde_json::from_str::<Value>(bad));
            assert_eq!(ours.unwrap_err().to_string(), theirs.unwrap_err().to_string(), "{bad}");
        }
    }

    #[test]
    fn qlt_8_a_key_that_stands_twice_is_refused() {
        for (text, key) in [(r#"{"id": "x", "id": "y"}"#, "id"), (r#"[{"params": {"a": 1, "a": 1}}]"#, "a")] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the key `{key}` stands twice at line 1 column ")), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ord_1_qlt_8_no_bytes_break_the_reader_and_what_it_takes_is_what_json_is(
            bytes in proptest::prop_oneof![
                proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..40),
                "[\\[\\]{}:,\"a0-9.eE+ntrue -]{0,24}".prop_map(String::into_bytes),
            ],
        ) {
            match (parse(&bytes), serde_json::from_slice::<Value>(&bytes)) {
                (Ok(ours), Ok(theirs)) => {
                    proptest::prop_assert_eq!(&ours, &theirs);
                    proptest::prop_assert_eq!(parse(ours.to_string().as_bytes()).unwrap(), ours);
                }
                (Ok(_), Err(error)) => proptest::prop_assert!(false, "no JSON: {}", error),
                // What stands twice is all that we refuse beyond it.
                (Err(error), Ok(_)) => proptest::prop_assert!(error.to_string().contains("stands twice")),
                (Err(_), Err(_)) => {}
            }
        }
    }
}
