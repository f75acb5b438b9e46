//! Findings that the consistency check left for a person, as outsiders see them.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Contradictions between the rows of an order that only a person can resolve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InconsistencyView {
    /// Names of what was found.
    pub findings: Vec<String>,
    /// Time at which it was found.
    #[serde(serialize_with = "time::serialize")]
    pub found_at: Timestamp,
}
