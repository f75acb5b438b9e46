//! Records of flows and systems, to be stored and shown: only what has changed, and a bounded number at a time.
//! Must never decide anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::flow::SystemOrder;
use pagurus_domain::flow::{
    ByPriority, CallsState, ControlState, Decision, FlowRecord, FlowState, Quantiles, SystemRecord,
    SystemState,
};
use serde_json::json;

use super::Dispatcher;
use super::control::{HELD, Phase};
use super::flow::Flow;
use super::index::{FlowIndex, SystemIndex};
use super::system::System;
use super::tally::Promptness;

/// Maximum number of records in one report.
const MAX_RECORDS: usize = 2000;
/// Maximum number of flows that the record of a system names.
const MAX_NAMED: usize = 50;
/// Maximum number of decisions in a record.
const MAX_DECISIONS: usize = 20;

/// A called system that is to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AwaySystem<'a> {
    /// The system.
    pub system: &'a str,
    /// Time at which it may be called again, where that is known.
    pub until: Option<Timestamp>,
    /// True while a few calls may try it.
    pub is_probed: bool,
}

impl Dispatcher {
    /// Takes the flows that have changed since their last report, to be stored and shown.
    pub fn changed_flows(&mut self, now: Timestamp) -> Vec<FlowRecord> {
        self.settle_known(now);
        let mut records = Vec::new();
        // Those whose figures go on to move are listed again, behind the others.
        for _ in 0..self.changed_flows.len().min(MAX_RECORDS) {
            let Some(index) = self.changed_flows.pop_front() else { break };
            let Some(flow) = self.flows.get_mut(index) else { continue };
            if !std::mem::take(&mut flow.is_changed) {
                continue;
            }
            let moves = flow.known.ended.per_second() > 0.0;
            if let Some(flow) = self.flows.get(index) {
                records.push(self.flow_record(flow));
            }
            if moves {
                self.flow_changed(index);
            }
        }
        records
    }

    /// Takes the called systems that have changed since their last report, to be stored and shown.
    pub fn changed_systems(&mut self, now: Timestamp) -> Vec<SystemRecord> {
        self.settle_known(now);
        let mut records = Vec::new();
        for _ in 0..self.changed_systems.len().min(MAX_RECORDS) {
            let Some(index) = self.changed_systems.pop_front() else { break };
            let Some(system) = self.systems.get_mut(index) else { continue };
            if !std::mem::take(&mut system.is_changed) {
                continue;
            }
            let moves = system.ended.per_second() > 0.0;
            if let Some(system) = self.systems.get(index) {
                records.push(self.system_record(system));
            }
            if moves {
                self.system_changed(index);
            }
        }
        records
    }

    /// The systems that nobody is to call, except for probes.
    pub fn closed_systems(&self) -> impl Iterator<Item = AwaySystem<'_>> {
        let away = self.away.iter().filter_map(|index| self.systems.get(*index));
        away.map(|system| AwaySystem {
            system: &system.name,
            until: system.closed_until(),
            is_probed: system.is_probing(),
        })
    }

    /// Lists a flow for the next report.
    pub(super) fn flow_changed(&mut self, index: FlowIndex) {
        if let Some(flow) = self.flows.get_mut(index)
            && !std::mem::replace(&mut flow.is_changed, true)
        {
            self.changed_flows.push_back(index);
        }
    }

    /// Lists a system for the next report.
    pub(super) fn system_changed(&mut self, index: SystemIndex) {
        if let Some(system) = self.systems.get_mut(index)
            && !std::mem::replace(&mut system.is_changed, true)
        {
            self.changed_systems.push_back(index);
        }
    }

    fn flow_record(&self, flow: &Flow) -> FlowRecord {
        let [high, normal, low] = flow.waiting;
        let ready = ByPriority { high, normal, low };
        let state = self.flow_state(flow);
        let throughput = flow.known.ended.per_second();
        let goes = !matches!(state, FlowState::Stopped | FlowState::DisabledManually) && throughput > 0.01;
        let systems = flow.links.iter().filter_map(|link| self.systems.get(link.system));
        let of_systems = self.limiting_systems(flow).filter_map(System::limit);
        let own = flow.control.limit(flow.bounds);
        // Those that hold it back are named first.
        let away: Vec<&str> = self.away_systems(flow).map(|system| &*system.name).collect();
        let others = systems.map(|system| &*system.name).filter(|name| !away.contains(name));
        let names = away.iter().copied().chain(others).map(str::to_owned).collect();
        let name = |system| Some(self.systems.get(system)?.name.to_string());
        FlowRecord {
            flow: flow.name.to_string(),
            state,
            limit: own.into_iter().chain(of_systems).min(),
            in_progress: flow.stages_in_progress(),
            open_requests: flow.open_requests(),
            counted_requests: flow.counted_requests(),
            answers: self.answers(flow),
            ready,
            oldest_ready_since: flow.oldest_since.filter(|_| ready.sum() > 0),
            throughput,
            short_term: flow.known.stages.short().quantiles(),
            long_term: flow.known.stages.long().quantiles(),
            successes: flow.known.successes.long().quantiles(),
            at_limit: state == FlowState::Limited && ready.sum() > 0 && is_at_limit(flow),
            waits: flow.known.waits.short().quantiles(),
            pace: flow.known.pace(),
            queue_pace: flow.known.queue_waits.pace(),
            seconds_to_empty: goes.then(|| flow.known.seconds_to_empty(ready.sum())).flatten(),
            errors: counts(&flow.known.errors),
            systems: names,
            decisions: last_decisions(flow.control.decisions(), flow_word),
            stopped_since: flow.control.stopped_since().or_else(|| {
                self.away_systems(flow).filter_map(|system| system.control.stopped_since()).min()
            }),
            seen_at: flow.seen_at,
            memory: json!({
                "control": flow.control.remember(),
                "stages": flow.known.stages.remember(),
                "waits": flow.known.waits.remember(),
                "calling": flow.remember_callers(name),
            }),
        }
    }

    /// The systems whose limits bound a flow.
    fn limiting_systems(&self, flow: &Flow) -> impl Iterator<Item = &System> {
        let bounding = flow.links.iter().filter(|link| !link.is_called_rarely(flow));
        bounding.filter_map(|link| self.systems.get(link.system))
    }

    /// The systems that keep a flow from going on: most of its stages call them, and they are left alone now.
    fn away_systems(&self, flow: &Flow) -> impl Iterator<Item = &System> {
        let mostly = flow.links.iter().filter(|link| link.is_called_mostly(flow));
        mostly.filter_map(|link| self.systems.get(link.system)).filter(|system| system.is_away())
    }

    /// Time of the slowest of the systems whose open requests count against the limit of a flow.
    fn answers(&self, flow: &Flow) -> Quantiles {
        let counted = flow
            .links
            .iter()
            .filter(|link| link.promptness == Promptness::Prompt && link.open.recent.value() > 0);
        let times =
            counted.filter_map(|link| Some(self.systems.get(link.system)?.answers.short().quantiles()));
        times
            .max_by(|one, other| one.p50_ms.unwrap_or_default().total_cmp(&other.p50_ms.unwrap_or_default()))
            .unwrap_or_default()
    }

    fn flow_state(&self, flow: &Flow) -> FlowState {
        let away = || self.away_systems(flow);
        let tries = |phase| matches!(phase, Phase::Probing(_));
        if flow.is_stopped {
            FlowState::DisabledManually
        } else if matches!(flow.control.phase(), Phase::Stopped(_)) {
            FlowState::Stopped
        } else if tries(flow.control.phase()) {
            FlowState::Probing
        } else if away().any(|system| system.order.is_some() || !tries(system.control.phase())) {
            FlowState::Stopped
        } else if away().next().is_some() {
            FlowState::Probing
        } else if flow.control.limit(flow.bounds).is_some()
            || self.limiting_systems(flow).any(|system| system.limit().is_some())
        {
            FlowState::Limited
        } else {
            FlowState::Enabled
        }
    }

    fn system_record(&self, system: &System) -> SystemRecord {
        let names = system.flows.iter().filter_map(|flow| self.flows.get(*flow));
        SystemRecord {
            system: system.name.to_string(),
            state: system_state(system),
            calls: calls_state(system),
            control: control_state(system),
            failed_share: system.failed.part(),
            limit: system.limit(),
            in_progress: system.in_use(),
            open_requests: system.open.all.value(),
            closed_until: system.closed_until(),
            stopped_since: system.control.stopped_since(),
            throughput: system.ended.per_second(),
            short_term: system.calls.short().quantiles(),
            long_term: system.calls.long().quantiles(),
            base_ms: system.control.base().map(|seconds| seconds * 1e3),
            errors: counts(&system.errors),
            flows: names.take(MAX_NAMED).map(|flow| flow.name.to_string()).collect(),
            decisions: last_decisions(system.control.decisions(), system_word),
            seen_at: system.seen_at,
            memory: json!({
                "control": system.control.remember(),
                "calls": system.calls.remember(),
                "answers": system.answers.remember(),
                "failed": system.failed.remember(),
            }),
        }
    }
}

/// True if no more of a flow may go, because of its limit or that of a system.
fn is_at_limit(flow: &Flow) -> bool {
    flow.blocked_by.is_some() || !flow.control.admits(flow.in_use(), flow.bounds)
}

fn system_state(system: &System) -> SystemState {
    match control_state(system) {
        ControlState::Stopped | ControlState::KeptStopped => SystemState::Stopped,
        ControlState::Probing => SystemState::Probing,
        ControlState::Recovering => SystemState::Recovering,
        ControlState::Limited => SystemState::Slowing,
        ControlState::Open | ControlState::ForcedOpen => SystemState::Healthy,
    }
}

fn calls_state(system: &System) -> CallsState {
    match system.failed.fails() {
        None => CallsState::Unknown,
        Some(false) => CallsState::Healthy,
        Some(true) => CallsState::Failing,
    }
}

fn control_state(system: &System) -> ControlState {
    match (system.order, system.control.phase()) {
        (Some((SystemOrder::KeepStopped, _)), _) => ControlState::KeptStopped,
        (Some((SystemOrder::ForceOpen, _)), _) => ControlState::ForcedOpen,
        (None, Phase::Stopped(_)) => ControlState::Stopped,
        (None, Phase::Probing(_)) => ControlState::Probing,
        (None, Phase::Open) if system.limit().is_none() => ControlState::Open,
        (None, Phase::Open) if system.control.is_recovering() => ControlState::Recovering,
        (None, Phase::Open) => ControlState::Limited,
    }
}

fn flow_word(state: &str) -> FlowState {
    match state {
        "stopped" => FlowState::Stopped,
        "probing" => FlowState::Probing,
        "limited" | "recovering" => FlowState::Limited,
        HELD => FlowState::DisabledManually,
        _ => FlowState::Enabled,
    }
}

fn system_word(state: &str) -> SystemState {
    match state {
        "stopped" | HELD => SystemState::Stopped,
        "probing" => SystemState::Probing,
        "recovering" => SystemState::Recovering,
        "limited" => SystemState::Slowing,
        _ => SystemState::Healthy,
    }
}

/// Returns the last decisions, in the words of a flow or of a system.
fn last_decisions<T: std::fmt::Display>(decisions: &[Decision], word: fn(&str) -> T) -> Vec<Decision> {
    let last = decisions.iter().skip(decisions.len().saturating_sub(MAX_DECISIONS));
    last.map(|one| Decision { state: word(&one.state).to_string(), ..one.clone() }).collect()
}

fn counts(errors: &BTreeMap<Arc<str>, f64>) -> BTreeMap<String, u64> {
    errors.iter().map(|(class, count)| (class.to_string(), count.round().max(1.0) as u64)).collect()
}
