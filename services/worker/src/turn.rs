//! Turns of a stage: it is computed until it needs something of the world.
//!
//! A worker may die of a stage. All that it had are suspects then, and a suspect is computed alone: one at a time on a worker,
//! noted before in the database, so that a second death tells which one it was. What suspects ask of the world goes on side
//! by side. Not seen is a death by what a turn is no part of: reading the order, and the bodies of answers.

use std::sync::Arc;

use pagurus_domain::scenario::stage::{Need, Stage};
use pagurus_runtime::node::chain;
use pagurus_runtime::turns::Habit;
use pagurus_store::Error;
use pagurus_store::stages::{self, Claimed};

use crate::Worker;
use crate::progress::Stale;
use crate::trouble::Trouble;

/// Turns of one stage.
pub(crate) struct Computing<'a> {
    worker: &'a Worker,
    claimed: &'a Claimed,
    flow: Arc<str>,
    habit: Arc<Habit>,
}

impl<'a> Computing<'a> {
    pub fn new(worker: &'a Worker, claimed: &'a Claimed, habit: Arc<Habit>) -> Self {
        Self { worker, claimed, flow: Arc::from(claimed.flow.as_str()), habit }
    }

    /// The next need of the stage, when it has been computed.
    pub async fn turn(
        &self,
        stage: &mut Stage,
        turn: impl FnOnce(&mut Stage) -> Need,
    ) -> Result<Need, Stale> {
        if self.claimed.deaths > 0 {
            return Box::pin(self.alone(|| turn(stage))).await;
        }
        Ok(self.worker.turns.run(&self.flow, &self.habit, || turn(stage)).await)
    }

    async fn alone(&self, turn: impl FnOnce() -> Need) -> Result<Need, Stale> {
        let _alone = self.worker.suspect.lock().await;
        self.note(true).await?;
        let need = self.worker.turns.run(&self.flow, &self.habit, turn).await;
        self.note(false).await?;
        Ok(need)
    }

    /// Waits for the database as long as the stage may.
    async fn note(&self, is_computed: bool) -> Result<(), Stale> {
        let mut trouble = Trouble::with(self.worker, self.claimed, "suspect");
        loop {
            match self.try_note(is_computed).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Stale),
                Err(error) => trouble.wait_out(&chain(&error)).await,
            }
        }
    }

    async fn try_note(&self, is_computed: bool) -> Result<bool, Error> {
        let client = self.worker.host.store.work().await?;
        stages::note_computed(&client, self.claimed.head.no, self.claimed.pass, is_computed).await
    }
}
