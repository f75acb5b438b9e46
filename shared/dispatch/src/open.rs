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

use pagurus_domain::flow::OpenRequests;

use super::Dispatcher;
use super::event::RequestsMoved;
use super::flow::SystemLink;
use super::index::{FlowIndex, SystemIndex};
use super::tally::Promptness;

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
            self.pay_for_requests(flow, system, moved.by);
            let Some(link) = self.link_of(flow, system) else { continue };
            let by = i64::from(moved.by);
            link.open.all.add(by);
            link.open.recent.add(by);
            self.move_system(system, by, by);
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

    /// Charges the places that requests hold, where a limit looks at them.
    fn pay_for_requests(&mut self, flow: FlowIndex, system: SystemIndex, by: i32) {
        let Some(known) = self.systems.get(system) else { return };
        let usual = known.answers.short().quantile(0.5).unwrap_or_default() * 1e6;
        let Some(bounds) = self.flows.get(flow).map(|flow| flow.bounds) else { return };
        let now = self.now;
        let Some(link) = self.link_of(flow, system) else { return };
        let counts = link.promptness == Promptness::Prompt;
        let open = if counts { link.open.recent.value() } else { 0 };
        link.cost.pass(open, now);
        let more = match by {
            ..0 => link.cost.answered(by.unsigned_abs(), open),
            _ if counts => link.cost.sent(by.unsigned_abs(), usual),
            _ => 0.0,
        };
        link.paid = link.paid.saturating_add_signed(bounds.weighed(more as i64));
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
