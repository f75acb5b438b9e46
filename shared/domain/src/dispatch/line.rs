//! The lines in which stages stand: one for each flow, mode, priority and lane; and the turns that the
//! flows take. Must never know what a stage is: it keeps the ends of the lines.
//!
//! Within a line the first come goes first. Among the flows of one mode, priority and lane the one goes
//! next that has waited longest since its last turn. A flow that is shut in a mode, because it has as
//! many in progress as one flow may, stands aside with its lines and is in nobody's way.

use std::collections::BTreeSet;

use super::event::Lane;
use super::flow::FlowIndex;
use super::ready::Slot;
use super::share::Waits;
use crate::order::{Mode, Priority};

/// Stands for the end of a line.
pub(super) const NONE: Slot = u32::MAX;

/// Which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineKey {
    /// The flow.
    pub(super) flow: FlowIndex,
    /// Parallel or sequential.
    pub(super) mode: Mode,
    /// How urgent.
    pub(super) priority: Priority,
    /// Fresh or woken.
    pub(super) lane: Lane,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    first: Slot,
    last: Slot,
    /// Its place among the turns; none while it is empty or its flow is shut.
    turn: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct FlowLines {
    lines: [[[Line; 2]; 3]; 2],
    shut: [bool; 2],
}

const EMPTY: FlowLines =
    FlowLines { lines: [[[Line { first: NONE, last: NONE, turn: None }; 2]; 3]; 2], shut: [false; 2] };

/// Flows by their turn.
type Turns = BTreeSet<(u64, FlowIndex)>;

/// All lines.
#[derive(Debug)]
pub(super) struct Lines {
    /// By number of the flow; the numbers are used again, so there are as many as there were flows at once.
    flows: Vec<FlowLines>,
    /// The flows that may go, longest without a turn first.
    turns: [[[Turns; 2]; 3]; 2],
    last_turn: u64,
}

impl Lines {
    /// All empty.
    pub(super) fn new() -> Self {
        let turns = Default::default();
        Self { flows: Vec::new(), turns, last_turn: 0 }
    }

    /// Who stands first and last in a line.
    pub(super) fn ends(&self, key: LineKey) -> (Slot, Slot) {
        self.flows.get(key.flow as usize).map_or((NONE, NONE), |flow| {
            let line = flow.lines[key.mode as usize][key.priority as usize][key.lane as usize];
            (line.first, line.last)
        })
    }

    /// Changes who stands first and last in a line; both are none when it becomes empty.
    pub(super) fn set_ends(&mut self, key: LineKey, (first, last): (Slot, Slot)) {
        let line = self.line(key);
        (line.first, line.last) = (first, last);
        self.settle(key);
    }

    /// Who goes next of this mode, priority and lane.
    pub(super) fn next(&self, mode: Mode, priority: Priority, lane: Lane) -> Option<Slot> {
        let (_, flow) = *self.turns[mode as usize][priority as usize][lane as usize].first()?;
        Some(self.ends(LineKey { flow, mode, priority, lane }).0)
    }

    /// The flow had its turn: the others of its mode, priority and lane come before it now.
    pub(super) fn pass(&mut self, key: LineKey) {
        self.leave_turns(key);
        self.settle(key);
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
    #[cfg(test)]
    pub(super) fn is_shut(&self, flow: FlowIndex, mode: Mode) -> bool {
        self.flows.get(flow as usize).is_some_and(|flow| flow.shut[mode as usize])
    }

    /// In which lines of this mode somebody stands who may go.
    pub(super) fn waits(&self, mode: Mode) -> Waits {
        self.turns[mode as usize].each_ref().map(|lanes| lanes.each_ref().map(|turns| !turns.is_empty()))
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

    fn line(&mut self, key: LineKey) -> &mut Line {
        &mut self.flow(key.flow).lines[key.mode as usize][key.priority as usize][key.lane as usize]
    }

    fn turns(&mut self, key: LineKey) -> &mut Turns {
        &mut self.turns[key.mode as usize][key.priority as usize][key.lane as usize]
    }

    /// Gives a line a turn, or takes it, as it should have one or not.
    fn settle(&mut self, key: LineKey) {
        let shut = self.flow(key.flow).shut[key.mode as usize];
        let line = *self.line(key);
        match (line.first != NONE && !shut, line.turn) {
            (true, None) => {
                self.last_turn += 1;
                let turn = self.last_turn;
                self.line(key).turn = Some(turn);
                self.turns(key).insert((turn, key.flow));
            }
            (false, Some(_)) => self.leave_turns(key),
            (true, Some(_)) | (false, None) => {}
        }
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
                lines.pass(key(flow));
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
        assert_eq!(lines.waits(Mode::Parallel), [[false; 2]; 3]);
    }
}
