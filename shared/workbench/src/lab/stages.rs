//! The orders of the simulation: from their coming over their stages and calls to their end, as the tables and the workers
//! would have it. Must never decide what runs next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pagurus_dispatch::{
    DispatchEvent, Dispatcher, HandOut, Lane, QueuePosition, Ready, Refusal, RequestsMoved, StageMeasured,
};
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::system::{CallFailure, CallKind, CallOutcome};

use super::forecasts::Forecasts;
use super::instance::Instance;
use super::plan::LabFlow;
use super::server::Offer;
use super::simulation::{CallEnd, Happening, LabOrder, OrderStand, Simulation};

/// Time that it takes to send a request that is answered by callback.
const SENDING: u64 = 5_000;

impl<'a, F: Fn() -> Dispatcher> Simulation<'a, F> {
    pub(super) fn add_flow(&mut self, index: usize, flow: &LabFlow) {
        for number in 1..=flow.count {
            let name = if flow.count == 1 { flow.name.clone() } else { format!("{}-{number}", flow.name) };
            let instance = self.instances.len();
            self.instances.push(Instance {
                name: Arc::from(name),
                plan: index,
                worked: 0.0,
                ended: 0,
                failed: 0,
                waited: 0.0,
                came: 0,
                in_progress: 0,
                ready: [0; 2],
                dwells: Vec::new(),
                forecasts: Forecasts::default(),
            });
            for _ in 0..flow.backlog {
                self.order(instance);
            }
            for at in &flow.arrivals {
                self.plan_at(at.as_micros() as u64, Happening::Comes(instance));
            }
            if flow.rate > 0.0 {
                let first = flow.from.as_micros() as u64 + (self.chance.gap(flow.rate) * 1e6) as u64;
                self.plan_at(first, Happening::Arrives(instance));
            }
        }
    }

    pub(super) fn arrives(&mut self, instance: usize) {
        let flow = &self.plan.flows[self.instances[instance].plan];
        if self.now > flow.until.as_micros() as u64 {
            return;
        }
        let rate = flow.rate_at(Duration::from_micros(self.now));
        let next = self.now + (self.chance.gap(rate) * 1e6).max(1.0) as u64;
        self.plan_at(next, Happening::Arrives(instance));
        self.order(instance);
    }

    pub(super) fn order(&mut self, instance: usize) {
        let flow = &self.plan.flows[self.instances[instance].plan];
        let stretch = if self.chance.happens(flow.long_share) { flow.long_own } else { Duration::ZERO };
        let order = self.orders.len();
        let queue = (flow.queues > 0).then(|| {
            let number = (self.chance.part() * f64::from(flow.queues)) as u32;
            let name = format!("{}-{number}", self.instances[instance].name);
            self.enter_queue(&name, order)
        });
        self.orders.push(LabOrder {
            flow: instance,
            attempt: 1,
            state: OrderStand::Suspended,
            lane: Lane::Fresh,
            queue,
            stretch,
            ready_at: self.now,
            began_at: 0,
            called_at: 0,
            is_at_second: false,
            is_asking: false,
            forecasts: None,
        });
        self.instances[instance].came += 1;
        self.becomes_ready(order);
    }

    pub(super) fn enter_queue(&mut self, name: &str, order: usize) -> usize {
        let queue = self.queues.iter().position(|(known, _)| **known == *name).unwrap_or_else(|| {
            self.queues.push((Arc::from(name), VecDeque::new()));
            self.queues.len() - 1
        });
        self.queues[queue].1.push_back(order);
        queue
    }

    pub(super) fn becomes_ready(&mut self, order: usize) {
        let known = &mut self.orders[order];
        known.state = OrderStand::Ready;
        known.ready_at = self.now;
        self.instances[known.flow].ready[known.lane as usize] += 1;
        self.orders[order].forecasts = self.foretell(order);
        let row = self.row(order);
        self.news.ready(row);
        self.tell_soon();
    }

    pub(super) fn row(&self, order: usize) -> Ready {
        let known = &self.orders[order];
        let flow = &self.plan.flows[self.instances[known.flow].plan];
        let place = known
            .queue
            .map(|queue| QueuePosition { queue: Arc::clone(&self.queues[queue].0), position: order as i64 });
        Ready {
            no: OrderNo(order as i64),
            attempt: Attempt(known.attempt),
            flow: Arc::clone(&self.instances[known.flow].name),
            priority: flow.priority,
            lane: known.lane,
            place,
        }
    }

    pub(super) fn claimed(&mut self, hand_out: HandOut, epoch: u32) {
        if epoch != self.epoch {
            return;
        }
        let order = hand_out.no.0 as usize;
        let known = &self.orders[order];
        let is_head = known.queue.is_none_or(|queue| self.queues[queue].1.front() == Some(&order));
        let is_there = known.state == OrderStand::Ready && known.attempt == hand_out.attempt.0;
        if !is_there || !is_head {
            let why = if is_there { Refusal::Behind } else { Refusal::Gone };
            if matches!(known.state, OrderStand::Running(_)) {
                return;
            }
            self.news.event(DispatchEvent::Refused { hand_out, why });
            return self.tell_soon();
        }
        let flow = &self.plan.flows[self.instances[known.flow].plan];
        let own = flow.own.as_micros() as u64;
        let calls = flow.calls.is_some() && (flow.call_part >= 1.0 || self.chance.happens(flow.call_part));
        let known = &mut self.orders[order];
        known.state = OrderStand::Running(hand_out.node);
        known.began_at = self.now;
        known.is_at_second = false;
        let (instance, lane) = (known.flow, known.lane);
        self.starts(order);
        self.instances[instance].ready[lane as usize] -= 1;
        self.instances[instance].in_progress += 1;
        if calls {
            self.plan_at(self.now + own, Happening::Calls(order));
        } else {
            let stretch = self.orders[order].stretch.as_micros() as u64;
            self.plan_at(self.now + own.max(1) + stretch, Happening::Ends(order, CallEnd::None));
        }
    }

    pub(super) fn calls(&mut self, order: usize) {
        let Some((system, flow)) = self.system_of(order) else { return };
        let end = self.end_of_call(system, flow);
        let is_asynchronous = self.plan.systems[system].is_asynchronous;
        self.orders[order].called_at = self.now;
        let stretch = self.orders[order].stretch;
        let offer = self.servers[system].arrives(order, stretch, self.now, &mut self.chance);
        let patience =
            self.plan.timeout.filter(|_| !is_asynchronous).map(|timeout| timeout.as_micros() as u64);
        match offer {
            Offer::Starts(until) => self.plan_work(order, until, end),
            Offer::Waits => {
                if let Some(patience) = patience {
                    self.plan_at(self.now + patience, Happening::GivesUp(order, self.now));
                }
            }
            Offer::Fails(at, wait) => return self.plan_at(at, Happening::Ends(order, CallEnd::Failed(wait))),
            Offer::Refused(at) => return self.plan_at(at, Happening::Ends(order, CallEnd::Refused)),
        }
        if is_asynchronous {
            self.plan_at(self.now + SENDING, Happening::Ends(order, CallEnd::Sent));
        }
    }

    /// The system has done its work on a call.
    pub(super) fn worked(&mut self, order: usize, end: CallEnd) {
        let Some((system, _)) = self.system_of(order) else { return };
        self.frees(system, true);
        self.is_worked(order, system, end);
    }

    /// A server has done its work on a call, `is_awaited` or given up, and has a place for the next ones.
    pub(super) fn frees(&mut self, system: usize, is_awaited: bool) {
        for next in self.servers[system].ends(is_awaited, self.now) {
            let Some((_, flow)) = self.system_of(next) else { continue };
            let stretch = self.orders[next].stretch;
            let end = self.end_of_call(system, flow);
            let until = self.servers[system].worked(stretch, self.now, &mut self.chance);
            self.plan_work(next, until, end);
        }
    }

    fn end_of_call(&mut self, system: usize, flow: &LabFlow) -> CallEnd {
        if self.chance.happens(flow.business_failures) {
            CallEnd::Business
        } else if self.chance.happens(self.plan.systems[system].technical_failures) {
            CallEnd::Failed(None)
        } else {
            CallEnd::Answered
        }
    }

    /// A call is worked on until then. If its caller gives it up before, the system does not know, and works on.
    fn plan_work(&mut self, order: usize, until: u64, end: CallEnd) {
        let Some((system, _)) = self.system_of(order) else { return };
        let timeout = self.plan.timeout.filter(|_| !self.plan.systems[system].is_asynchronous);
        let gives_up = timeout.map(|timeout| self.orders[order].called_at + timeout.as_micros() as u64);
        match gives_up.filter(|at| *at < until) {
            Some(at) => {
                self.plan_at(at, Happening::Ends(order, CallEnd::Failed(None)));
                self.plan_at(until, Happening::Frees(system));
            }
            None => self.plan_at(until, Happening::Works(order, end)),
        }
    }

    /// The caller gives a call of this time up, if it still waits in the queue of the system.
    pub(super) fn gives_up(&mut self, order: usize, called_at: u64) {
        let Some((system, _)) = self.system_of(order) else { return };
        if self.orders[order].called_at == called_at && self.servers[system].forgets(order) {
            self.ends(order, CallEnd::Failed(None));
        }
    }

    fn is_worked(&mut self, order: usize, system: usize, end: CallEnd) {
        let called_at = self.orders[order].called_at;
        self.servers[system].stood += (self.now - called_at) as f64 / 1e6;
        if self.plan.systems[system].is_asynchronous {
            self.sample(order, CallOutcome::Answered, None);
            self.asks(order, false);
            self.orders[order].state = OrderStand::Done;
        } else {
            self.ends(order, end);
        }
    }

    /// A stage ends, and its call before it.
    pub(super) fn ends(&mut self, order: usize, end: CallEnd) {
        match end {
            CallEnd::Answered => self.sample(order, CallOutcome::Answered, None),
            CallEnd::Sent => {
                self.sample(order, CallOutcome::Sent, None);
                self.asks(order, true);
            }
            CallEnd::Failed(wait) => {
                self.sample(order, CallOutcome::Failed(CallFailure::of_class("away")), wait)
            }
            CallEnd::Refused => {
                self.sample(order, CallOutcome::Failed(CallFailure::of_class("throttling")), None)
            }
            CallEnd::None | CallEnd::Business => {}
        }
        if end == CallEnd::Answered && self.goes_on(order) {
            return;
        }
        let comes_again = matches!(end, CallEnd::Failed(_) | CallEnd::Refused);
        let known = &mut self.orders[order];
        let took = Duration::from_micros(self.now - known.began_at);
        let waited = Duration::from_micros(known.began_at - known.ready_at);
        let (no, attempt, flow) = (OrderNo(order as i64), Attempt(known.attempt), known.flow);
        // An asynchronous order may have been answered already.
        if known.state != OrderStand::Done {
            known.state =
                if comes_again || end == CallEnd::Sent { OrderStand::Suspended } else { OrderStand::Done };
        }
        let queue = known.queue.filter(|_| !comes_again);
        let instance = &mut self.instances[flow];
        instance.worked += took.as_secs_f64();
        instance.in_progress -= 1;
        instance.waited += waited.as_secs_f64();
        instance.ended += 1;
        instance.failed += u64::from(comes_again);
        if !self.plan.bounds.is_empty() {
            instance.dwells.push((self.now, (took + waited).as_secs_f32()));
        }
        let left_queue = queue.map(|queue| {
            self.queues[queue].1.retain(|member| *member != order);
            Arc::clone(&self.queues[queue].0)
        });
        let class = comes_again.then(|| Arc::from("away"));
        let measured = Some(StageMeasured { took, waited, class });
        self.news.event(DispatchEvent::Ended { no, attempt, left_queue, measured });
        self.tell_soon();
        if comes_again {
            self.plan_at(self.now + self.plan.retry.as_micros() as u64, Happening::Again(order));
        }
    }

    pub(super) fn sample(&mut self, order: usize, outcome: CallOutcome, retry_after: Option<Duration>) {
        let Some((system, _)) = self.system_of(order) else { return };
        let (known, system) = (&self.orders[order], &self.plan.systems[system]);
        let kind = if system.is_asynchronous { CallKind::Asynchronous } else { CallKind::Direct };
        // A request that was not taken is no open one.
        let kind = if matches!(outcome, CallOutcome::Failed(_)) { CallKind::Direct } else { kind };
        let took = Duration::from_micros(self.now - known.called_at);
        let flow = &self.instances[known.flow];
        let scenario = &self.plan.flows[flow.plan].name;
        self.news.call(&flow.name, scenario, &system.name, kind, outcome, took, retry_after);
        self.tell_soon();
    }

    /// The order waits for a callback from now on, or not any more. One that was answered before never waits.
    fn asks(&mut self, order: usize, asks: bool) {
        let Some((system, _)) = self.system_of(order) else { return };
        let known = &mut self.orders[order];
        if known.state == OrderStand::Done || std::mem::replace(&mut known.is_asking, asks) == asks {
            return;
        }
        let (flow, system) = (Arc::clone(&self.instances[known.flow].name), &self.plan.systems[system].name);
        let moved = RequestsMoved { flow, system: Arc::from(&**system), by: if asks { 1 } else { -1 } };
        self.news.event(DispatchEvent::RequestsMoved(vec![moved]));
        self.tell_soon();
    }

    pub(super) fn system_of(&self, order: usize) -> Option<(usize, &'a LabFlow)> {
        let known = &self.orders[order];
        let flow = &self.plan.flows[self.instances[known.flow].plan];
        Some((if known.is_at_second { flow.then_calls? } else { flow.calls? }, flow))
    }

    /// True if a stage calls another system next.
    fn goes_on(&mut self, order: usize) -> bool {
        let flow = self.instances[self.orders[order].flow].plan;
        let known = &mut self.orders[order];
        let goes_on = self.plan.flows[flow].then_calls.is_some() && !known.is_at_second;
        if goes_on {
            known.is_at_second = true;
            self.plan_at(self.now, Happening::Calls(order));
        }
        goes_on
    }
}
