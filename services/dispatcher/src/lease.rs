//! The lease of the active dispatcher: taken, renewed, and trusted no longer than it is safe.
//!
//! The clock of the database says when a lease is over. The holder stops on its own account
//! by its monotonic clock, counted from the moment before it asked for the renewal: so it stops
//! before anybody else may begin, however slow the answer was. The epoch fences what is left.

use std::time::{Duration, Instant};

use pagurus_domain::id::Epoch;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Guard};
use pagurus_runtime::node::chain;
use pagurus_store::{Error, cluster, presence};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Name of the lease.
const NAME: &str = "dispatcher";

/// A lease that is held.
pub(crate) struct Lease {
    /// Number of the epoch.
    pub epoch: Epoch,
    /// Set when it is not held any more.
    pub lost: CancellationToken,
    _renewing: DropGuard,
}

/// Tries to take the lease. While another holds it: how long it lasts yet; while the database is away: its length.
pub(crate) async fn acquire(host: &Host, ttl: Duration) -> Result<Lease, Duration> {
    let asked = Instant::now();
    let epoch = match try_acquire(host, ttl).await {
        Ok(Asked::Taken(epoch)) => epoch,
        Ok(Asked::Held(left)) => return Err(left),
        Err(error) => {
            host.metrics.count(Count::StoreErrors, "lease", 1);
            tracing::warn!(error = chain(&error), "the lease cannot be asked for");
            return Err(ttl);
        }
    };
    let lost = CancellationToken::new();
    let stop = CancellationToken::new();
    let (trusted_until, _) = watch::channel(trust(asked, ttl));
    tokio::spawn(watch_over(trusted_until.subscribe(), lost.clone(), stop.clone()));
    tokio::spawn(renew(host.clone(), epoch, ttl, trusted_until, lost.clone(), stop.clone()));
    Ok(Lease { epoch, lost, _renewing: stop.drop_guard() })
}

/// Outcome of asking for the lease.
enum Asked {
    /// It is ours, under this epoch.
    Taken(Epoch),
    /// It is another's for so long yet.
    Held(Duration),
}

/// Time that is written into the registry: another may lead within the whole time-to-live, and what it does to begin takes
/// a part of that.
fn written(ttl: Duration) -> Duration {
    ttl * 9 / 10
}

/// A lease asked for at this moment is safe for so long: a fifth is left for what is under way.
fn trust(asked: Instant, ttl: Duration) -> Instant {
    asked + ttl * 4 / 5
}

async fn try_acquire(host: &Host, ttl: Duration) -> Result<Asked, Error> {
    let (store, node) = (host.store.clone(), host.node);
    // Owned by a task: no transaction is dropped half-way when the process is told to stop.
    let asked = tokio::spawn(async move {
        let mut client = store.lease().await?;
        let tx = client.transaction().await?;
        let taken = cluster::acquire(&tx, NAME, node, written(ttl)).await?;
        let asked = match taken {
            Some(epoch) => Asked::Taken(epoch),
            None => Asked::Held(presence::lease_left(&tx, NAME).await?),
        };
        tx.commit().await?;
        Ok(asked)
    });
    asked.await.unwrap_or(Ok(Asked::Held(ttl)))
}

async fn renew(
    host: Host,
    epoch: Epoch,
    ttl: Duration,
    trusted_until: watch::Sender<Instant>,
    lost: CancellationToken,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(ttl / 3) => {}
            () = stop.cancelled() => return,
            () = lost.cancelled() => return,
        }
        let asked = Instant::now();
        let (store, node) = (host.store.clone(), host.node);
        let renewed = tokio::spawn(async move {
            let client = store.lease().await?;
            cluster::renew(&client, NAME, node, epoch, written(ttl)).await
        });
        match renewed.await {
            Ok(Ok(true)) => {
                trusted_until.send_replace(trust(asked, ttl));
            }
            Ok(Ok(false)) => {
                host.metrics.guard_refused(Guard::Lease, 1);
                return lost.cancel();
            }
            Ok(Err(error)) => {
                host.metrics.count(Count::StoreErrors, "lease", 1);
                tracing::warn!(error = chain(&error), "the lease could not be renewed");
            }
            Err(_) => return lost.cancel(),
        }
    }
}

/// Ends the trust in time, whatever the renewal waits for.
async fn watch_over(
    mut trusted_until: watch::Receiver<Instant>,
    lost: CancellationToken,
    stop: CancellationToken,
) {
    loop {
        let until = *trusted_until.borrow_and_update();
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => return lost.cancel(),
            changed = trusted_until.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = stop.cancelled() => return,
        }
    }
}

/// Gives the lease back.
pub(crate) async fn resign(host: &Host) {
    let (store, node) = (host.store.clone(), host.node);
    let resigned = tokio::spawn(async move {
        let client = store.lease().await?;
        cluster::resign(&client, NAME, node).await
    });
    // Without the database it runs out by itself.
    let _ = tokio::time::timeout(Duration::from_secs(2), resigned).await;
}
