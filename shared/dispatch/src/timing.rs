//! Short-term and long-term times and rates, for quantiles. Must never decide anything.
//!
//! Each distribution is kept on the logarithmic scale of the samples, and fades: what is one half-life old counts half.
//! New times are only counted; the fading is done when they are settled, for all of them at once.

use std::time::Duration;

use jiff::Timestamp;
pub(super) use pagurus_domain::spread::Spread;
use pagurus_domain::system::step_of;
use serde_json::{Value, json};

/// Half-life of short-term times.
const SHORT_HALF_LIFE: Duration = Duration::from_secs(60);
/// Half-life of long-term times.
const LONG_HALF_LIFE: Duration = Duration::from_secs(4 * 3600);
/// Rates follow with this delay.
const RATE_DELAY: f64 = 10.0;
/// Delay of rates that are to show a sudden change.
const QUICK_DELAY: f64 = 2.0;
/// Standard deviations by which chance makes a quick rate differ from a slow one, at most.
const CHANCE: f64 = 4.0;

/// Returns the difference that chance makes at most between two averages of one rate, the quicker of which has this delay.
pub(super) fn chance_of(rates: [f64; 2], delay: f64) -> f64 {
    // An average that fades looks back on twice its delay.
    CHANCE * (rates[0].max(rates[1]).max(0.0) / (2.0 * delay)).sqrt()
}

/// Times of one kind, short-term and long-term.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    unsettled: Spread,
    short: Spread,
    long: Spread,
}

impl Timing {
    /// Counts a time.
    pub(super) fn note(&mut self, took: Duration) {
        self.unsettled.add(step_of(took), 1.0);
    }

    /// Counts many.
    pub(super) fn merge(&mut self, steps: impl Iterator<Item = (u16, u32)>) {
        steps.for_each(|(step, count)| self.unsettled.add(step, count as f32));
    }

    /// Lets what was counted before fade by the time that has passed since it was settled last, and takes in the new.
    pub(super) fn settle(&mut self, passed: Duration) {
        self.short.fade(faded(passed, SHORT_HALF_LIFE));
        self.long.fade(faded(passed, LONG_HALF_LIFE));
        self.short.merge(&self.unsettled);
        self.long.merge(&self.unsettled);
        self.unsettled.clear();
    }

    /// True if nothing was counted for hours.
    pub(super) fn is_empty(&self) -> bool {
        self.long.total() + self.unsettled.total() < 0.5
    }

    /// Returns the times of the last minute or so.
    pub(super) const fn short(&self) -> &Spread {
        &self.short
    }

    /// Returns the times of hours.
    pub(super) const fn long(&self) -> &Spread {
        &self.long
    }

    /// Returns the form to store.
    pub(super) fn remember(&self) -> Value {
        json!([self.short.remember(), self.long.remember()])
    }

    /// Reads the stored form.
    pub(super) fn recall(value: &Value) -> Self {
        Self {
            unsettled: Spread::default(),
            short: value.get(0).map(Spread::recall).unwrap_or_default(),
            long: value.get(1).map(Spread::recall).unwrap_or_default(),
        }
    }
}

/// Average of a figure over all time, faded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Average {
    average: f64,
    /// The part of the time that was looked at: the time before would count as nothing.
    known: f64,
}

impl Average {
    /// Follows what the figure was for this many seconds, with this delay.
    pub(super) fn follow(&mut self, present: f64, seconds: f64, delay: f64) {
        let part = 1.0 - (-seconds / delay).exp();
        self.average += (present - self.average) * part;
        self.known += (1.0 - self.known) * part;
    }

    /// The average; 0 while nothing is known.
    pub(super) fn value(self) -> f64 {
        if self.known > 0.0 { self.average / self.known } else { 0.0 }
    }
}

/// Number of times that a thing happens, in a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    unsettled: u32,
    average: Average,
}

impl Rate {
    /// Number of times that it happened since it was settled last.
    pub(super) const fn unsettled(self) -> u32 {
        self.unsettled
    }

    /// Notes that it happened this often.
    pub(super) const fn note(&mut self, count: u32) {
        self.unsettled = self.unsettled.saturating_add(count);
    }

    /// Takes in what happened in the time since it was settled last.
    pub(super) fn settle(&mut self, passed: Duration) {
        self.settle_over(passed, RATE_DELAY);
    }

    /// Takes it in so that a sudden change shows at once.
    pub(super) fn settle_quickly(&mut self, passed: Duration) {
        self.settle_over(passed, QUICK_DELAY);
    }

    /// Returns this rate of the last moments where it differs from the usual one by more than chance, else the usual one.
    pub(super) fn instead_of(self, usual: Self) -> f64 {
        let (present, usual) = (self.per_second(), usual.per_second());
        let chance = chance_of([present, usual], QUICK_DELAY);
        if (present - usual).abs() > chance { present } else { usual }
    }

    fn settle_over(&mut self, passed: Duration, delay: f64) {
        let seconds = passed.as_secs_f64();
        if seconds > 0.0 {
            self.average.follow(f64::from(self.unsettled) / seconds, seconds, delay);
            self.unsettled = 0;
        }
        if self.average.average < 1e-3 {
            self.average = Average::default();
        }
    }

    /// The rate.
    pub(super) fn per_second(self) -> f64 {
        self.average.value()
    }

    /// Restores a rate from its stored form.
    pub(super) const fn of(per_second: f64) -> Self {
        Self { unsettled: 0, average: Average { average: per_second, known: 1.0 } }
    }
}

/// The part that is left after a time.
pub(super) fn faded(passed: Duration, half_life: Duration) -> f32 {
    (-passed.as_secs_f64() / half_life.as_secs_f64()).exp2() as f32
}

/// Returns the time from one moment to a later one; zero if the clock went back.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn median(spread: &Spread) -> f64 {
        spread.quantiles().p50_ms.unwrap()
    }

    #[test]
    fn dsp_5_what_was_slow_long_ago_is_of_the_long_term_only() {
        let mut timing = Timing::default();
        (0..1000).for_each(|_| timing.note(Duration::from_secs(1)));
        timing.settle(Duration::from_secs(1));
        (0..100).for_each(|_| timing.note(Duration::from_millis(10)));
        timing.settle(Duration::from_secs(600));
        assert!((median(timing.short()) - 10.0).abs() < 1.0, "{timing:?}");
        assert!((median(timing.long()) - 1000.0).abs() < 60.0, "{timing:?}");
        let far = timing.short().quantiles().p99_ms.unwrap();
        assert!(far < 1100.0, "{far}");
        let again = Timing::recall(&timing.remember());
        assert!((median(again.short()) - median(timing.short())).abs() < 0.1, "{again:?}");
        assert!(Timing::recall(&json!("nonsense")).short().quantile(0.5).is_none());
    }

    #[test]
    fn ord_30_a_sudden_change_of_the_pace_shows_at_once_and_chance_does_not() {
        let (mut quick, mut slow) = (Rate::default(), Rate::default());
        let mut second = |count| {
            quick.note(count);
            slow.note(count);
            quick.settle_quickly(Duration::from_secs(1));
            slow.settle(Duration::from_secs(1));
            (quick.instead_of(slow), slow.per_second())
        };
        for index in 0..60 {
            let (pace, slow) = second(if index % 2 == 0 { 390 } else { 410 });
            assert!((pace - slow).abs() < f64::EPSILON, "{pace} {slow}");
        }
        for _ in 0..5 {
            second(100);
        }
        let (pace, slow) = second(100);
        assert!(pace < 120.0 && slow > 200.0, "{pace} {slow}");
    }

    #[test]
    fn dsp_14_a_rate_follows_within_seconds_and_ends_at_nothing() {
        let mut rate = Rate::default();
        rate.note(50);
        rate.settle(Duration::from_secs(1));
        assert!((rate.per_second() - 50.0).abs() < 0.1, "known from the first second on: {rate:?}");
        for _ in 0..40 {
            rate.note(50);
            rate.settle(Duration::from_secs(1));
        }
        assert!((rate.per_second() - 50.0).abs() < 2.0, "{rate:?}");
        (0..200).for_each(|_| rate.settle(Duration::from_secs(1)));
        assert!(rate.per_second().abs() < f64::EPSILON, "{rate:?}");
    }
}
