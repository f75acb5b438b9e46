//! The law of an order's life: one table of what may happen in which status.
//!
//! Statements that change many rows at once repeat a part of the table in SQL; a test puts an
//! order into each status, calls each such statement, and demands the answer that stands here.

use std::fmt;

use super::Status;
use crate::classes::NODE_STOPPED;
use crate::id::spelled;

/// Everything that can happen to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A worker takes its next stage.
    Claimed,
    /// The stage ended in a sleeping state.
    Slept,
    /// The stage ended in a waiting state.
    Waited,
    /// The stage ended between two attempts of polling.
    Polled,
    /// The stage ended with an error that is to be retried.
    Retried,
    /// The stage ended in a terminal state of success.
    Succeeded,
    /// The stage ended in a terminal state of failure, or by an error nobody handles.
    Failed,
    /// The stage is handed out again: its worker is lost, or late.
    Reissued,
    /// The stage was handed out too often.
    Poisoned,
    /// The deadline to start has passed.
    StartDeadlinePassed,
    /// The process time-out has passed.
    ProcessTimedOut,
    /// Kept unfinished for as long as any order is.
    Expired,
    /// Given up by a client or an operator.
    Canceled,
    /// Stopped before execution.
    Interrupted,
    /// Asked to stop while it runs or waits.
    Killed,
    /// Given up by its node, which stopped or was lost, where no other node may go on with it.
    Abandoned,
    /// Begins a new life.
    Restarted,
    /// Begins a new life, whose start waits for a time or for other orders.
    RestartPostponed,
    /// Begins a new life after its node gave it up: see [`restart_of`].
    Rerun,
    /// An order that it waits for ended otherwise than expected.
    DependencyFailed,
    /// Set into a state by hand, to go on from there.
    Repaired,
    /// Changed by hand: parameters, priority, notification.
    Updated,
    /// The start of the order was moved to a later time.
    Deferred,
}

spelled!(Cause {
    Claimed => "claimed",
    Slept => "slept",
    Waited => "waited",
    Polled => "polled",
    Retried => "retried",
    Succeeded => "succeeded",
    Failed => "failed",
    Reissued => "reissued",
    Poisoned => "poisoned",
    StartDeadlinePassed => "start_deadline_passed",
    ProcessTimedOut => "process_timed_out",
    Expired => "expired",
    Canceled => "canceled",
    Interrupted => "interrupted",
    Killed => "killed",
    Abandoned => "abandoned",
    Restarted => "restarted",
    RestartPostponed => "restart_postponed",
    Rerun => "rerun",
    DependencyFailed => "dependency_failed",
    Repaired => "repaired",
    Updated => "updated",
    Deferred => "deferred",
});

/// A change that the present status does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// The present status.
    pub status: Status,
    /// Event that was to happen.
    pub cause: Cause,
}

impl Refused {
    /// The action that does end an order in this status, where another was asked for.
    fn other_way(&self) -> Option<&'static str> {
        let may = |cause| next(self.status, cause).is_ok();
        match self.cause {
            Cause::Canceled | Cause::Interrupted if may(Cause::Killed) => {
                Some("use `kill`, which ends it and undoes nothing of what it did")
            }
            Cause::Killed | Cause::Interrupted if may(Cause::Canceled) => Some("use `cancel`"),
            _ => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an order in status `{}` cannot be {}", self.status, self.cause)?;
        let allowed: Vec<_> = sources(self.cause).map(Status::as_str).collect();
        write!(f, "; that is possible in: {}", allowed.join(", "))?;
        self.other_way().map_or(Ok(()), |advice| write!(f, ". {advice}"))
    }
}

use Status::{
    Canceled, Fail, Interrupted, New, Polling, Postponed, Reopen, Retry, Running, Sleep, Success, Wait,
};

/// The whole law: what happens, in which statuses it may, and which status follows. A cause has
/// several lines where what follows depends on the status before.
pub const TABLE: &[(Cause, &[Status], Status)] = &[
    (Cause::Claimed, &[New, Postponed, Reopen, Sleep, Wait, Polling, Retry], Running),
    (Cause::Slept, &[Running], Sleep),
    (Cause::Waited, &[Running], Wait),
    (Cause::Polled, &[Running], Polling),
    (Cause::Retried, &[Running], Retry),
    (Cause::Succeeded, &[Running], Success),
    (Cause::Failed, &[Running], Fail),
    (Cause::Reissued, &[Running], Running),
    (Cause::Poisoned, &[Running], Fail),
    (Cause::StartDeadlinePassed, &[New, Postponed, Reopen], Fail),
    (Cause::ProcessTimedOut, &[New, Postponed, Reopen, Running, Sleep, Wait, Polling, Retry], Fail),
    (Cause::Expired, &[New, Postponed, Reopen, Running, Sleep, Wait, Polling, Retry], Fail),
    (Cause::Canceled, &[Fail, Interrupted, Postponed, Sleep, New, Reopen], Canceled),
    (Cause::Interrupted, &[New, Reopen, Postponed], Interrupted),
    (Cause::Killed, &[Running, Wait, Polling, Retry], Canceled),
    (Cause::Abandoned, &[Running], Canceled),
    (Cause::Restarted, &[Success, Fail], Reopen),
    (Cause::RestartPostponed, &[Success, Fail], Postponed),
    (Cause::Rerun, &[Canceled], Reopen),
    (Cause::DependencyFailed, &[Postponed], Fail),
    (Cause::Repaired, &[Sleep, Wait, Polling, Retry, Fail], Reopen),
    (Cause::Updated, &[New], New),
    (Cause::Updated, &[Postponed], Postponed),
    (Cause::Updated, &[Reopen], Reopen),
    (Cause::Updated, &[Sleep], Sleep),
    (Cause::Deferred, &[New, Postponed, Reopen], Postponed),
];

/// The status that follows, or why it cannot.
///
/// # Errors
/// [`Refused`] names the present status and the statuses in which the cause would do.
pub fn next(from: Status, cause: Cause) -> Result<Status, Refused> {
    TABLE
        .iter()
        .find(|(known, sources, _)| *known == cause && sources.contains(&from))
        .map(|(_, _, to)| *to)
        .ok_or(Refused { status: from, cause })
}

/// Cause by which an order that stands so is restarted. Who was canceled by a client or an operator stays so;
/// what a node gave up nobody wanted to end, and it may be run again (REC-9). That one had begun; any other
/// `waits`, where conditions of its start are still open (ORD-22).
#[must_use]
pub fn restart_of(status: Status, error_class: Option<&str>, waits: bool) -> Cause {
    match (status, error_class) {
        (Canceled, Some(NODE_STOPPED)) => Cause::Rerun,
        _ if waits => Cause::RestartPostponed,
        _ => Cause::Restarted,
    }
}

/// The statuses in which this may happen.
pub fn sources(cause: Cause) -> impl Iterator<Item = Status> {
    TABLE
        .iter()
        .filter(move |(known, _, _)| *known == cause)
        .flat_map(|(_, sources, _)| sources.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_21_each_cause_stands_in_the_table_and_says_one_thing_for_a_status() {
        for cause in Cause::ALL {
            let mut from: Vec<_> = sources(*cause).collect();
            assert!(!from.is_empty(), "{cause}");
            from.sort();
            from.dedup();
            assert_eq!(from.len(), sources(*cause).count(), "{cause}");
        }
    }

    #[test]
    fn ord_27_an_update_changes_no_status_and_a_later_start_postpones() {
        for status in [Status::New, Status::Postponed, Status::Reopen, Status::Sleep] {
            assert_eq!(next(status, Cause::Updated), Ok(status));
        }
        assert_eq!(next(Status::New, Cause::Deferred), Ok(Status::Postponed));
        assert!(
            next(Status::Sleep, Cause::Deferred).is_err() && next(Status::Running, Cause::Updated).is_err()
        );
    }

    #[test]
    fn ord_21_nothing_leaves_canceled_but_a_rerun_and_final_ones_move_only_by_operators() {
        for cause in Cause::ALL {
            assert_eq!(next(Status::Canceled, *cause).is_ok(), *cause == Cause::Rerun);
            for status in Status::ALL.iter().filter(|status| status.is_final()) {
                let by_operator = matches!(
                    cause,
                    Cause::Canceled
                        | Cause::Restarted
                        | Cause::RestartPostponed
                        | Cause::Rerun
                        | Cause::Repaired
                );
                assert!(by_operator || next(*status, *cause).is_err(), "{status} {cause}");
            }
        }
    }

    #[test]
    fn ord_22_restart_goes_from_success_and_fail_only() {
        let from: Vec<_> = sources(Cause::Restarted).collect();
        assert_eq!(from, [Status::Success, Status::Fail]);
    }

    #[test]
    fn rec_9_only_what_a_node_gave_up_is_run_again_after_a_cancel() {
        let may = |status, class| next(status, restart_of(status, class, false)).is_ok();
        assert!(may(Status::Canceled, Some(NODE_STOPPED)));
        assert!(!may(Status::Canceled, None) && !may(Status::Canceled, Some("crm.rejected")));
        assert!(may(Status::Fail, Some(NODE_STOPPED)) && may(Status::Success, None));
        assert!(!may(Status::Interrupted, Some(NODE_STOPPED)) && !may(Status::Running, None));
    }

    #[test]
    fn ord_22_a_restart_whose_conditions_are_open_is_postponed() {
        let after = |status, class| next(status, restart_of(status, class, true));
        assert_eq!(after(Status::Fail, None), Ok(Status::Postponed));
        assert_eq!(after(Status::Canceled, Some(NODE_STOPPED)), Ok(Status::Reopen), "it had begun");
        assert!(after(Status::Canceled, None).is_err() && after(Status::Running, None).is_err());
    }

    #[test]
    fn ord_21_a_refusal_names_the_status_and_the_ones_that_would_do() {
        let refused = next(Status::Running, Cause::Interrupted).map_err(|r| r.to_string());
        let expected = "an order in status `running` cannot be interrupted; that is possible in: new, reopen, postponed. \
                    use `kill`, which ends it and undoes nothing of what it did";
        assert_eq!(refused, Err(expected.to_owned()));
        let message =
            |status, cause| next(status, cause).err().map(|refused| refused.to_string()).unwrap_or_default();
        assert!(message(Status::Wait, Cause::Canceled).contains("use `kill`"));
        assert!(message(Status::Fail, Cause::Killed).ends_with("use `cancel`"));
        assert!(
            message(Status::Success, Cause::Canceled)
                .ends_with(&sources(Cause::Canceled).map(Status::as_str).collect::<Vec<_>>().join(", "))
        );
    }
}
