//! The lease of the active dispatcher: taken, renewed, and trusted no longer than it is safe.
//!
//! The clock of the database says when a lease is over. The holder stops on its own account
//! by its monotonic clock, counted from the moment before it asked for the renewal: so it stops
//! before anybody else may begin, however slow the answer was. The epoch fences what is left.
//! That clock may be set back while a holder dies: who stands by counts with a monotonic clock of its own, too, for how long
//! nobody has renewed the lease.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_domain::id::Epoch;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Guard};
use pagurus_runtime::node::chain;
use pagurus_store::Error;
use pagurus_store::recovery::leases;
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

/// The lease of another, as who stands by has seen it: its end, and since when that is the same.
#[derive(Debug, Default)]
pub(crate) struct Seen(Option<(Timestamp, Instant)>);

impl Seen {
    fn see(&mut self, until: Timestamp, now: Instant) {
        if self.0.is_none_or(|(former, _)| former != until) {
            self.0 = Some((until, now));
        }
    }

    /// The end of the lease where it was not renewed for twice its length, by settings that all dispatchers share.
    fn unrenewed(&self, ttl: Duration, now: Instant) -> Option<Timestamp> {
        self.0.filter(|(_, since)| now.duration_since(*since) >= 2 * ttl).map(|(until, _)| until)
    }
}

/// Tries to take the lease. While another holds it: how long it lasts yet; while the database is away: its length.
pub(crate) async fn acquire(host: &Host, ttl: Duration, seen: &mut Seen) -> Result<Lease, Duration> {
    let asked = Instant::now();
    let epoch = match try_acquire(host, ttl, seen.unrenewed(ttl, asked)).await {
        Ok(LeaseOutcome::Taken(epoch)) => epoch,
        Ok(LeaseOutcome::Held(until, left)) => {
            seen.see(until, asked);
            return Err(left);
        }
        Ok(LeaseOutcome::Unknown) => return Err(ttl),
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
enum LeaseOutcome {
    /// The lease is ours, under this epoch.
    Taken(Epoch),
    /// The lease is held by another until this time, for this duration from now.
    Held(Timestamp, Duration),
    /// The task that asked broke off, or the lease has no row: nothing is known.
    Unknown,
}

/// Time that is written into the registry: another may lead within the whole time-to-live, and what it does to begin takes
/// a part of that.
fn written(ttl: Duration) -> Duration {
    ttl * 9 / 10
}

/// End of the trust in a lease that was asked for at this moment: a fifth is left for what is under way.
fn trust(asked: Instant, ttl: Duration) -> Instant {
    asked + ttl * 4 / 5
}

async fn try_acquire(
    host: &Host,
    ttl: Duration,
    unrenewed: Option<Timestamp>,
) -> Result<LeaseOutcome, Error> {
    let (store, node) = (host.store.clone(), host.node);
    // Owned by a task: no transaction is dropped half-way when the process is to stop.
    let asked = tokio::spawn(async move {
        let mut client = store.lease().await?;
        let tx = client.transaction().await?;
        let taken = leases::acquire(&tx, NAME, node, written(ttl), unrenewed).await?;
        let asked = match taken {
            Some(epoch) => LeaseOutcome::Taken(epoch),
            None => leases::left(&tx, NAME)
                .await?
                .map_or(LeaseOutcome::Unknown, |(until, left)| LeaseOutcome::Held(until, left)),
        };
        tx.commit().await?;
        Ok(asked)
    });
    asked.await.unwrap_or(Ok(LeaseOutcome::Unknown))
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
            leases::renew(&client, NAME, node, epoch, written(ttl)).await
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
        leases::resign(&client, NAME, node).await
    });
    // Without the database it runs out by itself.
    let _ = tokio::time::timeout(Duration::from_secs(2), resigned).await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn dsp_12_a_lease_that_nobody_renews_is_over_by_the_own_clock_whatever_its_end_says() {
        let (ttl, begun) = (Duration::from_secs(3), Instant::now());
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        let (former, renewed): (Timestamp, Timestamp) =
            ("2026-01-01T01:00:00Z".parse().unwrap(), "2026-01-01T00:00:03Z".parse().unwrap());
        let mut seen = Seen::default();
        assert_eq!(seen.unrenewed(ttl, begun), None);
        seen.see(former, begun);
        seen.see(former, after(5));
        assert_eq!(seen.unrenewed(ttl, after(5)), None);
        assert_eq!(seen.unrenewed(ttl, after(6)), Some(former));
        seen.see(renewed, after(6));
        assert_eq!(seen.unrenewed(ttl, after(11)), None, "its holder is there");
        assert_eq!(seen.unrenewed(ttl, after(12)), Some(renewed));
    }
}
