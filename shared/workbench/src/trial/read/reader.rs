//! Walks a file of tests and collects its faults. Knows no key by name.

use std::time::Duration;

use pagurus_domain::document::form::Keys;
use pagurus_domain::document::{DocumentNode, Fault, Value, parse_duration, pointer_to};

/// Faults of one file that are reported.
const MAX_FAULTS: usize = 200;

/// A value of the file with its place.
#[derive(Clone)]
pub(super) struct TrialField<'n> {
    pub(super) node: &'n DocumentNode,
    pub(super) pointer: String,
    /// The key it stands under.
    pub(super) key: String,
}

impl<'n> TrialField<'n> {
    pub(super) fn root(node: &'n DocumentNode) -> Self {
        Self { node, pointer: String::new(), key: "the file".to_owned() }
    }

    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.node, self.pointer.clone(), message)
    }

    pub(super) fn must_be(&self, what: &str) -> Fault {
        self.fault(format!("`{}` must be {what}, not {}", self.key, self.node.kind()))
    }

    fn member(&self, key: &str, node: &'n DocumentNode) -> Self {
        Self { node, pointer: pointer_to(&self.pointer, key), key: key.to_owned() }
    }
}

/// The entries of a mapping whose keys are known.
pub(super) struct TrialFields<'n> {
    keys: &'static Keys,
    entries: Vec<TrialField<'n>>,
}

impl<'n> TrialFields<'n> {
    pub(super) fn get(&self, key: &str) -> Option<&TrialField<'n>> {
        self.entries.iter().find(|field| field.key == key)
    }
}

/// Collects faults.
#[derive(Default)]
pub(super) struct TrialReader {
    faults: Vec<Fault>,
}

impl TrialReader {
    pub(super) fn push(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    /// All faults in the order of the file, if there are any.
    pub(super) fn end(mut self) -> Result<(), Vec<Fault>> {
        self.faults.sort_by_key(|fault| fault.at);
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults) }
    }

    /// The entries of a mapping; keys that nobody knows are faults.
    pub(super) fn fields<'n>(&mut self, field: &TrialField<'n>, keys: &'static Keys) -> TrialFields<'n> {
        let Some(entries) = field.node.as_map() else {
            self.push(field.must_be("a mapping with keys"));
            return TrialFields { keys, entries: Vec::new() };
        };
        let mut fields = Vec::new();
        for (key, node) in entries {
            if keys.has(&key.name) {
                fields.push(field.member(&key.name, node));
            } else {
                self.push(Fault::unknown_key(key, &field.pointer, keys.names()));
            }
        }
        TrialFields { keys, entries: fields }
    }

    /// The entries of a mapping with free keys.
    pub(super) fn entries<'n>(&mut self, field: &TrialField<'n>) -> Vec<TrialField<'n>> {
        let Some(entries) = field.node.as_map() else {
            self.push(field.must_be("a mapping"));
            return Vec::new();
        };
        entries.iter().map(|(key, node)| field.member(&key.name, node)).collect()
    }

    /// The items of a list.
    pub(super) fn items<'n>(&mut self, field: &TrialField<'n>) -> Vec<TrialField<'n>> {
        let Some(items) = field.node.as_list() else {
            self.push(field.must_be("a list"));
            return Vec::new();
        };
        let item = |(at, node): (usize, &'n DocumentNode)| TrialField {
            node,
            pointer: pointer_to(&field.pointer, &at.to_string()),
            key: field.key.clone(),
        };
        items.iter().enumerate().map(item).collect()
    }

    /// The value of a key that must be there.
    pub(super) fn required<'f, 'n>(
        &mut self,
        parent: &TrialField<'n>,
        fields: &'f TrialFields<'n>,
        key: &str,
        example: &str,
    ) -> Option<&'f TrialField<'n>> {
        debug_assert!(fields.keys.requires(key), "the table of keys does not say that `{key}` is required");
        let found = fields.get(key);
        if found.is_none() && parent.node.as_map().is_some() {
            self.push(parent.fault(format!("`{key}` is missing")).hint(format!("write `{example}`")));
        }
        found
    }

    /// A text; a plain number or truth value is taken as it was written.
    pub(super) fn text<'n>(&mut self, field: &TrialField<'n>) -> Option<&'n str> {
        let text = match field.node.value {
            Value::Integer(_) | Value::Float(_) | Value::Bool(_) => field.node.source_text(),
            _ => field.node.as_str(),
        };
        if text.is_none() {
            self.push(field.must_be("a text"));
        }
        text
    }

    /// Reads one of the words of a vocabulary.
    pub(super) fn word<T: Copy>(&mut self, field: &TrialField<'_>, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(field)?;
        let found = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        if found.is_none() {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            let fault = field.fault(format!("`{text}` is no {}", field.key));
            self.push(fault.hint(format!("there are: {}", words.join(", "))));
        }
        found.map(|(_, value)| *value)
    }

    /// A duration; none at all is allowed.
    pub(super) fn duration(&mut self, field: &TrialField<'_>) -> Option<Duration> {
        let duration = parse_duration(self.text(field)?);
        duration.map_err(|message| self.push(field.fault(message))).ok()
    }

    /// A whole number within bounds.
    pub(super) fn number(&mut self, field: &TrialField<'_>, least: u32, most: u32) -> Option<u32> {
        let number = field.node.as_i64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.push(field.fault(format!("`{}` must be a whole number, {least} to {most}", field.key)));
        }
        number
    }

    /// A mapping of texts.
    pub(super) fn texts(&mut self, field: &TrialField<'_>) -> Vec<(String, String)> {
        let entries = self.entries(field);
        let read = entries.iter().filter_map(|entry| Some((entry.key.clone(), self.text(entry)?.to_owned())));
        read.collect()
    }
}
