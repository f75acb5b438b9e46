//! Bodies of `/v1/leases` and `/v1/queues`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A lease in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseLine {
    /// Right that it gives.
    pub name: String,
    /// Name of the holder; none while nobody holds it.
    pub holder: Option<String>,
    /// End of the right, unless it is renewed.
    pub until: Timestamp,
    /// Number that grows with each new holder.
    pub epoch: i64,
}

/// A queue in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueLine {
    /// Name of the queue.
    pub queue: String,
    /// Order that owns it.
    pub holder: String,
    /// Orders in it, with the holder.
    pub orders: i64,
    /// Registration of the holder, or its last return to the queue.
    pub holder_registered_at: Option<Timestamp>,
}

/// Answer to the release of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleasedView {
    /// Name of the queue.
    pub queue: String,
    /// Order that owned it.
    pub released: String,
}

/// Answer to the end of a lease by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResignedView {
    /// Name of the lease.
    pub lease: String,
    /// Node that held it.
    pub resigned: String,
}
