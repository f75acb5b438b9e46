//! Recovery: what the evidence says, and what is to be done about it.

use std::time::Duration;

use crate::id::spelled;

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
    HandOutAgain(Record),
    /// It was handed out too often without ever ending, or its workers die of it: the order fails (REC-3).
    Poison,
}

/// How often a stage was handed out again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Number of times.
    pub restarts: u16,
    /// Deaths of workers that are held against it: the first one, and each that met it while it was computed.
    pub deaths: u16,
}

/// What a stage did when its worker was found, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtDeath {
    /// It was being computed, as the only suspect of its worker.
    pub is_computed: bool,
    /// The node has another name than the one that died with it before.
    pub is_elsewhere: bool,
}

/// Decides for one stage. A stage that its worker gave back in good order does not count towards
/// poison: stopping workers must not fail orders.
///
/// Of a worker that died all stages are suspects, and nearly all are innocent. So a worker computes one suspect at a time, and a
/// death is held against the one that was computed. Two nodes that died of it are evidence; one node that dies again and again
/// may have other reasons, and takes one death more.
#[must_use]
pub fn remedy(finding: Finding, record: Record, at_death: AtDeath, max_restarts: u16) -> Remedy {
    let Record { restarts, deaths } = record;
    match finding {
        Finding::Released => Remedy::HandOutAgain(record),
        Finding::NodeLost if at_death.is_computed && (deaths > 1 || deaths == 1 && at_death.is_elsewhere) => {
            Remedy::Poison
        }
        Finding::Overdue | Finding::NodeLost | Finding::Unheld if restarts >= max_restarts => Remedy::Poison,
        Finding::Overdue | Finding::NodeLost | Finding::Unheld => {
            let deaths = match finding {
                Finding::NodeLost if at_death.is_computed => deaths.saturating_add(1),
                Finding::NodeLost => deaths.max(1),
                _ => deaths,
            };
            Remedy::HandOutAgain(Record { restarts: restarts + 1, deaths })
        }
    }
}

/// The rest before the next pass of a failover, where so many stages are left with the lost node that has most of them: passes
/// follow each other such that the work of a node is spread over [`FAILOVER_SPREAD`], and no further apart than `longest`.
#[must_use]
pub fn rest_between_passes(left: u64, batch: u64, longest: Duration) -> Duration {
    let passes = u32::try_from(left.div_ceil(batch.max(1))).unwrap_or(u32::MAX).max(1);
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
            let mut record = Record::default();
            while let Remedy::HandOutAgain(next) = remedy(finding, record, AtDeath::default(), 5) {
                record = next;
            }
            let deaths = u16::from(finding == Finding::NodeLost);
            assert_eq!(record, Record { restarts: 5, deaths }, "{finding}");
        }
    }

    #[test]
    fn rec_3_a_stage_that_two_workers_died_of_is_poison_and_what_ran_beside_it_is_not() {
        let once = Record { restarts: 1, deaths: 1 };
        let computed = |is_elsewhere| AtDeath { is_computed: true, is_elsewhere };
        let again = |restarts, deaths| Remedy::HandOutAgain(Record { restarts, deaths });
        assert_eq!(remedy(Finding::NodeLost, once, computed(true), 5), Remedy::Poison);
        // One node that dies again and again is weaker evidence.
        assert_eq!(remedy(Finding::NodeLost, once, computed(false), 5), again(2, 2));
        let twice = Record { restarts: 2, deaths: 2 };
        assert_eq!(remedy(Finding::NodeLost, twice, computed(false), 5), Remedy::Poison);
        // It was not the one that was computed, however often its workers die.
        for is_elsewhere in [false, true] {
            let beside = AtDeath { is_computed: false, is_elsewhere };
            assert_eq!(remedy(Finding::NodeLost, once, beside, 5), again(2, 1));
        }
        // Restarts of other kinds make no suspect, and a worker that lives is no evidence.
        let overdue = Record { restarts: 3, deaths: 0 };
        assert_eq!(remedy(Finding::NodeLost, overdue, computed(true), 5), again(4, 1));
        for finding in [Finding::Overdue, Finding::Unheld] {
            assert_eq!(remedy(finding, once, computed(true), 5), again(2, 1), "{finding}");
        }
        assert_eq!(remedy(Finding::Released, once, computed(true), 5), Remedy::HandOutAgain(once));
    }

    #[test]
    fn rec_9_what_a_stopping_worker_gives_back_does_not_count() {
        let record = Record { restarts: 5, deaths: 0 };
        assert_eq!(remedy(Finding::Released, record, AtDeath::default(), 5), Remedy::HandOutAgain(record));
    }
}
