//! The time that calls take when their system is not pressed, learnt for each path. Must never rise because a system
//! is pressed for long.
//!
//! The lower quartile of a window is compared and learnt, and not the mean: waiting in a queue of the system delays
//! every call, a few that take long by nature delay only the mean (the idea of CoDel, Nichols and Jacobson 2012). A
//! base falls with faster calls at once. It rises in two cases only: while a small part of what was borne is in use,
//! and when lowering the limit has shown that the calls take so long however few they are. Others let it follow a
//! long average and drift (Gradient2), or measure it again at times with next to no traffic (Envoy); Uber's Cinnamon
//! met the drift by measuring whether throughput and load go together, which is the nearest to this.

use std::sync::Arc;

use pagurus_domain::system::CallKind;
use serde_json::{Value, json};

use super::rule::PathTimes;

/// Maximum number of paths that are distinguished; beyond them nothing is learnt.
const MAX_PATHS: usize = 16;
/// Calls of a path in a window that say something.
const FEW: f64 = 5.0;
/// A path with less than this part of all calls says nothing of the whole.
const SMALL_PART: f64 = 0.1;
/// Number of calls up to which all windows count alike.
const FIRST: f64 = 100.0;
/// Times down to this part of the base are the same but for chance: else the base would follow the luckiest windows.
const SAME: f64 = 0.92;
/// The part of the calls that is looked at.
pub(super) const QUARTILE: f64 = 0.25;

/// Base times of all paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Baselines {
    paths: Vec<Baseline>,
}

#[derive(Clone, Debug)]
struct Baseline {
    path: Arc<str>,
    kind: CallKind,
    seconds: f64,
    /// Calls that it was learnt from, up to [`FIRST`].
    seen: f64,
}

impl Baselines {
    /// Factor by which calls take longer than when the system is not pressed, on the path where it is worst; none while
    /// too little is known.
    pub(super) fn ratio(&self, times: &[PathTimes]) -> Option<f64> {
        let all: f64 = times.iter().map(PathTimes::count).sum();
        let telling = times.iter().filter(|one| one.count() >= FEW.max(all * SMALL_PART));
        let ratios = telling.filter_map(|one| Some(one.quantile(QUARTILE)? / self.find(one)?.seconds));
        ratios.max_by(f64::total_cmp)
    }

    /// Learns from a window; `is_quiet` where next to nothing was in use.
    pub(super) fn learn(&mut self, times: &[PathTimes], is_quiet: bool) {
        for one in times.iter().filter(|one| one.count() >= FEW) {
            let Some(present) = one.quantile(QUARTILE) else { continue };
            let Some(base) = self.paths.iter_mut().find(|base| base.is(one)) else {
                if self.paths.len() < MAX_PATHS {
                    let (path, seen) = (Arc::clone(&one.path), one.count().min(FIRST));
                    self.paths.push(Baseline { path, kind: one.kind, seconds: present, seen });
                }
                continue;
            };
            let weight = one.count() / (one.count() + FIRST) * 0.3;
            if base.seen < FIRST && present < base.seconds * 1.5 {
                base.seconds += (present - base.seconds) * one.count() / (one.count() + base.seen);
                base.seen = (base.seen + one.count()).min(FIRST);
            } else if present < base.seconds * SAME || is_quiet {
                base.seconds += (present - base.seconds) * weight;
            }
        }
    }

    /// The calls of this window were not pressed, whatever was thought before.
    pub(super) fn rebase(&mut self, times: &[PathTimes]) {
        for one in times.iter().filter(|one| one.count() >= FEW) {
            if let (Some(present), Some(base)) =
                (one.quantile(QUARTILE), self.paths.iter_mut().find(|base| base.is(one)))
            {
                base.seconds = present;
            }
        }
    }

    /// The longest base time, in seconds.
    pub(super) fn longest(&self) -> Option<f64> {
        self.paths.iter().map(|base| base.seconds).max_by(f64::total_cmp)
    }

    /// Returns the form to store.
    pub(super) fn remember(&self) -> Value {
        let is_direct = |kind| kind == CallKind::Direct;
        let of =
            |base: &Baseline| json!([&*base.path, is_direct(base.kind), base.seconds, base.seen.round()]);
        self.paths.iter().map(of).collect()
    }

    /// Reads the stored form.
    pub(super) fn recall(memory: &Value) -> Self {
        let read = |base: &Value| {
            let direct = base.get(1)?.as_bool()?;
            Some(Baseline {
                path: Arc::from(base.get(0)?.as_str()?),
                kind: if direct { CallKind::Direct } else { CallKind::Asynchronous },
                seconds: base.get(2)?.as_f64().filter(|seconds| seconds.is_finite() && *seconds > 0.0)?,
                seen: base.get(3)?.as_f64()?,
            })
        };
        let stored = memory.as_array().into_iter().flatten();
        Self { paths: stored.filter_map(read).take(MAX_PATHS).collect() }
    }

    fn find(&self, times: &PathTimes) -> Option<&Baseline> {
        self.paths.iter().find(|base| base.is(times))
    }
}

impl Baseline {
    fn is(&self, times: &PathTimes) -> bool {
        self.kind == times.kind && self.path == times.path
    }
}
