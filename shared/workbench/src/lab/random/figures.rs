//! Figures of one system in a random situation.
//!
//! Steady state lies between a fifth and two fifths of the time, before anything happens in the middle, and begins after
//! twenty calls one after the other at the earliest: calls last up to hours, and a limit cannot be learnt sooner.

use super::super::plan::{LabPlan, LabSystem, Outage};
use super::super::trace::{LOOKS_A_SECOND, SystemLook, Trace};

/// Part of the time at which the steady state begins, and at which it ends.
pub(super) const STEADY: (f64, f64) = (0.2, 0.4);
/// Calls of which a share, a part or a mean is no chance.
const MANY: f64 = 200.0;
/// Answers after which a base is learnt.
const LEARNT: u64 = 1000;
/// Calls one after the other, or seconds where these are shorter, after which a system is to be called as before.
const BACK: (f64, f64) = (20.0, 10.0);

/// Measure of a system in a random situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomMeasure {
    /// Answered calls by capacity, while there is work.
    Share,
    /// The same of a system whose calls fail by chance.
    ShareOfFailing,
    /// Calls refused, or given up by their caller, by all.
    Refused,
    /// Time in the system by the time alone.
    Standing,
    /// Jain's index by weight of the flows of a system with more work than it takes.
    Fairness,
    /// Learnt time of a call by the true one.
    Base,
    /// Calls of a system that is away until it is stopped, without as many as were in progress before.
    Trip,
    /// Seconds from recovery until nine tenths of the rate from before.
    Back,
    /// The same of slow systems, in mean calls.
    BackInCalls,
}

pagurus_domain::id::spelled!(RandomMeasure {
    Share => "share",
    ShareOfFailing => "share_of_failing",
    Refused => "refused",
    Standing => "standing",
    Fairness => "fairness",
    Base => "base",
    Trip => "trip",
    Back => "back",
    BackInCalls => "back_in_calls",
});

impl RandomMeasure {
    /// True if more is better.
    pub(super) const fn is_least(self) -> bool {
        matches!(self, Self::Share | Self::ShareOfFailing | Self::Fairness)
    }
}

/// Values of one system by [`RandomMeasure`]; none where there was nothing to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RandomFigures([Option<f64>; RandomMeasure::ALL.len()]);

impl RandomFigures {
    /// Value of a measure.
    #[must_use]
    pub const fn of(&self, measure: RandomMeasure) -> Option<f64> {
        self.0[measure as usize]
    }

    /// Share of the capacity, of a system that fails by chance or of one that does not.
    #[must_use]
    pub fn any_share(&self) -> Option<f64> {
        self.of(RandomMeasure::Share).or(self.of(RandomMeasure::ShareOfFailing))
    }
}

/// A system with what was seen of it and of the flows that call it.
pub(super) struct ObservedSystem<'a> {
    plan: &'a LabPlan,
    trace: &'a Trace,
    system: &'a LabSystem,
    looks: &'a [SystemLook],
    flows: Vec<usize>,
    from: f64,
    until: f64,
}

impl<'a> ObservedSystem<'a> {
    /// Takes a system of a run, by its place in the plan. `whole` is the situation as it was drawn, of which the plan may be a part.
    pub(super) fn new(whole: &LabPlan, plan: &'a LabPlan, trace: &'a Trace, system: usize) -> Self {
        let flows = (0..plan.flows.len()).filter(|flow| plan.flows[*flow].calls == Some(system)).collect();
        let seconds = whole.duration.as_secs_f64();
        let takes = plan.systems[system].capacity.takes.as_secs_f64();
        let (from, until) = ((seconds * STEADY.0).max(takes * BACK.0), seconds * STEADY.1);
        Self { plan, trace, system: &plan.systems[system], looks: &trace.systems[system], flows, from, until }
    }

    /// Measures everything.
    pub(super) fn figures(&self) -> RandomFigures {
        use RandomMeasure as M;
        let mut figures = RandomFigures::default();
        if self.from + 10.0 > self.until {
            return figures;
        }
        let fails = self.system.technical_failures > 0.0;
        let share = self.share();
        let back = share.and_then(|share| self.back(share));
        let is_slow = self.takes() * BACK.0 > BACK.1;
        let mut set = |measure: M, value| figures.0[measure as usize] = value;
        set(if fails { M::ShareOfFailing } else { M::Share }, share);
        set(M::Refused, self.refused());
        set(M::Standing, self.standing());
        set(M::Fairness, self.fairness());
        set(M::Base, self.base());
        set(M::Trip, self.trip());
        set(if is_slow { M::BackInCalls } else { M::Back }, back);
        figures
    }

    fn takes(&self) -> f64 {
        self.system.capacity.takes.as_secs_f64()
    }

    fn at(&self, second: f64) -> SystemLook {
        Trace::system_at(self.looks, second)
    }

    /// True if flows call a second system in the same stage, so that the share of one says nothing.
    fn is_shared(&self) -> bool {
        self.plan.flows.iter().any(|flow| flow.then_calls.is_some())
    }

    fn waits(&self, flow: usize, second: usize) -> bool {
        let is_ready = |second: usize| self.trace.flows[flow].get(second).is_some_and(|look| look.ready > 0);
        is_ready(second) && is_ready(second + 1)
    }

    fn has_work(&self, second: usize) -> bool {
        self.flows.iter().any(|flow| self.waits(*flow, second))
    }

    fn seconds_with_work(&self) -> Vec<usize> {
        (self.from as usize..self.until as usize).filter(|second| self.has_work(*second)).collect()
    }

    fn share(&self) -> Option<f64> {
        let busy = self.seconds_with_work();
        let capacity = self.system.capacity.per_second() * busy.len() as f64;
        let answered = |second: &usize| {
            let [before, after] = [*second, *second + 1].map(|second| self.at(second as f64));
            (after.answered + after.given_up - before.answered - before.given_up) as f64
        };
        let all: f64 = busy.iter().map(answered).sum();
        (capacity >= MANY && !self.is_shared()).then(|| all / capacity)
    }

    /// Calls that ended in the steady state, and those of them that were refused or given up.
    fn ended(&self) -> (f64, f64) {
        let [before, after] = [self.from, self.until].map(|second| self.at(second));
        let lost = after.refused + after.given_up - before.refused - before.given_up;
        ((after.answered - before.answered + lost) as f64, lost as f64)
    }

    fn refused(&self) -> Option<f64> {
        let (all, lost) = self.ended();
        (all >= 50.0).then(|| lost / all)
    }

    fn standing(&self) -> Option<f64> {
        let [before, after] = [self.from, self.until].map(|second| self.at(second));
        let alone = after.alone - before.alone;
        (alone > 0.0 && self.ended().0 >= MANY).then(|| (after.stood - before.stood) / alone)
    }

    /// Only flows that always have work get less than they want.
    fn fairness(&self) -> Option<f64> {
        let seconds = self.from as usize..self.until as usize;
        let always = |flow: &usize| {
            let waits = seconds.clone().filter(|second| self.waits(*flow, *second)).count();
            waits * 50 >= seconds.len() * 49
        };
        let busy: Vec<usize> = self.flows.iter().copied().filter(always).collect();
        // The sum of fewer times, as varied as these, would be chance.
        let many = 20.0 * (1.0 + self.system.variation.powi(2));
        let ended = |flow: &usize| {
            let [before, after] =
                [self.from, self.until].map(|second| Trace::flow_at(&self.trace.flows[*flow], second).ended);
            f64::from(after - before) >= many
        };
        (busy.iter().all(ended) && !self.is_shared() && busy.len() > 1).then(|| self.jain(&busy))
    }

    /// Jain, Chiu and Hawe 1984: one if all get the same for their weight, one by their number if one gets all.
    fn jain(&self, flows: &[usize]) -> f64 {
        let part = |flow: &usize| {
            let worked = |second| f64::from(Trace::flow_at(&self.trace.flows[*flow], second).worked);
            (worked(self.until) - worked(self.from)) / f64::from(self.plan.flows[*flow].weight)
        };
        let parts: Vec<f64> = flows.iter().map(part).collect();
        let squares: f64 = parts.iter().map(|part| part * part).sum();
        if squares > 0.0 { parts.iter().sum::<f64>().powi(2) / (parts.len() as f64 * squares) } else { 1.0 }
    }

    /// The true time is that of the very calls of the run: with a variation of three a thousand calls differ by a tenth.
    /// Where callers give calls up, none of the long ones is learnt from.
    fn base(&self) -> Option<f64> {
        let look = self.at(self.until);
        let is_whole = look.given_up * 100 <= look.answered && look.answered >= LEARNT;
        let started =
            look.answered + look.given_up + u64::from(look.in_use.min(self.system.capacity.servers));
        is_whole.then(|| look.base_ms.map(|learnt| learnt / (look.alone / started as f64 * 1e3)))?
    }

    fn trip(&self) -> Option<f64> {
        let changes = &self.system.changes;
        let away = changes.iter().position(|change| change.capacity.outage != Outage::None)?;
        let [from, until] = [&changes[away], changes.get(away + 1)?].map(|change| change.at.as_secs_f64());
        let before = self.at(from);
        let stopped = self.quarters(from, until).map(|end| self.at(end)).find(|look| look.is_stopped);
        let failed = stopped.unwrap_or_else(|| self.at(until)).failed - before.failed;
        // Who hardly called it before has nothing to stop.
        (before.in_use > 0).then(|| failed.saturating_sub(u64::from(before.in_use)) as f64)
    }

    /// Only while orders wait can the rate say whether the system is called as before.
    fn back(&self, share: f64) -> Option<f64> {
        let recovered = self.system.changes.last()?.until.as_secs_f64();
        let rate = self.system.capacity.per_second() * share;
        // The rate of fewer calls would be chance.
        let window = (BACK.0 / rate).max(1.0);
        let answered = |end: f64| (self.at(end).answered - self.at(end - window).answered) as f64;
        let until = self.plan.duration.as_secs_f64();
        for end in self.quarters(recovered + window, until) {
            if answered(end) >= 0.9 * rate * window {
                return Some(self.in_unit(end - recovered));
            }
            if !self.has_work(end as usize) {
                return None;
            }
        }
        Some(self.in_unit(until - recovered))
    }

    fn in_unit(&self, seconds: f64) -> f64 {
        if self.takes() * BACK.0 > BACK.1 { seconds / self.takes() } else { seconds }
    }

    fn quarters(&self, from: f64, until: f64) -> impl Iterator<Item = f64> + use<> {
        let looks = LOOKS_A_SECOND as f64;
        ((from * looks).ceil() as u64..=(until * looks).floor() as u64).map(move |at| at as f64 / looks)
    }
}
