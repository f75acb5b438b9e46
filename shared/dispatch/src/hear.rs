//! Events of calls, and the knowledge of a former dispatcher.
//! Must never hand anything out.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::SystemOrder;
use pagurus_domain::flow::{FlowRecord, FlowState, SystemRecord, SystemState};
use pagurus_domain::system::{CallFailure, CallKind, CallOutcome, CallSamples};

use super::Dispatcher;
use super::control::{Calls, Phase};
use super::cost::RequestCost;
use super::event::StageMeasured;
use super::flow::{FlowMeasurements, SystemLink};
use super::gate::ControlSubject;
use super::health::FailedPart;
use super::index::{FlowIndex, SystemIndex};
use super::patience::QueueWaits;
use super::tally::OpenTally;
use super::timing::{Rate, Timing, between};

/// A system that a flow has not called for so long does not concern it any more.
const LINKED: Duration = Duration::from_secs(600);
/// Systems that one flow is known to call at most.
const MAX_LINKS: usize = 8;
/// Two readings of one time are no further apart: it is reckoned from an age.
const SAME_MOMENT: SignedDuration = SignedDuration::from_secs(1);

impl Dispatcher {
    /// The flow of this name, made known if need be.
    pub(super) fn enter_flow(&mut self, name: &Arc<str>) -> FlowIndex {
        if let Some(flow) = self.flows.find(name) {
            return flow;
        }
        let bounds = self.bounds_of(name);
        let flow = self.flows.insert(name, bounds, self.now);
        let is_stopped = self.decided.stops_flow(name, self.now);
        if let Some(known) = self.flows.get_mut(flow) {
            known.is_stopped = is_stopped;
        }
        self.judge(flow);
        flow
    }

    /// Calls of stages ended, or were sent.
    pub(super) fn called(&mut self, samples: &[CallSamples]) {
        let mut concerned = BTreeSet::new();
        for one in samples {
            let flow = self.enter_flow(&one.flow);
            let Some(system) = self.enter_system(&one.system) else { continue };
            self.link(flow, system);
            self.count_callers(flow, system, one.stages, one.outcome == CallOutcome::Held);
            self.accepted(flow, system, one);
            match one.outcome {
                CallOutcome::Answered | CallOutcome::Failed(_) => {
                    concerned.insert(self.learn(flow, system, one));
                }
                // The flow may stand still from now on.
                CallOutcome::Held => self.freed(flow),
                CallOutcome::Sent | CallOutcome::Declined => {}
            }
            if let Some(wait) = one.retry_after {
                self.close(system, wait);
            }
        }
        let now = self.now;
        for subject in concerned {
            match subject {
                ControlSubject::Flow(index) => {
                    let Some(flow) = self.flows.get_mut(index) else { continue };
                    let (in_use, bounds) = (flow.load(), flow.bounds);
                    flow.control.look(in_use, bounds, now);
                    self.moved_flow(index);
                }
                ControlSubject::System(index) => {
                    let Some(system) = self.systems.get_mut(index) else { continue };
                    let (in_use, bounds) = (system.load(), system.bounds);
                    if system.order.is_none() {
                        system.control.look(in_use, bounds, now);
                    }
                    self.moved_system(index);
                }
            }
        }
    }

    /// Notes the time since which the oldest ready stage of each flow may run.
    pub(super) fn oldest_ready(&mut self, rows: &[(Arc<str>, Timestamp)]) {
        let rows: HashMap<&str, Timestamp> = rows.iter().map(|(name, since)| (&**name, *since)).collect();
        let moved = |known: Option<Timestamp>, read: Option<Timestamp>| match (known, read) {
            (Some(known), Some(read)) => read.duration_since(known).abs() > SAME_MOMENT,
            (known, read) => known != read,
        };
        let changed = self.flows.iter().filter_map(|(index, flow)| {
            let read = rows.get(&*flow.name).copied();
            moved(flow.oldest_since, read).then_some((index, read))
        });
        for (index, read) in changed.collect::<Vec<_>>() {
            if let Some(flow) = self.flows.get_mut(index) {
                flow.oldest_since = read;
            }
            self.flow_changed(index);
        }
    }

    /// A former dispatcher knew this.
    pub(super) fn remembered(&mut self, flows: &[FlowRecord], systems: &[SystemRecord]) {
        let now = self.now;
        for record in systems {
            let Some(index) = self.enter_system(&Arc::from(&*record.system)) else { continue };
            let Some(system) = self.systems.get_mut(index) else { continue };
            system.control.recall(&record.memory["control"], &record.decisions, now);
            system.calls = Timing::recall(&record.memory["calls"]);
            system.answers = Timing::recall(&record.memory["answers"]);
            system.ended = Rate::of(record.throughput);
            system.failed = FailedPart::recall(&record.memory["failed"]);
            system.errors =
                record.errors.iter().map(|(class, count)| (Arc::from(&**class), *count as f64)).collect();
            system.seen_at = record.seen_at;
            // If the order or the window has ended meanwhile, the system is probed.
            if record.state == SystemState::Stopped && system.control.phase() == Phase::Open {
                system.order = Some((SystemOrder::KeepStopped, record.closed_until));
            }
            self.moved_system(index);
        }
        for record in flows {
            self.remembered_flow(record);
        }
        self.look_at_answers();
        if self.decided.are_stops_known() {
            self.apply_decided();
        }
    }

    fn remembered_flow(&mut self, record: &FlowRecord) {
        let now = self.now;
        let index = self.enter_flow(&Arc::from(&*record.flow));
        for name in &record.systems {
            if let Some(system) = self.enter_system(&Arc::from(&**name)) {
                self.link(index, system);
            }
        }
        let Some(flow) = self.flows.get_mut(index) else { return };
        flow.control.recall(&record.memory["control"], &record.decisions, now);
        let [stages, waits] = ["stages", "waits"].map(|key| Timing::recall(&record.memory[key]));
        flow.known = FlowMeasurements::of(stages, waits, Rate::of(record.throughput), now);
        flow.known.queue_waits = QueueWaits::recall(record.queue_pace);
        flow.known.errors =
            record.errors.iter().map(|(class, count)| (Arc::from(&**class), *count as f64)).collect();
        flow.seen_at = record.seen_at;
        // If the stop has ended meanwhile, the flow begins at the initial limit.
        flow.is_stopped |= record.state == FlowState::DisabledManually;
        self.recall_callers(index, &record.memory["calling"]);
        self.moved_flow(index);
    }

    /// A stage ended, and this was measured of it.
    pub(super) fn measured(&mut self, index: FlowIndex, measured: &StageMeasured) {
        let now = self.now;
        let Some(flow) = self.flows.get_mut(index) else { return };
        flow.seen_at = Some(now);
        flow.known.note(measured);
        flow.counted += 1.0;
        self.flows.unsettle(index);
        if measured.class.is_some() {
            return;
        }
        let Some(flow) = self.flows.get_mut(index) else { return };
        let (in_use, bounds) = (flow.load(), flow.bounds);
        if flow.control.stage_ended(in_use, bounds, now) == super::control::ControlMove::Yes {
            self.moved_flow(index);
        }
        let links = self.flows.get(index).map(|flow| flow.links.clone()).unwrap_or_default();
        for link in links {
            let is_called_mostly = self.is_called_mostly(index, link.system);
            let Some(system) = self.systems.get_mut(link.system) else { continue };
            // The end of a stage says nothing of a system that few of them call, but for one whose calls nobody measures.
            if !is_called_mostly && !system.calls.is_empty() {
                continue;
            }
            let (in_use, bounds) = (system.load(), system.bounds);
            if system.control.stage_ended(in_use, bounds, now) == super::control::ControlMove::Yes {
                self.moved_system(link.system);
            }
        }
    }

    /// Forgets the flows without work that are too many.
    pub(super) fn forget_flows(&mut self) {
        while let Some(index) = self.flows.excess(self.settings.flows.max_known) {
            let Some(flow) = self.flows.forget(index) else { return };
            for link in flow.links {
                if let Some(system) = self.systems.get_mut(link.system) {
                    system.open.all.subtract(link.open.all);
                    system.open.recent.subtract(link.open.recent);
                    system.forget(index);
                }
            }
            self.probing.remove(&ControlSubject::Flow(index));
            self.waiting.lines().forget(index);
        }
    }

    /// The called system of this name, made known if need be; none if there are too many.
    pub(super) fn enter_system(&mut self, name: &Arc<str>) -> Option<SystemIndex> {
        if let Some(system) = self.systems.find(name) {
            return Some(system);
        }
        let bounds = self.system_bounds(name);
        self.systems.insert(name, bounds, self.now)
    }

    /// A flow calls a system. All that it has in progress concerns that system from now on.
    pub(super) fn link(&mut self, index: FlowIndex, system: SystemIndex) {
        let now = self.now;
        let Some(flow) = self.flows.get_mut(index) else { return };
        if let Some(link) = flow.links.iter_mut().find(|link| link.system == system) {
            link.seen_at = now;
        } else if flow.links.len() < MAX_LINKS {
            let promptness =
                self.systems.get(system).map_or_else(Default::default, |system| system.promptness);
            let in_progress = flow.stages_in_progress();
            flow.links.push(SystemLink {
                system,
                open: OpenTally::default(),
                promptness,
                paid: 0,
                cost: RequestCost::new(now),
                seen_at: now,
                calling: 0.0,
                places: in_progress,
            });
            if let Some(system) = self.systems.get_mut(system) {
                system.stages = system.stages.saturating_add(in_progress);
                system.flows.insert(index);
            }
            self.freed(index);
        }
        let Some(flow) = self.flows.get_mut(index) else { return };
        let old = |link: &SystemLink| link.open.all.value() == 0 && between(link.seen_at, now) > LINKED;
        if let Some(at) = flow.links.iter().position(old) {
            let link = flow.links.remove(at);
            if let Some(system) = self.systems.get_mut(link.system) {
                system.stages = system.stages.saturating_sub(link.places);
                system.forget(index);
            }
            if flow.blocked_by == Some(link.system) {
                flow.blocked_by = None;
            }
            self.unblock(link.system);
            self.freed(index);
        }
    }

    /// Requests were taken: the system is there, though its answers come later.
    fn accepted(&mut self, index: FlowIndex, system: SystemIndex, samples: &CallSamples) {
        if samples.kind != CallKind::Asynchronous || samples.outcome != CallOutcome::Sent {
            return;
        }
        let now = self.now;
        let is_named = self.settings.systems.named.contains(&*samples.system);
        if let Some(flow) = self.flows.get_mut(index).filter(|_| !is_named) {
            let load = flow.load();
            flow.control.accepted(samples.count, load, now);
        }
        if let Some(system) = self.systems.get_mut(system) {
            let load = system.load();
            system.control.accepted(samples.count, load, now);
        }
    }

    /// Gives the samples to the control that they are for.
    fn learn(&mut self, index: FlowIndex, system: SystemIndex, samples: &CallSamples) -> ControlSubject {
        let now = self.now;
        let limiting = match &samples.outcome {
            CallOutcome::Failed(failure) if self.is_limiting(failure, &samples.scenario) => samples.count,
            _ => 0,
        };
        let good = if samples.outcome == CallOutcome::Answered { samples.count } else { 0 };
        let (kind, times) = (samples.kind, &samples.latencies);
        let is_named = self.settings.systems.named.contains(&*samples.system);
        // The calls of one system would hide what those of another come to.
        let is_one_of_several = self.flows.get(index).is_some_and(|flow| flow.links.len() > 1);
        let stops_flow = !is_one_of_several || self.is_called_mostly(index, system);
        if let Some(known) = self.systems.get_mut(system) {
            known.note(samples, now);
            // Calls of one scenario are alike, whatever flow they are of.
            let calls = Calls { path: &samples.scenario, kind, good, limiting, times, decides: true };
            // What is closed is probed by its calls, whether it has a limit of its own or not.
            if is_named || is_one_of_several || !known.control.is_free(known.bounds) {
                known.control.note(calls, known.load(), known.bounds, now);
                if !is_named {
                    known.control.look(known.load(), known.bounds, now);
                }
            }
        }
        self.flow_changed(index);
        if is_named {
            return ControlSubject::System(system);
        }
        self.moved_system(system);
        if let Some(flow) = self.flows.get_mut(index) {
            let calls = Calls { path: &samples.system, kind, good, limiting, times, decides: stops_flow };
            flow.control.note(calls, flow.load(), flow.bounds, now);
        }
        ControlSubject::Flow(index)
    }

    fn is_limiting(&self, failure: &CallFailure, scenario: &str) -> bool {
        let (built_in, classes) =
            (&self.settings.flows.built_in_classes, &self.settings.flows.limiting_classes);
        failure.built_in.is_some_and(|class| built_in.contains(&class))
            || failure.class.as_ref().is_some_and(|class| {
                !classes.is_empty() && classes.contains(&(class.to_string(), scenario.to_owned()))
            })
    }

    /// A system said that it is to be called again after this time.
    fn close(&mut self, index: SystemIndex, wait: Duration) {
        let now = self.now;
        let wait = wait.min(self.settings.systems.max_retry_after);
        let Some(system) = self.systems.get_mut(index) else { return };
        if system.order.is_some() || wait.is_zero() {
            return;
        }
        let until = now.checked_add(wait).unwrap_or(Timestamp::MAX);
        system.seen_at = Some(now);
        let why = format!("it asked to be called again after {} s", wait.as_secs());
        system.control.close(until, system.load(), system.bounds, now, &why);
        self.moved_system(index);
    }
}
