//! The limit that follows what a system can take. Must never move where it was not reached.
//!
//! It begins as TCP does, doubling with each round of answers (slow start), up to what was borne before; then it grows
//! in steps, which double while nothing speaks against them and halve the way to a limit that was too much (binary
//! increase, Xu, Harfoush and Rhee 2004). Two things speak against it. Calls take longer than when the system is not
//! pressed: the limit falls in their ratio, as in the gradient of Netflix (concurrency-limits) and of Envoy, with a
//! tolerance that is the smaller the more calls were measured. Or calls fail with limiting classes: what was tried
//! beyond the last good limit is taken back at once, else the limit falls by the part that failed.
//!
//! A lowered limit is an experiment. If calls take as long, or fail as often, with little more than half of what was in
//! use, then the limit was not the reason: that time or that part of failures is what the system has now, and the limit
//! goes back to what it was. So a slower system keeps its throughput, and a pressed one never passes for a slow one.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::baseline::Baselines;
use super::rule::{LimitRule, LimitWindow};

/// Ratio of times to the base up to which the limit still grows.
const CALM: f64 = 1.15;
/// Ratio of times from which on the limit falls.
const PRESSED: f64 = 1.3;
/// The limit falls to this part at the least, by one window.
const LEAST_PART: f64 = 0.25;
/// Part of failed calls, beyond what is usual, from which on the limit falls.
const FAILED: f64 = 0.02;
/// The first step of growth, as a part of the limit.
const FIRST_STEP: f64 = 0.05;
/// An experiment is over when so much of what was in use is left.
const EXPERIMENT: f64 = 0.6;
/// Time for which a limit that was reached stays before more is tried.
const PLATEAU: Duration = Duration::from_secs(5);
/// Time for which a limit stays after it fell.
const REST: Duration = Duration::from_millis(500);

/// The rule of the policy.
#[derive(Clone, Debug, Default)]
pub struct Adaptive {
    limit: Option<f64>,
    baselines: Baselines,
    /// Doubles with each round of answers, up to this limit.
    quick_until: Option<f64>,
    /// The greatest that was in use without harm since the limit last fell.
    borne: f64,
    /// A limit that was too much.
    ceiling: Option<f64>,
    step: f64,
    hold_until: Timestamp,
    /// The window before the limit began to fall.
    experiment: Option<Experiment>,
    /// Part of the calls that fails whatever the limit is.
    usual_failed: f64,
}

#[derive(Clone, Copy, Debug)]
struct Experiment {
    in_use: f64,
    ratio: f64,
    failed: f64,
}

impl LimitRule for Adaptive {
    fn limit(&self) -> Option<f64> {
        self.limit
    }

    fn borne(&self) -> Option<f64> {
        (self.borne > 0.0).then_some(self.borne)
    }

    fn begin(&mut self, limit: f64, borne: Option<f64>, now: Timestamp) {
        self.limit = Some(limit.max(1.0));
        self.quick_until = Some(borne.map_or(f64::MAX, |borne| borne * 0.9));
        (self.borne, self.ceiling, self.step) = (limit, None, 0.0);
        (self.hold_until, self.experiment) = (now, None);
    }

    fn release(&mut self) {
        (self.limit, self.quick_until, self.ceiling, self.experiment) = (None, None, None, None);
    }

    fn learn(&mut self, window: &LimitWindow) -> Option<String> {
        let in_use = window.in_use.max(1.0);
        let is_reached = self.limit.is_none_or(|limit| in_use >= limit.floor());
        if !window.adapts {
            return if is_reached && window.good > 0 { self.grow(window) } else { None };
        }
        let ratio = self.baselines.ratio(&window.paths);
        let verdict = self.judge(window, ratio, in_use, is_reached);
        // Of what presses the system nothing is learnt that could rise.
        self.baselines.learn(&window.paths, in_use < self.borne * 0.5 && self.experiment.is_none());
        verdict
    }

    fn is_quick(&self) -> bool {
        self.quick_until.is_some()
    }

    fn is_trying(&self) -> bool {
        self.limit.is_some_and(|limit| limit.floor() > self.borne.floor())
    }

    fn base(&self) -> Option<f64> {
        self.baselines.longest()
    }

    fn remember(&self) -> Value {
        json!({
            "limit": self.limit, "bases": self.baselines.remember(), "borne": self.borne,
            "quickUntil": self.quick_until, "ceiling": self.ceiling, "usualFailed": self.usual_failed,
        })
    }

    fn recall(&mut self, memory: &Value) {
        let number = |key: &str| memory.get(key).and_then(Value::as_f64).filter(|number| number.is_finite());
        *self = Self {
            limit: number("limit").map(|limit| limit.max(1.0)),
            baselines: memory.get("bases").map(Baselines::recall).unwrap_or_default(),
            quick_until: number("quickUntil"),
            borne: number("borne").unwrap_or_default(),
            ceiling: number("ceiling"),
            usual_failed: number("usualFailed").unwrap_or_default().clamp(0.0, 1.0),
            ..Self::default()
        };
    }
}

impl Adaptive {
    fn judge(
        &mut self,
        window: &LimitWindow,
        ratio: Option<f64>,
        in_use: f64,
        is_reached: bool,
    ) -> Option<String> {
        let failed = window.failed();
        let samples: f64 = window.paths.iter().map(super::rule::PathTimes::count).sum();
        let pressed = PRESSED + 1.0 / samples.max(1.0).sqrt();
        let calm = CALM + 0.3 / samples.max(1.0).sqrt();
        if let Some(why) = self.end_experiment(window, ratio, in_use) {
            return Some(why);
        }
        if failed > self.usual_failed * 2.0 && is_reached && self.is_trying() && !self.is_quick() {
            return self.take_back(window);
        }
        if window.limiting >= 2 && failed > self.usual_failed * 1.5 + FAILED {
            let part = (1.0 - failed).max(0.5);
            return self.fall(window, in_use, part, ratio, || {
                format!("{} of {} calls failed", window.limiting, window.good + window.limiting)
            });
        }
        if let Some(ratio) = ratio.filter(|ratio| *ratio > pressed) {
            if !is_reached {
                return None;
            }
            let part = (calm / ratio).max(LEAST_PART);
            return self.fall(window, in_use, part, Some(ratio), || {
                format!("calls take {ratio:.2} times as long as when the system is not pressed")
            });
        }
        // Never more than what is let pass anyway: else it would rise for ever.
        self.usual_failed += (failed.min(FAILED.max(self.usual_failed)) - self.usual_failed) * 0.05;
        if is_reached {
            self.borne = self.borne.max(in_use.min(self.limit.unwrap_or(in_use)));
            if ratio.is_none_or(|ratio| ratio <= calm) && window.good > 0 {
                return self.grow(window);
            }
            // Neither calm nor pressed: about as much as it can take.
            self.quick_until = None;
        }
        None
    }

    /// Lowers the limit to this part of what is in use, by one at least.
    fn fall(
        &mut self,
        window: &LimitWindow,
        in_use: f64,
        part: f64,
        ratio: Option<f64>,
        why: impl FnOnce() -> String,
    ) -> Option<String> {
        let from = self.limit.map_or(in_use, |limit| limit.min(in_use));
        let to = (from * part).min(from - 1.0).max(1.0);
        let (ratio, failed) = (ratio.unwrap_or(1.0), window.failed());
        self.experiment.get_or_insert(Experiment { in_use: from, ratio, failed });
        if self.limit.is_some_and(|limit| limit <= to) {
            return None;
        }
        self.limit = Some(to);
        (self.borne, self.ceiling) = (self.borne.min(to), Some(from));
        (self.quick_until, self.step) = (None, 0.0);
        self.hold_until = later(window.now, REST);
        Some(format!("{}: the limit falls from {from:.0} to {to:.0}", why()))
    }

    /// Gives up what was tried beyond what was borne.
    fn take_back(&mut self, window: &LimitWindow) -> Option<String> {
        let from = self.limit?;
        let to = self.borne.min(from - 1.0).max(1.0);
        (self.limit, self.ceiling, self.step) = (Some(to), Some(from), 0.0);
        self.borne = to;
        self.hold_until = later(window.now, PLATEAU);
        let failed = window.limiting;
        Some(format!("{failed} calls failed when {from:.0} were tried: the limit is {to:.0} again"))
    }

    /// Looks whether lowering the limit has helped, once it is low enough to tell.
    fn end_experiment(&mut self, window: &LimitWindow, ratio: Option<f64>, in_use: f64) -> Option<String> {
        let begun = self.experiment?;
        let is_low = in_use <= (begun.in_use * EXPERIMENT).max(1.0);
        let by_time = begun.ratio > PRESSED;
        let helped = if by_time { ratio? < begun.ratio * 0.85 } else { window.failed() < begun.failed * 0.7 };
        if helped {
            // Each further step must help again: what is left of the time may be the system's own, and not the queue's.
            let here = ratio.filter(|ratio| by_time && *ratio > CALM);
            let failed = window.failed();
            self.experiment =
                here.map(|ratio| Experiment { in_use: in_use.min(begun.in_use), ratio, failed });
            return None;
        }
        if !is_low {
            return None;
        }
        self.experiment = None;
        let from = self.limit.unwrap_or(in_use);
        (self.ceiling, self.step, self.borne) = (None, 0.0, begun.in_use);
        self.limit = Some(begun.in_use.max(from));
        let what = if by_time {
            self.baselines.rebase(&window.paths);
            "calls take as long with fewer of them"
        } else {
            self.usual_failed = window.failed();
            "as many calls fail with fewer of them"
        };
        Some(format!("{what}: the system is so now, and the limit is {:.0} again", begun.in_use))
    }

    fn grow(&mut self, window: &LimitWindow) -> Option<String> {
        let from = self.limit?;
        if window.now < self.hold_until {
            return None;
        }
        let step = self.step.max(from * FIRST_STEP).max(1.0);
        let to = match (self.quick_until, self.ceiling) {
            (Some(until), _) => {
                let to = (from + f64::from(window.good)).min(from * 2.0).min(until.max(from));
                if to >= until {
                    self.quick_until = None;
                }
                to.max(from)
            }
            (None, Some(ceiling)) if from + 1.0 < ceiling && from < ceiling * 0.97 => {
                (from + step).min(f64::midpoint(from, ceiling)).max(from + 1.0)
            }
            (None, Some(_)) => {
                (self.ceiling, self.step) = (None, 0.0);
                self.hold_until = later(window.now, PLATEAU);
                from
            }
            (None, None) => from + step,
        };
        if to >= window.most {
            (self.limit, self.quick_until, self.ceiling) = (None, None, None);
            return Some(format!("grew beyond {from:.0}: there is no limit any more"));
        }
        self.step = (step * 2.0).min((to / 2.0).max(1.0));
        self.limit = Some(to);
        (to.floor() > from.floor()).then(|| {
            format!("{} calls were answered in time: the limit grows from {from:.0} to {to:.0}", window.good)
        })
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
