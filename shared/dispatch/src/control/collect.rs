//! Samples until there are enough for a decision. Must never decide.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::system::CallKind;

use super::super::timing::{Spread, between};
use super::baseline::QUARTILE;
use super::rule::{LimitWindow, PathTimes};
use super::{Bounds, Calls, later};

/// The shortest window.
const SHORTEST: Duration = Duration::from_millis(200);
/// The shortest window while the limit doubles.
const QUICKEST: Duration = Duration::from_millis(50);
/// Calls that are enough.
const ENOUGH: u32 = 20;
/// A window that has lasted so much longer than it had to is content with fewer.
const PATIENCE: u32 = 4;
/// Calls that a patient window is content with.
const FEW: u32 = 5;
/// Failures that end a window at once, if they are a fifth of all calls.
const MANY_FAILED: u32 = 5;
/// Stands for all further paths.
const OTHERS: &str = "*";
/// Maximum number of paths that are distinguished.
const MAX_PATHS: usize = 8;
/// The longest time that is waited for a change to show.
const LONGEST: Duration = Duration::from_secs(60);

/// Samples of the present window.
#[derive(Debug, Default)]
pub(super) struct Collected {
    opened: Option<Timestamp>,
    /// Time at which the limit changed, if the window followed a change.
    changed_at: Option<Timestamp>,
    /// Samples from before began under another limit.
    counts_from: Option<Timestamp>,
    in_use: u32,
    good: u32,
    accepted: u32,
    limiting: u32,
    paths: Vec<PathTimes>,
    /// Time that calls took recently, in seconds: a limit shows after so long.
    round: f64,
}

impl Collected {
    /// Opens a window while `in_use` are in use; after a change of the limit nothing counts until it can show.
    pub(super) fn begin(&mut self, in_use: u32, has_changed: bool, now: Timestamp) {
        self.opened = Some(now);
        self.changed_at = has_changed.then_some(now);
        self.counts_from = has_changed.then(|| later(now, self.round()));
        (self.in_use, self.good, self.accepted, self.limiting) = (in_use, 0, 0, 0);
        self.paths.clear();
    }

    /// Notes the number in use.
    pub(super) fn used(&mut self, in_use: u32) {
        self.in_use = self.in_use.max(in_use);
    }

    /// Counts calls.
    pub(super) fn note(&mut self, calls: Calls, in_use: u32, now: Timestamp) {
        if !self.counts(in_use, now) {
            return;
        }
        self.good = self.good.saturating_add(calls.good);
        self.limiting = self.limiting.saturating_add(calls.limiting);
        if calls.good == 0 {
            return;
        }
        let known =
            |path: &str| self.paths.iter().position(|one| one.kind == calls.kind && *one.path == *path);
        let index = match known(calls.path) {
            Some(index) => index,
            None if self.paths.len() < MAX_PATHS => self.begin_path(calls.path, calls.kind),
            None => match known(OTHERS) {
                Some(index) => index,
                None => self.begin_path(&Arc::from(OTHERS), calls.kind),
            },
        };
        calls.times.counts().for_each(|(step, count)| self.paths[index].spread.add(step, count as f32));
    }

    fn begin_path(&mut self, path: &Arc<str>, kind: CallKind) -> usize {
        self.paths.push(PathTimes { path: Arc::clone(path), kind, spread: Spread::default() });
        self.paths.len() - 1
    }

    /// Counts requests that were taken, to be answered later.
    pub(super) fn note_accepted(&mut self, count: u32, in_use: u32, now: Timestamp) {
        if self.counts(in_use, now) {
            self.accepted = self.accepted.saturating_add(count);
        }
    }

    /// Counts a stage that ended, of a flow without samples.
    pub(super) fn note_end(&mut self, in_use: u32, now: Timestamp) {
        if self.counts(in_use, now) {
            self.good = self.good.saturating_add(1);
        }
    }

    /// The window, if it is over.
    pub(super) fn take(
        &mut self,
        is_quick: bool,
        is_trying: bool,
        bounds: Bounds,
        now: Timestamp,
    ) -> Option<LimitWindow> {
        let opened = self.opened?;
        let calls = self.good.saturating_add(self.limiting);
        let open_for = between(self.counts_from.unwrap_or(opened), now);
        let least = if is_quick { QUICKEST } else { self.round().mul_f64(0.25).max(SHORTEST) };
        let is_over = if is_quick {
            open_for >= least && calls > 0
        } else {
            (open_for >= least && calls >= ENOUGH) || (open_for >= least * PATIENCE && calls >= FEW)
        };
        let fails =
            self.limiting > 0 && is_trying || self.limiting >= MANY_FAILED && self.limiting * 4 >= self.good;
        if !is_over && !fails {
            return None;
        }
        if let Some(round) = self.paths.iter().filter_map(round).max_by(f64::total_cmp) {
            self.round = round;
        }
        if !fails && self.is_too_early() {
            return None;
        }
        let paths = std::mem::take(&mut self.paths);
        Some(LimitWindow {
            now,
            in_use: f64::from(self.in_use),
            good: self.good,
            accepted: self.accepted,
            limiting: self.limiting,
            paths,
            most: f64::from(bounds.most),
            adapts: bounds.adapts,
        })
    }

    /// True if calls take longer than it was waited for the last change to show: then all begins again, later.
    fn is_too_early(&mut self) -> bool {
        let (Some(changed_at), Some(opened)) = (self.changed_at, self.opened) else { return false };
        let shows_at = later(changed_at, self.round());
        if shows_at <= opened {
            return false;
        }
        self.counts_from = Some(shows_at);
        (self.good, self.accepted, self.limiting) = (0, 0, 0);
        self.paths.clear();
        true
    }

    /// Returns the time that calls took recently.
    pub(super) fn round(&self) -> Duration {
        Duration::try_from_secs_f64(self.round).unwrap_or(LONGEST).min(LONGEST)
    }

    fn counts(&mut self, in_use: u32, now: Timestamp) -> bool {
        if self.opened.is_none() {
            self.begin(in_use, false, now);
        }
        if let Some(from) = self.counts_from {
            if now < from {
                return false;
            }
            // What was in use at the most before is of no account.
            self.counts_from = None;
            self.opened = Some(now);
            self.in_use = in_use;
        }
        self.used(in_use);
        true
    }
}

/// Time that most calls of a path take: a few that take very long by nature are not waited for.
fn round(path: &PathTimes) -> Option<f64> {
    let quartile = path.quantile(QUARTILE)?;
    path.quantile(0.75).map(|upper| upper.min(quartile * 2.0))
}
