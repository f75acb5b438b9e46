//! Promises: when a client must be served, and whether an order will be by then (ORD-31). Pure arithmetic over what lives
//! of the same scenario took recently.
//!
//! An order is in jeopardy as soon as the time at which nine of ten like it would have ended lies behind its promise.

mod remaining;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::flow::StartEstimate;

pub use remaining::{EnteredState, RemainingTimes, entries};

/// Time between two looks at an order whose promise is near, at least.
const SHORTEST_LOOK: Duration = Duration::from_secs(1);
/// Time between two looks at an order whose promise is far, at most.
const LONGEST_LOOK: Duration = Duration::from_secs(600);
/// Part of the time to spare after which it is looked again: what changes meanwhile is noticed while most is left.
const PART_TO_SPARE: u32 = 8;
/// A state that took longer than any before takes as much again in nine of ten cases: nothing better is known of it.
const BEYOND_ALL: Beyond = Beyond { p50: 0.25, p90: 1.0 };

/// No time at all.
const NO_TIME: StartEstimate = StartEstimate { p50: Duration::ZERO, p90: Duration::ZERO };

/// Remaining time, in parts of the time that has passed.
struct Beyond {
    p50: f64,
    p90: f64,
}

/// Position of an order with a promise.
#[derive(Clone, Debug, PartialEq)]
pub struct PromisedOrder {
    /// Time at which its client must be served.
    pub promise_at: Timestamp,
    /// Progress of the order in its life.
    pub reached: ReachedState,
    /// Time before which it does not go on: its start time, or the end of its sleep.
    pub not_before: Option<Timestamp>,
    /// The time until its next stage starts, where it waits for a worker and that is known.
    pub start: Option<StartEstimate>,
}

/// Progress of an order in its life.
#[derive(Clone, Debug, PartialEq)]
pub enum ReachedState {
    /// No stage has begun.
    Nothing,
    /// In its first state, since the start of its first stage.
    Start(Timestamp),
    /// In a state that it came to.
    State(EnteredState),
}

/// Time at which an order will have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedEnd {
    /// In half of the cases not later.
    pub p50: Timestamp,
    /// In nine of ten cases not later.
    pub p90: Timestamp,
    /// False where lives of its scenario tell nothing yet: then no time is counted for what remains.
    pub is_known: bool,
}

/// Next step about an order that has a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromiseVerdict {
    /// Will probably be late.
    Jeopardy(ExpectedEnd),
    /// Will probably be served in time; checked again then.
    Fine(Timestamp),
}

impl PromisedOrder {
    /// Time at which it will have ended.
    #[must_use]
    pub fn expected(&self, times: &RemainingTimes, now: Timestamp) -> ExpectedEnd {
        let base = self.not_before.map_or(now, |at| at.max(now));
        let start = self.start.unwrap_or(NO_TIME);
        let passed = |since: Timestamp| Duration::try_from(now.duration_since(since)).unwrap_or_default();
        let rest = match &self.reached {
            ReachedState::Nothing => {
                let whole = times.of_life();
                let rest = whole.unwrap_or(NO_TIME);
                return ExpectedEnd::after(base, together(start, rest), whole.is_some());
            }
            ReachedState::Start(at) => times.since_start(passed(*at)),
            ReachedState::State(entered) => times.of_state(&entered.state, passed(entered.at)),
        };
        let known = rest.unwrap_or(NO_TIME);
        // What lives took before has their waits in it: the present wait is a bound from below, and adds nothing.
        let expected = ExpectedEnd::after(now, known, rest.is_some());
        let at_least = ExpectedEnd::after(base, start, rest.is_some());
        ExpectedEnd { p50: expected.p50.max(at_least.p50), p90: expected.p90.max(at_least.p90), ..expected }
    }

    /// Verdict on an order: it will be late, or when to look again.
    #[must_use]
    pub fn judge(&self, times: &RemainingTimes, now: Timestamp) -> PromiseVerdict {
        let expected = self.expected(times, now);
        if expected.p90 > self.promise_at || now >= self.promise_at {
            return PromiseVerdict::Jeopardy(expected);
        }
        let to_spare = Duration::try_from(self.promise_at.duration_since(expected.p90)).unwrap_or_default();
        let wait = (to_spare / PART_TO_SPARE).clamp(SHORTEST_LOOK, LONGEST_LOOK);
        PromiseVerdict::Fine(later(now, wait))
    }
}

impl ExpectedEnd {
    fn after(base: Timestamp, rest: StartEstimate, is_known: bool) -> Self {
        Self { p50: later(base, rest.p50), p90: later(base, rest.p90), is_known }
    }
}

/// Adds one time to another: the middles add up, and the differences from them do as those of independent times.
fn together(one: StartEstimate, other: StartEstimate) -> StartEstimate {
    let doubt = |estimate: StartEstimate| estimate.p90.saturating_sub(estimate.p50).as_secs_f64();
    let middle = one.p50.saturating_add(other.p50);
    let far = Duration::try_from_secs_f64(doubt(one).hypot(doubt(other))).unwrap_or(Duration::MAX);
    StartEstimate { p50: middle, p90: middle.saturating_add(far) }
}

/// A time after another; the last that there is where that is beyond all.
fn later(from: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).ok();
    wait.and_then(|wait| from.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Lives that took 1 to 100 seconds from their begin, and as long from the state `asked`.
    fn learnt() -> RemainingTimes {
        let mut times = RemainingTimes::default();
        for second in 1..=100 {
            let entered = |state: &str| EnteredState { state: state.into(), at: at(0) };
            times.learn(&[entered("asked")], Some(at(0)), at(second));
        }
        times
    }

    fn order(promise: i64) -> PromisedOrder {
        PromisedOrder {
            promise_at: at(promise),
            reached: ReachedState::Nothing,
            not_before: None,
            start: None,
        }
    }

    fn came_to(state: &str) -> ReachedState {
        ReachedState::State(EnteredState { state: state.into(), at: at(0) })
    }

    fn seconds(estimate: (u64, u64)) -> StartEstimate {
        StartEstimate { p50: Duration::from_secs(estimate.0), p90: Duration::from_secs(estimate.1) }
    }

    /// True if a time is this many seconds after the start, give or take what the scale of times costs.
    fn is_near(found: Timestamp, second: f64) -> bool {
        (found.duration_since(at(0)).as_secs_f64() / second - 1.0).abs() < 0.1
    }

    #[test]
    fn ord_31_before_its_start_an_order_takes_its_wait_and_a_whole_life() {
        let times = learnt();
        let fresh = order(500);
        assert!(is_near(fresh.expected(&times, at(0)).p90, 90.0), "{:?}", fresh.expected(&times, at(0)));
        let later = PromisedOrder { not_before: Some(at(200)), ..order(500) };
        assert!(is_near(later.expected(&times, at(0)).p90, 290.0));
        let waits = PromisedOrder { start: Some(seconds((100, 130))), ..order(500) };
        // 100 + 50, and the differences 30 and 40 make 50.
        assert!(is_near(waits.expected(&times, at(0)).p50, 150.0));
        assert!(is_near(waits.expected(&times, at(0)).p90, 200.0), "{:?}", waits.expected(&times, at(0)));
    }

    #[test]
    fn ord_31_within_a_state_what_has_passed_counts_and_sleep_is_a_bound_from_below() {
        let times = learnt();
        let asked = PromisedOrder { reached: came_to("asked"), ..order(500) };
        let started = PromisedOrder { reached: ReachedState::Start(at(0)), ..order(500) };
        assert_eq!(started.expected(&times, at(60)), asked.expected(&times, at(60)));
        assert!(is_near(asked.expected(&times, at(0)).p90, 90.0));
        assert!(is_near(asked.expected(&times, at(60)).p90, 96.0), "{:?}", asked.expected(&times, at(60)));
        assert!(is_near(asked.expected(&times, at(200)).p90, 400.0), "longer than any before");
        let sleeps = PromisedOrder { not_before: Some(at(300)), ..asked.clone() };
        assert!(is_near(sleeps.expected(&times, at(0)).p90, 300.0));
        let waits = PromisedOrder { start: Some(seconds((20, 180))), ..asked };
        assert!(is_near(waits.expected(&times, at(0)).p90, 180.0));
        let elsewhere = PromisedOrder { reached: came_to("nobody knows"), ..order(500) };
        let unknown = elsewhere.expected(&times, at(60));
        assert_eq!((unknown.p90, unknown.is_known), (at(60), false));
    }

    #[test]
    fn ord_31_an_order_is_in_jeopardy_as_soon_as_nine_of_ten_like_it_would_be_late() {
        let times = learnt();
        let in_jeopardy = |order: &PromisedOrder, times: &RemainingTimes, now| {
            matches!(order.judge(times, now), PromiseVerdict::Jeopardy(_))
        };
        assert!(in_jeopardy(&order(80), &times, at(0)) && !in_jeopardy(&order(100), &times, at(0)));
        assert!(in_jeopardy(&order(100), &times, at(20)), "its start is late");
        let nothing = RemainingTimes::default();
        assert!(!in_jeopardy(&order(80), &nothing, at(79)) && in_jeopardy(&order(80), &nothing, at(80)));
        let sleeps = PromisedOrder { not_before: Some(at(90)), ..order(80) };
        assert!(in_jeopardy(&sleeps, &nothing, at(0)), "it cannot end before it goes on");
    }

    #[test]
    fn ord_31_the_next_look_comes_while_most_of_the_time_to_spare_is_left() {
        let nothing = RemainingTimes::default();
        for (promise, look) in [(4, 1), (80, 10), (4800, 600), (1_000_000, 600)] {
            assert_eq!(order(promise).judge(&nothing, at(0)), PromiseVerdict::Fine(at(look)), "{promise}");
        }
        let far = PromisedOrder { promise_at: Timestamp::MAX, ..order(0) };
        assert_eq!(far.judge(&nothing, at(0)), PromiseVerdict::Fine(at(600)));
    }

    proptest! {
        /// ORD-31: looks go on until the order is marked, each later than the one before, and the mark comes before the
        /// promise has been broken for longer than the shortest wait.
        #[test]
        fn ord_31_looks_find_every_order_that_stays_where_it_is(
            promise in 1_i64..100_000, entered in any::<bool>(), has_learnt in any::<bool>(),
        ) {
            let times = if has_learnt { learnt() } else { RemainingTimes::default() };
            let reached = if entered { came_to("asked") } else { ReachedState::Nothing };
            let order = PromisedOrder { reached, ..order(promise) };
            let (mut now, mut looks) = (at(0), 0);
            let found = loop {
                match order.judge(&times, now) {
                    PromiseVerdict::Jeopardy(expected) => break expected,
                    PromiseVerdict::Fine(next) => {
                        prop_assert!(next > now && looks < 1000, "{now} {next}");
                        (now, looks) = (next, looks + 1);
                    }
                }
            };
            prop_assert!(now <= at(promise + 1), "{now}");
            prop_assert!(found.p90 >= found.p50 && found.p90 >= now);
        }
    }
}
