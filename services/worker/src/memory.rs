//! Memory for what the stages of this worker hold: bodies that they send, answers that they get.
//!
//! Bytes are taken before they are read, and given back as the stage releases them; a stage that
//! finds none waits, which the called system feels as a slow reader. Stages that hold some and
//! wait for more could wait for each other. So half of the memory is for those who begin to hold, and
//! half for those who hold some already; and where that is full, too, one stage at a time goes beyond
//! it. It comes to its end whatever the others do, and the next one after it.

use std::sync::Arc;

use pagurus_domain::number::saturated;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

/// Bytes that each stage may hold beside the shared memory: a stage that holds little never waits for those that
/// hold much.
pub(crate) const RESERVE: usize = 16 * 1024;
/// Number of parts of the memory, of which one stage holds at most one.
const PARTS: usize = 4;

/// The memory of all stages together. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    /// Bytes for stages that hold nothing yet: a stage that waits here keeps nobody waiting.
    begin: Arc<Semaphore>,
    /// Bytes for stages that hold some.
    more: Arc<Semaphore>,
    /// The one permit of the stage that goes beyond the memory.
    beyond: Arc<Semaphore>,
    per_stage: usize,
}

impl MemoryBudget {
    /// Creates a budget of `bytes` for all stages together. A stage may always hold the longest answer.
    pub fn new(bytes: usize, longest_answer: usize) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        Self {
            begin: Arc::new(Semaphore::new((bytes / 2).max(longest_answer))),
            more: Arc::new(Semaphore::new(bytes / 2)),
            beyond: Arc::new(Semaphore::new(1)),
            per_stage: (bytes / PARTS).max(longest_answer).saturating_add(RESERVE),
        }
    }

    /// Creates the share of a stage, empty yet.
    pub fn share(&self) -> Share {
        Share { memory: self.clone(), taken: Mutex::default() }
    }
}

/// Memory that one stage has taken; dropped, it is given back.
#[derive(Debug)]
pub(crate) struct Share {
    memory: MemoryBudget,
    /// Calls that are made side by side take one after the other.
    taken: Mutex<StageMemory>,
}

#[derive(Debug, Default)]
struct StageMemory {
    bytes: usize,
    begun: Option<OwnedSemaphorePermit>,
    more: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

/// Error of a stage that would hold more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the stage would hold {wanted} bytes of answers and bodies, more than {most}: \
     a quarter of `worker.max_held_bytes`"
)]
pub(crate) struct MemoryExcess {
    wanted: usize,
    most: usize,
}

impl Share {
    /// Takes more, and waits until there is memory for it.
    ///
    /// # Errors
    /// The stage would hold more than one may.
    pub async fn more(&self, bytes: usize) -> Result<(), MemoryExcess> {
        let mut taken = self.taken.lock().await;
        let wanted = taken.bytes.saturating_add(bytes);
        let most = self.memory.per_stage;
        if wanted > most {
            return Err(MemoryExcess { wanted, most });
        }
        let lacking = taken.lacking(wanted);
        if lacking > 0 && taken.beyond.is_none() {
            let memory = &self.memory;
            // No semaphore is ever closed.
            if taken.begun.is_none() {
                taken.begun = memory.begin.clone().acquire_many_owned(lacking).await.ok();
            } else {
                tokio::select! {
                    biased;
                    Ok(permits) = memory.more.clone().acquire_many_owned(lacking) => taken.add(permits),
                    Ok(beyond) = memory.beyond.clone().acquire_owned() => taken.beyond = Some(beyond),
                }
            }
        }
        taken.bytes = wanted;
        Ok(())
    }

    /// Takes what the order brings along, whatever it is, and waits until there is memory: it counts no
    /// further than one stage may hold.
    pub async fn bring(&self, bytes: usize) {
        // That much is never too much.
        let _ = self.more(bytes.min(self.memory.per_stage)).await;
    }

    /// Sets the bytes that the stage holds now. Does not wait for what is there already: what it has grown by
    /// itself is counted as far as there is memory.
    pub async fn settle(&self, bytes: usize) {
        let mut taken = self.taken.lock().await;
        taken.bytes = bytes;
        let surplus = taken.permitted().saturating_sub(bytes.saturating_sub(RESERVE));
        taken.give_back(surplus);
        let lacking = taken.lacking(bytes);
        if lacking == 0 {
            taken.beyond = None;
        } else if taken.begun.is_none() {
            taken.begun = self.memory.begin.clone().try_acquire_many_owned(lacking).ok();
        } else if let Ok(permits) = self.memory.more.clone().try_acquire_many_owned(lacking) {
            taken.add(permits);
            taken.beyond = None;
        }
    }
}

impl StageMemory {
    fn permitted(&self) -> usize {
        let permits = self.begun.iter().chain(&self.more);
        permits.map(OwnedSemaphorePermit::num_permits).sum()
    }

    /// Gives back the memory that was taken last, so that the stage goes on to hold what it began with.
    fn give_back(&mut self, mut surplus: usize) {
        for part in [&mut self.more, &mut self.begun] {
            let Some(permits) = part else { continue };
            let bytes = surplus.min(permits.num_permits());
            drop(permits.split(bytes));
            surplus -= bytes;
            if permits.num_permits() == 0 {
                *part = None;
            }
        }
    }

    fn lacking(&self, wanted: usize) -> u32 {
        let lacking = wanted.saturating_sub(RESERVE).saturating_sub(self.permitted());
        saturated::<u32>(lacking)
    }

    fn add(&mut self, permits: OwnedSemaphorePermit) {
        match &mut self.more {
            Some(ours) => ours.merge(permits),
            none => *none = Some(permits),
        }
    }
}

#[cfg(test)]
mod tests;
