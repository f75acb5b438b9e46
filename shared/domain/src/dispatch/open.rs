//! Requests that were sent and are unanswered: counted by news, held against the rows, and weighed where a limit looks at
//! them. Must never hand anything out.
//!
//! News says at once how many there are more or fewer, but it may be lost, doubled, or missing for a way in which a wait can
//! end. So the rows are counted all the time. A count is compared with what was known when it began, and only a difference
//! that two counts in a row agree on is an error: any other is news under way.
//!
//! A limit looks at open requests only where it adapts, and only at systems that answer within the time in which a limit can
//! react: what people answer after hours says nothing of how much a system can take now. For the same reason it looks at
//! the requests of that time alone. While a system has answered none, its requests hold nobody back, and yet a failure is
//! put down to all of them.

use std::collections::HashMap;

use super::Dispatcher;
use super::event::{OpenRequests, RequestsMoved};
use super::flow::{Flow, FlowIndex, SystemLink};
use super::system::{System, SystemIndex};

/// A number that news moves and counted rows correct.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Below zero for a moment where an answer is heard of before its request.
    count: i64,
    /// The number when the rows began to be counted.
    marked: i64,
    /// Difference that the last count showed and that was not corrected.
    doubt: i64,
}

impl Tally {
    /// The number.
    pub(super) fn value(self) -> u32 {
        u32::try_from(self.count.max(0)).unwrap_or(u32::MAX)
    }

    /// Takes what belongs to another away.
    pub(super) const fn subtract(&mut self, other: Self) {
        self.add(-other.count);
    }

    /// Moves it by what news says.
    pub(super) const fn add(&mut self, by: i64) {
        self.count = self.count.saturating_add(by);
    }

    /// The rows begin to be counted now.
    const fn mark(&mut self) {
        self.marked = self.count;
    }

    /// Corrects by the rows counted since the mark what two counts agree on, or all of it. Returns the correction.
    fn correct(&mut self, rows: u32, is_first: bool) -> i64 {
        let difference = i64::from(rows).saturating_sub(self.marked);
        let correction = match (is_first, difference.signum() == self.doubt.signum()) {
            (true, _) => difference,
            (false, true) => difference.signum() * difference.abs().min(self.doubt.abs()),
            (false, false) => 0,
        };
        self.doubt = difference - correction;
        self.add(correction);
        correction
    }
}

/// Time in which a system answers requests, beside the time in which a limit can react.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Promptness {
    /// No answer yet, and no wait longer than that.
    #[default]
    Unknown,
    /// Half of the answers within that time.
    Prompt,
    /// Slower: people or partners answer.
    Late,
}

/// Open requests of a flow at a system.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenTally {
    /// All of them.
    pub(super) all: Tally,
    /// Requests that were sent within the time in which a limit can react.
    pub(super) recent: Tally,
}

impl Flow {
    /// Requests that were sent and are unanswered.
    pub(super) fn open_requests(&self) -> u32 {
        self.links.iter().map(|link| link.open.all.value()).sum()
    }

    /// The open requests that count against its limit.
    pub(super) fn counted_requests(&self) -> u32 {
        self.recent_requests(|promptness| promptness == Promptness::Prompt)
    }

    /// The open requests that its systems may be at work on.
    pub(super) fn pressing_requests(&self) -> u32 {
        self.recent_requests(|promptness| promptness != Promptness::Late)
    }

    fn recent_requests(&self, counts: impl Fn(Promptness) -> bool) -> u32 {
        let counted = self.links.iter().filter(|link| self.bounds.adapts && counts(link.promptness));
        counted.map(|link| link.open.recent.value()).sum()
    }
}

impl System {
    /// The open requests that count against its limit.
    pub(super) fn counted_requests(&self) -> u32 {
        let counts = self.promptness == Promptness::Prompt && self.bounds.adapts;
        if counts { self.open.recent.value() } else { 0 }
    }

    /// The open requests that it may be at work on.
    pub(super) fn pressing_requests(&self) -> u32 {
        let presses = self.promptness != Promptness::Late && self.bounds.adapts;
        if presses { self.open.recent.value() } else { 0 }
    }

    /// Judges how promptly it answers, beside this time in seconds.
    fn look_at_answers(&self, within: f64) -> Promptness {
        let median = self.answers.short().quantile(0.5).or_else(|| self.answers.long().quantile(0.5));
        match median {
            Some(seconds) if seconds <= within => Promptness::Prompt,
            Some(_) => Promptness::Late,
            None if self.open.all.value() > self.open.recent.value() => Promptness::Late,
            None => Promptness::Unknown,
        }
    }
}

impl Dispatcher {
    /// The rows begin to be counted.
    pub(super) fn mark_requests(&mut self) {
        for link in self.flows.iter_mut().flat_map(|(_, flow)| &mut flow.links) {
            link.open.all.mark();
            link.open.recent.mark();
        }
        self.are_requests_marked = true;
    }

    /// All requests that were open when they began to be counted.
    pub(super) fn open_requests(&mut self, rows: &[OpenRequests]) {
        let is_first = !std::mem::replace(&mut self.are_requests_marked, true);
        let mut counted: HashMap<(FlowIndex, SystemIndex), (u32, u32)> = HashMap::new();
        for row in rows {
            let flow = self.enter_flow(&row.flow);
            let Some(system) = self.enter_system(&row.system) else { continue };
            self.link(flow, system);
            counted.insert((flow, system), (row.open, row.recent));
        }
        let flows: Vec<FlowIndex> = self.flows.iter().map(|(index, _)| index).collect();
        let mut corrected = 0;
        for index in flows {
            let links = self.flows.get(index).map_or(0, |flow| flow.links.len());
            for at in 0..links {
                let Some(link) = self.flows.get_mut(index).and_then(|flow| flow.links.get_mut(at)) else {
                    continue;
                };
                let system = link.system;
                let (open, recent) = counted.get(&(index, system)).copied().unwrap_or_default();
                let all = link.open.all.correct(open, is_first);
                let recent = link.open.recent.correct(recent, is_first);
                corrected += if is_first { 0 } else { all.unsigned_abs() };
                if (all, recent) != (0, 0) {
                    self.move_system(system, all, recent);
                    self.requests_changed(index, system);
                }
            }
        }
        self.requests_corrected = corrected;
    }

    /// Requests were sent, or are not open any more.
    pub(super) fn requests_moved(&mut self, moves: &[RequestsMoved]) {
        for moved in moves {
            let flow = self.enter_flow(&moved.flow);
            let Some(system) = self.enter_system(&moved.system) else { continue };
            self.link(flow, system);
            let Some(link) = self.link_of(flow, system) else { continue };
            let by = i64::from(moved.by);
            link.open.all.add(by);
            link.open.recent.add(by);
            self.move_system(system, by, by);
            self.pay_for_requests(flow, system, moved.by);
            self.requests_changed(flow, system);
        }
    }

    /// Systems may have become more prompt, or less.
    pub(super) fn look_at_answers(&mut self) {
        let within = self.settings.flows.open_requests_within.as_secs_f64();
        for index in self.systems.all() {
            let Some(system) = self.systems.get_mut(index) else { continue };
            let promptness = system.look_at_answers(within);
            if promptness == std::mem::replace(&mut system.promptness, promptness) {
                continue;
            }
            let flows: Vec<FlowIndex> = system.flows.iter().copied().collect();
            for flow in flows {
                if let Some(link) = self.link_of(flow, index) {
                    link.promptness = promptness;
                }
                self.requests_changed(flow, index);
            }
        }
    }

    /// Requests that are open, as far as is known.
    #[must_use]
    pub fn known_requests(&self) -> u32 {
        self.flows.iter().map(|(_, flow)| flow.open_requests()).sum()
    }

    /// Differences between the rows and what was known, as the last count corrected them.
    #[must_use]
    pub const fn requests_corrected(&self) -> u64 {
        self.requests_corrected
    }

    fn link_of(&mut self, flow: FlowIndex, system: SystemIndex) -> Option<&mut SystemLink> {
        self.flows.get_mut(flow)?.links.iter_mut().find(|link| link.system == system)
    }

    fn move_system(&mut self, system: SystemIndex, all: i64, recent: i64) {
        if let Some(system) = self.systems.get_mut(system) {
            system.open.all.add(all);
            system.open.recent.add(recent);
        }
    }

    /// Each request holds its place until it is answered, which nobody knows before.
    fn pay_for_requests(&mut self, flow: FlowIndex, system: SystemIndex, by: i32) {
        let Some(known) = self.systems.get(system).filter(|_| by > 0) else {
            return;
        };
        let median = known.answers.short().quantile(0.5);
        let held = median.map_or(0.0, |seconds| seconds * 1e6 * f64::from(by));
        let Some(bounds) = self.flows.get(flow).map(|flow| flow.bounds) else { return };
        if let Some(link) = self.link_of(flow, system) {
            link.paid = link.paid.saturating_add_signed(bounds.weighed(held as i64));
        }
    }

    fn requests_changed(&mut self, index: FlowIndex, system: SystemIndex) {
        if let Some(flow) = self.flows.get_mut(index) {
            let load = flow.load();
            flow.control.used(load);
        }
        if let Some(system) = self.systems.get_mut(system) {
            let load = system.load();
            system.control.used(load);
        }
        self.flow_changed(index);
        self.system_changed(system);
        self.freed(index);
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn inv_36_news_under_way_is_no_error_and_what_two_counts_agree_on_is_one() {
        let mut tally = Tally::default();
        tally.mark();
        assert_eq!(tally.correct(7, true), 7, "a new dispatcher goes by the rows");
        // One was sent and is in the rows; its news is still under way.
        tally.mark();
        assert_eq!(tally.correct(8, false), 0);
        tally.add(1);
        tally.mark();
        assert_eq!((tally.correct(8, false), tally.value()), (0, 8));
        // Five waits were ended by somebody who said nothing, and three more are sent meanwhile.
        for expected in [0, -5] {
            tally.mark();
            tally.add(3);
            assert_eq!(tally.correct(tally.marked as u32 - 5, false), expected);
        }
        assert_eq!(tally.value(), 9);
        // An answer is heard of before its request.
        let mut tally = Tally::default();
        tally.add(-1);
        assert_eq!(tally.value(), 0);
        tally.add(1);
        assert_eq!(tally.value(), 0);
    }
}
