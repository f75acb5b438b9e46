//! Ledger of open deliveries, which are answered with few frames.
//!
//! Pure: no channel, no clock.

use std::collections::BTreeSet;

/// The broker's numbers of the deliveries that nobody has answered.
#[derive(Default)]
pub(super) struct Ledger {
    open: BTreeSet<u64>,
}

/// Frames to write, in this order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Number up to which one frame answers everything.
    pub(super) until: Option<u64>,
    /// A frame for each of these.
    pub(super) singles: Vec<u64>,
    /// Deliveries that are answered by it.
    pub(super) count: usize,
}

impl Ledger {
    /// Notes a delivery. The broker numbers them in ascending order, and so they must come here:
    /// an answer for everything up to a number is safe only if all below it are known.
    pub(super) fn delivered(&mut self, tag: u64) {
        self.open.insert(tag);
    }

    /// Takes deliveries out and says what to write. Those that are not open are left out: the
    /// broker ends the channel over an unknown number.
    pub(super) fn settle(&mut self, tags: impl Iterator<Item = u64>) -> Plan {
        let settled: BTreeSet<u64> = tags.filter(|tag| self.open.remove(tag)).collect();
        let first_open = self.open.first().copied().unwrap_or(u64::MAX);
        let until = settled.range(..first_open).next_back().copied();
        let singles = match until {
            Some(until) => settled.range(until + 1..).copied().collect(),
            None => settled.iter().copied().collect(),
        };
        Plan { until, singles, count: settled.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(tags: impl Iterator<Item = u64>) -> Ledger {
        let mut ledger = Ledger::default();
        tags.for_each(|tag| ledger.delivered(tag));
        ledger
    }

    fn plan(until: Option<u64>, singles: &[u64], count: usize) -> Plan {
        Plan { until, singles: singles.to_vec(), count }
    }

    #[test]
    fn amqp_1_a_complete_prefix_is_one_frame() {
        let mut ledger = ledger(1..=10);
        assert_eq!(ledger.settle(1..=4), plan(Some(4), &[], 4));
        assert_eq!(ledger.settle([9, 5, 6].into_iter()), plan(Some(6), &[9], 3));
        assert_eq!(ledger.settle([8].into_iter()), plan(None, &[8], 1));
        assert_eq!(ledger.settle([10, 7].into_iter()), plan(Some(10), &[], 2));
    }

    #[test]
    fn amqp_1_nothing_is_answered_twice_or_unseen() {
        let mut ledger = ledger(1..=3);
        assert_eq!(ledger.settle([2, 2, 99].into_iter()), plan(None, &[2], 1));
        assert_eq!(ledger.settle([2].into_iter()), plan(None, &[], 0));
        assert_eq!(ledger.settle(1..=1), plan(Some(1), &[], 1));
    }
}
