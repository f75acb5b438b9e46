//! The worker nodes: what each may have in progress, what it has, and who is next.
//! Must never know which stages these are.
//!
//! The least loaded node is next, and gets the rest of the batch too, up to a few more than the others have: a node takes what
//! comes together in one transaction, and ends most of it in another. Spread over four nodes, a batch would take four.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pagurus_domain::flow::Capacity;
use pagurus_domain::id::Incarnation;

/// State of a node in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Takes stages.
    Up,
    /// Finishes what it has.
    Draining,
    /// Gone, or never heard of; listed while something still counts as in progress on it.
    Down,
}

/// Part of its allowance that a node may have more than the least loaded one: one in this number.
const AHEAD: u32 = 8;
/// The same as a number of stages, at most.
const MOST_AHEAD: u32 = 16;

#[derive(Debug)]
struct NodeEntry {
    state: NodeState,
    concurrency: u32,
    allowance: u32,
    load: u32,
    /// Time at which it last got something, counted in hand-outs: between equals the longest idle goes
    /// first, so that a quiet system does not give everything to one node.
    turn: u64,
    paused_until: Option<Timestamp>,
}

impl NodeEntry {
    fn is_open(&self) -> bool {
        self.state == NodeState::Up && self.load < self.allowance && self.paused_until.is_none()
    }

    /// True if the node may have one more while the least loaded one has this load.
    fn stays_next(&self, least: u32) -> bool {
        self.is_open() && self.load < least + (self.allowance / AHEAD).min(MOST_AHEAD)
    }
}

/// All nodes that are there, or still have something in progress.
#[derive(Debug)]
pub(super) struct Nodes {
    capacity: Capacity,
    nodes: BTreeMap<Incarnation, NodeEntry>,
    /// Nodes that may take one more, least loaded first.
    open: BTreeSet<(u32, u64, Incarnation)>,
    paused: BTreeSet<(Timestamp, Incarnation)>,
    /// Node that got the last one of this batch.
    last: Option<Incarnation>,
    turns: u64,
    /// Number of stages that all nodes together may have in progress.
    places: u32,
}

impl Nodes {
    /// None yet.
    pub(super) const fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            nodes: BTreeMap::new(),
            open: BTreeSet::new(),
            paused: BTreeSet::new(),
            last: None,
            turns: 0,
            places: 0,
        }
    }

    /// Shares out another capacity from now on.
    pub(super) fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
        self.share_out();
    }

    /// Notes that the node is there and runs `concurrency` stages at once.
    pub(super) fn up(&mut self, id: Incarnation, concurrency: u32) {
        self.change(id, |node| {
            node.state = NodeState::Up;
            node.concurrency = concurrency;
        });
        self.share_out();
    }

    /// The node takes nothing more; one never heard of does not matter.
    pub(super) fn leave(&mut self, id: Incarnation, state: NodeState) {
        if self.nodes.contains_key(&id) {
            self.change(id, |node| node.state = state);
            self.share_out();
        }
    }

    /// The node could not take what it was handed: let it rest.
    pub(super) fn pause(&mut self, id: Incarnation, until: Timestamp) {
        let Some(earlier) = self.nodes.get(&id).map(|node| node.paused_until) else { return };
        if let Some(earlier) = earlier {
            self.paused.remove(&(earlier, id));
        }
        self.paused.insert((until, id));
        self.change(id, |node| node.paused_until = Some(until));
    }

    /// Ends the rests that are over.
    pub(super) fn resume(&mut self, now: Timestamp) {
        while let Some(&(until, id)) = self.paused.first().filter(|(until, _)| *until <= now) {
            self.paused.remove(&(until, id));
            if self.nodes.contains_key(&id) {
                self.change(id, |node| node.paused_until = None);
            }
        }
    }

    /// Time at which the next rest ends.
    pub(super) fn next_resume(&self) -> Option<Timestamp> {
        self.paused.first().map(|(until, _)| *until)
    }

    /// Returns the number of stages that all nodes together may have in progress.
    pub(super) const fn places(&self) -> u32 {
        self.places
    }

    /// True if any node may take one more.
    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Starts a batch: its first goes to the least loaded node.
    pub(super) const fn start_batch(&mut self) {
        self.last = None;
    }

    /// Gives one to the node that is next.
    pub(super) fn take(&mut self) -> Option<Incarnation> {
        let (least, _, first) = *self.open.first()?;
        let stays = |id: &Incarnation| self.nodes.get(id).is_some_and(|node| node.stays_next(least));
        let id = self.last.filter(stays).unwrap_or(first);
        self.last = Some(id);
        self.turns += 1;
        let turn = self.turns;
        self.change(id, |node| {
            node.load += 1;
            node.turn = turn;
        });
        Some(id)
    }

    /// Counts one on this node that runs there whether it should or not.
    pub(super) fn hold(&mut self, id: Incarnation) {
        self.change(id, |node| node.load += 1);
    }

    /// Counts one less on this node.
    pub(super) fn release(&mut self, id: Incarnation) {
        self.change(id, |node| node.load -= 1);
    }

    /// True if what was sent to this node will never be taken.
    pub(super) fn is_down(&self, id: Incarnation) -> bool {
        self.nodes.get(&id).is_none_or(|node| node.state == NodeState::Down)
    }

    /// Every node: state, allowance, in progress.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Incarnation, NodeState, u32, u32)> {
        self.nodes.iter().map(|(id, node)| (*id, node.state, node.allowance, node.load))
    }

    /// The only way to change a node: keeps `open` in step, and forgets who is gone and empty.
    fn change(&mut self, id: Incarnation, change: impl FnOnce(&mut NodeEntry)) {
        let node = self.nodes.entry(id).or_insert(NodeEntry {
            state: NodeState::Down,
            concurrency: 0,
            allowance: 0,
            load: 0,
            turn: 0,
            paused_until: None,
        });
        self.open.remove(&(node.load, node.turn, id));
        change(node);
        if node.is_open() {
            self.open.insert((node.load, node.turn, id));
        }
        if node.state == NodeState::Down && node.load == 0 {
            if let Some(until) = node.paused_until {
                self.paused.remove(&(until, id));
            }
            self.nodes.remove(&id);
        }
    }

    fn share_out(&mut self) {
        let live = self.nodes.values().filter(|node| node.state == NodeState::Up).count();
        let live = u32::try_from(live).unwrap_or(u32::MAX);
        self.open.clear();
        self.places = 0;
        for (id, node) in &mut self.nodes {
            node.allowance = match node.state {
                NodeState::Up => self.capacity.allowance(live, node.concurrency),
                NodeState::Draining | NodeState::Down => 0,
            };
            self.places = self.places.saturating_add(node.allowance);
            if node.is_open() {
                self.open.insert((node.load, node.turn, *id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: Incarnation = Incarnation(1);
    const B: Incarnation = Incarnation(2);

    fn taken(nodes: &mut Nodes, count: usize) -> Vec<i64> {
        (0..count).map_while(|_| nodes.take()).map(|id| id.0).collect()
    }

    #[test]
    fn dsp_1_the_least_loaded_node_is_next_and_equals_take_turns() {
        let mut nodes = Nodes::new(Capacity { parallel: 8, sequential: 0 });
        nodes.up(A, 10);
        nodes.up(B, 3);
        assert_eq!(taken(&mut nodes, 9), [1, 2, 1, 2, 1, 2, 1]);
        nodes.release(A);
        nodes.release(B);
        assert_eq!(taken(&mut nodes, 9), [2, 1]);
    }

    #[test]
    fn dsp_1_a_batch_goes_to_few_nodes_and_none_has_much_more_than_the_others() {
        let mut nodes = Nodes::new(Capacity { parallel: 160, sequential: 0 });
        nodes.up(A, 100);
        nodes.up(B, 100);
        for (count, expected) in [(4, vec![1; 4]), (4, vec![2; 4]), (12, [vec![1; 10], vec![2; 2]].concat())]
        {
            nodes.start_batch();
            assert_eq!(taken(&mut nodes, count), expected);
        }
        let most = 80 / AHEAD;
        let difference = |nodes: &Nodes| {
            let loads: Vec<u32> = nodes.iter().map(|(_, _, _, load)| load).collect();
            loads[0].abs_diff(loads[1])
        };
        for n in 0..140 {
            if n % 7 == 0 {
                nodes.start_batch();
            }
            assert!(nodes.take().is_some() && difference(&nodes) <= most, "{}", difference(&nodes));
        }
        assert_eq!(nodes.take(), None, "all places are taken");
    }

    proptest! {
        #[test]
        fn dsp_1_whatever_comes_and_goes_a_node_gets_ahead_of_the_least_loaded_one_by_little(
            sizes in prop::collection::vec(1u32..400, 1..8),
            parallel in 1u32..3000,
            steps in prop::collection::vec((0u8..10, any::<prop::sample::Index>()), 1..600),
        ) {
            let mut nodes = Nodes::new(Capacity { parallel, sequential: 0 });
            let ids: Vec<Incarnation> = (1..).take(sizes.len()).map(Incarnation).collect();
            ids.iter().zip(&sizes).for_each(|(id, size)| nodes.up(*id, *size));
            for (step, which) in steps {
                let (id, size) = (*which.get(&ids), *which.get(&sizes));
                let has_some = nodes.nodes.get(&id).is_some_and(|node| node.load > 0);
                match step {
                    0 => nodes.start_batch(),
                    1 => nodes.leave(id, NodeState::Draining),
                    2 => nodes.leave(id, NodeState::Down),
                    3 => nodes.up(id, size),
                    4 if has_some => nodes.release(id),
                    _ => {
                        let least = nodes.open.first().map(|(load, ..)| *load);
                        let taken = nodes.take();
                        prop_assert_eq!(taken.is_some(), least.is_some());
                        let (Some(least), Some(id)) = (least, taken) else { continue };
                        let node = &nodes.nodes[&id];
                        let ahead = (node.allowance / AHEAD).clamp(1, MOST_AHEAD);
                        prop_assert!(node.load <= node.allowance && node.load <= least + ahead);
                    }
                }
            }
        }
    }

    #[test]
    fn dsp_1_allowances_follow_the_nodes_that_come_and_go() {
        let mut nodes = Nodes::new(Capacity { parallel: 8, sequential: 0 });
        nodes.up(A, 10);
        assert_eq!(taken(&mut nodes, 6).len(), 6);
        nodes.up(B, 10);
        assert_eq!(taken(&mut nodes, 9), [2, 2, 2, 2], "A has more than its part by now");
        nodes.leave(B, NodeState::Draining);
        assert_eq!(taken(&mut nodes, 9), [1, 1]);
        nodes.leave(B, NodeState::Down);
        for _ in 0..4 {
            nodes.release(B);
        }
        assert!(nodes.is_down(B) && nodes.iter().count() == 1, "gone and empty is forgotten");
    }

    #[test]
    fn dsp_1_a_node_that_could_not_take_rests() {
        let mut nodes = Nodes::new(Capacity { parallel: 8, sequential: 0 });
        nodes.up(A, 10);
        nodes.pause(A, Timestamp::from_second(5).unwrap_or_default());
        assert!(!nodes.any_open() && nodes.next_resume().is_some());
        nodes.resume(Timestamp::from_second(4).unwrap_or_default());
        assert!(!nodes.any_open());
        nodes.resume(Timestamp::from_second(5).unwrap_or_default());
        assert!(nodes.any_open() && nodes.next_resume().is_none());
    }
}
