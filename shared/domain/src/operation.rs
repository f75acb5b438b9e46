//! Bulk operations (REC-12): how many orders may be acted on now, and when an operation stops by itself. Pure: counts
//! and times come from outside.

pub mod pace;

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::spelled;
use crate::number::saturated;

/// States of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationState {
    /// Orders are selected and acted on.
    Running,
    /// Paused until somebody resumes it.
    Paused,
    /// Done with all orders.
    Done,
    /// Somebody ended it before everything was done.
    Aborted,
}

spelled!(OperationState { Running => "running", Paused => "paused", Done => "done", Aborted => "aborted" });

impl OperationState {
    /// True where nothing follows.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Aborted)
    }
}

/// Actions that an operation carries out on its orders, in the order of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BulkKind {
    /// Begins a new life.
    Restart,
    /// Gives an order up.
    Cancel,
    /// Stops an order before it starts.
    Interrupt,
    /// Stops an order while it runs or waits.
    Kill,
    /// Lets a stuck order go on from another state.
    Repair,
    /// Changes an order that does not run.
    Update,
    /// Sends unconfirmed notifications again.
    Resend,
    /// Moves the due time of an order that waits or retries.
    Shift,
    /// Looks for contradictions between the rows of an order.
    Check,
    /// Registers an order like it.
    Clone,
    /// Takes its sequential queue from an order that owns it.
    Release,
}

spelled!(BulkKind {
    Restart => "restart", Cancel => "cancel", Interrupt => "interrupt", Kill => "kill", Repair => "repair",
    Update => "update", Resend => "resend", Shift => "shift", Check => "check", Clone => "clone", Release => "release",
});

impl BulkKind {
    /// Words of all actions as a text names them, like "kill, shift or check", each between two of these marks.
    #[must_use]
    pub fn listed(mark: &str) -> String {
        let words: Vec<String> = Self::ALL.iter().map(|kind| format!("{mark}{kind}{mark}")).collect();
        let text = words.join(", ");
        text.rsplit_once(", ").map_or_else(|| text.clone(), |(most, last)| format!("{most} or {last}"))
    }
}

/// The outcome for one order of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemOutcome {
    /// The action was carried out.
    Done,
    /// The order was not in a status for it any more.
    Skipped,
    /// The action was refused for another reason.
    Failed,
}

spelled!(ItemOutcome { Done => "done", Skipped => "skipped", Failed => "failed" });

/// The fate of an order after the action began a new life of it or let it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aftermath {
    /// Ended `success`.
    Succeeded,
    /// Failed with the class of error that it had before.
    FailedAgain,
    /// Failed otherwise.
    FailedOtherwise,
    /// Canceled, interrupted, restarted by somebody else, or removed.
    Left,
}

spelled!(Aftermath {
    Succeeded => "succeeded",
    FailedAgain => "failed_again",
    FailedOtherwise => "failed_otherwise",
    Left => "left",
});

/// Growth of an operation by steps: the first has `start` orders, each next one `factor` times as many, and begins when
/// the orders of those before have ended, or have had the time to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Ramp {
    /// Orders of the first step.
    pub start: u64,
    /// Growth from step to step.
    pub factor: f64,
    /// Condition under which the operation pauses.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "stopIf")]
    pub stop_if: Option<StopIf>,
    /// Seconds that the orders of a step have to end; those that have not by then count as well.
    #[serde(default = "usual_settle", alias = "settleSeconds")]
    pub settle_seconds: u64,
}

const fn usual_settle() -> u64 {
    60
}

/// Condition under which a ramp pauses its operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct StopIf {
    /// Share of the orders acted on that failed again or could not be acted on, from 0 to 1.
    #[serde(alias = "failedShare")]
    pub failed_share: f64,
}

/// Longest ramp, in steps: beyond it nothing is held back.
const MOST_STEPS: u32 = 64;

impl Ramp {
    /// Refuses a ramp that would not grow, or not begin.
    ///
    /// # Errors
    /// The fault, with its field.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.start == 0 {
            Err(("start", "must be 1 or more"))
        } else if !(1.0..=1000.0).contains(&self.factor) {
            Err(("factor", "must be 1 to 1000"))
        } else if self.stop_if.is_some_and(|stop| !(0.0..=1.0).contains(&stop.failed_share)) {
            Err(("stop_if/failed_share", "must be 0 to 1"))
        } else {
            Ok(())
        }
    }

    /// Returns the orders of all steps up to the one that has at least one more than `begun`; `None` if nothing bounds them.
    fn bound_after(&self, begun: u64) -> Option<u64> {
        let (mut sum, mut step) = (0.0_f64, self.start as f64);
        for _ in 0..MOST_STEPS {
            sum += step.floor();
            if sum > begun as f64 {
                return Some(sum as u64);
            }
            step *= self.factor;
        }
        None
    }

    /// True if `begun` orders make whole steps.
    fn is_at_bound(&self, begun: u64) -> bool {
        begun > 0 && self.bound_after(begun - 1) == Some(begun)
    }
}

/// Counts of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Orders that were selected.
    pub total: u64,
    /// Orders on which the action was carried out.
    pub done: u64,
    /// Orders that were passed over.
    pub skipped: u64,
    /// Orders for which the action was refused.
    pub failed: u64,
    /// Number of those done that ended `success`.
    pub succeeded: u64,
    /// Number of those done that failed again in the same class.
    pub failed_again: u64,
    /// Number of those done that failed otherwise.
    pub failed_otherwise: u64,
    /// Number of those done whose end nobody waits for any more.
    pub left: u64,
}

impl Counts {
    /// Orders that were acted on or passed over.
    #[must_use]
    pub const fn begun(&self) -> u64 {
        self.done + self.skipped + self.failed
    }

    /// Orders that are still to be acted on.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.total.saturating_sub(self.begun())
    }

    /// Orders whose end is still awaited.
    #[must_use]
    pub const fn unsettled(&self) -> u64 {
        self.done.saturating_sub(self.succeeded + self.failed_again + self.failed_otherwise + self.left)
    }

    fn failed_share(&self) -> f64 {
        let acted = self.done + self.failed;
        if acted == 0 {
            return 0.0;
        }
        (self.failed + self.failed_again + self.failed_otherwise) as f64 / acted as f64
    }
}

/// An operation, as far as it is decided how many orders are next.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Counts so far.
    pub counts: Counts,
    /// True while orders are still being selected.
    pub selecting: bool,
    /// True where the ends of orders are awaited.
    pub awaits_ends: bool,
    /// Orders a second, at most; none where nobody set a bound.
    pub rate: Option<f64>,
    /// Growth.
    pub ramp: Option<Ramp>,
    /// Orders that the rate allows, saved up at `allowed_at`.
    pub allowance: f64,
    /// Time at which the allowance was so much.
    pub allowed_at: Timestamp,
    /// Time at which orders were acted on last.
    pub acted_at: Option<Timestamp>,
}

/// The next thing to be done for an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Act on these orders, and keep this allowance.
    Act {
        /// Number of orders.
        orders: u64,
        /// Allowance that is left.
        allowance: f64,
    },
    /// Wait: nothing can be done before this time has passed.
    Wait(Duration),
    /// The operation pauses itself, for this reason.
    Pause(String),
    /// End: everything was done.
    End,
}

/// Orders a second that are saved up at most, in seconds of the rate.
const BURST_SECONDS: f64 = 1.0;
/// Pause before the next look where something is awaited.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Progress {
    /// Returns the next thing to be done, with `most` orders at a time at most.
    #[must_use]
    pub fn next(&self, now: Timestamp, most: u64) -> Next {
        let Self { counts, .. } = self;
        if counts.open() == 0 {
            return if self.selecting { Next::Wait(LOOK_AGAIN) } else { Next::End };
        }
        let ramped = match self.ramp.map(|ramp| self.ramped(&ramp, now)) {
            None => u64::MAX,
            Some(Ok(orders)) => orders,
            Some(Err(next)) => return next,
        };
        let wanted = most.min(counts.open()).min(ramped);
        let Some(rate) = self.rate else { return Next::Act { orders: wanted, allowance: 0.0 } };
        let passed = now.duration_since(self.allowed_at).as_secs_f64().max(0.0);
        let saved = (self.allowance + passed * rate).min((rate * BURST_SECONDS).max(1.0));
        if saved < 1.0 {
            return Next::Wait(Duration::from_secs_f64(((1.0 - saved) / rate).min(60.0)));
        }
        let orders = wanted.min(saved as u64);
        Next::Act { orders, allowance: saved - orders as f64 }
    }

    /// Orders that the ramp allows.
    fn ramped(&self, ramp: &Ramp, now: Timestamp) -> Result<u64, Next> {
        let begun = self.counts.begun();
        let Some(bound) = ramp.bound_after(begun) else { return Ok(u64::MAX) };
        if ramp.is_at_bound(begun) {
            let had_time = self
                .acted_at
                .is_none_or(|at| now.duration_since(at).as_secs() >= saturated::<i64>(ramp.settle_seconds));
            if self.awaits_ends && self.counts.unsettled() > 0 && !had_time {
                return Err(Next::Wait(LOOK_AGAIN));
            }
            let share = self.counts.failed_share();
            if let Some(stop) = ramp.stop_if.filter(|stop| share > stop.failed_share) {
                let reason = format!(
                    "{:.0} % of the orders acted on failed, more than the {:.0} % of `stop_if`",
                    share * 100.0,
                    stop.failed_share * 100.0
                );
                return Err(Next::Pause(reason));
            }
        }
        Ok(bound - begun)
    }
}

/// Speed in orders a second, smoothed: `acted` orders since the last time, `elapsed` ago.
#[must_use]
pub fn speed(former: f64, acted: u64, elapsed: Duration) -> f64 {
    // Half of the result is as old as three seconds, whatever the size of the batches.
    let seconds = elapsed.as_secs_f64().max(0.001);
    let weight = 1.0 - 0.5_f64.powf(seconds / 3.0);
    former + weight * (acted as f64 / seconds - former)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
