//! Retry policies: which one applies to a scenario and a class, and how long it waits. Must never
//! look at a cycle: limits are judged by [`super::on_failure`].

use crate::number::saturated;
use std::time::Duration;

use super::mask::Glob;
use super::{CARRIED_OVER, ErrorClass, Policy};

impl Policy {
    /// The wait before a retry, the first being number 1. `dice` is an even chance from 0 to 1.
    #[must_use]
    pub fn interval(&self, attempt: u32, dice: f64) -> Duration {
        let exponent = saturated::<i32>(attempt.saturating_sub(1));
        let longest = self.max_interval.as_secs_f64();
        let planned = (self.initial_interval.as_secs_f64() * self.multiplier.powi(exponent)).min(longest);
        let spread = 1.0 + self.jitter * (2.0 * dice.clamp(0.0, 1.0) - 1.0);
        // Capped again: chance must not carry a wait beyond what the configuration promises.
        Duration::try_from_secs_f64((planned * spread).clamp(0.0, longest)).unwrap_or(self.max_interval)
    }

    /// Specificity of the policy for a scenario and a class: the scenario counts first, because
    /// a policy that names a scenario wants its failures treated apart from all others.
    fn specificity(&self, scenario: &str, class: &str) -> Option<(usize, usize)> {
        let best = |globs: &[Glob], takes: &dyn Fn(&Glob) -> bool| {
            globs.iter().filter(|glob| takes(glob)).map(Glob::specificity).max()
        };
        let scenarios = best(&self.scenarios, &|glob| glob.matches(scenario))?;
        Some((scenarios, best(&self.classes, &|glob| takes_class(glob, class))?))
    }
}

/// True if a mask of classes takes a class by its name, or by the one it had in older rules.
fn takes_class(mask: &Glob, class: &str) -> bool {
    let mut older = CARRIED_OVER.iter().filter(|(_, name)| *name == class);
    mask.matches(class) || older.any(|(older, _)| mask.matches(older))
}

/// The policy that is most specific for a scenario and a class.
pub(super) fn most_specific<'a>(policies: &'a [Policy], scenario: &str, class: &str) -> Option<&'a Policy> {
    let class = ErrorClass::from(class);
    policies
        .iter()
        .filter_map(|policy| Some((policy.specificity(scenario, class.as_str())?, policy)))
        .max_by_key(|(specificity, _)| *specificity)
        .map(|(_, policy)| policy)
}

/// A scenario mask and a class mask of each that make two policies equally specific for some
/// order, so that chance would choose between them.
pub(super) fn conflict<'a>(left: &'a Policy, right: &'a Policy) -> Option<(&'a Glob, &'a Glob)> {
    let scenario = left
        .scenarios
        .iter()
        .find(|mask| right.scenarios.iter().any(|other| as_specific(mask, other) && mask.overlaps(other)))?;
    let class = left.classes.iter().find(|mask| {
        right.classes.iter().any(|other| as_specific(mask, other) && share_class(mask, other))
    })?;
    Some((scenario, class))
}

fn as_specific(left: &Glob, right: &Glob) -> bool {
    left.specificity() == right.specificity()
}

/// True if some class is taken by both.
fn share_class(left: &Glob, right: &Glob) -> bool {
    let mut built_in = CARRIED_OVER.iter().map(|(_, name)| *name);
    left.overlaps(right) || built_in.any(|name| takes_class(left, name) && takes_class(right, name))
}
