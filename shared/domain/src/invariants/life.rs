//! Life of an order: its statuses, its history, its way through the scenario.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Invariant, Violation};
use crate::id::{Life, OrderNo};
use crate::order::Status;
use crate::order::Status::{
    Canceled, Fail, Interrupted, New, Polling, Postponed, Reopen, Retry, Running, Sleep, Success, Wait,
};

/// The graph of statuses. It was drawn from the requirements, not from the table of the law: a test holds the two together.
const GRAPH: &[(Status, &[Status])] = &[
    (Postponed, &[New, Running, Interrupted, Canceled, Fail]),
    (New, &[Postponed, Running, Interrupted, Canceled, Fail]),
    (Reopen, &[Postponed, Running, Interrupted, Canceled, Fail]),
    (Running, &[Sleep, Wait, Polling, Retry, Success, Fail, Canceled]),
    (Sleep, &[Running, Canceled, Fail, Reopen]),
    (Wait, &[Running, Canceled, Fail, Reopen]),
    (Polling, &[Running, Canceled, Fail, Reopen]),
    (Retry, &[Running, Canceled, Fail, Reopen]),
    (Success, &[Reopen, Postponed]),
    (Fail, &[Reopen, Postponed, Canceled]),
    (Interrupted, &[Canceled]),
    // Only what a node gave up.
    (Canceled, &[Reopen]),
];

/// Judges one change of a status, as outsiders see statuses.
#[must_use]
pub fn of_change(no: OrderNo, from: Status, to: Status) -> Option<Violation> {
    let edges = GRAPH.iter().find(|(known, _)| *known == from).map_or(&[][..], |(_, edges)| *edges);
    Violation::unless(from == to || edges.contains(&to), Invariant::StatusGraph, || {
        format!("order {no} went from `{from}` to `{to}`")
    })
}

/// An event of the history of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Number.
    pub number: i32,
    /// Life that it belongs to.
    pub life: Life,
    /// Numbers that it takes: two for a stage.
    pub takes: i32,
    /// True where it ends a life.
    pub ends: bool,
    /// True where it begins one.
    pub begins: bool,
}

/// Judges the history of an order, from the oldest event on; `last` is the number that the order itself counts.
#[must_use]
pub fn of_history(no: OrderNo, entries: &[HistoryEntry], last: i32) -> Vec<Violation> {
    let mut found = Vec::new();
    // Registration is number 1, and has no row.
    let (mut next, mut life, mut is_over) = (2, Life::FIRST, false);
    for entry in entries {
        found.extend(Violation::unless(entry.number == next, Invariant::WholeHistory, || {
            format!("order {no}: event {} stands where {next} should", entry.number)
        }));
        next = entry.number + entry.takes;
        if entry.begins {
            let fits = is_over && entry.life == life.next();
            found.extend(Violation::unless(fits, Invariant::OneEnd, || {
                format!("order {no}: life {} began after {life}, over: {is_over}", entry.life)
            }));
            (life, is_over) = (entry.life, false);
        } else if entry.ends {
            found.extend(Violation::unless(!is_over && entry.life == life, Invariant::OneEnd, || {
                format!("order {no}: life {} has another end at event {}", entry.life, entry.number)
            }));
            is_over = true;
        } else {
            found.extend(Violation::unless(!is_over && entry.life == life, Invariant::OneEnd, || {
                format!("order {no}: event {} of life {} after the end of {life}", entry.number, entry.life)
            }));
        }
    }
    found.extend(Violation::unless(next == last + 1, Invariant::WholeHistory, || {
        format!("order {no} counts {last} events, and its history ends before {next}")
    }));
    found
}

/// Judges the transitions of one life: each begins where the one before ended.
#[must_use]
pub fn of_path<'a>(
    no: OrderNo,
    begin: Option<&str>,
    moves: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Option<Violation> {
    let mut at = begin.map(str::to_owned);
    for (from, to) in moves {
        if let Some(at) = at.filter(|at| at != from) {
            return Some(Violation::of(
                Invariant::OnePath,
                format!("order {no} moved from `{from}` to `{to}` while it was in `{at}`"),
            ));
        }
        at = Some(to.to_owned());
    }
    None
}

/// Judges the start of a stage: everything that its order waits for has ended once as it needs; `unmet` names what has not.
#[must_use]
pub fn of_begin(no: OrderNo, unmet: &[String]) -> Option<Violation> {
    Violation::unless(unmet.is_empty(), Invariant::ConditionsHold, || {
        format!("order {no} began, and these have not ended as it needs: {}", unmet.join(", "))
    })
}

/// Judges a waking: never before its time.
#[must_use]
pub fn of_waking(no: OrderNo, due_at: Timestamp, woken_at: Timestamp) -> Option<Violation> {
    Violation::unless(due_at <= woken_at, Invariant::NeverEarly, || {
        format!("order {no} was due at {due_at} and woken at {woken_at}")
    })
}

/// Judges the orders that are there at the end against those that were confirmed to their clients, each with a digest of its
/// content, and against those that anybody ever sent.
#[must_use]
pub fn of_acceptance(
    confirmed: &BTreeMap<String, Vec<u8>>,
    sent: &BTreeMap<String, Vec<Vec<u8>>>,
    there: &[(String, Vec<u8>)],
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut known: BTreeMap<&str, &[u8]> = BTreeMap::new();
    for (id, content) in there {
        if known.insert(id, content).is_some() {
            found.push(Violation::of(Invariant::OneRegistration, format!("`{id}` is there twice")));
        }
        let was_sent = sent.get(id).is_some_and(|contents| contents.contains(content));
        found.extend(Violation::unless(was_sent, Invariant::NothingInvented, || {
            format!("nobody sent `{id}` so")
        }));
    }
    for (id, content) in confirmed {
        let is_there = known.get(id.as_str()).is_some_and(|there| *there == content.as_slice());
        found.extend(Violation::unless(is_there, Invariant::NothingLost, || {
            format!("`{id}` was confirmed, and is not there as it was sent")
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::order::transition::TABLE;

    #[test]
    fn ord_21_the_law_and_the_graph_allow_the_same() {
        for (cause, sources, to) in TABLE {
            for from in *sources {
                assert_eq!(of_change(OrderNo(1), *from, *to), None, "{cause}");
            }
        }
        for (from, edges) in GRAPH {
            for to in *edges {
                let is_law = TABLE.iter().any(|(_, sources, then)| then == to && sources.contains(from));
                // A start time that has come, or was taken back, shows itself as `new`.
                assert!(is_law || (*from, *to) == (Postponed, New), "{from} to {to}");
            }
        }
        for (from, to) in [(Success, Canceled), (Canceled, Running), (New, Success), (Sleep, Wait)] {
            assert_eq!(of_change(OrderNo(1), from, to).unwrap().invariant, Invariant::StatusGraph);
        }
    }

    fn entry(number: i32, life: i32) -> HistoryEntry {
        HistoryEntry { number, life: Life(life), takes: 1, ends: false, begins: false }
    }

    #[test]
    fn rec_15_a_history_has_no_gap_and_one_end_for_each_life() {
        let stage = HistoryEntry { takes: 2, ..entry(2, 1) };
        let end = HistoryEntry { takes: 2, ends: true, ..entry(4, 1) };
        let restart = HistoryEntry { begins: true, ..entry(6, 2) };
        let kinds = |entries: &[HistoryEntry], last| -> Vec<Invariant> {
            of_history(OrderNo(1), entries, last).into_iter().map(|one| one.invariant).collect()
        };
        assert_eq!(kinds(&[stage, end, restart, entry(7, 2)], 7), []);
        assert_eq!(kinds(&[], 1), []);
        assert_eq!(kinds(&[stage, end], 6), [Invariant::WholeHistory]);
        assert_eq!(kinds(&[end], 5), [Invariant::WholeHistory]);
        assert_eq!(kinds(&[stage, end, entry(6, 1)], 6), [Invariant::OneEnd]);
        assert_eq!(kinds(&[stage, HistoryEntry { number: 4, ..restart }], 4), [Invariant::OneEnd]);
        assert_eq!(kinds(&[stage, end, HistoryEntry { number: 6, ..end }], 7), [Invariant::OneEnd]);
    }

    #[test]
    fn scn_2_transitions_are_one_path() {
        assert_eq!(of_path(OrderNo(1), Some("a"), [("a", "b"), ("b", "c")]), None);
        assert_eq!(of_path(OrderNo(1), None, [("x", "b")]), None);
        let broken = of_path(OrderNo(1), Some("a"), [("a", "b"), ("a", "b")]).unwrap();
        assert_eq!(broken.invariant, Invariant::OnePath);
    }

    #[test]
    fn ord_3_what_was_confirmed_is_there_once_and_nothing_else_is() {
        let one = |id: &str, content: u8| (id.to_owned(), vec![content]);
        let confirmed = BTreeMap::from([one("a", 1)]);
        let sent = BTreeMap::from([("a".to_owned(), vec![vec![1]]), ("b".to_owned(), vec![vec![2]])]);
        let kinds = |there: &[(String, Vec<u8>)]| -> Vec<Invariant> {
            of_acceptance(&confirmed, &sent, there).into_iter().map(|one| one.invariant).collect()
        };
        assert_eq!(kinds(&[one("a", 1)]), []);
        assert_eq!(kinds(&[one("a", 1), one("b", 2)]), [], "sent, and nobody knows whether it came");
        assert_eq!(kinds(&[]), [Invariant::NothingLost]);
        assert_eq!(kinds(&[one("a", 1), one("a", 1)]), [Invariant::OneRegistration]);
        assert_eq!(kinds(&[one("a", 1), one("c", 3)]), [Invariant::NothingInvented]);
        assert_eq!(kinds(&[one("a", 2)]), [Invariant::NothingInvented, Invariant::NothingLost]);
    }
}
