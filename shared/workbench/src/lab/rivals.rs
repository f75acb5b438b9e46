//! Other rules for limits, to compare: fixed ones, AIMD, Gradient2 of Netflix and ARC of Vector, each as published, with
//! its usual constants. Must never be used but in the laboratory.

use jiff::Timestamp;
use pagurus_dispatch::{LimitRule, LimitWindow, PathTimes};

/// Limit at which learning rules start.
const FIRST: f64 = 20.0;

/// A limit that never moves.
#[derive(Clone, Debug)]
pub(super) struct Fixed(pub(super) f64);

impl LimitRule for Fixed {
    fn limit(&self) -> Option<f64> {
        Some(self.0)
    }

    fn begin(&mut self, _limit: f64, _borne: Option<f64>, _now: Timestamp) {}

    fn learn(&mut self, _window: &LimitWindow) -> Option<String> {
        None
    }

    fn stops(&self) -> bool {
        false
    }
}

/// Allows one more with each good window, a tenth less with each bad one.
#[derive(Clone, Debug)]
pub(super) struct Aimd(f64);

impl Default for Aimd {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl LimitRule for Aimd {
    fn limit(&self) -> Option<f64> {
        Some(self.0)
    }

    fn begin(&mut self, limit: f64, _borne: Option<f64>, _now: Timestamp) {
        self.0 = limit;
    }

    fn learn(&mut self, window: &LimitWindow) -> Option<String> {
        if window.limiting > 0 {
            self.0 = (self.0 * 0.9).max(1.0);
        } else if window.in_use >= self.0.floor() {
            self.0 += 1.0;
        }
        Some("AIMD".to_owned())
    }

    fn stops(&self) -> bool {
        false
    }
}

/// The limit times the ratio of a long average of latencies to the present one, and some room for a queue
/// (Netflix concurrency-limits, `Gradient2Limit`).
#[derive(Clone, Debug)]
pub(super) struct Gradient2 {
    limit: f64,
    long: Option<f64>,
}

impl Default for Gradient2 {
    fn default() -> Self {
        Self { limit: FIRST, long: None }
    }
}

impl LimitRule for Gradient2 {
    fn limit(&self) -> Option<f64> {
        Some(self.limit)
    }

    fn begin(&mut self, limit: f64, _borne: Option<f64>, _now: Timestamp) {
        self.limit = limit;
    }

    fn learn(&mut self, window: &LimitWindow) -> Option<String> {
        let short = latency(&window.paths)?;
        // The window of the long average is 600 samples.
        let weight = (f64::from(window.good) / 600.0).min(1.0);
        let long = self.long.get_or_insert(short);
        *long += (short - *long) * weight;
        if *long / short > 2.0 {
            *long *= 0.95;
        }
        if window.in_use < self.limit / 2.0 {
            return None;
        }
        let gradient = (1.5 * *long / short).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + 4.0;
        self.limit = (self.limit * 0.8 + wanted * 0.2).clamp(1.0, window.most);
        Some("Gradient2".to_owned())
    }

    fn stops(&self) -> bool {
        false
    }
}

/// Allows one more while latencies stay within the deviation of their average, a tenth less beyond it or with failures
/// (Vector, adaptive request concurrency).
#[derive(Clone, Debug)]
pub(super) struct Arc {
    limit: f64,
    mean: Option<f64>,
    variance: f64,
}

impl Default for Arc {
    fn default() -> Self {
        Self { limit: 1.0, mean: None, variance: 0.0 }
    }
}

impl LimitRule for Arc {
    fn limit(&self) -> Option<f64> {
        Some(self.limit)
    }

    fn begin(&mut self, limit: f64, _borne: Option<f64>, _now: Timestamp) {
        self.limit = limit;
    }

    fn learn(&mut self, window: &LimitWindow) -> Option<String> {
        let present = latency(&window.paths);
        let (Some(present), Some(mean)) = (present, self.mean) else {
            self.mean = self.mean.or(present);
            return None;
        };
        let threshold = 2.5 * self.variance.sqrt();
        if window.limiting > 0 || present > mean + threshold.max(mean * 0.05) {
            self.limit = (self.limit * 0.9).max(1.0);
        } else if window.in_use >= self.limit.floor() {
            self.limit = (self.limit + 1.0).min(window.most);
        }
        let (weight, off) = (0.4, present - mean);
        self.mean = Some(mean + weight * off);
        self.variance = (1.0 - weight) * (self.variance + weight * off * off);
        Some("ARC".to_owned())
    }

    fn stops(&self) -> bool {
        false
    }
}

fn latency(paths: &[PathTimes]) -> Option<f64> {
    paths.iter().filter_map(|path| path.quantile(0.5)).max_by(f64::total_cmp)
}
