//! The waits of orders in queues, for estimates of when others will start (ORD-30). Of each flow a few orders are watched
//! from the time they are ready behind others of their queue until they are handed out. Must never decide anything.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::QueuePace;
use pagurus_domain::id::OrderNo;

use super::timing::between;

/// Waits that are remembered.
const REMEMBERED: usize = 64;
/// Fewer waits than this tell nothing.
const FEWEST: usize = 8;
/// Orders that are watched at a time.
const WATCHED: usize = 16;
/// Between two orders that are watched, at least.
const SHORTEST_GAP: Duration = Duration::from_millis(100);
/// Wait after which an order is watched no more.
const GIVEN_UP: Duration = Duration::from_secs(24 * 3600);

/// An order that waits behind others of its queue.
#[derive(Clone, Copy, Debug)]
struct Watched {
    no: OrderNo,
    since: Timestamp,
    before: f64,
}

/// Waits in the queues of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueWaits {
    watched: Vec<Watched>,
    watched_at: Option<Timestamp>,
    /// Seconds of each wait for one order in front, and the seconds beyond what was expected of it, divided by the root
    /// of the number in front: differences of many cancel each other out.
    last: VecDeque<[f64; 2]>,
    /// Pace that another dispatcher knew.
    known: Option<QueuePace>,
}

impl QueueWaits {
    /// Starts with the pace that another dispatcher knew.
    pub(super) fn recall(known: Option<QueuePace>) -> Self {
        Self { known, ..Self::default() }
    }

    /// For estimates; none while too little was seen.
    pub(super) fn pace(&self) -> Option<QueuePace> {
        if self.last.len() < FEWEST {
            return self.known;
        }
        Some(QueuePace { turn: self.quantile(0, 0.5), doubt: self.quantile(1, 0.9).max(0.0) })
    }

    /// True if one more may be watched now: while too little is known, also of orders that come at the same time.
    pub(super) fn has_room(&self, now: Timestamp) -> bool {
        let is_known = self.pace().is_some();
        let rests = |last| is_known && between(last, now) < SHORTEST_GAP;
        self.watched.len() < WATCHED && !self.watched_at.is_some_and(rests)
    }

    /// Notes an order that is ready behind `before` others of its queue.
    pub(super) fn ready(&mut self, no: OrderNo, before: u32, now: Timestamp) {
        self.watched.retain(|other| other.no != no && between(other.since, now) < GIVEN_UP);
        self.watched.push(Watched { no, since: now, before: f64::from(before.max(1)) });
        self.watched_at = Some(now);
    }

    /// An order is handed out.
    pub(super) fn starts(&mut self, no: OrderNo, now: Timestamp) {
        let Some(index) = self.watched.iter().position(|order| order.no == no) else { return };
        let Watched { since, before, .. } = self.watched.swap_remove(index);
        let waited = between(since, now).as_secs_f64();
        let turn = self.pace().map_or(waited / before, |pace| pace.turn);
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back([waited / before, (waited - before * turn) / before.sqrt()]);
    }

    /// An order has left without a start.
    pub(super) fn leaves(&mut self, no: OrderNo) {
        self.watched.retain(|order| order.no != no);
    }

    /// Forgets those that wait now: they wait for a person, which says nothing of others.
    pub(super) fn forget_watched(&mut self) {
        self.watched.clear();
    }

    fn quantile(&self, which: usize, part: f64) -> f64 {
        let mut sorted: Vec<f64> = self.last.iter().map(|wait| wait[which]).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let place = (part * sorted.len() as f64) as usize;
        sorted.get(place).or(sorted.last()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap_or_default()
    }

    /// Orders behind one to nine others, each of which takes this many milliseconds.
    fn waited(turn: impl Fn(i64) -> i64) -> QueueWaits {
        let mut waits = QueueWaits::default();
        for no in 0..50 {
            let (begin, before) = (no * 60_000, 1 + no % 9);
            assert!(waits.has_room(at(begin)));
            waits.ready(OrderNo(no), before as u32, at(begin));
            waits.starts(OrderNo(no), at(begin + before * turn(no)));
        }
        waits
    }

    #[test]
    fn ord_30_a_queue_is_as_quick_as_its_recent_waits_and_steady_waits_leave_no_doubt() {
        assert_eq!(QueueWaits::default().pace(), None);
        let steady = waited(|_| 500).pace().unwrap_or_default();
        assert!((steady.turn - 0.5).abs() < 1e-9 && steady.doubt.abs() < 1e-9, "{steady:?}");
        let uneven = waited(|no| if no % 5 == 0 { 900 } else { 400 }).pace().unwrap_or_default();
        assert!((uneven.turn - 0.4).abs() < 1e-9 && uneven.doubt > 0.4, "{uneven:?}");
        let known = QueueWaits::recall(Some(uneven));
        assert_eq!(known.pace(), Some(uneven));
    }

    #[test]
    fn ord_30_of_those_that_left_or_wait_for_a_person_nothing_is_learnt_and_few_are_watched() {
        let mut waits = waited(|_| 500);
        let known = waits.last.len();
        let start = 10_000_000;
        for no in 0..40 {
            if waits.has_room(at(start + no * 100)) {
                waits.ready(OrderNo(1000 + no), 1, at(start + no * 100));
            }
        }
        assert!(!waits.has_room(at(start + 10_000)) && waits.watched.len() == WATCHED);
        waits.leaves(OrderNo(1000));
        assert!(waits.has_room(at(start + 10_000)) && !waits.has_room(at(start + 1_550)), "and not at once");
        waits.forget_watched();
        waits.starts(OrderNo(1001), at(start + 20_000));
        assert_eq!(waits.last.len(), known);
    }

    #[test]
    fn ord_30_a_batch_teaches_the_pace() {
        let mut waits = QueueWaits::default();
        for no in 0..40 {
            if waits.has_room(at(0)) {
                waits.ready(OrderNo(no), 1, at(0));
            }
        }
        (0..8).for_each(|no| waits.starts(OrderNo(no), at(4_000)));
        assert_eq!(waits.pace().map(|pace| pace.turn), Some(4.0));
    }
}
