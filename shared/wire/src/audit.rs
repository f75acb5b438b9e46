//! The audit log, as the API shows it.

pub mod chain;

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An action of a person or program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    /// Number of the entry.
    pub no: i64,
    /// Time of the action.
    #[serde(serialize_with = "time::serialize")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Details.
    #[schemars(extend("x-payload" = true))]
    pub detail: Value,
}

/// Principal of an action: door, name, and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditedPrincipal {
    /// Door by which the request arrived.
    pub door: String,
    /// Name of the person or program, as it was authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Address of the client, or exchange of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}
