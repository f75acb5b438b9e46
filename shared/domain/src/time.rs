//! Times that come from outside: read in the forms of the contract, and only where every part of the
//! engine can hold them. PostgreSQL begins at 4713 BC and other programs at 1970; what is said to be
//! before 1970 is a mistake of its sender, and refused where it comes in.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// A time as people and programs see it: ISO 8601 in UTC, to the millisecond, as `2026-12-01T00:00:00.000Z`.
#[must_use]
pub fn shown(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Writes times in answers and messages as [`shown`] does: one, some, or none.
///
/// # Errors
/// The serializer fails.
pub fn serialize<T: ShownTime, S: Serializer>(time: &T, to: S) -> Result<S::Ok, S::Error> {
    time.to_shown().serialize(to)
}

/// A value whose times [`serialize`] writes.
pub trait ShownTime {
    /// The value with texts in place of its times.
    fn to_shown(&self) -> impl Serialize;
}

impl ShownTime for Timestamp {
    fn to_shown(&self) -> impl Serialize {
        shown(*self)
    }
}

impl ShownTime for Option<Timestamp> {
    fn to_shown(&self) -> impl Serialize {
        self.map(shown)
    }
}

impl ShownTime for Vec<Timestamp> {
    fn to_shown(&self) -> impl Serialize {
        self.iter().map(|at| shown(*at)).collect::<Vec<_>>()
    }
}

/// Description of the times that are taken, for the texts of faults.
pub const RANGE: &str = "a time with offset from 1970 to 9999, like 2026-12-01T00:00:00+03:00";

/// The same time, if it lies in the range.
#[must_use]
pub fn within_range(at: Timestamp) -> Option<Timestamp> {
    // The type ends with the year 9999 by itself.
    (at >= Timestamp::UNIX_EPOCH).then_some(at)
}

/// A time in RFC 3339.
#[must_use]
pub fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok().and_then(within_range)
}

/// Milliseconds since 1970.
#[must_use]
pub fn of_milliseconds(milliseconds: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(milliseconds).ok().and_then(within_range)
}

/// The first sending time that is taken as a number of milliseconds, in March 1973. Smaller numbers are seconds: as such
/// they last until the year 5138.
const FIRST_SENDING_TIME: i64 = 100_000_000_000;

/// Why a sending time is not taken: what its sender should write (ORD-17).
#[must_use]
pub fn sending_time_fault(text: &str) -> String {
    let range = format!("must be {RANGE}, or milliseconds since 1970");
    match text.trim().parse::<i64>() {
        Ok(seconds @ 1..FIRST_SENDING_TIME) => {
            format!("{range}; `{seconds}` looks like seconds: write `{seconds}000`")
        }
        _ => range,
    }
}

/// A sending time in milliseconds since 1970 (ORD-17).
#[must_use]
pub fn sending_time_of_milliseconds(milliseconds: i64) -> Option<Timestamp> {
    of_milliseconds(milliseconds).filter(|_| milliseconds >= FIRST_SENDING_TIME)
}

/// A sending time (ORD-17): RFC 3339, or milliseconds since 1970.
#[must_use]
pub fn read_sending_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    read(text).or_else(|| sending_time_of_milliseconds(text.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn qlt_8_times_that_some_part_cannot_hold_are_not_taken() {
        for bad in [
            "-004713-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "9999-12-31T23:59:59Z",
            "+012026-01-01T00:00:00Z",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        for bad in [-1, -377_705_023_201_000, i64::MIN, i64::MAX] {
            assert_eq!(of_milliseconds(bad), None, "{bad}");
            assert_eq!(read_sending_time(&bad.to_string()), None, "{bad}");
        }
        assert!(read("1970-01-01T00:00:00Z").is_some() && read("9999-12-30T00:00:00Z").is_some());
    }

    #[test]
    fn ui_8_times_are_shown_in_utc_to_the_millisecond() {
        #[derive(Serialize)]
        struct Times {
            #[serde(serialize_with = "serialize")]
            at: Timestamp,
            #[serde(serialize_with = "serialize")]
            until: Option<Timestamp>,
            #[serde(serialize_with = "serialize")]
            since: Option<Timestamp>,
        }
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (at, until) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T03:00:00.123999999+03:00"));
        let times = serde_json::to_string(&Times { at, until: Some(until), since: None }).unwrap();
        let wanted = r#"{"at":"2026-01-01T00:00:00.000Z","until":"2026-01-01T00:00:00.123Z","since":null}"#;
        assert_eq!(times, wanted);
    }

    #[test]
    fn ord_17_a_sending_time_is_a_date_or_milliseconds() {
        let date = read_sending_time(" 2026-01-01T03:00:00+03:00");
        assert_eq!(date, read_sending_time("1767225600000"));
        assert!(date.is_some() && read_sending_time("yesterday").is_none());
    }

    #[test]
    fn ord_17_a_sending_time_in_seconds_is_refused_with_a_hint() {
        for seconds in [1_i64, 1_700_000_000, 99_999_999_999] {
            assert_eq!(read_sending_time(&seconds.to_string()), None, "{seconds}");
            let hint = format!("`{seconds}` looks like seconds: write `{seconds}000`");
            assert!(sending_time_fault(&format!(" {seconds}")).ends_with(&hint));
        }
        assert!(sending_time_fault("yesterday").ends_with("or milliseconds since 1970"));
    }

    proptest::proptest! {
        #[test]
        fn qlt_8_no_text_breaks_the_readers_and_a_time_that_is_shown_is_read_again(text in crate::any::text(), ms in 0_i64..253_000_000_000_000) {
            let _ = (read_sending_time(&text), sending_time_fault(&text));
            if let Some(at) = read(&text) {
                proptest::prop_assert!(at >= Timestamp::UNIX_EPOCH);
            }
            let at = of_milliseconds(ms).unwrap();
            proptest::prop_assert_eq!(read(&shown(at)), Some(at));
        }
    }
}
