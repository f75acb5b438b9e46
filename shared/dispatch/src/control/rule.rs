//! The words between a control and its rule: what one window of samples showed, and the limit that follows from it.
//! The policy itself has one rule, [`super::Adaptive`]; the laboratory compares it with others.

use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::system::CallKind;
use serde_json::Value;

use super::super::timing::Spread;

/// Times of the calls of one path within a window: of one scenario to one system, answered in one way. Only within a path
/// are times alike.
#[derive(Clone, Debug)]
pub struct PathTimes {
    /// System for the control of a flow, scenario for the control of a system.
    pub path: Arc<str>,
    /// Kind of the answers.
    pub kind: CallKind,
    pub(super) spread: Spread,
}

impl PathTimes {
    /// True if it is of the same path.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.path == other.path
    }

    /// Number of calls that were measured.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.spread.total()
    }

    /// The time in seconds that this part of the calls did not exceed.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<f64> {
        self.spread.quantile(part)
    }
}

/// Outcomes of the calls between two decisions.
#[derive(Clone, Debug)]
pub struct LimitWindow {
    /// Time at which it ends.
    pub now: Timestamp,
    /// Stages in progress and open requests, at the most.
    pub in_use: f64,
    /// Stages in progress and open requests, on average over the news of them.
    pub mean_use: f64,
    /// Calls that were answered.
    pub good: u32,
    /// Requests that were taken, to be answered later.
    pub accepted: u32,
    /// Calls that failed with a limiting class.
    pub limiting: u32,
    /// Times of the answered calls, from when the present limit can show in them.
    pub paths: Vec<PathTimes>,
    /// A limit from here on bounds nothing.
    pub most: f64,
    /// False where a limit may only grow back after a stop: in modes that do not limit.
    pub adapts: bool,
}

impl LimitWindow {
    /// Part of the calls that failed with a limiting class.
    #[must_use]
    pub fn failed(&self) -> f64 {
        let taken = self.good.max(self.accepted);
        f64::from(self.limiting) / f64::from(taken.saturating_add(self.limiting).max(1))
    }
}

/// A way to find the limit of what calls a system.
pub trait LimitRule: Debug + Send + Sync {
    /// Number that may be in use; none without a limit.
    fn limit(&self) -> Option<f64>;

    /// Number that was in use at the most without harm; none where it is not known.
    fn borne(&self) -> Option<f64> {
        None
    }

    /// Begins again after a stop at this limit; `borne` was in use before it without harm.
    fn begin(&mut self, limit: f64, borne: Option<f64>, now: Timestamp);

    /// Bounds nothing any more: it was stopped for a reason that says nothing of what is borne.
    fn release(&mut self) {}

    /// Learns from a window. The reason in words and numbers if the limit has changed.
    fn learn(&mut self, window: &LimitWindow) -> Option<String>;

    /// Part of the calls that fails whatever the limit is, as it was learnt.
    fn usual_failed(&self) -> f64 {
        0.0
    }

    /// True while it doubles with each round of answers, so that no window has to wait for the last change to show.
    fn is_quick(&self) -> bool {
        false
    }

    /// True while it tries more than was borne before: the first failure ends the window.
    fn is_trying(&self) -> bool {
        false
    }

    /// True while it goes towards a limit that it tries, step by step: a window ends as soon as failures would be known.
    fn is_stepping(&self) -> bool {
        false
    }

    /// True if failures stop the flow under this rule.
    fn stops(&self) -> bool {
        true
    }

    /// The time in seconds that a call takes when the system is not pressed, as it was learnt.
    fn base(&self) -> Option<f64> {
        None
    }

    /// Knowledge, to be stored.
    fn remember(&self) -> Value {
        Value::Null
    }

    /// Goes on with what was stored.
    fn recall(&mut self, _memory: &Value) {}
}
