//! Samples until there are enough for a decision. Must never decide.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

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
/// Paths that are told apart.
const MAX_PATHS: usize = 8;
/// The longest time that is waited for a change to show.
const LONGEST: Duration = Duration::from_secs(60);

/// Samples of the present window.
#[derive(Debug, Default)]
pub(super) struct Collected {
    opened: Option<Timestamp>,
    /// What came before began under another limit.
    counts_from: Option<Timestamp>,
    in_use: u32,
    good: u32,
    limiting: u32,
    paths: Vec<PathTimes>,
    /// How long calls took of late, in seconds: a limit shows after so long.
    round: f64,
}

impl Collected {
    /// A new window, while so many are in use; after a change of the limit nothing counts until it can show.
    pub(super) fn begin(&mut self, in_use: u32, has_changed: bool, now: Timestamp) {
        let round = Duration::try_from_secs_f64(self.round).unwrap_or(LONGEST).min(LONGEST);
        self.opened = Some(now);
        self.counts_from = has_changed.then(|| later(now, round));
        (self.in_use, self.good, self.limiting) = (in_use, 0, 0);
        self.paths.clear();
    }

    /// So many are in use.
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
        let known = self.paths.iter().position(|one| one.kind == calls.kind && one.path == *calls.path);
        let index = match known {
            Some(index) => index,
            None if self.paths.len() < MAX_PATHS => {
                let (path, spread) = (Arc::clone(calls.path), Spread::default());
                self.paths.push(PathTimes { path, kind: calls.kind, spread });
                self.paths.len() - 1
            }
            None => return,
        };
        calls.times.counts().for_each(|(step, count)| self.paths[index].spread.add(step, count as f32));
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
        let least = if is_quick { QUICKEST } else { SHORTEST };
        let is_over = if is_quick {
            open_for >= least && calls > 0
        } else {
            (open_for >= least && calls >= ENOUGH) || (open_for >= least * PATIENCE && calls >= FEW)
        };
        if !(is_over || is_trying && self.limiting > 0) {
            return None;
        }
        let paths = std::mem::take(&mut self.paths);
        if let Some(round) = paths.iter().filter_map(|path| path.quantile(QUARTILE)).max_by(f64::total_cmp) {
            self.round = round;
        }
        Some(LimitWindow {
            now,
            in_use: f64::from(self.in_use),
            good: self.good,
            limiting: self.limiting,
            paths,
            most: f64::from(bounds.most),
            adapts: bounds.adapts,
        })
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
