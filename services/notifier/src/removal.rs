//! Removal of delivered notifications from the outbox.
//!
//! Each removal is a commit, and no receiver waits for it, so those of news are gathered. If the process dies meanwhile,
//! the notifications are sent again under the same message ids.

use std::sync::Arc;
use std::time::Duration;

use pagurus_runtime::batch::{Failed, Linger, Shape};
use pagurus_runtime::metrics::Guard;
use pagurus_runtime::{Batcher, Host};
use pagurus_store::hot::outbox::sending::{self, OutboxKey};
use pagurus_store::{Client, Error};
use tokio::sync::{RwLock, RwLockReadGuard};

/// Bounds within which removals are gathered, each of a batch of news.
const GATHER: Shape = Shape { max: 100, lanes: 1, linger: Linger::Always(Duration::from_millis(25)) };

/// Removes notifications, those of many batches of news together.
pub(crate) struct Removal {
    together: Batcher<Arc<[OutboxKey]>, (), Error>,
    /// Held shared by each batch of news from its publishing to its removal.
    sending: RwLock<()>,
}

impl Removal {
    pub(crate) fn start(host: &Host) -> Self {
        let host = host.clone();
        let together =
            Batcher::start(GATHER, Error::concerns_one_item, move |batch: Arc<[Arc<[OutboxKey]>]>| {
                let host = host.clone();
                async move {
                    let keys: Vec<OutboxKey> = batch.iter().flat_map(|keys| keys.iter().cloned()).collect();
                    remove(&host, &host.store.work().await?, &keys).await?;
                    Ok(vec![(); batch.len()])
                }
            });
        Self { together, sending: RwLock::default() }
    }

    /// Removes notifications, and waits until that is done.
    pub(crate) async fn remove(&self, keys: Vec<OutboxKey>) -> Result<(), Failed<Arc<Error>>> {
        if keys.is_empty() {
            return Ok(());
        }
        self.together.submit(keys.into()).await
    }

    /// Returns what a batch holds while it is sent, until it is removed.
    pub(crate) async fn sending(&self) -> RwLockReadGuard<'_, ()> {
        self.sending.read().await
    }

    /// The same, once all that others have sent is removed.
    pub(crate) async fn sending_alone(&self) -> RwLockReadGuard<'_, ()> {
        self.sending.write().await.downgrade()
    }
}

/// Removes notifications at once.
pub(crate) async fn remove(host: &Host, client: &Client, keys: &[OutboxKey]) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    let removed = sending::sent(client, keys).await?;
    host.metrics.guard_refused(Guard::Outbox, keys.len().saturating_sub(removed as usize));
    Ok(())
}
