//! The dispatcher's policy: which ready stage runs next, and where. Pure: it reads no clock, no
//! table and no message; events and the time come in, hand-outs come out. It must never be asked
//! to keep anything safe: a claim by the worker, guarded in the database, does that. The policy
//! is there so that hardly any claim is refused, nobody waits without need, and no capacity is
//! exceeded.
//!
//! # How it is used
//!
//! The owner feeds [`Dispatcher::handle`] with all there is, then takes what [`Dispatcher::poll`] decided and sends it. News is
//! a hint: it may be late, doubled or lost. So the owner also reads the tables from time to time, page by page, and says what it
//! saw in the same way; what is known already changes nothing. Three readings go on for ever:
//!
//! - the ready rows, as [`DispatchEvent::Ready`];
//! - what is in progress, as [`DispatchEvent::InProgress`]: first [`Dispatcher::doubtful`] is asked which
//!   hand-outs nothing was heard of, then the tables are read, one reading at a time. Nothing is
//!   handed out before the first of these, since the capacity in use is not known before;
//! - the heads of the queues that [`Dispatcher::wanted_queues`] names, as [`DispatchEvent::QueueHeads`].
//!
//! Between the turns the owner sleeps until the next event, the next reading or [`Dispatcher::next_wake`].
//!
//! # How it decides
//!
//! A ready stage is held once, in `ready`, found by the number of its order. What may go stands in one of twelve lines of its
//! flow (`line`): by mode, because each mode has its own capacity (`Capacity`); by priority, which get turns by weight, and by
//! lane, fresh or woken, which alternate (`share`); the woken ones keep to a bound (`woken`). Of these the flows take turns, and
//! one that has its part of the places (`FlowShare`) stands aside. Within a line the first come goes first. A sequential stage
//! stands in line only while it is its queue's first and nothing speaks against it (`queue`). The node is the least loaded one
//! that has a permit left, or the one of the stage before (`node`). No step looks at more than one order, one queue and one node,
//! whatever the backlog is.
//!
//! From the hand-out on a stage counts as in progress (`progress`) until there is proof that it is over or was never taken. Where
//! there is none, the permit stays taken until the tables have been read: a moment unused is cheaper than capacity exceeded.

mod backlog;
mod calling;
mod control;
mod cost;
mod decided;
mod due;
mod event;
mod flow;
mod gate;
mod health;
mod hear;
mod index;
mod line;
mod node;
mod open;
mod outcome;
mod patience;
mod progress;
mod queue;
mod ready;
mod report;
mod share;
mod slab;
mod stats;
mod system;
mod tally;
#[cfg(test)]
mod tests;
mod timing;
mod turn;
mod woken;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{Capacity, FlowRules, FlowShare, SystemRules};
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::Mode;

use control::Rule;
pub use control::{Adaptive, LimitRule, LimitWindow, PathTimes};
use decided::Decided;
pub use event::{
    DispatchEvent, HandOut, InProgress, Lane, QueueHead, QueueMember, QueuePosition, Ready, Refusal,
    RequestsMoved, Running, StageMeasured,
};
use flow::Flows;
use gate::ControlSubject;
use index::{FlowIndex, QueueIndex, StageSlot, SystemIndex};
pub use node::NodeState;
use node::Nodes;
use progress::{StageStanding, StagesInProgress};
use queue::Queues;
use ready::{DispatchStage, LineEnd, ReadyStages};
pub use report::AwaySystem;
use share::FairShare;
pub use share::Weights;
pub use stats::{FlowStats, NodeStats, Stats};
use system::CalledSystems;
use woken::WokenBound;

/// The two modes, by the number of their line.
const MODES: [Mode; 2] = [Mode::Parallel, Mode::Sequential];

/// Settings of the operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchSettings {
    /// Stages in progress at most, of each mode.
    pub capacity: Capacity,
    /// Shares of the priorities in the capacity.
    pub weights: Weights,
    /// Part of the capacity that one flow may have.
    pub flow_share: FlowShare,
    /// Rules by which flows are limited and stopped.
    pub flows: Arc<FlowRules>,
    /// Rules for called systems.
    pub systems: Arc<SystemRules>,
    /// After this time a hand-out that nothing was heard of is looked up in the tables.
    pub grace: Duration,
    /// Interval at which the head of a queue is read again that has ready members and hands none out.
    pub queue_period: Duration,
}

impl Default for DispatchSettings {
    fn default() -> Self {
        Self {
            capacity: Capacity { parallel: 1000, sequential: 1000 },
            weights: Weights { high: 70, normal: 25, low: 5 },
            flow_share: FlowShare { percentage: 80 },
            flows: Arc::default(),
            systems: Arc::default(),
            grace: Duration::from_secs(5),
            queue_period: Duration::from_secs(5),
        }
    }
}

/// The policy with all that it knows. One task owns it.
#[derive(Debug)]
pub struct Dispatcher {
    settings: DispatchSettings,
    waiting: ReadyStages,
    queues: Queues,
    flows: Flows,
    systems: CalledSystems,
    nodes: Nodes,
    progress: StagesInProgress,
    woken: WokenBound,
    share: FairShare,
    decided: Decided,
    /// Controls by the time at which each is to be woken; times that no longer apply wake nobody up.
    timers: BTreeSet<(Timestamp, ControlSubject)>,
    /// Subjects of which a few calls may go as probes.
    probing: BTreeSet<ControlSubject>,
    /// The systems that are left alone: nothing may go of flows that call them mostly.
    away: BTreeSet<SystemIndex>,
    /// Given to flows that stand aside because of a system.
    ranks: u64,
    changed_flows: VecDeque<FlowIndex>,
    changed_systems: VecDeque<SystemIndex>,
    settled_at: Timestamp,
    /// False before the rows of open requests were counted for the first time.
    are_requests_marked: bool,
    requests_corrected: u64,
    /// True while flows share by time and not by turns.
    by_time: bool,
    /// Time of the event that is taken in, or of the poll.
    now: Timestamp,
    /// Serial of the latest hand-out.
    serial: u64,
}

impl Dispatcher {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(settings: DispatchSettings) -> Self {
        Self::limited_by(settings, Rule::adaptive())
    }

    /// Creates a dispatcher that finds the limits of named systems by other rules, to compare them.
    #[must_use]
    pub fn with_rule(
        settings: DispatchSettings,
        make: impl Fn() -> Box<dyn LimitRule> + Send + Sync + 'static,
    ) -> Self {
        Self::limited_by(settings, Rule::of(make))
    }

    fn limited_by(settings: DispatchSettings, rule: Rule) -> Self {
        let mut dispatcher = Self {
            waiting: ReadyStages::new(),
            queues: Queues::new(),
            flows: Flows::new(Rule::adaptive()),
            systems: CalledSystems::new(rule),
            nodes: Nodes::new(settings.capacity),
            progress: StagesInProgress::new(),
            woken: WokenBound::new(),
            share: FairShare::new(settings.weights),
            settings,
            decided: Decided::default(),
            timers: BTreeSet::new(),
            probing: BTreeSet::new(),
            away: BTreeSet::new(),
            ranks: 0,
            changed_flows: VecDeque::new(),
            changed_systems: VecDeque::new(),
            settled_at: Timestamp::UNIX_EPOCH,
            are_requests_marked: false,
            requests_corrected: 0,
            by_time: false,
            now: Timestamp::UNIX_EPOCH,
            serial: 0,
        };
        dispatcher.choose_sharing();
        dispatcher
    }

    /// Goes on with other settings. What is in progress beyond them runs on.
    pub fn reconfigure(&mut self, settings: DispatchSettings) {
        self.nodes.set_capacity(settings.capacity);
        self.share.set_weights(settings.weights);
        self.settings = settings;
        self.choose_sharing();
        self.places_changed();
    }

    /// Takes in what happened, or what was read.
    pub fn handle(&mut self, event: DispatchEvent, now: Timestamp) {
        self.now = now;
        match event {
            DispatchEvent::Ready(rows) => rows.iter().for_each(|row| self.ready(row)),
            DispatchEvent::LeftReady { no, attempt } => self.left_ready(no, attempt),
            DispatchEvent::LeftQueue { no, queue } => self.left_queue(no, &queue),
            DispatchEvent::Ended { no, attempt, left_queue, measured } => {
                self.ended(no, attempt, left_queue.as_deref(), measured.as_ref());
            }
            DispatchEvent::Called(samples) => self.called(&samples),
            DispatchEvent::RequestsMoved(moves) => self.requests_moved(&moves),
            DispatchEvent::RequestsMarked => self.mark_requests(),
            DispatchEvent::OpenRequests(rows) => self.open_requests(&rows),
            DispatchEvent::OldestReady(rows) => self.oldest_ready(&rows),
            DispatchEvent::Stops(stops) => self.set_stops(stops),
            DispatchEvent::SystemOverrides(overrides) => self.set_overrides(overrides),
            DispatchEvent::Windows(windows) => self.set_windows(windows),
            DispatchEvent::Remembered { flows, systems } => self.remembered(&flows, &systems),
            DispatchEvent::Refused { hand_out, why } => self.refused(hand_out, why, now),
            DispatchEvent::NodeUp { node, concurrency } => {
                self.nodes.up(node, concurrency);
                self.places_changed();
            }
            DispatchEvent::NodeDraining { node } => {
                self.nodes.leave(node, NodeState::Draining);
                self.places_changed();
            }
            DispatchEvent::NodeDown { node } => {
                self.nodes.leave(node, NodeState::Down);
                self.places_changed();
            }
            DispatchEvent::InProgress(snapshot) => self.in_progress(snapshot),
            DispatchEvent::QueueHeads(heads) => {
                heads.into_iter().for_each(|head| self.queue_head(head));
            }
        }
    }

    /// Hands out as much as may go now, at most `max`. If it is that many, there may be more.
    pub fn poll(&mut self, now: Timestamp, max: usize) -> Vec<HandOut> {
        self.now = now;
        let mut hand_outs = Vec::new();
        if !self.progress.was_read() || !self.decided.are_stops_known() {
            return hand_outs;
        }
        self.pass_time(now);
        self.nodes.start_batch();
        self.send_probes(now, max, &mut hand_outs);
        while hand_outs.len() < max && self.nodes.any_open() {
            match self.send_again(now).or_else(|| self.send_next(now)) {
                Some(hand_out) => hand_outs.push(hand_out),
                None => break,
            }
        }
        hand_outs
    }

    /// The hand-outs that nothing was heard of within the grace, or whose node is gone. The next
    /// [`InProgress`] must say which of them still are ready; those that neither are nor run are
    /// dropped.
    pub fn doubtful(&mut self, now: Timestamp) -> Vec<OrderNo> {
        let mut doubtful = Vec::new();
        for record in self.progress.iter_mut() {
            let StageStanding::Sent(sent) = &mut record.standing else { continue };
            let Some(node) = record.node else { continue };
            let silent = now.duration_since(sent.at).unsigned_abs() >= self.settings.grace;
            sent.asked = silent || sent.doubted || self.nodes.is_down(node);
            if sent.asked {
                doubtful.push(record.stage.no);
            }
        }
        doubtful
    }

    /// True if this readiness of an order waits, is in progress, or is known to be over: news of
    /// it changes nothing.
    #[must_use]
    pub fn knows(&self, no: OrderNo, attempt: Attempt) -> bool {
        let waits = self.waiting.find(no).map(|slot| self.waiting.stage(slot).attempt);
        let runs = self.progress.get(no).map(|record| record.stage.attempt);
        self.progress.has_ended(no, attempt) || waits.max(runs).is_some_and(|known| known >= attempt)
    }

    /// The queues whose head should be read, at most `max`.
    pub fn wanted_queues(&mut self, now: Timestamp, max: usize) -> Vec<Arc<str>> {
        self.queues.wanted(now, self.settings.queue_period, max)
    }

    /// When [`Dispatcher::poll`] or [`Dispatcher::wanted_queues`] may have something to say
    /// without any further event. A time that has passed means: at once.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let timer = self.timers.first().map(|(due, _)| *due);
        let (places, queues) = (self.nodes.next_resume(), self.queues.next_look());
        let dues = [places, queues, timer, self.decided.due(), self.woken.next_look()];
        dues.into_iter().flatten().min()
    }

    /// The serial of the latest hand-out; 0 before the first.
    #[must_use]
    pub const fn last_serial(&self) -> u64 {
        self.serial
    }

    /// A view for metrics and operators.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let flows = self.flows.iter().filter(|(_, flow)| flow.is_busy()).map(|(_, flow)| FlowStats {
            flow: Arc::clone(&flow.name),
            waiting: flow.waiting,
            in_progress: flow.stages_in_progress(),
        });
        let nodes = self.nodes.iter().map(|(node, state, allowance, in_progress)| NodeStats {
            node,
            state,
            allowance,
            in_progress,
        });
        Stats {
            waiting: self.waiting.by_priority(),
            parallel: self.progress.of_mode(Mode::Parallel),
            sequential: self.progress.of_mode(Mode::Sequential),
            flows: flows.collect(),
            nodes: nodes.collect(),
            queues: self.queues.len(),
            waiting_bytes: self.waiting.bytes() + self.queues.bytes(),
        }
    }

    /// The places have changed, for every flow and system.
    fn places_changed(&mut self) {
        self.rebound();
        self.choose_sharing();
        self.judge_all();
    }

    /// Holds a ready stage, in line if it may go.
    fn add_waiting(&mut self, stage: DispatchStage, end: LineEnd) {
        let slot = self.waiting.insert(stage);
        match stage.queue() {
            None => self.waiting.offer(slot, end),
            Some(queue) => {
                if let Some(outdated) = self.queues.join(&self.waiting, queue, slot) {
                    self.remove_waiting(outdated);
                }
                self.settle(queue, end);
            }
        }
    }

    /// Lets a ready stage go, and its queue's next one come.
    fn remove_waiting(&mut self, slot: StageSlot) {
        let stage = *self.waiting.stage(slot);
        if let Some(flow) = self.flows.get_mut(stage.flow) {
            flow.known.queue_waits.leaves(stage.no);
        }
        if let Some(queue) = stage.queue() {
            self.queues.leave(queue, stage.position, slot);
        }
        self.waiting.remove(slot);
        self.flows.unwait(stage.flow, stage.priority);
        self.left_line(stage.flow);
        if let Some(queue) = stage.queue() {
            self.settle(queue, LineEnd::Back);
        }
    }

    /// Brings the line in step with what the queue now allows.
    fn settle(&mut self, queue: QueueIndex, end: LineEnd) {
        let turn = self.queues.settle(queue);
        if let Some(slot) = turn.withdraw {
            self.waiting.withdraw(slot);
        }
        if let Some(slot) = turn.offer {
            self.waiting.offer(slot, end);
        }
    }
}
