//! Messages that the broker had handed out before, one at a time.
//!
//! A process may have died with one of them in hand. Which one it was nobody knows, so each is handled alone, and an
//! attempt at it stands in the database meanwhile: whatever process dies leaves exactly the attempt at the one message
//! that it was at. A message with too many of these is put aside unhandled. Messages that were merely fetched leave none,
//! whatever ended their process, its connection or the broker.
//!
//! A message is known by its content. Two equal ones in the hands of two processes at the same moment count as attempts at
//! one. A process that is killed from outside while it is at an innocent message counts against that message: so one such
//! death is forgiven.

use std::sync::Arc;

use pagurus_broker::Delivery;
use pagurus_runtime::node::chain;
use pagurus_store::Error;
use pagurus_store::hot::attempts::{self, AttemptEnd};
use tokio::sync::{Mutex, MutexGuard};

use super::handled::BatchOutcome;
use crate::Intake;

/// Number of processes that may die with a message alone in hand. Before them one died with the message among others.
const MOST_DEATHS: u32 = 2;
/// Ends of attempts that the database has not taken yet and that are remembered. There are as many as failures of the database
/// in the midst of a message, between two messages that are begun.
const MOST_OWED: usize = 100;

type Fingerprint = [u8; 32];
type Owed = Vec<(Fingerprint, AttemptEnd)>;

/// The turn of messages that are handled alone: one at a time in a process. Cheap to clone.
#[derive(Clone)]
pub(super) struct Alone {
    intake: Intake,
    /// Held by the one whose turn it is. Ends of attempts that the database did not take.
    turn: Arc<Mutex<Owed>>,
}

impl Alone {
    pub fn new(intake: &Intake) -> Self {
        Self { intake: intake.clone(), turn: Arc::default() }
    }

    /// Handles a batch in its order: what came for the first time together, all else message by message, and what processes
    /// die with by `deadly`.
    pub async fn in_parts<'a, F, D>(
        &self,
        batch: &'a [Delivery],
        handle: impl Fn(&'a [Delivery]) -> F,
        deadly: impl Fn(&'a Delivery) -> D,
    ) -> BatchOutcome
    where
        F: Future<Output = BatchOutcome>,
        D: Future<Output = BatchOutcome>,
    {
        let mut whole = BatchOutcome::default();
        for part in batch.chunk_by(|one, next| !one.redelivered && !next.redelivered) {
            let database_failed = whole.database_failed();
            whole.extend(match part {
                _ if database_failed => BatchOutcome::untried(part, Error::Contended),
                [one] if one.redelivered => {
                    let is_done = |outcome: &BatchOutcome| !outcome.handled.is_empty();
                    match self.handle(one, handle(part), is_done).await {
                        Ok(Some(outcome)) => outcome,
                        Ok(None) => deadly(one).await,
                        Err(error) => BatchOutcome::untried(part, error),
                    }
                }
                part => handle(part).await,
            });
        }
        whole
    }

    /// Does the work for one message, alone if it was handed out before. `None`, and nothing is done, if processes die with it.
    ///
    /// # Errors
    /// The database fails before the work begins.
    pub async fn handle<T>(
        &self,
        delivery: &Delivery,
        work: impl Future<Output = T>,
        is_done: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, Error> {
        if !delivery.redelivered {
            return Ok(Some(work.await));
        }
        let mut owed = self.turn.lock().await;
        self.settle_owed(&mut owed).await?;
        let message = delivery.fingerprint();
        if attempts::begin(&self.intake.host.store.work().await?, &message).await? >= MOST_DEATHS {
            return Ok(None);
        }
        let outcome = work.await;
        let end = if is_done(&outcome) { AttemptEnd::Done } else { AttemptEnd::TakenBack };
        if owed.len() < MOST_OWED {
            owed.push((message, end));
        }
        // Else it is done before the next attempt of this process.
        if let Err(error) = self.settle_owed(&mut owed).await {
            tracing::debug!(error = chain(&error), "the end of an attempt is not written yet");
        }
        Ok(Some(outcome))
    }

    async fn settle_owed(&self, owed: &mut MutexGuard<'_, Owed>) -> Result<(), Error> {
        if owed.is_empty() {
            return Ok(());
        }
        let client = self.intake.host.store.work().await?;
        while let Some((message, end)) = owed.last() {
            attempts::end(&client, message, *end).await?;
            owed.pop();
        }
        Ok(())
    }
}
