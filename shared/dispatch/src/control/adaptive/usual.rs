//! The part of calls that fails whatever the limit is. Must never take many failures for usual that a limit may explain.

use serde_json::{Value, json};

use super::super::evidence::Evidence;

/// Calls that the figure rests on.
const CALLS: f64 = 1000.0;
/// Calls of which one hundredth failed, as if they had been counted before all others.
const BEFORE: f64 = 20.0;
/// Calls that an experiment counts for.
const SHOWN: f64 = 100.0;

/// Outcomes of the calls outside of trials, faded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usual {
    good: f64,
    failed: f64,
}

impl Usual {
    /// An experiment has shown that this part fails.
    pub(super) fn of(part: f64) -> Self {
        Self { good: SHOWN * (1.0 - part), failed: SHOWN * part }
    }

    /// Counts calls; not many more failures than usual, for there may be a reason that is not chance.
    pub(super) fn count(&mut self, calls: &Evidence) {
        let failed = calls.limiting.min(calls.calls() * self.most());
        let all = self.good + self.failed + calls.good + failed;
        let factor = (CALLS / all.max(1.0)).min(1.0);
        (self.good, self.failed) = ((self.good + calls.good) * factor, (self.failed + failed) * factor);
    }

    /// Part of the calls that fails usually.
    pub(super) fn failed(self) -> f64 {
        (self.failed + BEFORE * 0.01) / (self.good + self.failed + BEFORE)
    }

    /// The greatest part of failures that passes for usual.
    pub(super) fn most(self) -> f64 {
        self.failed() * 1.5 + 0.002
    }

    /// Returns the form to store.
    pub(super) fn remember(self) -> Value {
        json!([self.good.round(), self.failed])
    }

    /// Reads the stored form.
    pub(super) fn recall(memory: &Value) -> Self {
        let number = |at: usize| {
            memory.get(at).and_then(Value::as_f64).filter(|number| (0.0..=CALLS).contains(number))
        };
        match (number(0), number(1)) {
            (Some(good), Some(failed)) => Self { good, failed },
            _ => Self::default(),
        }
    }
}
