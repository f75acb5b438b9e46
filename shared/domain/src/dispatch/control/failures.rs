//! How many calls failed of late, for the decision to stop. Must never decide by itself what is too much.

use jiff::Timestamp;

/// Seconds that are looked back on.
const SECONDS: usize = 5;
/// Failures that stop a flow at the least: less may be chance.
const ENOUGH: u32 = 5;

/// Calls of the last seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// Good and failed calls of one second each.
    seconds: [(u32, u32); SECONDS],
    present: i64,
    /// Failed calls since the last good one, however long ago.
    in_a_row: u32,
}

impl Failures {
    /// Counts calls.
    pub(super) fn note(&mut self, good: u32, failed: u32, now: Timestamp) {
        self.advance(now);
        let (counted_good, counted_failed) = &mut self.seconds[0];
        *counted_good = counted_good.saturating_add(good);
        *counted_failed = counted_failed.saturating_add(failed);
        self.in_a_row = if good > 0 { 0 } else { self.in_a_row.saturating_add(failed) };
    }

    /// Failed calls and all calls, if the failed ones are enough and at least this part of all.
    pub(super) fn beyond(&self, part: f64) -> Option<(u32, u32)> {
        let sum = |of: fn(&(u32, u32)) -> u32| self.seconds.iter().map(of).fold(0_u32, u32::saturating_add);
        let (good, failed) = (sum(|second| second.0), sum(|second| second.1));
        let all = good.saturating_add(failed);
        if failed >= ENOUGH && f64::from(failed) >= f64::from(all) * part {
            return Some((failed, all));
        }
        (self.in_a_row >= ENOUGH).then_some((self.in_a_row, self.in_a_row))
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
    use super::*;

    #[test]
    fn dsp_16_a_system_that_is_away_is_known_after_few_calls_however_rare_they_are() {
        let at = |second| Timestamp::from_second(second).unwrap_or_default();
        let mut often = Failures::default();
        often.note(100, 0, at(1));
        often.note(0, 60, at(2));
        assert_eq!((often.beyond(0.5), often.beyond(0.3)), (Some((60, 60)), Some((60, 160))));
        often.note(100, 0, at(3));
        assert_eq!(often.beyond(0.5), None, "some calls are answered");
        let mut rare = Failures::default();
        for call in 0..5 {
            assert_eq!(rare.beyond(0.5), None);
            rare.note(0, 1, at(100 * call));
        }
        assert_eq!(rare.beyond(0.5), Some((5, 5)));
        rare.note(1, 0, at(500));
        assert_eq!(rare.beyond(0.5), None, "four of the five are long ago");
    }
}
