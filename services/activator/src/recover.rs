//! Recovery: silent nodes, stages past their deadline or without a living node, orders past their
//! own deadlines. Evidence is gathered here, the remedy is the domain's.

use pagurus_domain::id::OrderNo;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{DEADLINE_EXCEEDED, OrderError, POISON, PROCESS_TIMEOUT};
use pagurus_domain::recovery::{Finding, Remedy, remedy};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::news::{self, Told};
use pagurus_runtime::node::chain;
use pagurus_store::control::{self, Ending, Locked};
use pagurus_store::recovery::{self, Stuck};
use pagurus_store::{Error, Tx, cluster};
use pagurus_wire::message::{News, news as key};
use serde_json::json;

use crate::failover::Failover;

/// Looks after everything, until the process is to stop. One look that fails does not keep the
/// others from looking.
pub(crate) async fn recover(host: Host) -> anyhow::Result<()> {
    let mut failover = Failover::default();
    while !host.rest(host.settings.recovery.interval).await {
        note(&host, "nodes", lose_nodes(&host).await);
        note(&host, "overdue", overdue(&host).await);
        note(&host, "abandoned", failover.pass(&host).await);
        note(&host, "deadlines", deadlines(&host).await);
    }
    Ok(())
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
    let lost = cluster::lose_silent(&client, host.node, host.settings.node.lost_after).await?;
    drop(client);
    for (node, name, role) in &lost {
        host.metrics.count(Count::NodesLost, role.as_str(), 1);
        tracing::warn!(node = %node, name, role = role.as_str(), "declared lost: no sign of life");
    }
    if !lost.is_empty() {
        news::send(host, key::DISPATCH, &News { workers_changed: true, ..News::default() }).await;
    }
    Ok(())
}

/// Hands stages out again that are overdue, in bounded batches.
async fn overdue(host: &Host) -> Result<(), Error> {
    let limit = i64::try_from(host.settings.recovery.batch).unwrap_or(i64::MAX);
    loop {
        let mut client = host.store.recovery().await?;
        let tx = client.transaction().await?;
        let stuck = recovery::overdue(&tx, limit).await?;
        if stuck.is_empty() {
            return Ok(());
        }
        let mut told = Told::default();
        let Sorted { again, poison } = hand_out_again(host, &tx, &stuck, Finding::Overdue, &mut told).await?;
        tx.commit().await?;
        drop(client);
        let ended = end_poisoned(host, &poison, Finding::Overdue).await;
        host.metrics.count(Count::Reissued, Finding::Overdue.as_str(), again.len() as u64);
        host.metrics.count(Count::WorkTimeouts, "", stuck.len() as u64);
        for stage in &again {
            tracing::warn!(
                order = %stage.no, node = %told_node(stage), attempt = stage.attempt, restarts = stage.restarts + 1,
                "the stage is overdue and is handed out again"
            );
        }
        told.send(host).await;
        if again.is_empty() && ended == 0 {
            // Somebody has locked their orders: the next look finds them again.
            return Ok(());
        }
    }
}

/// A node by name and life, as logs tell it.
pub(crate) fn told_node(stage: &Stuck) -> String {
    format!("{} (life {})", stage.node_name.as_deref().unwrap_or("a node that is not registered"), stage.node)
}

/// Stages that were found, by what becomes of them.
pub(crate) struct Sorted<'a> {
    /// They were handed out again.
    pub again: Vec<&'a Stuck>,
    /// They were handed out too often, and are still where they were: see [`end_poisoned`].
    pub poison: Vec<&'a Stuck>,
}

/// Hands stages out again, but for poison.
pub(crate) async fn hand_out_again<'a>(
    host: &Host,
    tx: &Tx<'_>,
    stuck: &'a [Stuck],
    finding: Finding,
    told: &mut Told,
) -> Result<Sorted<'a>, Error> {
    let max = u16::try_from(host.settings.recovery.max_restarts).unwrap_or(u16::MAX);
    let mut again = Vec::new();
    let mut poison = Vec::new();
    for stage in stuck {
        match remedy(finding, u16::try_from(stage.restarts).unwrap_or(0), max) {
            Remedy::HandOutAgain { restarts } => {
                again.push((stage, i16::try_from(restarts).unwrap_or(i16::MAX)));
            }
            Remedy::Poison => poison.push(stage),
        }
    }
    told.ready.extend(recovery::reissue(tx, &again, &host.name, finding.as_str()).await?);
    told.over.extend(again.iter().map(|(stage, _)| (stage.no, stage.attempt)));
    Ok(Sorted { again: again.into_iter().map(|(stage, _)| stage).collect(), poison })
}

/// Ends the orders of stages that are poison; how many. Each has a transaction of its own: one whose order
/// somebody has locked is found again, and holds up no other.
pub(crate) async fn end_poisoned(host: &Host, poison: &[&Stuck], finding: Finding) -> usize {
    let mut ended = 0;
    for stage in poison {
        let outcome = end_one_poisoned(host, stage, finding).await;
        ended += usize::from(outcome.is_ok());
        note(host, "poison", outcome);
    }
    ended
}

async fn end_one_poisoned(host: &Host, stage: &Stuck, finding: Finding) -> Result<(), Error> {
    let message = format!(
        "the stage was handed out {} times and never ended; last on node {}, attempt {}, {}",
        stage.restarts + 1,
        told_node(stage),
        stage.attempt,
        finding
    );
    end_apart(host, stage, Cause::Poisoned, POISON, message).await?;
    host.metrics.count(Count::Poisoned, "", 1);
    Ok(())
}

/// Ends the order of a stage in a transaction of its own.
pub(crate) async fn end_apart(
    host: &Host,
    stage: &Stuck,
    cause: Cause,
    class: &str,
    message: String,
) -> Result<(), Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let mut told = Told::default();
    let id = control::id_of(&tx, stage.no).await?;
    end(host, &tx, &id, cause, class, message, &mut told).await?;
    tx.commit().await?;
    drop(client);
    told.send(host).await;
    Ok(())
}

/// Ends orders that missed their start or outlived their time.
async fn deadlines(host: &Host) -> Result<(), Error> {
    let limit = i64::try_from(host.settings.recovery.batch).unwrap_or(i64::MAX);
    let client = host.store.recovery().await?;
    let passed = recovery::passed_deadlines(&client, limit).await?;
    drop(client);
    for (no, kind, id) in passed {
        // One whose order somebody has locked is found again, and holds up no other.
        note(host, "deadline", pass_deadline(host, no, &kind, &id).await);
    }
    Ok(())
}

async fn pass_deadline(host: &Host, no: OrderNo, kind: &str, id: &str) -> Result<(), Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let mut told = Told::default();
    let (cause, class, message) = if kind == "start" {
        (
            Cause::StartDeadlinePassed,
            DEADLINE_EXCEEDED,
            "the deadline to start passed before anything was executed",
        )
    } else {
        (Cause::ProcessTimedOut, PROCESS_TIMEOUT, "the order outlived its process time-out")
    };
    end(host, &tx, id, cause, class, message.to_owned(), &mut told).await?;
    if told.left.is_empty() {
        // It has begun, or ended: the deadline has nothing more to say.
        recovery::drop_deadline(&tx, no, kind).await?;
    }
    tx.commit().await?;
    drop(client);
    told.send(host).await;
    Ok(())
}

/// Ends an order, where the law lets it.
pub(crate) async fn end(
    host: &Host,
    tx: &Tx<'_>,
    id: &str,
    cause: Cause,
    class: &str,
    message: String,
    told: &mut Told,
) -> Result<(), Error> {
    match control::lock(tx, id).await? {
        Some(order) => end_locked(host, tx, order, cause, Some(class), message, told).await,
        None => Ok(()),
    }
}

/// Ends an order that is locked, where the law lets it; without a class there is no error.
pub(crate) async fn end_locked(
    host: &Host,
    tx: &Tx<'_>,
    order: Locked,
    cause: Cause,
    class: Option<&str>,
    message: String,
    told: &mut Told,
) -> Result<(), Error> {
    let Ok(allowed) = order.may(cause) else {
        host.metrics.count(Count::GuardsRefused, cause.as_str(), 1);
        return Ok(());
    };
    let detail = json!({"class": class, "message": message, "from": order.status.as_str()}).to_string();
    let ending =
        Ending { error: class.map(|class| OrderError::new(class, message)), source: &host.name, detail };
    let end = control::end_life(tx, allowed, &ending).await?;
    if cause == Cause::StartDeadlinePassed {
        host.metrics.count(Count::StartMissed, &order.scenario, 1);
    }
    told.end(&order, end);
    Ok(())
}
