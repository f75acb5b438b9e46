//! The flows, by small numbers: how much work each has, and what is known of it. Must never decide anything.
//! Counts what is in progress by mode, because that is how one flow's part is bounded (`FlowShare`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::{Mode, Priority};

use super::backlog::FlowBacklog;
use super::control::{Bounds, Control, Rule};
use super::cost::RequestCost;
use super::event::StageMeasured;
use super::index::{FlowIndex, SystemIndex};
use super::patience::QueueWaits;
use super::slab::Slab;
use super::system::DueKey;
use super::tally::{OpenTally, Promptness};
use super::timing::{Rate, Timing, between, faded};

/// A stage of a flow of which nothing was measured yet is expected to take this long, in microseconds.
const UNMEASURED: u64 = 100_000;
/// Maximum number of error classes that are distinguished; beyond them all count as [`OTHER`].
const MAX_CLASSES: usize = 16;
/// Stands for all further classes.
const OTHER: &str = "other";
/// Errors count half after this time.
const ERRORS_HALF_LIFE: Duration = Duration::from_secs(300);

/// Flow with its work and its figures.
#[derive(Debug)]
pub(super) struct Flow {
    /// Name.
    pub(super) name: Arc<str>,
    /// Ready stages by priority.
    pub(super) waiting: [u32; 3],
    /// Stages handed out or running, by mode.
    pub(super) in_progress: [u32; 2],
    /// The systems that its stages call.
    pub(super) links: Vec<SystemLink>,
    /// Stages that were counted, faded: see `calling`.
    pub(super) counted: f64,
    /// True while a stop by hand holds.
    pub(super) is_stopped: bool,
    /// The system because of whose limit it stands aside.
    pub(super) blocked_by: Option<SystemIndex>,
    /// Place among the flows that stand aside so, from the first time on until it goes.
    pub(super) rank: Option<(SystemIndex, DueKey)>,
    /// Control by failures and latencies.
    pub(super) control: Control,
    /// Bounds that the rules set.
    pub(super) bounds: Bounds,
    /// Times and rates of its stages.
    pub(super) known: FlowMeasurements,
    /// Time at which a stage of it ended last.
    pub(super) seen_at: Option<Timestamp>,
    /// Time since which its oldest ready stage may run, when all that is ready was last read.
    pub(super) oldest_since: Option<Timestamp>,
    /// True while it stands in the list for the next report.
    pub(super) is_changed: bool,
    is_unsettled: bool,
    /// Time at which its last work ended, counted in such ends.
    idle_since: Option<u64>,
}

/// A system that a flow calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemLink {
    /// The system.
    pub(super) system: SystemIndex,
    /// Requests of the flow that are unanswered there.
    pub(super) open: OpenTally,
    /// Time in which the system answers requests.
    pub(super) promptness: Promptness,
    /// Position of the flow among those that share the limit of the system: the time of its places, in microseconds,
    /// divided by its weight.
    pub(super) paid: u64,
    /// Cost of its open requests.
    pub(super) cost: RequestCost,
    /// Time at which a call was heard of last.
    pub(super) seen_at: Timestamp,
    /// Counted stages that called the system.
    pub(super) calling: f64,
    /// Stages in progress of the flow that have a place at the system.
    pub(super) places: u32,
}

/// Measurements of the stages of a flow.
#[derive(Debug, Default)]
pub(super) struct FlowMeasurements {
    /// Times from claimed to ended.
    pub(super) stages: Timing,
    /// Times of those that ended without an error.
    pub(super) successes: Timing,
    /// Times from ready to claimed.
    pub(super) waits: Timing,
    /// Stages that ended.
    pub(super) ended: Rate,
    /// The same, of the last moments.
    present: Rate,
    /// Stages that are ready or in progress.
    backlog: FlowBacklog,
    /// Waits in queues.
    pub(super) queue_waits: QueueWaits,
    /// Stages that ended with an error, by class.
    pub(super) errors: BTreeMap<Arc<str>, f64>,
    settled_at: Timestamp,
    expected: Option<u64>,
}

impl FlowMeasurements {
    /// Measurements of another dispatcher.
    pub(super) fn of(stages: Timing, waits: Timing, ended: Rate, now: Timestamp) -> Self {
        let mut known = Self { stages, waits, ended, present: ended, settled_at: now, ..Self::default() };
        known.expect();
        known
    }

    /// Stages that end in a second, as it is reckoned with.
    pub(super) fn pace(&self) -> f64 {
        self.present.instead_of(self.ended)
    }

    /// Forecasts the seconds until the backlog is gone, with this many stages ready; `None` while it does not shrink.
    pub(super) fn seconds_to_empty(&self, ready: u32) -> Option<f64> {
        self.backlog.seconds_to_empty(ready)
    }

    /// Returns the expected time of a stage, in microseconds.
    pub(super) fn expected(&self) -> u64 {
        self.expected.unwrap_or(UNMEASURED)
    }

    /// A stage ended.
    pub(super) fn note(&mut self, measured: &StageMeasured) {
        self.stages.note(measured.took);
        self.waits.note(measured.waited);
        self.ended.note(1);
        self.present.note(1);
        let Some(class) = &measured.class else {
            self.successes.note(measured.took);
            return;
        };
        if let Some(count) = self.errors.get_mut(class) {
            *count += 1.0;
        } else {
            let class = if self.errors.len() < MAX_CLASSES { Arc::clone(class) } else { Arc::from(OTHER) };
            *self.errors.entry(class).or_default() += 1.0;
        }
    }

    fn settle(&mut self, now: Timestamp, work: u32) {
        let passed = between(self.settled_at, now);
        self.backlog.settle(work, self.ended.unsettled(), passed);
        self.settled_at = now;
        self.stages.settle(passed);
        self.successes.settle(passed);
        self.waits.settle(passed);
        self.ended.settle(passed);
        self.present.settle_quickly(passed);
        let left = f64::from(faded(passed, ERRORS_HALF_LIFE));
        self.errors.values_mut().for_each(|count| *count *= left);
        self.errors.retain(|_, count| *count >= 0.5);
        self.expect();
    }

    fn expect(&mut self) {
        let median = self.stages.short().quantile(0.5).or_else(|| self.stages.long().quantile(0.5));
        self.expected = median.map(|seconds| (seconds * 1e6) as u64);
    }
}

impl Flow {
    /// Stages in progress, and the open requests that count against its limit.
    pub(super) fn in_use(&self) -> u32 {
        self.stages_in_progress().saturating_add(self.counted_requests())
    }

    /// Stages in progress, and the open requests that its systems may be at work on.
    pub(super) fn load(&self) -> u32 {
        self.stages_in_progress().saturating_add(self.pressing_requests())
    }

    /// Stages handed out or running.
    pub(super) fn stages_in_progress(&self) -> u32 {
        self.in_progress.iter().sum()
    }

    /// Requests that were sent and are unanswered.
    pub(super) fn open_requests(&self) -> u32 {
        self.links.iter().map(|link| link.open.all.value()).sum()
    }

    /// The open requests that count against its limit.
    pub(super) fn counted_requests(&self) -> u32 {
        self.recent_requests(|promptness| promptness == Promptness::Prompt)
    }

    /// The open requests that its systems may be at work on.
    fn pressing_requests(&self) -> u32 {
        self.recent_requests(|promptness| promptness != Promptness::Late)
    }

    fn recent_requests(&self, counts: impl Fn(Promptness) -> bool) -> u32 {
        let counted = self.links.iter().filter(|link| self.bounds.adapts && counts(link.promptness));
        counted.map(|link| link.open.recent.value()).sum()
    }

    /// True if it has work.
    pub(super) fn is_busy(&self) -> bool {
        self.waiting != [0; 3] || self.in_progress != [0; 2]
    }
}

/// All flows that have work, and of the others those that had some last. Names may be made of attributes, and then there
/// is no end of them.
#[derive(Debug)]
pub(super) struct Flows {
    flows: Slab<Flow>,
    by_name: HashMap<Arc<str>, FlowIndex>,
    /// Without work, the longest first.
    idle: BTreeSet<(u64, FlowIndex)>,
    idle_turns: u64,
    unsettled: Vec<FlowIndex>,
    rule: Rule,
}

impl Flows {
    /// None yet.
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            flows: Slab::new(),
            by_name: HashMap::new(),
            idle: BTreeSet::new(),
            idle_turns: 0,
            unsettled: Vec::new(),
            rule,
        }
    }

    /// The flow of this name, if it is known.
    pub(super) fn find(&self, name: &str) -> Option<FlowIndex> {
        self.by_name.get(name).copied()
    }

    /// A flow that is not known yet.
    pub(super) fn insert(&mut self, name: &Arc<str>, bounds: Bounds, now: Timestamp) -> FlowIndex {
        let flow = Flow {
            name: Arc::clone(name),
            waiting: [0; 3],
            in_progress: [0; 2],
            links: Vec::new(),
            counted: 0.0,
            is_stopped: false,
            blocked_by: None,
            rank: None,
            control: Control::new(self.rule.make()),
            bounds,
            known: FlowMeasurements { settled_at: now, ..FlowMeasurements::default() },
            seen_at: None,
            oldest_since: None,
            is_changed: false,
            is_unsettled: false,
            idle_since: None,
        };
        let index = self.flows.insert(flow);
        self.by_name.insert(Arc::clone(name), index);
        self.note_idle(index);
        index
    }

    /// Counts one more ready stage.
    pub(super) fn wait(&mut self, flow: FlowIndex, priority: Priority) {
        self.flows[flow].waiting[priority as usize] += 1;
        self.note_busy(flow);
    }

    /// Counts one ready stage less.
    pub(super) fn unwait(&mut self, flow: FlowIndex, priority: Priority) {
        self.flows[flow].waiting[priority as usize] -= 1;
        self.note_idle(flow);
    }

    /// Counts one more in progress.
    pub(super) fn start(&mut self, flow: FlowIndex, mode: Mode) {
        self.flows[flow].in_progress[mode as usize] += 1;
        self.flows[flow].rank = None;
        self.note_busy(flow);
    }

    /// Counts one less in progress.
    pub(super) fn finish(&mut self, flow: FlowIndex, mode: Mode) {
        self.flows[flow].in_progress[mode as usize] -= 1;
        self.note_idle(flow);
    }

    /// A flow.
    pub(super) fn get(&self, flow: FlowIndex) -> Option<&Flow> {
        self.flows.get(flow)
    }

    /// A flow.
    pub(super) fn get_mut(&mut self, flow: FlowIndex) -> Option<&mut Flow> {
        self.flows.get_mut(flow)
    }

    /// Every flow that is known, with its number.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (FlowIndex, &mut Flow)> {
        self.flows.iter_mut()
    }

    /// The name of a flow.
    pub(super) fn name(&self, flow: FlowIndex) -> &Arc<str> {
        &self.flows[flow].name
    }

    /// Every flow that is known, with its number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowIndex, &Flow)> {
        self.flows.iter()
    }

    /// Something was measured of this flow: it is settled with the others.
    pub(super) fn unsettle(&mut self, flow: FlowIndex) {
        if let Some(known) = self.flows.get_mut(flow)
            && !std::mem::replace(&mut known.is_unsettled, true)
        {
            self.unsettled.push(flow);
        }
    }

    /// Settles what was measured since the last time. A flow whose rate is not nothing yet is settled the next time, too.
    pub(super) fn settle(&mut self, now: Timestamp) {
        let flows = &mut self.flows;
        self.unsettled.retain(|index| {
            let Some(flow) = flows.get_mut(*index) else { return false };
            let work = flow.waiting.iter().sum::<u32>() + flow.stages_in_progress();
            flow.known.settle(now, work);
            flow.settle_stages();
            flow.is_unsettled = flow.known.ended.per_second() > 0.0;
            flow.is_unsettled
        });
    }

    /// Returns the flow that has been without work for the longest time, if there are more than `max`.
    pub(super) fn excess(&self, max: usize) -> Option<FlowIndex> {
        if self.idle.len() <= max {
            return None;
        }
        self.idle.first().map(|(_, flow)| *flow)
    }

    /// Forgets a flow that has no work.
    pub(super) fn forget(&mut self, index: FlowIndex) -> Option<Flow> {
        let flow = self.flows.remove(index)?;
        self.by_name.remove(&flow.name);
        self.unsettled.retain(|unsettled| *unsettled != index);
        if let Some(turn) = flow.idle_since {
            self.idle.remove(&(turn, index));
        }
        Some(flow)
    }

    fn note_busy(&mut self, index: FlowIndex) {
        if let Some(turn) = self.flows[index].idle_since.take() {
            self.idle.remove(&(turn, index));
        }
    }

    fn note_idle(&mut self, index: FlowIndex) {
        let flow = &mut self.flows[index];
        if flow.is_busy() || flow.idle_since.is_some() {
            return;
        }
        self.idle_turns += 1;
        flow.idle_since = Some(self.idle_turns);
        self.idle.insert((self.idle_turns, index));
    }
}
