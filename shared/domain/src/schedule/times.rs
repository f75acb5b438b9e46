//! Times of a schedule: by an interval, or by a cron expression over the clocks of a zone.
//!
//! A time that the clocks skip is taken at the moment at which they go on. A time that they show twice counts once, the
//! first time, unless each hour is meant: such an expression goes by the time that passes.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};

use super::cron::Cron;
use super::exceptions::Exceptions;

/// Times that are passed over because of exceptions, at most: each is the first behind one, and a year has no more days.
const MOST_PASSED_OVER: usize = 50 * 366;

/// PlannedCourse of the times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlannedCourse {
    /// Times of the clocks of a zone.
    Cron(Box<Cron>),
    /// At this distance, counted from a start.
    Interval { seconds: i64, start: Timestamp },
}

/// The plan of a schedule: every time at which an order is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulePlan {
    pub(super) course: PlannedCourse,
    pub(super) zone: TimeZone,
    /// None is earlier.
    pub(super) from: Option<Timestamp>,
    /// None is then or later.
    pub(super) until: Option<Timestamp>,
    pub(super) exceptions: Exceptions,
}

impl SchedulePlan {
    /// The zone whose clocks are meant.
    #[must_use]
    pub const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The first time after this one.
    #[must_use]
    pub fn after(&self, at: Timestamp) -> Option<Timestamp> {
        let mut at = self.from.map_or(at, |from| at.max(just_before(from)));
        for _ in 0..MOST_PASSED_OVER {
            let found = self.course.after(at, &self.zone)?;
            if self.until.is_some_and(|until| found >= until) {
                return None;
            }
            match self.exceptions.end_of(found, &self.zone) {
                None => return Some(found),
                Some(end) => at = just_before(end).max(found),
            }
        }
        None
    }

    /// The times after this one, in their order.
    pub fn times(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::successors(self.after(after), |last| self.after(*last))
    }

    /// The last time in this stretch: after `after`, and before `before`.
    #[must_use]
    pub fn last_within(&self, after: Timestamp, before: Timestamp) -> Option<Timestamp> {
        let mut stretch = SignedDuration::from_mins(1);
        loop {
            let start = before.checked_sub(stretch).unwrap_or(Timestamp::MIN).max(after);
            let found = self.times(start).take_while(|at| *at < before).last();
            if found.is_some() || start <= after {
                return found;
            }
            stretch = stretch.saturating_mul(4);
        }
    }
}

impl PlannedCourse {
    fn after(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Interval { seconds, start } => {
                let (start, at) = (start.as_second(), floor(at));
                let passed = if at < start { 0 } else { (at - start).div_euclid(*seconds) + 1 };
                Timestamp::from_second(passed.checked_mul(*seconds)?.checked_add(start)?).ok()
            }
            Self::Cron(cron) if cron.is_of_each_hour() => by_passing_time(cron, at, zone),
            Self::Cron(cron) => by_clock(cron, at, zone),
        }
    }
}

/// The first moment after this one at which the clocks show a time that is meant, each time they show it.
fn by_passing_time(cron: &Cron, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    // Between two changes of the clocks their distance from UTC stays.
    let mut from = Timestamp::from_second(floor(at).checked_add(1)?).ok()?;
    loop {
        let offset = zone.to_offset(from);
        let change = zone.following(from).next().map(|change| change.timestamp());
        let found = cron.at_or_after(offset.to_datetime(from))?;
        match (offset.to_timestamp(found).ok(), change) {
            (Some(found), None) => return Some(found),
            (Some(found), Some(change)) if found < change => return Some(found),
            (_, Some(change)) => from = change,
            (None, None) => return None,
        }
    }
}

/// The first moment after this one that stands for a time that is meant.
fn by_clock(cron: &Cron, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let mut clock = zone.to_datetime(at);
    loop {
        let meant = cron.at_or_after(clock)?;
        let moment = moment_of(meant, zone)?;
        if moment > at {
            return Some(moment);
        }
        clock = meant.checked_add(Span::new().seconds(1)).ok()?;
    }
}

/// The moment that stands for a time of the clocks of a zone.
fn moment_of(meant: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(meant).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(meant).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(meant).ok(),
        AmbiguousOffset::Gap { after, .. } => {
            // By the clocks as they go afterwards it would have been before the change.
            let before = after.to_timestamp(meant).ok()?;
            zone.following(before).next().map(|change| change.timestamp())
        }
    }
}

/// The whole second in which a moment lies.
fn floor(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

/// The last moment before this one that the database can hold.
pub(super) fn just_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_micros(1)).unwrap_or(at)
}
