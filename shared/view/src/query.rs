//! Fields of queries that several lists have.

use std::fmt::Display;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::document::parse_duration;
use pagurus_domain::time;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use schemars::JsonSchema;
use serde::Deserialize;

/// Items of a page of a short list, where nothing else is asked for, and at most.
const SHORT_LIST: (usize, usize) = (500, 1000);

/// Query of a list that has no conditions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ListQuery {
    /// Items of the page; default: 500.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl ListQuery {
    /// Items of the page.
    ///
    /// # Errors
    /// The problem to answer with: no number of items is a page.
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref(), SHORT_LIST.0, SHORT_LIST.1)
    }

    /// Cursor from the page before; `None` at the start of the list.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

/// Makes a page of at most `limit` rows. A full page may have a next one, which begins behind its last row.
pub(crate) fn page<R, T>(
    rows: Vec<R>,
    limit: usize,
    cursor: impl Fn(&R) -> String,
    view: impl FnMut(R) -> T,
) -> Page<T> {
    let next = rows.last().filter(|_| rows.len() >= limit).map(cursor);
    Page { items: rows.into_iter().map(view).collect(), next }
}

/// A field that was read and makes no sense.
pub(crate) fn invalid(pointer: &str, message: impl Into<String>) -> Problem {
    Problem::new(Type::Invalid, message).at(pointer)
}

/// Items of a page.
pub(crate) fn limit(asked: Option<&str>, usual: usize, most: usize) -> Result<usize, Problem> {
    let limit = asked.map_or(Ok(usual), str::parse).ok().filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| invalid("/limit", format!("limit must be 1 to {most}")))
}

/// Orders that are examined at most, where an answer may be of some of them.
pub(crate) fn examine<T: FromStr + PartialOrd + Display + From<u8>>(
    asked: Option<&str>,
    most: T,
) -> Result<T, Problem> {
    let Some(text) = asked else { return Ok(most) };
    let examine = text.parse().ok().filter(|examine| T::from(1) <= *examine && *examine <= most);
    examine.ok_or_else(|| invalid("/examine", format!("examine must be 1 to {most}")))
}

/// A cursor that is a number; without one, the page begins at `first`.
pub(crate) fn cursor<T: FromStr>(asked: Option<&str>, first: T) -> Result<T, Problem> {
    asked.map_or(Ok(first), str::parse).map_err(|_| strange_cursor())
}

/// A cursor that no page has given.
pub(crate) fn strange_cursor() -> Problem {
    invalid("/cursor", "cursor is not one that this list has returned")
}

/// A time, or a duration back from now.
pub fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    let back = || now.checked_sub(SignedDuration::try_from(parse_duration(text).ok()?).ok()?).ok();
    time::read(text).or_else(|| back().and_then(time::within_range))
}
