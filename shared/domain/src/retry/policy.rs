//! Retry policies: which one applies to a scenario and a class, and how long it waits. Must never
//! look at a cycle: limits are judged by [`super::on_failure`].

use std::time::Duration;

use super::Policy;
use super::mask::Glob;

impl Policy {
    /// The wait before a retry, the first being number 1. `dice` is an even chance from 0 to 1.
    #[must_use]
    pub fn interval(&self, attempt: u32, dice: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let longest = self.max_interval.as_secs_f64();
        let planned = (self.initial_interval.as_secs_f64() * self.multiplier.powi(exponent)).min(longest);
        let spread = 1.0 + self.jitter * (2.0 * dice.clamp(0.0, 1.0) - 1.0);
        // Capped again: chance must not carry a wait beyond what the configuration promises.
        Duration::try_from_secs_f64((planned * spread).clamp(0.0, longest)).unwrap_or(self.max_interval)
    }

    /// How specific the policy is for a scenario and a class: the scenario counts first, because
    /// whoever names a scenario wants its failures treated apart from all others.
    fn specificity(&self, scenario: &str, class: &str) -> Option<(usize, usize)> {
        let best = |globs: &[Glob], name: &str| {
            globs.iter().filter(|glob| glob.matches(name)).map(Glob::specificity).max()
        };
        Some((best(&self.scenarios, scenario)?, best(&self.classes, class)?))
    }
}

/// The policy that is most specific for a scenario and a class.
pub(super) fn most_specific<'a>(policies: &'a [Policy], scenario: &str, class: &str) -> Option<&'a Policy> {
    policies
        .iter()
        .filter_map(|policy| Some((policy.specificity(scenario, class)?, policy)))
        .max_by_key(|(specificity, _)| *specificity)
        .map(|(_, policy)| policy)
}

/// A scenario mask and a class mask of each that make two policies equally specific for some
/// order, so that chance would choose between them.
pub(super) fn conflict<'a>(left: &'a Policy, right: &'a Policy) -> Option<(&'a Glob, &'a Glob)> {
    let same = |left: &Glob, right: &Glob| left.specificity() == right.specificity() && left.overlaps(right);
    let of = |left: &'a [Glob], right: &'a [Glob]| {
        left.iter().find(|mask| right.iter().any(|other| same(mask, other)))
    };
    Some((of(&left.scenarios, &right.scenarios)?, of(&left.classes, &right.classes)?))
}
