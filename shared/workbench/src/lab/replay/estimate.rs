//! What a system can do, as far as the times of its calls tell. Must never look at the changes.

use std::time::Duration;

use super::situation::backlog;
use super::{CallMinute, RecordedFlow, Recording};
use crate::lab::plan::{LabCapacity, Outage};

/// A minute tells the time of a calm call if it has this part of the calls of the busiest one.
const BUSY: f64 = 0.05;
/// A minute is one of full load if it has this part of the answers of the busiest one.
const FULL: f64 = 0.8;
/// Stages are held back by the system while this multiple of those that are at work waits, from one minute to the next.
const HELD: f64 = 1.0;
/// After an outage the limit grows again for some minutes, and holds stages back that the system could take.
const SETTLED: usize = 4;
/// Beside a limit of the rules in use up to this part, the limit holds stages back, and not the system.
const BOUNDED: f64 = 0.9;
/// A system that was never at its limit is reckoned to work on this multiple of the calls that it was seen to...
const UNSEEN: f64 = 2.0;
/// ...with this number of standard deviations, since a minute has moments with more calls than on average.
const PEAK: f64 = 3.0;
/// Part of failed calls from which on the system was away.
const AWAY: f64 = 0.5;
/// Failures hung if they took this number of seconds on average.
const HUNG: f64 = 3.0;
/// Time of a call of which nothing is known, in seconds.
const UNKNOWN: f64 = 0.1;
const MINUTE: f64 = 60.0;

/// Conclusions about a called system.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemEstimate {
    /// Calls that it works on at once.
    pub servers: u32,
    /// Time of a call in calm, in seconds.
    pub calm: f64,
    /// True if it was seen at its limit. Otherwise nobody knows what it can do: twice as much as it was seen to do is assumed.
    pub was_full: bool,
    /// Part of the calls after which a stage came again, while it was there.
    pub failed: f64,
    /// Capacity in each minute.
    pub(super) minutes: Vec<LabCapacity>,
}

/// A minute of a system, of all flows together.
#[derive(Clone, Copy, Debug, Default)]
struct SystemMinute {
    calls: CallMinute,
    /// Stages of the flows that call it that were ready or in progress at its end.
    waiting: f64,
    /// Stages of them that came again.
    repeated: f64,
}

impl SystemMinute {
    /// Mean time of an answered call, in seconds.
    fn time(self) -> f64 {
        self.calls.answer_seconds / self.calls.answered.max(1.0)
    }

    /// Calls that were worked on at once, by Little's law.
    fn at_once(self) -> f64 {
        self.calls.answer_seconds / MINUTE
    }

    /// True if more waited at its end than was worked on.
    fn is_held(self) -> bool {
        self.waiting > (1.0 + HELD) * self.at_once() + 1.0
    }

    /// The way in which it was away, if it was.
    fn outage(self) -> Outage {
        let CallMinute { answered, failed, failure_seconds, .. } = self.calls;
        if failed < 1.0 || failed < AWAY * (answered + failed) {
            Outage::None
        } else if failure_seconds / failed >= HUNG {
            Outage::Hangs
        } else {
            Outage::Refuses
        }
    }
}

/// Estimates a system.
pub(super) fn of(recording: &Recording, system: usize) -> SystemEstimate {
    let callers: Vec<&RecordedFlow> =
        recording.flows.iter().filter(|flow| flow.calls.contains_key(&system)).collect();
    let length = recording.flows.iter().map(|flow| flow.minutes.len()).max().unwrap_or_default();
    let minutes = minutes(&callers, system, length);
    let most = minutes.iter().map(|minute| minute.calls.answered).fold(0.0, f64::max);
    let busy =
        |least: f64| minutes.iter().filter(move |minute| minute.calls.answered >= (least * most).max(1.0));
    let calm = busy(BUSY).map(|minute| minute.time()).fold(f64::INFINITY, f64::min);
    let calm = if calm.is_finite() && calm > 0.0 { calm } else { UNKNOWN };
    let bound = bound(recording, &callers);
    let is_full = |minutes: &&[SystemMinute]| {
        let last = minutes[minutes.len() - 1];
        let calm_before = minutes.iter().all(|one| one.outage() == Outage::None);
        let held = minutes.iter().rev().take(2).all(|one| one.is_held());
        calm_before && held && last.calls.answered >= FULL * most && last.at_once() < BOUNDED * bound
    };
    let full = minutes
        .windows(SETTLED)
        .filter(is_full)
        .map(|minutes| minutes[SETTLED - 1].calls.answered / MINUTE * calm);
    let full = full.fold(0.0, f64::max);
    let was_full = full > 0.0;
    let seen = UNSEEN * minutes.iter().map(|minute| minute.at_once()).fold(0.0, f64::max);
    let servers = if was_full { full } else { seen + PEAK * seen.sqrt() };
    let servers = servers.round().max(1.0);
    let there = minutes.iter().filter(|minute| minute.outage() == Outage::None);
    // A call that fails for good ends its stage as an answer does.
    let (calls, repeated) = there.fold((0.0, 0.0), |(calls, repeated), one| {
        (calls + one.calls.answered + one.calls.failed, repeated + one.repeated.min(one.calls.failed))
    });
    SystemEstimate {
        servers: servers as u32,
        calm,
        was_full,
        failed: repeated / f64::max(calls, 1.0),
        minutes: capacities(&minutes, servers, calm, was_full),
    }
}

fn minutes(callers: &[&RecordedFlow], system: usize, length: usize) -> Vec<SystemMinute> {
    let mut minutes = vec![SystemMinute::default(); length];
    for flow in callers {
        let calls = flow.calls.get(&system).into_iter().flatten();
        let mut waiting = backlog(&flow.minutes);
        for ((minute, calls), counts) in minutes.iter_mut().zip(calls).zip(&flow.minutes) {
            minute.calls = minute.calls.and(calls);
            waiting = (waiting + counts.came - counts.ended - counts.repeated).max(0.0);
            minute.repeated += counts.repeated;
            minute.waiting += waiting;
        }
    }
    minutes
}

/// Calls at once that the rules allow, whatever the system can do.
fn bound(recording: &Recording, callers: &[&RecordedFlow]) -> f64 {
    let rules = &recording.rules;
    let places = f64::from(rules.parallel) + f64::from(rules.sequential);
    let share = places * f64::from(rules.flow_share) / 100.0;
    let of_flow = |flow: &&RecordedFlow| flow.max_limit.map_or(share, |limit| share.min(f64::from(limit)));
    callers.iter().map(of_flow).sum::<f64>().min(places)
}

/// The capacity in each minute. A minute without calls is like the one before.
fn capacities(minutes: &[SystemMinute], servers: f64, calm: f64, was_full: bool) -> Vec<LabCapacity> {
    let mut last = LabCapacity {
        servers: servers as u32,
        queue: u32::MAX,
        takes: Duration::from_secs_f64(calm),
        outage: Outage::None,
    };
    let mut all = Vec::with_capacity(minutes.len());
    for minute in minutes {
        if minute.calls.answered > 0.0 {
            let rate = minute.calls.answered / MINUTE;
            // What is longer at full load waits in the system, and is worked on no longer than before.
            let worked = if was_full { minute.time().min((servers / rate).max(calm)) } else { minute.time() };
            last.takes = Duration::from_secs_f64(worked);
        }
        if minute.calls.answered + minute.calls.failed > 0.0 {
            last.outage = minute.outage();
        }
        all.push(last);
    }
    all
}
