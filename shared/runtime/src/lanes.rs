//! Lanes: loops that carry out batches of the same work.
//!
//! Two batches at a time are two halves of one: each has its own statements, commit and messages, which cost more than
//! the items in them. So one lane is at work while the next batch grows, and another begins beside it only where the
//! first takes long: one slow commit holds nobody up for more than [`PATIENCE`].

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Time for which a batch waits for the one before it, from the start of that one. Most take a few milliseconds.
pub const PATIENCE: Duration = Duration::from_millis(40);

/// The bound that the lanes of one work share.
#[derive(Debug)]
pub struct WorkLanes {
    first: Semaphore,
    begun: Mutex<Instant>,
}

impl Default for WorkLanes {
    fn default() -> Self {
        Self { first: Semaphore::new(1), begun: Mutex::new(Instant::now()) }
    }
}

impl WorkLanes {
    /// Waits until no lane is at work, or one has been for [`PATIENCE`]. The caller holds the answer while it works; none
    /// where it works beside another.
    pub async fn begin(&self) -> Option<SemaphorePermit<'_>> {
        let alone = match self.first.try_acquire() {
            Ok(alone) => alone,
            Err(_) => {
                let until = *self.begun.lock().unwrap_or_else(PoisonError::into_inner) + PATIENCE;
                // The semaphore is never closed.
                tokio::time::timeout_at(until, self.first.acquire()).await.ok()?.ok()?
            }
        };
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(alone)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn another_lane_begins_when_the_first_is_done() {
        let lanes = WorkLanes::default();
        let first = lanes.begin().await;
        let mut second = std::pin::pin!(lanes.begin());
        assert!(second.as_mut().now_or_never().is_none(), "it waits");
        drop(first);
        assert!(second.await.is_some());
    }

    #[tokio::test]
    async fn another_lane_begins_beside_a_first_that_takes_long() {
        let lanes = WorkLanes::default();
        let slow = lanes.begin().await;
        assert!(slow.is_some());
        assert!(lanes.begin().await.is_none());
        // Nobody waits again for the same one.
        assert!(lanes.begin().now_or_never().is_some_and(|beside| beside.is_none()));
        drop(slow);
        assert!(lanes.begin().await.is_some());
    }
}
