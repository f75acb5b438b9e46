//! The whole change of an order that a cause stands for: not the next status alone, but everything that
//! moves with it. Statements write such a change, and decide nothing of it.

use super::transition::{self, Cause, Refused};
use super::{ScenarioStatus, Status};
use crate::activation::Stream;
use crate::order::stage::{Then, Wake};

/// End of a life. An order that has failed or was interrupted may still be given up: that is another
/// end of the same life, and all that were notified of the first one are notified of it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeEnd {
    /// The one by which the order became final.
    First,
    /// The one that came after.
    Second,
}

/// Effect of a change on the membership in a queue (ORD-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The order stays what it is: a member, or none.
    Stays,
    /// The order is no member any more.
    Leaves,
    /// The order takes the tail, unless it is a member.
    TakesTail,
}

/// Effect of a change on the order's own deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlines {
    /// Keeps them.
    Stay,
    /// The one to start has nothing more to say.
    StartIsMet,
    /// None has.
    Drop,
    /// Sets those of a new life.
    Renew,
}

/// A change that the law allows, with everything that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Event that it is.
    pub cause: Cause,
    /// Status before.
    pub from: Status,
    /// Status after.
    pub to: Status,
    /// Effect on the queue.
    pub membership: Membership,
    /// Effect on the deadlines.
    pub deadlines: Deadlines,
    /// End of this life, if it is one.
    pub ends_life: Option<LifeEnd>,
    /// True where another life begins.
    pub begins_life: bool,
    /// True where open requests, and calls of this life, will be answered by nobody any more.
    pub closes_requests: bool,
    /// Event by which a stage may run then, if one may.
    pub wakes: Option<Waking>,
}

impl Change {
    /// The change of an order in this status by this cause.
    ///
    /// # Errors
    /// The law refuses: the answer names the statuses in which the cause would do.
    pub fn of(from: Status, cause: Cause) -> Result<Self, Refused> {
        transition::next(from, cause).map(|to| Self::following(from, cause, to))
    }

    /// The change of a running order by the end of its stage: a stage always ends in a way that the law has.
    #[must_use]
    pub fn of_stage(then: &Then) -> Self {
        Self::following(Status::Running, then.cause(), then.status())
    }

    fn following(from: Status, cause: Cause, to: Status) -> Self {
        let ends_life = to.is_final().then(|| if from.is_final() { LifeEnd::Second } else { LifeEnd::First });
        let begins_life = from.is_final() && !to.is_final();
        let by_hand = matches!(cause, Cause::Restarted | Cause::Rerun | Cause::Repaired);
        let wakes = by_hand.then_some(Waking::ByHand);
        let membership = match cause {
            _ if ends_life.is_some() => Membership::Leaves,
            // What waits for a time gives its queue up, and takes the tail when the time has come.
            Cause::Deferred | Cause::Slept => Membership::Leaves,
            _ => wakes.map_or(Membership::Stays, Waking::membership),
        };
        let deadlines = match cause {
            _ if ends_life.is_some() => Deadlines::Drop,
            _ if begins_life => Deadlines::Renew,
            Cause::Claimed => Deadlines::StartIsMet,
            _ => Deadlines::Stay,
        };
        let closes_requests = ends_life.is_some() || begins_life || by_hand;
        Self { cause, from, to, membership, deadlines, ends_life, begins_life, closes_requests, wakes }
    }

    /// Relation to the target states after an end from outside, or at the start of a life; what a stage
    /// or a repair leads to says so itself. An order that was given up before anything of it was executed
    /// has failed nothing (ORD-8).
    #[must_use]
    pub fn scenario_status(&self, before: ScenarioStatus) -> ScenarioStatus {
        match (self.to, before) {
            _ if self.begins_life => ScenarioStatus::Undefined,
            // What was with a worker has been executed, whether anybody heard of it or not.
            _ if self.from == Status::Running => ScenarioStatus::Failed,
            (Status::Canceled | Status::Interrupted, ScenarioStatus::Undefined) => ScenarioStatus::Undefined,
            _ => ScenarioStatus::Failed,
        }
    }

    /// True where the error of the order stays as it is: giving a failed order up does not make its
    /// failure another one.
    #[must_use]
    pub const fn keeps_error(&self) -> bool {
        matches!(self.ends_life, Some(LifeEnd::Second))
    }
}

/// Status that outsiders see of an order that is stored in `stored`: a stage that is with a worker, or was
/// and is to be handed out again, is written nowhere but in its place.
#[must_use]
pub const fn shown(stored: Status, is_with_worker: bool, is_reissued: bool) -> Status {
    if is_with_worker || is_reissued { Status::Running } else { stored }
}

/// Start of an order, as far as the clock has no say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Status where no start time is ahead.
    pub at_once: Status,
    /// Status where the start time is still to come.
    pub later: Status,
    /// True where the order becomes a member of its queue with its registration.
    pub joins_queue: bool,
}

impl Begin {
    /// Start of an order; `waits` for others, has a start time that is still to come (`starts_later`), is a member of
    /// a queue (`is_queued`). A member that waits for either takes its position when the wait is over.
    #[must_use]
    pub const fn of(waits: bool, starts_later: bool, is_queued: bool) -> Self {
        let at_once = if waits { Status::Postponed } else { Status::New };
        Self { at_once, later: Status::Postponed, joins_queue: is_queued && !starts_later && !waits }
    }
}

/// Event that ends a suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waking {
    /// The time of the order has come.
    Due(Stream),
    /// All awaited callbacks are in.
    Answered,
    /// A call from outside has come, while the order was in this status.
    Called(Status),
    /// The orders that it waited for have ended.
    Settled,
    /// An operator or a client lets it go on, or begin again.
    ByHand,
    /// An operator lets many orders begin again at once.
    AmongMany,
    /// The time of the whole order is over while it was in this status, and its scenario says what follows.
    Outlived(Status),
    /// The place of the order was lost, and the consistency check lets it go on where it was.
    Recovered,
}

impl Waking {
    /// Reason of the stage that may run now.
    #[must_use]
    pub const fn wake(self) -> Wake {
        match self {
            Self::Due(Stream::Retry) => Wake::Retry,
            Self::Due(Stream::Polling) => Wake::Poll,
            Self::Due(Stream::Postponed | Stream::Dependent)
            | Self::Settled
            | Self::ByHand
            | Self::AmongMany
            | Self::Recovered => Wake::Start,
            Self::Due(Stream::Youngest | Stream::Middle | Stream::Oldest | Stream::Wait) => Wake::Timer,
            Self::Answered => Wake::Callback,
            Self::Called(_) => Wake::Call,
            Self::Outlived(_) => Wake::ProcessTimeout,
        }
    }

    /// Effect on the queue: a sleep gave it up, and an order that has not begun never had it.
    #[must_use]
    pub const fn membership(self) -> Membership {
        match self {
            Self::Due(Stream::Retry | Stream::Polling | Stream::Wait) | Self::Answered => Membership::Stays,
            Self::Due(_)
            | Self::Settled
            | Self::ByHand
            | Self::AmongMany
            | Self::Called(Status::Sleep)
            | Self::Outlived(Status::Sleep) => Membership::TakesTail,
            Self::Called(_) | Self::Outlived(_) | Self::Recovered => Membership::Stays,
        }
    }

    /// Stream that the order was taken from, if its time woke it.
    #[must_use]
    pub const fn stream(self) -> Option<Stream> {
        match self {
            Self::Due(stream) => Some(stream),
            _ => None,
        }
    }

    /// True where fresh stages of the same urgency go beside the stage in turn: it goes on with what was begun, or begins
    /// again together with many others. A mass of such stages makes no fresh one wait.
    #[must_use]
    pub const fn yields(self) -> bool {
        !matches!(self, Self::ByHand | Self::Settled)
    }

    /// True where what was awaited and did not come is too late from now on.
    #[must_use]
    pub const fn times_requests_out(self) -> bool {
        matches!(self, Self::Due(Stream::Wait) | Self::Outlived(Status::Wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> impl Iterator<Item = Change> {
        Status::ALL
            .iter()
            .flat_map(|from| Cause::ALL.iter().filter_map(|cause| Change::of(*from, *cause).ok()))
    }

    #[test]
    fn ord_21_a_life_ends_once_begins_again_and_leaves_nothing_open() {
        for change in changes() {
            assert_eq!(change.ends_life.is_some(), change.to.is_final(), "{change:?}");
            assert!(!(change.ends_life.is_some() && change.begins_life), "{change:?}");
            if change.ends_life.is_some() {
                assert_eq!(change.membership, Membership::Leaves, "{change:?}");
                assert_eq!(change.deadlines, Deadlines::Drop, "{change:?}");
                assert!(change.closes_requests && change.wakes.is_none(), "{change:?}");
            }
            if change.begins_life {
                assert_eq!(change.deadlines, Deadlines::Renew, "{change:?}");
                // What waits for its start takes its place in the queue when it starts.
                let starts = change.to != Status::Postponed;
                assert_eq!(change.membership == Membership::TakesTail, starts, "{change:?}");
                assert_eq!(change.wakes, starts.then_some(Waking::ByHand), "{change:?}");
                assert!(change.closes_requests, "{change:?}");
            }
            assert_eq!(change.keeps_error(), change.from.is_final() && change.to.is_final(), "{change:?}");
        }
    }

    #[test]
    fn ord_12_only_a_sleep_a_later_start_and_an_end_give_the_queue_up() {
        for change in changes() {
            let gives_up = change.to.is_final() || matches!(change.cause, Cause::Slept | Cause::Deferred);
            assert_eq!(change.membership == Membership::Leaves, gives_up, "{change:?}");
        }
        for stream in Stream::ALL {
            let had_given_up = matches!(
                stream,
                Stream::Youngest | Stream::Middle | Stream::Oldest | Stream::Postponed | Stream::Dependent
            );
            let joins = Waking::Due(*stream).membership() == Membership::TakesTail;
            assert_eq!(joins, had_given_up, "{stream}");
        }
        assert_eq!(Waking::Called(Status::Sleep).membership(), Membership::TakesTail);
        assert_eq!(Waking::Called(Status::Wait).membership(), Membership::Stays);
    }

    #[test]
    fn ord_8_giving_up_what_never_began_fails_nothing() {
        let of = |from, cause, before| Change::of(from, cause).map(|change| change.scenario_status(before));
        use ScenarioStatus::{Failed, OnTarget, Undefined};
        assert_eq!(of(Status::New, Cause::Canceled, Undefined), Ok(Undefined));
        assert_eq!(of(Status::New, Cause::Interrupted, Undefined), Ok(Undefined));
        assert_eq!(of(Status::Running, Cause::Killed, OnTarget), Ok(Failed));
        assert_eq!(
            of(Status::Running, Cause::Killed, Undefined),
            Ok(Failed),
            "its first stage was with a worker"
        );
        assert_eq!(of(Status::New, Cause::StartDeadlinePassed, Undefined), Ok(Failed));
        assert_eq!(of(Status::Fail, Cause::Restarted, Failed), Ok(Undefined));
    }

    #[test]
    fn ord_17_an_order_begins_at_once_unless_time_or_others_hold_it() {
        let begin = |waits, starts_later, queued| {
            let Begin { at_once, later, joins_queue } = Begin::of(waits, starts_later, queued);
            (at_once, later, joins_queue)
        };
        assert_eq!(begin(false, false, false), (Status::New, Status::Postponed, false));
        assert_eq!(begin(false, false, true), (Status::New, Status::Postponed, true));
        assert_eq!(begin(false, true, false), (Status::New, Status::Postponed, false));
        assert_eq!(begin(false, true, true), (Status::New, Status::Postponed, false));
        assert_eq!(begin(true, false, true), (Status::Postponed, Status::Postponed, false));
    }

    #[test]
    fn ord_21_what_is_with_a_worker_is_seen_running() {
        assert_eq!(shown(Status::New, true, false), Status::Running);
        assert_eq!(shown(Status::Sleep, false, true), Status::Running);
        assert_eq!(shown(Status::Sleep, false, false), Status::Sleep);
    }
}
