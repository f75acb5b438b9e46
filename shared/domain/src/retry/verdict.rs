//! Judges a failure against policy and limits: the next attempt, or why there is none. Must never
//! read a clock; every moment comes in.

use crate::classes::SECRET_FORBIDDEN;
use crate::number::saturated;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::layers::{ErrorRules, Half, LayeredPolicy, LayeredRetries};
use super::{DurationControl, ErrorClass};

/// A row of failures of one class without a success between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The class that comes back.
    pub class: ErrorClass,
    /// The name of the policy, for people; the policy itself is looked up again each time, because
    /// it may have been changed meanwhile.
    pub policy: String,
    /// Number of the cycle of the action, from 1.
    pub number: u32,
    /// Number of retries that have been scheduled; the one that waits is counted.
    pub attempts: u32,
    /// Time at which the first failure of the cycle was seen.
    pub started_at: Timestamp,
    /// Time at which the first failure at this place was seen: that of the first of its cycles.
    pub failing_since: Timestamp,
    /// For how long in all the order was due before an attempt of the cycle began.
    pub suspended: Duration,
    /// The cycles of other classes that failed together with it and wait as long as it does
    /// (ERR-13): each goes on when its own class comes back.
    pub beside: Vec<Cycle>,
}

impl Cycle {
    /// The cycle as JSON, for the stored cursor.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "class": self.class.as_str(),
            "policy": self.policy,
            "number": self.number,
            "attempts": self.attempts,
            "startedAt": self.started_at.to_string(),
            "suspendedMs": saturated::<u64>(self.suspended.as_millis()),
        });
        if self.failing_since != self.started_at {
            value["failingSince"] = self.failing_since.to_string().into();
        }
        if !self.beside.is_empty() {
            value["beside"] = self.beside.iter().map(Self::to_value).collect();
        }
        value
    }

    /// Reads what [`Cycle::to_value`] wrote; `None` if it is something else.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let number = |name: &str| u32::try_from(value.get(name)?.as_u64()?).ok();
        let started_at = value.get("startedAt")?.as_str()?.parse().ok()?;
        Some(Self {
            class: ErrorClass::from(value.get("class")?.as_str()?),
            policy: value.get("policy")?.as_str()?.to_owned(),
            number: number("number")?,
            attempts: number("attempts")?,
            started_at,
            failing_since: match value.get("failingSince") {
                None => started_at,
                Some(since) => since.as_str()?.parse().ok()?,
            },
            suspended: Duration::from_millis(value.get("suspendedMs")?.as_u64()?),
            beside: match value.get("beside") {
                None => Vec::new(),
                Some(beside) => beside.as_array()?.iter().map(Self::from_value).collect::<Option<_>>()?,
            },
        })
    }

    /// The next attempt begins, so long after it was due (ERR-10).
    pub fn begin_attempt(&mut self, late: Duration) {
        self.suspended = self.suspended.saturating_add(late);
        self.beside.iter_mut().for_each(|cycle| cycle.begin_attempt(late));
    }

    /// A time that counts in no limit lies between its first failure and now.
    pub fn shift(&mut self, by: SignedDuration) {
        self.started_at = self.started_at.checked_add(by).unwrap_or(self.started_at);
        self.failing_since = self.failing_since.checked_add(by).unwrap_or(self.failing_since);
        self.beside.iter_mut().for_each(|cycle| cycle.shift(by));
    }

    /// Returns it and those beside it.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.beside)
    }
}

/// A failure that is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// The name of the scenario.
    pub scenario: &'a str,
    /// The class that a rule or a script gave it.
    pub class: Option<&'a ErrorClass>,
    /// Pause that the called system or actor asked for, as far as it is believed.
    pub retry_after: Option<Duration>,
    /// Time since which a sequential order has been holding its queue in retries.
    pub sequential_since: Option<Timestamp>,
    /// Longest time for it to do so (ORD-12).
    pub max_acquisition: Duration,
    /// Until when an asynchronous cycle around this synchronous failure may go on (ERR-12).
    pub latest: Option<Timestamp>,
}

/// Consequence of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The order rests and tries again.
    RetryAt {
        /// Time at which it is due.
        at: Timestamp,
        /// The cycle to keep with the order.
        cycle: Cycle,
    },
    /// The failure goes to the scenario as event `fail`.
    GiveUp {
        /// Why there is no retry left.
        why: GiveUp,
    },
}

/// Why a failure is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GiveUp {
    /// Retries are switched off.
    Disabled,
    /// No rule gave the failure a class.
    NoClass,
    /// No policy takes this class in this scenario.
    NoPolicy,
    /// All attempts of the policy were made.
    AttemptsExhausted,
    /// The next attempt would begin after the policy's `max_duration`.
    DurationExhausted,
    /// The next attempt would begin after the general `max_cycle_duration`.
    CycleDurationExhausted,
    /// The next attempt would begin after `max_total_duration`, which bounds all cycles of one place together.
    TotalDurationExhausted,
    /// The next attempt would begin after the end of the asynchronous cycle around it.
    AsyncCycleDurationExhausted,
    /// The next attempt of a sequential order would begin after `max_acquisition_duration`.
    AcquisitionExhausted,
}

impl GiveUp {
    /// The reason in words, for the order's history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "retries are switched off",
            Self::NoClass => "no rule classifies it",
            Self::NoPolicy => "no policy takes its class",
            Self::AttemptsExhausted => "all attempts were made",
            Self::DurationExhausted => "the policy's max_duration is over",
            Self::CycleDurationExhausted => "max_cycle_duration is over",
            Self::TotalDurationExhausted => "max_total_duration is over",
            Self::AsyncCycleDurationExhausted => "max_cycle_duration of the asynchronous cycle is over",
            Self::AcquisitionExhausted => "max_acquisition_duration is over",
        }
    }
}

/// Bounds that are left to a cycle by the present configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Number of retries that the policy allows; none is any number.
    pub max_attempts: Option<u32>,
    /// No attempt begins after this moment, but for one that waits already. The bound of
    /// a sequential order's queue is not in it.
    pub ends_at: Timestamp,
}

impl ErrorRules<'_> {
    /// Bounds that are left to a cycle of synchronous retries.
    #[must_use]
    pub fn standing(self, scenario: &str, cycle: &Cycle) -> Standing {
        standing(self.half(Half::Sync), scenario, cycle)
    }

    /// Bounds that are left to an asynchronous cycle.
    #[must_use]
    pub fn async_standing(self, scenario: &str, cycle: &Cycle) -> Standing {
        standing(self.half(Half::Async), scenario, cycle)
    }

    /// Until when this asynchronous cycle may go on at the latest (ERR-12). Where only running and suspension count, the
    /// time that the order was due and nobody took it up is added.
    #[must_use]
    pub fn async_cycle_ends_at(self, scenario: &str, cycle: &Cycle) -> Timestamp {
        ends_at(self.half(Half::Async), scenario, cycle)
    }
}

fn standing(retries: LayeredRetries<'_>, scenario: &str, cycle: &Cycle) -> Standing {
    // The policy as it is now, since the next failure is judged by it.
    let LayeredPolicy { policy, max_cycle: general, .. } = retries.find(scenario, cycle.class.as_str());
    let most = policy.and_then(|policy| policy.max_duration).map_or(general, |most| most.min(general));
    Standing {
        max_attempts: policy.and_then(|policy| policy.max_attempts),
        ends_at: after(cycle.started_at, most.saturating_add(left_out(retries.control, cycle))),
    }
}

/// Judges a failure of a synchronous request. `cycle` is what the order kept from the failure
/// before, `dice` an even chance from 0 to 1.
#[must_use]
pub fn on_failure<'e>(
    errors: impl Into<ErrorRules<'e>>,
    failure: &Failure<'_>,
    cycle: Option<&Cycle>,
    now: Timestamp,
    dice: f64,
) -> Verdict {
    judge(errors.into().half(Half::Sync), failure, cycle, now, dice)
}

/// Judges a failed callback, or one that never came, by mode, policies and limits of the
/// asynchronous half.
#[must_use]
pub fn on_async_failure<'e>(
    errors: impl Into<ErrorRules<'e>>,
    failure: &Failure<'_>,
    cycle: Option<&Cycle>,
    now: Timestamp,
    dice: f64,
) -> Verdict {
    judge(errors.into().half(Half::Async), failure, cycle, now, dice)
}

/// Failures that came together are repeated together, after the longest of the waits, or not at
/// all (ERR-13): the place of the one that is waited for longest, when it is due, and its cycle
/// with the others beside it; or the place of the first that is not repeated. None without any.
#[must_use]
pub fn together(verdicts: Vec<Verdict>) -> Option<Result<(usize, Timestamp, Cycle), usize>> {
    let mut waits = Vec::with_capacity(verdicts.len());
    for (place, verdict) in verdicts.into_iter().enumerate() {
        match verdict {
            Verdict::GiveUp { .. } => return Some(Err(place)),
            Verdict::RetryAt { at, cycle } => waits.push((place, at, cycle)),
        }
    }
    waits.sort_by_key(|(_, at, _)| std::cmp::Reverse(*at));
    let mut waits = waits.into_iter();
    let (place, at, mut longest) = waits.next()?;
    for (_, _, cycle) in waits {
        // A class that failed twice has one cycle, and has made one attempt.
        if longest.all().all(|known| known.class != cycle.class) {
            longest.beside.push(cycle);
        }
    }
    Some(Ok((place, at, longest)))
}

fn ends_at(retries: LayeredRetries<'_>, scenario: &str, cycle: &Cycle) -> Timestamp {
    let end = |cycle: &Cycle| {
        let most = retries.find(scenario, cycle.class.as_str()).max_cycle;
        after(cycle.started_at, most.saturating_add(left_out(retries.control, cycle)))
    };
    cycle.beside.iter().map(end).fold(end(cycle), Timestamp::min)
}

/// The time of a cycle that does not count against its limits.
fn left_out(control: DurationControl, cycle: &Cycle) -> Duration {
    match control {
        DurationControl::Total => Duration::ZERO,
        DurationControl::RunAndSuspending => cycle.suspended,
    }
}

fn judge(
    retries: LayeredRetries<'_>,
    failure: &Failure<'_>,
    cycle: Option<&Cycle>,
    now: Timestamp,
    dice: f64,
) -> Verdict {
    // A policy for every class is meant for what a repeat may mend.
    if failure.class.is_some_and(|class| class.as_str() == SECRET_FORBIDDEN) {
        return Verdict::GiveUp { why: GiveUp::NoPolicy };
    }
    match next_attempt(retries, failure, cycle, now, dice) {
        Ok((at, cycle)) => Verdict::RetryAt { at, cycle },
        Err(why) => Verdict::GiveUp { why },
    }
}

fn next_attempt(
    retries: LayeredRetries<'_>,
    failure: &Failure<'_>,
    before: Option<&Cycle>,
    now: Timestamp,
    dice: f64,
) -> Result<(Timestamp, Cycle), GiveUp> {
    if retries.is_off() {
        return Err(GiveUp::Disabled);
    }
    let class = failure.class.ok_or(GiveUp::NoClass)?;
    let LayeredPolicy { policy, max_cycle, max_total, .. } = retries.find(failure.scenario, class.as_str());
    let policy = policy.ok_or(GiveUp::NoPolicy)?;
    let mut cycle = continued(before, class, now);
    if policy.max_attempts.is_some_and(|most| cycle.attempts >= most) {
        return Err(GiveUp::AttemptsExhausted);
    }
    cycle.attempts = cycle.attempts.saturating_add(1);
    policy.name.clone_into(&mut cycle.policy);
    let delay = policy.interval(cycle.attempts, dice).max(failure.retry_after.unwrap_or_default());

    let spent = elapsed(cycle.started_at, now).saturating_sub(left_out(retries.control, &cycle));
    let spent_then = spent.saturating_add(delay);
    if policy.max_duration.is_some_and(|most| spent_then > most) {
        return Err(GiveUp::DurationExhausted);
    }
    if spent_then > max_cycle {
        return Err(GiveUp::CycleDurationExhausted);
    }
    if elapsed(cycle.failing_since, now).saturating_add(delay) > max_total {
        return Err(GiveUp::TotalDurationExhausted);
    }
    let held = failure.sequential_since.map(|since| elapsed(since, now).saturating_add(delay));
    if held.is_some_and(|held| held > failure.max_acquisition) {
        return Err(GiveUp::AcquisitionExhausted);
    }
    let at = after(now, delay);
    if failure.latest.is_some_and(|latest| at > latest) {
        return Err(GiveUp::AsyncCycleDurationExhausted);
    }
    Ok((at, cycle))
}

/// The cycle of this class before, if there was one; else a new one.
fn continued(before: Option<&Cycle>, class: &ErrorClass, now: Timestamp) -> Cycle {
    let known = || before.into_iter().flat_map(Cycle::all);
    if let Some(same) = known().find(|cycle| cycle.class == *class) {
        return Cycle { beside: Vec::new(), ..same.clone() };
    }
    Cycle {
        class: class.clone(),
        policy: String::new(),
        number: known().map(|cycle| cycle.number).max().map_or(1, |last| last.saturating_add(1)),
        attempts: 0,
        started_at: now,
        // Classes that come by turns end, too.
        failing_since: known().map(|cycle| cycle.failing_since).min().unwrap_or(now),
        suspended: Duration::ZERO,
        beside: Vec::new(),
    }
}

/// The time between two moments; nothing if the clock went back.
fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

fn after(now: Timestamp, delay: Duration) -> Timestamp {
    SignedDuration::try_from(delay)
        .ok()
        .and_then(|delay| now.checked_add(delay).ok())
        .unwrap_or(Timestamp::MAX)
}
