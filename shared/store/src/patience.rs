//! Patience of the batches of a process with locks.
//!
//! Somebody may hold a row for long: a forgotten session, a maintenance script. All of a batch waits
//! behind that one row, so a batch that was broken off is halved until the locked row stands alone,
//! and for a while no batch waits longer than a statement of ours holds a lock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{Error, Result, Tx};

/// Time for which batches are wary after one met a lock.
const WARY: Duration = Duration::from_secs(5);

/// The patience of a process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Patience(Arc<Mutex<Option<Instant>>>);

impl Patience {
    /// True if a batch met a lock recently: then the next one bounds its waits.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let met = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        met.is_some_and(|met| met.elapsed() < WARY)
    }

    /// Bounds the waits of a transaction that has just begun, if one met a lock recently.
    pub async fn bound(&self, tx: &Tx<'_>) -> Result<()> {
        if self.is_short() { wait_briefly(tx).await } else { Ok(()) }
    }

    /// Notes that a batch was broken off by a lock, if that is what the error tells.
    pub fn note(&self, error: &Error) {
        if error.is_contention() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }
}

/// From here on a transaction waits for a lock no longer than a statement of ours holds one.
pub async fn wait_briefly(tx: &Tx<'_>) -> Result<()> {
    Ok(tx.batch_execute("SET LOCAL lock_timeout = '100ms'").await?)
}
