//! Values of a situation as YAML holds them, each with its place where it is at fault.

use std::time::Duration;

use pagurus_domain::document::{DocumentNode, Fault, parse_duration, pointer_to};

/// A reader that collects faults.
#[derive(Default)]
pub(super) struct LabReader {
    /// Faults found so far.
    pub(super) faults: Vec<Fault>,
}

/// A mapping with its place.
#[derive(Clone)]
pub(super) struct PlanPart<'a> {
    /// The mapping.
    pub(super) node: &'a DocumentNode,
    /// Place of the mapping.
    pub(super) pointer: String,
}

impl LabReader {
    pub(super) fn part<'a>(
        &mut self,
        node: &'a DocumentNode,
        pointer: String,
        known: &[&str],
    ) -> PlanPart<'a> {
        let part = PlanPart { node, pointer };
        self.known(&part, known);
        part
    }

    pub(super) fn inner<'a>(
        &mut self,
        part: &PlanPart<'a>,
        name: &str,
        empty: &'a DocumentNode,
        known: &[&str],
    ) -> PlanPart<'a> {
        let node = part.node.get(name).unwrap_or(empty);
        self.part(node, pointer_to(&part.pointer, name), known)
    }

    pub(super) fn known(&mut self, part: &PlanPart, known: &[&str]) {
        let Some(entries) = part.node.as_map() else {
            let message = format!("must be a mapping, not {}", part.node.kind());
            return self.faults.push(Fault::new(part.node, &*part.pointer, message));
        };
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&&*key.name)) {
            self.faults.push(Fault::unknown_key(key, &part.pointer, known.iter().copied()));
        }
    }

    pub(super) fn entries<'a>(&mut self, part: &PlanPart<'a>, name: &str) -> Vec<(String, PlanPart<'a>)> {
        let Some(node) = part.node.get(name) else { return Vec::new() };
        let pointer = pointer_to(&part.pointer, name);
        let Some(entries) = node.as_map() else {
            self.faults.push(Fault::new(node, pointer, "must be a mapping from names"));
            return Vec::new();
        };
        let part = |name: &str, node| PlanPart { node, pointer: pointer_to(&pointer, name) };
        entries.iter().map(|(key, node)| (key.name.clone(), part(&key.name, node))).collect()
    }

    pub(super) fn items<'a>(&mut self, part: &PlanPart<'a>, name: &str) -> Vec<(String, &'a DocumentNode)> {
        let Some(node) = part.node.get(name) else { return Vec::new() };
        let pointer = pointer_to(&part.pointer, name);
        let Some(items) = node.as_list() else {
            self.faults.push(Fault::new(node, pointer, "must be a list"));
            return Vec::new();
        };
        items.iter().enumerate().map(|(at, node)| (pointer_to(&pointer, &at.to_string()), node)).collect()
    }

    pub(super) fn get<'a, T>(
        &mut self,
        part: &PlanPart<'a>,
        name: &str,
        kind: &str,
        read: impl FnOnce(&'a DocumentNode) -> Option<T>,
    ) -> Option<T> {
        let node = part.node.get(name).filter(|node| !node.is_null())?;
        let value = read(node);
        if value.is_none() {
            let message = format!("must be {kind}, not {}", node.kind());
            self.faults.push(Fault::new(node, pointer_to(&part.pointer, name), message));
        }
        value
    }

    pub(super) fn text(&mut self, part: &PlanPart, name: &str) -> Option<String> {
        self.get(part, name, "a text", |node| node.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&mut self, part: &PlanPart, name: &str) -> Option<bool> {
        self.get(part, name, "true or false", DocumentNode::as_bool)
    }

    pub(super) fn number(&mut self, part: &PlanPart, name: &str) -> Option<f64> {
        self.get(part, name, "a number", DocumentNode::as_f64)
    }

    pub(super) fn share(&mut self, part: &PlanPart, name: &str) -> Option<f64> {
        self.get(part, name, "a part from 0 to 1", |node| {
            node.as_f64().filter(|part| (0.0..=1.0).contains(part))
        })
    }

    pub(super) fn count(&mut self, part: &PlanPart, name: &str) -> Option<u32> {
        let read = |node: &DocumentNode| node.as_i64().and_then(|number| u32::try_from(number).ok());
        self.get(part, name, "a whole number from 0 on", read)
    }

    pub(super) fn word<T: std::str::FromStr>(&mut self, part: &PlanPart, name: &str) -> Option<T>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.text(part, name)?;
        match text.parse() {
            Ok(word) => Some(word),
            Err(error) => {
                self.fault(part, name, &format!("{error}"));
                None
            }
        }
    }

    pub(super) fn duration(&mut self, part: &PlanPart, name: &str) -> Option<Duration> {
        let node = part.node.get(name)?;
        self.time_of(node, &pointer_to(&part.pointer, name))
    }

    pub(super) fn time_of(&mut self, node: &DocumentNode, pointer: &str) -> Option<Duration> {
        let text = node.source_text().or_else(|| node.as_str()).unwrap_or_default();
        match parse_duration(text) {
            Ok(duration) => Some(duration),
            Err(message) => {
                self.faults.push(Fault::new(node, pointer, message));
                None
            }
        }
    }

    pub(super) fn fault(&mut self, part: &PlanPart, name: &str, message: &str) {
        let at = part.node.get(name).unwrap_or(part.node).at;
        self.faults.push(Fault::placed(Some(at), pointer_to(&part.pointer, name), message));
    }
}
