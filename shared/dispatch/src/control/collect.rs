//! Samples until there are enough for a decision. Must never decide.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::system::{CallKind, duration_of};

use super::super::timing::{Spread, between};
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
/// Quantile that a few calls which take very long by nature do not move.
const QUARTILE: f64 = 0.25;
/// Time after which failures of what was let pass are known.
const NEWS: Duration = Duration::from_millis(300);
/// The longest time that is waited for a change to show.
const LONGEST: Duration = Duration::from_secs(60);

/// Pace of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowPace {
    /// Until enough is known of times.
    Steady,
    /// Until a round of answers came.
    Quick,
    /// Until failures would be known.
    Stepping,
    /// Until enough is known of times, or something failed.
    Trying,
}

/// A change of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitChange {
    /// None.
    No,
    /// More may be in use.
    Raised,
    /// Less may be in use: this much.
    Lowered(u32),
}

/// Samples of the present window.
#[derive(Debug, Default)]
pub(super) struct Collected {
    opened: Option<Timestamp>,
    /// Time at which the limit changed last.
    changed_at: Option<Timestamp>,
    /// Times of calls from before then began under another limit.
    times_from: Option<Timestamp>,
    /// Outcomes from before then are of calls under another limit.
    outcomes_from: Option<Timestamp>,
    /// A lower limit that more than that are in use of yet: they began under the former one.
    draining_to: Option<u32>,
    in_use: u32,
    /// Sum and number of the readings of the number in use.
    uses: (f64, f64),
    good: u32,
    /// The answered calls whose times count.
    timed: u32,
    accepted: u32,
    limiting: u32,
    paths: Vec<PathTimes>,
    /// Time that calls took recently, in seconds: a limit shows in times after so long.
    round: f64,
}

impl Collected {
    /// Opens a window while `in_use` are in use.
    pub(super) fn begin(&mut self, in_use: u32, change: LimitChange, now: Timestamp) {
        self.opened = Some(now);
        if change != LimitChange::No {
            self.changed_at = Some(now);
            self.times_from = Some(later(now, self.round()));
            self.draining_to = match change {
                LimitChange::Lowered(to) => Some(to),
                LimitChange::No | LimitChange::Raised => None,
            };
            self.outcomes_from = self.draining_to.map(|_| later(now, NEWS));
        }
        (self.in_use, self.uses) = (in_use, (0.0, 0.0));
        (self.good, self.timed, self.accepted, self.limiting) = (0, 0, 0, 0);
        self.paths.clear();
    }

    /// Notes the number in use.
    pub(super) fn used(&mut self, in_use: u32) {
        self.in_use = self.in_use.max(in_use);
        self.uses = (self.uses.0 + f64::from(in_use), self.uses.1 + 1.0);
    }

    /// Counts calls.
    pub(super) fn note(&mut self, calls: Calls, in_use: u32, now: Timestamp) {
        if !self.counts(in_use, now) {
            return;
        }
        self.good = self.good.saturating_add(calls.good);
        self.limiting = self.limiting.saturating_add(self.since_change(calls, now));
        if calls.good == 0 || self.times_from.is_some_and(|from| now < from) {
            return;
        }
        self.timed = self.timed.saturating_add(calls.good);
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
            self.timed = self.timed.saturating_add(1);
        }
    }

    /// The window, if it is over.
    pub(super) fn take(&mut self, pace: WindowPace, bounds: Bounds, now: Timestamp) -> Option<LimitWindow> {
        let opened = self.opened?;
        let calls = self.good.saturating_add(self.limiting);
        let timed = self.timed.saturating_add(self.limiting);
        let open_for = between(self.times_from.map_or(opened, |from| from.max(opened)), now);
        let is_over = match pace {
            WindowPace::Quick => open_for >= QUICKEST && calls > 0,
            WindowPace::Stepping => between(opened, now) >= NEWS && calls > 0,
            WindowPace::Trying | WindowPace::Steady => {
                let least = self.round().mul_f64(0.25).max(SHORTEST);
                (open_for >= least && timed >= ENOUGH) || (open_for >= least * PATIENCE && timed >= FEW)
            }
        };
        let is_trying = matches!(pace, WindowPace::Stepping | WindowPace::Trying);
        let fails =
            self.limiting > 0 && is_trying || self.limiting >= MANY_FAILED && self.limiting * 4 >= self.good;
        if !is_over && !fails {
            return None;
        }
        if let Some(round) = self.paths.iter().filter_map(round).max_by(f64::total_cmp) {
            self.round = round;
        }
        if !fails && pace != WindowPace::Stepping && self.is_too_early() {
            return None;
        }
        let paths = std::mem::take(&mut self.paths);
        Some(LimitWindow {
            now,
            in_use: f64::from(self.in_use),
            mean_use: if self.uses.1 > 0.0 { self.uses.0 / self.uses.1 } else { f64::from(self.in_use) },
            good: self.good,
            accepted: self.accepted,
            limiting: self.limiting,
            paths,
            most: f64::from(bounds.most),
            adapts: bounds.adapts,
        })
    }

    /// True if calls take longer than it was waited for the last change to show: then their times are measured later.
    fn is_too_early(&mut self) -> bool {
        let (Some(changed_at), Some(from)) = (self.changed_at, self.times_from) else { return false };
        let shows_at = later(changed_at, self.round());
        if shows_at <= from.max(self.opened.unwrap_or(from)) {
            return false;
        }
        (self.times_from, self.timed) = (Some(shows_at), 0);
        self.paths.clear();
        true
    }

    /// Returns the time that calls took recently.
    pub(super) fn round(&self) -> Duration {
        Duration::try_from_secs_f64(self.round).unwrap_or(LONGEST).min(LONGEST)
    }

    /// Failed calls that began under the present limit: what waited too long in a queue says nothing of it.
    fn since_change(&self, calls: Calls, now: Timestamp) -> u32 {
        let Some(since) = self.changed_at.map(|changed_at| between(changed_at, now)) else {
            return calls.limiting;
        };
        let older = calls.times.counts().filter(|(step, _)| duration_of(*step) > since);
        calls.limiting.saturating_sub(older.map(|(_, count)| count).sum())
    }

    fn counts(&mut self, in_use: u32, now: Timestamp) -> bool {
        if self.opened.is_none() {
            self.begin(in_use, LimitChange::No, now);
        }
        if let Some(from) = self.outcomes_from {
            if now < from {
                return false;
            }
            // What was in use at the most before is of no account.
            self.outcomes_from = None;
            (self.opened, self.in_use, self.uses) = (Some(now), in_use, (0.0, 0.0));
        }
        if let Some(to) = self.draining_to {
            self.times_from = Some(later(now, self.round()));
            self.draining_to = (in_use > to).then_some(to);
            self.changed_at = Some(now);
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
