//! Recovery: stages that are overdue, or whose node is over, and deadlines that have passed.

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::recovery::{Finding, Remedy, Suspicion, remedy};

use super::Tables;
use super::rows::{DeadlineKind, ReadyRow, ReadyStage};
use super::stages::plain;
use crate::planted::Planted;

impl Tables {
    /// Stages past their deadline, the longest overdue first.
    #[must_use]
    pub fn overdue(&self, limit: usize) -> Vec<OrderNo> {
        let mut late: Vec<(Timestamp, OrderNo)> = self
            .running
            .iter()
            .filter(|(_, running)| running.deadline_at < self.now)
            .map(|(no, running)| (running.deadline_at, *no))
            .collect();
        late.sort_unstable();
        late.into_iter().take(limit).map(|(_, no)| no).collect()
    }

    /// Nodes that are over, or were never registered, and how many stages are with each.
    #[must_use]
    pub fn abandoned(&self) -> Vec<(Incarnation, u64)> {
        let mut found: Vec<(Incarnation, u64)> = Vec::new();
        if self.has(Planted::LostNodeOverlooked) {
            return found;
        }
        for running in self.running.values() {
            let lives = self.nodes.get(&running.node).is_some_and(|node| node.ended_at.is_none());
            match found.iter_mut().find(|(node, _)| *node == running.node) {
                _ if lives => {}
                Some((_, count)) => *count += 1,
                None => found.push((running.node, 1)),
            }
        }
        found.sort_unstable();
        found
    }

    /// Stages of a node, at most `limit`.
    #[must_use]
    pub fn of_node(&self, node: Incarnation, limit: usize) -> Vec<OrderNo> {
        self.running.iter().filter(|(_, row)| row.node == node).map(|(no, _)| *no).take(limit).collect()
    }

    /// Order and number of each stage that is with a node.
    #[must_use]
    pub fn claims_of_node(&self, node: Incarnation) -> Vec<(OrderNo, Attempt)> {
        self.running.iter().filter(|(_, row)| row.node == node).map(|(no, row)| (*no, row.attempt)).collect()
    }

    /// Hands these stages out again, but for poison: what may run, the hand-outs that are over by it, and the poison.
    pub fn hand_out_again(
        &mut self,
        stages: &[OrderNo],
        finding: Finding,
        max: u16,
    ) -> (Vec<ReadyStage>, Vec<(OrderNo, Attempt)>, Vec<OrderNo>) {
        let (mut ready, mut over, mut poison) = (Vec::new(), Vec::new(), Vec::new());
        for no in stages {
            let Some(running) = self.running.get(no).cloned() else { continue };
            let counted = if self.has(Planted::RestartsUncounted) { 0 } else { running.restarts };
            match remedy(finding, counted, Suspicion::default(), max) {
                Remedy::Poison => poison.push(*no),
                Remedy::HandOutAgain { restarts, .. } => {
                    over.push((*no, running.attempt));
                    ready.extend(self.reissue(*no, restarts, finding != Finding::Released));
                }
            }
        }
        (ready, over, poison)
    }

    fn reissue(&mut self, no: OrderNo, restarts: u16, counts: bool) -> Option<ReadyStage> {
        let running = self.running.remove(&no)?;
        let pass = if self.has(Planted::ReissueKeepsPass) { running.pass } else { self.new_pass() };
        let kept = self.has(Planted::ReissueKeepsNumber);
        let unnumbered = self.has(Planted::ReissueUnnumbered);
        let row = ReadyRow {
            pass,
            attempt: if kept { running.attempt } else { running.attempt.next() },
            wake: running.wake,
            place: self.queued.get(&no).cloned(),
            restarts,
            reissued: true,
            since: self.now,
            woken: true,
            repeat_at: None,
        };
        if let Some(order) = self.orders.get_mut(&no) {
            order.events += i32::from(!unnumbered);
            order.history.push(plain(order.events, order.life));
        }
        self.witness.reissued(no, row.attempt, pass, counts);
        let stage = self.stage_of(no, &row);
        self.ready.insert(no, row);
        self.note_status(no);
        Some(stage)
    }

    /// Orders with a deadline of their own that has passed.
    #[must_use]
    pub fn passed_deadlines(&self) -> Vec<(OrderNo, DeadlineKind)> {
        self.deadlines.iter().filter(|(_, at)| **at < self.now).map(|(key, _)| *key).collect()
    }

    /// Removes one deadline.
    pub fn drop_deadline(&mut self, no: OrderNo, kind: DeadlineKind) {
        self.deadlines.remove(&(no, kind));
    }
}
