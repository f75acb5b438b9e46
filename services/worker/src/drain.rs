//! The end of a worker: what runs may end, what does not end in time is given up.
//!
//! Never gives up a stage before the grace is over: until then its result still counts.

use pagurus_command::recovery::{EndWanted, end_all, hand_out_again};
use pagurus_domain::classes::NODE_STOPPED;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::recovery::Finding;
use pagurus_runtime::node::chain;
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::recovery::lost;

use crate::{Worker, tell_workers_changed};

/// Ends what runs within the grace; the rest is released to others, or canceled where the configuration wants no other
/// node to begin it again (REC-9).
pub(crate) async fn drain(worker: &Worker) {
    let host = &worker.host;
    host.readiness.not_ready("draining");
    // In this order: a dispatcher that hears the news reads the status, and would hand out on by the old one.
    host.stopping().await;
    tell_workers_changed(host).await;
    worker.stages.close();
    tokio::select! {
        // In this order: nothing is given up where nothing runs, whatever the grace.
        biased;
        () = worker.stages.wait() => return,
        () = host.live.sleep(|settings| settings.shutdown.grace) => {}
    }
    // From here on no stage of ours writes: its pass is about to be taken away.
    let (done, outcome) = if host.settings().shutdown.release {
        (hand_over(host).await, "stages given back, because the grace is over")
    } else {
        (cancel(host).await, "orders canceled, because the grace is over")
    };
    match done {
        Ok(count) => tracing::info!(count, outcome),
        Err(error) => {
            tracing::warn!(error = chain(&error), "stages could not be given up; recovery will find them")
        }
    }
    host.ended.cancel();
}

/// Gives what runs here to other nodes.
async fn hand_over(host: &Host) -> Result<usize, Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let stages = lost::of_node(&tx, host.node, None, None).await?;
    // Nobody is asked to break them off: this process ends.
    let mut effects = Effects::default();
    hand_out_again(host, &tx, &stages, Finding::Released, &mut effects).await?;
    tx.commit().await?;
    effects.over.clear();
    let count = effects.ready.len();
    effects.send(host).await;
    Ok(count)
}

/// Ends the orders of what runs here.
async fn cancel(host: &Host) -> Result<usize, Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let message = "its node was stopped before it was done; it may be restarted";
    let stages = lost::of_node(&tx, host.node, None, None).await?;
    let ends: Vec<EndWanted> = stages
        .iter()
        .map(|stage| EndWanted {
            no: stage.no,
            pass: Some(stage.pass),
            cause: Cause::Abandoned,
            class: Some(NODE_STOPPED),
            message: message.to_owned(),
        })
        .collect();
    drop(tx);
    drop(client);
    Ok(end_all(host, &ends).await)
}
