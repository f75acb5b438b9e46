//! Bodies of `/v1/refused`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A refused message in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedLine {
    /// Id, given at its refusal.
    pub id: String,
    /// Reason of the refusal.
    pub reason: String,
    /// Time of the refusal.
    pub refused_at: String,
    /// Exchange to which it had been published.
    pub exchange: String,
    /// Key with which it had been published.
    pub key: String,
    /// Length of its body.
    pub bytes: i32,
    /// Time at which it was taken out of its broker queue.
    #[serde(serialize_with = "time::serialize")]
    pub taken_at: Timestamp,
}

/// A refused message with everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedView {
    /// Fields that the list shows.
    #[serde(flatten)]
    pub line: RefusedLine,
    /// Properties that it had, each as text; `headers` as JSON.
    pub properties: Value,
    /// `text`, or `hex` where the body is no UTF-8.
    pub encoding: String,
    /// Body, as text or as hexadecimal digits; the first MiB of a longer one.
    pub body: String,
}

/// A message that is to be sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayBody {
    /// Reason, for the audit log.
    #[schemars(length(min = 1))]
    pub reason: String,
    /// Other body, as text; left out: the body that it had, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Other key, where the key itself was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// True to send it without its `reply_to`: nobody gets a receipt.
    #[serde(default, rename = "withoutReceipt", skip_serializing_if = "std::ops::Not::not")]
    pub without_receipt: bool,
}

/// Decision about a refused message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedDecision {
    /// Id of the message.
    pub id: String,
    /// `replayed` or `dropped`.
    pub status: String,
}
