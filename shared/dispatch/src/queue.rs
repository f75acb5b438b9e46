//! The sequential queues that have ready members or something in progress: who is next in each,
//! and whether that one may go. Must never take a guess for knowledge: who really is the head is
//! settled by the worker's claim, and here only a refused claim is to be spared.
//!
//! Most queues have one member, so the first ready one stands in the queue itself and only those
//! behind it in an ordered map of all queues together.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;

use super::index::{QueueIndex, StageSlot};
use super::ready::{ReadyStages, table_bytes};
use super::slab::Slab;

/// Stands for no ready stage, and for no further queue.
const NONE: u32 = u32::MAX;

/// Queues looked at in one call, so that the look-around through a million queues is spread over
/// many turns of some microseconds to a millisecond each.
const LOOK_AT: u32 = 65_536;

/// Members of a queue that are counted before another, at most.
const MOST_COUNTED: usize = 200;

/// Bytes of one member in the ordered map: nodes of eleven entries, half full when they were
/// filled in ascending order, and the nodes above.
const BEHIND_BYTES: usize = 50;

/// Knowledge of the head of a queue, as long as nothing of it is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Nothing speaks against the first ready member.
    Open,
    /// Owned by this order, which is not ready: suspended in place, or its news is late.
    Held(OrderNo),
    /// Closed until the head has been read.
    Unclear,
}

#[derive(Debug)]
struct OrderQueue {
    name: Box<str>,
    gate: Gate,
    /// The ready member with the smallest position.
    front: StageSlot,
    /// The member that stands in line: the front or nobody.
    offered: StageSlot,
    in_progress: u32,
    /// The next queue whose name has the same hash.
    next_alike: QueueIndex,
    /// The head was asked for and nothing has happened since.
    asked: bool,
    /// Stands in the list of those to ask for at once.
    urgent: bool,
}

impl OrderQueue {
    fn candidate(&self) -> StageSlot {
        if self.in_progress == 0 && self.gate == Gate::Open { self.front } else { NONE }
    }

    fn is_shut(&self) -> bool {
        self.front != NONE && self.in_progress == 0 && self.gate != Gate::Open
    }
}

/// Who has to step out of line, and who may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueTurn {
    /// Stood in line and must not any more.
    pub(super) withdraw: Option<StageSlot>,
    /// May go now.
    pub(super) offer: Option<StageSlot>,
}

/// All queues that matter now.
#[derive(Debug)]
pub(super) struct Queues {
    queues: Slab<OrderQueue>,
    /// By hash, because the names are long and stand in the queues.
    by_name: HashMap<u32, QueueIndex>,
    behind: BTreeMap<(QueueIndex, i64), StageSlot>,
    urgent: VecDeque<QueueIndex>,
    look_next: QueueIndex,
    look_due: Timestamp,
    name_bytes: usize,
}

impl Queues {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            queues: Slab::new(),
            by_name: HashMap::new(),
            behind: BTreeMap::new(),
            urgent: VecDeque::new(),
            look_next: 0,
            look_due: Timestamp::MIN,
            name_bytes: 0,
        }
    }

    /// The queue of this name, if it matters now.
    pub(super) fn find(&self, name: &str) -> Option<QueueIndex> {
        let mut index = *self.by_name.get(&hash(name))?;
        while *self.queues[index].name != *name {
            index = self.queues[index].next_alike;
            if index == NONE {
                return None;
            }
        }
        Some(index)
    }

    /// The queue of this name, made if need be. The caller gives it a member or something in
    /// progress at once.
    pub(super) fn enter(&mut self, name: &str) -> QueueIndex {
        if let Some(index) = self.find(name) {
            return index;
        }
        let queue = OrderQueue {
            name: name.into(),
            gate: Gate::Open,
            front: NONE,
            offered: NONE,
            in_progress: 0,
            next_alike: self.by_name.get(&hash(name)).copied().unwrap_or(NONE),
            asked: false,
            urgent: false,
        };
        let index = self.queues.insert(queue);
        self.by_name.insert(hash(name), index);
        self.name_bytes += name_bytes(name);
        index
    }

    /// The name of a queue.
    pub(super) fn name(&self, index: QueueIndex) -> &str {
        &self.queues[index].name
    }

    /// Members that are known to go before a position: those that are ready, up to some, and one in progress, or one that
    /// holds the queue while it waits.
    pub(super) fn before(&self, waiting: &ReadyStages, index: QueueIndex, position: i64) -> u32 {
        let Some(queue) = self.queues.get(index) else { return 0 };
        let holds = queue.in_progress.max(u32::from(matches!(queue.gate, Gate::Held(_))));
        let is_first = queue.front == NONE || waiting.stage(queue.front).position >= position;
        if is_first {
            return holds;
        }
        let behind = self.behind.range((index, i64::MIN)..(index, position)).take(MOST_COUNTED).count();
        u32::try_from(behind).unwrap_or(u32::MAX) + holds + 1
    }

    /// The ready member with the smallest position.
    pub(super) fn front(&self, index: QueueIndex) -> Option<StageSlot> {
        self.queues.get(index).map(|queue| queue.front).filter(|front| *front != NONE)
    }

    /// Adds a ready member. Two rows of one place cannot both be true: the older one's slot is
    /// given back, to be released.
    pub(super) fn join(
        &mut self,
        waiting: &ReadyStages,
        index: QueueIndex,
        slot: StageSlot,
    ) -> Option<StageSlot> {
        let stage = waiting.stage(slot);
        let queue = &mut self.queues[index];
        if queue.gate == Gate::Held(stage.no) {
            queue.gate = Gate::Open;
        }
        if queue.front == NONE {
            queue.front = slot;
            return None;
        }
        let front = waiting.stage(queue.front).position;
        if stage.position < front {
            self.behind.insert((index, front), queue.front);
            queue.front = slot;
            return None;
        }
        if stage.position == front {
            return Some(std::mem::replace(&mut queue.front, slot));
        }
        self.behind.insert((index, stage.position), slot)
    }

    /// Removes a ready member that stood at this position.
    pub(super) fn leave(&mut self, index: QueueIndex, position: i64, slot: StageSlot) {
        let queue = &mut self.queues[index];
        if queue.offered == slot {
            queue.offered = NONE;
        }
        if queue.front != slot {
            if self.behind.get(&(index, position)) == Some(&slot) {
                self.behind.remove(&(index, position));
            }
            return;
        }
        let next = self.behind.range((index, i64::MIN)..=(index, i64::MAX)).next();
        let next = next.map(|(key, slot)| (*key, *slot));
        queue.front = match next {
            Some((key, slot)) => {
                self.behind.remove(&key);
                slot
            }
            None => NONE,
        };
    }

    /// Counts a member in progress: it is taken for the head.
    pub(super) fn start(&mut self, index: QueueIndex) {
        let queue = &mut self.queues[index];
        queue.in_progress += 1;
        queue.gate = Gate::Open;
    }

    /// Counts one less in progress, after which this is known of the head.
    pub(super) fn finish(&mut self, index: QueueIndex, gate: Gate) {
        let queue = &mut self.queues[index];
        queue.in_progress -= 1;
        self.set_gate(index, gate);
    }

    /// Learns something of the head. Whatever was asked before is outdated by it.
    pub(super) fn set_gate(&mut self, index: QueueIndex, gate: Gate) {
        let queue = &mut self.queues[index];
        queue.gate = gate;
        queue.asked = false;
        if gate == Gate::Unclear {
            self.ask(index);
        }
    }

    /// Notes that this order is no longer a member.
    pub(super) fn left(&mut self, index: QueueIndex, no: OrderNo) {
        let gate = match self.queues[index].gate {
            Gate::Open => Gate::Open,
            Gate::Held(holder) if holder == no => Gate::Open,
            Gate::Held(_) | Gate::Unclear => Gate::Unclear,
        };
        self.set_gate(index, gate);
    }

    /// True if an answer about the head is still awaited; it is not any more after this call.
    pub(super) fn take_asked(&mut self, index: QueueIndex) -> bool {
        let queue = &mut self.queues[index];
        std::mem::take(&mut queue.asked) && queue.in_progress == 0
    }

    /// Compares who stands in line with who should, and forgets a queue that no longer matters.
    pub(super) fn settle(&mut self, index: QueueIndex) -> QueueTurn {
        let queue = &mut self.queues[index];
        let candidate = queue.candidate();
        let stood = std::mem::replace(&mut queue.offered, candidate);
        if queue.front == NONE && queue.in_progress == 0 {
            self.forget(index);
        }
        if stood == candidate {
            return QueueTurn { withdraw: None, offer: None };
        }
        let some = |slot| (slot != NONE).then_some(slot);
        QueueTurn { withdraw: some(stood), offer: some(candidate) }
    }

    /// Lists the queues whose head should be read, at most `max`: those with an open question first,
    /// then, every `period`, each one with ready members that nobody of is in progress, because
    /// the news that would open it may have been lost.
    pub(super) fn wanted(&mut self, now: Timestamp, period: Duration, max: usize) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        while names.len() < max
            && let Some(index) = self.urgent.pop_front()
        {
            if let Some(queue) = self.queues.get_mut(index)
                && std::mem::take(&mut queue.urgent)
                && queue.is_shut()
            {
                queue.asked = true;
                names.push(Arc::from(&*queue.name));
            }
        }
        if now < self.look_due {
            return names;
        }
        let mut looked_at = 0;
        while names.len() < max && looked_at < LOOK_AT && self.look_next < self.queues.end() {
            if let Some(queue) = self.queues.get_mut(self.look_next)
                && queue.is_shut()
                && !queue.urgent
            {
                queue.asked = true;
                names.push(Arc::from(&*queue.name));
            }
            self.look_next += 1;
            looked_at += 1;
        }
        if self.look_next >= self.queues.end() {
            self.look_next = 0;
            self.look_due = now.checked_add(period).unwrap_or(Timestamp::MAX);
        }
        // The look-around may have come to one that had an open question.
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the time at which [`Queues::wanted`] has something to say again; `None` if not by time alone.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        if !self.urgent.is_empty() {
            return Some(Timestamp::MIN);
        }
        (self.queues.len() > 0).then_some(self.look_due)
    }

    /// Returns the number of queues that matter now.
    pub(super) const fn len(&self) -> usize {
        self.queues.len()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.queues.bytes()
            + self.name_bytes
            + table_bytes(&self.by_name)
            + self.behind.len() * BEHIND_BYTES
            + self.urgent.capacity() * size_of::<QueueIndex>()
    }

    fn ask(&mut self, index: QueueIndex) {
        let queue = &mut self.queues[index];
        if !queue.urgent {
            queue.urgent = true;
            self.urgent.push_back(index);
        }
    }

    fn forget(&mut self, index: QueueIndex) {
        let Some(OrderQueue { name, next_alike, .. }) = self.queues.remove(index) else { return };
        self.name_bytes -= name_bytes(&name);
        let Entry::Occupied(mut first) = self.by_name.entry(hash(&name)) else { return };
        if *first.get() == index {
            if next_alike == NONE {
                first.remove();
            } else {
                first.insert(next_alike);
            }
            return;
        }
        let mut before = *first.get();
        while self.queues[before].next_alike != index {
            before = self.queues[before].next_alike;
        }
        self.queues[before].next_alike = next_alike;
    }
}

/// The same in every process, unlike that of a hash table: the order of hand-outs must not
/// depend on chance, not even in a case that nobody thought of.
fn hash(name: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    // Half of the bits are enough, since alike ones differ by name.
    (hasher.finish() & u64::from(u32::MAX)) as u32
}

/// Returns the bytes of a name: an allocation is a multiple of sixteen with eight of its own.
const fn name_bytes(name: &str) -> usize {
    (name.len() + 8).next_multiple_of(16)
}
