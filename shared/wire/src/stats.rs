//! Bodies of `/v1/stats`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The engine in figures: as it is now, and over some time up to now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsView {
    /// Time at which `now` was looked at; one look serves all who ask within two seconds.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Start of the time that everything but `now` is about: the minute of the requested time, or a later one
    /// where more was counted since than one answer looks at.
    #[serde(serialize_with = "time::serialize")]
    pub since: Timestamp,
    /// Length of each of the `steps`, in seconds.
    pub step_seconds: u64,
    /// The engine now.
    pub now: StatsNow,
    /// Rates over the last whole minute.
    pub rates: StatsRates,
    /// Counts of each step, the oldest first; steps in which nothing happened are left out.
    pub steps: Vec<StatsStep>,
    /// Counts by scenario, the busiest first, a hundred at most.
    pub scenarios: Vec<ScenarioStats>,
    /// Stages and lives that ended with an error by its class, the most frequent first, a hundred at most.
    pub errors: Vec<ErrorStats>,
    /// HTTP calls by called system, the most called first, a hundred at most.
    pub systems: Vec<SystemStats>,
}

/// The engine now. Rows are counted up to a thousand; beyond that a number is an estimate of the database, minutes old.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsNow {
    /// Orders by status. What is with a worker counts as `running`; what may run, as the status that it rests in.
    pub statuses: Vec<NamedCount>,
    /// Orders that are not final by what they wait for: `sleep_youngest`, `sleep_middle`, `sleep_oldest`, `wait`, `polling`,
    /// `retry`, `postponed`, `dependent`, `worker` (may run), `running`.
    pub waiting: Vec<NamedCount>,
    /// Delay by which the due orders of each group are woken.
    #[serde(default)]
    pub activation: Vec<ActivationStats>,
    /// Questions to other systems that are not answered yet.
    pub open_requests: StatsCount,
    /// Notifications that are on their way.
    pub unsent_notifications: StatsCount,
    /// Notifications that were parked, because only a person can help.
    pub parked_notifications: StatsCount,
    /// Refused messages that were looked at and wait for a decision.
    pub refused_messages: StatsCount,
    /// Orders that are marked as inconsistent.
    pub inconsistent: StatsCount,
    /// The consistency check in the background; none before its first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency_check: Option<CheckStats>,
    /// Seconds for which the oldest stage could have run that stands in no queue, among the thousand orders with the
    /// smallest numbers that may run; none while nothing may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_ready_seconds: Option<f64>,
    /// Age of the oldest notification that is on its way, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_notification_seconds: Option<f64>,
}

/// The round of the consistency check over all orders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckStats {
    /// Completed rounds.
    pub rounds: i64,
    /// Share of the present round that is done, from 0 to 1.
    pub share: f64,
    /// Start of the present round.
    #[serde(serialize_with = "time::serialize")]
    pub begun_at: Timestamp,
    /// End of the last one.
    #[serde(serialize_with = "time::serialize")]
    pub ended_at: Option<Timestamp>,
}

/// Waking of suspended orders of one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivationStats {
    /// The group: `sleep_youngest`, `sleep_middle`, `sleep_oldest`, `wait`, `polling`, `retry`, `postponed`.
    pub group: String,
    /// Milliseconds for which the first order of the group has been due and is not woken; zero where none is due. Orders of
    /// a flow that is held back are woken late on purpose, and count as the others.
    pub current_processing_lag_ms: u64,
}

/// A number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsCount {
    /// The number.
    pub count: u64,
    /// True if it is an estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// A number of things that have a name in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedCount {
    /// Value that they have in common.
    pub name: String,
    /// The number.
    #[serde(flatten)]
    pub count: StatsCount,
}

/// Rates a second over the last whole minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsRates {
    /// Orders that were registered.
    pub registered: f64,
    /// Lives that ended, by whatever status.
    pub ended: f64,
    /// Lives that ended `fail`.
    pub failed: f64,
    /// Stages that ended.
    pub stages: f64,
    /// HTTP calls of systems.
    pub calls: f64,
}

/// Counts of a step. Lives are counted: an order that fails, is restarted and succeeds is counted at both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsStep {
    /// Start of the step.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Orders that were registered.
    pub registered: i64,
    /// Lives that ended.
    #[serde(flatten)]
    pub ended: EndedLives,
    /// Stages that ended.
    pub stages: i64,
    /// Mean time of these stages, in seconds; none if none ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_seconds: Option<f64>,
    /// HTTP calls of systems.
    pub calls: i64,
}

/// Lives that ended, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndedLives {
    /// In `success`.
    pub success: i64,
    /// In `fail`.
    pub fail: i64,
    /// In `interrupted`.
    pub interrupted: i64,
    /// In `canceled`.
    pub canceled: i64,
}

impl EndedLives {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> i64 {
        self.success + self.fail + self.interrupted + self.canceled
    }
}

/// Counts of the orders of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioStats {
    /// Name of the scenario; `other` for all beyond the first two hundred of each process.
    pub scenario: String,
    /// Orders that were registered.
    pub registered: i64,
    /// Lives that ended.
    #[serde(flatten)]
    pub ended: EndedLives,
}

/// Stages and lives that ended with an error of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorStats {
    /// The class; empty if no rule matched the error.
    pub class: String,
    /// Number of them.
    pub count: i64,
}

/// HTTP calls of a system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemStats {
    /// Host, with the port if the URL has one.
    pub system: String,
    /// Number of calls.
    pub calls: i64,
    /// Mean time of a call, in seconds.
    pub mean_seconds: f64,
    /// Stages and lives that ended with an error about it.
    pub errors: i64,
}
