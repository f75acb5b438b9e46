//! Behaviour of the consumers while the database is away.

use std::time::Duration;

use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::offline::Intermittent;
use pagurus_runtime::waits::Waits;

use super::handled::LeftOver;
use super::settle::Settlement;
use crate::Intake;

/// First wait after a failure.
const FIRST: Duration = Duration::from_millis(100);
/// Longest wait between two looks at the database.
const LONGEST: Duration = Duration::from_secs(2);

/// The failures of one consumer in a row.
pub(super) struct Trouble {
    operation: &'static str,
    waits: Waits,
    /// Failures in a row of a database that answered in between.
    in_vain: u32,
}

/// Failures in a row after which one item is taken for the cause.
const PATIENCE: u32 = 3;

impl Trouble {
    pub const fn new(operation: &'static str) -> Self {
        Self { operation, waits: Waits::between(FIRST, LONGEST), in_vain: 0 }
    }

    /// True if what the server answers is to be taken for the fault of one item.
    pub const fn is_wary(&self) -> bool {
        self.in_vain >= PATIENCE
    }

    /// Gives back what a batch left, and waits until another try makes sense. Where the database is
    /// away, consuming stops until it answers: handing messages back and taking them again at once
    /// would count towards their delivery limit.
    pub async fn wait_out(
        &mut self,
        intake: &Intake,
        from: &Intermittent,
        settlement: &Settlement,
        left: Option<LeftOver>,
    ) {
        let Some(LeftOver { tags, error }) = left else {
            self.waits.begin_again();
            self.in_vain = 0;
            return;
        };
        let operation = self.operation;
        intake.host.metrics.count(Count::StoreErrors, operation, 1);
        if error.is_contention() {
            // A lock passes by itself, and concerns nothing else.
            settlement.put_back(tags).await;
            intake.host.sleep_unless_draining(FIRST).await;
            return;
        }
        tracing::warn!(operation, error = chain(&error), "the database failed; messages stay in their queue");
        from.consumer().pause().await;
        // A database that answers and fails all the same is asked less and less often.
        while !intake.host.sleep_unless_draining(self.waits.take()).await {
            if answers(intake).await {
                tracing::info!(operation, "the database is back; taking messages again");
                self.in_vain += 1;
                from.resume();
                return;
            }
        }
    }
}

async fn answers(intake: &Intake) -> bool {
    let store = intake.host.store.clone();
    let asked = tokio::spawn(async move { store.ping().await });
    matches!(asked.await, Ok(Ok(())))
}
