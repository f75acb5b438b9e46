//! The connections to one called system.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::connection::{ConnectionPurpose, Connector, HttpConnection};
use super::{Broken, IDLE};

/// Most connections to a system that are opened at a time: a burst of calls first takes those that come free.
const OPENED: usize = 16;
/// A call waits no longer for others to connect: where connecting takes its time, all connect side by side.
const HURRY: Duration = Duration::from_millis(10);

/// Connections that wait for a call; the one that was used last goes first, so that those beyond need fall idle.
pub(super) struct Pool {
    /// Purpose of its connections.
    pub purpose: ConnectionPurpose,
    idle: Mutex<Vec<(HttpConnection, Instant)>>,
    /// A permit for each idle connection: a caller takes both together.
    available: Semaphore,
    opened: Semaphore,
}

impl Pool {
    pub fn new(purpose: ConnectionPurpose) -> Self {
        Self { purpose, idle: Mutex::default(), available: Semaphore::new(0), opened: Semaphore::new(OPENED) }
    }

    /// A connection: one that is idle, or a new one, made by a time.
    ///
    /// # Errors
    /// No connection could be made.
    pub async fn connection(
        &self,
        connector: &Connector,
        by: Option<Instant>,
    ) -> Result<HttpConnection, Broken> {
        loop {
            let free = match self.available.try_acquire() {
                Ok(free) => free,
                Err(_) => tokio::select! {
                    biased;
                    Ok(free) = self.available.acquire() => free,
                    // No semaphore is ever closed; time that ran out is no reason to wait on.
                    _slot = tokio::time::timeout(HURRY, self.opened.acquire()) => {
                        // Most calls find a connection: they do not carry the room for making one.
                        return Box::pin(connector.connect(&self.purpose, by)).await;
                    }
                },
            };
            free.forget();
            let newest = self.idle().pop();
            if let Some((mut connection, _)) = newest
                && connection.is_alive()
            {
                return Ok(connection);
            }
        }
    }

    /// Takes a connection back for the next call.
    pub fn put(&self, connection: HttpConnection) {
        self.idle().push((connection.idle(), Instant::now()));
        self.available.add_permits(1);
    }

    /// Closes what has been idle for too long; true while anything is left.
    pub fn close_idle(&self, now: Instant) -> bool {
        let mut idle = self.idle();
        // The oldest stand first.
        let old = idle.partition_point(|(_, since)| now.duration_since(*since) > IDLE);
        let gone = self.available.forget_permits(old);
        idle.drain(..gone);
        !idle.is_empty()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(HttpConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
