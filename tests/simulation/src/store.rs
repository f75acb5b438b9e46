//! The model of the store: the same tables as those of the database, and for each call of `shared/store` that changes an
//! order a function with the same guards. A function is a transaction: all of it, or nothing.
//!
//! Must know nothing that the database does not: no process, no message. What is witnessed beside the tables judges and
//! decides nothing.

mod answers;
mod cluster;
mod control;
mod dependencies;
mod notifications;
mod operations;
mod reading;
mod recovery;
mod registration;
mod rows;
mod stages;
mod stops;
mod waking;
pub mod witness;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::flow::FlowStop;
use pagurus_domain::id::{Epoch, Incarnation, Life, OrderNo, Pass, RequestId};
use pagurus_domain::order::Status;
use pagurus_domain::order::change::{Membership, Waking, shown};
use uuid::Uuid;

use crate::chance::Chance;
use crate::planted::Planted;
pub use answers::{CallbackContent, NewCallback, Verdict};
pub use cluster::{NodeRow, NodeStatus};
pub use control::{Acted, Ending, LockedOrder};
pub use dependencies::{DependencyRow, Settled};
pub use notifications::OutboxRow;
pub use operations::OperationRow;
pub use registration::Registered;
pub use rows::{
    CallbackRow, DeadlineKind, DueRow, OrderRow, ReadyRow, ReadyStage, RequestRow, RequestStatus, RunningRow,
};
pub use stages::{Claimed, Finished, OfferedStage, Unclaimed, is_suspended};
pub use witness::Witness;

/// All tables.
#[derive(Debug)]
pub struct Tables {
    /// The clock of the database.
    pub now: Timestamp,
    /// Wide rows, with parameters and history.
    pub orders: BTreeMap<OrderNo, OrderRow>,
    by_id: BTreeMap<String, OrderNo>,
    /// Positions and variables.
    pub snapshots: BTreeMap<OrderNo, String>,
    /// Stages that may run.
    pub ready: BTreeMap<OrderNo, ReadyRow>,
    /// Stages with a worker.
    pub running: BTreeMap<OrderNo, RunningRow>,
    /// Orders that rest.
    pub due: BTreeMap<OrderNo, DueRow>,
    /// Members of queues.
    pub queued: BTreeMap<OrderNo, (String, i64)>,
    /// The last position of each queue.
    queues: BTreeMap<String, i64>,
    members: BTreeMap<(String, i64), OrderNo>,
    /// Deadlines of orders as a whole.
    pub deadlines: BTreeMap<(OrderNo, DeadlineKind), Timestamp>,
    /// Questions to other systems.
    pub requests: BTreeMap<Uuid, RequestRow>,
    requests_of: BTreeMap<OrderNo, Vec<Uuid>>,
    /// Requests of flows that are waited for, or not any more, by the present call.
    pub moves: Vec<(String, i32)>,
    /// Answers.
    pub callbacks: Vec<CallbackRow>,
    /// Notifications that are not confirmed.
    pub outbox: BTreeMap<(OrderNo, Life, String), OutboxRow>,
    /// Conditions that orders wait for, by the order and the id of the other one.
    pub dependencies: BTreeMap<(OrderNo, String), DependencyRow>,
    /// Bulk operations, by the key of their request.
    pub operations: BTreeMap<usize, OperationRow>,
    /// Stops of flows.
    stops: Vec<FlowStop>,
    /// Processes.
    pub nodes: BTreeMap<Incarnation, NodeRow>,
    lease: Option<(Incarnation, Timestamp)>,
    epoch: Epoch,
    next_no: i64,
    next_node: i64,
    /// The ids that a database draws.
    chance: Chance,
    /// The bug that is in it.
    pub planted: Option<Planted>,
    /// Witness of all commits.
    pub witness: Witness,
}

impl Tables {
    /// Empty ones.
    #[must_use]
    pub fn new(seed: u64, planted: Option<Planted>) -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            orders: BTreeMap::new(),
            by_id: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            ready: BTreeMap::new(),
            running: BTreeMap::new(),
            due: BTreeMap::new(),
            queued: BTreeMap::new(),
            queues: BTreeMap::new(),
            members: BTreeMap::new(),
            deadlines: BTreeMap::new(),
            requests: BTreeMap::new(),
            requests_of: BTreeMap::new(),
            moves: Vec::new(),
            callbacks: Vec::new(),
            outbox: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            operations: BTreeMap::new(),
            stops: Vec::new(),
            nodes: BTreeMap::new(),
            lease: None,
            epoch: Epoch(0),
            next_no: 1,
            next_node: 1,
            chance: Chance::of(seed, 7),
            planted,
            witness: Witness::default(),
        }
    }

    /// True if this bug is in the tables.
    #[must_use]
    pub fn has(&self, planted: Planted) -> bool {
        self.planted == Some(planted)
    }

    /// The number of an order.
    #[must_use]
    pub fn no_of(&self, id: &str) -> Option<OrderNo> {
        self.by_id.get(id).copied()
    }

    /// Status that outsiders see.
    #[must_use]
    pub fn shown_status(&self, no: OrderNo) -> Option<Status> {
        let order = self.orders.get(&no)?;
        let is_reissued = self.ready.get(&no).is_some_and(|ready| ready.reissued);
        Some(shown(order.status, self.running.contains_key(&no), is_reissued))
    }

    fn new_pass(&mut self) -> Pass {
        Pass(self.chance.id())
    }

    /// Takes a position for each of these queues, in this order.
    fn take_position(&mut self, queue: &str) -> i64 {
        let now = self.now.as_millisecond();
        let last = self.queues.entry(queue.to_owned()).or_insert(i64::MIN);
        *last = now.max(last.saturating_add(1));
        *last
    }

    fn enqueue(&mut self, no: OrderNo, queue: &str, position: i64) {
        self.queued.insert(no, (queue.to_owned(), position));
        self.members.insert((queue.to_owned(), position), no);
    }

    fn leave_queue(&mut self, no: OrderNo) {
        if let Some(place) = self.queued.remove(&no) {
            self.members.remove(&place);
        }
    }

    /// The head of a queue.
    fn head(&self, queue: &str) -> Option<(i64, OrderNo)> {
        let range = (queue.to_owned(), i64::MIN)..=(queue.to_owned(), i64::MAX);
        self.members.range(range).next().map(|((_, position), no)| (*position, *no))
    }

    /// Puts an order without a place on the list of what may run.
    fn make_ready(
        &mut self,
        no: OrderNo,
        by: Waking,
        since: Option<Timestamp>,
        repeat_at: Option<Timestamp>,
    ) -> Option<ReadyStage> {
        let order = self.orders.get(&no)?;
        let (attempt, queue) = (order.attempt, order.queue.clone());
        if by.membership() == Membership::TakesTail
            && let Some(queue) = queue
            && !self.queued.contains_key(&no)
        {
            let position = self.take_position(&queue);
            self.enqueue(no, &queue, position);
        }
        let pass = self.new_pass();
        let row = ReadyRow {
            pass,
            attempt: if self.has(Planted::NumberNotRaised) { attempt } else { attempt.next() },
            wake: by.wake(),
            place: self.queued.get(&no).cloned(),
            restarts: 0,
            reissued: false,
            since: since.unwrap_or(self.now),
            woken: by.yields(),
            repeat_at,
        };
        self.witness.issued(no, row.attempt, pass);
        let stage = self.stage_of(no, &row);
        self.ready.insert(no, row);
        self.note_status(no);
        Some(stage)
    }

    fn stage_of(&self, no: OrderNo, row: &ReadyRow) -> ReadyStage {
        let order = &self.orders[&no];
        ReadyStage {
            no,
            attempt: row.attempt,
            flow: order.flow.clone(),
            priority: order.priority,
            place: row.place.clone(),
            woken: row.woken,
        }
    }

    /// The status of an order may have changed: the witness compares it with the one before.
    fn note_status(&mut self, no: OrderNo) {
        if let Some(status) = self.shown_status(no) {
            self.witness.changed(no, status);
        }
    }

    /// The requests of an order.
    fn requests_of(&self, no: OrderNo) -> impl Iterator<Item = (Uuid, &RequestRow)> {
        let ids = self.requests_of.get(&no).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| Some((*id, self.requests.get(id)?)))
    }

    /// Closes the open requests of an order that fulfil this, with this status.
    fn close_requests(
        &mut self,
        no: OrderNo,
        status: RequestStatus,
        which: impl Fn(Uuid, &RequestRow) -> bool,
    ) -> usize {
        let mut closed = 0;
        for id in self.requests_of.get(&no).cloned().unwrap_or_default() {
            let Some(request) = self.requests.get_mut(&id) else { continue };
            if request.status == RequestStatus::Open && which(id, request) {
                request.status = status;
                closed += 1;
            }
        }
        closed
    }

    /// Notes that an order now waits for these requests, and for no others.
    fn mark_awaited(&mut self, no: OrderNo, awaited: &[RequestId]) {
        let mut more = 0;
        for id in self.requests_of.get(&no).cloned().unwrap_or_default() {
            let Some(request) = self.requests.get_mut(&id) else { continue };
            if request.status == RequestStatus::Open {
                let was = std::mem::replace(&mut request.awaited, awaited.contains(&RequestId(id)));
                more += i32::from(request.awaited) - i32::from(was);
            }
        }
        self.note_requests(no, more);
    }

    fn note_requests(&mut self, no: OrderNo, by: i32) {
        if let Some(order) = self.orders.get(&no).filter(|_| by != 0) {
            self.moves.push((order.flow.clone(), by));
        }
    }

    /// Requests that orders wait for, by flow; those that were registered within this time besides.
    #[must_use]
    pub fn open_requests(&self, recent: Duration) -> BTreeMap<String, (u32, u32)> {
        let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for no in self.due.iter().filter(|(_, due)| due.stream == Stream::Wait).map(|(no, _)| *no) {
            let Some(order) = self.orders.get(&no) else { continue };
            let is_open = |row: &&RequestRow| row.status == RequestStatus::Open && row.awaited;
            for row in self.requests_of(no).map(|(_, row)| row).filter(is_open) {
                let count = counts.entry(order.flow.clone()).or_default();
                count.0 += 1;
                count.1 += u32::from(self.now.duration_since(row.registered_at).unsigned_abs() < recent);
            }
        }
        counts
    }

    fn drop_deadlines(&mut self, no: OrderNo) {
        for kind in [DeadlineKind::Start, DeadlineKind::Process] {
            self.deadlines.remove(&(no, kind));
        }
    }
}
