//! The lines in which stages stand: one for each flow, mode, priority and lane; and the turns that the
//! flows take. Must never know what a stage is: it keeps the ends of the lines.
//!
//! Within a line the first come goes first. Among the flows of one mode, priority and lane the one goes
//! next that has waited longest since its last turn; or, where flows share by time, the one whose stages
//! of this priority have taken the least time (start-time fair queueing, Goyal, Vin and Cheng 1996). A flow
//! that is shut in a mode stands aside with its lines and is in nobody's way.

use std::collections::BTreeSet;

use pagurus_domain::order::{Mode, Priority};

use super::event::Lane;
use super::index::{FlowIndex, StageSlot};
use super::share::WaitingLines;

/// Stands for the end of a line.
pub(super) const NONE: StageSlot = u32::MAX;

/// Key of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineKey {
    /// The flow.
    pub(super) flow: FlowIndex,
    /// Parallel or sequential.
    pub(super) mode: Mode,
    /// Priority.
    pub(super) priority: Priority,
    /// Fresh or woken.
    pub(super) lane: Lane,
}

#[derive(Clone, Copy, Debug)]
struct ReadyLine {
    first: StageSlot,
    last: StageSlot,
    /// Place among the turns; `None` while it is empty or its flow is shut.
    turn: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct FlowLines {
    lines: [[[ReadyLine; 2]; 3]; 2],
    shut: [bool; 2],
    /// Position of the flow in the time of each priority, in microseconds; used only where flows share by time.
    spent: [u64; 3],
}

const EMPTY: FlowLines = FlowLines {
    lines: [[[ReadyLine { first: NONE, last: NONE, turn: None }; 2]; 3]; 2],
    shut: [false; 2],
    spent: [0; 3],
};

/// Lines that a stage may go from: by mode and lane in the order of their declaration.
pub(super) type OpenLines = [[bool; 2]; 2];

/// Flows by their turn.
type FlowTurns = BTreeSet<(u64, FlowIndex)>;

/// All lines.
#[derive(Debug)]
pub(super) struct Lines {
    /// By number of the flow; the numbers are used again, so there are as many as there were flows at once.
    flows: Vec<FlowLines>,
    /// The flows that may go, longest without a turn first.
    turns: [[[FlowTurns; 2]; 3]; 2],
    last_turn: u64,
    /// True while flows share by time and not by turns.
    by_time: bool,
    /// The present time of each priority: that of the flow that went last. A newcomer starts there.
    present: [u64; 3],
}

impl Lines {
    /// All empty.
    pub(super) fn new() -> Self {
        let turns = Default::default();
        Self { flows: Vec::new(), turns, last_turn: 0, by_time: false, present: [0; 3] }
    }

    /// Who stands first and last in a line.
    pub(super) fn ends(&self, key: LineKey) -> (StageSlot, StageSlot) {
        self.flows.get(key.flow as usize).map_or((NONE, NONE), |flow| {
            let line = flow.lines[key.mode as usize][key.priority as usize][key.lane as usize];
            (line.first, line.last)
        })
    }

    /// Changes who stands first and last in a line; both are none when it becomes empty.
    pub(super) fn set_ends(&mut self, key: LineKey, (first, last): (StageSlot, StageSlot)) {
        let line = self.line(key);
        (line.first, line.last) = (first, last);
        self.settle(key);
    }

    /// Who goes next of this mode, priority and lane.
    pub(super) fn next(&self, mode: Mode, priority: Priority, lane: Lane) -> Option<StageSlot> {
        let (_, flow) = *self.turns[mode as usize][priority as usize][lane as usize].first()?;
        Some(self.ends(LineKey { flow, mode, priority, lane }).0)
    }

    /// Returns the open lines of the flow that has taken the least time of this priority.
    pub(super) fn cheapest(&self, priority: Priority, open: OpenLines) -> OpenLines {
        let first = |mode: usize, lane: usize| match open[mode][lane] {
            true => self.turns[mode][priority as usize][lane].first(),
            false => None,
        };
        let cheapest = (0..4).filter_map(|index| first(index / 2, index % 2)).min();
        [0, 1].map(|mode| [0, 1].map(|lane| cheapest.is_some() && first(mode, lane) == cheapest))
    }

    /// Notes that the flow had its turn, for a stage that is expected to take `expected` microseconds: the others of its
    /// mode, priority and lane come before it now.
    pub(super) fn pass(&mut self, key: LineKey, expected: u64) {
        if self.by_time {
            let present = &mut self.present[key.priority as usize];
            *present = self.flows[key.flow as usize].spent[key.priority as usize].max(*present);
            self.charge(key.flow, key.priority, i64::try_from(expected).unwrap_or(i64::MAX));
        } else {
            self.leave_turns(key);
            self.settle(key);
        }
    }

    /// Charges the microseconds that a stage of the flow took more or less than it was expected to.
    pub(super) fn charge(&mut self, flow: FlowIndex, priority: Priority, more: i64) {
        let spent = &mut self.flow(flow).spent[priority as usize];
        *spent = spent.saturating_add_signed(more);
        let spent = *spent;
        if !self.by_time {
            return;
        }
        for mode in Mode::ALL {
            for lane in Lane::ALL {
                let key = LineKey { flow, mode: *mode, priority, lane: *lane };
                if self.line(key).turn.is_some() {
                    self.leave_turns(key);
                    self.line(key).turn = Some(spent);
                    self.turns(key).insert((spent, flow));
                }
            }
        }
    }

    /// Lets flows share by time from now on, or by turns. All of them start again, in the order in which they stand.
    pub(super) fn share_by_time(&mut self, by_time: bool) {
        if self.by_time == by_time {
            return;
        }
        self.by_time = by_time;
        let present = self.present;
        self.flows.iter_mut().for_each(|flow| flow.spent = present);
        for mode in Mode::ALL {
            for priority in Priority::ALL {
                for lane in Lane::ALL {
                    let key = |flow| LineKey { flow, mode: *mode, priority: *priority, lane: *lane };
                    let turns = std::mem::take(self.turns(key(0)));
                    for (_, flow) in turns {
                        self.line(key(flow)).turn = None;
                        self.settle(key(flow));
                    }
                }
            }
        }
    }

    /// The number of this flow is another's from now on.
    pub(super) fn forget(&mut self, flow: FlowIndex) {
        if let Some(lines) = self.flows.get_mut(flow as usize) {
            debug_assert!(lines.lines.iter().flatten().flatten().all(|line| line.first == NONE));
            *lines = EMPTY;
        }
    }

    /// True if a flow stands aside with its stages of this mode.
    pub(super) fn shut(&mut self, flow: FlowIndex, mode: Mode, shut: bool) {
        if self.flow(flow).shut[mode as usize] == shut {
            return;
        }
        self.flow(flow).shut[mode as usize] = shut;
        for priority in Priority::ALL {
            for lane in Lane::ALL {
                self.settle(LineKey { flow, mode, priority: *priority, lane: *lane });
            }
        }
    }

    /// True if it does.
    pub(super) fn is_shut(&self, flow: FlowIndex, mode: Mode) -> bool {
        self.flows.get(flow as usize).is_some_and(|flow| flow.shut[mode as usize])
    }

    /// In which lines of these modes somebody stands who may go.
    pub(super) fn waits(&self, open: OpenLines) -> WaitingLines {
        [0, 1, 2].map(|priority| {
            [0, 1].map(|mode| {
                [0, 1].map(|lane| open[mode][lane] && !self.turns[mode][priority][lane].is_empty())
            })
        })
    }

    /// Bytes held, but for the turns of the few flows that may go.
    pub(super) fn bytes(&self) -> usize {
        self.flows.capacity() * size_of::<FlowLines>()
    }

    fn flow(&mut self, flow: FlowIndex) -> &mut FlowLines {
        let index = flow as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, EMPTY);
        }
        &mut self.flows[index]
    }

    fn line(&mut self, key: LineKey) -> &mut ReadyLine {
        &mut self.flow(key.flow).lines[key.mode as usize][key.priority as usize][key.lane as usize]
    }

    fn turns(&mut self, key: LineKey) -> &mut FlowTurns {
        &mut self.turns[key.mode as usize][key.priority as usize][key.lane as usize]
    }

    /// Gives a line a turn, or takes it, as it should have one or not.
    fn settle(&mut self, key: LineKey) {
        let shut = self.flow(key.flow).shut[key.mode as usize];
        let line = *self.line(key);
        match (line.first != NONE && !shut, line.turn) {
            (true, None) => {
                let turn = self.next_turn(key);
                self.line(key).turn = Some(turn);
                self.turns(key).insert((turn, key.flow));
            }
            (false, Some(_)) => self.leave_turns(key),
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The turn of a line that begins to take turns.
    fn next_turn(&mut self, key: LineKey) -> u64 {
        if self.by_time {
            let present = self.present[key.priority as usize];
            let spent = &mut self.flow(key.flow).spent[key.priority as usize];
            *spent = present.max(*spent);
            return *spent;
        }
        self.last_turn += 1;
        self.last_turn
    }

    fn leave_turns(&mut self, key: LineKey) {
        if let Some(turn) = self.line(key).turn.take() {
            self.turns(key).remove(&(turn, key.flow));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(flow: FlowIndex) -> LineKey {
        LineKey { flow, mode: Mode::Parallel, priority: Priority::Normal, lane: Lane::Fresh }
    }

    /// The flows that get the next turns, each with one stage after the other in its line.
    fn turns(lines: &mut Lines, count: usize) -> Vec<FlowIndex> {
        (0..count)
            .map_while(|_| {
                let flow = lines.next(Mode::Parallel, Priority::Normal, Lane::Fresh)?;
                lines.pass(key(flow), 0);
                Some(flow)
            })
            .collect()
    }

    #[test]
    fn dsp_4_flows_take_turns_and_one_that_is_shut_is_in_nobodys_way() {
        let mut lines = Lines::new();
        for flow in [0, 1, 2] {
            // The slot that stands first is the number of its flow here.
            lines.set_ends(key(flow), (flow, flow));
        }
        assert_eq!(turns(&mut lines, 5), [0, 1, 2, 0, 1]);
        lines.shut(0, Mode::Parallel, true);
        lines.shut(0, Mode::Sequential, true);
        assert_eq!(turns(&mut lines, 4), [2, 1, 2, 1]);
        lines.shut(0, Mode::Parallel, false);
        assert_eq!(turns(&mut lines, 3), [2, 1, 0]);
        lines.set_ends(key(1), (NONE, NONE));
        lines.set_ends(key(2), (NONE, NONE));
        assert_eq!(turns(&mut lines, 2), [0, 0]);
        lines.shut(0, Mode::Parallel, true);
        assert!(turns(&mut lines, 1).is_empty());
        assert_eq!(lines.waits([[true; 2]; 2]), [[[false; 2]; 2]; 3]);
    }

    #[test]
    fn dsp_5_flows_that_share_by_time_get_equal_time_and_newcomers_save_up_nothing() {
        let mut lines = Lines::new();
        lines.share_by_time(true);
        for flow in [0, 1] {
            lines.set_ends(key(flow), (flow, flow));
        }
        let mut counts = [0_usize; 3];
        let mut go = |lines: &mut Lines, count: usize| {
            counts = [0; 3];
            for _ in 0..count {
                let flow = lines.next(Mode::Parallel, Priority::Normal, Lane::Fresh).unwrap_or(NONE);
                counts[flow as usize] += 1;
                // The stages of flow 0 take nine times as long.
                lines.pass(key(flow), if flow == 0 { 9000 } else { 1000 });
            }
            counts
        };
        assert_eq!(go(&mut lines, 100), [10, 90, 0]);
        lines.set_ends(key(2), (2, 2));
        let [slow, fast, newcomer] = go(&mut lines, 190);
        assert!(fast.abs_diff(newcomer) <= 2 && slow.abs_diff(10) <= 1, "{slow} {fast} {newcomer}");
        // A stage that took ten seconds more than expected costs its flow so much of the others' time.
        lines.charge(2, Priority::Normal, 10_000_000);
        assert_eq!(go(&mut lines, 100)[2], 0);
        lines.charge(2, Priority::Normal, -10_000_000);
        lines.share_by_time(false);
        assert_eq!(turns(&mut lines, 6).iter().filter(|flow| **flow == 2).count(), 2);
    }
}
