//! Bodies of `/v1/callbacks`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer to a callback, with its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallbackTaken {
    /// `accepted`, `duplicate`, `late` or `orphan`.
    pub status: String,
}

/// A stored callback in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallbackLine {
    /// Number of the callback; a later one has a larger.
    pub no: i64,
    /// Time at which it arrived.
    #[serde(serialize_with = "time::serialize")]
    pub received_at: Timestamp,
    /// `accepted`, `duplicate`, `late` or `orphan`.
    pub verdict: String,
    /// The id of the request that it answers; none for an orphan.
    pub request: Option<String>,
    /// The name by which it called its request.
    pub named: String,
    /// The id of the order; none for an orphan, or if the order is no longer kept.
    pub order: Option<String>,
    /// Status of the called system's step.
    pub step_status: Option<String>,
    /// The body as text, with masked values replaced, and cut if it is long.
    #[schemars(extend("x-payload" = true))]
    pub body: String,
    /// Length of the body as it is kept: as it came, or the first 16 KiB of one without a matching request.
    pub body_bytes: i32,
}
