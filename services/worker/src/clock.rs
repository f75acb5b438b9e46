//! The time of orders while a stage of theirs runs.

use std::time::Instant;

use jiff::Timestamp;

/// The database's clock, carried on by our monotonic one: no jump of this node's wall clock moves
/// any time of an order.
pub(crate) struct StageClock {
    at_claim: Timestamp,
    claimed_at: Instant,
}

impl StageClock {
    /// Creates the clock of a stage whose claim read that time at that moment.
    pub const fn since(at_claim: Timestamp, claimed_at: Instant) -> Self {
        Self { at_claim, claimed_at }
    }

    /// Returns the present time.
    pub fn now(&self) -> Timestamp {
        self.at_claim.checked_add(self.claimed_at.elapsed()).unwrap_or(self.at_claim)
    }
}
