//! Notes of a reader for the warnings: names that expressions and scripts use, and what gives values to them.

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::document::{Fault, Position};

use super::draft::Mark;

/// Notes of a reader for the warnings.
#[derive(Debug, Default)]
pub(super) struct Noted {
    pub(super) mentions: Vec<(Vec<String>, Mark)>,
    pub(super) requests: BTreeSet<String>,
    pub(super) answers: BTreeSet<String>,
    pub(super) variables: BTreeSet<String>,
    /// True where a script may set variables of any name.
    pub(super) any_variable: bool,
    pub(super) warnings: Vec<Fault>,
    /// Warnings that hold while the order holds its queue.
    pub(super) held: Vec<Fault>,
    /// Children of an `each` that are to be awaited by a `wait` behind it.
    pub(super) awaited_children: Vec<Mark>,
    /// Place of the rules that the scenario brings along.
    pub(super) errors: Option<Mark>,
    /// Pointers of actions that leave an answer behind, and of those that rest.
    pub(super) answering: Vec<String>,
    pub(super) resting: Vec<String>,
}

impl Noted {
    /// Notes that a request is registered under this name.
    pub(super) fn request(&mut self, name: &str) {
        self.requests.insert(name.to_owned());
    }

    /// Notes that an answer is kept under this name.
    pub(super) fn answer(&mut self, name: &str) {
        self.answers.insert(name.to_owned());
    }

    /// Notes that a variable of this name is set.
    pub(super) fn variable(&mut self, name: &str) {
        self.variables.insert(name.to_owned());
    }

    /// Adds a warning of what only an order does that holds its queue.
    pub(super) fn held_queue(&mut self, warning: Fault) {
        self.held.push(warning);
    }

    /// Notes what an action does to the last answer.
    pub(super) fn action(&mut self, word: &str, pointer: &str) {
        match word {
            "http" | "actor" | "parallel" | "each" => self.answering.push(pointer.to_owned()),
            "wait" | "sleep" => self.resting.push(pointer.to_owned()),
            _ => {}
        }
    }

    /// Constants of the deployment that are named, each with its first place.
    pub(super) fn constants(&self) -> BTreeMap<String, Position> {
        let mut constants = BTreeMap::new();
        for (path, mark) in &self.mentions {
            if let [root, name, ..] = path.as_slice()
                && root == "config"
            {
                let first = constants.entry(name.clone()).or_insert(mark.at);
                *first = mark.at.min(*first);
            }
        }
        constants
    }
}
