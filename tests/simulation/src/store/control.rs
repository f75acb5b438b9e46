//! Changes from outside of a stage: ends and new lives, of orders that are locked.

use pagurus_domain::id::{Attempt, Life, OrderNo, Pass};
use pagurus_domain::invariants::life::HistoryEntry;
use pagurus_domain::order::change::{Change, LifeEnd, Waking};
use pagurus_domain::order::transition::{self, Cause, Refused};
use pagurus_domain::order::{OrderError, ScenarioStatus, Status};
use pagurus_scenario::stage::Snapshot;

use super::Tables;
use super::rows::{OrderRow, ReadyStage, RequestStatus};
use super::stages::plain;
use crate::message::Action;
use crate::planted::Planted;

/// An order with its place, as a transaction has locked it.
#[derive(Clone, Debug)]
pub struct LockedOrder {
    /// The order.
    pub no: OrderNo,
    /// Status that outsiders see.
    pub status: Status,
    /// Row of the order.
    pub order: OrderRow,
    /// Pass and number of the stage that is with a worker.
    pub running: Option<(Pass, Attempt)>,
    /// Number under which it is ready.
    pub ready: Option<Attempt>,
    /// Last hand-out, the present one counted in.
    pub attempt: Attempt,
}

/// Outcome of an action.
#[derive(Clone, Debug)]
pub enum Acted {
    /// The order has ended: as it was, and what may run by that.
    Ended(Box<LockedOrder>, Vec<ReadyStage>),
    /// A new life has begun: what may run by it.
    Begun(OrderNo, Option<ReadyStage>),
}

/// The end of a locked order.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Event.
    pub cause: Cause,
    /// Error, for an end `fail`.
    pub error: Option<OrderError>,
    /// Pass of the stage that was found; under another the order has gone on.
    pub pass: Option<Pass>,
}

impl Tables {
    /// Locks an order.
    #[must_use]
    pub fn lock(&self, no: OrderNo) -> Option<LockedOrder> {
        let order = self.orders.get(&no)?.clone();
        let running = self.running.get(&no).map(|running| (running.pass, running.attempt));
        let ready = self.ready.get(&no);
        let attempt = match (running, ready) {
            (Some((_, attempt)), _) => attempt,
            (_, Some(ready)) if ready.reissued => ready.attempt.previous(),
            _ => order.attempt,
        };
        let status = self.shown_status(no)?;
        Some(LockedOrder { no, status, order, running, ready: ready.map(|ready| ready.attempt), attempt })
    }

    /// Ends an order, where the law lets it: the order as it was, and what may run by that.
    ///
    /// # Errors
    /// The law refuses, and nothing is changed.
    pub fn end_life(
        &mut self,
        no: OrderNo,
        ending: &Ending,
    ) -> Option<Result<(LockedOrder, Vec<ReadyStage>), Refused>> {
        let locked = self.lock(no)?;
        if ending.pass.is_some() && ending.pass != locked.running.map(|(pass, _)| pass) {
            return None;
        }
        let change = match Change::of(locked.status, ending.cause) {
            Ok(change) => change,
            Err(refused) => return Some(Err(refused)),
        };
        let killed = ending.cause == Cause::Killed && self.has(Planted::KillLeavesRunning);
        let interrupted = ending.cause == Cause::Interrupted && self.has(Planted::InterruptLeavesReady);
        if !killed {
            self.running.remove(&no);
        }
        if !interrupted {
            self.ready.remove(&no);
        }
        self.due.remove(&no);
        self.drop_deadlines(no);
        self.leave_queue(no);
        let _ = self.close_requests(no, RequestStatus::Canceled, |_, _| true);
        self.write_ending(&locked, &change, ending);
        self.close_conditions(no);
        let by_hand = matches!(ending.cause, Cause::Killed | Cause::Canceled | Cause::Interrupted);
        self.witness.ended(no, locked.order.life, by_hand, ending.cause == Cause::Interrupted);
        if let Some(end) = change.ends_life {
            let unreported =
                by_hand && locked.order.answers.is_some() && self.has(Planted::ChildEndUnreported);
            if !unreported {
                self.put_notification(no, end);
            }
        }
        self.note_status(no);
        self.note_end(no);
        let woken = self.settle_dependants(no);
        Some(Ok((locked, woken)))
    }

    fn write_ending(&mut self, locked: &LockedOrder, change: &Change, ending: &Ending) {
        let now = self.now;
        let Some(order) = self.orders.get_mut(&locked.no) else { return };
        order.status = change.to;
        order.scenario_status = change.scenario_status(order.scenario_status);
        order.attempt = order.attempt.max(locked.ready.unwrap_or(locked.attempt));
        order.finished_at = Some(now);
        if !change.keeps_error() {
            order.error.clone_from(&ending.error);
        }
        order.events += 1;
        let second = change.ends_life == Some(LifeEnd::Second);
        // A second end is another event of a life that is over.
        if !second {
            order.history.push(HistoryEntry { ends: true, ..plain(order.events, order.life) });
        } else if let Some(last) = order.history.last_mut() {
            last.takes += 1;
        }
    }

    /// Does what an operator asks for; `None` if there is no such order.
    ///
    /// # Errors
    /// The law refuses, and nothing is changed.
    pub fn act(&mut self, action: Action, no: OrderNo) -> Option<Result<Acted, Refused>> {
        let end = |cause| Ending { cause, error: None, pass: None };
        let mut ended = |cause| {
            let ended = self.end_life(no, &end(cause));
            ended.map(|ended| ended.map(|(was, woken)| Acted::Ended(Box::new(was), woken)))
        };
        match action {
            Action::Cancel => ended(Cause::Canceled),
            Action::Interrupt => ended(Cause::Interrupted),
            Action::Kill => ended(Cause::Killed),
            Action::Restart | Action::RestartFromStart => {
                let locked = self.lock(no)?;
                let class = locked.order.error.as_ref().and_then(|error| error.class.as_deref());
                let waits = self.has_closed_conditions(no);
                let cause = transition::restart_of(locked.status, class, waits);
                let begun = self.reopen(no, cause, action == Action::RestartFromStart)?;
                Some(begun.map(|ready| Acted::Begun(no, ready)))
            }
        }
    }

    /// Begins a new life of an order, where the law lets it; `from_start` begins it at the initial state. What may run by it:
    /// nothing where it waits for others first.
    ///
    /// # Errors
    /// The law refuses, and nothing is changed.
    pub fn reopen(
        &mut self,
        no: OrderNo,
        cause: Cause,
        from_start: bool,
    ) -> Option<Result<Option<ReadyStage>, Refused>> {
        let locked = self.lock(no)?;
        let change = match Change::of(locked.status, cause) {
            Ok(change) => change,
            Err(refused) => return Some(Err(refused)),
        };
        let from = locked.order.entry_point.clone().filter(|_| !from_start);
        let snapshot = from.as_ref().map(|from| {
            let stored = self.snapshots.get(&no).and_then(|text| Snapshot::from_text(text).ok());
            stored.unwrap_or_default().restarted_at(from).to_text()
        });
        let _ = self.close_requests(no, RequestStatus::Canceled, |_, _| true);
        match snapshot {
            Some(text) => self.snapshots.insert(no, text),
            None => self.snapshots.remove(&no),
        };
        let keeps = self.has(Planted::RestartKeepsLife);
        if let Some(order) = self.orders.get_mut(&no) {
            order.status = change.to;
            order.scenario_status = ScenarioStatus::Undefined;
            order.life = if keeps { order.life } else { order.life.next() };
            (order.stages, order.retries, order.visited) = (0, 0, 0);
            (order.started_at, order.finished_at) = (None, None);
            (order.result, order.error, order.step, order.start_deadline) = (None, None, None, None);
            order.entry_point.clone_from(&from);
            order.moves.clear();
            order.begin = from;
            order.events += 1;
            order.history.push(HistoryEntry { begins: true, ..plain(order.events, order.life) });
        }
        if cause == Cause::RestartPostponed {
            self.reopen_conditions(no);
            self.note_status(no);
            return Some(Ok(None));
        }
        Some(Ok(self.make_ready(no, Waking::ByHand, None, None)))
    }

    /// The life of an order.
    #[must_use]
    pub fn life_of(&self, no: OrderNo) -> Option<Life> {
        self.orders.get(&no).map(|order| order.life)
    }
}
