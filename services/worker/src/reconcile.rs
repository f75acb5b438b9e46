//! Compares the stages that the database says are with this worker with those that the worker knows.
//!
//! Stages that the worker does not know are claims that were committed though their answer was lost: they are given
//! back. Stages that the database does not know were ended, or given to another, and the message that said
//! so was lost: they are broken off.
//!
//! Looks again and again, not only after a failed claim: a server may still commit what its client
//! has given up, and then nobody else would miss the stage until its work time-out.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use pagurus_command::recovery::{Sorted, hand_out_again};
use pagurus_domain::recovery::Finding;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::waits::Waits;
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::recovery::lost;

use crate::Worker;
use crate::held::HandOutKey;

/// The comparison, with what was unknown to the database at the last look.
pub(crate) struct Reconcile {
    worker: Arc<Worker>,
    unknown: HashSet<HandOutKey>,
}

impl Reconcile {
    pub fn new(worker: Arc<Worker>) -> Self {
        Self { worker, unknown: HashSet::new() }
    }

    async fn look(&mut self) -> Result<(), Error> {
        give_back(&self.worker).await?;
        break_off_unknown(&self.worker, &mut self.unknown).await
    }
}

impl BackgroundTask for Reconcile {
    const PAUSE: TurnPause = |settings| settings.recovery.interval;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        if let Err(error) = self.look().await {
            host.metrics.count(Count::StoreErrors, "reconcile", 1);
            tracing::warn!(error = chain(&error), "what is with this worker could not be compared");
        }
        NextTurn::AfterPause
    }
}

/// Breaks off the stages that are held here and were with nobody at this look and the one before it. A
/// stage is held for a moment after its end is written: one look says nothing.
async fn break_off_unknown(worker: &Worker, before: &mut HashSet<HandOutKey>) -> Result<(), Error> {
    // Read before the rows: what is claimed in between is not among them.
    let held = worker.held.claimed();
    if held.is_empty() {
        before.clear();
        return Ok(());
    }
    let client = worker.host.store.recovery().await?;
    let known: HashSet<HandOutKey> =
        lost::claims_of_node(&client, worker.host.node).await?.into_iter().collect();
    let unknown: HashSet<HandOutKey> = held.difference(&known).copied().collect();
    let over: Vec<HandOutKey> = unknown.intersection(before).copied().collect();
    worker.held.break_off(&over);
    *before = unknown;
    Ok(())
}

/// Gives back what a failed claim may have committed. Waits until the database answers
/// again: claiming on would only use hand-outs up.
pub(crate) async fn after_failed_claim(worker: &Worker) {
    let mut waits = Waits::between(Duration::from_millis(200), Duration::from_secs(5));
    while !worker.host.sleep_unless_draining(waits.take()).await {
        match give_back(worker).await {
            Err(error) if error.is_transient() => {}
            Ok(()) => return,
            Err(error) => {
                tracing::error!(
                    error = chain(&error),
                    "stages of a failed claim could not be given back yet"
                );
                return;
            }
        }
    }
}

/// Hands the stages out again that are with this node in the database and not held here.
///
/// A stage is held from before its claim until its end is written, so whatever the database shows
/// and is not held belongs to nobody.
///
/// # Errors
/// The database fails; then nothing was given back, or it is not known.
pub(crate) async fn give_back(worker: &Worker) -> Result<(), Error> {
    let host = &worker.host;
    let mut client = host.store.recovery().await?;
    let unheld: Vec<i64> = lost::claims_of_node(&client, host.node)
        .await?
        .into_iter()
        .filter(|(no, attempt)| !worker.held.contains((*no, *attempt)))
        .map(|(no, _)| no.0)
        .collect();
    if unheld.is_empty() {
        return Ok(());
    }
    let tx = client.transaction().await?;
    let stages = lost::some_of_node(&tx, host.node, &unheld).await?;
    // Asked once more below the lock: between the two reads an order may have come back to us.
    let stages = stages.iter().filter(|stage| !worker.held.contains((stage.no, stage.attempt)));
    let mut effects = Effects::default();
    // What is poison is left to recovery, which finds it overdue.
    let Sorted { again, .. } = hand_out_again(host, &tx, stages, Finding::Unheld, &mut effects).await?;
    tx.commit().await?;
    drop(client);
    host.metrics.count(Count::Reissued, Finding::Unheld.as_str(), again.len() as u64);
    for stage in &again {
        tracing::warn!(
            order = stage.id,
            transaction = stage.transaction_id,
            attempt = stage.attempt.0,
            restarts = stage.restarts + 1,
            "the stage is handed out again: its claim was committed, and its answer was lost"
        );
    }
    effects.send(host).await;
    Ok(())
}
