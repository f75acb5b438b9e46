//! The control of a flow or of a named system: whether anything of it may go, and how much at a time. One state machine
//! for both. Must never know which it is, nor who waits.
//!
//! ```text
//!            too many failures, asked to wait           the pause is over
//!   open ────────────────────────────────▶ stopped ────────────────────────▶ probing
//!    ▲  (with a limit or without)             ▲                                │  │
//!    │                                        └──────── a probe failed ────────┘  │
//!    └────────────────────────── probes were answered: begins at the initial limit┘
//! ```
//!
//! Learnt from are calls only ([`CallSamples`](pagurus_domain::system::CallSamples)). No sample is no change. A failure of a class that is not limiting
//! says nothing of the load: it is neither good nor bad here.

mod adaptive;
mod collect;
mod evidence;
mod failures;
mod look;
mod memory;
mod probing;
mod rule;
mod word;

#[cfg(test)]
mod tests;

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::Decision;
use pagurus_domain::system::{CallKind, Latencies};

use super::timing::between;
pub use adaptive::Adaptive;
use collect::{Collected, LimitChange};
use failures::Failures;
use probing::Probing;
pub use rule::{LimitRule, LimitWindow, PathTimes};

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause. With the probes and the growth after it, a system that is back is used again within ten seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// A flow that goes on for so long is not the same trouble when it stops again.
const STEADY: Duration = Duration::from_secs(10);
/// Part of failed calls that stops what has no limit to lower.
const STOP_PART: f64 = 0.5;
/// Part of failed calls that stops at once what has a limit to lower.
const LIMITED_STOP_PART: f64 = 0.9;
/// The shortest doubt: some rounds of news.
const SHORTEST_DOUBT: Duration = Duration::from_millis(100);
/// The longest doubt.
const LONGEST_DOUBT: Duration = Duration::from_secs(2);
/// State of a decision by which somebody stopped it.
pub(super) const HELD: &str = "held";
/// Decisions that are kept.
const MAX_DECISIONS: usize = 20;

/// Makes the rule of each new control.
#[derive(Clone)]
pub(super) struct Rule(Arc<dyn Fn() -> Box<dyn LimitRule> + Send + Sync>);

impl Rule {
    /// The rule of the policy.
    pub(super) fn adaptive() -> Self {
        Self::of(|| Box::new(Adaptive::default()))
    }

    /// Another one, to be compared.
    pub(super) fn of(make: impl Fn() -> Box<dyn LimitRule> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// A rule that has learnt nothing.
    pub(super) fn make(&self) -> Box<dyn LimitRule> {
        (self.0)()
    }
}

impl Debug for Rule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rule")
    }
}

/// Bounds that the rules set to one flow or system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// True where failures stop it.
    pub(super) stops: bool,
    /// True where its limit follows what is borne.
    pub(super) adapts: bool,
    /// The limit after a stop.
    pub(super) initial: u32,
    /// A limit from here on bounds nothing.
    pub(super) most: u32,
    /// The greatest limit; none for any.
    pub(super) max: Option<u32>,
    /// Weight in what it shares with others.
    pub(super) weight: u32,
}

impl Bounds {
    /// Returns the microseconds that a stage of this time counts for: the greater the weight, the fewer.
    pub(super) fn weighed(self, micros: i64) -> i64 {
        micros / i64::from(self.weight.max(1))
    }
}

/// Calls of one path that are reported together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls<'a> {
    /// System for the control of a flow, scenario for the control of a system.
    pub(super) path: &'a Arc<str>,
    /// Kind of the answers.
    pub(super) kind: CallKind,
    /// Number that were answered.
    pub(super) good: u32,
    /// Number of failures with a limiting class.
    pub(super) limiting: u32,
    /// Time that they took.
    pub(super) times: &'a Latencies,
    /// True if what is controlled is stopped by failures of this path, and opened by its answers. The limit follows them in
    /// any case.
    pub(super) decides: bool,
}

/// Phase of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// All may go that the limit allows, if there is one.
    Open,
    /// Stopped: nothing goes before this time.
    Stopped(Timestamp),
    /// A few go, to try.
    Probing(Probing),
}

/// Part that moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlMove {
    /// Nothing.
    No,
    /// The phase or the limit.
    Yes,
}

/// The control of one flow or system.
#[derive(Debug)]
pub(super) struct Control {
    phase: Phase,
    rule: Box<dyn LimitRule>,
    collected: Collected,
    failures: Failures,
    /// End of the doubt whether it is away, after many failed calls. Failures come fast and answers take their time:
    /// until this moment nothing goes, and then what was answered meanwhile decides.
    doubt: Option<Timestamp>,
    /// Pauses in a row.
    pauses: u32,
    /// Stops that came soon after it had begun again: each halves the limit with which it begins the next time.
    relapses: u32,
    /// Start of the first of the pauses; `None` while it is open.
    stopped_since: Option<Timestamp>,
    resumed_at: Option<Timestamp>,
    /// In use before the last stop.
    borne: Option<f64>,
    /// True if it is stopped because somebody said so, and not by its failures.
    was_asked: bool,
    /// True if there was a sample since it began: then growth is learnt from samples, and else from ended stages.
    is_sampled: bool,
    /// Failed calls that a trial of more explains.
    pardoned: f64,
    decisions: Vec<Decision>,
}

impl Control {
    /// Open, with nothing learnt.
    pub(super) fn new(rule: Box<dyn LimitRule>) -> Self {
        Self {
            phase: Phase::Open,
            rule,
            collected: Collected::default(),
            failures: Failures::default(),
            doubt: None,
            pauses: 0,
            relapses: 0,
            stopped_since: None,
            resumed_at: None,
            borne: None,
            was_asked: false,
            is_sampled: false,
            pardoned: 0.0,
            decisions: Vec::new(),
        }
    }

    /// Returns the phase.
    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the start of the time for which nothing goes except probes; `None` while it is open.
    pub(super) const fn stopped_since(&self) -> Option<Timestamp> {
        self.stopped_since
    }

    /// Number that may be in use while it is open; none without a limit.
    pub(super) fn limit(&self, bounds: Bounds) -> Option<u32> {
        let learnt = self.rule.limit().map(|limit| limit as u32);
        [learnt, bounds.max.filter(|_| bounds.stops)].into_iter().flatten().min()
    }

    /// True while its limit grows back after a stop.
    pub(super) fn is_recovering(&self) -> bool {
        self.rule.is_quick()
    }

    /// True if one more may go while `in_use` are in use.
    pub(super) fn admits(&self, in_use: u32, bounds: Bounds) -> bool {
        self.phase == Phase::Open
            && self.doubt.is_none()
            && self.limit(bounds).is_none_or(|limit| in_use < limit)
    }

    /// True where nothing can bound it.
    pub(super) fn is_free(&self, bounds: Bounds) -> bool {
        self.phase == Phase::Open && bounds.max.is_none() && self.rule.limit().is_none()
    }

    /// The time in seconds that a call takes when the system is not pressed.
    pub(super) fn base(&self) -> Option<f64> {
        self.rule.base()
    }

    /// The last changes.
    pub(super) fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Notes the number in use now.
    pub(super) fn used(&mut self, in_use: u32) {
        self.collected.used(in_use);
    }

    /// Notes calls that ended while `in_use` were in use.
    pub(super) fn note(&mut self, calls: Calls, in_use: u32, bounds: Bounds, now: Timestamp) -> ControlMove {
        match self.phase {
            Phase::Open => {
                self.is_sampled = true;
                let limiting = self.pardon(calls.limiting);
                if calls.decides {
                    self.failures.note(calls.good, limiting, calls.times, now);
                }
                self.collected.note(calls, in_use, now);
                ControlMove::No
            }
            // They began before the stop.
            Phase::Stopped(_) => ControlMove::No,
            Phase::Probing(_) if !calls.decides => ControlMove::No,
            Phase::Probing(probing) => self.note_probe(probing, calls, bounds, now),
        }
    }

    /// Requests were taken, to be answered later: the system is there.
    pub(super) fn accepted(&mut self, count: u32, in_use: u32, now: Timestamp) {
        if self.phase == Phase::Open {
            self.failures.note_accepted(count, now);
            self.collected.note_accepted(count, in_use, now);
        }
    }

    /// A stage ended without an error.
    pub(super) fn stage_ended(&mut self, in_use: u32, bounds: Bounds, now: Timestamp) -> ControlMove {
        if let Phase::Probing(probing) = &mut self.phase
            && probing.first.is_some()
        {
            probing.ended += 1;
        }
        if self.is_sampled || self.phase != Phase::Open || self.rule.limit().is_none() {
            return ControlMove::No;
        }
        self.collected.note_end(in_use, now);
        self.look(in_use, Bounds { adapts: false, ..bounds }, now)
    }

    /// Time at which it wants to be woken.
    pub(super) fn due(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Open => self.doubt,
            Phase::Stopped(until) => Some(until),
            Phase::Probing(probing) => (probing.again < Timestamp::MAX).then_some(probing.again),
        }
    }

    /// Outcome of the doubt.
    fn end_doubt(&mut self, in_use: u32, bounds: Bounds, now: Timestamp) -> ControlMove {
        self.doubt = None;
        if let Some((failed, all)) = self.verdict(bounds) {
            self.stop(f64::from(in_use), bounds, now, &format!("{failed} of {all} calls failed"));
        }
        ControlMove::Yes
    }

    /// Failed calls and all calls, if it seems to be away.
    fn verdict(&self, bounds: Bounds) -> Option<(u32, u32)> {
        self.failures.beyond(self.stop_part(bounds), self.rule.usual_failed())
    }

    fn stop_part(&self, bounds: Bounds) -> f64 {
        let has_room = self.rule.limit().is_none_or(|limit| limit > f64::from(bounds.initial));
        if bounds.adapts && has_room { LIMITED_STOP_PART } else { STOP_PART }
    }

    fn stop(&mut self, in_use: f64, bounds: Bounds, now: Timestamp, why: &str) {
        match self.resumed_at.map(|resumed| between(resumed, now)) {
            Some(time) if time >= STEADY => (self.pauses, self.relapses) = (0, 0),
            Some(_) => self.relapses = self.relapses.saturating_add(1),
            None => {}
        }
        if self.pauses == 0 {
            self.borne = Some(self.rule.borne().or(self.rule.limit()).unwrap_or(in_use));
        }
        self.was_asked = false;
        self.pause(now);
        self.decide(bounds, now, why.to_owned());
    }

    fn pause(&mut self, now: Timestamp) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(8)).min(LONGEST_PAUSE);
        self.pauses = self.pauses.saturating_add(1);
        self.doubt = None;
        self.phase = Phase::Stopped(later(now, pause));
        self.stopped_since.get_or_insert(now);
    }

    fn resume(&mut self, bounds: Bounds, now: Timestamp, why: &str) {
        self.phase = Phase::Open;
        self.stopped_since = None;
        let first = self.first_limit(bounds);
        // Where no limit was reached before, more may be borne than was ever in use.
        let was_limited = !self.was_asked || self.rule.limit().is_some();
        match first {
            Some(first) => self.rule.begin(first, self.borne.filter(|_| was_limited), now),
            None => self.rule.release(),
        }
        self.failures = Failures::default();
        self.doubt = None;
        self.collected = Collected::default();
        self.collected.begin(0, LimitChange::No, now);
        self.is_sampled = false;
        self.resumed_at = Some(now);
        self.was_asked = false;
        let begins =
            first.map_or_else(|| "no limit".to_owned(), |first| format!("begins at {}", first.floor()));
        self.decide(bounds, now, format!("{why}: {begins}"));
    }

    fn decide(&mut self, bounds: Bounds, now: Timestamp, why: String) {
        let state = match self.phase {
            Phase::Open if self.rule.limit().is_none() => "open",
            Phase::Open if self.rule.is_quick() => "recovering",
            Phase::Open => "limited",
            Phase::Stopped(_) => "stopped",
            Phase::Probing(_) => "probing",
        };
        let limit = if self.phase == Phase::Open { self.limit(bounds) } else { None };
        self.keep(Decision { at: now, state: state.to_owned(), limit, why });
    }

    fn keep(&mut self, decision: Decision) {
        if self.decisions.len() == MAX_DECISIONS {
            self.decisions.remove(0);
        }
        self.decisions.push(decision);
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
