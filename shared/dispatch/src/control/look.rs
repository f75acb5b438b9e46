//! Windows of samples, and what the rule makes of them: the limit, or the doubt whether all is away.

use jiff::Timestamp;

use super::collect::{LimitChange, WindowPace};
use super::{Bounds, Control, ControlMove, LONGEST_DOUBT, Phase, SHORTEST_DOUBT, later};

/// Failed calls that each place more explains, while more is tried and just after it.
const PARDONED: f64 = 1.0;

impl Control {
    /// Decides by what was noted, if it is enough.
    pub(in super::super) fn look(&mut self, in_use: u32, bounds: Bounds, now: Timestamp) -> ControlMove {
        if self.phase != Phase::Open {
            return ControlMove::No;
        }
        if bounds.stops && self.rule.stops() && self.doubt.is_none() && self.verdict(bounds).is_some() {
            self.doubt = Some(later(now, self.collected.round().clamp(SHORTEST_DOUBT, LONGEST_DOUBT)));
            return ControlMove::Yes;
        }
        let Some(window) = self.collected.take(self.pace(), bounds, now) else {
            return ControlMove::No;
        };
        let is_trying = self.rule.is_trying();
        let before = self.rule.limit();
        let why = self.rule.learn(&window);
        let after = self.rule.limit();
        self.pardoned = match (before, after) {
            (Some(before), Some(after)) if self.rule.is_trying() && after > before => {
                self.pardoned + PARDONED * (after - before)
            }
            _ if self.rule.is_trying() || is_trying => self.pardoned,
            _ => 0.0,
        };
        let change = match (before, after) {
            _ if before == after || self.rule.is_quick() => LimitChange::No,
            (before, Some(after)) if before.is_none_or(|before| after < before) => {
                LimitChange::Lowered(after as u32)
            }
            _ => LimitChange::Raised,
        };
        self.collected.begin(in_use, change, now);
        let has_moved = why.is_some() || before != after;
        if let Some(why) = why {
            self.decide(bounds, now, why);
        }
        if has_moved { ControlMove::Yes } else { ControlMove::No }
    }

    /// Returns the failures that a trial of more does not explain: the others say that it was too much, and not that the
    /// system is away.
    pub(super) fn pardon(&mut self, limiting: u32) -> u32 {
        let pardoned = f64::from(limiting).min(self.pardoned);
        self.pardoned -= pardoned;
        limiting - pardoned as u32
    }

    fn pace(&self) -> WindowPace {
        if self.rule.is_quick() {
            WindowPace::Quick
        } else if self.rule.is_stepping() {
            WindowPace::Stepping
        } else if self.rule.is_trying() {
            WindowPace::Trying
        } else {
            WindowPace::Steady
        }
    }
}
