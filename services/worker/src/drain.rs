//! The end of a worker: what runs may end, what does not end in time is given up.
//!
//! Never gives up a stage before the grace is over: until then its result still counts.

use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{NODE_STOPPED, OrderError};
use pagurus_domain::recovery::{Finding, Remedy, remedy};
use pagurus_runtime::Host;
use pagurus_runtime::news::{self, Told};
use pagurus_runtime::node::chain;
use pagurus_store::control::{self, Ending};
use pagurus_store::{Error, recovery};
use serde_json::json;

use crate::{Worker, tell_workers_changed};

/// Ends what runs within the grace; the rest is released to others, or canceled where the configuration wants no other
/// node to begin it again (REC-9).
pub(crate) async fn drain(worker: &Worker) {
    let host = &worker.host;
    host.readiness.not_ready("draining");
    // In this order: who hears the news reads the status, and would hand out on by the old one.
    host.stopping().await;
    tell_workers_changed(host).await;
    worker.stages.close();
    let grace = host.settings.shutdown.grace;
    if tokio::time::timeout(grace, worker.stages.wait()).await.is_ok() {
        return;
    }
    // From here on no stage of ours writes: its pass is about to be taken away.
    let (done, told) = if host.settings.shutdown.release {
        (release(host).await, "stages given back, because the grace is over")
    } else {
        (cancel(host).await, "orders canceled, because the grace is over")
    };
    match done {
        Ok(count) => tracing::info!(count, told),
        Err(error) => {
            tracing::warn!(error = chain(&error), "stages could not be given up; recovery will find them")
        }
    }
    host.ended.cancel();
}

async fn release(host: &Host) -> Result<usize, Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let stages = recovery::of_node(&tx, host.node, None, None).await?;
    let max = u16::try_from(host.settings.recovery.max_restarts).unwrap_or(u16::MAX);
    let again: Vec<_> = stages
        .iter()
        .map(|stuck| {
            let restarts = u16::try_from(stuck.restarts).unwrap_or(0);
            let count = match remedy(Finding::Released, restarts, max) {
                Remedy::HandOutAgain { restarts } => restarts,
                Remedy::Poison => restarts,
            };
            (stuck, i16::try_from(count).unwrap_or(i16::MAX))
        })
        .collect();
    let ready = recovery::reissue(&tx, &again, &host.name, Finding::Released.as_str()).await?;
    tx.commit().await?;
    news::ready(host, &ready).await;
    Ok(ready.len())
}

async fn cancel(host: &Host) -> Result<usize, Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let mut told = Told::default();
    for stage in recovery::of_node(&tx, host.node, None, None).await? {
        let id = control::id_of(&tx, stage.no).await?;
        let Some(order) = control::lock(&tx, &id).await? else { continue };
        // The law has the last word: the order may have been moved on meanwhile.
        let Ok(allowed) = order.may(Cause::Abandoned) else { continue };
        let message = "its node was stopped before it was done; it may be restarted";
        let ending = Ending {
            error: Some(OrderError::new(NODE_STOPPED, message)),
            source: &host.name,
            detail: json!({"class": NODE_STOPPED, "message": message, "from": order.status.as_str()})
                .to_string(),
        };
        let end = control::end_life(&tx, allowed, &ending).await?;
        told.end(&order, end);
    }
    tx.commit().await?;
    let count = told.left.len();
    told.send(host).await;
    Ok(count)
}
