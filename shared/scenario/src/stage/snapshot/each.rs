//! Progress of an `each`: which elements are over, and where the others stand.

use std::collections::BTreeMap;

use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::super::{Action, EachAction};
use super::stored::{is_default, text_or_none};
use super::{AnsweredCall, Folded};

/// Progress of an `each`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EachProgress {
    /// The visit and the action that it belongs to.
    pub at: (u32, usize),
    /// The elements in the order of the list.
    pub elements: Vec<ElementProgress>,
    /// Numbers of the elements, in the same order; empty if each has the number of its place.
    #[serde(default, skip_serializing_if = "is_default")]
    pub numbers: Vec<usize>,
    /// The order went back to a savepoint before the action: the list is evaluated again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub again: bool,
}

/// Progress of an element.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElementProgress {
    /// The element, as its scripts have left it; `None` for null, and for one that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Folded>,
    /// The action of the `each` that is next.
    #[serde(default, skip_serializing_if = "is_default")]
    pub next: usize,
    /// The last answer that it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Folded>,
    /// The last of its calls that was answered, where a script may still refuse the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AnsweredCall>,
    /// The request that is registered for its next action.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text_or_none")]
    pub request: Option<RequestId>,
    /// Failure that is to be repeated when the others have come as far as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedElement>,
    /// The action that is being repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<usize>,
    /// Final outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ElementEnd>,
}

/// A failure of an element that is to be repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedElement {
    /// The failure.
    pub error: OrderError,
    /// Time for which the called system asks to be left alone, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Outcome of an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ElementEnd {
    /// All went through: what it has for each variable under `save`, in their order.
    Done(Vec<Folded>),
    /// The element failed, and its failure is kept beside the others.
    Failed(OrderError),
}

impl EachProgress {
    /// The start, with these elements and their numbers. Elements of the former list are as far as they were there.
    pub(in super::super) fn of(
        at: (u32, usize),
        list: Vec<Value>,
        numbers: Vec<usize>,
        former: Option<Self>,
    ) -> Self {
        let mut known: BTreeMap<usize, ElementProgress> = BTreeMap::new();
        if let Some(Self { elements, numbers, .. }) = former {
            let number = |place| numbers.get(place).copied().unwrap_or(place);
            let begun = elements.into_iter().enumerate().filter(|(_, element)| !is_default(element));
            known.extend(begun.map(|(place, element)| (number(place), element)));
        }
        let fresh = |value: Value| ElementProgress {
            value: Some(value).filter(|value| !value.is_null()).map(Folded::from),
            ..ElementProgress::default()
        };
        let elements = list.into_iter().zip(&numbers);
        let elements = elements.map(|(value, number)| known.remove(number).unwrap_or_else(|| fresh(value)));
        let elements = elements.collect();
        let is_plain = numbers.iter().enumerate().all(|(place, number)| place == *number);
        Self { at, elements, numbers: if is_plain { Vec::new() } else { numbers }, again: false }
    }

    /// The progress with which the elements that failed begin again, over the list as it is then; `None` if none has failed.
    pub(in super::super) fn without_failed(&self) -> Option<Box<Self>> {
        let has_failed = |element: &ElementProgress| matches!(element.end, Some(ElementEnd::Failed(_)));
        if !self.elements.iter().any(has_failed) {
            return None;
        }
        let mut left = self.clone();
        let failed = left.elements.iter_mut().filter(|element| has_failed(element));
        failed.for_each(|element| *element = ElementProgress::default());
        left.again = true;
        Some(Box::new(left))
    }

    /// The number of the element at this place of the list.
    pub(in super::super) fn number(&self, place: usize) -> usize {
        self.numbers.get(place).copied().unwrap_or(place)
    }

    pub(in super::super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        self.elements.iter_mut().flat_map(|element| {
            let ElementProgress { value, last, answered, end, .. } = element;
            let before = answered.iter_mut().filter_map(|call| call.before.as_mut());
            let kept = end.iter_mut().flat_map(|end| match end {
                ElementEnd::Done(values) => values.as_mut_slice(),
                ElementEnd::Failed(_) => &mut [],
            });
            value.iter_mut().chain(last).chain(before).chain(kept)
        })
    }

    pub(in super::super) fn errors_mut(&mut self) -> impl Iterator<Item = &mut OrderError> {
        self.elements.iter_mut().flat_map(|element| {
            let collected = element.end.iter_mut().filter_map(|end| match end {
                ElementEnd::Failed(error) => Some(error),
                ElementEnd::Done(_) => None,
            });
            element.failed.iter_mut().map(|failed| &mut failed.error).chain(collected)
        })
    }

    /// Bytes of text that it holds.
    pub(in super::super) fn bytes(&self) -> usize {
        self.elements.iter().map(ElementProgress::bytes).sum()
    }

    /// True if nothing of it is being repeated, or is to be.
    pub(in super::super) fn is_even(&self) -> bool {
        self.elements.iter().all(|element| element.repeated.is_none() && element.failed.is_none())
    }
}

impl ElementProgress {
    fn bytes(&self) -> usize {
        let before = self.answered.as_ref().and_then(|call| call.before.as_ref());
        let held = self.value.iter().chain(&self.last).chain(before).map(Folded::bytes).sum::<usize>();
        held + self.bytes_of_end()
    }

    /// Bytes of what it has for the variables.
    pub(in super::super) fn bytes_of_end(&self) -> usize {
        match &self.end {
            Some(ElementEnd::Done(values)) => values.iter().map(Folded::bytes).sum(),
            Some(ElementEnd::Failed(_)) | None => 0,
        }
    }

    /// True if all of its actions went through.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.end, Some(ElementEnd::Done(_)))
    }

    /// True if it may be at work: it is neither over nor set aside.
    pub(in super::super) const fn is_open(&self) -> bool {
        self.end.is_none() && self.failed.is_none()
    }

    /// Moves back to the call whose answer the script under its cursor refused: it is made again (ERR-5).
    pub(in super::super) fn back_to_call(&mut self, each: &EachAction) {
        let is_script = matches!(each.actions.get(self.next), Some(Action::Script(_)));
        if let Some(call) = self.answered.take_if(|_| is_script) {
            (self.next, self.last) = (call.action, call.before);
        }
    }

    /// Advances behind an action that has gone through, and ends its repeat.
    pub(in super::super) fn advance(&mut self) {
        self.request = None;
        self.next += 1;
        self.repeated.take_if(|repeated| *repeated < self.next);
    }

    /// Ends the element: nothing else of it is kept.
    pub(in super::super) fn over(&mut self, end: ElementEnd) {
        *self = Self { end: Some(end), ..Self::default() };
    }
}
