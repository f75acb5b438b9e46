//! The ready stages: each held once, in some forty bytes and an index entry, and those that may
//! go stand in line by flow, mode, priority and lane. Must never decide who goes: it keeps the lines.
//!
//! A line is a list through the entries themselves, so that joining, leaving from the middle and
//! taking the first cost the same whatever waits. A sequential order stands in a line only while
//! it is its queue's turn; the others of its queue are held here but in no line.

use std::collections::HashMap;
use std::hash::Hash;

use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::{Mode, Priority};

use super::event::Lane;
use super::index::{FlowIndex, QueueIndex, StageSlot};
use super::line::{LineKey, Lines, NONE, OpenLines};
use super::share::WaitingLines;
use super::slab::Slab;

/// Stands for being in no line.
const UNLINKED: u32 = u32::MAX - 1;

/// A stage that may run, with its names made small.
#[derive(Clone, Copy, Debug)]
pub(super) struct DispatchStage {
    /// The order.
    pub(super) no: OrderNo,
    /// Place in the queue; means nothing without a queue.
    pub(super) position: i64,
    /// Number of the readiness of the order.
    pub(super) attempt: Attempt,
    /// The flow it counts for.
    pub(super) flow: FlowIndex,
    /// A plain number, because an `Option` would cost each waiting order eight bytes.
    queue_or_none: QueueIndex,
    /// Priority.
    pub(super) priority: Priority,
    /// Fresh or woken.
    pub(super) lane: Lane,
}

impl DispatchStage {
    /// A stage without a queue.
    pub(super) const fn new(
        no: OrderNo,
        attempt: Attempt,
        flow: FlowIndex,
        priority: Priority,
        lane: Lane,
    ) -> Self {
        Self { no, position: 0, attempt, flow, queue_or_none: NONE, priority, lane }
    }

    /// The same stage as a member of a queue, or of none.
    pub(super) const fn in_queue(self, place: Option<(QueueIndex, i64)>) -> Self {
        match place {
            Some((queue, position)) => Self { queue_or_none: queue, position, ..self },
            None => Self { queue_or_none: NONE, position: 0, ..self },
        }
    }

    /// The queue it is a member of.
    pub(super) const fn queue(&self) -> Option<QueueIndex> {
        if self.queue_or_none == NONE { None } else { Some(self.queue_or_none) }
    }

    /// Returns the capacity that it counts against.
    pub(super) const fn mode(&self) -> Mode {
        if self.queue_or_none == NONE { Mode::Parallel } else { Mode::Sequential }
    }

    /// The line in which it stands when it may go.
    pub(super) const fn line(&self) -> LineKey {
        LineKey { flow: self.flow, mode: self.mode(), priority: self.priority, lane: self.lane }
    }
}

/// End of a line to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// The usual one.
    Back,
    /// For what had its turn already and could not go.
    Front,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    stage: DispatchStage,
    before: u32,
    after: u32,
}

/// All ready stages.
#[derive(Debug)]
pub(super) struct ReadyStages {
    entries: Slab<Entry>,
    by_order: HashMap<OrderNo, StageSlot>,
    lines: Lines,
    by_priority: [usize; 3],
}

impl ReadyStages {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { entries: Slab::new(), by_order: HashMap::new(), lines: Lines::new(), by_priority: [0; 3] }
    }

    /// Returns the slot of the ready stage of this order.
    pub(super) fn find(&self, no: OrderNo) -> Option<StageSlot> {
        self.by_order.get(&no).copied()
    }

    /// The stage held there.
    pub(super) fn stage(&self, slot: StageSlot) -> &DispatchStage {
        &self.entries[slot].stage
    }

    /// Holds a stage, in no line yet.
    pub(super) fn insert(&mut self, stage: DispatchStage) -> StageSlot {
        self.by_priority[stage.priority as usize] += 1;
        let slot = self.entries.insert(Entry { stage, before: UNLINKED, after: UNLINKED });
        let earlier = self.by_order.insert(stage.no, slot);
        debug_assert!(earlier.is_none(), "order {} is held twice", stage.no);
        slot
    }

    /// Lets a stage go, out of its line too.
    pub(super) fn remove(&mut self, slot: StageSlot) -> DispatchStage {
        self.withdraw(slot);
        let stage = self.entries[slot].stage;
        self.entries.remove(slot);
        self.by_order.remove(&stage.no);
        self.by_priority[stage.priority as usize] -= 1;
        stage
    }

    /// Puts a stage in line.
    pub(super) fn offer(&mut self, slot: StageSlot, end: LineEnd) {
        let line = self.entries[slot].stage.line();
        let (first, last) = self.lines.ends(line);
        let (before, after) = match end {
            LineEnd::Back => (last, NONE),
            LineEnd::Front => (NONE, first),
        };
        if before != NONE {
            self.entries[before].after = slot;
        }
        if after != NONE {
            self.entries[after].before = slot;
        }
        let entry = &mut self.entries[slot];
        (entry.before, entry.after) = (before, after);
        let first = if before == NONE { slot } else { first };
        let last = if after == NONE { slot } else { last };
        self.lines.set_ends(line, (first, last));
    }

    /// Takes a stage out of line, if it stands in one.
    pub(super) fn withdraw(&mut self, slot: StageSlot) {
        let Entry { stage, before, after } = self.entries[slot];
        if before == UNLINKED {
            return;
        }
        if before != NONE {
            self.entries[before].after = after;
        }
        if after != NONE {
            self.entries[after].before = before;
        }
        let entry = &mut self.entries[slot];
        (entry.before, entry.after) = (UNLINKED, UNLINKED);
        let line = stage.line();
        let (first, last) = self.lines.ends(line);
        let first = if before == NONE { after } else { first };
        let last = if after == NONE { before } else { last };
        self.lines.set_ends(line, (first, last));
    }

    /// Who goes next of this mode, priority and lane.
    pub(super) fn next(&self, mode: Mode, priority: Priority, lane: Lane) -> Option<StageSlot> {
        self.lines.next(mode, priority, lane)
    }

    /// Who stands first in each line of a flow, whether it may go or not.
    pub(super) fn heads(&self, flow: FlowIndex) -> impl Iterator<Item = StageSlot> {
        let keys = Mode::ALL.iter().flat_map(move |mode| {
            Priority::ALL.iter().flat_map(move |priority| {
                Lane::ALL.iter().map(move |lane| LineKey {
                    flow,
                    mode: *mode,
                    priority: *priority,
                    lane: *lane,
                })
            })
        });
        keys.map(|key| self.lines.ends(key).0).filter(|slot| *slot != NONE)
    }

    /// True if a flow stands aside with its stages of this mode.
    pub(super) fn is_shut(&self, flow: FlowIndex, mode: Mode) -> bool {
        self.lines.is_shut(flow, mode)
    }

    /// The lines themselves: turns, shares, and who stands aside.
    pub(super) const fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Returns the open lines of the flow that has taken the least time of this priority.
    pub(super) fn cheapest(&self, priority: Priority, open: OpenLines) -> OpenLines {
        self.lines.cheapest(priority, open)
    }

    /// In which of the open lines somebody stands who may go.
    pub(super) fn waits(&self, open: OpenLines) -> WaitingLines {
        self.lines.waits(open)
    }

    /// True if a woken stage of one of these modes stands in line who may go.
    pub(super) fn woken_waits(&self, modes: [bool; 2]) -> bool {
        let woken = modes.map(|mode| [false, mode]);
        self.lines.waits(woken).as_flattened().as_flattened().contains(&true)
    }

    /// Returns the number of stages held, by priority.
    pub(super) const fn by_priority(&self) -> [usize; 3] {
        self.by_priority
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes() + table_bytes(&self.by_order) + self.lines.bytes()
    }
}

/// Bytes of a hash table: a power of two of places, at most seven eighths of them in use, and a
/// control byte for each.
pub(super) fn table_bytes<K: Eq + Hash, V>(table: &HashMap<K, V>) -> usize {
    if table.capacity() == 0 {
        return 0;
    }
    (table.capacity() * 8 / 7).next_power_of_two() * (size_of::<(K, V)>() + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn stage(no: i64) -> DispatchStage {
        DispatchStage::new(OrderNo(no), Attempt::FIRST, 0, Priority::Normal, Lane::Fresh)
    }

    fn drain(waiting: &mut ReadyStages) -> Vec<i64> {
        let mut order = Vec::new();
        while let Some(slot) = waiting.next(Mode::Parallel, Priority::Normal, Lane::Fresh) {
            order.push(waiting.remove(slot).no.0);
        }
        order
    }

    #[test]
    fn dsp_13_an_entry_takes_forty_bytes() {
        assert_eq!(size_of::<Option<Entry>>(), 40);
    }

    #[test]
    fn dsp_2_a_line_is_first_in_first_out_and_can_be_left() {
        let mut waiting = ReadyStages::new();
        for no in 1..=5 {
            let slot = waiting.insert(stage(no));
            waiting.offer(slot, if no == 5 { LineEnd::Front } else { LineEnd::Back });
        }
        for no in [1, 4] {
            let slot = waiting.find(OrderNo(no)).unwrap();
            waiting.withdraw(slot);
            waiting.withdraw(slot);
        }
        let last = waiting.find(OrderNo(4)).unwrap();
        waiting.offer(last, LineEnd::Back);
        assert_eq!(drain(&mut waiting), [5, 2, 3, 4]);
        assert_eq!(waiting.by_priority(), [0, 1, 0], "one is held but stands in no line");
    }
}
