//! Registration: one order for each id, with its place, payload and deadlines.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, Life, OrderNo, RequestId};
use pagurus_domain::order::change::Begin;
use pagurus_domain::order::dependency::{StartDecision, verdict};
use pagurus_domain::order::registration::NewOrder;
use pagurus_domain::order::stage::Wake;
use pagurus_domain::order::{ScenarioStatus, Status};

use super::Tables;
use super::rows::{DeadlineKind, DueRow, OrderRow, ReadyRow, ReadyStage, RequestStatus};
use crate::planted::Planted;

/// Outcome of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// The order is new.
    Accepted {
        /// Number of the order.
        no: OrderNo,
        /// Stage of the order that may run.
        ready: Option<ReadyStage>,
    },
    /// The same was registered before.
    Duplicate(Status),
    /// Another order has this id.
    Conflict(Status),
    /// The order would stand in its queue behind an order that awaits it.
    Behind,
}

impl Tables {
    /// Registers orders, each on its own.
    pub fn register(&mut self, orders: &[NewOrder]) -> Vec<Registered> {
        orders.iter().map(|order| self.register_one(order)).collect()
    }

    /// Registers an order that another one starts, and notes whose it is. One of the same id and content that somebody else
    /// registered is no child of this parent.
    pub fn register_child(&mut self, parent: OrderNo, order: &NewOrder) -> Registered {
        if self.is_behind(order) {
            return Registered::Behind;
        }
        let became = self.register_one(order);
        let is_own = |no: &OrderNo| self.orders[no].parent == Some(parent);
        match became {
            Registered::Accepted { no, .. } => {
                if let Some(row) = self.orders.get_mut(&no) {
                    row.parent = Some(parent);
                }
                became
            }
            Registered::Duplicate(status) if !self.by_id.get(&order.request.id).is_some_and(is_own) => {
                Registered::Conflict(status)
            }
            other => other,
        }
    }

    /// True if a child that has not ended would be a member of a queue beside an order that awaits it.
    fn is_behind(&self, child: &NewOrder) -> bool {
        let Some(queue) = child.queue.as_deref() else { return false };
        if self.by_id.get(&child.request.id).is_some_and(|no| self.orders[no].status.is_final()) {
            return false;
        }
        let mut awaiting = child.answers.and_then(|request| self.awaiting(request));
        while let Some(no) = awaiting {
            if self.queued.get(&no).is_some_and(|(name, _)| name == queue) {
                return true;
            }
            awaiting = self.orders[&no].answers.and_then(|request| self.awaiting(request));
        }
        false
    }

    /// The order that waits for the answer to a request.
    fn awaiting(&self, request: RequestId) -> Option<OrderNo> {
        let row = self.requests.get(&request.0).filter(|row| row.status == RequestStatus::Open)?;
        let order = self.orders.get(&row.no)?;
        (order.life == row.life && !order.status.is_final()).then_some(row.no)
    }

    /// The database gives a number away to whom it refuses then, too.
    pub const fn skip_number(&mut self) {
        self.next_no += 1;
    }

    fn register_one(&mut self, order: &NewOrder) -> Registered {
        let request = &order.request;
        let known = self.by_id.get(&request.id).filter(|_| !self.has(Planted::IdNotUnique)).copied();
        if let Some(no) = known {
            let status = self.shown_status(no).unwrap_or(Status::New);
            return if self.orders[&no].digest == request.digest {
                Registered::Duplicate(status)
            } else {
                Registered::Conflict(status)
            };
        }
        let no = OrderNo(self.next_no);
        self.next_no += 1;
        let conditions = self.first_conditions(order);
        let stands: Vec<_> = conditions.iter().map(|(_, row)| (row.stand, row.otherwise)).collect();
        let waits = verdict(&stands) != StartDecision::Start;
        let starts_later = request.start_at.is_some_and(|at| at > self.now);
        let begin = Begin::of(waits, starts_later, order.queue.is_some());
        let queue = order.queue.as_deref().filter(|_| begin.joins_queue);
        let position = queue.map(|queue| self.take_position(queue));
        let status = if starts_later { begin.later } else { begin.at_once };
        self.by_id.insert(request.id.clone(), no);
        self.orders.insert(no, row(order, status, self.now));
        if let Some((queue, position)) = order.queue.as_deref().zip(position) {
            self.enqueue(no, queue, position);
        }
        self.dependencies.extend(conditions.into_iter().map(|(before, row)| ((no, before), row)));
        self.notice(&request.id);
        if let Some(at) = order.start_deadline {
            self.deadlines.insert((no, DeadlineKind::Start), at);
        }
        if let Some(at) = order.process_timeout.and_then(|timeout| self.now.checked_add(timeout).ok()) {
            self.deadlines.insert((no, DeadlineKind::Process), at);
        }
        if waits {
            self.wait_for_others(no);
            self.note_status(no);
            return Registered::Accepted { no, ready: None };
        }
        let ready = match request.start_at.filter(|_| status == Status::Postponed) {
            Some(at) => {
                self.due.insert(no, DueRow { stream: Stream::Postponed, at });
                None
            }
            None => Some(self.first_ready(no)),
        };
        self.note_status(no);
        Registered::Accepted { no, ready: ready.filter(|_| status == Status::New) }
    }

    fn first_ready(&mut self, no: OrderNo) -> ReadyStage {
        let pass = self.new_pass();
        let row = ReadyRow {
            pass,
            attempt: Attempt::FIRST,
            wake: Wake::Start,
            place: self.queued.get(&no).cloned(),
            restarts: 0,
            reissued: false,
            since: self.now,
            woken: false,
            repeat_at: None,
        };
        self.witness.issued(no, row.attempt, pass);
        let stage = self.stage_of(no, &row);
        self.ready.insert(no, row);
        stage
    }
}

fn row(order: &NewOrder, status: Status, now: Timestamp) -> OrderRow {
    let request = &order.request;
    OrderRow {
        id: request.id.clone(),
        digest: request.digest,
        scenario: usize::try_from(order.scenario.0).unwrap_or(0),
        mode: order.mode,
        queue: order.queue.clone(),
        priority: request.priority,
        flow: order.flow.clone(),
        notify: request.notify.is_some(),
        answers: order.answers,
        parent: None,
        params: request.params.clone(),
        start_at: request.start_at,
        start_deadline: order.start_deadline,
        created_at: now,
        status,
        scenario_status: ScenarioStatus::Undefined,
        step: None,
        entry_point: None,
        life: Life::FIRST,
        attempt: Attempt(0),
        visited: 0,
        started_at: None,
        finished_at: None,
        stages: 0,
        retries: 0,
        error: None,
        result: None,
        events: 1,
        history: Vec::new(),
        moves: Vec::new(),
        begin: None,
    }
}
