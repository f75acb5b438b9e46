//! Recovery: what the evidence says, and what is to be done about it.

use std::time::Duration;

use crate::id::spelled;
use crate::number::saturated;

/// Time in which the work of a lost node is spread over the nodes that are left, beside the time that the passes themselves
/// take, where it is not more than [`LEAST_REST`] allows: 10 000 stages at ten a pass.
pub const FAILOVER_SPREAD: Duration = Duration::from_secs(10);
/// Shortest rest between two passes of a failover: others get at the tables in between.
pub const LEAST_REST: Duration = Duration::from_millis(10);

/// Why a stage that is with a worker needs to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// The work time-out of the stage has passed.
    Overdue,
    /// The node of the stage is lost, stopped, or has come back as another incarnation.
    NodeLost,
    /// The worker of the stage gave it back on stopping.
    Released,
    /// The worker of the stage does not know of it: the answer to the claim was lost.
    Unheld,
}

spelled!(Finding { Overdue => "overdue", NodeLost => "node_lost", Released => "released", Unheld => "unheld" });

/// Next step about the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Hand it out again, with a new pass.
    HandOutAgain {
        /// Number of times that this stage has then been handed out again.
        restarts: u16,
        /// Workers that have then died while they computed it.
        deaths: u16,
    },
    /// Fails the order: its stage was handed out too often without ever ending, or its workers die of it (REC-3).
    Poison,
}

/// Evidence against a stage whose worker has died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspicion {
    /// Workers that died before while they computed the stage.
    pub deaths: u16,
    /// True if the last worker was computing it.
    pub is_computed: bool,
    /// True if the last worker has another name than the one that died of it before.
    pub is_elsewhere: bool,
}

/// Deaths of one node, while it computed a stage, after which the stage is poison: a node that dies again and again may have
/// reasons of its own. Deaths of two nodes are enough.
pub const MAX_DEATHS: u16 = 4;

impl Suspicion {
    /// True if the stage ended its workers, as far as anybody can know.
    #[must_use]
    pub const fn is_proven(self) -> bool {
        self.is_computed && ((self.deaths > 0 && self.is_elsewhere) || self.deaths + 1 >= MAX_DEATHS)
    }
}

/// Decides for one stage. A stage that its worker gave back in good order does not count towards
/// poison: stopping workers must not fail orders.
///
/// Nearly all stages of a worker that dies are innocent. A death counts only against those that it was computing; and once it has
/// died, the next worker computes what it had one at a time.
#[must_use]
pub fn remedy(finding: Finding, restarts: u16, suspicion: Suspicion, max_restarts: u16) -> Remedy {
    let is_blamed = finding == Finding::NodeLost && suspicion.is_computed;
    let deaths = suspicion.deaths + u16::from(is_blamed);
    match finding {
        Finding::Released => Remedy::HandOutAgain { restarts, deaths },
        Finding::NodeLost if suspicion.is_proven() => Remedy::Poison,
        Finding::Overdue | Finding::NodeLost | Finding::Unheld if restarts >= max_restarts => Remedy::Poison,
        Finding::Overdue | Finding::NodeLost | Finding::Unheld => {
            Remedy::HandOutAgain { restarts: restarts + 1, deaths }
        }
    }
}

/// Rest before the next pass of a failover, where `left` stages are left with the lost node that has most of them: passes
/// follow each other such that the work of a node is spread over [`FAILOVER_SPREAD`], and no further apart than `longest`.
#[must_use]
pub fn rest_between_passes(left: u64, batch: u64, longest: Duration) -> Duration {
    let passes = saturated::<u32>(left.div_ceil(batch.max(1))).max(1);
    (FAILOVER_SPREAD / passes).max(LEAST_REST).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_10_the_work_of_a_lost_node_is_spread_and_thousands_of_stages_wait_for_seconds_only() {
        let longest = Duration::from_secs(1);
        for (left, batch, rest) in [
            (0, 10, longest),
            (10, 10, longest),
            (100, 10, longest),
            (2_000, 10, Duration::from_millis(50)),
            (10_000, 10, Duration::from_millis(10)),
            (1_000_000, 10, LEAST_REST),
            (1_000, 0, LEAST_REST),
        ] {
            assert_eq!(rest_between_passes(left, batch, longest), rest, "{left} by {batch}");
        }
        assert_eq!(rest_between_passes(1, 10, Duration::from_millis(5)), Duration::from_millis(5));
    }

    #[test]
    fn rec_3_a_stage_is_handed_out_again_five_times_and_then_is_poison() {
        for finding in [Finding::Overdue, Finding::NodeLost, Finding::Unheld] {
            let mut restarts = 0;
            while let Remedy::HandOutAgain { restarts: next, deaths } =
                remedy(finding, restarts, Suspicion::default(), 5)
            {
                assert_eq!(deaths, 0);
                restarts = next;
            }
            assert_eq!(restarts, 5, "{finding}");
        }
    }

    #[test]
    fn rec_3_a_stage_that_two_workers_died_of_is_not_handed_to_a_third() {
        let after = |finding, deaths, is_computed, is_elsewhere| {
            remedy(finding, 1, Suspicion { deaths, is_computed, is_elsewhere }, 5)
        };
        let again = |deaths| Remedy::HandOutAgain { restarts: 2, deaths };
        assert_eq!(after(Finding::NodeLost, 0, false, true), again(0), "it only stood beside");
        assert_eq!(after(Finding::NodeLost, 0, true, true), again(1));
        assert_eq!(after(Finding::NodeLost, 1, false, true), again(1), "the second worker died of another");
        assert_eq!(after(Finding::NodeLost, 1, true, true), Remedy::Poison);
        assert_eq!(after(Finding::NodeLost, 1, true, false), again(2), "the node may die of something else");
        assert_eq!(after(Finding::NodeLost, 2, true, true), Remedy::Poison);
        assert_eq!(after(Finding::NodeLost, 3, true, false), Remedy::Poison);
        for finding in [Finding::Overdue, Finding::Unheld] {
            assert_eq!(after(finding, 1, true, true), again(1), "{finding}: nobody died");
        }
        let released = Remedy::HandOutAgain { restarts: 1, deaths: 1 };
        assert_eq!(after(Finding::Released, 1, true, true), released);
    }

    #[test]
    fn rec_9_what_a_stopping_worker_gives_back_does_not_count() {
        let again = Remedy::HandOutAgain { restarts: 5, deaths: 0 };
        assert_eq!(remedy(Finding::Released, 5, Suspicion::default(), 5), again);
    }
}
