//! Recovery: what the evidence says, and what is to be done about it.

use crate::id::spelled;

/// Why a stage that is with a worker needs to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// Its work time-out has passed.
    Overdue,
    /// Its node is lost, stopped, or has come back as another incarnation.
    NodeLost,
    /// Its worker gave it back on stopping.
    Released,
    /// Its worker does not know of it: the answer to the claim was lost.
    Unheld,
}

spelled!(Finding { Overdue => "overdue", NodeLost => "node_lost", Released => "released", Unheld => "unheld" });

/// What is to be done with the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Hand it out again, with a new pass.
    HandOutAgain {
        /// How often this stage has then been handed out again.
        restarts: u16,
    },
    /// It was handed out too often without ever ending: the order fails (REC-3).
    Poison,
}

/// Decides for one stage. A stage that its worker gave back in good order does not count towards
/// poison: stopping workers must not fail orders.
#[must_use]
pub fn remedy(finding: Finding, restarts: u16, max_restarts: u16) -> Remedy {
    match finding {
        Finding::Released => Remedy::HandOutAgain { restarts },
        Finding::Overdue | Finding::NodeLost | Finding::Unheld if restarts >= max_restarts => Remedy::Poison,
        Finding::Overdue | Finding::NodeLost | Finding::Unheld => {
            Remedy::HandOutAgain { restarts: restarts + 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_3_a_stage_is_handed_out_again_five_times_and_then_is_poison() {
        for finding in [Finding::Overdue, Finding::NodeLost, Finding::Unheld] {
            let mut restarts = 0;
            while let Remedy::HandOutAgain { restarts: next } = remedy(finding, restarts, 5) {
                restarts = next;
            }
            assert_eq!(restarts, 5, "{finding}");
        }
    }

    #[test]
    fn rec_9_what_a_stopping_worker_gives_back_does_not_count() {
        assert_eq!(remedy(Finding::Released, 5, 5), Remedy::HandOutAgain { restarts: 5 });
    }
}
