//! Orders that wait for other orders: what is expected, how it stands, and what follows (ORD-14, 15).
//!
//! Never looks anything up: callers bring what is known of the pre-condition orders.

use std::collections::{BTreeMap, BTreeSet};

use super::Status;
use crate::id::spelled;

/// Pre-conditions of one order at most.
pub const MAX_PRECONDITIONS: usize = 100;

/// Fate of an order whose pre-condition ended otherwise than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// Waits on: a restart of the pre-condition may still satisfy it.
    Wait,
    /// Ends `fail`.
    Fail,
    /// Ends `canceled`.
    Cancel,
}

spelled!(Otherwise { Wait => "wait", Fail => "fail", Cancel => "cancel" });

/// Mode in which orders that wait for others are activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartMode {
    /// By the end of the pre-condition itself.
    Reactive,
    /// By a periodic look.
    Polling,
}

spelled!(StartMode { Reactive => "reactive", Polling => "polling" });

impl StartMode {
    /// Fate of an order that does not say it.
    #[must_use]
    pub const fn otherwise(self) -> Otherwise {
        match self {
            Self::Reactive => Otherwise::Wait,
            Self::Polling => Otherwise::Fail,
        }
    }
}

/// Entry of `lifecycle.after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// The client's id of the pre-condition order.
    pub order: String,
    /// The terminal states that would do.
    pub states: Vec<String>,
    /// Fate of the order when the other ends in another state; none leaves it to the mode.
    pub otherwise: Option<Otherwise>,
}

/// Stand of a pre-condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stand {
    /// The order that is named is not registered yet.
    Unknown,
    /// The order that is named is there; nobody has held the expected states against its scenario yet.
    Found,
    /// The order that is named goes on, and could end as expected.
    Open,
    /// The order that is named reached an expected state. That stays so, whatever happens to it later.
    Met,
    /// The order that is named ended otherwise; a restart may still change that.
    Missed,
    /// The order that waited has ended: nobody asks any more.
    Closed,
}

spelled!(Stand {
    Unknown => "unknown",
    Found => "found",
    Open => "open",
    Met => "met",
    Missed => "missed",
    Closed => "closed",
});

/// Stand of a pre-condition by what is known of its order: status, and state at its end.
#[must_use]
pub fn judge(present: Stand, states: &[String], order: Option<(Status, Option<&str>)>) -> Stand {
    match (present, order) {
        (Stand::Met | Stand::Closed, _) => present,
        (_, None) => Stand::Unknown,
        (Stand::Unknown, Some((status, _))) if !status.is_final() => Stand::Found,
        (Stand::Missed, Some((status, _))) if !status.is_final() => Stand::Open,
        (_, Some((status, _))) if !status.is_final() => present,
        (_, Some((_, step))) if step.is_some_and(|step| states.iter().any(|state| state == step)) => {
            Stand::Met
        }
        // It was over before anybody had held the expected states against its scenario: they may be none.
        (Stand::Unknown | Stand::Found, Some(_)) => Stand::Found,
        (_, Some(_)) => Stand::Missed,
    }
}

/// Consequence for the order that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartDecision {
    /// All pre-conditions are met.
    Start,
    /// Some are not.
    Wait,
    /// The pre-condition with this index ended otherwise, and that ends the order `fail`.
    Fail(usize),
    /// The same, and the order is canceled.
    Cancel(usize),
}

/// Decides by all pre-conditions of an order. A failure goes before a cancellation: it is reported.
#[must_use]
pub fn verdict(stands: &[(Stand, Otherwise)]) -> StartDecision {
    let missed = |wanted: Otherwise| stands.iter().position(|one| *one == (Stand::Missed, wanted));
    if let Some(index) = missed(Otherwise::Fail) {
        return StartDecision::Fail(index);
    }
    if let Some(index) = missed(Otherwise::Cancel) {
        return StartDecision::Cancel(index);
    }
    if stands.iter().all(|(stand, _)| *stand == Stand::Met) {
        StartDecision::Start
    } else {
        StartDecision::Wait
    }
}

/// The way by which an order would wait for itself, from it and back to it; none where it would not.
/// `waits` tells for each order which others it waits for.
#[must_use]
pub fn cycle(id: &str, after: &[&str], waits: &BTreeMap<String, Vec<String>>) -> Option<Vec<String>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    // Each order of the way with those that it waits for and that were not followed yet.
    let mut way: Vec<(&str, Vec<&str>)> = vec![(id, after.iter().rev().copied().collect())];
    while let Some((_, rest)) = way.last_mut() {
        match rest.pop() {
            None => {
                way.pop();
            }
            Some(next) if next == id => {
                return Some(way.iter().map(|(one, _)| *one).chain([id]).map(str::to_owned).collect());
            }
            Some(next) if seen.insert(next) => {
                let further = waits.get(next).into_iter().flatten().rev();
                way.push((next, further.map(String::as_str).collect()));
            }
            Some(_) => {}
        }
    }
    None
}

/// Orders of a way that are written at each of its ends; those between are left out.
const WRITTEN: usize = 10;

/// A way as people read it, of bounded length.
#[must_use]
pub fn written_way(way: &[String]) -> String {
    if way.len() <= 2 * WRITTEN {
        return way.join(" → ");
    }
    format!("{} → … → {}", way[..WRITTEN].join(" → "), way[way.len() - WRITTEN..].join(" → "))
}

/// The reason why a child is refused that would stand in a queue behind an order that awaits it (ORD-13): that order would
/// hold the queue until its wait is over, and the child would run only then.
#[must_use]
pub fn behind_holder(queue: &str, holder: &str) -> String {
    format!(
        "the child would stand in queue `{queue}` behind order `{holder}`, which waits for it: start the child `parallel`, \
         `release` the queue first, or do not wait for the child"
    )
}

/// The reason why a child is refused that would wait for itself by this way (ORD-14).
#[must_use]
pub fn around_child(way: &[String]) -> String {
    format!("the child would wait for itself: {}; each waits for the next", written_way(way))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn ord_14_a_condition_is_met_by_the_exact_state_at_the_end_and_stays_met() {
        let states = ["done".to_owned()];
        let at = |present, status, step| judge(present, &states, Some((status, step)));
        assert_eq!(at(Stand::Open, Status::Success, Some("done")), Stand::Met);
        assert_eq!(at(Stand::Open, Status::Success, Some("Done")), Stand::Missed);
        assert_eq!(at(Stand::Unknown, Status::Fail, None), Stand::Found, "the states may be none of its own");
        assert_eq!(at(Stand::Found, Status::Fail, None), Stand::Found);
        assert_eq!(at(Stand::Found, Status::Fail, Some("done")), Stand::Met);
        assert_eq!(at(Stand::Unknown, Status::Sleep, Some("done")), Stand::Found);
        assert_eq!(at(Stand::Missed, Status::Reopen, None), Stand::Open);
        assert_eq!(at(Stand::Met, Status::Reopen, None), Stand::Met);
        assert_eq!(judge(Stand::Open, &states, None), Stand::Unknown);
    }

    #[test]
    fn ord_15_what_follows_is_decided_by_all_conditions() {
        use Otherwise::{Cancel, Fail, Wait};
        let (met, open, missed) = (Stand::Met, Stand::Open, Stand::Missed);
        assert_eq!(verdict(&[(met, Fail), (met, Wait)]), StartDecision::Start);
        assert_eq!(verdict(&[(met, Fail), (open, Fail)]), StartDecision::Wait);
        assert_eq!(verdict(&[(missed, Wait), (met, Fail)]), StartDecision::Wait);
        assert_eq!(verdict(&[(missed, Cancel), (open, Wait)]), StartDecision::Cancel(0));
        assert_eq!(verdict(&[(missed, Cancel), (missed, Fail)]), StartDecision::Fail(1));
        assert_eq!([StartMode::Reactive, StartMode::Polling].map(StartMode::otherwise), [Wait, Fail]);
    }

    #[test]
    fn ord_14_a_cycle_is_reported_by_its_way() {
        let waits: BTreeMap<String, Vec<String>> =
            [("b", vec!["c", "d"]), ("c", vec!["e"]), ("d", vec!["a"])]
                .into_iter()
                .map(|(id, after)| (id.to_owned(), after.into_iter().map(str::to_owned).collect()))
                .collect();
        assert_eq!(cycle("a", &["b"], &waits).unwrap(), ["a", "b", "d", "a"]);
        assert_eq!(cycle("x", &["b"], &waits), None);
        assert_eq!(cycle("a", &["a"], &waits).unwrap(), ["a", "a"]);
        // The parent `p` awaits its child `c`.
        let awaits: BTreeMap<String, Vec<String>> = [("p".to_owned(), vec!["c".to_owned()])].into();
        assert_eq!(
            around_child(&cycle("c", &["p"], &awaits).unwrap()),
            "the child would wait for itself: c → p → c; each waits for the next"
        );
    }
}
