//! The called systems, by small numbers: what concerns each, and what is known of it. Must never decide anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::SystemOrder;
use pagurus_domain::order::Priority;
use pagurus_domain::system::{CallKind, CallOutcome, CallSamples};

use super::control::{Bounds, Control, Phase, Rule};
use super::health::FailedPart;
use super::index::{FlowIndex, SystemIndex};
use super::slab::Slab;
use super::tally::{OpenTally, Promptness};
use super::timing::{Rate, Timing, between, faded};

/// Systems that are known at most. Calls of further ones are no samples.
const MAX_SYSTEMS: usize = 2000;
/// Errors count half after this time.
const ERRORS_HALF_LIFE: Duration = Duration::from_secs(300);
/// Maximum number of error classes that are distinguished.
const MAX_CLASSES: usize = 16;

/// Position of a flow among those that share the limit of a system: the time that it has paid for, and which of them it
/// was that came to wait.
pub(super) type DueKey = (u64, u64);

/// Called system with its limit and its figures.
#[derive(Debug)]
pub(super) struct System {
    /// Name.
    pub(super) name: Arc<str>,
    /// Control by failures, latencies and the word of the system itself.
    pub(super) control: Control,
    /// Bounds that the rules set.
    pub(super) bounds: Bounds,
    /// The operator's order that holds now, with its end.
    pub(super) order: Option<(SystemOrder, Option<Timestamp>)>,
    /// Stages in progress of the flows that call it, except of those that call it rarely.
    pub(super) stages: u32,
    /// Requests that are unanswered here.
    pub(super) open: OpenTally,
    /// Time in which it answers requests.
    pub(super) promptness: Promptness,
    /// The flows that call it.
    pub(super) flows: BTreeSet<FlowIndex>,
    /// Place, among the flows that share the limit, of the one whose stage was handed out last: see `due`.
    pub(super) present: u64,
    /// Flows that stand aside because of its limit, by their most urgent work and then by who is due.
    blocked: [BTreeSet<(DueKey, FlowIndex)>; 3],
    /// By priority, the flow that was due last and came back to the lines.
    trying: [Option<FlowIndex>; 3],
    /// Times of its calls.
    pub(super) calls: Timing,
    /// Times of the calls that it answered by callback.
    pub(super) answers: Timing,
    /// Calls that ended.
    pub(super) ended: Rate,
    /// Part of them that failed.
    pub(super) failed: FailedPart,
    /// Calls that failed, by class.
    pub(super) errors: BTreeMap<Arc<str>, f64>,
    /// Time at which a call ended last.
    pub(super) seen_at: Option<Timestamp>,
    /// True while it stands in the list for the next report.
    pub(super) is_changed: bool,
    settled_at: Timestamp,
}

impl System {
    /// Stages in progress of the flows that call it, and the open requests that count against its limit.
    pub(super) fn in_use(&self) -> u32 {
        self.stages.saturating_add(self.counted_requests())
    }

    /// Stages in progress of the flows that call it, and the open requests that it may be at work on.
    pub(super) fn load(&self) -> u32 {
        self.stages.saturating_add(self.pressing_requests())
    }

    /// The open requests that count against its limit.
    pub(super) fn counted_requests(&self) -> u32 {
        let counts = self.promptness == Promptness::Prompt && self.bounds.adapts;
        if counts { self.open.recent.value() } else { 0 }
    }

    /// The open requests that it may be at work on.
    fn pressing_requests(&self) -> u32 {
        let presses = self.promptness != Promptness::Late && self.bounds.adapts;
        if presses { self.open.recent.value() } else { 0 }
    }

    /// Judges how promptly it answers, beside this time in seconds.
    pub(super) fn look_at_answers(&self, within: f64) -> Promptness {
        let median = self.answers.short().quantile(0.5).or_else(|| self.answers.long().quantile(0.5));
        match median {
            Some(seconds) if seconds <= within => Promptness::Prompt,
            Some(_) => Promptness::Late,
            None if self.open.all.value() > self.open.recent.value() => Promptness::Late,
            None => Promptness::Unknown,
        }
    }

    /// True if it is to be left alone.
    pub(super) fn is_away(&self) -> bool {
        match self.order {
            Some((SystemOrder::KeepStopped, _)) => true,
            Some((SystemOrder::ForceOpen, _)) => false,
            None => self.control.phase() != Phase::Open,
        }
    }

    /// Time at which it may be called again; `None` if it may be now, or nobody knows it.
    pub(super) fn closed_until(&self) -> Option<Timestamp> {
        match (self.order, self.control.phase()) {
            (Some((SystemOrder::KeepStopped, until)), _) => until,
            (None, Phase::Stopped(until)) => Some(until),
            _ => None,
        }
    }

    /// True while a few may go to try it.
    pub(super) fn is_probing(&self) -> bool {
        self.order.is_none() && matches!(self.control.phase(), Phase::Probing(_))
    }

    /// Number that may concern it at a time; none without a limit.
    pub(super) fn limit(&self) -> Option<u32> {
        if self.order.is_some() || self.control.phase() != Phase::Open {
            None
        } else {
            self.control.limit(self.bounds)
        }
    }

    /// True if one more stage that calls it may go.
    pub(super) fn has_room(&self) -> bool {
        self.order.is_some()
            || self.control.phase() != Phase::Open
            || self.control.admits(self.in_use(), self.bounds)
    }

    /// Counts what calls came to.
    pub(super) fn note(&mut self, samples: &CallSamples, now: Timestamp) {
        self.seen_at = Some(now);
        self.ended.note(samples.count);
        self.calls.merge(samples.latencies.counts());
        if (samples.kind, &samples.outcome) == (CallKind::Asynchronous, &CallOutcome::Answered) {
            self.answers.merge(samples.latencies.counts());
        }
        self.failed.note(samples.count, matches!(samples.outcome, CallOutcome::Failed(_)));
        if let CallOutcome::Failed(failure) = &samples.outcome {
            let word = failure.word();
            if self.errors.len() < MAX_CLASSES || self.errors.contains_key(&word) {
                *self.errors.entry(word).or_default() += f64::from(samples.count);
            }
        }
    }

    /// A flow stands aside until a place is free: who has paid least, and of those who waits longest, is the first to try.
    pub(super) fn block(&mut self, flow: FlowIndex, priority: Priority, due: DueKey) {
        self.blocked[priority as usize].insert((due, flow));
    }

    /// A flow does not stand aside any more, or among others.
    pub(super) fn leave(&mut self, flow: FlowIndex, due: DueKey) {
        self.blocked.iter_mut().for_each(|flows| {
            flows.remove(&(due, flow));
        });
    }

    /// Takes the flow that is due among those that stand aside with work of this priority, if a place is free. It does not
    /// stand aside any more.
    pub(super) fn next_due(&mut self, priority: Priority) -> Option<FlowIndex> {
        if self.blocked[priority as usize].is_empty() || !self.has_room() {
            return None;
        }
        let due = self.blocked[priority as usize].pop_first().map(|(_, flow)| flow);
        self.trying[priority as usize] = due;
        due
    }

    /// Returns the place of the first flow that waits with work of this priority.
    pub(super) fn first_due(&self, priority: Priority) -> Option<DueKey> {
        self.blocked[priority as usize].first().map(|(key, _)| *key)
    }

    /// The flow of this priority that was due last.
    pub(super) const fn trying(&self, priority: Priority) -> Option<FlowIndex> {
        self.trying[priority as usize]
    }

    /// A flow is forgotten.
    pub(super) fn forget(&mut self, flow: FlowIndex) {
        self.flows.remove(&flow);
        self.trying.iter_mut().filter(|trying| **trying == Some(flow)).for_each(|trying| *trying = None);
        self.blocked.iter_mut().for_each(|flows| flows.retain(|(_, blocked)| *blocked != flow));
    }

    fn settle(&mut self, now: Timestamp) {
        let passed = between(self.settled_at, now);
        self.settled_at = now;
        self.calls.settle(passed);
        self.answers.settle(passed);
        self.ended.settle(passed);
        self.failed.settle(passed);
        let left = f64::from(faded(passed, ERRORS_HALF_LIFE));
        self.errors.values_mut().for_each(|count| *count *= left);
        self.errors.retain(|_, count| *count >= 0.5);
    }
}

/// All systems that were called.
#[derive(Debug)]
pub(super) struct CalledSystems {
    systems: Slab<System>,
    by_name: HashMap<Arc<str>, SystemIndex>,
    rule: Rule,
}

impl CalledSystems {
    /// None yet.
    pub(super) fn new(rule: Rule) -> Self {
        Self { systems: Slab::new(), by_name: HashMap::new(), rule }
    }

    /// The system of this name, if it is known.
    pub(super) fn find(&self, name: &str) -> Option<SystemIndex> {
        self.by_name.get(name).copied()
    }

    /// A system that is not known yet; none if there are too many.
    pub(super) fn insert(&mut self, name: &Arc<str>, bounds: Bounds, now: Timestamp) -> Option<SystemIndex> {
        if self.systems.len() >= MAX_SYSTEMS {
            return None;
        }
        let system = System {
            name: Arc::clone(name),
            control: Control::new(self.rule.make()),
            bounds,
            order: None,
            stages: 0,
            open: OpenTally::default(),
            promptness: Promptness::default(),
            flows: BTreeSet::new(),
            present: 0,
            blocked: Default::default(),
            trying: [None; 3],
            calls: Timing::default(),
            answers: Timing::default(),
            ended: Rate::default(),
            failed: FailedPart::default(),
            errors: BTreeMap::new(),
            seen_at: None,
            is_changed: false,
            settled_at: now,
        };
        let index = self.systems.insert(system);
        self.by_name.insert(Arc::clone(name), index);
        Some(index)
    }

    /// A system.
    pub(super) fn get(&self, system: SystemIndex) -> Option<&System> {
        self.systems.get(system)
    }

    /// A system.
    pub(super) fn get_mut(&mut self, system: SystemIndex) -> Option<&mut System> {
        self.systems.get_mut(system)
    }

    /// Every system with its number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SystemIndex, &System)> {
        self.systems.iter()
    }

    /// The numbers of all.
    pub(super) fn all(&self) -> Vec<SystemIndex> {
        self.systems.iter().map(|(index, _)| index).collect()
    }

    /// Settles what was measured since the last time.
    pub(super) fn settle(&mut self, now: Timestamp) {
        for index in self.all() {
            if let Some(system) = self.systems.get_mut(index) {
                system.settle(now);
            }
        }
    }
}
