//! Outcome of one run: a digest, violations, and what was seen.

use std::collections::BTreeMap;
use std::fmt;

use pagurus_domain::invariants::Violation;

use crate::core::Core;

/// Outcome of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Orders that clients sent.
    pub orders: usize,
    /// The digest of its log.
    pub digest: String,
    /// Violations found.
    pub violations: Vec<Violation>,
    /// The last lines of its log.
    pub lines: Vec<String>,
    /// The plan, for people.
    pub plan: String,
    /// Events that were seen, and how often.
    pub seen: BTreeMap<&'static str, u64>,
    /// Stages that were run, and milliseconds that passed.
    pub size: (u64, i64),
}

impl Outcome {
    /// Outcome of a run that is over.
    pub fn of(seed: u64, core: &mut Core) -> Self {
        let stages = core.tables.orders.values().map(|order| u64::from(order.attempt.0.unsigned_abs())).sum();
        for (no, order) in core.tables.orders.clone() {
            core.note(format_args!(
                "order {no} `{}` {} {} {}",
                order.status, order.life, order.attempt, order.events
            ));
        }
        Self {
            seed,
            orders: core.plan.orders,
            digest: core.digest(),
            violations: std::mem::take(&mut core.tables.witness.violations),
            lines: core.lines(),
            plan: format!("{:?}", core.plan),
            seen: std::mem::take(&mut core.tables.witness.seen),
            size: (stages, core.now),
        }
    }

    /// True if nothing was broken.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} with {} orders, digest {}", self.seed, self.orders, self.digest)?;
        writeln!(f, "{}", self.plan)?;
        for line in &self.lines {
            writeln!(f, "  {line}")?;
        }
        for violation in self.violations.iter().take(20) {
            writeln!(f, "{violation}")?;
        }
        Ok(())
    }
}
