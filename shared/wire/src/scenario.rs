//! Lines of `/v1/scenarios` and of the versions of one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioLine {
    /// The time at which the newest version was applied.
    pub created_at: Timestamp,
    /// The name.
    pub scenario: String,
    /// The newest version.
    pub version: i32,
}

/// A version of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionLine {
    /// The time at which it was applied.
    pub created_at: Timestamp,
    /// The number, from 1.
    pub version: i32,
}
