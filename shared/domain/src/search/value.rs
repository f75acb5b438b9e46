//! Values of conditions: the form in which clients write them, and how a value of each type is read and kept.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::MOST_IDS;
use crate::document::parse_duration;
use crate::id::{UnknownWord, Vocabulary};
use crate::time;

/// Longest text of a condition, in bytes: as long as the longest field of an order.
const MAX_TEXT_BYTES: usize = 4096;
/// Values by names that one search asks for at most.
const MOST_VALUES: usize = 20;

/// Form of the value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// A text.
    Text,
    /// Texts, apart by commas in a query.
    List,
    /// True or false.
    Flag,
    /// A number of 32 bits.
    Number,
    /// A time, or a duration back from now.
    Time,
    /// Values by names, which stand behind a dot in a query.
    Values,
}

/// A value of a condition; the default is no condition.
pub(super) trait ConditionValue: Default + PartialEq {
    /// The form in which clients write it.
    const KIND: ConditionKind;
    /// The words that it takes; empty where it takes any text.
    const WORDS: &'static [&'static str] = &[];

    /// Reads a value, which has `most` entries at most where it is a list, or says what is wrong with it.
    fn read(value: &Value, most: usize, now: Timestamp) -> Result<Self, Vec<String>>;

    /// The value in a form that is read again.
    fn kept(&self) -> Value;
}

/// True if a value is no condition.
pub(super) fn is_absent<T: ConditionValue>(value: &T) -> bool {
    *value == T::default()
}

/// Keeps a value.
pub(super) fn serialize<T: ConditionValue, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.kept().serialize(to)
}

/// Reads a kept value, in which times are absolute.
pub(super) fn deserialize<'de, T: ConditionValue, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    if value.is_null() {
        return Ok(T::default());
    }
    T::read(&value, MOST_IDS, Timestamp::UNIX_EPOCH)
        .map_err(|messages| serde::de::Error::custom(messages.join("; ")))
}

impl ConditionValue for Option<String> {
    const KIND: ConditionKind = ConditionKind::Text;

    fn read(value: &Value, _: usize, _: Timestamp) -> Result<Self, Vec<String>> {
        checked(value, false).map(Some).map_err(|message| vec![message])
    }

    fn kept(&self) -> Value {
        self.clone().into()
    }
}

impl ConditionValue for Vec<String> {
    const KIND: ConditionKind = ConditionKind::List;

    fn read(value: &Value, most: usize, _: Timestamp) -> Result<Self, Vec<String>> {
        let items: Self = match value {
            Value::Array(items) => items.iter().map(|item| checked(item, true)).collect(),
            one => checked(one, true).map(|one| vec![one]),
        }
        .map_err(|message| vec![message])?;
        match (1..=most).contains(&items.len()) {
            true => Ok(items),
            false => Err(vec![format!("must have 1 to {most} values")]),
        }
    }

    fn kept(&self) -> Value {
        self.as_slice().into()
    }
}

impl<T> ConditionValue for Option<T>
where
    T: Vocabulary + Display + FromStr<Err = UnknownWord> + PartialEq,
{
    const KIND: ConditionKind = ConditionKind::Text;
    const WORDS: &'static [&'static str] = T::WORDS;

    fn read(value: &Value, _: usize, _: Timestamp) -> Result<Self, Vec<String>> {
        let word = checked(value, false).map_err(|message| vec![message])?;
        word.parse().map(Some).map_err(|unknown: UnknownWord| vec![unknown.to_string()])
    }

    fn kept(&self) -> Value {
        self.as_ref().map(ToString::to_string).into()
    }
}

impl<T> ConditionValue for Vec<T>
where
    T: Vocabulary + Display + FromStr<Err = UnknownWord> + PartialEq,
{
    const KIND: ConditionKind = ConditionKind::List;
    const WORDS: &'static [&'static str] = T::WORDS;

    fn read(value: &Value, _: usize, now: Timestamp) -> Result<Self, Vec<String>> {
        let mut wrong = Vec::new();
        let words = Vec::<String>::read(value, T::WORDS.len(), now)?;
        let read = |word: &String| word.parse().map_err(|unknown: UnknownWord| unknown.to_string());
        let words =
            words.iter().map(read).filter_map(|read| read.map_err(|is| wrong.push(is)).ok()).collect();
        if wrong.is_empty() { Ok(words) } else { Err(wrong) }
    }

    fn kept(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }
}

impl ConditionValue for Option<bool> {
    const KIND: ConditionKind = ConditionKind::Flag;

    fn read(value: &Value, _: usize, _: Timestamp) -> Result<Self, Vec<String>> {
        let read = match value {
            Value::Bool(is) => Some(*is),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        read.map(Some).ok_or_else(|| vec!["must be true or false".to_owned()])
    }

    fn kept(&self) -> Value {
        (*self).into()
    }
}

impl ConditionValue for Option<i32> {
    const KIND: ConditionKind = ConditionKind::Number;

    fn read(value: &Value, _: usize, _: Timestamp) -> Result<Self, Vec<String>> {
        let read = value.as_i64().and_then(|number| i32::try_from(number).ok());
        read.map(Some).ok_or_else(|| vec!["must be a version, like 1".to_owned()])
    }

    fn kept(&self) -> Value {
        (*self).into()
    }
}

impl ConditionValue for Option<Timestamp> {
    const KIND: ConditionKind = ConditionKind::Time;

    fn read(value: &Value, _: usize, now: Timestamp) -> Result<Self, Vec<String>> {
        let text = checked(value, false).map_err(|message| vec![message])?;
        let back = || now.checked_sub(SignedDuration::try_from(parse_duration(&text).ok()?).ok()?).ok();
        let read = time::read(&text).or_else(|| back().and_then(time::within_range));
        read.map(Some)
            .ok_or_else(|| vec![format!("must be {}, or a duration back from now, such as 2h", time::RANGE)])
    }

    fn kept(&self) -> Value {
        self.map(time::shown).into()
    }
}

impl ConditionValue for BTreeMap<String, Value> {
    const KIND: ConditionKind = ConditionKind::Values;

    fn read(value: &Value, _: usize, _: Timestamp) -> Result<Self, Vec<String>> {
        let has_nul = |text: &str| text.contains('\0');
        let message = match value {
            Value::Object(values) if values.len() > MOST_VALUES => {
                format!("asks for more than {MOST_VALUES} values")
            }
            Value::Object(values)
                if values
                    .iter()
                    .any(|(path, value)| has_nul(path) || value.as_str().is_some_and(has_nul)) =>
            {
                "contains the character NUL".to_owned()
            }
            Value::Object(values) => {
                return Ok(values.iter().map(|(path, value)| (path.clone(), value.clone())).collect());
            }
            _ => "must be an object of names and values, such as {\"customer.id\": 7}".to_owned(),
        };
        Err(vec![message])
    }

    fn kept(&self) -> Value {
        self.iter().map(|(path, value)| (path.clone(), value.clone())).collect()
    }
}

impl ConditionValue for BTreeMap<String, String> {
    const KIND: ConditionKind = ConditionKind::Values;

    fn read(value: &Value, most: usize, now: Timestamp) -> Result<Self, Vec<String>> {
        let values = BTreeMap::<String, Value>::read(value, most, now)?;
        let texts = values.into_iter().map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
            _ => Err(vec![format!("`{name}` must be a text, a number or a truth value")]),
        });
        texts.collect()
    }

    fn kept(&self) -> Value {
        self.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect()
    }
}

/// A text that the database takes; an empty one stands for none in a list.
fn checked(value: &Value, may_be_empty: bool) -> Result<String, String> {
    match value.as_str() {
        None => Err("must be text".to_owned()),
        Some("") if !may_be_empty => Err("must not be empty".to_owned()),
        Some(text) if text.len() > MAX_TEXT_BYTES => Err(format!("is longer than {MAX_TEXT_BYTES} bytes")),
        Some(text) if text.contains('\0') => Err("contains the character NUL".to_owned()),
        Some(text) => Ok(text.to_owned()),
    }
}
