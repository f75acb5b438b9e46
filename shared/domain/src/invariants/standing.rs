//! The rows of one moment, read in one snapshot: places, queues, nodes. Whatever may stand so for a moment is no violation.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::{Invariant, Violation};
use crate::activation::Stream;
use crate::id::{Attempt, OrderNo};
use crate::order::{Mode, Status};

/// An order as the tables show it.
#[derive(Clone, Copy, Debug)]
pub struct OrderStanding<'a> {
    /// The order.
    pub no: OrderNo,
    /// Status as it is stored.
    pub status: Status,
    /// Last hand-out that left something behind.
    pub attempt: Attempt,
    /// Parallel or sequential.
    pub mode: Mode,
    /// Row of `ready`: the number of the hand-out, queue and position.
    pub ready: Option<(Attempt, Option<(&'a str, i64)>)>,
    /// Row of `running`: the number of the hand-out, and the queue that it owns.
    pub running: Option<(Attempt, Option<&'a str>)>,
    /// Row of `due`: stream and time.
    pub due: Option<(Stream, Option<Timestamp>)>,
    /// Row of `queued`.
    pub queued: Option<(&'a str, i64)>,
    /// True where it has deadlines.
    pub has_deadlines: bool,
    /// True where position and variables are stored.
    pub has_snapshot: bool,
    /// Requests that it waits for, and those among them that are answered; 0 where that was not read.
    pub awaited: (usize, usize),
}

/// Judges the rows of one order.
#[must_use]
pub fn of_order(order: &OrderStanding<'_>) -> Vec<Violation> {
    let no = order.no;
    let places = [order.ready.is_some(), order.running.is_some(), order.due.is_some()];
    let count = places.into_iter().filter(|stands| *stands).count();
    if order.status.is_final() {
        let left = Violation::unless(count == 0 && order.queued.is_none(), Invariant::OneEnd, || {
            format!("order {no} is `{}` and stands in {count} places, queue {:?}", order.status, order.queued)
        });
        let deadline = Violation::unless(!order.has_deadlines, Invariant::OneEnd, || {
            format!("order {no} is `{}` and has a deadline", order.status)
        });
        return left.into_iter().chain(deadline).collect();
    }
    let one = Violation::unless(count < 2, Invariant::OneAttempt, || {
        format!("order {no} is `{}` and stands in {count} places", order.status)
    });
    let some = Violation::unless(count > 0, Invariant::WillWake, || {
        format!("order {no} is `{}` and stands nowhere", order.status)
    });
    [one, some, of_numbers(order), of_suspension(order), of_answers(order), of_membership(order)]
        .into_iter()
        .flatten()
        .collect()
}

/// Numbers of hand-outs only grow.
fn of_numbers(order: &OrderStanding<'_>) -> Option<Violation> {
    let ready = order.ready.is_none_or(|(attempt, _)| attempt > order.attempt);
    let running = order.running.is_none_or(|(attempt, _)| attempt >= order.attempt);
    Violation::unless(ready && running, Invariant::OneAttempt, || {
        format!(
            "order {} was handed out as {} and is {:?}, {:?}",
            order.no, order.attempt, order.ready, order.running
        )
    })
}

/// A suspended order has a time, in the stream of its status, and a position to go on from.
fn of_suspension(order: &OrderStanding<'_>) -> Option<Violation> {
    let is_suspended = matches!(order.status, Status::Sleep | Status::Wait | Status::Polling | Status::Retry);
    let holds = match order.due {
        None => true,
        Some((stream, at)) => {
            let fits = match stream {
                Stream::Youngest | Stream::Middle | Stream::Oldest => order.status == Status::Sleep,
                Stream::Wait => order.status == Status::Wait,
                Stream::Polling => order.status == Status::Polling,
                Stream::Retry => order.status == Status::Retry,
                Stream::Postponed | Stream::Dependent => order.status == Status::Postponed,
            };
            fits && (at.is_some() || stream == Stream::Dependent)
        }
    };
    Violation::unless(holds && (!is_suspended || order.has_snapshot), Invariant::WillWake, || {
        format!(
            "order {} is `{}`, due {:?}, with a position: {}",
            order.no, order.status, order.due, order.has_snapshot
        )
    })
}

/// An order that waits, waits for an answer that is still to come.
fn of_answers(order: &OrderStanding<'_>) -> Option<Violation> {
    let (awaited, answered) = order.awaited;
    let in_vain = order.due.is_some() && order.status == Status::Wait && awaited > 0 && awaited == answered;
    Violation::unless(!in_vain, Invariant::CallbackKept, || {
        format!("order {} waits, and all {awaited} answers are there", order.no)
    })
}

/// The place of an order says of its queue what the queue says of it, and a sleep has given it up.
fn of_membership(order: &OrderStanding<'_>) -> Option<Violation> {
    let member = order.queued;
    let ready = order.ready.is_none_or(|(_, place)| place == member);
    let running = order.running.is_none_or(|(_, queue)| queue == member.map(|(queue, _)| queue));
    let sleeps = order.due.is_none_or(|_| order.status != Status::Sleep || member.is_none());
    let parallel = order.mode == Mode::Sequential || member.is_none();
    Violation::unless(ready && running && sleeps && parallel, Invariant::OneOwner, || {
        format!(
            "order {} is `{}`, a member of {member:?}, ready {:?}, running {:?}",
            order.no, order.status, order.ready, order.running
        )
    })
}

/// Judges who owns queues: the orders that run with a queue, and the members of each queue by position.
#[must_use]
pub fn of_queues<'a>(
    running: impl IntoIterator<Item = (OrderNo, &'a str)>,
    members: impl IntoIterator<Item = (&'a str, i64, OrderNo)>,
) -> Vec<Violation> {
    let mut heads: BTreeMap<&str, (i64, OrderNo)> = BTreeMap::new();
    for (queue, position, no) in members {
        let head = heads.entry(queue).or_insert((position, no));
        *head = (*head).min((position, no));
    }
    let mut owners: BTreeMap<&str, OrderNo> = BTreeMap::new();
    let mut found = Vec::new();
    for (no, queue) in running {
        if let Some(other) = owners.insert(queue, no) {
            found.push(Violation::of(
                Invariant::OneOwner,
                format!("orders {other} and {no} both own `{queue}`"),
            ));
        }
        let head = heads.get(queue).map(|(_, head)| *head);
        found.extend(Violation::unless(head == Some(no), Invariant::QueueOrder, || {
            format!("order {no} runs with `{queue}`, whose head is {head:?}")
        }));
    }
    found
}

/// Judges how much runs: stages, and the places for them, of each node or of each mode.
#[must_use]
pub fn of_capacity(name: &str, running: usize, places: usize) -> Option<Violation> {
    Violation::unless(running <= places, Invariant::WithinLimits, || {
        format!("{running} stages run on {places} places of {name}")
    })
}

/// Judges a stage that is with a node which is over for so long: others have it within this time.
#[must_use]
pub fn of_abandoned(no: OrderNo, over_for: Duration, within: Duration) -> Option<Violation> {
    Violation::unless(over_for <= within, Invariant::TakenOver, || {
        format!("order {no} is with a node that is over for {over_for:?}")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    const LIVING: OrderStanding<'static> = OrderStanding {
        no: OrderNo(1),
        status: Status::New,
        attempt: Attempt(0),
        mode: Mode::Sequential,
        ready: Some((Attempt(1), Some(("q", 5)))),
        running: None,
        due: None,
        queued: Some(("q", 5)),
        has_deadlines: true,
        has_snapshot: false,
        awaited: (0, 0),
    };
    const ENDED: OrderStanding<'static> =
        OrderStanding { status: Status::Success, ready: None, queued: None, has_deadlines: false, ..LIVING };
    const RESTING: OrderStanding<'static> = OrderStanding {
        status: Status::Wait,
        ready: None,
        due: Some((Stream::Wait, Some(Timestamp::UNIX_EPOCH))),
        has_snapshot: true,
        awaited: (2, 1),
        ..LIVING
    };

    fn kinds(order: &OrderStanding<'_>) -> Vec<Invariant> {
        of_order(order).into_iter().map(|one| one.invariant).collect()
    }

    #[test]
    fn qlt_14_what_stands_as_it_should_breaks_nothing() {
        for order in [LIVING, ENDED, RESTING] {
            assert_eq!(of_order(&order), []);
        }
    }

    #[test]
    fn qlt_14_each_wrong_row_is_reported_by_its_invariant() {
        use Invariant::{CallbackKept, OneAttempt, OneEnd, OneOwner, WillWake};
        let running = Some((Attempt(1), Some("q")));
        let cases: [(OrderStanding<'_>, &[Invariant]); 11] = [
            (OrderStanding { ready: None, ..LIVING }, &[WillWake]),
            (OrderStanding { running, ..LIVING }, &[OneAttempt]),
            (OrderStanding { attempt: Attempt(1), ..LIVING }, &[OneAttempt]),
            (OrderStanding { queued: None, ..LIVING }, &[OneOwner]),
            (OrderStanding { mode: Mode::Parallel, ..LIVING }, &[OneOwner]),
            (OrderStanding { due: RESTING.due, ..ENDED }, &[OneEnd]),
            (OrderStanding { has_deadlines: true, ..ENDED }, &[OneEnd]),
            (OrderStanding { awaited: (2, 2), ..RESTING }, &[CallbackKept]),
            (OrderStanding { has_snapshot: false, ..RESTING }, &[WillWake]),
            (OrderStanding { due: Some((Stream::Wait, None)), ..RESTING }, &[WillWake]),
            (OrderStanding { status: Status::Polling, ..RESTING }, &[WillWake]),
        ];
        for (order, broken) in cases {
            assert_eq!(kinds(&order), broken, "{order:?}");
        }
        let asleep = (Stream::Youngest, Some(Timestamp::UNIX_EPOCH));
        assert_eq!(kinds(&OrderStanding { status: Status::Sleep, due: Some(asleep), ..RESTING }), [OneOwner]);
    }

    #[test]
    fn ord_10_a_queue_has_one_owner_and_that_is_its_head() {
        let members = [("q", 7, OrderNo(2)), ("q", 5, OrderNo(1)), ("r", 1, OrderNo(3))];
        assert_eq!(of_queues([(OrderNo(1), "q"), (OrderNo(3), "r")], members), []);
        let kinds = |running: &[(OrderNo, &'static str)]| {
            let found = of_queues(running.iter().copied(), members);
            found.into_iter().map(|one| one.invariant).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[(OrderNo(2), "q")]), [Invariant::QueueOrder]);
        assert_eq!(
            kinds(&[(OrderNo(1), "q"), (OrderNo(2), "q")]),
            [Invariant::OneOwner, Invariant::QueueOrder]
        );
        assert!(of_capacity("w", 3, 3).is_none());
        assert_eq!(of_capacity("w", 4, 3).unwrap().invariant, Invariant::WithinLimits);
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        assert!(of_abandoned(OrderNo(1), short, long).is_none());
        assert_eq!(of_abandoned(OrderNo(1), long, short).unwrap().invariant, Invariant::TakenOver);
    }
}
