//! Workers that are there to run stages, and how much each runs: for people who ask why a stage does not begin.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Incarnation, Role};
use pagurus_domain::number::saturated;

use crate::sql::statements;
use crate::{Client, Connection, Result};

/// Workers looked at: the living ones, then the latest of the others.
const MAX_WORKERS: i64 = 500;

statements! {
    // Where nobody judges who is lost, a node that died is still in the registry; its silence tells.
    WORKERS_SEEN = "
        SELECT n.incarnation, n.concurrency, n.status = 'active' AND NOT EXISTS (
                   SELECT FROM node_marks m WHERE m.role = n.role AND m.name = n.name) AS takes,
               n.ended_at IS NULL AND h.at > clock_timestamp() - make_interval(secs => $1) AS is_alive,
               coalesce(h.at, n.started_at) AS seen_at
          FROM nodes n JOIN heartbeats h USING (incarnation)
         WHERE n.role = $2
         ORDER BY n.ended_at IS NULL DESC, n.incarnation DESC LIMIT $3";
    // The row of a sequential stage has its queue until it is given up.
    LOAD = "
        SELECT node, count(*) FILTER (WHERE queue IS NULL) AS parallel, count(*) FILTER (WHERE queue IS NOT NULL) AS sequential
          FROM running GROUP BY node";
}

/// A worker in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSeen {
    /// Number of its life.
    pub node: Incarnation,
    /// Stages it takes at most.
    pub concurrency: u32,
    /// True where it lives, and was heard within the time after which a silent node is lost.
    pub is_alive: bool,
    /// True where it takes new stages while it lives.
    pub takes: bool,
    /// Last sign of life.
    pub seen_at: Timestamp,
}

/// The living workers, and the latest of those that are gone; who was silent for longer than `lost_after` is
/// gone.
pub async fn workers_seen(client: &Client, lost_after: Duration) -> Result<Vec<WorkerSeen>> {
    let statement = client.prepare_cached(WORKERS_SEEN).await?;
    let (silent, role) = (lost_after.as_secs_f64(), Role::Worker.as_str());
    let rows = client.query(&statement, &[&silent, &role, &MAX_WORKERS]).await?;
    Ok(rows
        .iter()
        .map(|row| WorkerSeen {
            node: Incarnation(row.get("incarnation")),
            concurrency: saturated::<u32>(row.get::<_, i32>("concurrency")),
            is_alive: row.get("is_alive"),
            takes: row.get("takes"),
            seen_at: row.get("seen_at"),
        })
        .collect())
}

/// Stages that a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLoad {
    /// The node.
    pub node: Incarnation,
    /// Parallel and sequential stages.
    pub stages: [u32; 2],
}

impl NodeLoad {
    /// Stages of both modes.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.stages[0].saturating_add(self.stages[1])
    }
}

/// The load of each node that runs anything. Reads all that runs: as many rows as there is capacity.
pub async fn load(client: &Client) -> Result<Vec<NodeLoad>> {
    let statement = client.prepare_cached(LOAD).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| NodeLoad {
            node: Incarnation(row.get("node")),
            stages: ["parallel", "sequential"]
                .map(|column| u32::try_from(row.get::<_, i64>(column)).unwrap_or(u32::MAX)),
        })
        .collect())
}
