//! Number of calls that failed recently, for the decision to stop. Must never decide by itself what is too much.

use jiff::Timestamp;
use pagurus_domain::system::{Latencies, duration_of};

use super::super::timing::between;

/// Seconds that are looked back on.
const SECONDS: usize = 5;
/// Failures that stop a flow at the least: less may be chance.
const ENOUGH: u32 = 5;
/// Failures that are enough although other calls are answered meanwhile, as long as these began before. Fewer come where a
/// limit was a little too high, and a stop would cost more than they do.
const ENOUGH_AMONG_OLDER: u32 = 20;

/// Probability of failures in a row below which they are not put down to chance.
const UNLIKELY: f64 = 1e-6;

/// Calls of the last seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// Good and failed calls of one second each.
    seconds: [(u32, u32); SECONDS],
    present: i64,
    /// Failed calls since the last good one, however long ago.
    in_a_row: u32,
    /// Failed calls with no good one that began after the first of them: for as long as a call takes, a system that has gone
    /// away still answers what it was asked before.
    among_older: u32,
    /// Time at which the first of these was reported.
    among_since: Timestamp,
}

impl Failures {
    /// Counts calls, which took these times.
    pub(super) fn note(&mut self, good: u32, failed: u32, times: &Latencies, now: Timestamp) {
        let since = between(self.among_since, now);
        if good > 0 && times.counts().any(|(step, _)| duration_of(step) <= since) {
            self.among_older = 0;
        }
        self.count(good, failed, now);
    }

    /// Counts requests that were taken.
    pub(super) fn note_accepted(&mut self, good: u32, now: Timestamp) {
        self.among_older = 0;
        self.count(good, 0, now);
    }

    /// Failed calls and all calls, if the failed ones are enough and at least this part of all.
    pub(super) fn beyond(&self, part: f64, usual: f64) -> Option<(u32, u32)> {
        let sum = |of: fn(&(u32, u32)) -> u32| self.seconds.iter().map(of).fold(0_u32, u32::saturating_add);
        let (good, failed) = (sum(|second| second.0), sum(|second| second.1));
        let all = good.saturating_add(failed);
        let unusual = f64::from(all) * usual + 4.5 * (f64::from(all) * usual * (1.0 - usual)).sqrt();
        if failed >= ENOUGH && f64::from(failed) >= unusual && f64::from(failed) >= f64::from(all) * part {
            return Some((failed, all));
        }
        // A longer row is hardly ever chance.
        let in_a_row = ENOUGH.max((UNLIKELY.ln() / usual.clamp(1e-6, 0.9).ln()).ceil() as u32);
        let rows = [(self.in_a_row, in_a_row), (self.among_older, ENOUGH_AMONG_OLDER.max(in_a_row))];
        rows.into_iter().find(|(row, enough)| row >= enough).map(|(row, _)| (row, row))
    }

    fn count(&mut self, good: u32, failed: u32, now: Timestamp) {
        self.advance(now);
        let (counted_good, counted_failed) = &mut self.seconds[0];
        *counted_good = counted_good.saturating_add(good);
        *counted_failed = counted_failed.saturating_add(failed);
        self.in_a_row = if good > 0 { 0 } else { self.in_a_row.saturating_add(failed) };
        if failed > 0 && self.among_older == 0 {
            self.among_since = now;
        }
        self.among_older = self.among_older.saturating_add(failed);
    }

    fn advance(&mut self, now: Timestamp) {
        let passed = now.as_second().saturating_sub(self.present).clamp(0, SECONDS as i64);
        for _ in 0..passed {
            self.seconds.rotate_right(1);
            self.seconds[0] = (0, 0);
        }
        self.present = self.present.max(now.as_second());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap_or_default()
    }

    /// Returns the times of one call that took this long.
    fn took(millis: u64) -> Latencies {
        let mut times = Latencies::default();
        times.note(Duration::from_millis(millis));
        times
    }

    #[test]
    fn dsp_16_a_system_that_is_away_is_known_after_few_calls_however_rare_they_are() {
        let times = took(1);
        let mut often = Failures::default();
        often.note(100, 0, &times, at(1));
        often.note(0, 60, &times, at(2));
        assert_eq!((often.beyond(0.5, 0.0), often.beyond(0.3, 0.0)), (Some((60, 60)), Some((60, 160))));
        often.note(100, 0, &times, at(3));
        assert_eq!(often.beyond(0.5, 0.0), None, "some calls are answered");
        let mut rare = Failures::default();
        for call in 0..5 {
            assert_eq!(rare.beyond(0.5, 0.0), None);
            rare.note(0, 1, &times, at(100 * call));
        }
        assert_eq!(rare.beyond(0.5, 0.0), Some((5, 5)));
        rare.note(1, 0, &times, at(500));
        assert_eq!(rare.beyond(0.5, 0.0), None, "four of the five are long ago");
    }

    #[test]
    fn dsp_16_answers_to_calls_from_before_the_failures_do_not_hide_that_the_system_is_away() {
        let millis = |millis| Timestamp::from_millisecond(millis).unwrap_or_default();
        let mut failures = Failures::default();
        failures.note(2000, 0, &took(100), millis(60_000));
        for round in 1..=5 {
            assert_eq!(failures.beyond(0.9, 0.0), None, "{round}");
            failures.note(0, 4, &took(1), millis(60_000 + 10 * round));
            // Begun before the first failure.
            failures.note(4, 0, &took(100), millis(60_000 + 10 * round));
        }
        assert_eq!(failures.beyond(0.9, 0.0), Some((20, 20)));
        failures.note(1, 0, &took(50), millis(60_100));
        assert_eq!(failures.beyond(0.9, 0.0), None, "begun among them, and answered");
        failures.note(0, 19, &took(1), millis(60_200));
        failures.note_accepted(1, millis(60_210));
        failures.note(0, 4, &took(1), millis(60_220));
        assert_eq!(failures.beyond(0.9, 0.0), None, "a request was taken");
    }
}
