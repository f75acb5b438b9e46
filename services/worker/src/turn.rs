//! Turns of a stage: each is computed until the stage needs something of the world.
//!
//! A worker may die of a turn. So the database knows which turns are computed of code that is not known to be quick, and of
//! stages whose worker died before; of the latter a worker computes one at a time, if that holds nobody up. Questions to the
//! world go on side by side. A death by anything else, such as reading the body of an answer, is put down to no stage.

use std::sync::Arc;
use std::time::Duration;

use pagurus_runtime::compute::ScenarioCode;
use pagurus_runtime::node::chain;
use pagurus_store::Error;
use pagurus_store::hot::stages::Claimed;
use pagurus_store::hot::suspects;
use tokio::time::timeout;

use crate::Worker;
use crate::trouble::StageTrouble;

/// Time for which a suspect waits to be computed alone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Turns of one stage.
pub(crate) struct StageTurns<'a> {
    pub worker: &'a Worker,
    pub claimed: &'a Claimed,
    /// Code of its scenario.
    pub code: Arc<ScenarioCode>,
}

/// The two ends of a turn, as the database notes them.
#[derive(Clone, Copy)]
enum Note {
    Begin,
    End,
}

impl StageTurns<'_> {
    /// Computes a turn.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        if self.claimed.is_suspect {
            // A stage that takes its time holds the others up for a moment only.
            let _alone = timeout(PATIENCE, self.worker.suspect.lock()).await;
            return Box::pin(self.run_noted(work)).await;
        }
        if self.code.is_quick() {
            return self.code.run_here(work);
        }
        Box::pin(self.run_noted(work)).await
    }

    async fn run_noted<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let computing = &self.worker.computing;
        let slot = computing.slot(&self.code).await;
        if self.code.is_quick() && !self.claimed.is_suspect {
            // Another run has shown it meanwhile.
            drop(slot);
            return self.code.run_here(work);
        }
        self.note(Note::Begin).await;
        let done = computing.run(slot, &self.code, work).await;
        self.note(Note::End).await;
        done
    }

    /// Waits for the database as long as the stage may.
    async fn note(&self, note: Note) {
        let mut trouble = StageTrouble::with(self.worker, self.claimed, "suspect");
        while let Err(error) = self.try_note(note).await {
            trouble.wait_out(&chain(&error)).await;
        }
    }

    async fn try_note(&self, note: Note) -> Result<(), Error> {
        let client = self.worker.host.store.work().await?;
        let stage = (self.claimed.head.no, self.claimed.attempt);
        match note {
            Note::Begin => suspects::begin(&client, stage).await,
            Note::End if self.claimed.is_suspect => suspects::end(&client, stage).await,
            Note::End => suspects::clear(&client, stage).await,
        }
    }
}
