//! The action that failed for good, with what had gone through by then: what a repair goes on from (ORD-23).

use pagurus_domain::folded::text_bytes;
use pagurus_domain::order::{OrderError, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::super::{Action, Folded, Scenario, ScenarioKind};
use super::{
    Digest, EachProgress, ElementProgress, EntryPoint, Frame, OpenOperation, Savepoint, Snapshot, Visit,
};

/// The place at which an action failed for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailurePoint {
    /// The position before that action, without the variables of the scenario itself.
    pub position: Box<Snapshot>,
    /// Digest of the actions up to that one: another version of the scenario may have others.
    pub actions: Digest,
}

/// The failed action, as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAction<'s> {
    /// Name of the state.
    pub state: &'s str,
    /// Index of the action in the state.
    pub action: usize,
    /// Elements of an `each` that went through, and all of them.
    pub elements: Option<(usize, usize)>,
}

impl FailurePoint {
    /// The failure of the action at which a position stands; `None` if the scenario does not have its state.
    pub(in super::super) fn of(position: Snapshot, scenario: &Scenario) -> Option<Self> {
        let Snapshot { visit, main, mut operations, entry_point, rounds, .. } = position;
        let Frame { action, answers, parallel_done, each, numbers, answered, .. } = main;
        let visit = Visit { poll: None, awaiting: None, ..visit };
        let mut main = Frame { action, answers, parallel_done, each, numbers, answered, ..Frame::default() };
        operations.iter_mut().for_each(|operation| operation.requests_around.clear());
        let elements = main.each.iter_mut().flat_map(|each| &mut each.elements);
        elements.for_each(|element| (element.failed, element.repeated) = (None, None));
        let entry_point = entry_point.filter(|_| scenario.kind == ScenarioKind::Operation);
        let mut position = Snapshot { visit, main, operations, entry_point, rounds, ..Snapshot::default() };
        position.back_to_savepoint();
        let actions = actions_up_to(&position, scenario)?;
        Some(Self { position: Box::new(position), actions })
    }

    /// The failure that an order in status `retry` is about to repeat; `None` if its repeat begins elsewhere.
    #[must_use]
    pub fn of_retry(position: &Snapshot, scenario: &Scenario) -> Option<Self> {
        if position.repeats_its_action() { Self::of(position.clone(), scenario) } else { None }
    }

    /// True if the state does the same up to that action in this version of the scenario.
    #[must_use]
    pub fn fits(&self, scenario: &Scenario) -> bool {
        actions_up_to(&self.position, scenario) == Some(self.actions)
    }

    /// Name of the state.
    #[must_use]
    pub fn state(&self) -> &str {
        self.position.visit.state.as_deref().unwrap_or_default()
    }

    /// Index of the action in the state.
    #[must_use]
    pub const fn action(&self) -> usize {
        self.position.main.action
    }

    /// Moves back to the call whose answer a script refused: it is made again (ERR-5).
    pub(in super::super) fn back_to_call(&mut self, scenario: &Scenario) {
        let Some(call) = self.position.main.answered.take() else { return };
        let Frame { action, answers, each, .. } = &mut self.position.main;
        (*action, answers.last, *each) = (call.action, call.before, call.each);
        self.position.visit.hand_out = call.hand_out;
        self.actions = actions_up_to(&self.position, scenario).unwrap_or(self.actions);
    }

    /// The element of the `each` with this index.
    pub(in super::super) fn element_mut(&mut self, index: usize) -> Option<&mut ElementProgress> {
        self.position.main.each.as_mut()?.elements.get_mut(index)
    }

    pub(in super::super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        let Snapshot { main, operations, entry_point, .. } = &mut *self.position;
        let of_operations = operations.iter_mut().flat_map(OpenOperation::values_mut);
        main.values_mut().chain(of_operations).chain(entry_point.iter_mut().flat_map(EntryPoint::values_mut))
    }

    pub(in super::super) fn errors_mut(&mut self) -> impl Iterator<Item = &mut OrderError> {
        self.position.main.errors_mut()
    }

    pub(super) fn bytes(&self) -> usize {
        let Snapshot { main, operations, entry_point, .. } = &*self.position;
        let of_operations: usize = operations.iter().map(OpenOperation::bytes).sum();
        main.bytes() + of_operations + entry_point.as_ref().map_or(0, EntryPoint::bytes)
    }

    /// Bytes as JSON.
    pub(in super::super) fn stored_bytes(&self) -> usize {
        match self.position.to_value() {
            Value::Object(map) => text_bytes(&map),
            _ => 0,
        }
    }
}

/// Digest of the actions of a state up to that of the position; `None` if this version of the scenario does not have it.
fn actions_up_to(position: &Snapshot, scenario: &Scenario) -> Option<Digest> {
    let state = scenario.state(scenario.state_named(position.visit.state.as_deref()?)?);
    let done = state.actions.get(..=position.main.action)?;
    let words = done.iter().flat_map(Action::with_inner).map(|action| match action {
        Action::Enter(enter) => {
            format!("{} {} {:?}", action.word(), enter.operation.name, enter.operation.version)
        }
        other => other.word().to_owned(),
    });
    Some(Digest::of(&words.collect::<Vec<_>>().join("\n")))
}

impl Snapshot {
    /// Moves back to where the repeats of an operation begin, with the values that it had there (ERR-11).
    fn back_to_savepoint(&mut self) {
        if let Some(operation) = self.operations.last() {
            let savepoint = operation.savepoint.clone();
            self.begin_at(savepoint.visit, savepoint.action);
            self.list_again();
            if let Some(operation) = self.operations.last_mut() {
                (operation.vars, operation.answers) = (savepoint.vars, savepoint.answers);
            }
        } else if let Some(EntryPoint { state, visit, savepoint }) = self.entry_point.clone() {
            (self.visit.state, self.visit.number) = (Some(state), visit);
            self.begin_frame();
            self.list_again();
            self.main.answers = savepoint.map(|saved| saved.answers).unwrap_or_default();
        }
    }

    /// True if the present stage has asked for answers that are still to come, beside this request: no other life gets
    /// them.
    pub(in super::super) fn awaits_answers(&self, beside: Option<&str>) -> bool {
        let around = self.operations.iter().flat_map(|operation| &operation.requests_around);
        // What an operation has asked since its savepoint is asked again.
        let own = self.requests.iter().filter(|_| self.operations.is_empty());
        own.chain(around).any(|open| !open.earlier && !open.over && Some(open.name.as_str()) != beside)
    }

    /// True if the order rests before the repeat of the action at which it stands.
    fn repeats_its_action(&self) -> bool {
        let goes_back = self.asynchronous.as_ref().is_some_and(|retry| retry.from_entry_point);
        self.main.retry.is_some() && self.handling.is_none() && !goes_back && !self.awaits_answers(None)
    }

    /// The action from which a repair may go on.
    #[must_use]
    pub fn failed_action(&self) -> Option<FailedAction<'_>> {
        let position = if self.repeats_its_action() { self } else { &*self.failed.as_ref()?.position };
        let done = |each: &EachProgress| each.elements.iter().filter(|element| element.is_done()).count();
        let elements = position.main.each.as_ref().map(|each| (done(each), each.elements.len()));
        Some(FailedAction { state: position.visit.state.as_deref()?, action: position.main.action, elements })
    }

    /// Forgets the place of the last failure, where that did not lead to the end of the life.
    pub(in super::super) fn keep_failure_of(&mut self, status: Status) {
        self.failed.take_if(|_| status != Status::Fail);
    }

    /// The position of an order that goes on by hand at the action that failed, with these variables, in this life or the
    /// next.
    #[must_use]
    pub fn resumed_at(self, point: FailurePoint, vars: Map<String, Value>, kind: ScenarioKind) -> Self {
        let mut position = *point.position;
        let (state, visit) = (position.visit.state.clone().unwrap_or_default(), position.visit.number);
        let former = position.entry_point.take().and_then(|entry| entry.savepoint);
        let savepoint = (kind == ScenarioKind::Operation).then(|| {
            let answers = former.map(|saved| saved.answers).unwrap_or_default();
            Box::new(Savepoint { vars: Value::Object(vars.clone()).into(), answers })
        });
        position.entry_point = Some(EntryPoint { savepoint, ..EntryPoint::new(&state, visit) });
        Self { vars, result: self.result, message: self.message, ..position }
    }

    /// The position of an order that goes on by hand from this action of a state, in this life or the next.
    #[must_use]
    pub fn repaired_at_action(self, state: &str, action: usize, vars: Map<String, Value>) -> Self {
        // Answers that have a name are those of the state for which they were kept.
        let named = self.failed.as_ref().filter(|point| point.state() == state);
        let named = named.map(|point| point.position.main.answers.named.clone()).unwrap_or_default();
        let mut position = self.repaired_at(state, vars, ScenarioKind::Workflow);
        (position.main.action, position.main.answers.named) = (action, named);
        position
    }
}
