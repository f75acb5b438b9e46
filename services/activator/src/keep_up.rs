//! Upkeep: the work lists are kept short, and what is kept for some time only goes after it. Never
//! touches an order.

use std::time::{Duration, Instant};

use pagurus_runtime::Host;
use pagurus_store::{Error, upkeep};

use crate::recover::note;

/// How often the work lists are looked at.
const WORK_LISTS_EVERY: Duration = Duration::from_secs(5);
/// How often callbacks for nobody are looked at; what has been removed once in full measure is looked at
/// again with the work lists.
const ORPHANS_EVERY: Duration = Duration::from_secs(10);
/// Callbacks that one statement removes.
const ORPHANS: i64 = 1000;

/// Keeps up, until the process is to stop.
pub(crate) async fn keep_up(host: Host) -> anyhow::Result<()> {
    let mut orphans_at = Instant::now();
    while !host.rest(WORK_LISTS_EVERY).await {
        note(&host, "upkeep", work_lists(&host).await);
        if Instant::now() >= orphans_at {
            let removed = orphans(&host).await;
            let more = matches!(removed, Ok(removed) if removed >= ORPHANS.unsigned_abs());
            orphans_at = Instant::now() + if more { Duration::ZERO } else { ORPHANS_EVERY };
            note(&host, "orphans", removed.map(|_| ()));
        }
    }
    Ok(())
}

async fn work_lists(host: &Host) -> Result<(), Error> {
    let client = host.store.api().await?;
    upkeep::vacuum_work_lists(&client).await.map(|_| ())
}

async fn orphans(host: &Host) -> Result<u64, Error> {
    let client = host.store.api().await?;
    upkeep::forget_orphans(&client, host.settings.callbacks.orphan_retention, ORPHANS).await
}
