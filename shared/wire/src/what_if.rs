//! Answer to `POST /v1/flows/{flow}/what-if`.

use jiff::Timestamp;
use pagurus_domain::flow::MinuteFigures;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The record of a flow, its replay as it was, and its replay with the changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfView {
    /// The flow.
    pub flow: String,
    /// Start of the time that was played.
    #[serde(serialize_with = "time::serialize")]
    pub from: Timestamp,
    /// End of the time that was played.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// Minutes before that were not played, because more than 150 000 stages came in all.
    pub skipped_minutes: u32,
    /// Likeness of the replay as it was to the record, by the stages that ended in each minute: 1 if they are equal. Below
    /// 0.8 the replay says little.
    pub likeness: f64,
    /// The called systems, as the record shows them.
    pub systems: Vec<WhatIfSystem>,
    /// Sums of the whole time.
    pub totals: RecordedAndReplayed<WhatIfTotals>,
    /// The minutes.
    pub steps: Vec<WhatIfStep>,
}

/// Conclusions about a called system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfSystem {
    /// Host and port.
    pub system: String,
    /// Calls that it works on at once.
    pub at_once: u32,
    /// True if it was seen at its limit. Otherwise nobody knows what more it can do, and `atOnce` is at least twice what was seen.
    pub was_full: bool,
    /// Time of a call in calm.
    pub call_ms: f64,
    /// Part of the calls after which a stage came again, while it was there.
    pub failed_part: f64,
}

/// Figures of the record, of the replay as it was, and of the replay with the changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedAndReplayed<T> {
    /// The record.
    pub recorded: T,
    /// The replay as it was.
    pub replayed: T,
    /// The replay with the changes.
    pub changed: T,
}

/// A minute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfStep {
    /// Start of the minute.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// Figures of the minute.
    #[serde(flatten)]
    pub figures: RecordedAndReplayed<MinuteFigures>,
}

/// Sums over the time that was played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfTotals {
    /// Stages that became ready, without repeats.
    pub came: f64,
    /// Stages that ended and did not come again.
    pub ended: f64,
    /// Stages that failed and came again.
    pub repeated: f64,
    /// Mean time that ended stages had been ready; absent where none ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<f64>,
    /// Most stages that were ready or in progress at the end of a minute.
    pub most_waiting: f64,
    /// Stages that were ready or in progress at the end.
    pub waiting_at_end: f64,
}
