//! Guards that refused a write: the kinds of them, so that every one is counted under a name of its own.
//! Never an error: a refused guard is what keeps two from doing the same, and a rising count says that somebody tries.

use pagurus_domain::order::transition::Cause;

use super::{Count, Metrics};

/// A guarded write that found another state than it expected, and changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// End of a stage: its pass was revoked.
    Finish,
    /// Writes of a stage under way, such as a request, its progress or an entry point: its pass was revoked.
    Register,
    /// Renewal of a lease: it ran out, or another node has it.
    Lease,
    /// Knowledge of a dispatcher about flows and systems: another epoch has begun.
    Epoch,
    /// Sign of life: the registry has ended this life.
    Life,
    /// Removal of a notification that was delivered: another notifier has removed it, or it was changed.
    Outbox,
    /// Change of an order that the law does not allow in its status, or whose stage has ended meanwhile.
    Law(Cause),
}

impl Guard {
    /// Guards that belong to no cause of the law.
    pub const APART: [Self; 6] =
        [Self::Finish, Self::Register, Self::Lease, Self::Epoch, Self::Life, Self::Outbox];

    /// Word for it, the value of the label `kind`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Register => "register",
            Self::Lease => "lease",
            Self::Epoch => "epoch",
            Self::Life => "life",
            Self::Outbox => "outbox",
            Self::Law(cause) => cause.as_str(),
        }
    }
}

impl Metrics {
    /// Counts writes that a guard refused; none of them makes no series.
    pub fn guard_refused(&self, guard: Guard, writes: usize) {
        if writes > 0 {
            self.count(Count::GuardsRefused, guard.as_str(), writes as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn qlt_6_no_two_guards_have_one_name() {
        let causes = Cause::ALL.iter().map(|cause| Guard::Law(*cause));
        let mut names: Vec<&str> = Guard::APART.into_iter().chain(causes).map(Guard::as_str).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }
}
