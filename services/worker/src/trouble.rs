//! Trouble of one stage with the database: counted, logged and waited out, as long as the stage may.

use std::time::Duration;

use pagurus_runtime::metrics::Count;
use pagurus_runtime::waits::Waits;
use pagurus_store::hot::stages::Claimed;

use crate::{Worker, stage_trace};

/// Tries of one thing that a stage needs stored or read.
pub(crate) struct StageTrouble<'a> {
    worker: &'a Worker,
    claimed: &'a Claimed,
    operation: &'static str,
    waits: Waits,
}

impl<'a> StageTrouble<'a> {
    /// Trouble with this operation of a stage.
    pub const fn with(worker: &'a Worker, claimed: &'a Claimed, operation: &'static str) -> Self {
        let waits = Waits::between(Duration::from_millis(50), Duration::from_secs(2));
        Self { worker, claimed, operation, waits }
    }

    /// Notes a failed try, and waits until there is to be another.
    pub async fn wait_out(&mut self, error: &str) {
        self.worker.host.metrics.count(Count::StoreErrors, self.operation, 1);
        tracing::warn!(
            order = self.claimed.head.id,
            transaction = self.claimed.head.transaction_id,
            trace = stage_trace::trace_id(&self.worker.host, self.claimed),
            operation = self.operation,
            error,
            "the database fails; the stage waits for it"
        );
        self.waits.pause().await;
    }
}
