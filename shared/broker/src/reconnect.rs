//! Waiting time before the next attempt, for ever.
//!
//! Only computes delays: sleeping, stopping and logging belong to the loops that use it. The
//! `backoff` crate would give up after a quarter of an hour and lets jitter pass its own cap;
//! both are undone here.

use std::time::Duration;

use backoff::{ExponentialBackoff, backoff::Backoff};

const FIRST: Duration = Duration::from_millis(200);
/// Short enough that a broker that is back is in use before anybody wonders.
const LONGEST: Duration = Duration::from_secs(10);

/// Exponentially growing delays with jitter, and a count of the failures so far.
pub(crate) struct Delays {
    backoff: ExponentialBackoff,
    failures: u32,
}

impl Delays {
    pub(crate) fn new() -> Self {
        let mut backoff = ExponentialBackoff {
            initial_interval: FIRST,
            max_interval: LONGEST,
            multiplier: 2.0,
            max_elapsed_time: None,
            ..ExponentialBackoff::default()
        };
        backoff.reset();
        Self { backoff, failures: 0 }
    }

    /// Counts a failure and says how long to wait after it.
    pub(crate) fn next(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let delay = self.backoff.next_backoff().unwrap_or(LONGEST);
        delay.min(LONGEST)
    }

    /// Failures since the last [`Delays::reset`].
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// True if the latest failure is worth a log line: the 1st, 2nd, 4th, 8th … so that an outage
    /// of a day writes some twenty lines and not ten thousand.
    pub(crate) fn worth_logging(&self) -> bool {
        self.failures.is_power_of_two()
    }

    pub(crate) fn reset(&mut self) {
        self.backoff.reset();
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amqp_2_delays_grow_stay_bounded_and_never_end() {
        let mut delays = Delays::new();
        let first = delays.next();
        assert!(first >= FIRST / 2 && first <= FIRST * 3 / 2, "{first:?}");
        let mut logged = 1;
        for _ in 1..10_000 {
            assert!(delays.next() <= LONGEST);
            logged += u32::from(delays.worth_logging());
        }
        assert!(delays.next() >= LONGEST / 4);
        assert_eq!(logged, 14);
        delays.reset();
        assert!(delays.next() <= FIRST * 3 / 2);
        assert!(delays.worth_logging());
    }
}
