//! Reads the mapping `execution.error_handling` of the configuration into rules and policies,
//! and reports everything that is wrong with it. Must never guess: what could mean two things is
//! a fault.

mod asynchronous;
mod keys;
mod policies;
mod rules;

use std::time::Duration;

use keys::{ASYNC, ASYNC_CLASSIFICATION, CLASSIFICATION, DEPLOYMENT, DURATION_CONTROL, RETRY, SYNC};
pub use keys::{RULES_OF_DEPLOYMENT, RULES_OF_SCENARIO};

use super::{DurationControl, ErrorPolicy, Retries, RetryMode};
use crate::document::form::Keys;
use crate::document::{DocumentKey, DocumentNode, Fault, Value, parse_duration, pointer_to};

/// Names of rules, classes and policies are shown in tables and metrics (DSP-9).
const MAX_NAME_CHARACTERS: usize = 64;

/// See [`ErrorPolicy::read`].
pub(super) fn error_policy(node: &DocumentNode) -> Result<ErrorPolicy, Vec<Fault>> {
    let mut reader = RetryReader { faults: Vec::new() };
    let mut errors = ErrorPolicy::default();
    for (key, value, at) in reader.mapping(node, "", &DEPLOYMENT) {
        match key.name.as_str() {
            "sync" => sync(&mut reader, value, &at, &mut errors),
            "retry_duration_control" => {
                for (_, value, at) in reader.mapping(value, &at, &DURATION_CONTROL) {
                    const MODES: &[(&str, DurationControl)] = &[
                        ("total", DurationControl::Total),
                        ("run_and_suspending_durations", DurationControl::RunAndSuspending),
                    ];
                    if let Some(mode) = reader.choice(value, &at, MODES) {
                        errors.duration_control = mode;
                    }
                }
            }
            _ => callbacks(&mut reader, value, &at, &mut errors),
        }
    }
    if reader.faults.is_empty() {
        return Ok(errors);
    }
    reader.faults.sort_by_key(|fault| fault.at);
    Err(reader.faults)
}

fn sync(reader: &mut RetryReader, node: &DocumentNode, pointer: &str, errors: &mut ErrorPolicy) {
    for (key, value, at) in reader.mapping(node, pointer, &SYNC) {
        match key.name.as_str() {
            "mode" => mode(reader, value, &at, &mut errors.retries),
            "classification" => {
                for (_, value, at) in reader.mapping(value, &at, &CLASSIFICATION) {
                    errors.rules = rules::rules(reader, value, &at);
                }
            }
            _ => retry(reader, value, &at, &mut errors.retries),
        }
    }
}

fn callbacks(reader: &mut RetryReader, node: &DocumentNode, pointer: &str, errors: &mut ErrorPolicy) {
    for (key, value, at) in reader.mapping(node, pointer, &ASYNC) {
        match key.name.as_str() {
            "mode" => mode(reader, value, &at, &mut errors.async_retries),
            "classification" => {
                for (_, value, at) in reader.mapping(value, &at, &ASYNC_CLASSIFICATION) {
                    errors.async_rules = asynchronous::rules(reader, value, &at);
                }
            }
            _ => retry(reader, value, &at, &mut errors.async_retries),
        }
    }
}

fn mode(reader: &mut RetryReader, node: &DocumentNode, pointer: &str, retries: &mut Retries) {
    const MODES: &[(&str, RetryMode)] = &[("retry", RetryMode::Retry), ("none", RetryMode::None)];
    retries.mode = reader.choice(node, pointer, MODES).unwrap_or(retries.mode);
}

fn retry(reader: &mut RetryReader, node: &DocumentNode, pointer: &str, retries: &mut Retries) {
    for (key, value, at) in reader.mapping(node, pointer, &RETRY) {
        match key.name.as_str() {
            "max_total_duration" => {
                if let Some(duration) = reader.duration(value, &at) {
                    retries.max_total_duration = Some(duration);
                }
            }
            "max_cycle_duration" => {
                if let Some(duration) = reader.duration(value, &at) {
                    retries.max_cycle_duration = Some(duration);
                }
            }
            _ => retries.policies = policies::policies(reader, value, &at),
        }
    }
}

/// True if a node is a mapping, or the nothing that stands for an empty one.
fn may_be_mapping(node: &DocumentNode) -> bool {
    node.as_map().is_some() || node.is_null()
}

/// Remedy for a word that only the other half of the configuration knows.
fn of_the_other_half(key: &str) -> Option<&'static str> {
    Some(match key {
        "exceptions" | "status_codes" => {
            "callbacks have `timeout: true`, `step_status_keywords` and `body_keywords`"
        }
        "timeout" => {
            "a request without an answer is an exception: `exceptions: [{name_keyword: ReadTimeout}]`"
        }
        "step_status_keywords" => "answers to HTTP calls have `status_codes` and `body_keywords`",
        "http" | "amqp" => "only rules under `async` tell these two apart",
        _ => return None,
    })
}

/// Collects faults while the tree is walked. Every method reports what it cannot read, so that
/// callers need not.
struct RetryReader {
    faults: Vec<Fault>,
}

impl RetryReader {
    fn fault(&mut self, node: &DocumentNode, pointer: &str, message: impl Into<String>) {
        self.faults.push(Fault::new(node, pointer, message));
    }

    fn fault_with_hint(&mut self, node: &DocumentNode, pointer: &str, message: String, hint: &str) {
        self.faults.push(Fault::new(node, pointer, message).hint(hint));
    }

    fn expected(&mut self, node: &DocumentNode, pointer: &str, what: &str) {
        self.fault(node, pointer, format!("expected {what}, found {}", node.kind()));
    }

    /// The entries with known keys, each with its pointer; nothing at all is an empty mapping.
    fn mapping<'n>(
        &mut self,
        node: &'n DocumentNode,
        pointer: &str,
        known: &Keys,
    ) -> Vec<(&'n DocumentKey, &'n DocumentNode, String)> {
        let mut entries = self.names(node, pointer);
        entries.retain(|(key, _, _)| {
            let is_known = known.has(&key.name);
            if !is_known {
                let fault = Fault::unknown_key(key, pointer, known.names());
                let other = of_the_other_half(&key.name).map(str::to_owned);
                self.faults.push(match (&fault.hint, other) {
                    (Some(_), _) => fault,
                    (None, Some(hint)) => fault.hint(hint),
                    (None, None) => {
                        fault.hint(format!("known here: {}", known.names().collect::<Vec<_>>().join(", ")))
                    }
                });
            }
            is_known
        });
        entries
    }

    /// The parts of a rule in the order of their table; each of them must be there.
    fn parts<'n>(
        &mut self,
        rule: &DocumentKey,
        node: &'n DocumentNode,
        pointer: &str,
        asked: &Keys,
    ) -> Vec<(&'n DocumentKey, &'n DocumentNode, String)> {
        let mut entries = self.mapping(node, pointer, asked);
        entries.sort_by_key(|(key, _, _)| asked.names().position(|name| name == key.name));
        for name in asked.names() {
            if !entries.iter().any(|(key, _, _)| key.name == name) {
                let fault = Fault::placed(Some(rule.at), pointer, format!("the rule has no `{name}`"));
                self.faults.push(
                    fault.hint("a rule needs `requests` to which it applies and `classes` that it assigns"),
                );
            }
        }
        entries
    }

    /// The entries of a mapping whose keys are free, each with its pointer.
    fn names<'n>(
        &mut self,
        node: &'n DocumentNode,
        pointer: &str,
    ) -> Vec<(&'n DocumentKey, &'n DocumentNode, String)> {
        match &node.value {
            Value::Null => Vec::new(),
            Value::Map(entries) => {
                entries.iter().map(|(key, value)| (key, value, pointer_to(pointer, &key.name))).collect()
            }
            _ => {
                self.expected(node, pointer, "a mapping");
                Vec::new()
            }
        }
    }

    /// Like [`RetryReader::names`], with the length of the names checked.
    fn named<'n>(
        &mut self,
        node: &'n DocumentNode,
        pointer: &str,
    ) -> Vec<(&'n DocumentKey, &'n DocumentNode, String)> {
        let entries = self.names(node, pointer);
        for (key, _, at) in &entries {
            if !(1..=MAX_NAME_CHARACTERS).contains(&key.name.chars().count()) {
                let message = format!("a name has 1 to {MAX_NAME_CHARACTERS} characters");
                self.faults.push(Fault::placed(Some(key.at), at, message));
            }
        }
        entries
    }

    /// The items of a list, each with its pointer.
    fn list<'n>(&mut self, node: &'n DocumentNode, pointer: &str) -> Vec<(&'n DocumentNode, String)> {
        let Some(items) = node.as_list() else {
            self.expected(node, pointer, "a list");
            return Vec::new();
        };
        let numbered = |(index, item)| (item, format!("{pointer}/{index}"));
        items.iter().enumerate().map(numbered).collect()
    }

    /// Like [`RetryReader::list`], with at least one item.
    fn filled_list<'n>(&mut self, node: &'n DocumentNode, pointer: &str) -> Vec<(&'n DocumentNode, String)> {
        if node.as_list().is_some_and(<[DocumentNode]>::is_empty) {
            let message = "the list is empty".to_owned();
            self.fault_with_hint(node, pointer, message, "give it an item, or leave the key out");
        }
        self.list(node, pointer)
    }

    /// A text that is not empty. A plain number or truth value is taken as it was written, since
    /// keywords such as `404` are often written without quotes.
    fn text<'n>(&mut self, node: &'n DocumentNode, pointer: &str) -> Option<&'n str> {
        let text = match node.value {
            Value::String(_) => node.as_str(),
            Value::Integer(_) | Value::Float(_) | Value::Bool(_) => node.source_text(),
            _ => None,
        };
        if text == Some("") {
            let message = "the text is empty".to_owned();
            self.fault_with_hint(
                node,
                pointer,
                message,
                "write what is meant, `*` for anything, or leave the key out",
            );
            return None;
        }
        if text.is_none() {
            self.expected(node, pointer, "a text");
        }
        text
    }

    fn choice<T: Copy>(&mut self, node: &DocumentNode, pointer: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, pointer)?;
        let found = known.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!("`{text}` is not one of {}", names.join(", "));
            self.fault(node, pointer, message);
        }
        found.map(|(_, value)| *value)
    }

    /// A duration longer than nothing.
    fn duration(&mut self, node: &DocumentNode, pointer: &str) -> Option<Duration> {
        let text = self.text(node, pointer)?;
        match parse_duration(text) {
            Ok(Duration::ZERO) => {
                self.fault(node, pointer, "the duration must be longer than 0");
                None
            }
            Ok(duration) => Some(duration),
            Err(message) => {
                self.fault(node, pointer, message);
                None
            }
        }
    }

    /// A number within bounds.
    fn number(&mut self, node: &DocumentNode, pointer: &str, least: f64, most: f64) -> Option<f64> {
        let Some(number) = node.as_f64() else {
            self.expected(node, pointer, "a number");
            return None;
        };
        if !(least..=most).contains(&number) {
            self.fault(node, pointer, format!("{number} is not between {least} and {most}"));
            return None;
        }
        Some(number)
    }

    /// A whole number from 1 up.
    fn count(&mut self, node: &DocumentNode, pointer: &str) -> Option<u32> {
        let count = node.as_i64().and_then(|number| u32::try_from(number).ok());
        if count.is_none_or(|count| count == 0) {
            self.fault(node, pointer, "expected a whole number of at least 1");
            return None;
        }
        count
    }
}
