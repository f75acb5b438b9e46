//! Test of start estimates (ORD-30): the estimate for an order that has to wait, and when it started.

use std::iter::Sum;
use std::time::Duration;

use super::plan::LabChange;
use super::simulation::{SECOND, Simulation};
use crate::dispatch::{Dispatcher, Lane, StartEstimate, queue_estimate, start_estimate};

/// Time before which nothing is asked: of the first seconds nobody knows anything.
const KNOWN_AFTER: u64 = 20 * SECOND;

/// Number of orders with an estimate of their start, and of those that had started by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecasts {
    /// Orders with an estimate whose times have passed.
    pub orders: u64,
    /// Orders that had started at the median.
    pub by_p50: u64,
    /// Orders that had started at the 90th percentile.
    pub by_p90: u64,
    /// Orders whose system changed between the estimate and their start: nobody could foresee it.
    pub surprised: u64,
    /// Surprised orders that had started at the median all the same.
    pub surprised_by_p50: u64,
    /// Surprised orders that had started at the 90th percentile.
    pub surprised_by_p90: u64,
}

impl Sum for Forecasts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            orders: sum.orders + one.orders,
            by_p50: sum.by_p50 + one.by_p50,
            by_p90: sum.by_p90 + one.by_p90,
            surprised: sum.surprised + one.surprised,
            surprised_by_p50: sum.surprised_by_p50 + one.surprised_by_p50,
            surprised_by_p90: sum.surprised_by_p90 + one.surprised_by_p90,
        })
    }
}

impl Forecasts {
    /// Returns the part that had started at the 90th percentile.
    #[must_use]
    pub fn covered(&self) -> f64 {
        self.by_p90 as f64 / self.orders.max(1) as f64
    }

    /// Returns the orders whose system did not change between the estimate and their start.
    #[must_use]
    pub const fn foreseeable(self) -> Self {
        Self {
            orders: self.orders - self.surprised,
            by_p90: self.by_p90 - self.surprised_by_p90,
            surprised: 0,
            surprised_by_p50: 0,
            surprised_by_p90: 0,
            by_p50: self.by_p50 - self.surprised_by_p50,
        }
    }

    fn add(&mut self, estimate: StartEstimate, waited: Duration, is_surprised: bool) {
        if is_surprised {
            self.surprised += 1;
            self.surprised_by_p50 += u64::from(waited <= estimate.p50);
            self.surprised_by_p90 += u64::from(waited <= estimate.p90);
        }
        self.orders += 1;
        self.by_p50 += u64::from(waited <= estimate.p50);
        self.by_p90 += u64::from(waited <= estimate.p90);
    }
}

impl<F: Fn() -> Dispatcher> Simulation<'_, F> {
    /// Estimates the start of an order that is ready now, if it has to wait.
    pub(super) fn foretell(&self, order: usize) -> Option<StartEstimate> {
        let known = &self.orders[order];
        let instance = &self.instances[known.flow];
        let record = self.flows.get(&*instance.name).filter(|_| self.now >= KNOWN_AFTER)?;
        let members = known.queue.map(|queue| &self.queues[queue].1);
        let before = members.and_then(|members| members.iter().position(|member| *member == order));
        match before.filter(|before| *before > 0) {
            Some(before) => queue_estimate(record, u32::try_from(before).unwrap_or(u32::MAX)),
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
