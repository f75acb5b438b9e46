//! Stages: claimed, saved on their way, ended.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::{AgeGroups, Stream};
use pagurus_domain::id::{Attempt, Epoch, Incarnation, Life, OrderNo, Pass};
use pagurus_domain::invariants::life::HistoryEntry;
use pagurus_domain::order::change::{Change, Deadlines, Membership, Waking};
use pagurus_domain::order::stage::{Then, Wake};
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{ScenarioStatus, Status};
use pagurus_scenario::stage::Transition;

use super::Tables;
use super::rows::{DeadlineKind, DueRow, OrderRow, ReadyStage, RunningRow};
use crate::planted::Planted;

/// A hand-out, as a worker received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedStage {
    /// The order.
    pub no: OrderNo,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Epoch of the dispatcher that sent it.
    pub epoch: Epoch,
}

/// Reason why a hand-out was not claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclaimed {
    /// No such stage is ready any more.
    Gone,
    /// Another order is at the head of its queue.
    Behind,
    /// The dispatcher is no longer the one.
    StaleEpoch,
}

/// A stage that belongs to a worker.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The order.
    pub no: OrderNo,
    /// Row of the order, as it was at the claim.
    pub order: OrderRow,
    /// Token of the stage.
    pub pass: Pass,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Reason why the stage runs.
    pub wake: Wake,
    /// Number of times that it was handed out again.
    pub restarts: u16,
    /// Time since which it could have run.
    pub since: Timestamp,
    /// The queue that it owns.
    pub queue: Option<String>,
    /// Position and variables.
    pub snapshot: Option<String>,
    /// The database's clock.
    pub now: Timestamp,
}

/// The end of a stage, or how far it has come.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The order.
    pub no: OrderNo,
    /// The right to write.
    pub pass: Pass,
    /// Life of the order.
    pub life: Life,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Reason why the stage ran.
    pub wake: Wake,
    /// Continuation; `None` if it goes on from an entry point.
    pub then: Option<Then>,
    /// Status of the order relative to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state; `None` if nothing was executed.
    pub step: Option<String>,
    /// Last entry point.
    pub entry_point: Option<String>,
    /// States entered in this life.
    pub visited: i32,
    /// Begin of the stage.
    pub started_at: Timestamp,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Position and variables to keep; none removes them.
    pub snapshot: Option<String>,
    /// True if there was something to remove.
    pub had_snapshot: bool,
    /// The queue that the order is a member of.
    pub queue: Option<String>,
    /// True if the scenario gave the queue up.
    pub released: bool,
    /// Transitions.
    pub moves: Vec<Transition>,
    /// Time until which it may go on without progress, if it goes on.
    pub until: Timestamp,
}

impl Finished {
    /// True if the order is no member of its queue any more.
    #[must_use]
    pub fn leaves_queue(&self) -> bool {
        let leaves = |then| Change::of_stage(then).membership == Membership::Leaves;
        self.queue.is_some() && (self.released || self.then.as_ref().is_some_and(leaves))
    }
}

impl Tables {
    /// Takes stages for a node: those that are ready, at the head of their queue, and handed out by the present dispatcher.
    pub fn claim(
        &mut self,
        node: Incarnation,
        work: Duration,
        offered: &[OfferedStage],
    ) -> (Vec<Claimed>, Vec<(OfferedStage, Unclaimed)>) {
        let (mut claimed, mut unclaimed) = (Vec::new(), Vec::new());
        // One statement sees one state of the queues: who leaves by it is still their head.
        let heads: BTreeSet<OrderNo> =
            offered.iter().filter(|one| self.is_head(one.no)).map(|one| one.no).collect();
        for one in offered {
            if one.epoch != self.epoch && !self.has(Planted::ClaimIgnoresEpoch) {
                unclaimed.push((*one, Unclaimed::StaleEpoch));
            } else if self.ready.get(&one.no).is_none_or(|ready| ready.attempt != one.attempt) {
                unclaimed.push((*one, Unclaimed::Gone));
            } else if !heads.contains(&one.no) && !self.has(Planted::ClaimIgnoresHead) {
                unclaimed.push((*one, Unclaimed::Behind));
            } else if let Some(stage) = self.claim_one(node, work, one) {
                claimed.push(stage);
            }
        }
        (claimed, unclaimed)
    }

    fn is_head(&self, no: OrderNo) -> bool {
        let place = self.ready.get(&no).and_then(|ready| ready.place.as_ref());
        place.is_none_or(|(queue, position)| self.head(queue).is_none_or(|(head, _)| head >= *position))
    }

    fn claim_one(&mut self, node: Incarnation, work: Duration, one: &OfferedStage) -> Option<Claimed> {
        let ready = self.ready.remove(&one.no)?;
        let order = self.orders.get(&one.no)?.clone();
        let queue = ready.place.map(|(queue, _)| queue);
        let running = RunningRow {
            pass: ready.pass,
            attempt: ready.attempt,
            wake: ready.wake,
            restarts: ready.restarts,
            queue: queue.clone(),
            node,
            started_at: self.now,
            deadline_at: self.now.checked_add(work).unwrap_or(Timestamp::MAX),
        };
        self.running.insert(one.no, running);
        let starts = Change::of(order.status, Cause::Claimed)
            .is_ok_and(|claim| claim.deadlines == Deadlines::StartIsMet);
        if starts && order.start_deadline.is_some() && order.started_at.is_none() {
            self.deadlines.remove(&(one.no, DeadlineKind::Start));
        }
        self.witness.claimed(one.no, order.life, one.epoch);
        let unmet = self.never_met(one.no);
        self.witness.began(one.no, &unmet);
        self.note_status(one.no);
        Some(Claimed {
            no: one.no,
            order,
            pass: ready.pass,
            attempt: ready.attempt,
            wake: ready.wake,
            restarts: ready.restarts,
            since: ready.since,
            queue,
            snapshot: self.snapshots.get(&one.no).cloned(),
            now: self.now,
        })
    }

    /// True while this pass of an order holds.
    fn holds(&self, no: OrderNo, pass: Pass) -> bool {
        self.running.get(&no).is_some_and(|running| running.pass == pass || self.has(Planted::EndIgnoresPass))
    }

    /// Prolongs stages, and saves entry points that they have entered; returns for each if it still has its pass.
    pub fn advance(&mut self, stages: &[Finished]) -> Vec<bool> {
        stages.iter().map(|stage| self.advance_one(stage)).collect()
    }

    fn advance_one(&mut self, stage: &Finished) -> bool {
        if !self.holds(stage.no, stage.pass) {
            return false;
        }
        let Some(running) = self.running.get_mut(&stage.no) else { return false };
        running.deadline_at = running.deadline_at.max(stage.until);
        let Some(step) = &stage.step else { return true };
        running.wake = Wake::Start;
        running.restarts = 0;
        self.witness.entered(stage.no, stage.pass);
        // Said again, because its answer was lost, it is no second event.
        let is_new = |order: &&mut OrderRow| (order.attempt, order.visited) != (stage.attempt, stage.visited);
        if let Some(order) = self.orders.get_mut(&stage.no).filter(is_new) {
            order.scenario_status = stage.scenario_status;
            (order.step, order.entry_point) = (Some(step.clone()), Some(step.clone()));
            order.attempt = stage.attempt;
            order.visited = stage.visited;
            order.started_at = order.started_at.or(Some(stage.started_at));
            order.events += 1;
            order.history.push(plain(order.events, order.life));
            order.moves.extend(stage.moves.iter().map(|one| (one.from.clone(), one.to.clone())));
        }
        if let Some(snapshot) = stage.snapshot.clone().filter(|_| !self.has(Planted::SavedPositionLost)) {
            self.snapshots.insert(stage.no, snapshot);
        }
        true
    }

    /// Writes the ends of stages whose pass still holds; returns for each if it did, and the stages that may run now.
    pub fn finish(&mut self, ends: &[Finished], groups: &AgeGroups) -> (Vec<bool>, Vec<ReadyStage>) {
        self.moves.clear();
        let mut ready = Vec::new();
        let applied = ends.iter().map(|end| self.finish_one(end, groups, &mut ready)).collect();
        (applied, ready)
    }

    fn finish_one(&mut self, end: &Finished, groups: &AgeGroups, ready: &mut Vec<ReadyStage>) -> bool {
        let Some(then) = end.then.as_ref().filter(|_| self.holds(end.no, end.pass)) else { return false };
        self.running.remove(&end.no);
        self.witness.finished(end.no, end.life, end.pass);
        let change = Change::of_stage(then);
        self.write_end(end, then, &change);
        match &end.snapshot {
            Some(snapshot) => {
                self.snapshots.insert(end.no, snapshot.clone());
            }
            None if end.had_snapshot => {
                self.snapshots.remove(&end.no);
            }
            None => {}
        }
        if let Some(at) = then.due_at() {
            let length = at.duration_since(end.started_at).unsigned_abs();
            self.due.insert(end.no, DueRow { stream: then.status().stream(length, groups), at });
        }
        let keeps = match then {
            Then::Sleep { .. } => self.has(Planted::SleepKeepsQueue),
            _ => change.ends_life.is_some() && self.has(Planted::EndKeepsQueue),
        };
        if end.leaves_queue() && !keeps {
            self.leave_queue(end.no);
        }
        if change.deadlines == Deadlines::Drop {
            self.drop_deadlines(end.no);
        }
        if let Some(first) = change.ends_life.filter(|_| !self.has(Planted::EndUnreported)) {
            self.put_notification(end.no, first);
        }
        self.note_status(end.no);
        if change.ends_life.is_some() {
            self.note_end(end.no);
            ready.extend(self.settle_dependants(end.no));
        }
        match then {
            Then::Wait { requests, .. } => {
                self.mark_awaited(end.no, requests);
                if !self.has(Planted::EarlyAnswerOverlooked) {
                    ready.extend(self.wake_answered(end.no));
                }
            }
            // The end of a hold is not the end of the wait around it.
            Then::Hold { .. } => self.mark_awaited(end.no, &[]),
            _ => {}
        }
        true
    }

    /// Notes that an order has ended in its present state: orders that wait for that may go from now on.
    pub(super) fn note_end(&mut self, no: OrderNo) {
        if let Some(order) = self.orders.get(&no) {
            self.witness.ended_in(&order.id, order.step.as_deref());
        }
    }

    fn write_end(&mut self, end: &Finished, then: &Then, change: &Change) {
        let ran = end.step.is_some();
        let now = self.now;
        let Some(order) = self.orders.get_mut(&end.no) else { return };
        order.status = change.to;
        order.scenario_status = end.scenario_status;
        order.step = end.step.clone().or(order.step.take());
        order.entry_point = end.entry_point.clone().or(order.entry_point.take());
        order.attempt = end.attempt;
        order.visited = end.visited;
        order.stages += i32::from(ran);
        order.retries += i32::from(ran && end.wake == Wake::Retry);
        order.started_at = order.started_at.or(Some(end.started_at));
        order.finished_at = change.ends_life.map(|_| now);
        order.result.clone_from(&end.result);
        order.error = match then {
            Then::Retry { error, .. } => Some(error.clone()),
            Then::End { error, .. } => error.clone(),
            _ => None,
        };
        order.events += 2;
        let ends = change.ends_life.is_some();
        order.history.push(HistoryEntry { takes: 2, ends, ..plain(order.events - 1, end.life) });
        order.moves.extend(end.moves.iter().map(|one| (one.from.clone(), one.to.clone())));
    }

    /// Wakes an order that waits and whose awaited answers are all in.
    pub(super) fn wake_answered(&mut self, no: OrderNo) -> Option<ReadyStage> {
        let waits = self.due.get(&no).is_some_and(|due| due.stream == Stream::Wait);
        let is_open =
            |request: &super::RequestRow| request.awaited && request.status == super::RequestStatus::Open;
        if !waits || self.requests_of(no).any(|(_, request)| is_open(request)) {
            return None;
        }
        self.due.remove(&no);
        self.make_ready(no, Waking::Answered, None, None)
    }

    /// Gives the queue of a running stage up; returns if the stage is still the caller's.
    pub fn give_queue_up(&mut self, no: OrderNo, pass: Pass) -> bool {
        let Some(running) = self.running.get_mut(&no).filter(|running| running.pass == pass) else {
            return false;
        };
        running.queue = None;
        self.leave_queue(no);
        true
    }
}

/// An event that takes one number.
pub(super) const fn plain(number: i32, life: Life) -> HistoryEntry {
    HistoryEntry { number, life, takes: 1, ends: false, begins: false }
}

/// True if a position is needed to go on.
#[must_use]
pub const fn is_suspended(status: Status) -> bool {
    matches!(status, Status::Sleep | Status::Wait | Status::Polling | Status::Retry)
}
