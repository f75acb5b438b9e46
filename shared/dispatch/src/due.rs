//! Flows that wait for a place at one called system: who is due next. Must never hand out a place that is not there.
//!
//! The flows of a system share its limit by weight. Each pays for a stage the time for which it is expected to hold its
//! place, divided by the weight of the flow, and the difference when it ends; who has paid least is due (start-time fair
//! queueing, Goyal, Vin and Cheng 1996). A flow that had nothing to do starts at the present time of the others, so it has
//! saved up nothing. One flow of each priority tries at a time: else the turns of the lines would decide, and not the
//! weight.

use pagurus_domain::order::Priority;

use super::Dispatcher;
use super::flow::{Flow, SystemLink};
use super::index::{FlowIndex, StageSlot, SystemIndex};
use super::ready::DispatchStage;
use super::system::{DueKey, System};

impl Dispatcher {
    /// Lets the flow of each priority try that is due of those that stand aside because of the limit of a system, if it
    /// has a place; all of them where it has no limit any more.
    pub(super) fn unblock(&mut self, system: SystemIndex) {
        let mut others = Vec::new();
        self.unblock_at(system, &mut others);
        let mut next = 0;
        while let Some(other) = others.get(next).copied() {
            self.unblock_at(other, &mut others);
            next += 1;
        }
    }

    /// The same at one system. A flow that tried may stand aside because of another system from now on, and it may be the
    /// one that was due there: somebody else's turn has come at those `others`. Each is named once, so that this ends.
    fn unblock_at(&mut self, system: SystemIndex, others: &mut Vec<SystemIndex>) {
        let Some(known) = self.systems.get(system) else { return };
        let all = known.limit().is_none();
        for priority in Priority::ALL {
            if !all && self.is_tried(system, *priority) {
                continue;
            }
            while let Some(index) = self.systems.get_mut(system).and_then(|system| system.next_due(*priority))
            {
                let Some(flow) = self.flows.get_mut(index).filter(|flow| flow.blocked_by == Some(system))
                else {
                    continue;
                };
                flow.blocked_by = None;
                self.judge(index);
                let elsewhere = self.flows.get(index).and_then(|flow| flow.blocked_by);
                others.extend(elsewhere.filter(|other| *other != system && !others.contains(other)));
                if !all && self.can_go(index) {
                    break;
                }
            }
        }
    }

    /// A flow stands aside because of a system, or does not any more.
    pub(super) fn block(&mut self, index: FlowIndex, by: Option<SystemIndex>) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        let before = std::mem::replace(&mut flow.blocked_by, by);
        if let Some((_, key)) = flow.rank
            && let Some(system) = before.and_then(|before| self.systems.get_mut(before))
        {
            system.leave(index, key);
        }
        let Some((at, system)) = by.and_then(|by| Some((by, self.systems.get_mut(by)?))) else { return };
        // Who tried in vain keeps its place until it has gone.
        self.ranks += 1;
        let (of, key) = flow.rank.unwrap_or((at, (0, self.ranks)));
        let key = if of == at && flow.rank.is_some() { key } else { (lift(flow, at, system), key.1) };
        flow.rank = Some((at, key));
        system.block(index, most_urgent(flow), key);
    }

    /// A flow has one stage more of this priority. Where that is its first, and it waits for a place, it waits among those
    /// of its most urgent work from now on.
    pub(super) fn file_again(&mut self, index: FlowIndex, priority: Priority) {
        let Some(flow) = self.flows.get(index).filter(|flow| flow.waiting[priority as usize] == 1) else {
            return;
        };
        if flow.blocked_by.is_some() {
            self.block(index, flow.blocked_by);
        }
    }

    /// True if no other flow is before this one at a system that it calls.
    pub(super) fn is_due(&self, index: FlowIndex, flow: &Flow, link: &SystemLink) -> bool {
        let Some(system) = self.systems.get(link.system).filter(|system| system.limit().is_some()) else {
            return true;
        };
        let priority = most_urgent(flow);
        let own = key_of(flow, link.system, system);
        if system.first_due(priority).is_some_and(|first| first < own) {
            return false;
        }
        let Some(other) = system.trying(priority).filter(|other| *other != index) else { return true };
        let tries = |other: &&Flow| other.blocked_by.is_none() && key_of(other, link.system, system) < own;
        self.flows.get(other).filter(tries).is_none() || !self.can_go(other)
    }

    /// Charges the flow of a stage that is about to be handed out, and is expected to take `micros` microseconds, for a place
    /// at each of its systems. Returns the cost, by its weight.
    pub(super) fn pay(&mut self, index: FlowIndex, micros: u64) -> u64 {
        let Some(flow) = self.flows.get_mut(index) else { return micros };
        let cost = flow.bounds.weighed(i64::try_from(micros).unwrap_or(i64::MAX)).unsigned_abs();
        for place in 0..flow.links.len() {
            let at = flow.links[place].system;
            if flow.links[place].is_called_rarely(flow) {
                continue;
            }
            let Some(system) = self.systems.get_mut(at) else { continue };
            let begin = key_of(flow, at, system).0;
            // Charges since it took its place in the row stay.
            let paid = if is_ranked(flow, at) { flow.links[place].paid } else { begin };
            system.present = begin.max(system.present);
            flow.links[place].paid = paid.saturating_add(cost);
        }
        cost
    }

    /// Charges the microseconds that a stage took more, or less, than was paid for.
    pub(super) fn charge(&mut self, stage: &DispatchStage, micros: i64) {
        let Some(flow) = self.flows.get_mut(stage.flow) else { return };
        let more = flow.bounds.weighed(micros);
        for place in 0..flow.links.len() {
            if !flow.links[place].is_called_rarely(flow) {
                flow.links[place].paid = flow.links[place].paid.saturating_add_signed(more);
            }
        }
        self.waiting.lines().charge(stage.flow, stage.priority, more);
    }

    /// A flow has one stage less that waits. Where that was its last, the place for which it was due is another's.
    pub(super) fn left_line(&mut self, index: FlowIndex) {
        if self.flows.get(index).is_some_and(|flow| flow.waiting == [0; 3] && !flow.links.is_empty()) {
            self.freed(index);
        }
    }

    /// True if a flow that was due may go, and has not gone yet.
    fn is_tried(&self, system: SystemIndex, priority: Priority) -> bool {
        let trying = self.systems.get(system).and_then(|system| system.trying(priority));
        trying.is_some_and(|index| {
            self.flows.get(index).is_some_and(|flow| flow.blocked_by.is_none()) && self.can_go(index)
        })
    }

    /// True if a stage of a flow may be handed out now, but for the nodes.
    fn can_go(&self, index: FlowIndex) -> bool {
        let may = |slot: StageSlot| {
            let stage = self.waiting.stage(slot);
            let mode = stage.mode();
            let is_open = !self.waiting.is_shut(index, mode) && self.admits_lane(stage.lane);
            is_open && self.settings.capacity.admits(mode, self.progress.of_mode(mode))
        };
        self.waiting.heads(index).any(may)
    }
}

/// Returns the place of a flow among those that share the limit of a system.
fn key_of(flow: &Flow, at: SystemIndex, system: &System) -> DueKey {
    match flow.rank {
        Some((of, key)) if of == at => key,
        _ => (begin(flow, at, system), u64::MAX),
    }
}

/// The time at which the next stage of a flow begins, in that of the places of a system.
fn begin(flow: &Flow, at: SystemIndex, system: &System) -> u64 {
    let paid = flow.links.iter().find(|link| link.system == at).map_or(0, |link| link.paid);
    paid.max(system.present)
}

/// The same, for a flow that takes its place in the row from now on: it has no claim to a time that has passed.
fn lift(flow: &mut Flow, at: SystemIndex, system: &System) -> u64 {
    let begin = begin(flow, at, system);
    flow.links.iter_mut().filter(|link| link.system == at).for_each(|link| link.paid = begin);
    begin
}

fn is_ranked(flow: &Flow, at: SystemIndex) -> bool {
    flow.rank.is_some_and(|(of, _)| of == at)
}

fn most_urgent(flow: &Flow) -> Priority {
    let waits = |priority: &&Priority| flow.waiting[**priority as usize] > 0;
    Priority::ALL.iter().find(waits).copied().unwrap_or(Priority::Low)
}
