//! Requests, registered before they are sent, and their answers, stored in any case.

use std::collections::BTreeMap;

use pagurus_domain::id::{Life, OrderNo, Pass, RequestId};
use pagurus_scenario::stage::Snapshot;
use uuid::Uuid;

use super::Tables;
use super::rows::{CallbackRow, ReadyStage, RequestRow, RequestStatus};
use crate::planted::Planted;

/// An answer from outside.
#[derive(Clone, Debug)]
pub struct NewCallback {
    /// The request that it names.
    pub request: Uuid,
    /// Content of the answer.
    pub content: CallbackContent,
}

/// Content of an answer from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackContent {
    /// Status of the called system's step; of a child, its status.
    pub step_status: &'static str,
    /// Class of the error by which a child failed.
    pub class: Option<String>,
}

impl From<&'static str> for CallbackContent {
    fn from(step_status: &'static str) -> Self {
        Self { step_status, class: None }
    }
}

/// Outcome of a callback, as one word.
pub type Verdict = &'static str;

impl Tables {
    /// Stores a request; `None` if the pass no longer holds. The same action of the same visit has the same request.
    pub fn register_request(
        &mut self,
        (no, pass): (OrderNo, Pass),
        life: Life,
        place: (u32, u32),
        name: &str,
    ) -> Option<RequestId> {
        self.running.get(&no).filter(|running| running.pass == pass)?;
        self.witness.wrote(no, pass);
        let known = self
            .requests_of(no)
            .find(|(_, request)| (request.life, request.place) == (life, place))
            .map(|(id, _)| id);
        let known = match known {
            // Another way was taken: what was asked at this place is nobody's any more.
            Some(id) if self.requests[&id].name != name => {
                self.requests.remove(&id);
                None
            }
            known => known,
        };
        if let Some(id) = known {
            let request = self.requests.get_mut(&id)?;
            if request.status != RequestStatus::Answered {
                request.status = RequestStatus::Open;
            }
            return Some(RequestId(id));
        }
        let id = self.chance.id();
        let row = RequestRow {
            no,
            life,
            place,
            name: name.to_owned(),
            status: RequestStatus::Open,
            awaited: false,
            registered_at: self.now,
        };
        self.requests.insert(id, row);
        self.requests_of.entry(no).or_default().push(id);
        Some(RequestId(id))
    }

    /// Stores callbacks, and wakes the orders whose last open one came.
    pub fn answer(&mut self, callbacks: &[NewCallback]) -> (Vec<Verdict>, Vec<ReadyStage>) {
        self.moves.clear();
        let (mut verdicts, mut orders) = (Vec::new(), Vec::new());
        for callback in callbacks {
            let verdict = self.judge(callback.request, &mut orders);
            let request =
                self.requests.contains_key(&callback.request).then_some(RequestId(callback.request));
            self.callbacks.push(CallbackRow { request, verdict, content: callback.content.clone() });
            verdicts.push(verdict);
        }
        orders.sort_unstable();
        orders.dedup();
        let woken = orders.into_iter().filter_map(|no| self.wake_answered(no)).collect();
        (verdicts, woken)
    }

    fn judge(&mut self, id: Uuid, orders: &mut Vec<OrderNo>) -> Verdict {
        let Some(request) = self.requests.get(&id) else { return "orphan" };
        let (any_life, twice) =
            (self.has(Planted::FormerLifeAnswered), self.has(Planted::SecondAnswerAccepted));
        let lives = self
            .orders
            .get(&request.no)
            .is_some_and(|order| (any_life || order.life == request.life) && order.finished_at.is_none());
        let status = request.status;
        let is_open = status == RequestStatus::Open || (twice && status == RequestStatus::Answered);
        if lives && (is_open || any_life) {
            if request.awaited || any_life {
                orders.push(request.no);
            }
            self.witness.answered_life(request.no, request.life, self.orders[&request.no].life);
            let (no, awaited) = (request.no, request.awaited);
            if let Some(request) = self.requests.get_mut(&id) {
                request.status = RequestStatus::Answered;
            }
            self.note_requests(no, if awaited { -1 } else { 0 });
            return "accepted";
        }
        if status == RequestStatus::Answered { "duplicate" } else { "late" }
    }

    /// The readable snapshot of an order.
    pub(super) fn snapshot_of(&self, no: OrderNo) -> Option<Snapshot> {
        self.snapshots.get(&no).and_then(|text| Snapshot::from_text(text).ok())
    }

    /// Requests that an order waits for, by its position, and those among them that are answered.
    #[must_use]
    pub fn awaited_by_position(&self, no: OrderNo) -> (usize, usize) {
        let Some(snapshot) = self.snapshot_of(no) else { return (0, 0) };
        if snapshot.handling.is_some() || snapshot.main.held.is_some() {
            return (0, 0);
        }
        let awaited = snapshot.awaited();
        let is_answered = |id: &&RequestId| {
            self.requests.get(&id.0).is_some_and(|request| request.status == RequestStatus::Answered)
        };
        (awaited.len(), awaited.iter().filter(is_answered).count())
    }

    /// The accepted answers of an order in its present life, to the last request of each name: name and step status.
    #[must_use]
    pub fn results(&self, no: OrderNo) -> Vec<(String, CallbackContent)> {
        let Some(order) = self.orders.get(&no) else { return Vec::new() };
        let mut last: BTreeMap<&str, ((u32, u32), Uuid)> = BTreeMap::new();
        let of_life = self.requests_of(no).filter(|(_, request)| {
            request.life == order.life
                && i32::try_from(request.place.0).is_ok_and(|visit| visit <= order.visited)
        });
        for (id, request) in of_life {
            let newest = last.entry(&request.name).or_insert((request.place, id));
            *newest = (*newest).max((request.place, id));
        }
        let answer = |id: Uuid| {
            let of_request =
                |row: &&CallbackRow| row.request == Some(RequestId(id)) && row.verdict == "accepted";
            self.callbacks.iter().rev().find(of_request).map(|row| row.content.clone())
        };
        last.into_iter().filter_map(|(name, (_, id))| Some((name.to_owned(), answer(id)?))).collect()
    }
}
