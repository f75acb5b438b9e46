//! Spacing: the least time between the starts of two batches of a loop.
//!
//! A batch costs about the same whatever is in it: statements, a commit, messages of news. A loop that takes whatever is
//! there as soon as it can is therefore busy with batches of one or two at loads that are far below its best, and the
//! processes of a chain wait for each other's processor time. So a loop rests in proportion to what its batches take: it
//! spends no more than one part in four of the time on them, unless the next one would start later than it may.
//! After a batch of one item nothing rests: where orders come one at a time, each waits for nobody. Nor does it after a
//! batch that could not be larger.

use std::time::{Duration, Instant};

use tokio::time::sleep_until;

/// Time from one start to the next, as a multiple of what a batch takes.
const SHARE: u32 = 4;
/// Part of the mean that a new batch replaces: one in this number.
const WEIGHT: u32 = 4;

/// The spacing of one loop.
#[derive(Debug)]
pub struct Spacing {
    longest: Duration,
    /// Start of the last batch; none before the first.
    begun: Option<Instant>,
    /// True if the last batch had several items, and could have had more.
    several: bool,
    /// Mean time that a batch takes.
    took: Duration,
}

impl Spacing {
    /// Returns a spacing of at most this time.
    #[must_use]
    pub const fn up_to(longest: Duration) -> Self {
        Self { longest, begun: None, several: false, took: Duration::ZERO }
    }

    /// Waits until the next batch may start.
    pub async fn wait(&self) {
        if let Some(at) = self.next() {
            sleep_until(at.into()).await;
        }
    }

    /// Notes that a batch of these items started then, which could have had `most`.
    pub const fn start(&mut self, now: Instant, items: usize, most: usize) {
        self.begun = Some(now);
        self.several = items > 1 && items < most;
    }

    /// Notes that the batch ended then.
    pub fn end(&mut self, now: Instant) {
        if let Some(begun) = self.begun {
            self.took = self.took * (WEIGHT - 1) / WEIGHT + (now - begun) / WEIGHT;
        }
    }

    /// Returns the time at which the next batch may start; none where it may at once.
    fn next(&self) -> Option<Instant> {
        let begun = self.begun.filter(|_| self.several)?;
        Some(begun + self.least())
    }

    /// Returns the least time between two starts.
    fn least(&self) -> Duration {
        self.took.saturating_mul(SHARE).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(8);
    const MOST: usize = 100;

    /// Carries out batches that take this long, each as soon as it may start. Returns the time between the last two starts.
    fn period(spacing: &mut Spacing, took: Duration) -> Duration {
        let mut now = Instant::now();
        let mut before = now;
        for _ in 0..50 {
            before = now;
            now = spacing.next().map_or(now, |next| next.max(now));
            spacing.start(now, 2, MOST);
            now += took;
            spacing.end(now);
        }
        now - before
    }

    #[test]
    fn a_loop_spends_one_part_in_four_on_batches_that_are_short() {
        let took = Duration::from_millis(1);
        let period = period(&mut Spacing::up_to(LONGEST), took);
        assert!(period.abs_diff(took * SHARE) < Duration::from_micros(10), "{period:?}");
    }

    #[test]
    fn batches_that_take_long_follow_each_other_at_once() {
        let took = Duration::from_millis(20);
        assert_eq!(period(&mut Spacing::up_to(LONGEST), took), took);
    }

    #[test]
    fn no_batch_starts_later_than_the_longest_time_and_one_item_or_all_make_nobody_wait() {
        let mut spacing = Spacing::up_to(LONGEST);
        assert_eq!(spacing.next(), None);
        let begun = Instant::now();
        for (items, next) in [(2, Some(begun + LONGEST)), (1, None), (MOST, None)] {
            spacing.start(begun, items, MOST);
            spacing.end(begun + Duration::from_secs(1));
            assert_eq!(spacing.next(), next);
        }
    }
}
