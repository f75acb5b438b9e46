//! The facts of an order before the invariants (QLT-14): a second judgement of the same rows, which shares nothing with the
//! first but the facts.

use jiff::Timestamp;

use super::OrderFacts;
use crate::activation::Stream;
use crate::invariants::Violation;
use crate::invariants::standing::{OrderStanding, of_order};

/// Stands for any time: `at_most_once` clears the time of what it has woken (ACT-3), so that no time proves nothing.
const SOME_TIME: Timestamp = Timestamp::UNIX_EPOCH;

impl OrderFacts {
    /// The invariants that the rows of the order break. Nothing is said of rows without an order, nor of a stream that
    /// nobody knows.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let Some(order) = &self.order else { return Vec::new() };
        let stream = self.due.map(|due| Stream::of_number(due.stream));
        if stream == Some(None) {
            return Vec::new();
        }
        of_order(&OrderStanding {
            no: self.no,
            status: order.status,
            attempt: order.attempt,
            mode: order.mode,
            ready: self.ready.as_ref().map(|ready| {
                (ready.attempt, ready.place.as_ref().map(|(queue, position)| (queue.as_str(), *position)))
            }),
            running: self.running.as_ref().map(|running| (running.attempt, running.queue.as_deref())),
            due: stream.flatten().map(|stream| (stream, Some(SOME_TIME))),
            queued: self.queued.as_ref().map(|(queue, position, _)| (queue.as_str(), *position)),
            has_deadlines: self.has_deadlines,
            has_snapshot: self.snapshot.is_some(),
            // Which requests are awaited stands in the snapshot, which is not read for this.
            awaited: (0, 0),
        })
    }
}
