//! Bodies of `/v1/session` and `/v1/access`: who somebody is, tokens, and sessions.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Identity of the sender, as the API knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Mode of access: `public`, `token`, `ldap` or `oidc`.
    pub mode: String,
    /// Name; absent if nobody has logged in, or needs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Role: `viewer`, `operator`, `admin`, `client` or `system`; absent if nobody has logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Proof of the name: `public`, `token`, `local`, `ldap` or `oidc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Tenants of those who do not see everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// True if payloads are hidden from this role (`access.payloads`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payloads_hidden: bool,
    /// Text that each change has to carry in the header `X-Csrf-Token`; only sessions of browsers have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csrf_token: Option<String>,
}

/// Body of `POST /v1/session`.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoginRequest {
    /// Name of the person.
    pub name: String,
    /// Password of the person.
    pub password: String,
}

/// Body of `POST /v1/access/tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenRequest {
    /// Name of the program, as in the audit log.
    pub name: String,
    /// Role: `viewer`, `operator`, `admin`, `client` or `system`.
    pub role: String,
    /// Tenants that it belongs to, by their names in `access.tenants`; `*` stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<String>,
    /// Time at which it expires; default: until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub ends_at: Option<Timestamp>,
    /// Reason, for the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A token that was made. It is shown this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuedTokenView {
    /// The token, for the header `Authorization: Bearer …`.
    pub token: String,
    /// The part of it that is kept.
    #[serde(flatten)]
    pub kept: TokenView,
}

/// A token, without the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// Id: the six characters after `pgr_`.
    pub id: String,
    /// Name of the program.
    pub name: String,
    /// Role.
    pub role: String,
    /// Tenants that it belongs to; `*` stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<String>,
    /// Principal that made it.
    pub made_by: Value,
    /// Time at which it was made.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// Time until which it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub ends_at: Option<Timestamp>,
    /// Time of its last use, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub used_at: Option<Timestamp>,
    /// Time at which it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub revoked_at: Option<Timestamp>,
}

/// A session of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonSessionView {
    /// Id, by which it is ended.
    pub id: String,
    /// Name of the person.
    pub name: String,
    /// Role.
    pub role: String,
    /// Proof of the name: `local`, `ldap` or `oidc`.
    pub method: String,
    /// Groups, as the directory names them.
    pub groups: Vec<String>,
    /// Address of the browser at the login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Time of the login.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
    /// Time of the last request, to the minute.
    #[serde(serialize_with = "time::serialize")]
    pub used_at: Timestamp,
    /// Time at which it ends at the latest.
    #[serde(serialize_with = "time::serialize")]
    pub ends_at: Timestamp,
}

/// Why a person has a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessExplanation {
    /// Requested name.
    pub name: String,
    /// Steps, in order.
    pub steps: Vec<AccessStep>,
    /// Groups that were found.
    pub groups: Vec<String>,
    /// Role that they give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Tenants of those who would not see everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
}

/// A step of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessStep {
    /// Name of the step.
    pub step: String,
    /// Result of the step.
    pub result: String,
}
