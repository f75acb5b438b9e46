//! Lines of `/v1/nodes`, `/v1/leases` and `/v1/queues`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLine {
    /// The address of its API.
    pub address: String,
    /// Stages that it runs at a time.
    pub concurrency: i32,
    /// The end of this life of the node.
    pub ended_at: Option<Timestamp>,
    /// This life of the node.
    pub incarnation: i64,
    /// The name.
    pub name: String,
    /// Intake, dispatcher, activator, worker or notifier.
    pub role: String,
    /// The last sign of life.
    pub seen_at: Option<Timestamp>,
    /// The begin of this life.
    pub started_at: Timestamp,
    /// Where it is in its life.
    pub status: String,
    /// The version of its program.
    pub version: String,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseLine {
    /// The epoch of its holder.
    pub epoch: i64,
    /// The node that holds it.
    pub holder: Option<String>,
    /// What it is a lease of.
    pub name: String,
    /// The time at which it runs out.
    pub until: Timestamp,
}

/// A queue that has members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueLine {
    /// The order that owns it.
    pub holder: String,
    /// The registration of that order.
    pub holder_registered_at: Option<Timestamp>,
    /// Members, with that order.
    pub orders: i64,
    /// The name.
    pub queue: String,
}
