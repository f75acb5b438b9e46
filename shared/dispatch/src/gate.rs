//! Who stands aside: flows that are stopped, that have their part or their limit, that mostly call a system which is away, or
//! that call one which has its limit, unless they do so rarely. Must never take anything back: what is in progress beyond a limit runs on.
//!
//! A flow at a limit of its own, or at its part of the places, is shut as soon as it has it, and opened when it has not.
//! The limit of a system concerns all flows that call it, and there may be a thousand of them. So a flow is shut for it
//! only when its turn comes and there is no place, and then waits for one in the system's own line. That line is by
//! weight: who has used the least time of the system, for its weight, is the first to try (`due`).

use jiff::Timestamp;
use pagurus_domain::flow::DistributionMode;
use pagurus_domain::order::Mode;

use super::control::{Bounds, Phase};
use super::flow::{Flow, SystemLink};
use super::index::{FlowIndex, StageSlot, SystemIndex};
use super::system::System;
use super::{Dispatcher, HandOut, MODES};

/// Something with a control, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ControlSubject {
    /// A flow.
    Flow(FlowIndex),
    /// A called system.
    System(SystemIndex),
}

impl Dispatcher {
    /// Lets a flow stand aside where something speaks against it, and come back where nothing does.
    pub(super) fn judge(&mut self, index: FlowIndex) {
        let Some(flow) = self.flows.get(index) else { return };
        let is_shut =
            flow.is_stopped || !flow.control.admits(flow.in_use(), flow.bounds) || self.is_away(flow);
        // One that has nothing to go waits for no place.
        let full = if is_shut || flow.waiting == [0; 3] { None } else { self.full_system(index, flow) };
        let (in_progress, blocked_by) = (flow.in_progress, flow.blocked_by);
        let (capacity, places) = (self.settings.capacity, self.nodes.places());
        for mode in MODES {
            let admits = self.settings.flow_share.admits(capacity, places, mode, in_progress);
            // Of no places nobody has a part: a flow with nothing in progress is let be.
            let has_part = !admits && in_progress != [0; 2];
            self.waiting.lines().shut(index, mode, is_shut || full.is_some() || has_part);
        }
        if full != blocked_by {
            self.block(index, full);
        }
    }

    /// Something has changed for every flow.
    pub(super) fn judge_all(&mut self) {
        let flows: Vec<FlowIndex> = self.flows.iter().map(|(flow, _)| flow).collect();
        flows.into_iter().for_each(|flow| self.judge(flow));
    }

    /// Something has changed for the flows that call a system.
    pub(super) fn judge_callers(&mut self, system: SystemIndex) {
        let Some(known) = self.systems.get_mut(system) else { return };
        let callers: Vec<FlowIndex> = known.flows.iter().copied().collect();
        callers.into_iter().for_each(|flow| self.judge(flow));
    }

    /// True if a flow whose turn it is may go; else it stands aside from now on.
    pub(super) fn may_go(&mut self, flow: FlowIndex) -> bool {
        let Some(known) = self.flows.get(flow) else { return false };
        if self.full_system(flow, known).is_none() {
            return true;
        }
        self.judge(flow);
        self.unblock_all(flow);
        false
    }

    /// More or less of a flow is in progress, or some other change concerns the places of the systems that it calls.
    pub(super) fn freed(&mut self, flow: FlowIndex) {
        self.unblock_all(flow);
        let waits_for = |dispatcher: &Self| dispatcher.flows.get(flow).and_then(|flow| flow.blocked_by);
        let before = waits_for(self);
        self.judge(flow);
        // One that was due somewhere, and stands aside from now on, leaves its turn to the next.
        if waits_for(self) != before {
            self.unblock_all(flow);
        }
    }

    /// Lets those try that are due at the systems that a flow calls.
    fn unblock_all(&mut self, flow: FlowIndex) {
        // A flow calls few systems, and mostly one.
        let system = |dispatcher: &Self, at: usize| Some(dispatcher.flows.get(flow)?.links.get(at)?.system);
        let mut at = 0;
        while let Some(system) = system(self, at) {
            self.unblock(system);
            at += 1;
        }
    }

    /// Counts a stage of a flow as in progress.
    pub(super) fn count_start(&mut self, flow: FlowIndex, mode: Mode) {
        self.flows.start(flow, mode);
        self.note_use(flow);
    }

    /// Counts a stage of a flow as over.
    pub(super) fn count_finish(&mut self, flow: FlowIndex, mode: Mode) {
        self.flows.finish(flow, mode);
        self.note_use(flow);
        self.freed(flow);
    }

    /// The number of stages in progress of a flow has changed.
    fn note_use(&mut self, flow: FlowIndex) {
        let Some(known) = self.flows.get_mut(flow) else { return };
        let load = known.load();
        known.control.used(load);
        for at in 0..known.links.len() {
            let (system, moved) = known.move_places(at);
            if let Some(system) = self.systems.get_mut(system) {
                system.stages = system.stages.saturating_add_signed(moved);
                let load = system.load();
                system.control.used(load);
            }
        }
        self.flow_changed(flow);
    }

    /// Wakes the controls whose time has come.
    pub(super) fn wake_controls(&mut self, now: Timestamp) {
        while let Some(&(due, subject)) = self.timers.first().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, subject));
            match subject {
                ControlSubject::Flow(index) => {
                    let Some(flow) = self.flows.get_mut(index) else { continue };
                    let (in_use, bounds) = (flow.in_use(), flow.bounds);
                    flow.control.wake(in_use, bounds, now);
                    self.moved_flow(index);
                }
                ControlSubject::System(index) => {
                    let Some(system) = self.systems.get_mut(index) else { continue };
                    let (in_use, bounds) = (system.in_use(), system.bounds);
                    system.control.wake(in_use, bounds, now);
                    self.moved_system(index);
                }
            }
        }
    }

    /// The control of a flow has moved.
    pub(super) fn moved_flow(&mut self, index: FlowIndex) {
        let Some(flow) = self.flows.get(index) else { return };
        if let Some(due) = flow.control.due() {
            self.timers.insert((due, ControlSubject::Flow(index)));
        }
        self.set_probing(ControlSubject::Flow(index), flow.control.probes_left() > 0);
        self.flow_changed(index);
        // Where it stands aside from now on, another may have its place.
        self.freed(index);
    }

    /// The control of a system has moved, or an operator's order about it.
    pub(super) fn moved_system(&mut self, index: SystemIndex) {
        let Some(system) = self.systems.get(index) else { return };
        if let Some(due) = system.control.due() {
            self.timers.insert((due, ControlSubject::System(index)));
        }
        let probes = system.order.is_none() && system.control.probes_left() > 0;
        self.set_probing(ControlSubject::System(index), probes);
        self.system_changed(index);
        self.unblock(index);
        let Some(system) = self.systems.get(index) else { return };
        // A limit that only moved concerns those alone that stand aside for it.
        let is_away = system.is_away();
        if self.away.contains(&index) != is_away {
            if is_away {
                self.away.insert(index);
            } else {
                self.away.remove(&index);
            }
            self.judge_callers(index);
        }
    }

    /// Hands out the oldest stages of what is probing.
    pub(super) fn send_probes(&mut self, now: Timestamp, max: usize, hand_outs: &mut Vec<HandOut>) {
        for subject in self.probing.clone() {
            while hand_outs.len() < max && self.nodes.any_open() {
                let Some(slot) = self.oldest_of(subject) else { break };
                let Some(hand_out) = self.hand_out(slot, now) else { break };
                hand_outs.push(hand_out);
                let left = match subject {
                    ControlSubject::Flow(index) => self.flows.get_mut(index).map(|flow| {
                        flow.control.probe_sent(now);
                        flow.control.probes_left()
                    }),
                    ControlSubject::System(index) => self.systems.get_mut(index).map(|system| {
                        system.control.probe_sent(now);
                        system.control.probes_left()
                    }),
                };
                if left.is_none_or(|left| left == 0) {
                    match subject {
                        ControlSubject::Flow(index) => self.moved_flow(index),
                        ControlSubject::System(index) => self.moved_system(index),
                    }
                    break;
                }
            }
        }
    }

    /// True if nothing of a flow goes, not even what was handed out already and may be lost.
    pub(super) fn is_halted(&self, index: FlowIndex) -> bool {
        self.flows.get(index).is_some_and(|flow| {
            flow.is_stopped || matches!(flow.control.phase(), Phase::Stopped(_)) || self.is_away(flow)
        })
    }

    /// Works out again what the rules say of all.
    pub(super) fn rebound(&mut self) {
        let now = self.now;
        let flows: Vec<_> =
            self.flows.iter().map(|(index, flow)| (index, self.bounds_of(&flow.name))).collect();
        for (index, bounds) in flows {
            let Some(flow) = self.flows.get_mut(index) else { continue };
            flow.bounds = bounds;
            if !bounds.stops {
                flow.control.release(bounds, now, "the mode stops no flow any more");
                self.set_probing(ControlSubject::Flow(index), false);
            }
        }
        let systems: Vec<_> =
            self.systems.iter().map(|(index, system)| (index, self.system_bounds(&system.name))).collect();
        for (index, bounds) in systems {
            if let Some(system) = self.systems.get_mut(index) {
                system.bounds = bounds;
            }
        }
    }

    /// Bounds that the rules set to a flow.
    pub(super) fn bounds_of(&self, name: &str) -> Bounds {
        let rules = &self.settings.flows;
        let policy = rules.policy_of(name);
        let weight = policy.and_then(|policy| policy.weight).unwrap_or(1);
        self.bounds(rules.mode_of(name), policy.and_then(|policy| policy.max_limit), weight)
    }

    /// Bounds that the rules set to a system.
    pub(super) fn system_bounds(&self, name: &str) -> Bounds {
        let rules = &self.settings.flows;
        let is_limited = |mode: DistributionMode| mode == DistributionMode::LimitedFlows;
        let by_policy = rules.policies.iter().any(|policy| policy.mode.is_some_and(is_limited));
        let mode = match self.settings.systems.named.contains(name) {
            // An unnamed system is stopped and probed where a flow calls it beside others. Limits are those of the flows.
            false if rules.mode.stops() => {
                let bounds = self.bounds(DistributionMode::StoppedFlows, None, 1);
                return Bounds { initial: bounds.most, ..bounds };
            }
            false => DistributionMode::Simple,
            true if rules.mode.stops() && by_policy => DistributionMode::LimitedFlows,
            true => rules.mode,
        };
        self.bounds(mode, None, 1)
    }

    fn bounds(&self, mode: DistributionMode, max: Option<u32>, weight: u32) -> Bounds {
        let rules = &self.settings.flows;
        Bounds {
            stops: mode.stops(),
            adapts: mode == DistributionMode::LimitedFlows,
            initial: rules.initial_limit,
            most: self.settings.capacity.total().min(self.nodes.places().max(1)),
            max,
            weight,
        }
    }

    /// The waiting stage with the smallest number of all that may try.
    fn oldest_of(&self, subject: ControlSubject) -> Option<StageSlot> {
        let oldest = |index: FlowIndex| {
            let flow = self.flows.get(index)?;
            // Of two that are probing, each may be tried by what calls both: else neither would be.
            let is_stopped = |system: &System| system.is_away() && !system.is_probing();
            let others = flow.links.iter().any(|link| {
                ControlSubject::System(link.system) != subject
                    && link.is_called_mostly(flow)
                    && self.systems.get(link.system).is_some_and(is_stopped)
            });
            let own = match subject {
                ControlSubject::Flow(_) => true,
                ControlSubject::System(_) => flow.control.admits(flow.in_use(), flow.bounds),
            };
            if flow.is_stopped || others || !own {
                return None;
            }
            let may_go = |slot: &StageSlot| {
                let mode = self.waiting.stage(*slot).mode();
                self.settings.capacity.admits(mode, self.progress.of_mode(mode))
            };
            self.waiting.heads(index).filter(may_go).min_by_key(|slot| self.waiting.stage(*slot).no)
        };
        match subject {
            ControlSubject::Flow(index) => oldest(index),
            ControlSubject::System(index) => {
                let callers = self.systems.get(index)?.flows.iter();
                callers.filter_map(|flow| oldest(*flow)).min_by_key(|slot| self.waiting.stage(*slot).no)
            }
        }
    }

    fn set_probing(&mut self, subject: ControlSubject, is_probing: bool) {
        if is_probing {
            self.probing.insert(subject);
        } else {
            self.probing.remove(&subject);
        }
    }

    /// True if most stages of a flow call a system that is away.
    fn is_away(&self, flow: &Flow) -> bool {
        let is_away = |link: &SystemLink| self.away.contains(&link.system) && link.is_called_mostly(flow);
        !self.away.is_empty() && flow.links.iter().any(is_away)
    }

    /// A system that a flow calls and that has no place for it: it has its limit, or another flow is due.
    fn full_system(&self, index: FlowIndex, flow: &Flow) -> Option<SystemIndex> {
        let has_place = |link: &&SystemLink| {
            let is_free = link.is_called_rarely(flow);
            is_free
                || self.systems.get(link.system).is_none_or(System::has_room)
                    && self.is_due(index, flow, link)
        };
        flow.links.iter().find(|link| !has_place(link)).map(|link| link.system)
    }
}
