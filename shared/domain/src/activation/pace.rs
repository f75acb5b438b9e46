//! Pace of waking (ACT-5): no more of a flow is woken than it goes through in a few seconds, however much is due at once. What is
//! due and not woken costs nothing but its row.
//!
//! The bound is one of each flow, and not of all: what is held back of one flow keeps no other waiting.

use std::collections::BTreeMap;

use crate::id::OrderNo;

/// Seconds of its work that may be woken of a flow and not begun.
const AHEAD: f64 = 3.0;
/// Stages that may be woken of a flow and not begun, however slowly it goes: as many as fit a batch.
pub const LEAST_AHEAD: u64 = 1000;

/// Number of orders of each flow that may be woken besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WakingPace {
    rooms: BTreeMap<String, u64>,
}

impl WakingPace {
    /// Returns the pace by the stages of each flow that are woken and not begun, and those that ended in a second recently. A
    /// flow that is not named has none.
    #[must_use]
    pub fn of(woken: Vec<(String, u64)>, per_second: &BTreeMap<String, f64>) -> Self {
        let rooms = woken.into_iter().map(|(flow, count)| {
            let rate = per_second.get(&flow).copied().unwrap_or(0.0);
            let room = ahead_of(rate).saturating_sub(count);
            (flow, room)
        });
        Self { rooms: rooms.collect() }
    }

    /// The flows of which nothing more is to be woken now.
    pub fn held(&self) -> impl Iterator<Item = &str> {
        self.rooms.iter().filter(|(_, room)| **room == 0).map(|(flow, _)| flow.as_str())
    }

    /// Chooses of due orders, in this order, those whose flows have room, at most `most`.
    pub fn choose<'a>(
        &mut self,
        due: impl IntoIterator<Item = (OrderNo, &'a str)>,
        most: usize,
    ) -> Vec<OrderNo> {
        let mut chosen = Vec::new();
        for (no, flow) in due {
            if chosen.len() == most {
                break;
            }
            if !self.rooms.contains_key(flow) {
                self.rooms.insert(flow.to_owned(), LEAST_AHEAD);
            }
            if let Some(room) = self.rooms.get_mut(flow).filter(|room| **room > 0) {
                *room -= 1;
                chosen.push(no);
            }
        }
        chosen
    }
}

/// Stages that may be woken and not begun of a flow that goes at this rate.
fn ahead_of(per_second: f64) -> u64 {
    // A rate is finite and small; what is none counts as 0.
    let ahead = (per_second * AHEAD).clamp(0.0, 1e9);
    (if ahead.is_nan() { 0.0 } else { ahead } as u64).max(LEAST_AHEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(woken: &[(&str, u64)], rates: &[(&str, f64)]) -> WakingPace {
        let woken = woken.iter().map(|(flow, count)| ((*flow).to_owned(), *count)).collect();
        WakingPace::of(woken, &rates.iter().map(|(flow, rate)| ((*flow).to_owned(), *rate)).collect())
    }

    #[test]
    fn act_5_a_flow_is_woken_a_few_seconds_ahead_of_what_it_goes_through() {
        for (woken, rate, is_held) in [
            (0, 0.0, false),
            (999, 0.0, false),
            (1000, 0.0, true),
            (1000, 300.0, true),
            (1000, 1000.0, false),
            (3000, 1000.0, true),
            (1000, f64::NAN, true),
            (1000, -5.0, true),
        ] {
            let held = pace(&[("a", woken)], &[("a", rate)]).held().count() == 1;
            assert_eq!(held, is_held, "{woken} woken at {rate} a second");
        }
    }

    #[test]
    fn act_5_what_is_held_back_of_one_flow_keeps_no_other_waiting() {
        let mut pace = pace(&[("big", 100_000), ("some", 998)], &[]);
        let due = [(1, "big"), (2, "some"), (3, "big"), (4, "some"), (5, "some"), (6, "new"), (7, "new")];
        let due = due.map(|(no, flow)| (OrderNo(no), flow));
        assert_eq!(pace.choose(due, 100), [2, 4, 6, 7].map(OrderNo));
        assert_eq!(pace.held().collect::<Vec<_>>(), ["big", "some"]);
        assert_eq!(pace.choose(due, 1), [OrderNo(6)], "no more than were asked for");
    }

    #[test]
    fn act_5_a_million_due_at_once_is_woken_as_it_is_worked_off() {
        let (mut due, mut woken, mut most, mut seconds) = (1_000_000_u64, 0_u64, 0, 0);
        while due > 0 {
            let mut pace = pace(&[("a", woken)], &[("a", 2000.0)]);
            let room = u64::try_from(
                pace.choose((0..due.min(10_000)).map(|no| (OrderNo(no as i64), "a")), 10_000).len(),
            );
            let moved = room.unwrap_or(0);
            due -= moved;
            woken += moved;
            most = most.max(woken);
            // A tenth of a second of work.
            woken -= woken.min(200);
            seconds += 1;
        }
        assert!(most <= 6000, "{most} were woken and not begun");
        assert!(seconds < 5100, "the workers were idle: {seconds} tenths of a second");
    }
}
