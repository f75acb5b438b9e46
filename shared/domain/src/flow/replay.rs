//! What a replay of a flow is asked, and the figures that it gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::DistributionMode;

/// Changes to what was recorded of a flow. Whatever is left out is as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowChanges {
    /// Way to share capacity among flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<DistributionMode>,
    /// Greatest limit of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_limit: Option<u32>,
    /// Weight of the flow beside others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<u32>,
    /// Factor of the stages that come: with 2, twice as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub load: Option<f64>,
    /// Factor of the time that the called systems take for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub call_time: Option<f64>,
    /// Factor of the calls that the called systems work on at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub capacity: Option<f64>,
}

/// Figures of a flow in a minute, recorded or replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MinuteFigures {
    /// Stages that became ready, without repeats.
    pub came: f64,
    /// Stages that ended and did not come again.
    pub ended: f64,
    /// Stages that failed and came again.
    pub repeated: f64,
    /// Mean time that ended stages had been ready; absent where none ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<f64>,
    /// Stages that were ready or in progress at the end of the minute.
    pub waiting: f64,
    /// Limit of the flow at the end of the minute; absent without one, and of what was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
