//! Operations that are being carried out among the actions of a state (SCN-19): their names, and what is put aside of
//! those who run them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::super::Folded;
use super::stored::is_default;
use super::{Answers, OpenRequest, Snapshot};

/// An operation that has begun and is not over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenOperation {
    /// The action that is its entry.
    pub entry: usize,
    /// Parameters of the operation.
    pub params: Folded,
    /// Variables of the operation, a map; while it runs itself, they are in the hand of the stage.
    pub vars: Folded,
    /// The answers that its actions see, likewise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answers: Answers,
    /// Names of the requests that it has registered: it sees no other callbacks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub asked: BTreeSet<String>,
    /// Set by `result(…)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// True if the last failure of the order arose in it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_failed: bool,
    /// The place at which its repeats begin.
    pub savepoint: OperationSavepoint,
    /// Open requests of its caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests_around: Vec<OpenRequest>,
    /// Rounds of an `each` of its caller.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rounds_around: BTreeMap<String, Vec<Option<usize>>>,
}

/// Place in an operation at which its repeats begin, with the values that it had there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationSavepoint {
    /// Number of the visit.
    pub visit: u32,
    /// The action that is next.
    pub action: usize,
    /// Variables, a map.
    pub vars: Folded,
    /// The answers that its actions saw.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answers: Answers,
}

impl OpenOperation {
    pub(in super::super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        let Self { params, vars, answers, savepoint, .. } = self;
        let of_savepoint = savepoint.answers.iter_mut().chain([&mut savepoint.vars]);
        answers.iter_mut().chain(of_savepoint).chain([params, vars])
    }

    pub(super) fn bytes(&self) -> usize {
        let of =
            |answers: &Answers| answers.named.values().chain(&answers.last).map(Folded::bytes).sum::<usize>();
        let values = [&self.params, &self.vars, &self.savepoint.vars];
        of(&self.answers) + of(&self.savepoint.answers) + values.map(Folded::bytes).iter().sum::<usize>()
    }
}

impl Snapshot {
    /// The operation whose actions run; `None` while those of the scenario do, or of a call.
    pub(in super::super) fn operation(&self) -> Option<&OpenOperation> {
        self.operations.last().filter(|_| self.handling.is_none())
    }

    /// The same, to be changed.
    pub(in super::super) fn operation_mut(&mut self) -> Option<&mut OpenOperation> {
        self.operations.last_mut().filter(|_| self.handling.is_none())
    }

    /// The rounds of the scenario itself.
    pub(super) fn rounds_of_order(self) -> BTreeMap<String, Vec<Option<usize>>> {
        let around = self.operations.into_iter().next();
        around.map_or(self.rounds, |outermost| outermost.rounds_around)
    }

    /// Begins with this action of the same state, as the visit with this number.
    pub(in super::super) fn begin_at(&mut self, visit: u32, action: usize) {
        self.visit.number = visit;
        self.begin_frame();
        self.main.action = action;
    }
}
