//! The places for connections: how many there are, and who makes room when all are taken.
//!
//! Clients cannot shut the door. Where all places are taken, the connection that has asked nothing for the
//! longest time is closed for a new one, and where none rests the one that has taken its answer for the
//! longest time, if that is longer than an answer may take. A connection rests when its answer has been
//! written out, not when it has been made: what is on its way to the client is not cut off for somebody who
//! has just come.
//!
//! There is no bound for one address: all clients behind a proxy have the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Longest time for a closed connection to go, before a new one is sent to the reserve.
const ROOM_WITHIN: Duration = Duration::from_millis(200);

/// The places for connections, and who of those that have one can make room.
pub(super) struct Places {
    free: Arc<Semaphore>,
    /// Longest time for which an answer keeps its place from others.
    answer: Duration,
    known: Arc<Mutex<Known>>,
}

/// The connections that are not at work.
#[derive(Default)]
struct Known {
    last: u64,
    /// Those that have never been answered, the oldest first. They make room before all others: whoever opens
    /// many and asks nothing takes none from those that ask.
    strangers: BTreeMap<u64, CancellationToken>,
    /// Those that ask nothing now, that which has done so for the longest time first.
    resting: BTreeMap<u64, CancellationToken>,
    /// Those that take their answer, and since when; that which has done so for the longest time first.
    answered: BTreeMap<u64, (Instant, CancellationToken)>,
}

impl Known {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn forget(&mut self, turn: u64) {
        if self.strangers.remove(&turn).is_none() && self.resting.remove(&turn).is_none() {
            self.answered.remove(&turn);
        }
    }

    /// Takes out the connection that makes room for another.
    fn leaves(&mut self, answer: Duration) -> Option<CancellationToken> {
        if let Some((_, closed)) = self.strangers.pop_first().or_else(|| self.resting.pop_first()) {
            return Some(closed);
        }
        let slowest = self.answered.first_entry()?;
        (slowest.get().0.elapsed() > answer).then(|| slowest.remove().1)
    }
}

/// The place of one connection.
pub(super) struct Place {
    known: Arc<Mutex<Known>>,
    /// Turn of the connection among those that are not at work; 0 while it is at work.
    turn: AtomicU64,
    /// True as soon as something was asked.
    asked: AtomicBool,
    /// True when all of an answer has been handed over to be written.
    whole: AtomicBool,
    /// Set when the connection has to make room.
    pub closed: CancellationToken,
    _taken: OwnedSemaphorePermit,
}

impl Places {
    pub fn new(most: usize, answer: Duration) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), answer, known: Arc::default() }
    }

    /// A place, if need be that of a connection that makes room. None where there is no such.
    pub async fn take(&self) -> Option<Place> {
        let taken = match self.free.clone().try_acquire_owned() {
            Ok(taken) => taken,
            Err(_) => {
                lock(&self.known).leaves(self.answer)?.cancel();
                tokio::time::timeout(ROOM_WITHIN, self.free.clone().acquire_owned()).await.ok()?.ok()?
            }
        };
        let place = Place {
            known: self.known.clone(),
            turn: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            whole: AtomicBool::new(false),
            closed: CancellationToken::new(),
            _taken: taken,
        };
        place.stand(|known, turn| {
            known.strangers.insert(turn, place.closed.clone());
        });
        Some(place)
    }
}

impl Place {
    /// Nothing more is asked.
    fn rest(&self) {
        self.stand(|known, turn| {
            known.resting.insert(turn, self.closed.clone());
        });
    }

    /// Something is asked.
    pub fn work(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.whole.store(false, Ordering::Relaxed);
        let turn = self.turn.swap(0, Ordering::Relaxed);
        lock(&self.known).forget(turn);
    }

    /// Ends where nothing is asked within this time from now; else never.
    pub async fn asks_nothing(&self, within: Duration) {
        tokio::time::sleep(within).await;
        if self.asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// An answer begins to be written.
    pub fn answer(&self) {
        self.stand(|known, turn| {
            known.answered.insert(turn, (Instant::now(), self.closed.clone()));
        });
    }

    /// All of an answer has been handed over to be written.
    pub fn handed_over(&self) {
        self.whole.store(true, Ordering::Relaxed);
    }

    /// All that has been handed over was written.
    pub fn written(&self) {
        if self.whole.swap(false, Ordering::Relaxed) {
            self.rest();
        }
    }

    fn stand(&self, among: impl FnOnce(&mut Known, u64)) {
        let mut known = lock(&self.known);
        let turn = known.next();
        known.forget(self.turn.swap(turn, Ordering::Relaxed));
        among(&mut known, turn);
    }

    /// True while something is asked that has no answer yet.
    pub fn is_at_work(&self) -> bool {
        self.turn.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.work();
    }
}

fn lock(known: &Mutex<Known>) -> std::sync::MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
