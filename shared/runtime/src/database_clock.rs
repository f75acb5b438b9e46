//! The clock of the database, as a process knows it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Difference between the pace of two clocks from look to look, at most.
const JITTER: Duration = Duration::from_millis(5);

/// The clock of the database: what it said last, and the time since then. A time that the database gave is past by this clock as
/// soon as it is noted: what holds from the moment of its commit holds at once. The clock of the process may be wrong, and jump;
/// it counts only until the first look.
#[derive(Debug)]
pub struct DatabaseClock(Mutex<DatabaseTime>);

#[derive(Clone, Copy, Debug)]
struct DatabaseTime {
    read: Timestamp,
    at: Instant,
}

impl DatabaseClock {
    /// A clock that has not been looked at.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(DatabaseTime { read: Timestamp::now(), at: Instant::now() }))
    }

    /// Time of this moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.last().at(Instant::now())
    }

    /// Notes the time that the database gave just now, where it was asked for then.
    pub fn note(&self, read: Timestamp, asked: Instant) {
        let mut last = self.last();
        *last = last.corrected(DatabaseTime { read, at: Instant::now() }, asked.elapsed());
    }

    fn last(&self) -> MutexGuard<'_, DatabaseTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DatabaseTime {
    fn at(self, now: Instant) -> Timestamp {
        self.read.saturating_add(now.saturating_duration_since(self.at)).unwrap_or(self.read)
    }

    /// The time to go by from now on. An answer that was slow does not set the clock back: what it is behind by no more than the
    /// time that the question `took` is no change of a clock.
    fn corrected(self, next: Self, took: Duration) -> Self {
        let behind = self.at(next.at).duration_since(next.read);
        let was_on_its_way = !behind.is_negative() && behind.unsigned_abs() <= took + JITTER;
        if was_on_its_way { self } else { next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_10_what_the_database_said_is_past_at_once_and_a_slow_answer_sets_no_clock_back() {
        let begun = Instant::now();
        let second = |second: i64| Timestamp::from_second(second).unwrap_or_default();
        let look = |read, millis| DatabaseTime { read, at: begun + Duration::from_millis(millis) };
        let known = look(second(100), 0);
        assert_eq!(known.at(begun + Duration::from_secs(5)), second(105));
        let took = Duration::from_millis(200);
        let ahead = known.corrected(look(second(101), 10), took);
        assert_eq!(ahead.at(ahead.at), second(101), "it holds what was said a moment ago");
        let slow = known.corrected(look(second(100), 200), took);
        assert_eq!(
            slow.at(slow.at + Duration::from_millis(200)),
            known.at(begun + Duration::from_millis(200))
        );
        let set_back = known.corrected(look(second(50), 1_000), took);
        assert_eq!(set_back.at(set_back.at), second(50), "the clock of the database was set back");
    }
}
