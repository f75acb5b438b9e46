//! Calls that were measured under one limit, and how those of two limits differ. Must never decide.
//!
//! A queue of the called system delays every call by about the same time. That time is what is looked for: the difference
//! between the means of the faster halves, which calls that take very long by nature do not move, and not a ratio, which
//! would grow with the variation of the times (a wait of a tenth of the mean doubles the fastest of calls that vary much).
//! It is held against its own standard error (trimmed means and winsorized variances: Yuen 1974), so that chance passes
//! for nothing, however much times vary.

use serde_json::{Value, json};

use super::super::timing::Spread;
use super::rule::{LimitWindow, PathTimes};

/// Calls of a path that say something.
const FEW: f64 = 5.0;
/// Maximum number of paths that are distinguished; of further ones nothing is known.
const MAX_PATHS: usize = 16;
/// Quantiles whose mean is the mean of the faster half.
const FASTER: [f64; 5] = [0.05, 0.15, 0.25, 0.35, 0.45];
/// Quantiles of the slower half, with the part of the calls that each stands for.
const SLOWER: [(f64, f64); 6] =
    [(0.55, 0.1), (0.65, 0.1), (0.75, 0.1), (0.85, 0.1), (0.925, 0.05), (0.975, 0.05)];
/// Standard error that the steps of the scale make of any difference, as a part of the mean.
const SCALE_ERROR: f64 = 0.01;

/// Calls under one limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    paths: Vec<PathTimes>,
    /// Times of all paths together.
    all: Spread,
    /// Calls that were answered.
    pub(super) good: f64,
    /// Calls that failed with a limiting class.
    pub(super) limiting: f64,
}

/// A difference of times, as a part of a mean time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WaitDifference {
    /// The difference.
    pub(super) part: f64,
    /// Standard error of it.
    pub(super) error: f64,
}

impl WaitDifference {
    /// True if it is more than this beyond chance.
    pub(super) fn exceeds(self, bound: f64, errors: f64) -> bool {
        self.part - bound > self.error * errors
    }

    /// True if it is less than this beyond chance.
    pub(super) fn is_below(self, bound: f64, errors: f64) -> bool {
        bound - self.part > self.error * errors
    }
}

impl Evidence {
    /// Adds the calls of a window.
    pub(super) fn add(&mut self, window: &LimitWindow) {
        self.good += f64::from(window.good.max(window.accepted));
        self.limiting += f64::from(window.limiting);
        for one in &window.paths {
            self.all.merge(&one.spread);
            let is_full = self.paths.len() >= MAX_PATHS;
            match self.paths.iter_mut().find(|path| path.is_like(one)) {
                Some(path) => path.spread.merge(&one.spread),
                None if is_full => {}
                None => self.paths.push(one.clone()),
            }
        }
    }

    /// Lets older calls count less, so that all together count for no more than these.
    pub(super) fn keep(&mut self, calls: f64) {
        let measured = self.measured();
        if measured > calls {
            let factor = calls / measured;
            self.paths.iter_mut().for_each(|path| path.spread.fade(factor as f32));
            self.paths.retain(|path| path.count() > 0.0);
            self.all.fade(factor as f32);
        }
        let all = self.good + self.limiting;
        if all > calls {
            (self.good, self.limiting) = (self.good * calls / all, self.limiting * calls / all);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Number of calls whose times were measured.
    pub(super) fn measured(&self) -> f64 {
        self.all.total()
    }

    /// Number of calls.
    pub(super) fn calls(&self) -> f64 {
        self.good + self.limiting
    }

    /// Part of the calls that failed.
    pub(super) fn failed(&self) -> f64 {
        self.limiting / self.calls().max(1.0)
    }

    /// Mean time of the path that takes longest, in seconds.
    pub(super) fn longest(&self) -> Option<f64> {
        let paths = self.paths.iter().filter_map(|path| Some(TrimmedTimes::of(&path.spread)?.mean));
        paths.max_by(f64::total_cmp).or_else(|| Some(TrimmedTimes::of(&self.all)?.mean))
    }

    /// Time by which these calls took longer than others of the same paths, as a part of the mean time of the others.
    pub(super) fn longer_than(&self, others: &Self) -> Option<WaitDifference> {
        let (mut weights, mut parts, mut variances) = (0.0, 0.0, 0.0);
        for path in &self.paths {
            let Some(other) = others.paths.iter().find(|other| other.is_like(path)) else { continue };
            let (Some(here), Some(there)) = (TrimmedTimes::of(&path.spread), TrimmedTimes::of(&other.spread))
            else {
                continue;
            };
            let weight = path.count().min(other.count());
            weights += weight;
            parts += weight * (here.faster - there.faster) / there.mean;
            let variance = here.variance + there.variance;
            variances += weight * weight * variance / (there.mean * there.mean);
        }
        // Many paths with few calls each are compared as one.
        if weights < 0.5 * self.measured().min(others.measured()) {
            let (here, there) = (TrimmedTimes::of(&self.all)?, TrimmedTimes::of(&others.all)?);
            (weights, parts) = (1.0, (here.faster - there.faster) / there.mean);
            variances = (here.variance + there.variance) / (there.mean * there.mean);
        }
        (weights > 0.0).then(|| WaitDifference {
            part: parts / weights,
            error: (variances.sqrt() / weights).hypot(SCALE_ERROR),
        })
    }

    /// True if more calls of a window failed than chance explains where this part of them fails usually.
    pub(super) fn fails_more_than(&self, usual: f64, errors: f64) -> bool {
        let expected = self.calls() * usual;
        // Two more than expected at the least: of few calls one may fail by chance.
        self.limiting >= expected + 2.0
            && self.limiting - expected > errors * (expected * (1.0 - usual) + 0.5).sqrt()
    }

    /// True if a greater part of them failed than of others, beyond chance.
    pub(super) fn fails_more_often_than(&self, others: &Self, errors: f64) -> bool {
        let part = (self.limiting + others.limiting) / (self.calls() + others.calls()).max(1.0);
        let variance = part * (1.0 - part) * (1.0 / self.calls().max(1.0) + 1.0 / others.calls().max(1.0));
        self.failed() - others.failed() > errors * variance.sqrt()
    }

    /// Returns the form to store: without the paths.
    pub(super) fn remember(&self) -> Value {
        json!({"good": self.good, "failed": self.limiting, "times": self.all.remember()})
    }

    /// Reads the stored form.
    pub(super) fn recall(memory: &Value) -> Self {
        let number = |key: &str| {
            memory.get(key).and_then(Value::as_f64).filter(|number| number.is_finite() && *number >= 0.0)
        };
        Self {
            paths: Vec::new(),
            all: memory.get("times").map(Spread::recall).unwrap_or_default(),
            good: number("good").unwrap_or_default(),
            limiting: number("failed").unwrap_or_default(),
        }
    }
}

/// Figures of the times of one path, in seconds.
struct TrimmedTimes {
    /// Mean of the faster half.
    faster: f64,
    /// Square of the standard error of that mean.
    variance: f64,
    /// Mean of all.
    mean: f64,
}

impl TrimmedTimes {
    fn of(times: &Spread) -> Option<Self> {
        let count = times.total();
        if count < FEW {
            return None;
        }
        let at = |part| times.quantile(part).unwrap_or_default();
        let median = at(0.5);
        let lower = FASTER.map(at);
        let faster = lower.iter().sum::<f64>() / FASTER.len() as f64;
        // The slower half counts as the median.
        let middle = f64::midpoint(faster, median);
        let squares: f64 = lower.iter().map(|time| (time - middle).powi(2)).sum();
        let winsorized = (squares + 5.0 * (median - middle).powi(2)) / 10.0;
        let mean = faster * 0.5 + SLOWER.iter().map(|(part, weight)| at(*part) * weight).sum::<f64>();
        (mean > 0.0).then_some(Self { faster, variance: winsorized / (0.25 * count), mean })
    }
}
