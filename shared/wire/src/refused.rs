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
    /// True if its sender got a receipt that says why, so that it needs no decision.
    #[serde(default)]
    pub answered: bool,
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
    #[schemars(extend("x-payload" = true))]
    pub properties: Value,
    /// `text`, or `hex` if the body is not UTF-8.
    pub encoding: String,
    /// Body, as text or as hexadecimal digits; the first MiB of a longer one.
    #[schemars(extend("x-payload" = true))]
    pub body: String,
}

/// A message that is to be sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayBody {
    /// Reason, for the audit log.
    #[schemars(length(min = 1))]
    pub reason: String,
    /// Other body, as text; default: the old body, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// New key, if the old one was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// True to send it without its `reply_to`: no receipt is sent.
    #[serde(default, rename = "withoutReceipt", skip_serializing_if = "std::ops::Not::not")]
    pub without_receipt: bool,
}

/// Refused messages by whether they wait for a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RefusedStatus {
    /// Messages that wait for a decision.
    #[default]
    Open,
    /// Messages whose senders got a receipt.
    Answered,
    /// Both.
    All,
}

/// Refused messages that are to be dropped: those that meet each condition that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefusedDropBody {
    /// Reason, for the audit log.
    #[schemars(length(min = 1))]
    pub reason: String,
    /// Status: `open`, `answered` or `all`; default: `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RefusedStatus>,
    /// First word of their reasons, like `conflict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_type: Option<String>,
    /// Time before which they were refused, or a duration back from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_before: Option<String>,
}

/// Refused messages that were dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedDropped {
    /// Number of them.
    pub dropped: u64,
    /// True if there may be more: the same request drops those.
    pub more: bool,
}

/// Decision about a refused message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedDecision {
    /// Id of the message.
    pub id: String,
    /// `replayed` or `dropped`.
    pub status: String,
}
