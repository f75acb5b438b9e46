//! Progress of a list of actions: those of the present state, or those that handle a call.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pagurus_domain::order::stage::Then;
use pagurus_domain::order::{OrderError, Status};
use pagurus_domain::retry::Cycle;
use serde::{Deserialize, Serialize};

use super::each::EachProgress;
use super::{ElementNumbers, Folded, stored};

/// A suspension, as it goes on after something else was done in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// The status of the suspension.
    #[serde(with = "stored::text")]
    pub status: Status,
    /// End of the rest.
    pub until: Timestamp,
    /// End that the scenario has set, where somebody has moved it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Timestamp>,
    /// Failure that is to be repeated, if it waits for a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<OrderError>,
}

impl Rest {
    /// The suspension that follows a stage, as it is kept with the order; `None` if its life is over.
    pub(in super::super) fn of(then: &Then) -> Option<Self> {
        let error = match then {
            Then::Retry { error, .. } => Some(error.clone()),
            _ => None,
        };
        Some(Self { status: then.status(), until: then.due_at()?, planned: None, error })
    }
}

/// The answers that the actions of a frame got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Folded>,
    /// Answers that have a name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, Folded>,
}

/// A synchronous failure that is being repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRetry {
    /// The cycle.
    pub cycle: Cycle,
    /// Visit and action whose success ends the cycle, where the repeat begins before them: that of an operation,
    /// and that of a call whose answer a script refused.
    pub failed_at: Option<(u32, usize)>,
}

/// The last call of a frame that was answered: a script behind it may refuse the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredCall {
    /// The action that made it.
    pub action: usize,
    /// The answer that was the last one before it: the repeat sees what the call saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Folded>,
    /// Number of times that its task was handed out, where it was one.
    #[serde(default, skip_serializing_if = "stored::is_default")]
    pub hand_out: u32,
    /// Progress of an `each` whose failures were kept beside the others: a repair does those elements alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Box<EachProgress>>,
}

impl AnsweredCall {
    /// The call of an element of an `each`.
    pub(in super::super) const fn of_element(action: usize, before: Option<Folded>) -> Self {
        Self { action, before, hand_out: 0, each: None }
    }
}

/// A list of actions that is being carried out: those of the present state, or those that handle a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The action that is next.
    pub action: usize,
    /// The answers so far; kept over a suspension where the same action goes on.
    pub answers: Answers,
    /// Steps of the present `parallel` that went through.
    pub parallel_done: Vec<usize>,
    /// Progress of an `each`.
    pub each: Option<Box<EachProgress>>,
    /// Numbers of the elements of each `each` of the visit.
    pub numbers: Vec<ElementNumbers>,
    /// Variables that what went through of an unfinished action would set if its state were left now, a map.
    pub so_far: Option<Folded>,
    /// The last call that was answered, where a script follows it.
    pub answered: Option<AnsweredCall>,
    /// The repeat of a failed action that goes on.
    pub retry: Option<SyncRetry>,
    /// The suspension that goes on.
    pub rest: Option<Rest>,
    /// The time for which the present action must not be carried out.
    pub held: Option<ActionHold>,
}

/// The time for which an action must not be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionHold {
    /// Start of the hold.
    pub since: Timestamp,
    /// Start of the first of the holds that followed each other here.
    pub first: Timestamp,
    /// The called system that must be left alone; `None` if the stage has only lasted as long as one may, and
    /// in positions that were stored before systems were noted.
    pub system: Option<String>,
}

impl Frame {
    pub(in super::super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        let Self { answers, each, answered, so_far, .. } = self;
        let (before, settled) =
            answered.as_mut().map_or((None, None), |call| (call.before.as_mut(), call.each.as_mut()));
        let of_each = each.iter_mut().chain(settled).flat_map(|each| each.values_mut());
        answers.iter_mut().chain(before).chain(of_each).chain(so_far)
    }

    /// Bytes of text of the answers and of an `each`.
    pub(super) fn bytes(&self) -> usize {
        let Answers { last, named } = &self.answers;
        let before = self.answered.as_ref().and_then(|call| call.before.as_ref());
        let answers: usize = named.values().chain(last).chain(before).map(Folded::bytes).sum();
        answers + self.each.as_ref().map_or(0, |each| each.bytes())
    }

    pub(in super::super) fn errors_mut(&mut self) -> impl Iterator<Item = &mut OrderError> {
        let settled = self.answered.iter_mut().filter_map(|call| call.each.as_mut());
        self.each.iter_mut().chain(settled).flat_map(|each| each.errors_mut())
    }
}

impl Answers {
    pub(in super::super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        self.named.values_mut().chain(&mut self.last)
    }
}
