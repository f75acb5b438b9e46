//! The stages in progress: handed out, or known to run. Must never let one go that may still run
//! and count: what is uncertain keeps its permit until the tables have been read.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::order::Mode;

use super::event::Lane;
use super::ready::DispatchStage;

/// Knowledge of a stage in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageStanding {
    /// Handed out; nothing heard yet.
    Sent(SentStage),
    /// Seen running by the reading of this number.
    Running(u64),
}

/// A hand-out of which nothing was heard yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentStage {
    /// When.
    pub(super) at: Timestamp,
    /// By which hand-out.
    pub(super) serial: u64,
    /// Not for the first time: another message may still be on its way, so that a refusal of
    /// this one does not prove that the stage will not run.
    pub(super) again: bool,
    /// To be looked up at once, without waiting for the grace to pass.
    pub(super) doubted: bool,
    /// The next snapshot says whether it still is ready.
    pub(super) asked: bool,
}

/// A stage in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The stage. Its queue is set only as long as it counts as that queue's owner.
    pub(super) stage: DispatchStage,
    /// Capacity that it takes.
    pub(super) mode: Mode,
    /// Who has it; none while it waits to be sent again.
    pub(super) node: Option<Incarnation>,
    /// Knowledge of the stage.
    pub(super) standing: StageStanding,
    /// Microseconds that its flow was charged for it; zero for one that was not handed out here.
    pub(super) expected: u64,
}

/// All stages in progress, and those that ended recently.
#[derive(Debug)]
pub(super) struct StagesInProgress {
    records: BTreeMap<OrderNo, Record>,
    by_mode: [u32; 2],
    by_lane: [u32; 2],
    /// To be sent again, first things first; entries that no longer apply are skipped.
    again: VecDeque<OrderNo>,
    /// The greatest attempt that has ended, of orders whose stage a reading may still show.
    ended: HashMap<OrderNo, Attempt>,
    ended_after: VecDeque<(u64, OrderNo, Attempt)>,
    /// Number of readings so far.
    readings: u64,
}

impl StagesInProgress {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        Self {
            records: BTreeMap::new(),
            by_mode: [0; 2],
            by_lane: [0; 2],
            again: VecDeque::new(),
            ended: HashMap::new(),
            ended_after: VecDeque::new(),
            readings: 0,
        }
    }

    /// The stage of this order in progress.
    pub(super) fn get(&self, no: OrderNo) -> Option<&Record> {
        self.records.get(&no)
    }

    /// The stage of this order in progress.
    pub(super) fn get_mut(&mut self, no: OrderNo) -> Option<&mut Record> {
        self.records.get_mut(&no)
    }

    /// Every stage in progress, by number of the order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Every stage in progress, by number of the order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        self.records.values_mut()
    }

    /// Returns the number in progress of this mode.
    pub(super) const fn of_mode(&self, mode: Mode) -> u32 {
        self.by_mode[mode as usize]
    }

    /// Returns the number in progress of this lane.
    pub(super) const fn of_lane(&self, lane: Lane) -> u32 {
        self.by_lane[lane as usize]
    }

    /// Adds one.
    pub(super) fn insert(&mut self, record: Record) {
        self.by_mode[record.mode as usize] += 1;
        self.by_lane[record.stage.lane as usize] += 1;
        let earlier = self.records.insert(record.stage.no, record);
        debug_assert!(earlier.is_none(), "order {} is in progress twice", record.stage.no);
    }

    /// Lets one go.
    pub(super) fn remove(&mut self, no: OrderNo) -> Option<Record> {
        let record = self.records.remove(&no)?;
        self.by_mode[record.mode as usize] -= 1;
        self.by_lane[record.stage.lane as usize] -= 1;
        Some(record)
    }

    /// Notes that this one is to be sent again as soon as a node is open.
    pub(super) fn send_again(&mut self, no: OrderNo) {
        self.again.push_back(no);
    }

    /// Number that may have to be sent again.
    pub(super) fn to_send_again(&self) -> usize {
        self.again.len()
    }

    /// The next one to be sent again.
    pub(super) fn next_again(&mut self) -> Option<&mut Record> {
        while let Some(no) = self.again.pop_front() {
            if self.records.get(&no).is_some_and(|record| record.node.is_none()) {
                return self.records.get_mut(&no);
            }
        }
        None
    }

    /// Remembers that this stage is over, so that a reading that began earlier cannot bring it
    /// back.
    pub(super) fn ended(&mut self, no: OrderNo, attempt: Attempt) {
        let greatest = self.ended.entry(no).or_insert(attempt);
        *greatest = attempt.max(*greatest);
        self.ended_after.push_back((self.readings, no, attempt));
    }

    /// True if this stage is known to be over.
    pub(super) fn has_ended(&self, no: OrderNo, attempt: Attempt) -> bool {
        self.ended.get(&no).is_some_and(|ended| *ended >= attempt)
    }

    /// Counts one more reading and gives its number. What was over before the reading before it
    /// is forgotten: nothing still to come was read earlier than that.
    pub(super) fn next_reading(&mut self) -> u64 {
        self.readings += 1;
        let last = self.readings - 1;
        while let Some((_, no, attempt)) = self.ended_after.pop_front_if(|(after, ..)| *after < last) {
            if self.ended.get(&no) == Some(&attempt) {
                self.ended.remove(&no);
            }
        }
        self.readings
    }

    /// True if there was any reading yet.
    pub(super) const fn was_read(&self) -> bool {
        self.readings > 0
    }
}
