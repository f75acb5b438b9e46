//! Answer to why an order does not run.

use pagurus_domain::id::Vocabulary;
use pagurus_domain::order::wait_reason::WaitReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::foresight::{EtaView, PromiseView};

/// Reason for which an order does not run, in one word and in one sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The client's id.
    pub id: String,
    /// Present status.
    pub status: String,
    /// Reason in one word, for programs.
    #[schemars(extend("enum" = <WaitReason as Vocabulary>::WORDS))]
    pub reason: String,
    /// The plain answer.
    pub explanation: String,
    /// Time at which it will start; none if that is unknown, its flow is stopped, or no stages are handed out or taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<EtaView>,
    /// Outlook on the promise, where a time was promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<PromiseView>,
}
