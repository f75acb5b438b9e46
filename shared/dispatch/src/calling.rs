//! Part of the orders of a flow that call a system: it says what a stop and a limit of the system mean for the whole flow.
//! Must never decide who goes.
//!
//! A stop of a system holds the whole flow only where most of its orders call the system, and each stage in progress counts
//! against the limit of the system by that part. Where a call is an exception, it pays for itself: workers hold the order that
//! is about to make it (DSP-16), and all others go on.

use super::Dispatcher;
use super::index::{FlowIndex, SystemIndex};

/// Part of a flow all of whose orders call.
pub(super) const WHOLE: u32 = 64;
/// A part below this is an exception, and counts nowhere.
const LEAST: u32 = 3;
/// Part from which on a stop of the system holds the whole flow.
const HOLDS_FROM: u32 = WHOLE / 2;
/// Part below which it does not any more.
const HOLDS_UNTIL: u32 = WHOLE * 2 / 5;
/// A part that differs by no more is the same.
const NOISE: u32 = 2;
/// Orders before the last ones that count at most.
const MOST: f64 = 1000.0;

/// Orders of a flow, and those of them that called a system: from one stage that is no repeat on, each counts once for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calling {
    orders: f64,
    called: f64,
    part: u32,
    holds: bool,
}

impl Default for Calling {
    /// As long as nothing is known, all call.
    fn default() -> Self {
        Self { orders: 0.0, called: 0.0, part: WHOLE, holds: true }
    }
}

impl Calling {
    /// The part that a former dispatcher knew.
    pub(super) fn of_share(share: Option<f64>) -> Self {
        let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) else { return Self::default() };
        let orders = MOST / 10.0;
        let mut calling = Self { orders, called: orders * share, part: u32::MAX, holds: false };
        calling.settle();
        calling
    }

    /// Part of the orders that call; none while nothing is known.
    pub(super) fn share(self) -> Option<f64> {
        (self.orders >= 1.0).then(|| (self.called / self.orders).min(1.0))
    }

    /// The part, of [`WHOLE`].
    pub(super) const fn part(self) -> u32 {
        self.part
    }

    /// Stages that a flow may have in progress by a limit of the system; none where its calls do not count.
    pub(super) fn share_of(self, limit: u32) -> Option<u32> {
        limit.saturating_mul(WHOLE).checked_div(self.part)
    }

    /// True if a stop of the system holds the whole flow.
    pub(super) const fn holds(self) -> bool {
        self.holds
    }

    /// Not before the first call is known: of what is only asked to be left alone no calls are heard.
    fn note_order(&mut self) {
        if self.orders < 1.0 {
            return;
        }
        let left = MOST / self.orders.max(MOST);
        (self.orders, self.called) = (self.orders.mul_add(left, 1.0), self.called * left);
    }

    /// Of a flow of which `orders` are known to have begun.
    fn note_calls(&mut self, stages: u32, orders: f64) {
        if self.orders < 1.0 {
            self.orders = orders;
        }
        self.called = (self.called + f64::from(stages)).min(self.orders.max(1.0));
    }

    fn settle(&mut self) {
        let Some(share) = self.share() else { return };
        let part = (share * f64::from(WHOLE)).round() as u32;
        if part + NOISE <= LEAST || part == WHOLE || part.abs_diff(self.part) > NOISE {
            self.part = if part < LEAST { 0 } else { part };
        }
        self.holds = part >= if self.holds { HOLDS_UNTIL } else { HOLDS_FROM };
    }
}

impl Dispatcher {
    /// The first stage of an order has ended.
    pub(super) fn order_began(&mut self, index: FlowIndex) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        flow.orders_begun = flow.orders_begun.min(MOST - 1.0) + 1.0;
        for at in 0..flow.links.len() {
            self.count_at(index, at, Calling::note_order);
        }
    }

    /// Stages of a flow called a system, those that repeat a call not counted.
    pub(super) fn orders_called(&mut self, index: FlowIndex, system: SystemIndex, stages: u32) {
        let Some(flow) = self.flows.get(index).filter(|_| stages > 0) else { return };
        let begun = flow.orders_begun;
        let Some(at) = flow.links.iter().position(|link| link.system == system) else { return };
        self.count_at(index, at, |calling| calling.note_calls(stages, begun));
    }

    /// A former dispatcher knew this part.
    pub(super) fn recall_calling(&mut self, index: FlowIndex, system: SystemIndex, share: Option<f64>) {
        let Some(flow) = self.flows.get(index) else { return };
        let Some(at) = flow.links.iter().position(|link| link.system == system) else { return };
        self.change_calling(index, at, |calling| *calling = Calling::of_share(share));
    }

    /// Counts at one of the links of a flow. Not while the system is left alone: then hardly an order begins, and those that
    /// are under way make their calls later.
    fn count_at(&mut self, index: FlowIndex, at: usize, count: impl FnOnce(&mut Calling)) {
        let system = self.flows.get(index).and_then(|flow| self.systems.get(flow.links.get(at)?.system));
        if system.is_some_and(|system| !system.is_away()) {
            self.change_calling(index, at, count);
        }
    }

    fn change_calling(&mut self, index: FlowIndex, at: usize, change: impl FnOnce(&mut Calling)) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        let in_progress = u64::from(flow.stages_in_progress());
        let Some(link) = flow.links.get_mut(at) else { return };
        let Some(system) = self.systems.get_mut(link.system) else { return };
        let before = link.calling;
        change(&mut link.calling);
        link.calling.settle();
        let (after, at) = (link.calling, link.system);
        system.parts -= in_progress * u64::from(before.part);
        system.parts += in_progress * u64::from(after.part);
        if (before.part, before.holds) != (after.part, after.holds) {
            self.flow_changed(index);
            self.freed(index);
            self.unblock(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after orders of which one in `every` calls.
    fn counted(orders: u32, every: u32) -> Calling {
        let mut calling = Calling::default();
        for order in 0..orders {
            calling.note_order();
            if order % every == 0 {
                calling.note_calls(1, f64::from(order + 1));
            }
            calling.settle();
        }
        calling
    }

    #[test]
    fn dsp_16_a_system_that_most_orders_call_holds_the_flow_and_one_that_few_call_does_not() {
        let unknown = Calling::default();
        assert_eq!((unknown.share(), unknown.part(), unknown.holds()), (None, WHOLE, true));
        for (every, part, holds) in
            [(1, WHOLE, true), (2, WHOLE / 2, true), (4, WHOLE / 4, false), (100, 0, false)]
        {
            let calling = counted(2000, every);
            assert!(calling.part().abs_diff(part) <= NOISE, "one in {every}: {calling:?}");
            assert_eq!(calling.holds(), holds, "one in {every}: {calling:?}");
            let again = Calling::of_share(calling.share());
            assert_eq!((again.part().abs_diff(calling.part()) <= NOISE, again.holds()), (true, holds));
        }
        // A loop of calls in one order says no more than one call.
        let mut loops = counted(1000, 100);
        loops.note_calls(1_000_000, 0.0);
        assert_eq!(loops.share(), Some(1.0));
        (0..1000).for_each(|_| loops.note_order());
        loops.settle();
        assert!(loops.share().is_some_and(|share| share < 0.5), "{loops:?}");
    }
}
