//! Bound of the woken stages in progress, by the time that stages spend inside the engine (ACT-5). Must never hold back
//! what waits for others than the engine.
//!
//! A stage that is handed out waits inside the engine besides its own work: for its claim, for the batch of its end, for
//! the news of it. By Little's law (1961) that time is the number of those who wait so over their rate: a mass of woken
//! stages on every place makes each fresh one wait as long as all of them. So the bound of the woken ones shrinks while that
//! time is above its target, and grows while it is below, by the gradient of both, as in Netflix's concurrency-limits
//! (2018). The stages' own work does not count, and without evidence the bound grows: calls of slow systems are in
//! nobody's way.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Time inside the engine above which the bound shrinks, where the engine is not slower than that by itself.
const TARGET: f64 = 0.05;
/// Factor of the target over what the engine needs at the least while nothing is held back, where that is more: a distant
/// database is no line.
const TIMES_THE_LEAST: f64 = 3.0;
/// Interval at which the bound is found again.
const PERIOD: SignedDuration = SignedDuration::from_millis(100);
/// Most by which the bound shrinks and grows in a period.
const STEPS: (f64, f64) = (0.7, 1.2);
/// Bound below which nothing is gained any more.
const LEAST_BOUND: f64 = 32.0;
/// Bound at the start, from which both ways are short.
const FIRST_BOUND: f64 = 256.0;
/// Part of the way back that the least time goes in a period: what it was when all was well is forgotten in ten minutes.
const DRIFT: f64 = 1.0 / 6000.0;

/// The bound, and what is known of the present period.
#[derive(Debug)]
pub(super) struct WokenBound {
    bound: f64,
    /// Seconds that the engine needs at the least; none before the first measured period in which nothing was held back.
    least: Option<f64>,
    settled_at: Timestamp,
    /// Seconds inside the engine of the stages that ended in this period, and their number.
    spent: (f64, u32),
    /// Most woken stages in progress in this period.
    most: u32,
    /// True once something was held back in this period.
    holds: bool,
}

impl WokenBound {
    /// Starts before anything is known.
    pub(super) const fn new() -> Self {
        Self {
            bound: FIRST_BOUND,
            least: None,
            settled_at: Timestamp::UNIX_EPOCH,
            spent: (0.0, 0),
            most: 0,
            holds: false,
        }
    }

    /// A stage has ended that spent this time inside the engine, its own work not counted.
    pub(super) fn spent(&mut self, inside: Duration) {
        self.spent.0 += inside.as_secs_f64();
        self.spent.1 += 1;
    }

    /// True if one more woken stage may go beside these woken and fresh ones. Where the fresh ones are no fewer it is
    /// not the woken ones that make the line.
    pub(super) fn admits(&self, woken: u32, fresh: u32) -> bool {
        f64::from(woken) < self.bound || woken <= fresh
    }

    /// Notes how many woken stages are in progress, and if one more would have gone but for the bound.
    pub(super) fn note(&mut self, woken: u32, holds: bool) {
        self.most = self.most.max(woken);
        self.holds |= holds;
    }

    /// Time at which more may go though nothing happens.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        self.holds.then(|| self.settled_at.checked_add(PERIOD).unwrap_or(Timestamp::MAX))
    }

    /// Finds the bound again, if a period is over.
    pub(super) fn settle(&mut self, now: Timestamp) {
        if now.duration_since(self.settled_at) < PERIOD && now >= self.settled_at {
            return;
        }
        self.settled_at = now;
        let ((seconds, count), most) = (std::mem::take(&mut self.spent), std::mem::take(&mut self.most));
        let was_used = std::mem::take(&mut self.holds);
        let (shrink, grow) = STEPS;
        let step = match count {
            0 => grow,
            count => {
                let mean = seconds / f64::from(count);
                if !was_used {
                    self.learn_least(mean);
                }
                let target = self.least.map_or(TARGET, |least| TARGET.max(least * TIMES_THE_LEAST));
                (target / mean.max(f64::MIN_POSITIVE)).clamp(shrink, grow)
            }
        };
        if step < 1.0 {
            self.bound = (self.bound.min(f64::from(most)) * step).max(LEAST_BOUND);
        } else if was_used {
            self.bound = (self.bound * step).min(f64::from(u32::MAX));
        }
    }

    /// Learns from a period whose stages spent `mean` seconds inside the engine, and in which nothing was held back on purpose.
    fn learn_least(&mut self, mean: f64) {
        self.least = Some(self.least.map_or(mean, |least| mean.min(least + (mean - least) * DRIFT)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays an engine whose stages spend this long in it by the number in progress, while a mass waits; the bound in
    /// each period.
    fn play(bound: &mut WokenBound, periods: i64, inside: impl Fn(f64) -> Option<f64>) -> f64 {
        let begun = bound.settled_at.as_millisecond();
        for period in 1..=periods {
            let woken = bound.bound.ceil() as u32;
            assert!(!bound.admits(woken, 0));
            bound.note(woken, true);
            if let Some(inside) = inside(f64::from(woken)) {
                (0..20).for_each(|_| bound.spent(Duration::from_secs_f64(inside)));
            }
            let now = Timestamp::from_millisecond(begun + period * 100).unwrap_or_default();
            assert!(bound.next_look().is_some_and(|look| look <= now));
            bound.settle(now);
        }
        bound.bound
    }

    #[test]
    fn act_5_the_bound_settles_where_the_time_inside_is_the_target() {
        // Stages a second, and 5 ms that each takes at the least.
        for rate in [500.0, 5000.0, 50_000.0] {
            let mut bound = WokenBound::new();
            let found = play(&mut bound, 200, |woken| Some((woken / rate).max(0.005)));
            let inside = found / rate;
            assert!((0.04..=0.06).contains(&inside) || found <= LEAST_BOUND, "{rate}: {found}");
        }
    }

    #[test]
    fn act_5_a_distant_database_is_no_line() {
        let mut bound = WokenBound::new();
        bound.spent(Duration::from_millis(200));
        bound.settle(Timestamp::from_millisecond(100).unwrap_or_default());
        let found = play(&mut bound, 100, |woken| Some((woken / 20_000.0).max(0.2)));
        assert!((8_000.0..16_000.0).contains(&found), "{found}");
    }

    #[test]
    fn act_5_stages_that_only_wait_for_others_are_not_held_back() {
        let mut bound = WokenBound::new();
        assert!(play(&mut bound, 30, |_| Some(0.005)) > 10_000.0, "ends are quick");
        let mut bound = WokenBound::new();
        assert!(play(&mut bound, 30, |_| None) > 10_000.0, "nothing ends at all");
    }

    #[test]
    fn act_5_beside_as_many_fresh_ones_the_woken_ones_have_their_half() {
        let mut bound = WokenBound::new();
        play(&mut bound, 100, |_| Some(1.0));
        assert!(!bound.admits(500, 499) && bound.admits(500, 500));
    }

    #[test]
    fn act_5_what_is_not_used_does_not_grow() {
        let mut bound = WokenBound::new();
        for period in 1..100 {
            bound.spent(Duration::from_millis(1));
            assert!(bound.admits(3, 0));
            bound.note(3, false);
            bound.settle(Timestamp::from_millisecond(period * 100).unwrap_or_default());
        }
        assert!(bound.bound <= FIRST_BOUND && bound.next_look().is_none());
    }
}
