//! Fields of queries that several lists have.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::document::parse_duration;
use pagurus_domain::time;
use pagurus_wire::problem::{Problem, Type};

/// A field that was read and makes no sense.
pub(crate) fn invalid(pointer: &str, told: impl Into<String>) -> Problem {
    Problem::new(Type::Invalid, told).at(pointer)
}

/// Items of a page.
pub(crate) fn limit(asked: Option<&str>, usual: usize, most: usize) -> Result<usize, Problem> {
    let limit = asked.map_or(Ok(usual), str::parse).ok().filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| invalid("/limit", format!("limit must be 1 to {most}")))
}

/// A cursor that is a number; without one, the page begins at `first`.
pub(crate) fn cursor<T: std::str::FromStr>(asked: Option<&str>, first: T) -> Result<T, Problem> {
    asked.map_or(Ok(first), str::parse).map_err(|_| strange_cursor())
}

/// A cursor that no page has given.
pub(crate) fn strange_cursor() -> Problem {
    invalid("/cursor", "cursor is not one of ours")
}

/// A time, or a duration back from now.
pub(crate) fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    let back = || now.checked_sub(SignedDuration::try_from(parse_duration(text).ok()?).ok()?).ok();
    time::read(text).or_else(|| back().and_then(time::within_range))
}
