//! Foresight put to the test (ORD-30): what would be told of the start of an order that has to wait, and when it started.

use std::time::Duration;

use super::simulation::{SECOND, Simulation};
use crate::dispatch::{Dispatcher, StartEstimate, queue_estimate, start_estimate};

/// Nothing is asked before this time: of the first seconds nobody knows anything.
const KNOWN_AFTER: u64 = 20 * SECOND;

/// How many were told when they would start, and how many did by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foretold {
    /// Orders that were told, and whose times have passed.
    pub told: u64,
    /// Those that had started at the middle.
    pub by_p50: u64,
    /// Those that had started at the far end.
    pub by_p90: u64,
}

impl Foretold {
    /// The part that had started at the far end.
    #[must_use]
    pub fn covered(&self) -> f64 {
        self.by_p90 as f64 / self.told.max(1) as f64
    }

    fn add(&mut self, estimate: StartEstimate, waited: Duration) {
        self.told += 1;
        self.by_p50 += u64::from(waited <= estimate.p50);
        self.by_p90 += u64::from(waited <= estimate.p90);
    }
}

impl<F: Fn() -> Dispatcher> Simulation<'_, F> {
    /// What would be told of an order that is ready now, where it has to wait.
    pub(super) fn foretell(&self, order: usize) -> Option<StartEstimate> {
        let known = &self.orders[order];
        let instance = &self.instances[known.flow];
        let record = self.flows.get(&*instance.name).filter(|_| self.now >= KNOWN_AFTER)?;
        let members = known.queue.map(|queue| &self.queues[queue].1);
        let before = members.and_then(|members| members.iter().position(|member| *member == order));
        match before.filter(|before| *before > 0) {
            Some(before) => queue_estimate(record, u32::try_from(before).unwrap_or(u32::MAX)),
            None => {
                let position = instance.ready.saturating_sub(1);
                start_estimate(record, position).filter(|_| position > 0)
            }
        }
    }

    /// An order starts: what was told of it is held against its wait.
    pub(super) fn starts(&mut self, order: usize) {
        let known = &mut self.orders[order];
        if let Some(estimate) = known.foretold.take() {
            let waited = Duration::from_micros(self.now - known.ready_at);
            self.instances[known.flow].foretold.add(estimate, waited);
        }
    }

    /// At the end, those that wait still, and longer than was told.
    pub(super) fn still_waiting(&mut self) {
        for order in &mut self.orders {
            let waited = Duration::from_micros(self.now.saturating_sub(order.ready_at));
            if let Some(estimate) = order.foretold.take().filter(|estimate| waited > estimate.p90) {
                self.instances[order.flow].foretold.add(estimate, waited);
            }
        }
    }
}
