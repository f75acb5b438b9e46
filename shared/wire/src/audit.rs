//! The audit log, as the API shows it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One action that somebody took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    /// Number of the entry.
    pub no: i64,
    /// When.
    pub at: Timestamp,
    /// Name of the action.
    pub action: String,
    /// Kind of what it was done to.
    pub kind: String,
    /// Name of what it was done to.
    pub subject: String,
    /// Principal of the request.
    pub by: AuditedPrincipal,
    /// Reason that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// More.
    pub detail: Value,
}

/// Who took an action: door, name, and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditedPrincipal {
    /// Way by which the request came in.
    pub door: String,
    /// Name that somebody has vouched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Address of the client, or exchange of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}
