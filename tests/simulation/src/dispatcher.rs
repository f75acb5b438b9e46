//! The dispatcher: lease, rebuild, loop. The policy is the engine's own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pagurus_dispatch::{DispatchEvent, DispatchSettings, Dispatcher, HandOut, Refusal, RequestsMoved};
use pagurus_domain::flow::{DistributionMode, FlowRules, OpenRequests};
use pagurus_domain::id::{Epoch, Incarnation, OrderNo};
use pagurus_domain::invariants::{Invariant, Violation};
use pagurus_domain::system::{CallKind, CallOutcome, CallSamples, Latencies};

use crate::core::{Core, Millis, millis, moment};
use crate::message::{Input, Message, News};
use crate::plan::TTL;
use crate::planted::Planted;
use crate::store::Unclaimed;

/// Time between two readings of the tables.
const REREAD: Millis = 1_500;
/// Time after which the leader is aware of a stop: four readings, of which some may fail.
const KNOWN_AFTER: std::time::Duration = std::time::Duration::from_secs(6);
/// Readings without an open request after which the dispatcher assumes none: news is late by seconds, and two of them correct.
const QUIET: u32 = 8;
/// Stands for all that orders ask.
const WORLD: &str = "world";
/// Hand-outs of one turn.
const MOST: usize = 200;

/// The process.
#[derive(Debug)]
pub struct Dispatching {
    node: Incarnation,
    leads: Option<Leading>,
}

/// An active one.
#[derive(Debug)]
struct Leading {
    epoch: Epoch,
    /// Time until which it trusts its lease, by its own clock.
    trusted_until: Millis,
    policy: Dispatcher,
    workers: BTreeMap<Incarnation, (u32, bool)>,
    knows_stops: bool,
    /// The next look that was asked for.
    wakes_at: Option<Millis>,
    /// Readings in a row in which no request was open although one was assumed.
    wrong: u32,
}

impl Dispatching {
    /// A standby.
    #[must_use]
    pub const fn new(node: Incarnation) -> Self {
        Self { node, leads: None }
    }

    /// Handles an input.
    pub fn take(&mut self, core: &mut Core, input: Input) {
        // A process that was frozen may make one turn before its own clock tells that its lease is over.
        let over = self.leads.as_ref().is_some_and(|leading| leading.trusted_until < core.now);
        if over && !core.chance.happens(500_000) {
            self.stop(core, "its lease is over");
        }
        match input {
            Input::Begin => {
                core.later(1, Input::Tick);
                core.later(REREAD, Input::Look);
            }
            Input::Tick => {
                core.later(millis(TTL) / 3, Input::Tick);
                self.keep_lease(core);
            }
            Input::Look => {
                core.later(REREAD, Input::Look);
                if !core.has(Planted::NothingReread) {
                    self.read(core, false);
                }
                self.turn(core);
            }
            Input::Round => {
                if let Some(leading) = &mut self.leads {
                    leading.wakes_at = None;
                }
                self.turn(core);
            }
            Input::Message(Message::News(news)) => {
                self.hear(core, &news);
                self.turn(core);
            }
            _ => {}
        }
    }

    fn stop(&mut self, core: &mut Core, why: &str) {
        if self.leads.take().is_some() {
            core.note(format_args!("leads no more: {why}"));
            core.listeners.remove(&core.turn.0);
        }
    }

    fn keep_lease(&mut self, core: &mut Core) {
        let (node, asked) = (self.node, core.now);
        let trust = asked + millis(TTL) * 4 / 5;
        if let Some(leading) = &mut self.leads {
            let epoch = leading.epoch;
            match core.call("renew", |tables| tables.renew(node, epoch, TTL)) {
                Ok(true) => leading.trusted_until = trust,
                Ok(false) => self.stop(core, "another holds the lease"),
                Err(_) => {}
            }
            return;
        }
        let Ok(Some(epoch)) = core.call("acquire", |tables| tables.acquire(node, TTL)) else { return };
        core.note(format_args!("leads with epoch {epoch}"));
        core.tables.witness.saw("a dispatcher took the lease");
        core.listeners.insert(core.turn.0);
        // The mode is changed now and then.
        let mode = if epoch.0 % 4 == 0 { DistributionMode::LimitedFlows } else { DistributionMode::Simple };
        let settings = DispatchSettings {
            grace: REREAD_GRACE,
            queue_period: REREAD_GRACE,
            flows: Arc::new(FlowRules { mode, ..FlowRules::default() }),
            ..DispatchSettings::default()
        };
        self.leads = Some(Leading {
            epoch,
            trusted_until: trust,
            policy: Dispatcher::new(settings),
            workers: BTreeMap::new(),
            knows_stops: false,
            wakes_at: None,
            wrong: 0,
        });
        self.read(core, true);
        self.turn(core);
    }

    /// Reads the tables; at the start what is ready is read in any case.
    fn read(&mut self, core: &mut Core, first: bool) {
        let Some(leading) = &mut self.leads else { return };
        let now = core.stamp();
        leading.read_stops(core, first);
        let Ok(ready) = core.call("read ready", |tables| tables.ready_stages()) else { return };
        leading.policy.handle(DispatchEvent::Ready(ready), now);
        let Ok(workers) = core.call("read workers", |tables| tables.workers()) else { return };
        leading.learn_workers(workers, core);
        let doubtful = leading.policy.doubtful(now);
        let Ok(progress) = core.call("read progress", |tables| tables.in_progress(&doubtful)) else { return };
        leading.policy.handle(DispatchEvent::InProgress(progress), now);
        leading.count_requests(core, first);
    }

    fn hear(&mut self, core: &mut Core, news: &News) {
        let Some(leading) = &mut self.leads else { return };
        let now = core.stamp();
        for (no, attempt, queue) in &news.left {
            if let Some(attempt) = attempt {
                leading.policy.handle(DispatchEvent::LeftReady { no: *no, attempt: *attempt }, now);
            }
            if let Some(queue) = queue {
                let event = DispatchEvent::LeftQueue { no: *no, queue: Arc::from(queue.as_str()) };
                leading.policy.handle(event, now);
            }
        }
        if !news.ready.is_empty() {
            let ready = news.ready.iter().map(|stage| stage.to_ready()).collect();
            leading.policy.handle(DispatchEvent::Ready(ready), now);
        }
        for (no, attempt, queue) in &news.ended {
            let left_queue = queue.as_deref().map(Arc::from);
            let event = DispatchEvent::Ended { no: *no, attempt: *attempt, left_queue, measured: None };
            leading.policy.handle(event, now);
        }
        leading.hear_of_requests(&news.requests, now);
        for (hand_out, why, busy, epoch) in &news.refused {
            let why = match why {
                _ if *busy => Refusal::Busy,
                Unclaimed::Gone => Refusal::Gone,
                Unclaimed::Behind => Refusal::Behind,
                Unclaimed::StaleEpoch => Refusal::Epoch,
            };
            if *epoch == leading.epoch {
                leading.policy.handle(DispatchEvent::Refused { hand_out: *hand_out, why }, now);
            }
        }
        if news.workers_changed
            && let Ok(workers) = core.call("read workers", |tables| tables.workers())
        {
            leading.learn_workers(workers, core);
        }
    }

    /// Hands out what may go.
    fn turn(&mut self, core: &mut Core) {
        let Some(leading) = self.leads.as_mut().filter(|leading| leading.knows_stops) else { return };
        let now = core.stamp();
        let wanted = leading.policy.wanted_queues(now, 100);
        if !wanted.is_empty() {
            let Ok(heads) = core.call("read heads", |tables| tables.heads(&wanted)) else { return };
            leading.policy.handle(DispatchEvent::QueueHeads(heads), now);
        }
        let mut by_node: BTreeMap<Incarnation, Vec<HandOut>> = BTreeMap::new();
        for hand_out in leading.policy.poll(now, MOST) {
            leading.judge_stops(core, hand_out.no);
            by_node.entry(hand_out.node).or_default().push(hand_out);
        }
        for (node, hand_outs) in by_node {
            let list: Vec<String> =
                hand_outs.iter().map(|one| format!("{}.{}", one.no, one.attempt)).collect();
            core.note(format_args!("hands out to node {node}: {}", list.join(" ")));
            if let Some(process) = core.process_of(node) {
                core.send(process, &Message::HandOuts(Arc::new(hand_outs), leading.epoch));
            }
        }
        if let Some(at) = leading.policy.next_wake() {
            let at = moment(at).max(core.now + 20);
            if at < core.now + REREAD && leading.wakes_at.is_none_or(|known| at < known) {
                leading.wakes_at = Some(at);
                core.later(at - core.now, Input::Round);
            }
        }
    }
}

/// Time after which a hand-out without any news is looked up.
const REREAD_GRACE: std::time::Duration = std::time::Duration::from_secs(3);

impl Leading {
    /// Reads the stops of flows; nothing is handed out before they are known.
    fn read_stops(&mut self, core: &mut Core, first: bool) {
        let forgets = if first { Planted::StopsForgottenByNext } else { Planted::StopsNotReread };
        let known = self.knows_stops;
        if core.has(forgets) && (first || known) {
            if first {
                self.policy.handle(DispatchEvent::Stops(Vec::new()), core.stamp());
                self.knows_stops = true;
            }
            return;
        }
        if let Ok(stops) = core.call("read stops", |tables| tables.held_stops()) {
            self.policy.handle(DispatchEvent::Stops(stops), core.stamp());
            self.knows_stops = true;
        }
    }

    /// Learns of requests that are waited for, or not any more. All appear as answered promptly, so that limits look at them.
    fn hear_of_requests(&mut self, moves: &[(String, i32)], now: jiff::Timestamp) {
        let moved = |(flow, by): &(String, i32)| RequestsMoved {
            flow: flow.as_str().into(),
            system: WORLD.into(),
            by: *by,
        };
        self.policy.handle(DispatchEvent::RequestsMoved(moves.iter().map(moved).collect()), now);
        for (flow, _) in moves.iter().filter(|(_, by)| *by < 0) {
            let mut latencies = Latencies::default();
            latencies.note(Duration::from_secs(1));
            let answered = CallSamples {
                flow: flow.as_str().into(),
                scenario: flow.as_str().into(),
                system: WORLD.into(),
                kind: CallKind::Asynchronous,
                outcome: CallOutcome::Answered,
                count: 1,
                stages: 0,
                latencies,
                retry_after: None,
            };
            self.policy.handle(DispatchEvent::Called(vec![answered]), now);
        }
    }

    /// Holds what is known of open requests against the rows.
    fn count_requests(&mut self, core: &mut Core, first: bool) {
        if core.has(Planted::RequestsNotCounted) && !first {
            return self.judge_requests(core, true);
        }
        self.policy.handle(DispatchEvent::RequestsMarked, core.stamp());
        let within = FlowRules::default().open_requests_within;
        // A count that fails is one that comes later: nothing is tried by it that the other readings do not try.
        core.tables.now = core.stamp();
        let counts = core.tables.open_requests(within);
        let are_none = counts.is_empty();
        let rows = counts.into_iter().map(|(flow, (open, recent))| OpenRequests {
            flow: flow.into(),
            system: WORLD.into(),
            open,
            recent,
        });
        self.policy.handle(DispatchEvent::OpenRequests(rows.collect()), core.stamp());
        self.judge_requests(core, are_none);
    }

    /// Checks that no request is counted as open if none has been for some readings.
    fn judge_requests(&mut self, core: &mut Core, are_none: bool) {
        let known = self.policy.known_requests();
        let is_right = !are_none || core.faulty || known == 0;
        self.wrong = if is_right || !core.tables.open_requests(Duration::ZERO).is_empty() {
            0
        } else {
            self.wrong + 1
        };
        let found = Violation::unless(self.wrong < QUIET, Invariant::CountsAreRows, || {
            format!("{known} requests are counted as open, and no order waits for one")
        });
        core.tables.witness.violations.extend(found);
    }

    /// Checks that no stage of a flow that was stopped a while ago is handed out.
    fn judge_stops(&self, core: &mut Core, no: OrderNo) {
        core.tables.now = core.stamp();
        let Some(flow) = core.tables.orders.get(&no).map(|order| order.flow.clone()) else { return };
        let stop = core.tables.stopped_since(&flow, KNOWN_AFTER).map(|stop| stop.from);
        let leads = core.tables.is_present(self.epoch);
        let holds = stop.is_none() || !leads;
        let found = Violation::unless(holds, Invariant::StoppedIdle, || {
            format!("order {no} is handed out, and flow `{flow}` is stopped since {stop:?}")
        });
        core.tables.witness.violations.extend(found);
    }

    fn learn_workers(&mut self, workers: Vec<(Incarnation, u32, bool)>, core: &Core) {
        let now = core.stamp();
        let more = if core.has(Planted::PlacesIgnored) { 9 } else { 0 };
        let present: BTreeMap<Incarnation, (u32, bool)> =
            workers.into_iter().map(|(node, places, takes)| (node, (places + more, takes))).collect();
        for (node, state) in present.iter().filter(|(node, state)| self.workers.get(node) != Some(state)) {
            let event = match *state {
                (concurrency, true) => DispatchEvent::NodeUp { node: *node, concurrency },
                (_, false) => DispatchEvent::NodeDraining { node: *node },
            };
            self.policy.handle(event, now);
        }
        for node in self.workers.keys().filter(|node| !present.contains_key(node)) {
            self.policy.handle(DispatchEvent::NodeDown { node: *node }, now);
        }
        self.workers = present;
    }
}
