//! Probing after a pause: a few calls go, and their outcome decides. Must never let a system that is away pay for it
//! with more than a few calls.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::number::counted;
use pagurus_domain::system::duration_of;

use super::super::timing::between;
use super::{Bounds, Calls, Control, ControlMove, Phase, later};

/// Probes of the first round. Those of a further one go one after the other: a system that takes few calls at once refuses some
/// of several, however well it is.
const PROBES: u32 = 3;
/// Answered probes that end the trying: one may be chance.
const ENOUGH: u32 = 2;
/// Between two rounds of probes that nothing was heard of.
const PROBE_PERIOD: Duration = Duration::from_secs(2);
/// Probes in progress at most: a system that hangs gets no more.
const MAX_PROBES: u32 = 16;
/// Time by which news of a call may come later than its probe.
const NEWS_DELAY: Duration = Duration::from_millis(500);

/// Progress of the probing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Probing {
    /// Time at which the first probe went.
    pub(super) first: Option<Timestamp>,
    /// Number that may go yet.
    pub(super) left: u32,
    /// Number that have gone.
    pub(super) sent: u32,
    /// Number of calls that were answered.
    pub(super) good: u32,
    /// Number of stages that ended without an error since.
    pub(super) ended: u32,
    /// Time at which more may go if nothing was heard.
    pub(super) again: Timestamp,
}

impl Control {
    /// Goes on by itself at a time: the pause is over, or more probes may go.
    pub(in super::super) fn wake(&mut self, in_use: u32, bounds: Bounds, now: Timestamp) -> ControlMove {
        match self.phase {
            Phase::Open if self.doubt.is_some_and(|until| until <= now) => {
                self.end_doubt(in_use, bounds, now)
            }
            Phase::Stopped(until) if until <= now => {
                let left = if self.tries_singly() { 1 } else { PROBES.min(bounds.initial.max(1)) };
                self.phase = Phase::Probing(Probing {
                    first: None,
                    left,
                    sent: 0,
                    good: 0,
                    ended: 0,
                    again: Timestamp::MAX,
                });
                self.decide(bounds, now, format!("the pause is over: {left} of the oldest try"));
                ControlMove::Yes
            }
            Phase::Probing(probing)
                if probing.again <= now && probing.sent > 0 && probing.ended >= probing.sent.min(ENOUGH) =>
            {
                // Samples are lost at times, and not every stage calls.
                self.resume(
                    bounds,
                    now,
                    &counted(probing.ended, "probe ended without an error", "probes ended without an error"),
                );
                ControlMove::Yes
            }
            Phase::Probing(mut probing) if probing.again <= now => {
                // Of those that ended nothing was heard, so they may not have called at all; or they hang.
                let more = if in_use == 0 { probing.sent.clamp(1, MAX_PROBES) } else { 1 };
                probing.left = more.min(MAX_PROBES.saturating_sub(in_use));
                probing.again = later(now, PROBE_PERIOD);
                self.phase = Phase::Probing(probing);
                ControlMove::Yes
            }
            _ => ControlMove::No,
        }
    }

    /// True where several at once failed, and one after the other is to try.
    fn tries_singly(&self) -> bool {
        self.pauses > 1
    }

    /// Number that may go to try.
    pub(in super::super) const fn probes_left(&self) -> u32 {
        match self.phase {
            Phase::Probing(probing) => probing.left,
            Phase::Open | Phase::Stopped(_) => 0,
        }
    }

    /// Notes that a probe has gone.
    pub(in super::super) fn probe_sent(&mut self, now: Timestamp) {
        if let Phase::Probing(probing) = &mut self.phase {
            probing.first.get_or_insert(now);
            probing.left = probing.left.saturating_sub(1);
            probing.sent += 1;
            if probing.left == 0 {
                probing.again = later(now, PROBE_PERIOD);
            }
        }
    }

    /// Calls of probes ended.
    pub(super) fn note_probe(
        &mut self,
        mut probing: Probing,
        calls: Calls,
        bounds: Bounds,
        now: Timestamp,
    ) -> ControlMove {
        let Some(first) = probing.first else { return ControlMove::No };
        // A call that took longer than that began before the probes.
        let since = between(first, now) + NEWS_DELAY;
        let longer = calls.times.counts().filter(|(step, _)| duration_of(*step) > since);
        let longer: u32 = longer.map(|(_, count)| count).sum();
        let limiting = calls.limiting.saturating_sub(longer);
        if limiting > 0 {
            self.pause(now);
            self.decide(bounds, now, counted(limiting, "probe failed", "probes failed"));
            return ControlMove::Yes;
        }
        probing.good += calls.good.saturating_sub(longer);
        if self.tries_singly() && probing.good > 0 && probing.good == probing.sent && probing.sent < ENOUGH {
            probing.left = 1;
            self.phase = Phase::Probing(probing);
            return ControlMove::Yes;
        }
        self.phase = Phase::Probing(probing);
        if probing.good > 0 && probing.good >= probing.sent.min(ENOUGH) {
            self.resume(bounds, now, &counted(probing.good, "probe was answered", "probes were answered"));
            self.collected.note(calls, 0, now);
            return ControlMove::Yes;
        }
        ControlMove::No
    }
}
