//! Bodies of `/v1/nodes`.

use jiff::Timestamp;
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A node: one life of a process, as the registry has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Name of the node.
    pub name: String,
    /// Role of the node.
    pub role: String,
    /// Layer of its role: `reception`, `distribution` or `execution`.
    #[serde(default)]
    pub layer: String,
    /// Transports of an intake: `both`, `http` or `amqp`; absent for other roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Number of its life.
    pub incarnation: i64,
    /// Address at which others reach it.
    pub address: String,
    /// Version of the program.
    pub version: String,
    /// `starting`, `active`, `standby`, `offline`, `stopping`, `stopped` or `lost`.
    pub status: String,
    /// Time since which it has that status.
    #[serde(serialize_with = "time::serialize")]
    pub status_since: Timestamp,
    /// Start of its life.
    #[serde(serialize_with = "time::serialize")]
    pub started_at: Timestamp,
    /// End of its life.
    #[serde(serialize_with = "time::serialize")]
    pub ended_at: Option<Timestamp>,
    /// Last sign of life.
    #[serde(serialize_with = "time::serialize")]
    pub seen_at: Option<Timestamp>,
    /// Most stages that it runs; 0 except for workers.
    pub concurrency: i32,
    /// Stages it has in progress. A node that has ended may have some that are not taken over yet.
    pub stages: u32,
    /// Pieces of work that it has in hand: the stages of a worker; batches and requests of others, by their last sign of life.
    pub left: u32,
    /// Set where an operator has it out of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<OfflineView>,
}

impl NodeView {
    /// True where nothing is left of what a node had: it is out of service and has nothing in hand, or its life is over and its
    /// stages are taken over.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0 && (self.ended_at.is_some() || self.status == "offline")
    }
}

/// The mark of a node that is out of service. It belongs to role and name, whichever process has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfflineView {
    /// Time at which it was taken out of service.
    #[serde(serialize_with = "time::serialize")]
    pub since: Timestamp,
    /// Reason.
    pub reason: String,
    /// Person or program that sent the request.
    pub by: Value,
}

/// Body of `POST /v1/nodes/{role}/{name}/offline` and `…/online`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeOrderRequest {
    /// Reason, for the record.
    #[serde(default)]
    pub reason: String,
}

/// Outcome of taking a node out of service, or of putting it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeOrderOutcome {
    /// Service of the node.
    pub role: String,
    /// Name of the node.
    pub name: String,
    /// True if it is out of service now.
    pub offline: bool,
    /// False if it was so before.
    pub changed: bool,
    /// Other nodes of this role that are in service.
    pub others: i64,
}
