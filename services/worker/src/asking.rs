//! Questions whose answers the stages of this worker wait for, shown to people: written if an answer takes its time, and never
//! for what is quick.
//!
//! Nothing waits for these writes, and nothing is decided by them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::hot::asking;

use crate::Worker;
use crate::held::Slow;

/// Wait after which an answer counts as slow.
const SLOW: Duration = Duration::from_secs(2);
/// Interval between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// Largest number of stages that are shown, those that have waited longest.
const MOST: usize = 500;

/// Questions that were written: order, hand-out and moment of each.
type WrittenQuestions = HashSet<(OrderNo, Attempt, Timestamp)>;

/// The look at what is waited for, with what was written last.
pub(crate) struct ShowAsking {
    worker: Arc<Worker>,
    written: WrittenQuestions,
}

impl ShowAsking {
    pub fn new(worker: Arc<Worker>) -> Self {
        Self { worker, written: WrittenQuestions::new() }
    }
}

impl BackgroundTask for ShowAsking {
    const PAUSE: TurnPause = |_| EVERY;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let slow = self.worker.held.slow(SLOW, MOST);
        let now: WrittenQuestions =
            slow.iter().map(|((no, attempt), asking)| (*no, *attempt, asking.at)).collect();
        if now == self.written {
            return NextTurn::AfterPause;
        }
        match write(&self.worker, slow).await {
            Ok(()) => self.written = now,
            Err(error) => {
                host.metrics.count(Count::StoreErrors, "asking", 1);
                tracing::debug!(error = chain(&error), "what stages wait for could not be written");
            }
        }
        NextTurn::AfterPause
    }
}

async fn write(worker: &Worker, slow: Vec<Slow>) -> Result<(), Error> {
    let rows: Vec<_> = slow.into_iter().map(|((no, attempt), asking)| (no, attempt, asking)).collect();
    let mut client = worker.host.store.operations().await?;
    let tx = client.transaction().await?;
    asking::write(&tx, worker.host.node, &rows).await?;
    Ok(tx.commit().await?)
}
