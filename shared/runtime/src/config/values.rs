//! The values of all keys with their sources, and what is wrong with them. Must never know a key by name.

use std::collections::BTreeMap;

use pagurus_domain::document::{DocumentNode, Fault, Position, Value};

use super::kind::Typed;

/// The place of values that do not stand in the file.
pub(super) const NOWHERE: Position = Position { line: 0, column: 0 };

/// Source of a value.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The file.
    File,
    /// The environment variable of this name.
    Variable(String),
}

/// A value of the file or of the environment.
#[derive(Clone, Debug)]
pub(super) struct LoadedValue {
    pub(super) node: DocumentNode,
    pub(super) origin: Origin,
}

/// The value of every key, and what is wrong so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) found: BTreeMap<&'static str, LoadedValue>,
    pub(super) typed: BTreeMap<&'static str, Typed>,
    pub(super) faults: Vec<Fault>,
}

impl Values {
    /// The value of a key, its default where nothing else was said.
    pub(super) fn typed(&self, path: &str) -> Option<&Typed> {
        self.typed.get(path)
    }

    /// The value of every key without its place: one that has only moved in the file is still the same.
    pub(super) fn of_keys(&self) -> BTreeMap<&'static str, Typed> {
        let placeless = |typed: &Typed| match typed {
            Typed::Tree(tree) => Typed::Tree(without_places(tree.clone())),
            typed => typed.clone(),
        };
        self.typed.iter().map(|(path, typed)| (*path, placeless(typed))).collect()
    }

    /// Reports a value of which the reader of the settings does not approve.
    pub(super) fn fault(&mut self, path: &str, message: impl Into<String>) {
        let node = self.found.get(path).map(|found| found.node.clone());
        let node = node.unwrap_or_else(|| DocumentNode::new(Value::Null, NOWHERE));
        self.push(path, Fault::new(&node, "", message));
    }

    /// A fault of a whole key with the place of its value in the file, or the variable that gave it.
    pub(super) fn placed(&self, fault: Fault) -> Fault {
        let path = fault.pointer.trim_start_matches('/').replace('/', ".");
        match self.found.get(path.as_str()) {
            Some(LoadedValue { node, origin: Origin::File }) => Fault { at: Some(node.at), ..fault },
            Some(LoadedValue { origin: Origin::Variable(name), .. }) => {
                Fault { message: format!("{} ({name})", fault.message), ..fault }
            }
            None => fault,
        }
    }

    /// Adds a fault inside a value, whose pointer is relative to the value.
    pub(super) fn push(&mut self, path: &str, fault: Fault) {
        let pointer = format!("/{}{}", path.replace('.', "/"), fault.pointer);
        let at = fault.at.filter(|at| *at != NOWHERE);
        let message = match self.found.get(path).map(|found| &found.origin) {
            Some(Origin::Variable(name)) if at.is_none() => format!("{} ({name})", fault.message),
            _ => fault.message,
        };
        self.faults.push(Fault { at, pointer, message, hint: fault.hint });
    }
}

/// Places in a variable would be taken for places in the file.
pub(super) fn without_places(mut node: DocumentNode) -> DocumentNode {
    node.at = NOWHERE;
    match &mut node.value {
        Value::List(items) => {
            for item in items {
                *item = without_places(std::mem::replace(item, DocumentNode::new(Value::Null, NOWHERE)));
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                key.at = NOWHERE;
                *value = without_places(std::mem::replace(value, DocumentNode::new(Value::Null, NOWHERE)));
            }
        }
        _ => {}
    }
    node
}
