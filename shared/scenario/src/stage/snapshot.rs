//! Position of an order between two stages, and the values that it carries along.
//!
//! What belongs together is one value, so that no half of it can be kept: a cycle with what ends it, a
//! call with what was said to it. How it is stored stands in `stored`.

mod awaiting;
mod content;
mod each;
mod failed;
mod frame;
mod life;
mod moved;
mod operation;
mod request;
mod stored;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::{OrderError, storable};
use pagurus_domain::retry::Cycle;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::Folded;
pub use awaiting::{Awaiting, TaskTimes};
pub use content::{Digest, ElementNumbers, KeptAnswer};
pub use each::{EachProgress, ElementEnd, ElementProgress, FailedElement};
pub use failed::{FailedAction, FailurePoint};
pub use frame::{ActionHold, AnsweredCall, Answers, Frame, Rest, SyncRetry};
pub use life::{EntryPoint, Savepoint};
pub use operation::{OpenOperation, OperationSavepoint};
pub(super) use request::awaited;
pub use request::{Destination, OpenRequest};

/// A snapshot that cannot be taken up: written by another version, or by hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored position cannot be resumed: {0}")]
pub struct SnapshotError(pub String);

/// A polling that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Polling {
    /// Time until which there are attempts.
    pub ends_at: Timestamp,
    /// Number of the attempt that is made or comes next, from 1.
    pub attempt: u32,
}

/// An asynchronous failure that is being repeated, over the states from the entry point on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsyncRetry {
    /// The cycle.
    pub cycle: Cycle,
    /// The waiting or polling state that is to be passed for the cycle to be over.
    pub state: String,
    /// The `wait` of an operation that is to be passed in that state, where it is one (SCN-19).
    pub action: Option<usize>,
    /// Good answers that are not asked for again.
    pub answered: Vec<KeptAnswer>,
    /// True if the next attempt begins at the last entry point.
    pub from_entry_point: bool,
}

/// The time that an order has spent in retries, as if all of it had been one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryTime {
    /// The sum of the retries that are over, in milliseconds.
    pub over_ms: u64,
    /// Start of those that go on, with that sum counted in, and the time at which their last attempt is or was due.
    pub span: Option<(Timestamp, Timestamp)>,
}

impl RetryTime {
    /// Excludes an amount of time from its limit.
    pub(super) fn shift(&mut self, by: SignedDuration) {
        if let Some((since, until)) = &mut self.span {
            *since = since.checked_add(by).unwrap_or(*since);
            *until = until.checked_add(by).unwrap_or(*until);
        }
    }
}

/// The visit of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// The state; none before the first stage of a life from the initial state.
    pub state: Option<String>,
    /// Number of states entered in this life; 0 if the first is still to be entered.
    pub number: u32,
    /// The polling that goes on.
    pub poll: Option<Polling>,
    /// Task or child order that is awaited in the middle of the state.
    pub awaiting: Option<Awaiting>,
    /// Number of times that the task of the present action was handed out.
    pub hand_out: u32,
    /// The system that was called last.
    pub called: Option<String>,
}

/// A call from outside that is being handled beside the rest of the order.
#[derive(Clone, Debug, PartialEq)]
pub struct Handling {
    /// Number under which the call is stored.
    pub no: i64,
    /// Name of the call.
    pub name: String,
    /// Body of the call.
    pub body: Folded,
    /// Position of its handling.
    pub frame: Frame,
    /// Values that the order gets back if the handling fails.
    pub before: Option<Remembered>,
    /// Answer that a script gave by `answer(…)`.
    pub answer: Option<Value>,
}

/// A call from outside that moved the order and is not answered yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Mover {
    /// Number under which the call is stored.
    pub no: i64,
    /// Name and body of the call, which repeats of what it led to see as well.
    pub event: Folded,
    /// Answer that a script gave by `answer(…)`.
    pub answer: Option<Value>,
}

/// Variables, result and message of an order, as they were at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Variables, a map.
    pub vars: Folded,
    /// Result of the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Message of the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Position of an order, and the values that it carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The visit of the present state.
    pub visit: Visit,
    /// The order's own course through the actions of that state.
    pub main: Frame,
    /// The operations among those actions that have begun and are not over, from the outside to the inside.
    pub operations: Vec<OpenOperation>,
    /// The call that is being handled beside it.
    pub handling: Option<Box<Handling>>,
    /// The call that moved the order.
    pub mover: Option<Mover>,
    /// The repeat of an asynchronous failure that goes on.
    pub asynchronous: Option<AsyncRetry>,
    /// The time spent in all retries.
    pub retry_time: RetryTime,
    /// The state to which a repeat of what failed asynchronously goes back, and a restart.
    pub entry_point: Option<EntryPoint>,
    /// Requests since the last wait, of the innermost operation.
    pub requests: Vec<OpenRequest>,
    /// Numbers of the elements that asked last, by the name of their request, in the order of the list; `None` for an
    /// element that has not asked.
    pub rounds: BTreeMap<String, Vec<Option<usize>>>,
    /// Variables of the scenario itself.
    pub vars: Map<String, Value>,
    /// The last error that went to the scenario; reported if the order ends as failed.
    pub error: Option<OrderError>,
    /// The action in which that error arose; `None` if it arose elsewhere, or can be done again only with what is before it.
    pub failed: Option<FailurePoint>,
    /// Set by `result(…)`.
    pub result: Option<Value>,
    /// Set by `message(…)`.
    pub message: Option<String>,
}

impl Snapshot {
    /// The calls that were taken up and are not answered yet: nobody may take them up again.
    pub fn calls_in_hand(&self) -> impl Iterator<Item = i64> {
        let handled = self.handling.as_ref().map(|call| call.no);
        [handled, self.mover.as_ref().map(|call| call.no)].into_iter().flatten()
    }

    /// The suspension that goes on: that of the call, while one is handled. None in the middle of a stage.
    #[must_use]
    pub fn resting(&self) -> Option<&Rest> {
        self.frame().rest.as_ref()
    }

    /// Returns the hold, if the action under the cursor must not be carried out yet.
    #[must_use]
    pub fn hold(&self) -> Option<&ActionHold> {
        self.frame().held.as_ref()
    }

    /// The requests whose answers end the present rest.
    #[must_use]
    pub fn awaited(&self) -> Vec<RequestId> {
        match &self.visit.awaiting {
            Some(awaiting) => awaiting.id.into_iter().collect(),
            None => awaited(&self.requests).map(|OpenRequest { id, .. }| *id).collect(),
        }
    }

    /// The requests to called systems that are waited for, with where they went.
    pub(super) fn asked(&self) -> impl Iterator<Item = (RequestId, &Destination)> {
        let is_wait = self.visit.awaiting.is_none();
        let requests = awaited(&self.requests).filter(move |_| is_wait);
        requests.filter_map(|request| Some((request.id, request.asked.as_ref()?)))
    }

    /// The frame whose actions run: that of a call, while one is handled.
    pub(super) fn frame(&self) -> &Frame {
        self.handling.as_ref().map_or(&self.main, |call| &call.frame)
    }

    pub(super) fn frame_mut(&mut self) -> &mut Frame {
        self.handling.as_mut().map_or(&mut self.main, |call| &mut call.frame)
    }

    /// Enters the next state.
    pub(super) fn enter(&mut self, state: String) {
        self.visit = Visit { state: Some(state), number: self.visit.number + 1, ..Visit::default() };
        self.main.each = None;
        self.main.numbers.clear();
        self.begin_frame();
    }

    /// Begins with the first action of the state, with the answers and the cycle of those before. The elements that an
    /// `each` of the same visit was through with stay so.
    pub(super) fn begin_frame(&mut self) {
        let Frame { answers, retry, rest, each, numbers, .. } = std::mem::take(&mut self.main);
        self.main = Frame { answers, retry, rest, each, numbers, ..Frame::default() };
    }

    /// Notes that the actions before an unfinished `each` are done again, and may lead to another list. Positions
    /// that were stored before its elements had numbers go through the list that they have.
    pub(super) fn list_again(&mut self) {
        let Frame { each, numbers, .. } = &mut self.main;
        if let Some(each) = each {
            each.again = numbers.iter().any(|numbers| numbers.at == each.at);
        }
    }

    /// Advances the frame behind an action that has gone through: what was retried is over with it.
    pub(super) fn advance(&mut self) {
        self.come_to(self.visit.number, self.frame().action + 1);
        self.frame_mut().action += 1;
    }

    /// Goes on at this action of this visit, and keeps only a repeat that comes no earlier.
    pub(super) fn come_to(&mut self, visit: u32, action: usize) {
        let earlier =
            |retry: &mut SyncRetry| retry.failed_at.is_none_or(|failed_at| failed_at < (visit, action));
        self.frame_mut().retry.take_if(earlier);
        self.sum_up_retries();
    }

    /// Repeats the action of the frame, at this time.
    pub(super) fn repeat(&mut self, cycle: Cycle, now: Timestamp, due: Timestamp) {
        let frame = self.frame_mut();
        let failed_at = frame.retry.take().and_then(|retry| retry.failed_at);
        frame.retry = Some(SyncRetry { cycle, failed_at });
        self.note_retry(now, due);
    }

    /// Repeats an asynchronous failure in this state from the entry point, at this time.
    pub(super) fn repeat_later(&mut self, cycle: Cycle, state: &str, now: Timestamp, due: Timestamp) {
        // A repeat that fails before it comes to where the first failure was goes on with its cycle:
        // two states that took turns would never come to an end otherwise.
        let before = self.asynchronous.take().map(|retry| (retry.state, retry.action, retry.answered));
        let action = self.operation().map(|_| self.main.action);
        let (state, action, answered) = before.unwrap_or_else(|| (state.to_owned(), action, Vec::new()));
        self.asynchronous = Some(AsyncRetry { cycle, state, action, answered, from_entry_point: true });
        self.note_retry(now, due);
    }

    /// Keeps these answers: the repeat of what failed asynchronously does not ask for them again.
    pub(super) fn keep_answers(&mut self, good: &[OpenRequest]) {
        let Some(AsyncRetry { answered, .. }) = &mut self.asynchronous else { return };
        for OpenRequest { state, name, content, .. } in good {
            let kept = KeptAnswer { place: format!("{state}/{name}"), content: *content };
            answered.retain(|other| other.place != kept.place);
            answered.push(kept);
        }
    }

    /// Forgets the answers to earlier requests of this name, which is asked now.
    pub(super) fn forget_answer(&mut self, name: &str) {
        let Some(AsyncRetry { answered, .. }) = &mut self.asynchronous else { return };
        answered.retain(|kept| kept.place.rsplit_once('/').is_none_or(|(_, other)| other != name));
    }

    /// Drops the requests of this name: nobody awaits their answers any more.
    pub(super) fn drop_requests(&mut self, name: &str) {
        let (dropped, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.requests).into_iter().partition(|open| open.name == name);
        self.requests = kept;
        self.requests.extend(dropped.into_iter().filter_map(OpenRequest::into_over));
    }

    fn note_retry(&mut self, now: Timestamp, due: Timestamp) {
        self.retry_time.span = Some((self.retrying_since(now), due));
    }

    /// Start of the time in retries, as if all of it had been one piece.
    pub(super) fn retrying_since(&self, now: Timestamp) -> Timestamp {
        let over = SignedDuration::from_millis(i64::try_from(self.retry_time.over_ms).unwrap_or(i64::MAX));
        self.retry_time.span.map_or_else(|| now.checked_sub(over).unwrap_or(now), |(since, _)| since)
    }

    /// Keeps the time that the cycles took as a sum when the last of them is over.
    pub(super) fn sum_up_retries(&mut self) {
        if self.cycles_mut().next().is_none()
            && let Some((since, until)) = self.retry_time.span.take()
        {
            self.retry_time.over_ms = u64::try_from(until.duration_since(since).as_millis()).unwrap_or(0);
        }
    }

    /// Ends the asynchronous cycle, and drops what was kept for its repeats.
    pub(super) fn forget_async_retry(&mut self) {
        self.asynchronous = None;
        self.sum_up_retries();
    }

    /// Every retry cycle that goes on.
    pub(super) fn cycles_mut(&mut self) -> impl Iterator<Item = &mut Cycle> {
        let frames = [Some(&mut self.main), self.handling.as_mut().map(|call| &mut call.frame)];
        let cycles = frames.into_iter().flatten().filter_map(|frame| frame.retry.as_mut());
        cycles.map(|retry| &mut retry.cycle).chain(self.asynchronous.as_mut().map(|retry| &mut retry.cycle))
    }

    /// Ends the hold: the action at which the order was held is carried out after all. The time that passed is nobody's
    /// failure: it counts in no cycle. Returns the hold, if there was one.
    pub(super) fn end_hold(&mut self, now: Timestamp) -> Option<ActionHold> {
        let hold = self.frame_mut().held.take()?;
        let held = now.duration_since(hold.since).max(SignedDuration::ZERO);
        self.frame_mut().retry.iter_mut().for_each(|retry| retry.cycle.shift(held));
        if self.handling.is_none() {
            self.asynchronous.iter_mut().for_each(|retry| retry.cycle.shift(held));
        }
        if let Some((since, until)) = &mut self.retry_time.span {
            *since = since.checked_add(held).unwrap_or(now).min(now);
            *until = (*until).max(*since);
        }
        Some(hold)
    }

    /// Keeps what a script said by `result(…)`, `message(…)` and `answer(…)`; an answer to nobody is lost.
    pub(super) fn hear(&mut self, result: Option<Value>, message: Option<String>, answer: Option<Value>) {
        self.result = result.or_else(|| self.result.take());
        self.message = message.map(storable).or_else(|| self.message.take());
        let called = match (&mut self.handling, &mut self.mover) {
            (Some(call), _) => &mut call.answer,
            (None, Some(call)) => &mut call.answer,
            (None, None) => return,
        };
        *called = answer.or_else(|| called.take());
    }

    /// Large values that are not in the hand of the stage while it runs.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Folded> {
        let of_call = self.handling.iter_mut().flat_map(|call| {
            let Handling { frame, body, before, .. } = &mut **call;
            frame.values_mut().chain(before.iter_mut().map(|before| &mut before.vars)).chain([body])
        });
        let of_savepoint = self.entry_point.iter_mut().flat_map(EntryPoint::values_mut);
        let of_mover = self.mover.iter_mut().map(|call| &mut call.event);
        let of_operations = self.operations.iter_mut().flat_map(OpenOperation::values_mut);
        let of_failed = self.failed.iter_mut().flat_map(FailurePoint::values_mut);
        let own = self.main.values_mut().chain(of_operations).chain(of_savepoint);
        own.chain(of_call).chain(of_mover).chain(of_failed)
    }

    /// Bytes of text that the order put aside: for the call which is being handled, and for repeats.
    pub(super) fn bytes_aside(&self) -> usize {
        let of_each = |frame: &Frame| {
            let so_far = frame.so_far.as_ref().map_or(0, Folded::bytes);
            frame.each.as_ref().map_or(0, |each| each.bytes()) + so_far
        };
        let of_entry_point = self.entry_point.as_ref().map_or(0, EntryPoint::bytes);
        let of_operations: usize = self.operations.iter().map(OpenOperation::bytes).sum();
        let of_failed = self.failed.as_ref().map_or(0, FailurePoint::bytes);
        let for_repeats = of_entry_point + of_each(&self.main) + of_operations + of_failed;
        let Some(call) = &self.handling else { return for_repeats };
        let for_repeats = for_repeats + of_each(&call.frame);
        let Answers { last, named } = &self.main.answers;
        let before = call.before.as_ref().map(|before| &before.vars);
        let for_call: usize =
            named.values().chain(last).chain(before).chain([&call.body]).map(Folded::bytes).sum();
        for_call + for_repeats
    }
}
