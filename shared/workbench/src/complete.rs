//! Completion for people who write scenarios: what may stand at a place of a text that is not finished.
//!
//! Keys and words come from the schema of the file, names of states, requests, parameters and variables from the text itself.
//! The text need not be sound: only its indentation and its brackets up to the place are read.

mod place;
mod schema;

use std::collections::BTreeSet;

use pagurus_scenario::source;

use self::place::{PlaceRole, SeenKey, TextPlace, keys_of, place_at};

/// Kind of something that may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A key of the file.
    Key,
    /// A word of a closed list.
    Word,
    /// A state of the scenario.
    State,
    /// A name inside an expression.
    Name,
}

impl CompletionKind {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Word => "word",
            Self::State => "state",
            Self::Name => "name",
        }
    }
}

/// Something that may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    /// Text that is shown.
    pub label: String,
    /// Kind.
    pub kind: CompletionKind,
    /// Sentence about it.
    pub detail: Option<String>,
    /// Text that takes the place of what was typed.
    pub insert: String,
}

/// Items that may be written at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// Column at which what was typed begins, counted from 1 in units of UTF-16.
    pub column: usize,
    /// Items that go on with what was typed, by kind and name.
    pub items: Vec<CompletionItem>,
}

/// Facts that every expression can name.
const ROOTS: [(&str, &str); 10] = [
    ("params", "Parameters of the order."),
    ("vars", "Variables, set by `save` and by scripts."),
    ("order", "Facts about the order."),
    ("config", "Constants of the deployment."),
    ("secret", "Secrets of the deployment."),
    ("callbacks", "Answers to requests, by the name of the request."),
    ("response", "The answer to the last call."),
    ("error", "The last failure that went to the scenario."),
    ("request", "The request that this action registers."),
    ("event", "The call from outside that is being handled."),
];

/// Members of roots that are the same in every scenario.
const MEMBERS: [(&str, &[&str]); 4] = [
    ("order", &["id", "transactionId", "attempt", "queue", "priority"]),
    ("response", &["status", "body", "headers"]),
    ("error", &["class", "message", "system", "status"]),
    ("request", &["id", "url"]),
];

/// Returns what may be written at a place of a text. Lines and columns count from 1, columns in units of UTF-16.
#[must_use]
pub fn complete(text: &str, line: usize, column: usize) -> Completions {
    let place = place_at(text, line, column);
    let keys = keys_of(text);
    let mut items = match &place.expression {
        Some(expression) => names(expression, &keys),
        None => written(&place, &keys),
    };
    items.retain(|item| item.label.starts_with(&place.typed) && item.label != place.typed);
    Completions { column: place.column, items }
}

/// Keys, words and states.
fn written(place: &TextPlace, keys: &[SeenKey]) -> Vec<CompletionItem> {
    let schema = source::editor_schema();
    let is_operation = keys.iter().any(|key| key.path == ["kind"] && key.value == "operation");
    let schemas = schema::at(&schema, &place.path, is_operation);
    let mut items = Vec::new();
    if place.role != PlaceRole::Value {
        let members = schema::members(&schema, &schemas, is_operation);
        items.extend(members.into_iter().map(|(name, detail)| key(name, detail)));
    }
    if place.role != PlaceRole::Key {
        let words = schema::words(&schema, &schemas);
        items.extend(words.into_iter().map(|word| plain(&word, CompletionKind::Word)));
        let states = if names_a_state(&place.path) { states(keys) } else { BTreeSet::new() };
        items.extend(states.into_iter().map(|name| plain(name, CompletionKind::State)));
    }
    items
}

/// True if the value at this path is the name of a state.
fn names_a_state(path: &[String]) -> bool {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(words.as_slice(), ["initialState"] | ["targetStates", _] | ["states", _, "on", _])
}

/// Names inside of an expression, behind what stands before its last dot.
fn names(expression: &str, keys: &[SeenKey]) -> Vec<CompletionItem> {
    let Some((root, _)) = expression.rsplit_once('.') else {
        let root = |(name, detail): &(&str, &str)| CompletionItem {
            detail: Some((*detail).to_owned()),
            ..plain(name, CompletionKind::Name)
        };
        return ROOTS.iter().map(root).collect();
    };
    let own: BTreeSet<&str> = match root {
        "params" => under(keys, |path| matches!(path, ["params", "properties", name] if !name.is_empty())),
        "vars" => under(keys, |path| matches!(path, [.., "save", _])),
        "callbacks" => {
            let named = keys.iter().filter(|key| key.path.last().is_some_and(|last| last == "request"));
            named.map(|key| key.value.as_str()).filter(|name| !name.is_empty()).collect()
        }
        _ => BTreeSet::new(),
    };
    let common = MEMBERS.iter().filter(|(name, _)| *name == root).flat_map(|(_, members)| *members).copied();
    own.into_iter().chain(common).map(|name| plain(name, CompletionKind::Name)).collect()
}

/// Last names of the paths that fit.
fn under(keys: &[SeenKey], fits: impl Fn(&[&str]) -> bool) -> BTreeSet<&str> {
    let fitting = keys.iter().filter(|key| {
        let words: Vec<&str> = key.path.iter().map(String::as_str).collect();
        fits(&words)
    });
    fitting.filter_map(|key| key.path.last().map(String::as_str)).collect()
}

fn states(keys: &[SeenKey]) -> BTreeSet<&str> {
    under(keys, |path| matches!(path, ["states", _]))
}

fn key(name: String, detail: Option<String>) -> CompletionItem {
    CompletionItem { insert: format!("{name}: "), label: name, kind: CompletionKind::Key, detail }
}

fn plain(name: &str, kind: CompletionKind) -> CompletionItem {
    CompletionItem { label: name.to_owned(), kind, detail: None, insert: name.to_owned() }
}

#[cfg(test)]
mod tests;
