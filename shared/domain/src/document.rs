//! A YAML or JSON text as a tree in which every value and every key knows its line and column.
//!
//! Readers of scenarios and of the configuration walk this tree, so that they can report all
//! faults at once, each with its place. This module knows no key by name and must never decide
//! what a document means; it never follows an alias, an include or a reference.

mod distance;
mod duration;
pub mod form;
mod read;
mod remedy;

use std::fmt;

pub use duration::parse_duration;

/// A place in a text: line and column, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// Value of a document with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentNode {
    /// The value itself.
    pub value: Value,
    /// Position of its start; for a block text (`|`, `>`), its first line of content.
    pub at: Position,
    /// The text of a plain (unquoted) scalar as it was written.
    source: Option<String>,
}

/// The kinds of values that a document is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: `null`, `~`, or no text at all after a key.
    Null,
    /// `true` or `false`; `yes`, `no`, `on` and `off` are strings.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A finite number with a fraction or an exponent.
    Float(f64),
    /// A text.
    String(String),
    /// A list in its order.
    List(Vec<DocumentNode>),
    /// A mapping in the order of the file, each key once.
    Map(Vec<(DocumentKey, DocumentNode)>),
}

/// The key of a mapping with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentKey {
    /// The key as text; a number as a key is its text.
    pub name: String,
    /// Position of the start of the key.
    pub at: Position,
}

/// Fault of an input: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// The place in the text, where there is a text.
    pub at: Option<Position>,
    /// The place in the tree as a JSON pointer; empty for the whole document.
    pub pointer: String,
    /// Description of the fault.
    pub message: String,
    /// Remedy, where one is known.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault of `node`, which stands at `pointer`.
    pub fn new(node: &DocumentNode, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::placed(Some(node.at), pointer, message)
    }

    /// A fault at a place that no node stands at, such as a key; or without any place.
    pub fn placed(at: Option<Position>, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at, pointer: pointer.into(), message: message.into(), hint: None }
    }

    /// The same fault with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A key that nobody knows; the hint names the nearest of the `known` ones.
    pub fn unknown_key<'a>(
        key: &DocumentKey,
        parent_pointer: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let fault = Self::placed(
            Some(key.at),
            pointer_to(parent_pointer, &key.name),
            format!("unknown key `{}`", key.name),
        );
        match nearest(&key.name, known) {
            Some(name) => fault.hint(format!("did you mean `{name}`?")),
            None => fault,
        }
    }
}

/// First words of messages that go on from the name of the field.
const VERBS: &[&str] = &[
    "are",
    "cannot be",
    "contains",
    "ends",
    "has",
    "holds",
    "is",
    "lies",
    "may",
    "must",
    "names",
    "needs",
    "stands",
    "would",
];

impl Fault {
    /// The field and its fault as a person says it: `id is missing`, ``notify.url: `x` is no address``.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (name, message) = (name_of(&self.pointer), &self.message);
        let begins_with =
            |words: &str| message.strip_prefix(words).is_some_and(|rest| rest.starts_with([' ', ':']));
        match (VERBS.iter().any(|verb| begins_with(verb)), name.is_empty()) {
            (true, true) => format!("the body {message}"),
            (true, false) => format!("{name} {message}"),
            (false, false) if !begins_with(&name) => format!("{name}: {message}"),
            (false, _) => message.clone(),
        }
    }
}

/// The name of the field at a JSON pointer as a person writes it: `notify.url`, `after[0].order`.
pub fn name_of(pointer: &str) -> String {
    let mut name = String::with_capacity(pointer.len());
    for part in pointer.strip_prefix('/').unwrap_or(pointer).split('/').filter(|part| !part.is_empty()) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            name.push_str(&format!("[{part}]"));
        } else {
            let dot = if name.is_empty() { "" } else { "." };
            name.push_str(dot);
            name.push_str(&part);
        }
    }
    name
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(formatter, "{at}: {}", self.message)?,
            None => formatter.write_str(&self.sentence())?,
        }
        match &self.hint {
            Some(hint) => write!(formatter, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Bounds of a document. What goes beyond is a fault, found before the tree is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentLimits {
    /// The length of the text in bytes.
    pub bytes: usize,
    /// The number of keys and values.
    pub nodes: usize,
    /// Greatest depth of lists and mappings.
    pub depth: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        // The reader needs up to 33 kB of stack for each level in a debug build, and the threads
        // of the runtime have 2 MiB: 64 levels overflowed them, 32 leave half.
        Self { bytes: 1024 * 1024, nodes: 100_000, depth: 32 }
    }
}

/// Reads one YAML or JSON document.
///
/// Repeated keys, aliases, merge keys, several documents, numbers that 64 bits do not hold, and
/// whatever goes beyond `limits` are faults. The YAML reader stops at the first fault of form, so
/// the list has one entry today; readers of the tree add theirs and report all of them.
pub fn parse(text: &str, limits: &DocumentLimits) -> Result<DocumentNode, Vec<Fault>> {
    read::parse(text, limits)
}

impl DocumentNode {
    /// A node that was not read from a text, such as one from an environment variable.
    pub fn new(value: Value, at: Position) -> Self {
        Self { value, at, source: None }
    }

    /// The value under a key, where this is a mapping that has it.
    pub fn get(&self, name: &str) -> Option<&DocumentNode> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The key and its value, where this is a mapping that has it.
    pub fn entry(&self, name: &str) -> Option<(&DocumentKey, &DocumentNode)> {
        let entries = self.as_map()?;
        entries.iter().find(|(key, _)| key.name == name).map(|(key, node)| (key, node))
    }

    /// True if this is nothing at all.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The text, where this is one. A plain number is not a text; see [`DocumentNode::source_text`].
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, where this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    /// The whole number, where this is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self.value {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// The number, whole or not, where this is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self.value {
            Value::Float(number) => Some(number),
            // Settings and limits are far below 2^53, where the conversion would round.
            Value::Integer(number) => Some(number as f64),
            _ => None,
        }
    }

    /// The items, where this is a list.
    pub fn as_list(&self) -> Option<&[DocumentNode]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries in their order, where this is a mapping.
    pub fn as_map(&self) -> Option<&[(DocumentKey, DocumentNode)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The text of a plain scalar as it was written: `079` of the number 79.
    pub fn source_text(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// True if reading a plain scalar as a number lost something of its text that a telephone
    /// number, an account or a version would need: `079`, `1.50`, `0x1f`.
    pub fn changed_by_typing(&self) -> bool {
        let Some(source) = self.source_text() else {
            return false;
        };
        let digits = source.trim_start_matches(['+', '-']);
        let leading_zero = digits.len() > 1
            && digits.starts_with('0')
            && !matches!(digits.as_bytes()[1], b'.' | b'e' | b'E');
        match self.value {
            Value::Integer(_) => leading_zero || source.starts_with('+') || digits.contains('_'),
            Value::Float(number) => {
                let trailing_zero = digits.contains('.') && digits.ends_with('0');
                leading_zero
                    || (trailing_zero && !digits.ends_with(".0"))
                    || source.parse::<f64>() != Ok(number)
            }
            _ => false,
        }
    }

    /// The value without places.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(flag) => (*flag).into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::String(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(DocumentNode::to_json).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|(key, node)| (key.name.clone(), node.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    /// The kind of the value in words, for messages: `a list`.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::String(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// The JSON pointer of a member of what stands at `parent`.
pub fn pointer_to(parent: &str, member: &str) -> String {
    format!("{parent}/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// The known name that `name` was most probably meant to be.
///
/// Counts letters that are missing, superfluous, wrong, or swapped with their neighbour, and
/// accepts one mistake per three letters of the name, three at most, so that nothing far-fetched
/// is proposed. Case does not count.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    let tolerance = wanted.len().div_ceil(3).min(3);
    known
        .into_iter()
        .filter_map(|candidate| {
            let letters: Vec<char> = candidate.to_lowercase().chars().collect();
            // A length that differs by more is too many mistakes already, and comparing takes its time.
            let is_near = letters.len().abs_diff(wanted.len()) <= tolerance;
            is_near.then(|| (distance::mistakes(&wanted, &letters), candidate))
        })
        .filter(|(count, _)| *count <= tolerance)
        .min_by_key(|(count, _)| *count)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests;
