//! Nodes, heartbeats and the lease of the dispatcher.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Epoch, Incarnation, Role};

use super::Tables;
use crate::planted::Planted;

/// Status of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// At work.
    Active,
    /// Takes nothing new.
    Stopping,
    /// Has ended in good order.
    Stopped,
    /// Silent for too long, or another came under its name.
    Lost,
}

/// A process.
#[derive(Clone, Debug)]
pub struct NodeRow {
    /// Name of the node.
    pub name: String,
    /// Service of the node.
    pub role: Role,
    /// Stages that it takes at most.
    pub concurrency: u32,
    /// Status of the node.
    pub status: NodeStatus,
    /// Start of its life.
    pub started_at: Timestamp,
    /// End of its life.
    pub ended_at: Option<Timestamp>,
    /// Last beat.
    pub seen_at: Timestamp,
    /// Begin of the row of beats without a gap.
    pub steady_since: Timestamp,
}

fn before(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_sub(by).unwrap_or(Timestamp::MIN)
}

impl Tables {
    /// Registers a process; a living one of the same role and name is over with that.
    pub fn register_node(&mut self, name: &str, role: Role, concurrency: u32) -> Incarnation {
        let now = self.now;
        for node in self.nodes.values_mut() {
            if node.role == role && node.name == name && node.ended_at.is_none() {
                (node.status, node.ended_at) = (NodeStatus::Lost, Some(now));
            }
        }
        let incarnation = Incarnation(self.next_node);
        self.next_node += 1;
        let row = NodeRow {
            name: name.to_owned(),
            role,
            concurrency,
            status: NodeStatus::Active,
            started_at: now,
            ended_at: None,
            seen_at: now,
            steady_since: now,
        };
        self.nodes.insert(incarnation, row);
        incarnation
    }

    /// A sign of life; false where the node was declared over.
    pub fn beat(&mut self, node: Incarnation, lost_after: Duration) -> bool {
        let now = self.now;
        let Some(row) = self.nodes.get_mut(&node).filter(|row| row.ended_at.is_none()) else { return false };
        if row.seen_at < before(now, lost_after / 2) {
            row.steady_since = now;
        }
        row.seen_at = now;
        true
    }

    /// Sets the status of a living node.
    pub fn set_node_status(&mut self, node: Incarnation, status: NodeStatus) {
        let now = self.now;
        if let Some(row) = self.nodes.get_mut(&node).filter(|row| row.ended_at.is_none()) {
            row.status = status;
            row.ended_at = matches!(status, NodeStatus::Stopped | NodeStatus::Lost).then_some(now);
        }
    }

    /// Declares silent nodes lost, by a judge that was heard itself all the while; how many.
    pub fn lose_silent(&mut self, judge: Incarnation, after: Duration) -> usize {
        let (now, silent) = (self.now, before(self.now, after));
        let is_steady = self
            .nodes
            .get(&judge)
            .is_some_and(|row| row.seen_at > before(now, after / 2) && row.steady_since < silent);
        let mut lost = 0;
        for row in self.nodes.values_mut().filter(|_| is_steady) {
            if row.ended_at.is_none() && row.seen_at <= silent && row.started_at < silent {
                (row.status, row.ended_at) = (NodeStatus::Lost, Some(now));
                lost += 1;
            }
        }
        lost
    }

    /// The living workers: how many stages each takes, and whether it takes new ones.
    #[must_use]
    pub fn workers(&self) -> Vec<(Incarnation, u32, bool)> {
        let living = self.nodes.iter().filter(|(_, row)| row.role == Role::Worker && row.ended_at.is_none());
        living.map(|(node, row)| (*node, row.concurrency, row.status == NodeStatus::Active)).collect()
    }

    /// Takes a lease that is free or over, with the next epoch.
    pub fn acquire(&mut self, node: Incarnation, ttl: Duration) -> Option<Epoch> {
        let is_free = self.lease.is_none_or(|(holder, until)| until < self.now || holder == node);
        if !is_free {
            return None;
        }
        self.lease = Some((node, self.now.checked_add(ttl).unwrap_or(Timestamp::MAX)));
        if !self.has(Planted::EpochKept) || self.epoch == Epoch(0) {
            self.epoch = Epoch(self.epoch.0 + 1);
        }
        self.witness.took_over(self.epoch);
        Some(self.epoch)
    }

    /// True if this is the epoch of the present dispatcher.
    #[must_use]
    pub fn is_present(&self, epoch: Epoch) -> bool {
        epoch == self.epoch
    }

    /// Prolongs a lease that is still held.
    pub fn renew(&mut self, node: Incarnation, epoch: Epoch, ttl: Duration) -> bool {
        let holds = self.lease.is_some_and(|(holder, until)| holder == node && until > self.now);
        if !holds || epoch != self.epoch {
            return false;
        }
        self.lease = Some((node, self.now.checked_add(ttl).unwrap_or(Timestamp::MAX)));
        true
    }

    /// Gives a lease back.
    pub fn resign(&mut self, node: Incarnation) {
        if let Some((holder, until)) = &mut self.lease
            && *holder == node
        {
            *until = self.now;
        }
    }
}
