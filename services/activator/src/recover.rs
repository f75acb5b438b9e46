//! Recovery: silent nodes, stages past their deadline or without a living node, orders past their
//! own deadlines. Evidence is gathered here; what is done about it stands in [`pagurus_command::recovery`].

use std::time::Instant;

use pagurus_command::recovery::{EndWanted, Sorted, end_all, end_poisoned, hand_out_again, node_of};
use pagurus_domain::low_water::LowWater;
use pagurus_domain::number::saturated;
use pagurus_domain::recovery::Finding;
use pagurus_runtime::metrics::{Count, Work};
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::recovery::cluster;
use pagurus_store::recovery::lost;
use pagurus_store::upkeep::first::{self, TimedList};

use crate::{process, standstill};

/// Recovery. One look that fails does not keep the others from looking.
pub(crate) struct Recovery {
    catalogue: Catalogue,
    of_stages: LowWater,
    of_orders: LowWater,
    of_suspensions: LowWater,
}

impl Recovery {
    pub fn new(host: &Host) -> Self {
        let none = LowWater::default;
        let catalogue = Catalogue::of(&host.live);
        Self { catalogue, of_stages: none(), of_orders: none(), of_suspensions: none() }
    }
}

impl BackgroundTask for Recovery {
    const PAUSE: TurnPause = |settings| settings.recovery.interval;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        note(host, "nodes", lose_nodes(host).await);
        let begun = Instant::now();
        note(host, "overdue", overdue(host, &mut self.of_stages).await);
        host.metrics.batch(Work::CollectOverdue, begun.elapsed());
        note(host, "deadlines", deadlines(host, &self.catalogue, &mut self.of_orders).await);
        note(host, "standstill", standstill::look(host, &mut self.of_suspensions).await);
        NextTurn::AfterPause
    }
}

pub(crate) fn note(host: &Host, what: &str, outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        host.metrics.count(Count::StoreErrors, what, 1);
        tracing::warn!(what, error = chain(&error), "recovery could not look");
    }
}

/// Declares nodes lost that gave no sign of life.
async fn lose_nodes(host: &Host) -> Result<(), Error> {
    let client = host.store.recovery().await?;
    let lost = cluster::lose_silent(&client, host.node, host.settings().node.lost_after).await?;
    drop(client);
    for (node, name, role) in &lost {
        host.metrics.count(Count::NodesLost, role.as_str(), 1);
        tracing::warn!(node = %node, name, role = role.as_str(), "declared lost: no sign of life");
    }
    if !lost.is_empty() {
        Effects { workers_changed: true, ..Effects::default() }.send(host).await;
    }
    Ok(())
}

/// Hands stages out again that are overdue, in bounded batches.
async fn overdue(host: &Host, low_water: &mut LowWater) -> Result<(), Error> {
    let limit = saturated::<i64>(host.settings().recovery.batch);
    loop {
        let mut client = host.store.recovery().await?;
        let first = first::look(&client, TimedList::Overdue, low_water).await?;
        let Some(from) = first.come() else { return Ok(()) };
        let tx = client.transaction().await?;
        let stuck = lost::overdue(&tx, from, limit).await?;
        if stuck.is_empty() {
            return Ok(());
        }
        let mut effects = Effects::default();
        let Sorted { again, poison } =
            hand_out_again(host, &tx, &stuck, Finding::Overdue, &mut effects).await?;
        tx.commit().await?;
        drop(client);
        let ended = end_poisoned(host, &poison, Finding::Overdue).await;
        host.metrics.count(Count::Reissued, Finding::Overdue.as_str(), again.len() as u64);
        for stage in &stuck {
            let scenario = stage.scenario.as_deref().unwrap_or_default();
            host.metrics.count_by(Count::WorkTimeouts, &[scenario, ""], 1);
        }
        for stage in &again {
            tracing::warn!(
                order = %stage.no, node = %node_of(stage), attempt = stage.attempt.0, restarts = stage.restarts + 1,
                "the stage is overdue and is handed out again"
            );
        }
        effects.send(host).await;
        if again.is_empty() && ended == 0 {
            // Somebody has locked their orders: the next look finds them again.
            return Ok(());
        }
    }
}

/// Ends orders that missed their start or outlived their time.
async fn deadlines(host: &Host, catalogue: &Catalogue, low_water: &mut LowWater) -> Result<(), Error> {
    let limit = saturated::<i64>(host.settings().recovery.batch);
    let client = host.store.recovery().await?;
    let first = first::look(&client, TimedList::Deadlines, low_water).await?;
    let Some(from) = first.come() else { return Ok(()) };
    let passed = lost::passed_deadlines(&client, from, limit).await?;
    let (handled, silent) = process::split(&client, catalogue, passed).await?;
    drop(client);
    let ends: Vec<EndWanted> = silent.iter().map(|one| process::end_by_deadline(one.no, &one.kind)).collect();
    end_all(host, &ends).await;
    process::tell(host, catalogue, &handled).await;
    Ok(())
}
