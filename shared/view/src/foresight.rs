//! Promises to clients as people see them (ORD-31).

use jiff::Timestamp;
use pagurus_store::lists::promises::JeopardyMark;
use pagurus_wire::foresight::{JeopardyView, PromiseView};

/// A promise as the API shows it.
pub(crate) fn promise_view(
    promise_at: Timestamp,
    expected_at: Option<Timestamp>,
    mark: Option<JeopardyMark>,
) -> PromiseView {
    let jeopardy =
        mark.map(|JeopardyMark { since, expected_at, cause }| JeopardyView { since, expected_at, cause });
    PromiseView { promise_at, expected_at, jeopardy }
}

/// Further clause for an order that will probably be late.
pub(crate) fn clause(promise: &PromiseView) -> Option<String> {
    let mark = promise.jeopardy.as_ref()?;
    Some(format!(
        "; it has been in jeopardy since {}: promised for {}, and then expected by {}",
        mark.since, promise.promise_at, mark.expected_at
    ))
}
