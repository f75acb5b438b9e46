//! What is done about times that have passed: which have their orders, and what is done while an order of before has not
//! ended. Pure: the same rule, place and time give the same decision.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Schedule;
use super::times::just_before;
use crate::id::spelled;

/// A time counts as kept, and not as missed, if its order comes by then: deployments and take-overs take some seconds.
pub const ON_TIME: SignedDuration = SignedDuration::from_secs(60);
/// Orders of one schedule that wait for one of before, at most; further times are skipped.
pub const MOST_QUEUED: usize = 100;
/// Missed times that are counted one by one.
const MOST_COUNTED: usize = 10_000;

/// Policy for missed times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUpPolicy {
    /// None of them has an order.
    Skip,
    /// The last of them has its order.
    #[default]
    One,
    /// Each of them has its order.
    All,
}

spelled!(CatchUpPolicy { Skip => "skip", One => "one", All => "all" });

/// Policy for missed times, with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchUp {
    /// Choice of those that have orders.
    pub policy: CatchUpPolicy,
    /// Older times have none.
    pub within: SignedDuration,
}

/// Policy for a time that comes while an order of the schedule has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The time has no order.
    #[default]
    Skip,
    /// The order waits until the one of before has ended.
    Queue,
    /// The one of before is ended, and its own registered.
    Replace,
    /// The order is registered all the same.
    Allow,
}

spelled!(Overlap { Skip => "skip", Queue => "queue", Replace => "replace", Allow => "allow" });

/// Decision about one due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapVerdict {
    /// The order is registered.
    Register,
    /// There is no order.
    Skip,
    /// The order waits.
    Queue,
    /// The orders that have not ended are ended first.
    Replace,
}

impl Overlap {
    /// Decides about a due time. `is_busy`: an order of the schedule has not ended; `queued`: orders that wait already.
    #[must_use]
    pub const fn verdict(self, is_busy: bool, queued: usize) -> OverlapVerdict {
        match self {
            Self::Allow => OverlapVerdict::Register,
            Self::Queue if queued >= MOST_QUEUED => OverlapVerdict::Skip,
            Self::Queue if is_busy || queued > 0 => OverlapVerdict::Queue,
            Self::Skip if is_busy => OverlapVerdict::Skip,
            Self::Replace if is_busy => OverlapVerdict::Replace,
            Self::Queue | Self::Skip | Self::Replace => OverlapVerdict::Register,
        }
    }
}

/// Outcome of a time of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// The order was registered.
    Registered,
    /// The order waits for one of before to end.
    Queued,
    /// There is no order, because one of before had not ended.
    Skipped,
    /// There is no order, because nobody came in time.
    Missed,
    /// The order was refused.
    Refused,
}

spelled!(RunOutcome {
    Registered => "registered",
    Queued => "queued",
    Skipped => "skipped",
    Missed => "missed",
    Refused => "refused",
});

/// Times that have no order, because nobody came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedTimes {
    /// Number of them; at least, where `is_complete` is false.
    pub count: usize,
    /// False if there are more than were counted.
    pub is_complete: bool,
    /// The first.
    pub first: Timestamp,
    /// The last that was counted.
    pub last: Timestamp,
}

/// Decision about the times since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueTimes {
    /// Times that are missed for good.
    pub missed: Option<MissedTimes>,
    /// Times that have their orders now, in their order.
    pub due: Vec<Timestamp>,
    /// With these every time until then is decided.
    pub decided_until: Timestamp,
    /// True if there is more to decide now.
    pub has_more: bool,
}

impl Schedule {
    /// Decides about the times after `decided_until` that have come by `now`, `most` of those that have orders at most.
    #[must_use]
    pub fn due(&self, decided_until: Timestamp, now: Timestamp, most: usize) -> DueTimes {
        let back = |time: SignedDuration| now.checked_sub(time).unwrap_or(Timestamp::MIN);
        let kept_since = match self.catch_up.policy {
            CatchUpPolicy::All => back(self.catch_up.within.max(ON_TIME)),
            CatchUpPolicy::One | CatchUpPolicy::Skip => back(ON_TIME),
        };
        let mut missed = self.missed(decided_until, kept_since);
        let mut due = Vec::new();
        if self.catch_up.policy == CatchUpPolicy::One && missed.is_some() {
            let is_one_on_time =
                self.plan.after(decided_until.max(just_before(kept_since))).is_some_and(|at| at <= now);
            let since = decided_until.max(just_before(back(self.catch_up.within)));
            let last = if is_one_on_time { None } else { self.plan.last_within(since, kept_since) };
            if let Some(last) = last {
                due.push(last);
                missed = self.missed(decided_until, last);
            }
        }
        let is_full = due.len();
        let after = decided_until.max(just_before(kept_since));
        due.extend(self.plan.times(after).take_while(|at| *at <= now).take(most.saturating_sub(is_full) + 1));
        let has_more = due.len() > most;
        due.truncate(most);
        let decided_until = match due.last() {
            Some(last) if has_more => *last,
            // Nothing is due until then, and a clock that goes back makes nothing due again.
            _ => decided_until.max(now),
        };
        DueTimes { missed, due, decided_until, has_more }
    }

    /// The times after `after` and before `before`.
    fn missed(&self, after: Timestamp, before: Timestamp) -> Option<MissedTimes> {
        let mut missed: Option<MissedTimes> = None;
        for at in self.plan.times(after).take_while(|at| *at < before) {
            let known =
                missed.get_or_insert(MissedTimes { count: 0, is_complete: true, first: at, last: at });
            if known.count == MOST_COUNTED {
                known.is_complete = false;
                break;
            }
            known.count += 1;
            known.last = at;
        }
        missed
    }
}
