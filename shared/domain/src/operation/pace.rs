//! Pace of operations (REC-12): no more of a flow is made ready than it has room for. A flow without a limit has much; one
//! with a limit has some seconds of what it can take; one that an operator has stopped has none.

use std::collections::BTreeMap;

use crate::flow::{FlowRecord, FlowState};

/// Ready stages of a flow beyond which an operation adds no more of it: some seconds of work of a busy flow.
pub const MOST_READY: u64 = 2000;
/// Ready stages that a flow has room for whose system is away: enough to try it.
const WHILE_AWAY: u64 = 20;
/// Seconds of its work that may be ready of a flow with a limit.
const AHEAD: f64 = 3.0;

/// Orders of each flow with a limit that operations may make ready. Other flows have room for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationPace {
    rooms: BTreeMap<String, u64>,
}

impl OperationPace {
    /// Returns the pace for these flows that are held back, with the orders of each that were moved on since that was
    /// written.
    #[must_use]
    pub fn of(flows: &[FlowRecord], moved_on: &BTreeMap<String, u64>) -> Self {
        let rooms = flows.iter().filter_map(|flow| {
            let room = most_ready(flow);
            let taken = u64::from(flow.ready.sum()) + moved_on.get(&flow.flow).copied().unwrap_or(0);
            (room < MOST_READY).then(|| (flow.flow.clone(), room.saturating_sub(taken)))
        });
        Self { rooms: rooms.collect() }
    }

    /// The flows of which nothing more is to be made ready now.
    pub fn full(&self) -> impl Iterator<Item = &str> {
        self.rooms.iter().filter(|(_, room)| **room == 0).map(|(flow, _)| flow.as_str())
    }

    /// True if one more order of this flow may go on, which takes its room.
    pub fn takes(&mut self, flow: &str) -> bool {
        match self.rooms.get_mut(flow) {
            None => true,
            Some(0) => false,
            Some(room) => {
                *room -= 1;
                true
            }
        }
    }
}

/// Ready stages of a flow from which on operations add no more of it.
#[must_use]
pub fn most_ready(flow: &FlowRecord) -> u64 {
    let by_limit = |limit: u32| {
        // A rate is finite and small; what is none counts as 0.
        let ahead = (flow.throughput * AHEAD).clamp(0.0, MOST_READY as f64);
        let ahead = if ahead.is_nan() { 0 } else { ahead as u64 };
        (2 * u64::from(limit)).max(ahead).clamp(1, MOST_READY)
    };
    match (flow.state, flow.limit) {
        (FlowState::DisabledManually, _) => 0,
        (FlowState::Stopped | FlowState::Probing, _) => WHILE_AWAY,
        (FlowState::Enabled | FlowState::Limited, Some(limit)) => by_limit(limit),
        (FlowState::Enabled | FlowState::Limited, None) => MOST_READY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::ByPriority;

    fn flow(state: FlowState, limit: Option<u32>, throughput: f64) -> FlowRecord {
        FlowRecord { flow: "f".to_owned(), state, limit, throughput, ..FlowRecord::default() }
    }

    #[test]
    fn rec_12_an_operation_makes_no_more_of_a_flow_ready_than_it_has_room_for() {
        use FlowState::{DisabledManually, Enabled, Limited, Probing, Stopped};
        for (state, limit, throughput, most) in [
            (Enabled, None, 0.0, 2000),
            (Enabled, None, 5000.0, 2000),
            (Limited, None, 10.0, 2000),
            (Limited, Some(5), 0.0, 10),
            (Limited, Some(5), 20.0, 60),
            (Limited, Some(400), 20.0, 800),
            (Limited, Some(5000), 20.0, 2000),
            (Limited, Some(5), 1e12, 2000),
            (Limited, Some(0), 0.0, 1),
            (Limited, Some(5), f64::NAN, 10),
            (Stopped, Some(5), 100.0, 20),
            (Stopped, None, 0.0, 20),
            (Probing, None, 0.0, 20),
            (DisabledManually, Some(500), 100.0, 0),
        ] {
            assert_eq!(most_ready(&flow(state, limit, throughput)), most, "{state} {limit:?} {throughput}");
        }
    }

    #[test]
    fn rec_12_what_is_ready_and_what_was_moved_on_since_count_against_the_room() {
        let limited = FlowRecord {
            ready: ByPriority { normal: 6, ..ByPriority::default() },
            ..flow(FlowState::Limited, Some(5), 0.0)
        };
        let free = FlowRecord { flow: "free".to_owned(), ..FlowRecord::default() };
        let moved_on = BTreeMap::from([("f".to_owned(), 2), ("free".to_owned(), 1_000_000)]);
        let mut pace = OperationPace::of(&[limited, free], &moved_on);
        assert_eq!(pace.full().count(), 0);
        assert!(pace.takes("f") && pace.takes("f"));
        assert_eq!(pace.full().collect::<Vec<_>>(), ["f"]);
        assert!(!pace.takes("f"));
        assert!(pace.takes("free") && pace.takes("unknown"));
    }
}
