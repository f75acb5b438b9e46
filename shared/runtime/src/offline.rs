//! A node that an operator has taken out of service (REC-8): it takes nothing new, ends what it has in hand, and lives on until
//! it is put back. The mark in the database is the truth, by role and name; each process looks at its own once a second.
//!
//! Loops of services work in turns. A turn begins only while the node is in service, and what is in hand is the number
//! of turns under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pagurus_broker::{Consumer, Delivery};
use pagurus_store::recovery::marks;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, watch};

use crate::Host;
use crate::chain::chain;

/// Between two looks at the mark, and two signs of life while there is one.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The mark of this process as it was read last, and the turns under way. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OfflineState {
    offline: Arc<watch::Sender<bool>>,
    in_hand: Arc<AtomicUsize>,
}

impl OfflineState {
    /// Makes the state of a service that is marked already, or not.
    pub fn new(offline: bool) -> Self {
        Self { offline: Arc::new(watch::Sender::new(offline)), in_hand: Arc::default() }
    }

    /// True while the node is out of service.
    pub fn is_offline(&self) -> bool {
        *self.offline.borrow()
    }

    /// Turns under way.
    pub fn in_hand(&self) -> usize {
        self.in_hand.load(Ordering::Relaxed)
    }

    fn begin(&self) -> WorkTurn {
        self.in_hand.fetch_add(1, Ordering::Relaxed);
        WorkTurn(self.in_hand.clone())
    }

    async fn is(&self, offline: bool) {
        // The sender lives as long as this value.
        let _ = self.offline.subscribe().wait_for(|now| *now == offline).await;
    }
}

/// A piece of work that the process has in hand, as long as it is held.
#[derive(Debug)]
pub struct WorkTurn(Arc<AtomicUsize>);

impl Drop for WorkTurn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Host {
    /// True while an operator has this node out of service.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.service.is_offline()
    }

    /// Waits until an operator takes the node out of service; returns at once where it is.
    pub async fn offline(&self) {
        self.service.is(true).await;
    }

    /// Waits until the node is in service; returns at once where it is.
    pub async fn online(&self) {
        self.service.is(false).await;
    }

    /// Begins a piece of work, whether the node is in service or not: one that follows from what was taken before.
    #[must_use]
    pub fn piece_of_work(&self) -> WorkTurn {
        self.service.begin()
    }

    /// Begins a turn as soon as the node is in service; none when the process is to stop.
    pub async fn turn(&self) -> Option<WorkTurn> {
        loop {
            // Counted before the mark is looked at: a node that says that it is empty begins nothing any more.
            let turn = self.service.begin();
            if self.draining.is_cancelled() {
                return None;
            }
            if !self.is_offline() {
                return Some(turn);
            }
            drop(turn);
            tokio::select! {
                () = self.online() => {}
                () = self.draining.cancelled() => return None,
            }
        }
    }
}

/// Looks at the mark of this node until its life is over, and tells the registry what has changed.
pub(crate) async fn follow(host: Host) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let (store, role, name) = (host.store.clone(), host.role, host.name.clone());
        // Owned by a task: no statement is dropped half-way when the life ends.
        let looked = tokio::spawn(async move {
            let client = store.lease().await?;
            marks::is_marked(&client, role, &name).await
        });
        let before = host.is_offline();
        match looked.await {
            Ok(Ok(offline)) => {
                host.service.offline.send_replace(offline);
                if offline != before {
                    let change = if offline { "taken out of service" } else { "put back into service" };
                    tracing::warn!(name = &*host.name, "an operator has {change} this node");
                }
                if offline || offline != before {
                    host.tell_status().await;
                }
            }
            // What was read last goes on to hold.
            Ok(Err(error)) => tracing::debug!(error = chain(&error), "the mark of this node cannot be read"),
            Err(panic) => tracing::error!(%panic, "the mark of this node cannot be read"),
        }
    }
}

/// Deliveries of a consumer, taken by one or several loops while the node is in service. Out of it the broker keeps them for
/// others. Cheap to clone.
#[derive(Clone)]
pub struct Intermittent {
    host: Host,
    consumer: Arc<Consumer>,
    /// Held shared by each loop while it handles what it took.
    handling: Arc<RwLock<()>>,
}

/// Deliveries that were taken, and the right to handle them.
#[derive(Debug)]
pub struct Taken {
    /// The deliveries.
    pub deliveries: Vec<Delivery>,
    _turn: WorkTurn,
    _handling: OwnedRwLockReadGuard<()>,
}

impl Intermittent {
    /// Takes from this consumer.
    #[must_use]
    pub fn new(host: &Host, consumer: Consumer) -> Self {
        Self { host: host.clone(), consumer: Arc::new(consumer), handling: Arc::default() }
    }

    /// The consumer, to answer deliveries.
    #[must_use]
    pub const fn consumer(&self) -> &Arc<Consumer> {
        &self.consumer
    }

    /// The next deliveries, at most `max`; none when the process is to stop. What was not taken goes back to the queue with
    /// the end of the consumer.
    pub async fn next(&self, max: usize) -> Option<Taken> {
        loop {
            let handling = self.handling.clone().read_owned().await;
            let deliveries = tokio::select! {
                biased;
                () = self.host.draining.cancelled() => return None,
                () = self.host.offline() => None,
                deliveries = self.consumer.next_batch(max) => Some(deliveries),
            };
            let Some(deliveries) = deliveries else {
                drop(handling);
                tokio::select! {
                    () = self.host.online() => continue,
                    () = self.host.draining.cancelled() => return None,
                }
            };
            return Some(Taken { deliveries, _turn: self.host.piece_of_work(), _handling: handling });
        }
    }

    /// Stops consuming while the node is out of service, once what was taken is handled: the rest goes back to its queue.
    /// Ends when the process is to stop.
    pub async fn follow(self) -> anyhow::Result<()> {
        let rest_and_return = async {
            loop {
                self.host.offline().await;
                let all_handled = self.handling.write().await;
                self.consumer.pause().await;
                drop(all_handled);
                self.host.online().await;
                self.consumer.resume();
            }
        };
        tokio::select! {
            () = rest_and_return => {}
            () = self.host.draining.cancelled() => {}
        }
        Ok(())
    }

    /// Consumes again after a pause of another reason, unless the node is out of service.
    pub fn resume(&self) {
        if !self.host.is_offline() {
            self.consumer.resume();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rec_8_what_is_in_hand_is_counted_until_it_is_released() {
        let service = OfflineState::new(false);
        let (one, other) = (service.begin(), service.begin());
        assert_eq!(service.in_hand(), 2);
        drop(one);
        assert_eq!(service.in_hand(), 1);
        drop(other);
        assert_eq!(service.in_hand(), 0);
        assert!(!service.is_offline());
        service.offline.send_replace(true);
        service.is(true).await;
        assert!(service.is_offline());
    }
}
