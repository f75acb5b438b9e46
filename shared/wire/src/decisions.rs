//! Bodies of `/v1/flows/{flow}/decisions` and `/v1/systems/{name}/decisions`.

use jiff::Timestamp;
use pagurus_domain::flow::DecisionNumbers;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A decision about a flow or a called system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    /// When.
    #[serde(serialize_with = "time::serialize")]
    pub at: Timestamp,
    /// The state after it.
    pub state: String,
    /// The limit after it; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The reason in words; where an operator decided, with the reason that was given.
    pub why: String,
    /// Principal who decided; absent if the engine decided by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Value>,
    /// Figures of that time.
    pub numbers: DecisionNumbers,
    /// Similar decisions since the previous one in the list, which have no line of their own: probes of a continuing outage, and
    /// small steps of a limit.
    #[serde(default)]
    pub left_out: u64,
}
