//! The limit that follows what a system can take. Must never move where it was not reached.
//!
//! After a stop it doubles with each round of answers (TCP's slow start), up to what was borne before. From then on it is
//! found by experiment, as in PCC (Dong, Li, Zarchy, Godfrey and Schapira 2015): a little more, or a little less, is let
//! pass for as many calls as it takes to tell, and the outcome decides. By Little's law calls take longer in proportion to
//! the limit where they wait for each other in the system, and as long as before where they do not. Half of that
//! proportion is the line between the two.
//!
//! - More is tried in small steps, and given up with the first failures beyond those that come anyway. What a trial may cost
//!   is counted in failed calls, and earned by calls that are answered: so a try costs a share of calls, whatever a call takes.
//! - Less is tried where calls take longer than they did when the system was calm, or fail more often. If that helps,
//!   the limit stays lower. If it does not, then the limit was not the reason: that time or that part of failures
//!   is what the system has now, and the limit goes back to what it was.
//!
//! So a slower system keeps its throughput, a pressed one never passes for a slow one, also from a start into a backlog on,
//! and failures by chance lower nothing for long.

mod trial;
mod usual;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::evidence::Evidence;
use super::rule::{LimitRule, LimitWindow};
use trial::{LimitTrial, TrialKind};
use usual::Usual;

/// Calls that the knowledge of the present limit rests on.
const PRESENT: f64 = 400.0;
/// The last calls, in which a sudden change shows.
const RECENT: f64 = 40.0;
/// Calls that are enough to compare with.
const KNOWN: f64 = 30.0;
/// Calls that a first base is learnt from, and as long as nothing limits them.
const BASE: f64 = 12.0;
const FIRST: f64 = 100.0;
/// Wait in the system from which on less is tried, as a part of the time of a call.
const PRESSED: f64 = 0.3;
/// Wait up to which the system is calm.
const CALM: f64 = 0.1;
/// Standard errors beyond which a difference is none of chance.
const SURE: f64 = 2.5;
/// Part by which a trial raises the limit, at first and at most.
const STEP: (f64, f64) = (0.2, 0.7);
/// Part by which a trial lowers the limit.
const LESS: f64 = 0.2;
/// Calls between two trials, at first and at most.
const PATIENCE: (f64, f64) = (40.0, 2000.0);
/// Failed calls that trials may cost: earned by each answered call, and saved up at most.
const EARNED: (f64, f64) = (0.0025, 6.0);
/// Calls after which less is tried, although nothing speaks for it.
const CHECKED: f64 = 3000.0;
/// Standard errors by which failures exceed the usual ones where there are suddenly more of them. Windows end with a run of
/// failures, so chance goes far.
const SURGE: f64 = 4.5;

/// The rule of the policy.
#[derive(Clone, Debug)]
pub struct Adaptive {
    limit: Option<f64>,
    /// Doubles with each round of answers, up to this limit.
    quick_until: Option<f64>,
    /// The greatest limit that was reached without harm since it last fell.
    borne: f64,
    /// Calls while the system was calm.
    base: Evidence,
    /// Calls under the present limit.
    present: Evidence,
    /// The last of them.
    recent: Evidence,
    /// Calls that fail whatever the limit is, and those that do not.
    usual: Usual,
    trial: Option<LimitTrial>,
    /// Part by which the next trial raises the limit.
    step: f64,
    /// Calls between two trials, and those since the last one.
    patience: f64,
    passed: f64,
    /// Calls since less was tried.
    unchecked: f64,
    /// Failed calls that trials may cost yet.
    credit: f64,
    /// The last trial of more showed that calls wait for each other.
    is_at_edge: bool,
    /// A trial of less has shown that calls were calm when the base was learnt.
    is_base_proven: bool,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            limit: None,
            quick_until: None,
            borne: 0.0,
            base: Evidence::default(),
            present: Evidence::default(),
            recent: Evidence::default(),
            usual: Usual::default(),
            trial: None,
            step: STEP.0,
            patience: PATIENCE.0,
            passed: 0.0,
            unchecked: 0.0,
            credit: EARNED.1,
            is_at_edge: false,
            is_base_proven: false,
        }
    }
}

impl LimitRule for Adaptive {
    fn limit(&self) -> Option<f64> {
        self.limit
    }

    fn borne(&self) -> Option<f64> {
        (self.borne > 0.0).then_some(self.borne)
    }

    fn begin(&mut self, limit: f64, borne: Option<f64>, _now: Timestamp) {
        self.limit = Some(limit.max(1.0));
        self.quick_until = Some(borne.map_or(f64::MAX, |borne| borne * 0.9));
        self.borne = limit;
        self.trial = None;
        self.step = STEP.0;
        if !self.is_base_proven {
            self.base.clear();
        }
        self.changed();
        self.hasten();
    }

    fn release(&mut self) {
        (self.limit, self.quick_until, self.trial) = (None, None, None);
        self.changed();
    }

    fn learn(&mut self, window: &LimitWindow) -> Option<String> {
        if !window.adapts {
            let is_reached = self.limit.is_none_or(|limit| window.in_use >= limit.floor());
            return if is_reached && window.good > 0 { self.regrow(window) } else { None };
        }
        let good = f64::from(window.good.max(window.accepted));
        self.credit = (self.credit + good * EARNED.0).min(EARNED.1);
        (self.passed, self.unchecked) = (self.passed + good, self.unchecked + good);
        match self.trial.take() {
            Some(trial) => self.go_on(trial, window),
            None => self.judge(window),
        }
    }

    fn usual_failed(&self) -> f64 {
        self.usual.failed()
    }

    fn is_quick(&self) -> bool {
        self.quick_until.is_some()
    }

    fn is_trying(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| matches!(trial.kind, TrialKind::Raise(_)))
    }

    fn is_stepping(&self) -> bool {
        let limit = self.limit.unwrap_or_default();
        self.trial.as_ref().is_some_and(|trial| matches!(trial.kind, TrialKind::Raise(to) if limit < to))
    }

    fn base(&self) -> Option<f64> {
        self.base.longest()
    }

    fn remember(&self) -> Value {
        json!({
            "limit": self.limit, "quickUntil": self.quick_until, "borne": self.borne,
            "base": self.base.remember(), "isBaseProven": self.is_base_proven, "usual": self.usual.remember(),
            "patience": self.patience, "credit": self.credit,
        })
    }

    fn recall(&mut self, memory: &Value) {
        let number = |key: &str| memory.get(key).and_then(Value::as_f64).filter(|number| number.is_finite());
        *self = Self {
            limit: number("limit").map(|limit| limit.max(1.0)),
            quick_until: number("quickUntil"),
            borne: number("borne").unwrap_or_default(),
            base: memory.get("base").map(Evidence::recall).unwrap_or_default(),
            is_base_proven: memory.get("isBaseProven").and_then(Value::as_bool).unwrap_or_default(),
            usual: memory.get("usual").map(Usual::recall).unwrap_or_default(),
            patience: number("patience").unwrap_or(PATIENCE.0).clamp(PATIENCE.0, PATIENCE.1),
            credit: number("credit").unwrap_or(EARNED.1).min(EARNED.1),
            ..Self::default()
        };
    }
}

impl Adaptive {
    /// Decides outside of a trial.
    fn judge(&mut self, window: &LimitWindow) -> Option<String> {
        let in_use = window.in_use.max(1.0);
        let is_reached = self.limit.is_none_or(|limit| in_use >= limit.floor());
        let mut now = Evidence::default();
        now.add(window);
        if is_reached && now.fails_more_than(self.usual.failed(), SURGE) {
            let part = (1.0 - now.failed()).max(0.5);
            let why = format!("{} of {} calls failed", window.limiting, window.good + window.limiting);
            return self.lower(TrialKind::LowerByFailures, now, in_use, part, &why);
        }
        self.usual.count(&now);
        for (evidence, calls) in [(&mut self.present, PRESENT), (&mut self.recent, RECENT)] {
            evidence.add(window);
            evidence.keep(calls);
        }
        self.learn_base(window, in_use);
        let wait = self.recent.longer_than(&self.base);
        if !is_reached {
            return None;
        }
        if let Some(wait) = wait.filter(|wait| wait.exceeds(PRESSED, SURE)) {
            let why = format!("calls take {:.2} times as long as when the system is calm", 1.0 + wait.part);
            let part = (1.1 / (1.0 + wait.part)).clamp(0.5, 1.0 - LESS);
            let (is_settled, before) =
                (self.limit.is_some() && self.present.measured() >= KNOWN, self.recent.clone());
            let fallen = self.lower(TrialKind::LowerByTime, before, in_use, part, &why);
            if !is_settled {
                // The times at the former limit are not known yet, so nothing can be compared with them.
                self.trial = None;
                self.changed();
                self.unchecked = f64::MAX;
            }
            return fallen;
        }
        if self.base.measured() >= BASE && wait.is_none_or(|wait| !wait.exceeds(CALM, 1.0)) {
            self.borne = self.borne.max(in_use.min(self.limit.unwrap_or(in_use)));
        }
        if self.is_quick() {
            return if self.base.measured() < BASE { None } else { self.regrow(window) };
        }
        self.next_trial(window, in_use)
    }

    /// Begins a trial if it is time for one.
    fn next_trial(&mut self, window: &LimitWindow, in_use: f64) -> Option<String> {
        let limit = self.limit?;
        if self.present.measured() < KNOWN || self.passed < self.patience.min(limit * 20.0) {
            return None;
        }
        if limit >= 2.0 && self.present.fails_more_than(self.usual.most(), 2.0) {
            let before = self.present.clone();
            return self.lower(
                TrialKind::LowerByFailures,
                before,
                in_use,
                1.0 - LESS,
                "looks whether fewer fail with fewer of them",
            );
        }
        let doubt = self.present.longer_than(&self.base).is_some_and(|wait| wait.exceeds(CALM, 2.0));
        let check = if self.is_at_edge {
            self.patience
        } else if doubt {
            self.patience.max(PRESENT)
        } else {
            CHECKED
        };
        if limit >= 2.0 && self.unchecked >= check {
            let before = self.present.clone();
            return self.lower(
                TrialKind::LowerByTime,
                before,
                in_use,
                1.0 - LESS,
                "looks whether fewer calls are quicker",
            );
        }
        if self.credit < 1.0 || window.mean_use + 0.5 < limit * 0.8 {
            return None;
        }
        let to = (limit * (1.0 + self.step)).max(limit + 1.0).floor();
        self.trial = Some(LimitTrial {
            kind: TrialKind::Raise(to),
            from: limit,
            before: self.present.clone(),
            seen: Evidence::default(),
        });
        self.step_up(limit, limit, to);
        None
    }

    /// Forgets the calls under the former limit.
    fn changed(&mut self) {
        self.present.clear();
        self.recent.clear();
        self.passed = 0.0;
    }

    /// Tries again soon.
    fn hasten(&mut self) {
        self.patience = PATIENCE.0;
        self.passed = self.patience;
    }

    /// Learns the time of calm calls: from the first ones, from quicker ones, and from all while few are in use.
    fn learn_base(&mut self, window: &LimitWindow, in_use: f64) {
        let seems_calm = self.recent.longer_than(&self.base).is_none_or(|wait| wait.part < CALM);
        let is_new = self.base.measured() < if self.limit.is_none() && seems_calm { FIRST } else { BASE };
        let is_quiet = in_use < self.borne * 0.5;
        if is_new || is_quiet {
            self.base.add(window);
            self.base.keep(PRESENT);
        } else if self.recent.longer_than(&self.base).is_some_and(|wait| wait.is_below(-0.05, SURE)) {
            self.base = self.recent.clone();
        }
    }

    /// Grows back after a stop, doubling with each round of answers.
    fn regrow(&mut self, window: &LimitWindow) -> Option<String> {
        let (from, until) = (self.limit?, self.quick_until.unwrap_or(f64::MAX));
        let to = (from + f64::from(window.good)).min(from * 2.0).min(until.max(from));
        if to >= until {
            self.quick_until = None;
        }
        if to >= window.most {
            (self.limit, self.quick_until) = (None, None);
            self.changed();
            return Some(format!("grew beyond {from:.0}: there is no limit any more"));
        }
        self.limit = Some(to);
        self.present.clear();
        (to.floor() > from.floor()).then(|| {
            format!("{} calls were answered in time: the limit grows from {from:.0} to {to:.0}", window.good)
        })
    }
}
