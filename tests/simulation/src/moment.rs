//! Time of a run, and the places of its processes: words that all rooms share.

use std::time::Duration;

use jiff::Timestamp;

/// Milliseconds since the start of the run.
pub type Millis = i64;

/// Place of a process in the list of processes.
pub type ProcessId = usize;

/// Start of every run.
const BEGIN: i64 = 1_767_225_600_000;

/// A moment of a run, as the clock of the database shows it.
#[must_use]
pub fn stamp(at: Millis) -> Timestamp {
    Timestamp::from_millisecond(BEGIN + at).unwrap_or(Timestamp::MAX)
}

/// The milliseconds of a duration.
#[must_use]
pub fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

/// The moment of a run that a timestamp is, never before it.
#[must_use]
pub fn moment(at: Timestamp) -> Millis {
    let rounded_up = i64::from(at.subsec_nanosecond() % 1_000_000 > 0);
    at.as_millisecond() + rounded_up - BEGIN
}
