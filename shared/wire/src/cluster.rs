//! Bodies of `/v1/leases` and `/v1/queues`.

use jiff::Timestamp;
use pagurus_domain::time;
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
    #[serde(serialize_with = "time::serialize")]
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
    /// Time since which the holder owns it; none until a stage of it has run.
    #[serde(default, serialize_with = "time::serialize")]
    pub held_since: Option<Timestamp>,
    /// Registration of the holder, or its last return to the queue.
    #[serde(serialize_with = "time::serialize")]
    pub holder_registered_at: Option<Timestamp>,
}

/// A queue: its holder, and the waiting orders in sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueDetail {
    /// Name of the queue.
    pub queue: String,
    /// Orders in it, with the holder.
    pub orders: i64,
    /// Order that owns it; none if the queue has no orders.
    pub holder: Option<QueueMemberLine>,
    /// Orders that wait, the next one first.
    pub items: Vec<QueueMemberLine>,
    /// Give it as `cursor` to get the next page; none on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An order in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueMemberLine {
    /// Id of the order.
    pub order: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Present status.
    pub status: String,
    /// Orders that go before it, with the holder.
    pub before: i64,
    /// Time since which it is in the queue: its registration, or its last return.
    #[serde(serialize_with = "time::serialize")]
    pub since: Option<Timestamp>,
    /// Time since which it owns the queue; none if no stage of it has run.
    #[serde(serialize_with = "time::serialize")]
    pub held_since: Option<Timestamp>,
}

/// Answer to the release of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleasedView {
    /// Name of the queue.
    pub queue: String,
    /// Order that owned it.
    pub released: String,
}

/// Answer to a lease that was ended by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResignedView {
    /// Name of the lease.
    pub lease: String,
    /// Node that held it.
    pub resigned: String,
}
