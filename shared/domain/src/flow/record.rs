//! Knowledge of flows and called systems, as the dispatcher stores it for its successor and shows it to people
//! (DSP-14, DSP-16). The stored JSON only ever grows: what is missing in it has a default.

use std::sync::Arc;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::time;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::spelled;

/// State of a flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// Bounded by nothing but the capacity.
    #[default]
    Enabled,
    /// Bounded by a limit of its own, or by that of a system it calls.
    Limited,
    /// Stopped, because its system is away.
    Stopped,
    /// A few of its oldest orders test whether its system is back.
    Probing,
    /// Stopped by an operator.
    DisabledManually,
}

spelled!(FlowState {
    Enabled => "enabled",
    Limited => "limited",
    Stopped => "stopped",
    Probing => "probing",
    DisabledManually => "disabled_manually",
});

/// State of a called system.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SystemState {
    /// Is called without a limit, and answers.
    #[default]
    Healthy,
    /// Is called without a limit, although calls of it fail: of no limiting class, in a mode that does not stop, or by the
    /// order of an operator. Shown, and never stored: processes of version 0.1 do not know the word.
    Failing,
    /// Answers slower, and is called less.
    Slowing,
    /// Not called.
    Stopped,
    /// A few calls test whether it is back.
    Probing,
    /// Back, and called more and more.
    Recovering,
}

spelled!(SystemState {
    Healthy => "healthy",
    Failing => "failing",
    Slowing => "slowing",
    Stopped => "stopped",
    Probing => "probing",
    Recovering => "recovering",
});

/// State of the calls of a system, whatever the control makes of them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CallsState {
    /// No call has ended yet.
    #[default]
    Unknown,
    /// Hardly any fails.
    Healthy,
    /// A tenth of them or more fails.
    Failing,
}

spelled!(CallsState {
    Unknown => "unknown",
    Healthy => "healthy",
    Failing => "failing",
});

/// State of the control of a system: how much it may be called.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ControlState {
    /// Without a limit.
    #[default]
    Open,
    /// Up to a limit.
    Limited,
    /// Up to a limit that grows back after a stop.
    Recovering,
    /// Not at all for a pause, after failures or at its own request.
    Stopped,
    /// By a few, to try.
    Probing,
    /// Not at all, by an operator or a maintenance window.
    KeptStopped,
    /// Without a limit, by an operator.
    ForcedOpen,
}

spelled!(ControlState {
    Open => "open",
    Limited => "limited",
    Recovering => "recovering",
    Stopped => "stopped",
    Probing => "probing",
    KeptStopped => "kept_stopped",
    ForcedOpen => "forced_open",
});

/// A flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FlowRecord {
    /// Name of the flow.
    pub flow: String,
    /// State.
    pub state: FlowState,
    /// Stages that it may have in progress; none without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Stages handed out or running.
    pub in_progress: u32,
    /// Requests that were sent and whose callback has not come.
    pub open_requests: u32,
    /// Open requests that count against the limit: of a mode that adapts, at systems that answer within
    /// `distribution.flows.limits.open_requests_within`.
    pub counted_requests: u32,
    /// Time until the callbacks of the counted requests come.
    pub answers: Quantiles,
    /// Ready stages by priority.
    pub ready: ByPriority,
    /// Time since which its oldest ready stage may run, as of the last round over all that may; none while nothing waits.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub oldest_ready_since: Option<Timestamp>,
    /// Stages that ended in a second, recently.
    pub throughput: f64,
    /// Time of a stage over the last minute or so.
    pub short_term: Quantiles,
    /// Time of a stage over hours.
    pub long_term: Quantiles,
    /// Time of a stage that ended without an error, over hours.
    pub successes: Quantiles,
    /// True while stages of it wait for its limit, or for that of a system it calls.
    pub at_limit: bool,
    /// Time from ready to claimed, recently.
    pub waits: Quantiles,
    /// Stages that start in a second, as it is reckoned with for others: sudden changes show in it at once.
    pub pace: f64,
    /// Recent waits in its queues; `null` while too few were seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_pace: Option<QueuePace>,
    /// Forecast of the seconds until the backlog is gone: no more stages are ready than end in a second. None while it does not shrink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_to_empty: Option<f64>,
    /// Stages that ended with an error recently, by its class.
    pub errors: BTreeMap<String, u64>,
    /// Systems that its stages called recently.
    pub systems: Vec<String>,
    /// The last changes of state and limit, the newest last.
    pub decisions: Vec<Decision>,
    /// Start of the time during which only probes of it run; `null` while it works.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub stopped_since: Option<Timestamp>,
    /// Time at which a stage of it ended last.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub seen_at: Option<Timestamp>,
    /// Knowledge of its controller, for the next dispatcher.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub memory: serde_json::Value,
}

/// A called system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemRecord {
    /// Name of the system.
    pub system: String,
    /// State of its control, if that acts; otherwise of its calls.
    pub state: SystemState,
    /// State of its calls.
    pub calls: CallsState,
    /// State of its control.
    pub control: ControlState,
    /// Part of the recent calls that failed for a technical reason; none while none has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_share: Option<f64>,
    /// Stages in progress and open requests that may concern it at a time; none without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Stages in progress of flows that call it, and the open requests that count against its limit.
    pub in_progress: u32,
    /// Requests that were sent to it and whose callback has not come.
    pub open_requests: u32,
    /// Time before which it is not called, because it said so or an operator did.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub closed_until: Option<Timestamp>,
    /// Start of the time for which it is only probed, after failures or at its own request; `null` while it is called.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub stopped_since: Option<Timestamp>,
    /// Calls that ended in a second, recently.
    pub throughput: f64,
    /// Time of a call over the last minute or so.
    pub short_term: Quantiles,
    /// Time of a call over hours.
    pub long_term: Quantiles,
    /// Milliseconds that a call takes when the system is not pressed, as it was learnt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_ms: Option<f64>,
    /// Calls that failed recently, by class.
    pub errors: BTreeMap<String, u64>,
    /// Flows that called it recently.
    pub flows: Vec<String>,
    /// The last changes of state and limit, the newest last.
    pub decisions: Vec<Decision>,
    /// Time at which a call of it ended last.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub seen_at: Option<Timestamp>,
    /// Knowledge of its controller, for the next dispatcher.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub memory: serde_json::Value,
}

impl SystemRecord {
    /// Returns the state that people see: no system whose calls fail is healthy.
    #[must_use]
    pub fn shown_state(&self) -> SystemState {
        match (self.state, self.calls) {
            (SystemState::Healthy, CallsState::Failing) => SystemState::Failing,
            (state, _) => state,
        }
    }
}

/// A number for each priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ByPriority {
    /// Count of high priority.
    pub high: u32,
    /// Count of normal priority.
    pub normal: u32,
    /// Count of low priority.
    pub low: u32,
}

impl ByPriority {
    /// Returns the sum of all priorities.
    #[must_use]
    pub const fn sum(self) -> u32 {
        self.high.saturating_add(self.normal).saturating_add(self.low)
    }
}

/// Median and 99th percentile of a distribution of times; `null` while nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Quantiles {
    /// Median in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// 99th percentile in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
}

/// Pace at which orders wait behind others of their queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueuePace {
    /// Seconds for each order in front, in the middle.
    pub turn: f64,
    /// Seconds by which nine of ten waits behind a single order were not longer; behind more, by the root of their number.
    pub doubt: f64,
}

impl Quantiles {
    /// The median as a duration.
    #[must_use]
    pub fn p50(self) -> Option<Duration> {
        self.p50_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok())
    }
}

/// A change of state or limit, with the reason in words and numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// When.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// The state after it.
    pub state: String,
    /// The limit after it; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The reason, with the numbers behind it.
    pub why: String,
}

/// Requests of a flow to a system that are sent and unanswered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequests {
    /// The flow.
    pub flow: Arc<str>,
    /// The system that is to answer.
    pub system: Arc<str>,
    /// All of them.
    pub open: u32,
    /// Requests that were sent within [`super::FlowRules::open_requests_within`].
    pub recent: u32,
}
