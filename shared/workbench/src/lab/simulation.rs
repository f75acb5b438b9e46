//! The simulation: orders come, the dispatcher hands out, workers call, systems answer, and news of it comes late or not
//! at all. The dispatcher is the very one of production. Must never read its thoughts: it hears what it would hear.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_dispatch::{
    DispatchEvent, Dispatcher, HandOut, InProgress, Lane, QueueHead, QueueMember, Running,
};
use pagurus_domain::flow::{FlowRecord, OpenRequests, StartEstimate, SystemRecord};
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};

use super::chance::Chance;
use super::instance::Instance;
use super::news::LabNews;
use super::plan::LabPlan;
use super::server::Server;
use super::trace::{LOOKS_A_SECOND, Trace};

/// Microseconds of a second.
pub(super) const SECOND: u64 = 1_000_000;
/// News of this time is sent together.
const FLUSH: u64 = 10_000;
/// Between two looks at the systems.
const LOOK: u64 = SECOND / LOOKS_A_SECOND;
/// Between two readings of the tables, where news is lost.
const READING: u64 = 5 * SECOND;
/// Age up to which an open request is a recent one: that of the rules by default.
const RECENT: u64 = 60 * SECOND;
/// Hand-outs of one turn.
const MAX_HAND_OUTS: usize = 2000;

/// Event of the simulation.
#[derive(Debug)]
pub(super) enum Happening {
    Arrives(usize),
    /// An order comes at a time of its own.
    Comes(usize),
    Heard(Vec<DispatchEvent>),
    Claimed(HandOut, u32),
    Calls(usize),
    Works(usize, CallEnd),
    /// A server ends a call that nobody waits for any more.
    Frees(usize),
    /// The caller of that time may give up.
    GivesUp(usize, u64),
    Ends(usize, CallEnd),
    Again(usize),
    Flush,
    Wake,
    Look,
    Read,
    TakeOver,
}

/// End of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// No call.
    None,
    Answered,
    /// Sent, and answered by callback later.
    Sent,
    Business,
    Failed(Option<Duration>),
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderStand {
    Ready,
    Running(Incarnation),
    /// Waits for a callback, or to come again.
    Suspended,
    Done,
}

#[derive(Debug)]
pub(super) struct LabOrder {
    pub(super) flow: usize,
    pub(super) attempt: i32,
    pub(super) state: OrderStand,
    pub(super) lane: Lane,
    pub(super) queue: Option<usize>,
    pub(super) stretch: Duration,
    pub(super) ready_at: u64,
    pub(super) began_at: u64,
    pub(super) called_at: u64,
    /// True while its stage calls the second of its systems.
    pub(super) is_at_second: bool,
    /// True while it waits for a callback.
    pub(super) is_asking: bool,
    /// Estimate of its start.
    pub(super) forecasts: Option<StartEstimate>,
}

/// The whole of it.
#[derive(Debug)]
pub(super) struct Simulation<'a, F> {
    pub(super) plan: &'a LabPlan,
    make: F,
    pub(super) dispatcher: Dispatcher,
    pub(super) now: u64,
    pub(super) epoch: u32,
    happenings: BinaryHeap<Reverse<(u64, u64, usize)>>,
    slots: Vec<Option<Happening>>,
    free: Vec<usize>,
    count: u64,
    happened: u64,
    wake_at: u64,
    pub(super) chance: Chance,
    pub(super) orders: Vec<LabOrder>,
    pub(super) queues: Vec<(Arc<str>, VecDeque<usize>)>,
    pub(super) servers: Vec<Server>,
    pub(super) instances: Vec<Instance>,
    pub(super) news: LabNews,
    flush_is_due: bool,
    /// Records that the dispatcher would have stored.
    pub(super) flows: BTreeMap<String, FlowRecord>,
    systems: BTreeMap<String, SystemRecord>,
    pub(super) trace: Trace,
}

impl<'a, F: Fn() -> Dispatcher> Simulation<'a, F> {
    /// Prepares the simulation before anything happens.
    pub(super) fn new(plan: &'a LabPlan, make: F) -> Self {
        let mut world = Self {
            plan,
            dispatcher: make(),
            make,
            now: 0,
            epoch: 0,
            happenings: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            count: 0,
            happened: 0,
            wake_at: u64::MAX,
            chance: Chance::of(plan.seed),
            orders: Vec::new(),
            queues: Vec::new(),
            servers: plan.systems.iter().cloned().map(Server::new).collect(),
            instances: Vec::new(),
            news: LabNews::default(),
            flush_is_due: false,
            flows: BTreeMap::new(),
            systems: BTreeMap::new(),
            trace: Trace::new(plan),
        };
        for (index, flow) in plan.flows.iter().enumerate() {
            world.add_flow(index, flow);
        }
        for at in &plan.take_overs {
            world.plan_at(at.as_micros() as u64, Happening::TakeOver);
        }
        if plan.lost_news > 0.0 {
            world.plan_at(READING, Happening::Read);
        }
        world.plan_at(LOOK, Happening::Look);
        world.lead();
        world
    }

    /// Goes on to the end.
    pub(super) fn run(&mut self) {
        let end = self.plan.duration.as_micros() as u64;
        while let Some(Reverse((at, _, slot))) = self.happenings.pop() {
            if at > end || self.happened == self.plan.most_happenings {
                break;
            }
            self.happened += 1;
            self.now = at;
            let Some(happening) = self.slots[slot].take() else { continue };
            self.free.push(slot);
            self.happen(happening);
        }
        self.now = end;
        self.still_waiting();
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrives(flow) => self.arrives(flow),
            Happening::Comes(flow) => self.order(flow),
            Happening::Heard(events) => {
                let now = self.time();
                events.into_iter().for_each(|event| self.dispatcher.handle(event, now));
                self.turn();
            }
            Happening::Claimed(hand_out, epoch) => self.claimed(hand_out, epoch),
            Happening::Calls(order) => self.calls(order),
            Happening::Works(order, end) => self.worked(order, end),
            Happening::Frees(system) => self.frees(system, false),
            Happening::GivesUp(order, called_at) => self.gives_up(order, called_at),
            Happening::Ends(order, end) => self.ends(order, end),
            Happening::Again(order) => {
                self.orders[order].lane = Lane::Woken;
                self.orders[order].attempt += 1;
                self.becomes_ready(order);
            }
            Happening::Flush => self.flush(),
            Happening::Wake => {
                self.wake_at = u64::MAX;
                self.turn();
            }
            Happening::Look => self.look(),
            Happening::Read => {
                self.read(false);
                self.plan_at(self.now + READING, Happening::Read);
            }
            Happening::TakeOver => {
                self.epoch += 1;
                self.dispatcher = (self.make)();
                self.lead();
            }
        }
    }

    fn time(&self) -> Timestamp {
        time(self.now)
    }

    pub(super) fn plan_at(&mut self, at: u64, happening: Happening) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(happening);
        self.count += 1;
        self.happenings.push(Reverse((at.max(self.now), self.count, slot)));
    }

    pub(super) fn tell_soon(&mut self) {
        if !std::mem::replace(&mut self.flush_is_due, true) {
            self.plan_at(self.now + FLUSH, Happening::Flush);
        }
    }

    fn flush(&mut self) {
        self.flush_is_due = false;
        let events = self.news.take(self.plan.lost_news, self.plan.lost_samples, &mut self.chance);
        let at = self.now + self.plan.news_delay.as_micros() as u64;
        self.plan_at(at, Happening::Heard(events));
    }

    fn turn(&mut self) {
        let now = self.time();
        let wanted = self.dispatcher.wanted_queues(now, 1000);
        if !wanted.is_empty() {
            let heads = wanted.iter().map(|queue| self.head(queue)).collect();
            self.dispatcher.handle(DispatchEvent::QueueHeads(heads), now);
        }
        loop {
            let hand_outs = self.dispatcher.poll(now, MAX_HAND_OUTS);
            let count = hand_outs.len();
            for hand_out in hand_outs {
                let at = self.now + self.plan.news_delay.as_micros() as u64;
                self.plan_at(at, Happening::Claimed(hand_out, self.epoch));
            }
            if count < MAX_HAND_OUTS {
                break;
            }
        }
        if let Some(wake) = self.dispatcher.next_wake() {
            let at = u64::try_from(wake.as_microsecond()).unwrap_or_default().max(self.now + 1000);
            if at < self.wake_at {
                self.wake_at = at;
                self.plan_at(at, Happening::Wake);
            }
        }
    }

    fn head(&self, queue: &Arc<str>) -> QueueHead {
        let members = self.queues.iter().find(|(name, _)| name == queue);
        let head = members.and_then(|(_, members)| members.front()).map(|order| {
            let ready = (self.orders[*order].state == OrderStand::Ready).then(|| self.row(*order));
            QueueMember { no: OrderNo(*order as i64), position: *order as i64, ready }
        });
        QueueHead { queue: Arc::clone(queue), head }
    }

    fn look(&mut self) {
        let now = self.time();
        for record in self.dispatcher.changed_systems(now) {
            self.systems.insert(record.system.clone(), record);
        }
        // As in production, what is known of flows is stored each second.
        if self.now.is_multiple_of(SECOND) {
            for record in self.dispatcher.changed_flows(now) {
                self.flows.insert(record.flow.clone(), record);
            }
            self.trace.look_at_flows(&self.instances, &self.flows);
        }
        self.trace.look_at_systems(self.now, &self.servers, &self.systems);
        self.plan_at(self.now + LOOK, Happening::Look);
    }

    /// Starts a dispatcher: it receives what was stored, and reads the tables.
    fn lead(&mut self) {
        let now = self.time();
        let remembered = DispatchEvent::Remembered {
            flows: self.flows.values().cloned().collect(),
            systems: self.systems.values().cloned().collect(),
        };
        self.dispatcher.handle(remembered, now);
        self.dispatcher.handle(DispatchEvent::Stops(Vec::new()), now);
        for node in 1..=self.plan.nodes {
            let (node, concurrency) = (Incarnation(i64::from(node)), self.plan.concurrency);
            self.dispatcher.handle(DispatchEvent::NodeUp { node, concurrency }, now);
        }
        self.read(true);
    }

    /// Reads the tables: a dispatcher that `is_first` to do so goes by them alone.
    fn read(&mut self, is_first: bool) {
        let now = self.time();
        let doubtful = self.dispatcher.doubtful(now);
        let mut running = Vec::new();
        let mut rows = Vec::new();
        let mut open: BTreeMap<(Arc<str>, Arc<str>), OpenRequests> = BTreeMap::new();
        for (index, order) in self.orders.iter().enumerate() {
            let instance = &self.instances[order.flow];
            match order.state {
                OrderStand::Ready => rows.push(self.row(index)),
                OrderStand::Running(node) => running.push(Running {
                    no: OrderNo(index as i64),
                    attempt: Attempt(order.attempt),
                    node,
                    flow: Arc::clone(&instance.name),
                    queue: order.queue.map(|queue| Arc::clone(&self.queues[queue].0)),
                }),
                OrderStand::Suspended => {
                    let Some(system) = self.asked(order) else { continue };
                    let (flow, system) = (Arc::clone(&instance.name), Arc::from(system));
                    let key = (Arc::clone(&flow), Arc::clone(&system));
                    let row = open.entry(key).or_insert(OpenRequests { flow, system, open: 0, recent: 0 });
                    row.open += 1;
                    row.recent += u32::from(self.now - order.called_at <= RECENT);
                }
                OrderStand::Done => {}
            }
        }
        let is_ready = |no: &OrderNo| {
            let order = &self.orders[no.0 as usize];
            (order.state == OrderStand::Ready).then_some((*no, Attempt(order.attempt)))
        };
        let ready = doubtful.iter().filter_map(is_ready).collect();
        self.dispatcher.handle(DispatchEvent::Ready(rows), now);
        self.dispatcher.handle(DispatchEvent::InProgress(InProgress { running, ready }), now);
        if !is_first {
            self.dispatcher.handle(DispatchEvent::RequestsMarked, now);
        }
        self.dispatcher.handle(DispatchEvent::OpenRequests(open.into_values().collect()), now);
        self.turn();
    }

    /// The system that is to answer a suspended order, if it waits for one and not for its next attempt.
    fn asked(&self, order: &LabOrder) -> Option<&str> {
        let flow = &self.plan.flows[self.instances[order.flow].plan];
        let system = flow.calls.map(|system| &self.plan.systems[system])?;
        (order.is_asking && system.is_asynchronous).then_some(&*system.name)
    }
}

/// Converts a time of the simulation for the dispatcher.
pub(super) fn time(micros: u64) -> Timestamp {
    Timestamp::from_microsecond(i64::try_from(micros).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX)
}
