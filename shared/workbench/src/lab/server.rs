//! A called system in virtual time: servers, a queue before them, refusals beyond it. Must never know who calls.

use std::collections::VecDeque;
use std::time::Duration;

use super::chance::Chance;
use super::plan::{LabCapacity, LabSystem, Outage};

/// Time that a refusal takes.
const REFUSAL: u64 = 2_000;
/// Time at which a caller gives up.
const PATIENCE: u64 = 5_000_000;

/// Outcome of a call at its arrival; times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// Worked on, and ends then.
    Starts(u64),
    /// Waits.
    Waits,
    /// Fails then, because the system is away.
    Fails(u64, Option<Duration>),
    /// Refused as too much, and fails then.
    Refused(u64),
}

/// The system as it is now.
#[derive(Debug)]
pub(super) struct Server {
    plan: LabSystem,
    busy: u32,
    waiting: VecDeque<usize>,
    /// Calls that were answered while their caller waited.
    pub(super) answered: u64,
    /// Calls that their caller gave up, in the queue or at work.
    pub(super) given_up: u64,
    /// Calls that were refused because they were too many.
    pub(super) refused: u64,
    /// Calls that failed because it was away.
    pub(super) failed: u64,
    /// Seconds that answered calls were here.
    pub(super) stood: f64,
    /// Seconds that calls were worked on, or will be.
    pub(super) alone: f64,
}

impl Server {
    /// Starts before anybody has called.
    pub(super) const fn new(plan: LabSystem) -> Self {
        Self {
            plan,
            busy: 0,
            waiting: VecDeque::new(),
            answered: 0,
            given_up: 0,
            refused: 0,
            failed: 0,
            stood: 0.0,
            alone: 0.0,
        }
    }

    /// Returns the name.
    pub(super) fn name(&self) -> &str {
        &self.plan.name
    }

    /// Capacity at a time.
    pub(super) fn capacity(&self, now: u64) -> LabCapacity {
        let mut capacity = self.plan.capacity;
        for change in &self.plan.changes {
            let (at, until) = (change.at.as_micros() as u64, change.until.as_micros() as u64);
            if now < at {
                break;
            }
            if now >= until {
                capacity = change.capacity;
                continue;
            }
            let part = (now - at) as f64 / (until - at) as f64;
            let between = |from: f64, to: f64| from + (to - from) * part;
            let takes = between(capacity.takes.as_secs_f64(), change.capacity.takes.as_secs_f64());
            let servers = between(f64::from(capacity.servers), f64::from(change.capacity.servers));
            capacity.takes = Duration::from_secs_f64(takes);
            capacity.servers = servers.round() as u32;
        }
        capacity
    }

    /// A call arrives; `stretch` makes it longer than others.
    pub(super) fn arrives(&mut self, call: usize, stretch: Duration, now: u64, chance: &mut Chance) -> Offer {
        let capacity = self.capacity(now);
        match capacity.outage {
            Outage::None => {}
            Outage::Refuses => {
                self.failed += 1;
                return Offer::Fails(now + REFUSAL, None);
            }
            Outage::RetryAfter(wait) => {
                self.failed += 1;
                return Offer::Fails(now + REFUSAL, Some(wait));
            }
            Outage::Hangs => {
                self.failed += 1;
                return Offer::Fails(now + PATIENCE, None);
            }
        }
        if self.busy < capacity.servers {
            self.busy += 1;
            return Offer::Starts(now + self.work(capacity, stretch, chance));
        }
        if self.waiting.len() < capacity.queue as usize {
            self.waiting.push_back(call);
            return Offer::Waits;
        }
        self.refused += 1;
        Offer::Refused(now + REFUSAL)
    }

    /// The work on a call ends; `is_awaited` if its caller has not given it up. The next ones that are worked on.
    pub(super) fn ends(&mut self, is_awaited: bool, now: u64) -> Vec<usize> {
        *if is_awaited { &mut self.answered } else { &mut self.given_up } += 1;
        self.busy = self.busy.saturating_sub(1);
        let servers = self.capacity(now).servers;
        let free = servers.saturating_sub(self.busy) as usize;
        let next: Vec<usize> = self.waiting.drain(..free.min(self.waiting.len())).collect();
        self.busy += next.len() as u32;
        next
    }

    /// Takes a call out of the queue that was given up; false where it is not there.
    pub(super) fn forgets(&mut self, call: usize) -> bool {
        let Some(at) = self.waiting.iter().position(|waits| *waits == call) else { return false };
        self.given_up += 1;
        self.waiting.remove(at).is_some()
    }

    /// Time at which the work on a call that begins now ends.
    pub(super) fn worked(&mut self, stretch: Duration, now: u64, chance: &mut Chance) -> u64 {
        now + self.work(self.capacity(now), stretch, chance)
    }

    fn work(&mut self, capacity: LabCapacity, stretch: Duration, chance: &mut Chance) -> u64 {
        let seconds = capacity.takes.as_secs_f64() * chance.time_factor(self.plan.form, self.plan.variation)
            + stretch.as_secs_f64();
        self.alone += seconds;
        ((seconds * 1e6) as u64).max(1)
    }
}
