//! Upkeep: the work lists are kept short, what is kept for some time only goes after it, and the living nodes are
//! counted. Never touches an order.

use std::time::{Duration, Instant};

use pagurus_domain::id::Role;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Level;
use pagurus_store::cluster::{self, NodeStatus, NodeView};
use pagurus_store::{Error, audit, stats, upkeep};

use crate::recover::note;

/// How often the work lists are looked at.
const WORK_LISTS_EVERY: Duration = Duration::from_secs(5);
/// How often what is kept for some time is looked at; what has been removed once in full measure is looked at
/// again with the work lists.
const KEPT_EVERY: Duration = Duration::from_secs(10);
/// Callbacks for nobody that one statement removes.
const ORPHANS: u32 = 1000;
/// Entries of the audit log that one statement removes.
const AUDIT: u32 = 1000;
/// Counts of minutes that one statement removes: narrow rows, and as many come in an hour.
const STATS: u32 = 5000;

/// Keeps up, until the process is to stop.
pub(crate) async fn keep_up(host: Host) -> anyhow::Result<()> {
    let (mut orphans_at, mut stats_at, mut audit_at) = (Instant::now(), Instant::now(), Instant::now());
    while !host.sleep_unless_draining(WORK_LISTS_EVERY).await {
        note(&host, "upkeep", work_lists(&host).await);
        note(&host, "nodes", show_nodes(&host).await);
        if Instant::now() >= orphans_at {
            orphans_at = next(&host, "orphans", orphans(&host).await, ORPHANS);
        }
        if Instant::now() >= stats_at {
            stats_at = next(&host, "stats", old_stats(&host).await, STATS);
        }
        if Instant::now() >= audit_at {
            audit_at = next(&host, "audit", old_audit(&host).await, AUDIT);
        }
    }
    Ok(())
}

/// Moment of the next look, after so many rows were removed.
fn next(host: &Host, what: &'static str, removed: Result<u64, Error>, most: u32) -> Instant {
    let more = matches!(removed, Ok(removed) if removed >= u64::from(most));
    note(host, what, removed.map(|_| ()));
    Instant::now() + if more { Duration::ZERO } else { KEPT_EVERY }
}

async fn work_lists(host: &Host) -> Result<(), Error> {
    let client = host.store.api().await?;
    upkeep::vacuum_work_lists(&client).await.map(|_| ())
}

/// Sets the gauge of the living nodes, of each role and status, so that one that has none any more says so.
async fn show_nodes(host: &Host) -> Result<(), Error> {
    let nodes = cluster::nodes(&host.store.operations().await?).await?;
    for &role in Role::ALL {
        for status in NodeStatus::LIVING.map(NodeStatus::as_str) {
            let of_it =
                |node: &&NodeView| node.role == role && node.status == status && node.ended_at.is_none();
            let count = nodes.iter().filter(of_it).count();
            host.metrics.level_of(Level::Nodes, &[role.as_str(), status], count as f64);
        }
    }
    Ok(())
}

async fn orphans(host: &Host) -> Result<u64, Error> {
    let client = host.store.api().await?;
    upkeep::forget_orphans(&client, host.settings().callbacks.orphan_retention, i64::from(ORPHANS)).await
}

async fn old_stats(host: &Host) -> Result<u64, Error> {
    let client = host.store.operations().await?;
    stats::forget(&client, host.settings().stats_retention, i64::from(STATS)).await
}

async fn old_audit(host: &Host) -> Result<u64, Error> {
    let client = host.store.operations().await?;
    audit::forget(&client, host.settings().audit_retention, i64::from(AUDIT)).await
}
