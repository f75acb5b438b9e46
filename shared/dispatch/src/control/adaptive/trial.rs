//! Trials of another limit: for as many calls as it takes to tell, and the outcome decides.

use super::super::evidence::{Evidence, WaitDifference};
use super::super::rule::LimitWindow;
use super::usual::Usual;
use super::{Adaptive, CALM, EARNED, PATIENCE, PRESENT, STEP, SURE, SURGE};

/// Part of the wait that a full system would show, from which on calls wait for each other.
const WAITING: f64 = 0.5;
/// Standard errors beyond which a trial is decided.
const DECIDED: f64 = 1.5;
/// Calls after which a trial is decided by what is likelier.
const LONG_TRIAL: f64 = 150.0;
/// Part to which a trial lowers the limit at the most, to be sure.
const LEAST: f64 = 0.6;
/// The smallest part by which a trial raises the limit.
const LEAST_STEP: f64 = 0.05;
/// Probability below which failures in a trial are not put down to chance.
const UNLIKELY: f64 = 0.02;
/// Failures fall by this power of the limit at the least where it is their reason.
const FEWER: f64 = 0.35;

/// Another limit, for as many calls as it takes to tell.
#[derive(Clone, Debug)]
pub(super) struct LimitTrial {
    pub(super) kind: TrialKind,
    /// The limit before it.
    pub(super) from: f64,
    /// The calls before it.
    pub(super) before: Evidence,
    /// The calls since it is fully in force.
    pub(super) seen: Evidence,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TrialKind {
    /// More, step by step up to this limit.
    Raise(f64),
    /// Less, because calls may wait for each other.
    LowerByTime,
    /// Less, because calls failed.
    LowerByFailures,
}

impl Adaptive {
    /// Raises the limit by the next step of a trial: each is twice as long.
    pub(super) fn step_up(&mut self, from: f64, limit: f64, to: f64) {
        let step = (limit - from).max(limit * 0.02).max(1.0);
        self.limit = Some((limit + step).floor().min(to));
    }

    /// Lowers the limit to this part, and looks whether it helps.
    pub(super) fn lower(
        &mut self,
        kind: TrialKind,
        before: Evidence,
        in_use: f64,
        part: f64,
        why: &str,
    ) -> Option<String> {
        let from = self.limit.map_or(in_use, |limit| limit.min(in_use.max(limit.floor())));
        let to = (from * part).min(from - 1.0).floor().max(1.0);
        self.quick_until = None;
        if to >= from {
            return None;
        }
        self.limit = Some(to);
        self.trial = Some(LimitTrial { kind, from, before, seen: Evidence::default() });
        Some(format!("{why}: the limit falls from {from:.0} to {to:.0}"))
    }

    pub(super) fn go_on(&mut self, mut trial: LimitTrial, window: &LimitWindow) -> Option<String> {
        trial.seen.add(window);
        if trial.kind == TrialKind::LowerByTime && trial.seen.fails_more_than(self.usual.failed(), SURGE) {
            // Something else has happened.
            return self.judge(window);
        }
        match trial.kind {
            TrialKind::Raise(to) => self.end_raise(trial, to, window),
            TrialKind::LowerByTime => self.end_by_time(trial),
            TrialKind::LowerByFailures => self.end_by_failures(trial),
        }
    }

    fn end_raise(&mut self, trial: LimitTrial, to: f64, window: &LimitWindow) -> Option<String> {
        let limit = self.limit?;
        let usual = self.usual.failed();
        let expected = trial.seen.calls() * usual;
        if chance_of(trial.seen.limiting, expected) < UNLIKELY {
            self.credit = (self.credit - (trial.seen.limiting - expected).max(1.0)).max(-EARNED.1);
            let failed = trial.seen.limiting;
            self.give_up(&trial);
            return Some(format!(
                "{failed} calls failed when {limit:.0} were tried: the limit is {:.0} again",
                trial.from
            ));
        }
        if limit < to {
            self.step_up(trial.from, limit, to);
            self.trial = Some(trial);
            return None;
        }
        let gain = to / trial.from - 1.0;
        let Some(verdict) =
            decide(trial.seen.longer_than(&trial.before), gain * WAITING, trial.seen.measured())
        else {
            self.trial = Some(trial);
            return None;
        };
        if verdict {
            self.is_at_edge = self.unchecked > PRESENT;
            self.give_up(&trial);
            return Some(format!(
                "calls wait for each other when {to:.0} are tried: the limit is {:.0} again",
                trial.from
            ));
        }
        self.is_at_edge = false;
        if window.mean_use + 0.5 < to * 0.8 {
            // Not enough work to say that it was borne.
            self.give_up(&trial);
            return None;
        }
        self.borne = self.borne.max(to);
        self.accept(trial.seen);
        self.step = (self.step * 2.0).clamp(STEP.0, STEP.1);
        if to >= window.most {
            self.limit = None;
            return Some(format!("grew beyond {:.0}: there is no limit any more", trial.from));
        }
        Some(format!("as many calls are answered in time: the limit grows from {:.0} to {to:.0}", trial.from))
    }

    fn end_by_time(&mut self, trial: LimitTrial) -> Option<String> {
        let limit = self.limit?;
        let part = 1.0 - limit / trial.from;
        let quicker = trial.before.longer_than(&trial.seen);
        // The time of a call before the trial, by that in it.
        let Some(verdict) = decide(quicker, part / (1.0 - part) * WAITING, trial.seen.measured()) else {
            self.trial = Some(trial);
            return None;
        };
        self.unchecked = 0.0;
        if verdict {
            self.borne = self.borne.min(limit);
            self.is_at_edge = true;
            let seen = trial.seen;
            self.accept(seen);
            self.unchecked = f64::MAX;
            return Some(format!("calls are quicker with fewer of them: the limit is {limit:.0}"));
        }
        self.is_at_edge = false;
        // They took no longer with more of them: what they took is the time of the calm system. But that it is slower than
        // before is believed only with far fewer calls: a little wait passes for none.
        let than_base = trial.seen.longer_than(&self.base);
        let is_slower = than_base.is_some_and(|wait| wait.exceeds(CALM, 1.0));
        if is_slower && self.is_base_proven && limit > (trial.from * LEAST).max(1.0) {
            self.limit = Some((trial.from * LEAST).floor().max(1.0));
            self.trial = Some(LimitTrial { seen: Evidence::default(), ..trial });
            return None;
        }
        if is_slower || !self.is_base_proven || than_base.is_none_or(|wait| wait.is_below(-0.05, SURE)) {
            self.base = trial.seen.clone();
            self.base.keep(PRESENT);
        }
        self.is_base_proven = true;
        self.give_up(&trial);
        Some(format!("calls take as long with fewer of them: the limit is {:.0} again", trial.from))
    }

    fn end_by_failures(&mut self, trial: LimitTrial) -> Option<String> {
        let limit = self.limit?;
        let (before, seen) = (trial.before.failed(), trial.seen.failed());
        // As many calls as let six fail, if nothing has changed.
        let calls = trial.seen.calls();
        if calls < (8.0 / before.max(0.01)).clamp(20.0, LONG_TRIAL) && trial.seen.limiting < 8.0 {
            self.trial = Some(trial);
            return None;
        }
        self.unchecked = 0.0;
        let is_fewer = trial.before.fails_more_often_than(&trial.seen, 2.0);
        if is_fewer && seen < before * (limit / trial.from).powf(FEWER) {
            self.borne = self.borne.min(limit);
            self.credit = self.credit.max(2.0);
            self.step = ((trial.from / limit - 1.0) / 2.0).clamp(STEP.0, STEP.1);
            self.accept(trial.seen);
            return Some(format!("fewer calls fail with fewer of them: the limit is {limit:.0}"));
        }
        // Where many are refused, little less is refused for a little less.
        if limit > (trial.from * if before > 0.15 { 0.25 } else { LEAST }).max(1.0) {
            let to = (limit * 0.6).floor().max(1.0);
            self.limit = Some(to);
            self.trial = Some(LimitTrial { seen: Evidence::default(), ..trial });
            return None;
        }
        self.give_up(&trial);
        // Both counts together: the first alone was looked at because it was high.
        let chance =
            (trial.before.limiting + trial.seen.limiting) / (trial.before.calls() + trial.seen.calls());
        self.usual = Usual::of(chance);
        Some(format!("as many calls fail with fewer of them: the limit is {:.0} again", trial.from))
    }

    /// The limit of a trial is the present one from now on.
    fn accept(&mut self, seen: Evidence) {
        self.changed();
        self.present = seen;
        self.present.keep(PRESENT);
        self.hasten();
    }

    /// The limit before a trial is the present one again.
    fn give_up(&mut self, trial: &LimitTrial) {
        self.limit = Some(trial.from);
        self.changed();
        self.present = trial.before.clone();
        self.passed = 0.0;
        self.patience = (self.patience * 2.0).min(PATIENCE.1);
        self.step = (self.step / 2.0).clamp(LEAST_STEP, STEP.0);
    }
}

/// The probability of at least this number of failures beside the number expected (Poisson).
fn chance_of(failures: f64, expected: f64) -> f64 {
    let (mut below, mut term) = (0.0, (-expected).exp());
    for count in 0..failures.min(1000.0) as u32 {
        below += term;
        term *= expected / f64::from(count + 1);
    }
    1.0 - below
}

/// Decides whether a difference is more than a bound; none while that is open.
fn decide(difference: Option<WaitDifference>, bound: f64, calls: f64) -> Option<bool> {
    let difference = difference.filter(|_| calls >= 20.0)?;
    if difference.exceeds(bound, DECIDED) {
        return Some(true);
    }
    if difference.is_below(bound, DECIDED) || calls >= LONG_TRIAL {
        return Some(difference.part > bound);
    }
    None
}
