//! Turns YAML text into the tree of [`super::DocumentNode`]. Must never build more than the limits allow,
//! whatever the text: aliases are refused, so that a small text cannot stand for a large tree.

use crate::number::saturated;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Error, Location, Spanned};

use super::remedy::remedy;
use super::{DocumentKey, DocumentLimits, DocumentNode, Fault, Position, Value};

/// See [`super::parse`].
pub(super) fn parse(text: &str, limits: &DocumentLimits) -> Result<DocumentNode, Vec<Fault>> {
    if text.len() > limits.bytes {
        let message = format!("the document has {} bytes, {} are allowed", text.len(), limits.bytes);
        return Err(vec![Fault::placed(None, "", message)]);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
            max_nodes: limits.nodes,
            // Two events for each container, one for each scalar, a few for the document.
            max_events: limits.nodes.saturating_mul(2).saturating_add(16),
            max_depth: limits.depth,
            max_total_scalar_bytes: limits.bytes,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        emit_comments: false,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    let raw = serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options)
        .map_err(|error| vec![fault(&error, text, limits)])?;
    let mut faults = Vec::new();
    let tree = node(raw, text, &mut faults);
    if faults.is_empty() { Ok(tree) } else { Err(faults) }
}

/// A value as serde hands it over, before the source text is attached.
enum Raw {
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

/// Recursion is bounded by [`DocumentLimits::depth`], which the reader enforces.
fn node(raw: Spanned<Raw>, text: &str, faults: &mut Vec<Fault>) -> DocumentNode {
    let at = position(&raw.referenced);
    let (value, source) = match raw.value {
        Raw::Scalar(value) => {
            let source = plain_text(&raw.referenced, text, &value);
            (value, source)
        }
        Raw::List(items) => {
            (Value::List(items.into_iter().map(|item| node(item, text, faults)).collect()), None)
        }
        Raw::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| {
                let at = position(&key.referenced);
                (DocumentKey { name: key.value, at }, node(value, text, faults))
            });
            (Value::Map(entries.collect()), None)
        }
    };
    if let (Value::Float(_), Some(source)) = (&value, &source)
        && let Some(digits) = long_integer(source)
    {
        let message = format!("the number {digits} does not fit 64 bits");
        faults.push(Fault::placed(Some(at), "", message).hint("put it in quotes to keep it"));
    }
    DocumentNode { value, at, source }
}

/// A whole number so long that the reader made a rounded one of it. Small ones with leading zeros
/// are left to [`DocumentNode::changed_by_typing`].
fn long_integer(source: &str) -> Option<&str> {
    let digits = source.trim_start_matches(['+', '-', '0']);
    (digits.len() > 18 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(source)
}

/// Text as it stands in the file, unless it is quoted, a block, or a text over several lines.
fn plain_text(location: &Location, text: &str, value: &Value) -> Option<String> {
    let start = usize::try_from(location.span().byte_offset()?).ok()?;
    let length = usize::try_from(location.span().byte_len()?).ok()?;
    let source = text.get(start..start.checked_add(length)?)?.trim_end();
    let plain = match value {
        Value::String(read) => read == source,
        _ => !source.is_empty(),
    };
    plain.then(|| source.to_owned())
}

fn position(location: &Location) -> Position {
    // A location that the reader does not know has line 0; the first place is the best answer.
    let number = |count: u64| saturated::<u32>(count).max(1);
    Position { line: number(location.line()), column: number(location.column()) }
}

fn fault(error: &Error, text: &str, limits: &DocumentLimits) -> Fault {
    let at = error.location().filter(|location| location.line() > 0).map(|place| position(&place));
    let (message, hint) = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            (format!("the key `{key}` is given twice"), Some("remove one of the two"))
        }
        Error::DuplicateMappingKey { key: None, .. } => {
            ("a key is given twice".to_owned(), Some("remove one of the two"))
        }
        Error::MergeKeyNotAllowed { .. } => {
            ("merge keys (`<<`) are not allowed".to_owned(), Some("write the keys out"))
        }
        Error::NonFiniteFloat { value, .. } => {
            (format!("`{value}` is not a finite number"), Some("put it in quotes if it is a text"))
        }
        Error::UnsupportedTag { tag, .. } => (format!("the tag `{tag}` is not allowed"), Some("remove it")),
        Error::Unexpected { expected: "string scalar", .. } => {
            ("a key must be a plain word or a text in quotes".to_owned(), None)
        }
        Error::Budget { breach, .. } => over_budget(breach, limits),
        other => (without_place(&other.to_string()).to_owned(), None),
    };
    let hint = hint.map(str::to_owned).or_else(|| remedy(&message, at, text));
    Fault { at, pointer: String::new(), message, hint }
}

fn over_budget(breach: &BudgetBreach, limits: &DocumentLimits) -> (String, Option<&'static str>) {
    match breach {
        BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => {
            ("anchors and aliases (`&`, `*`) are not allowed".to_owned(), Some("write the value out"))
        }
        BudgetBreach::Documents { .. } => {
            ("a second document starts here".to_owned(), Some("a file may contain only one document"))
        }
        BudgetBreach::Depth { .. } => (format!("nested deeper than {} levels", limits.depth), None),
        _ => (format!("the document has more than {} keys and values", limits.nodes), None),
    }
}

/// The reader ends its messages with the place, which stands in front of ours already.
fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |end| &message[..end])
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Null))
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Bool(flag)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Integer(number)))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Raw, E> {
        i64::try_from(number).map(|number| Raw::Scalar(Value::Integer(number))).map_err(|_| too_large(number))
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Raw, E> {
        Err(too_large(number))
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<Raw, E> {
        Err(too_large(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Float(number)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Raw, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::String(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = mapping.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

fn too_large<E: de::Error>(number: impl fmt::Display) -> E {
    E::custom(format_args!("the number {number} does not fit 64 bits; put it in quotes"))
}
