//! Questions that the stages of this worker wait for, told to people: written where an answer takes its time, and never for what is quick.
//!
//! Nothing waits for these writes, and nothing is decided by them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_store::{Error, asking};

use crate::Worker;
use crate::held::Slow;

/// Wait after which an answer takes its time.
const SLOW: Duration = Duration::from_secs(2);
/// Between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// Stages that are told of at most, those that have waited longest.
const MOST: usize = 500;

/// Questions that were written: order, hand-out and moment of each.
type Written = HashSet<(OrderNo, Attempt, Timestamp)>;

/// Writes what is waited for, as long as the process takes new work.
pub(crate) async fn show(worker: Arc<Worker>) -> anyhow::Result<()> {
    let mut written = Written::new();
    while !worker.host.sleep_unless_draining(EVERY).await {
        let slow = worker.held.slow(SLOW, MOST);
        let now: Written = slow.iter().map(|((no, attempt), asking)| (*no, *attempt, asking.at)).collect();
        if now == written {
            continue;
        }
        match write(&worker, slow).await {
            Ok(()) => written = now,
            Err(error) => {
                worker.host.metrics.count(Count::StoreErrors, "asking", 1);
                tracing::debug!(error = chain(&error), "what stages wait for could not be written");
            }
        }
    }
    Ok(())
}

async fn write(worker: &Worker, slow: Vec<Slow>) -> Result<(), Error> {
    let rows: Vec<_> = slow.into_iter().map(|((no, attempt), asking)| (no, attempt, asking)).collect();
    let mut client = worker.host.store.operations().await?;
    let tx = client.transaction().await?;
    asking::write(&tx, worker.host.node, &rows).await?;
    Ok(tx.commit().await?)
}
