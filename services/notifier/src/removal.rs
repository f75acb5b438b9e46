//! Removal of delivered notifications from the outbox.
//!
//! Each removal is a commit, and no receiver waits for it, so those of news are gathered. If the process dies meanwhile,
//! the notifications are sent again under the same message ids.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pagurus_runtime::batch::{Failed, Linger, Shape};
use pagurus_runtime::metrics::{Guard, Work};
use pagurus_runtime::node::chain;
use pagurus_runtime::{Batcher, Host};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::{self, Notification, OutboxKey};
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::note;
use crate::publish::{keep, publish};

/// Bounds within which removals are gathered, each of a batch of news.
const GATHER: Shape = Shape { max: 100, lanes: 1, linger: Linger::Always(Duration::from_millis(25)) };

/// Removes notifications, those of many batches of news together.
pub(crate) struct Removal {
    together: Batcher<Arc<[OutboxKey]>, (), Error>,
    /// Batches of news that are not removed yet.
    pub sending: Sending,
}

impl Removal {
    pub(crate) fn start(host: &Host) -> Self {
        let host = host.clone();
        let together =
            Batcher::start(GATHER, Error::concerns_one_item, move |batch: Arc<[Arc<[OutboxKey]>]>| {
                let host = host.clone();
                async move {
                    let keys: Vec<OutboxKey> = batch.iter().flat_map(|keys| keys.iter().cloned()).collect();
                    remove(&host, &keys).await?;
                    Ok(vec![(); batch.len()])
                }
            });
        Self { together, sending: Sending::default() }
    }

    /// Removes notifications, and waits until that is done.
    pub(crate) async fn remove(&self, host: &Host, keys: Vec<OutboxKey>) {
        if keys.is_empty() {
            return;
        }
        match self.together.submit(keys.into()).await {
            Ok(()) => {}
            Err(Failed::Handler(error)) => note(host, NEW, Err(&*error)),
            // The slow pass sends them again.
            Err(Failed::Gone(gone)) => {
                tracing::warn!(error = chain(&gone), "notifications stay in the outbox");
            }
        }
    }
}

/// The words for new notifications where the database fails.
const NEW: &str = "new notifications";

/// Publishes new notifications and keeps what was not confirmed. Returns the others.
pub(crate) async fn published(host: &Host, notifications: &[Notification]) -> Vec<OutboxKey> {
    let begun = Instant::now();
    let outcome = publish(host, notifications).await;
    note(host, NEW, keep(host, outcome.failed).await);
    host.metrics.batch(Work::Notify, begun.elapsed());
    outcome.confirmed
}

/// Longest wait for what others have sent: a queue that never confirms holds its own batch for longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Batches of news from their publishing to their removal.
#[derive(Debug, Default)]
pub(crate) struct Sending(RwLock<()>);

impl Sending {
    /// Returns what a batch holds until its notifications are removed.
    pub(crate) async fn share(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().await
    }

    /// The same, once the batches in progress are removed, or after [`PATIENCE`].
    pub(crate) async fn share_after_others(&self) -> RwLockReadGuard<'_, ()> {
        match tokio::time::timeout(PATIENCE, self.0.write()).await {
            Ok(alone) => alone.downgrade(),
            Err(_) => self.share().await,
        }
    }
}

/// Removes notifications at once.
pub(crate) async fn remove(host: &Host, keys: &[OutboxKey]) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    let removed = sending::sent(&host.store.work().await?, keys).await?;
    host.metrics.guard_refused(Guard::Outbox, keys.len().saturating_sub(removed as usize));
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn ends_are_read_once_what_was_sent_is_removed() {
        let sending = Sending::default();
        let (one, other) = (sending.share().await, sending.share().await);
        let mut reader = Box::pin(sending.share_after_others());
        assert!(reader.as_mut().now_or_never().is_none());
        drop(one);
        assert!(reader.as_mut().now_or_never().is_none(), "the other is still in progress");
        drop(other);
        let read = reader.now_or_never().unwrap();
        assert!(sending.share().now_or_never().is_some(), "others are sent beside it");
        drop(read);
    }
}
