//! Test of start estimates (ORD-30): the estimate for an order that has to wait, and when it started.

use std::time::Duration;

use pagurus_dispatch::{Dispatcher, Lane};
use pagurus_domain::flow::{StartEstimate, queue_estimate, start_estimate};

use super::plan::LabChange;
use super::simulation::{SECOND, Simulation};

/// Time before which nothing is asked: of the first seconds nobody knows anything.
const KNOWN_AFTER: u64 = 20 * SECOND;

impl<F: Fn() -> Dispatcher> Simulation<'_, F> {
    /// Estimates the start of an order that is ready now, if it has to wait.
    pub(super) fn foretell(&self, order: usize) -> Option<StartEstimate> {
        let known = &self.orders[order];
        let instance = &self.instances[known.flow];
        let record = self.flows.get(&*instance.name).filter(|_| self.now >= KNOWN_AFTER)?;
        let members = known.queue.map(|queue| &self.queues[queue].1);
        let before = members.and_then(|members| members.iter().position(|member| *member == order));
        match before.filter(|before| *before > 0) {
            Some(before) => queue_estimate(record, u32::try_from(before).unwrap_or(u32::MAX), None),
            None => {
                // As the tables tell: what has run before has a smaller number than anything fresh that still waits.
                let [fresh, woken] = instance.ready;
                let position = match known.lane {
                    Lane::Fresh => fresh + woken,
                    Lane::Woken => woken,
                };
                let position = position.saturating_sub(1);
                start_estimate(record, position).filter(|_| position > 0)
            }
        }
    }

    /// Compares the estimate for an order that starts with its wait.
    pub(super) fn starts(&mut self, order: usize) {
        let known = &mut self.orders[order];
        if let Some(estimate) = known.forecasts.take() {
            let (flow, since) = (known.flow, known.ready_at);
            let is_surprised = self.changes_within(flow, since);
            let waited = Duration::from_micros(self.now - since);
            self.instances[flow].forecasts.add(estimate, waited, is_surprised);
        }
    }

    /// Adds, at the end, the orders that still wait, and longer than estimated.
    pub(super) fn still_waiting(&mut self) {
        for index in 0..self.orders.len() {
            let order = &mut self.orders[index];
            let (flow, since) = (order.flow, order.ready_at);
            let waited = Duration::from_micros(self.now.saturating_sub(since));
            if let Some(estimate) = order.forecasts.take().filter(|estimate| waited > estimate.p90) {
                let is_surprised = self.changes_within(flow, since);
                self.instances[flow].forecasts.add(estimate, waited, is_surprised);
            }
        }
    }

    /// True if the system of a flow has changed at once after this time.
    fn changes_within(&self, flow: usize, since: u64) -> bool {
        let plan = &self.plan.flows[self.instances[flow].plan];
        let changes = plan.calls.map(|system| &self.plan.systems[system].changes);
        let within = |change: &LabChange| {
            let at = change.at.as_micros() as u64;
            change.until <= change.at && at > since && at <= self.now
        };
        changes.is_some_and(|changes| changes.iter().any(within))
    }
}
