//! The requests of an order and what answers them: which answer counts, and which comes too late.
//! Judges as the store of the engine does, callback by callback in the order of their times.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pagurus_domain::id::RequestId;
use pagurus_scenario::stage::{Callback, TaskTerms};
use pagurus_scenario::value::body_value;
use pagurus_scenario::xml;
use serde_json::Value;
use uuid::Uuid;

/// A request that was registered.
struct TrialRequest {
    name: String,
    /// The visit and the action that registered it: all hand-outs of one task share them.
    place: (u32, u32),
    /// Set where it is a hand-out of a task.
    task: Option<TaskTerms>,
    state: State,
    /// The call by which it is given up, as JSON.
    cancel: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Answered,
    /// The time of the request is over, or another hand-out of its task counts.
    Closed,
}

/// A callback on its way.
struct Coming {
    at: Timestamp,
    id: RequestId,
    value: Value,
}

/// A callback that has come.
pub(super) struct DeliveredCallback {
    pub(super) at: Timestamp,
    pub(super) name: String,
    /// True if nobody waits for it any more.
    pub(super) too_late: bool,
}

/// All requests of one order.
#[derive(Default)]
pub(super) struct Requests {
    known: BTreeMap<RequestId, TrialRequest>,
    coming: Vec<Coming>,
    /// The last answer to the last request of each name.
    answers: BTreeMap<String, Callback>,
    /// Place at which the last request of each name was registered.
    newest: BTreeMap<String, (u32, u32)>,
}

impl Requests {
    /// Registers a request; the same place gives the same one, each hand-out of a task and each start of a child has its own.
    pub(super) fn register(
        &mut self,
        name: &str,
        place: (u32, u32),
        hand_out: u32,
        task: Option<TaskTerms>,
    ) -> RequestId {
        let (visit, action) = place;
        let number = (u128::from(visit) << 64) | (u128::from(action) << 32) | u128::from(hand_out);
        let id = RequestId(Uuid::from_u128(number));
        // Only the newest hand-out of such a task may still be answered.
        if hand_out > 1 && task.is_some_and(|task| !task.accept_first) {
            self.siblings(id, place).for_each(|sibling| sibling.state = State::Closed);
        }
        let state = match self.known.get(&id) {
            Some(TrialRequest { state: State::Answered, .. }) => State::Answered,
            _ => State::Open,
        };
        self.known.insert(id, TrialRequest { name: name.to_owned(), place, task, state, cancel: None });
        // An answer to an earlier request would look like one to this.
        if self.newest.insert(name.to_owned(), place) != Some(place) {
            self.answers.remove(name);
        }
        id
    }

    /// The other hand-outs of a task that may still be answered.
    fn siblings(&mut self, id: RequestId, place: (u32, u32)) -> impl Iterator<Item = &mut TrialRequest> {
        let others = self.known.iter_mut().filter(move |(other, _)| **other != id).map(|(_, other)| other);
        others.filter(move |other| other.task.is_some() && other.place == place && other.state == State::Open)
    }

    /// Expects an answer. A second one to the same request is a double, and changes nothing.
    pub(super) fn expect(&mut self, id: RequestId, at: Timestamp, value: Value) {
        self.coming.push(Coming { at, id, value });
    }

    /// Takes every callback that comes by now.
    pub(super) fn deliver(&mut self, now: Timestamp) -> Vec<DeliveredCallback> {
        self.coming.sort_by_key(|coming| coming.at);
        let by_now = self.coming.partition_point(|coming| coming.at <= now);
        let come: Vec<Coming> = self.coming.drain(..by_now).collect();
        come.into_iter().filter_map(|coming| self.take(coming)).collect()
    }

    fn take(&mut self, coming: Coming) -> Option<DeliveredCallback> {
        let Coming { at, id, value } = coming;
        let request = self.known.get_mut(&id).filter(|request| request.state != State::Answered)?;
        let (name, place) = (request.name.clone(), request.place);
        let too_late = request.state == State::Closed;
        if !too_late {
            request.state = State::Answered;
            // One decision ends a task, whichever of its hand-outs it answers.
            if request.task.is_some() {
                self.siblings(id, place).for_each(|sibling| sibling.state = State::Closed);
            }
            if self.newest.get(&name) == Some(&place) {
                self.answers.insert(name.clone(), callback(&name, value));
            }
        }
        Some(DeliveredCallback { at, name, too_late })
    }

    /// Returns when the last of these requests is answered; `None` if one of them never is.
    pub(super) fn all_answered_at(&self, ids: &[RequestId], now: Timestamp) -> Option<Timestamp> {
        let times: Option<Vec<Timestamp>> = ids.iter().map(|id| self.answered_at(*id, now)).collect();
        Some(times?.into_iter().max().unwrap_or(now))
    }

    fn answered_at(&self, id: RequestId, now: Timestamp) -> Option<Timestamp> {
        let request = self.known.get(&id)?;
        if request.state == State::Answered {
            return Some(now);
        }
        let counts = |coming: &&Coming| {
            let other = self.known.get(&coming.id);
            coming.id == id
                || other.is_some_and(|other| {
                    other.task.is_some() && other.place == request.place && other.state == State::Open
                })
        };
        self.coming.iter().filter(counts).map(|coming| coming.at.max(now)).min()
    }

    /// Notes the call by which a request is given up.
    pub(super) fn note_cancel(&mut self, id: RequestId, call: Option<&str>) {
        if let (Some(request), Some(call)) = (self.known.get_mut(&id), call) {
            request.cancel = Some(call.to_owned());
        }
    }

    /// Takes the calls of requests that were given up, each once, with the names of the requests; at the end of the order,
    /// all that are open are.
    pub(super) fn take_given_up(&mut self, has_ended: bool) -> Vec<(RequestId, String, String)> {
        let given_up = |state| state == State::Closed || (has_ended && state == State::Open);
        let requests = self.known.iter_mut().filter(|(_, request)| given_up(request.state));
        requests
            .filter_map(|(id, request)| Some((*id, request.name.clone(), request.cancel.take()?)))
            .collect()
    }

    /// Ends the wait for these requests. An earlier hand-out stays open where the first decision
    /// counts, but not when the time of the whole task is over.
    pub(super) fn time_out(&mut self, ids: &[RequestId], now: Timestamp) {
        for (id, request) in self.known.iter_mut().filter(|(_, request)| request.state == State::Open) {
            let stays_open = request.task.is_some_and(|task| task.accept_first);
            let over = request.task.is_some_and(|task| {
                task.wait_ends_at <= now || task.task_ends_at.is_some_and(|end| end <= now)
            });
            if over || (ids.contains(id) && !stays_open) {
                request.state = State::Closed;
            }
        }
    }

    /// Answers as scenarios see them.
    pub(super) fn answers(&self) -> Vec<Callback> {
        self.answers.values().cloned().collect()
    }
}

/// The callback as a stage gets it. A body that is written as a text is read by its content type, as the engine reads it.
fn callback(name: &str, mut value: Value) -> Callback {
    let body = match &value["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let kind = value["headers"]["content-type"].as_str();
    if value["body"].is_string() && kind.is_some_and(xml::is_xml_type) {
        value["body"] = body_value(&body, kind);
    }
    Callback {
        name: name.to_owned(),
        body,
        step_status: value["stepStatus"].as_str().map(str::to_owned),
        received_at: value["receivedAt"].as_str().and_then(|at| at.parse().ok()),
        value: value.into(),
    }
}
