//! Part of the calls of a system that failed recently. Must never decide anything.

use std::time::Duration;

use serde_json::{Value, json};

use super::timing::faded;

/// Calls count half after this time.
const HALF_LIFE: Duration = Duration::from_secs(30);
/// Calls before the last ones that count at most: many good ones make old failures small, however fast they come.
const MOST: f64 = 50.0;
/// Part of failed calls from which on calls are said to fail.
const FAILS_FROM: f64 = 0.1;

/// Calls that ended recently, and those of them that failed. Without further calls the part stays as it was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FailedPart {
    all: f64,
    failed: f64,
}

impl FailedPart {
    /// Counts calls.
    pub(super) fn note(&mut self, count: u32, have_failed: bool) {
        let left = (MOST / self.all.max(MOST)).min(1.0);
        (self.all, self.failed) = (self.all * left, self.failed * left);
        self.all += f64::from(count);
        if have_failed {
            self.failed += f64::from(count);
        }
    }

    /// Lets what was counted fade.
    pub(super) fn settle(&mut self, passed: Duration) {
        let left = f64::from(faded(passed, HALF_LIFE));
        (self.all, self.failed) = (self.all * left, self.failed * left);
    }

    /// Returns the part that failed; `None` while no call has ended.
    pub(super) fn part(self) -> Option<f64> {
        (self.all > 0.0).then(|| self.failed / self.all)
    }

    /// True if calls fail; `None` while no call has ended.
    pub(super) fn fails(self) -> Option<bool> {
        self.part().map(|part| part >= FAILS_FROM)
    }

    /// Returns the counts, to be stored.
    pub(super) fn remember(self) -> Value {
        json!([self.all, self.failed])
    }

    /// Restores counts that were stored.
    pub(super) fn recall(memory: &Value) -> Self {
        let count = |at: usize| memory[at].as_f64().filter(|count| count.is_finite() && *count >= 0.0);
        let all = count(0).unwrap_or_default();
        Self { all, failed: count(1).unwrap_or_default().min(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_14_the_part_of_failed_calls_follows_what_ended_last_and_stays_where_nothing_ends() {
        let mut calls = FailedPart::default();
        assert_eq!((calls.part(), calls.fails()), (None, None));
        calls.note(19, false);
        calls.note(1, true);
        assert_eq!((calls.part(), calls.fails()), (Some(0.05), Some(false)));
        calls.note(20, true);
        calls.settle(Duration::from_secs(600));
        let part = calls.part().unwrap_or_default();
        assert!((part - 0.525).abs() < 0.001, "{part}");
        let recalled = FailedPart::recall(&calls.remember());
        assert_eq!((recalled.part(), recalled.fails()), (calls.part(), Some(true)));
        calls.note(10, false);
        assert_eq!(calls.fails(), Some(false), "what ended long ago hardly counts");
        let mut quick = FailedPart::default();
        quick.note(100_000, true);
        (0..150).for_each(|_| quick.note(1, false));
        assert_eq!(quick.fails(), Some(false), "many good ones in one moment");
        assert_eq!(FailedPart::recall(&json!([1, 7])).part(), Some(1.0));
        assert_eq!(FailedPart::recall(&json!(null)).part(), None);
    }
}
