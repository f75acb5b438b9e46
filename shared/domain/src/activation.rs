//! Activation: age groups of sleepers, and when a command that may be lost is repeated.

mod pace;

use std::time::Duration;

use jiff::Timestamp;

use crate::id::spelled;

pub use pace::{LEAST_AHEAD, WakingPace};

/// Reason of a due row: the kind and, for sleepers, the age group. Each is taken on its own, so
/// that a monthly mass wake-up of one kind does not hold up the others (ACT-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Sleeps of up to a day (as configured).
    Youngest,
    /// Sleeps of up to a month (as configured).
    Middle,
    /// Longer sleeps.
    Oldest,
    /// Time-outs of waits.
    Wait,
    /// Attempts of polling.
    Polling,
    /// Retries.
    Retry,
    /// Start times.
    Postponed,
    /// Waiting for other orders: a place without a time, left when they have ended.
    Dependent,
}

spelled!(Stream {
    Youngest => "sleep_youngest",
    Middle => "sleep_middle",
    Oldest => "sleep_oldest",
    Wait => "wait",
    Polling => "polling",
    Retry => "retry",
    Postponed => "postponed",
    Dependent => "dependent",
});

impl Stream {
    /// The number under which rows of this stream are stored.
    #[must_use]
    pub fn number(self) -> i16 {
        match self {
            Self::Youngest => 0,
            Self::Middle => 1,
            Self::Oldest => 2,
            Self::Wait => 3,
            Self::Polling => 4,
            Self::Retry => 5,
            Self::Postponed => 6,
            Self::Dependent => 7,
        }
    }

    /// The stream that is stored under this number.
    #[must_use]
    pub fn of_number(number: i16) -> Option<Self> {
        Self::ALL.iter().copied().find(|stream| stream.number() == number)
    }
}

/// Longest sleep of each age group; what is longer is `oldest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeGroups {
    /// Longest sleep in the youngest group.
    pub youngest: Duration,
    /// Longest sleep in the middle group.
    pub middle: Duration,
}

impl Default for AgeGroups {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self { youngest: day, middle: 30 * day }
    }
}

/// Strength of the guarantee of activation (ACT-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivationMode {
    /// Every command is repeated until the order is claimed.
    AtLeastOnce,
    /// The same for waits and retries only.
    AtLeastOnceInProgress,
    /// No command is repeated by activation.
    AtMostOnce,
}

spelled!(ActivationMode {
    AtLeastOnce => "at_least_once",
    AtLeastOnceInProgress => "at_least_once_inprogress",
    AtMostOnce => "at_most_once",
});

impl ActivationMode {
    /// True if commands of this stream are repeated.
    #[must_use]
    pub fn repeats(self, stream: Stream) -> bool {
        match self {
            Self::AtLeastOnce => true,
            Self::AtLeastOnceInProgress => matches!(stream, Stream::Wait | Stream::Retry),
            Self::AtMostOnce => false,
        }
    }
}

/// The time of a command that is not repeated: it never comes.
pub const NEVER_REPEATED: Timestamp = Timestamp::MAX;

/// Time at which a command sent now is repeated if nobody claims the order: the present lag of activation
/// later, at least `min_shift`, so that a system behind its time is not flooded with repeats.
#[must_use]
pub fn repeat_at(now: Timestamp, lag: Duration, min_shift: Duration) -> Timestamp {
    now.checked_add(lag.max(min_shift)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_3_each_mode_repeats_what_it_promises() {
        let repeated =
            |mode: ActivationMode| Stream::ALL.iter().filter(|stream| mode.repeats(**stream)).count();
        assert_eq!(
            [
                repeated(ActivationMode::AtLeastOnce),
                repeated(ActivationMode::AtLeastOnceInProgress),
                repeated(ActivationMode::AtMostOnce)
            ],
            [8, 2, 0]
        );
    }

    #[test]
    fn act_3_the_shift_is_the_lag_but_never_less_than_the_least() {
        let now = Timestamp::UNIX_EPOCH;
        let shift = |lag: u64| repeat_at(now, Duration::from_secs(lag), Duration::from_secs(30)).as_second();
        assert_eq!([shift(1), shift(90)], [30, 90]);
    }
}
