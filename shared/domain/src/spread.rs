//! Distributions of times on the logarithmic scale of samples. They fade: what was counted before counts less and less.

use std::time::Duration;

use serde_json::{Value, json};

use crate::flow::Quantiles;
use crate::system::{duration_of, step_of};

/// Less of a time than this is no trace of it.
const TRACE: f32 = 0.01;
/// Steps of a doubling.
const STEPS: f64 = 8.0;

/// Counts by step of the scale, by ascending step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    counts: Vec<(u16, f32)>,
}

impl Spread {
    /// Counts more of a step.
    pub fn add(&mut self, step: u16, count: f32) {
        match self.counts.binary_search_by_key(&step, |(step, _)| *step) {
            Ok(index) => self.counts[index].1 += count,
            Err(index) => self.counts.insert(index, (step, count)),
        }
    }

    /// Counts all of another.
    pub fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|&(step, count)| self.add(step, count));
    }

    /// All count so much less.
    pub fn fade(&mut self, factor: f32) {
        self.counts.iter_mut().for_each(|(_, count)| *count *= factor);
        self.counts.retain(|(_, count)| *count >= TRACE);
    }

    /// Counts nothing any more.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    /// Number that are counted.
    pub fn total(&self) -> f64 {
        self.counts.iter().map(|(_, count)| f64::from(*count)).sum()
    }

    /// The time in seconds that this part of all does not exceed, read between the ends of its step.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let wanted = self.total() * part;
        let mut below = 0.0;
        for &(step, count) in &self.counts {
            let count = f64::from(count);
            if below + count >= wanted && count > 0.0 {
                let within = ((wanted - below) / count).clamp(0.0, 1.0);
                return Some(duration_of(step).as_secs_f64() * ((within - 0.5) / STEPS).exp2());
            }
            below += count;
        }
        None
    }

    /// The time in seconds that this part of those that took longer than a time does not exceed; none where none did.
    pub fn quantile_beyond(&self, part: f64, floor: Duration) -> Option<f64> {
        let beyond = |&(step, count): &(u16, f32)| (step, count * (1.0 - part_within(step, floor)) as f32);
        let rest: Vec<(u16, f32)> =
            self.counts.iter().map(beyond).filter(|(_, count)| *count > 0.0).collect();
        let total = Self { counts: rest }.total();
        // Everything up to the floor is passed over, and the part of what is left.
        let passed = self.total() - total;
        let whole = self.total();
        (total >= f64::from(TRACE)).then(|| self.quantile((passed + total * part) / whole)).flatten()
    }

    /// Returns the form to store.
    pub fn remember(&self) -> Value {
        self.counts.iter().map(|(step, count)| json!([step, (count * 100.0).round() / 100.0])).collect()
    }

    /// Reads the stored form.
    pub fn recall(value: &Value) -> Self {
        let mut spread = Self::default();
        for pair in value.as_array().into_iter().flatten() {
            let step = pair.get(0).and_then(Value::as_u64).and_then(|step| u16::try_from(step).ok());
            let count = pair.get(1).and_then(Value::as_f64).filter(|count| count.is_finite() && *count > 0.0);
            if let (Some(step), Some(count)) = (step, count) {
                spread.add(step, count as f32);
            }
        }
        spread
    }

    /// The median and the 99th percentile.
    pub fn quantiles(&self) -> Quantiles {
        let ms = |part| self.quantile(part).map(|seconds| (seconds * 1e6).round() / 1e3);
        Quantiles { p50_ms: ms(0.5), p99_ms: ms(0.99) }
    }
}

/// The part of the times of a step that are not longer than this.
fn part_within(step: u16, time: Duration) -> f64 {
    match step_of(time).cmp(&step) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => {
            let from_middle = (time.as_secs_f64() / duration_of(step).as_secs_f64()).log2() * STEPS;
            (from_middle + 0.5).clamp(0.0, 1.0)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    /// Times of 1 to 100 seconds, one of each.
    fn even() -> Spread {
        let mut spread = Spread::default();
        (1..=100).for_each(|second| spread.add(step_of(Duration::from_secs(second)), 1.0));
        spread
    }

    #[test]
    fn ord_31_what_took_longer_than_a_time_is_reported_by_the_rest_alone() {
        let spread = even();
        for (floor, part, expected) in
            [(0, 0.5, 50.0), (0, 0.9, 90.0), (50, 0.5, 75.0), (50, 0.9, 95.0), (90, 0.9, 99.0)]
        {
            let found = spread.quantile_beyond(part, Duration::from_secs(floor)).unwrap();
            assert!((found / expected - 1.0).abs() < 0.06, "{floor} {part}: {found}, not {expected}");
        }
        assert_eq!(spread.quantile_beyond(0.9, Duration::from_secs(200)), None, "none took so long");
        assert_eq!(Spread::default().quantile_beyond(0.9, Duration::ZERO), None);
    }

    #[test]
    fn ord_31_a_rest_never_ends_before_the_time_that_has_passed() {
        let spread = even();
        let mut before = 0.0;
        for millis in (0..100_000).step_by(333) {
            let floor = Duration::from_millis(millis);
            let Some(found) = spread.quantile_beyond(0.5, floor) else { continue };
            assert!(
                found >= floor.as_secs_f64() * 0.999 && found >= before,
                "{floor:?}: {found} after {before}"
            );
            before = found;
        }
    }
}
