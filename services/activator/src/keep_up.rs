//! Upkeep: the work lists are kept short, what is kept for some time only goes after it, and the living nodes are
//! counted. Never touches an order.

use std::time::{Duration, Instant};

use pagurus_domain::id::Role;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::hot::asking;
use pagurus_store::hot::attempts;
use pagurus_store::hot::suspects;
use pagurus_store::lists::audit::chain;
use pagurus_store::lists::stats;
use pagurus_store::outside::operations;
use pagurus_store::outside::refused;
use pagurus_store::recovery::cluster::{self, NodeStatus, RegisteredNode};
use pagurus_store::upkeep::{decisions, deletion};

use crate::recover::note;

/// Interval at which the work lists are looked at.
const WORK_LISTS_EVERY: Duration = Duration::from_secs(5);
/// Interval at which what is kept for some time is looked at; what has been removed once in full measure is looked at
/// again with the work lists.
const KEPT_EVERY: Duration = Duration::from_secs(10);
/// Callbacks for nobody that one statement removes.
const ORPHANS: u32 = 1000;
/// Orders of ended operations that one statement removes.
const OPERATION_ORDERS: u32 = 5000;
/// Entries of the audit log that one statement removes.
const AUDIT: u32 = 1000;
/// Decisions about flows and systems that one statement removes.
const DECISIONS: u32 = 5000;
/// Counts of minutes that one statement removes: narrow rows, and as many come in an hour.
const STATS: u32 = 5000;

/// Time for which it is remembered that a process died with a message in hand: by then the message came again.
const ATTEMPTS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Time for which it is remembered of a stage that its worker died, where the stage is not found any more.
const SUSPECTS_KEPT: Duration = Duration::from_secs(60 * 60);

/// Refused messages that one statement removes: each may be long.
const REFUSED: u32 = 500;

/// Upkeep, with the moments of the next looks at what is kept for some time.
pub(crate) struct Upkeep {
    orphans_at: Instant,
    stats_at: Instant,
    audit_at: Instant,
    decisions_at: Instant,
    refused_at: Instant,
    operations_at: Instant,
}

impl Default for Upkeep {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            orphans_at: now,
            stats_at: now,
            audit_at: now,
            decisions_at: now,
            refused_at: now,
            operations_at: now,
        }
    }
}

impl BackgroundTask for Upkeep {
    const PAUSE: TurnPause = |_| WORK_LISTS_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        note(host, "upkeep", work_lists(host).await);
        note(host, "nodes", show_nodes(host).await);
        note(host, "asking", left_asking(host).await);
        if Instant::now() >= self.orphans_at {
            self.orphans_at = next(host, "orphans", orphans(host).await, ORPHANS);
        }
        if Instant::now() >= self.stats_at {
            self.stats_at = next(host, "stats", old_stats(host).await, STATS);
        }
        if Instant::now() >= self.audit_at {
            self.audit_at = next(host, "audit", old_audit(host).await, AUDIT);
        }
        if Instant::now() >= self.decisions_at {
            self.decisions_at = next(host, "decisions", old_decisions(host).await, DECISIONS);
        }
        if Instant::now() >= self.refused_at {
            self.refused_at = next(host, "refused", old_refused(host).await, REFUSED);
        }
        if Instant::now() >= self.operations_at {
            self.operations_at = next(host, "operations", old_operations(host).await, OPERATION_ORDERS);
        }
        NextTurn::AfterPause
    }
}

/// Returns the moment of the next look, which comes at once after a full batch of removals.
fn next(host: &Host, what: &'static str, removed: Result<u64, Error>, most: u32) -> Instant {
    let more = matches!(removed, Ok(removed) if removed >= u64::from(most));
    note(host, what, removed.map(|_| ()));
    Instant::now() + if more { Duration::ZERO } else { KEPT_EVERY }
}

async fn work_lists(host: &Host) -> Result<(), Error> {
    let client = host.store.api().await?;
    deletion::vacuum_work_lists(&client).await.map(|_| ())
}

/// Sets the gauge of the living nodes, of each role and status, so that one that has none any more says so.
async fn show_nodes(host: &Host) -> Result<(), Error> {
    let nodes = cluster::nodes(&host.store.operations().await?).await?;
    for &role in Role::ALL {
        for status in NodeStatus::LIVING.map(NodeStatus::as_str) {
            let of_it = |node: &&RegisteredNode| {
                node.role == role && node.status == status && node.ended_at.is_none()
            };
            let count = nodes.iter().filter(of_it).count();
            host.metrics.level_of(Level::Nodes, &[role.as_str(), status], count as f64);
        }
    }
    Ok(())
}

/// Removes what stages waited for that have ended.
async fn left_asking(host: &Host) -> Result<(), Error> {
    asking::forget_ended(&host.store.operations().await?).await.map(drop)
}

async fn orphans(host: &Host) -> Result<u64, Error> {
    let client = host.store.api().await?;
    deletion::forget_orphans(&client, host.settings().callbacks.orphan_retention, i64::from(ORPHANS)).await
}

async fn old_stats(host: &Host) -> Result<u64, Error> {
    let client = host.store.operations().await?;
    stats::forget(&client, host.settings().records.stats_retention, i64::from(STATS)).await
}

async fn old_audit(host: &Host) -> Result<u64, Error> {
    let client = host.store.operations().await?;
    let records = &host.settings().records;
    let is_exported = records.audit_receiver().is_some();
    chain::forget(&client, records.audit_retention, i64::from(AUDIT), is_exported).await
}

async fn old_decisions(host: &Host) -> Result<u64, Error> {
    let client = host.store.operations().await?;
    decisions::forget(&client, host.settings().distribution.decisions_keep, i64::from(DECISIONS)).await
}

/// Removes refused messages whose time is over, and logs their number: a sender may still wait for them.
async fn old_refused(host: &Host) -> Result<u64, Error> {
    let (client, kept) = (host.store.operations().await?, host.settings().records.refused_retention);
    let removed = refused::forget(&client, kept, i64::from(REFUSED)).await?;
    attempts::forget(&client, ATTEMPTS_KEPT).await?;
    suspects::forget(&client, SUSPECTS_KEPT).await?;
    if removed > 0 {
        host.metrics.count(Count::RefusedForgotten, "", removed);
        tracing::warn!(
            messages = removed,
            "refused messages were removed that nobody had decided about in time"
        );
    }
    Ok(removed)
}

async fn old_operations(host: &Host) -> Result<u64, Error> {
    let mut client = host.store.operations().await?;
    let tx = client.transaction().await?;
    let kept = host.settings().records.operations_retention;
    let removed = operations::forget(&tx, kept, i64::from(OPERATION_ORDERS)).await?;
    tx.commit().await?;
    Ok(removed)
}
