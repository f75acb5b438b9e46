//! The stages that this worker holds: each from before its claim until its end is written.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pagurus_domain::id::{Attempt, OrderNo};
use tokio_util::sync::CancellationToken;

/// An order and the number of its hand-out.
pub(crate) type Key = (OrderNo, Attempt);

/// What is held, and how each stage is broken off. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<Mutex<HashMap<Key, Mark>>>);

#[derive(Clone, Debug, Default)]
struct Mark {
    broken_off: CancellationToken,
    /// True once the answer to the claim has come.
    is_claimed: bool,
}

impl Held {
    /// Takes hold of a stage, unless it is held already.
    pub fn hold(&self, key: Key) -> Option<Hold> {
        match self.lock().entry(key) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                let broken_off = free.insert(Mark::default()).broken_off.clone();
                Some(Hold { key, broken_off, of: self.clone() })
            }
        }
    }

    /// Everything that is held and is known to be claimed: a claim under way says nothing, however long it takes.
    pub fn claimed(&self) -> HashSet<Key> {
        self.lock().iter().filter(|(_, mark)| mark.is_claimed).map(|(key, _)| *key).collect()
    }

    /// True if the stage is held.
    pub fn contains(&self, key: Key) -> bool {
        self.lock().contains_key(&key)
    }

    /// Breaks these stages off, if they are held here.
    pub fn break_off(&self, stages: &[Key]) {
        let held = self.lock();
        let ours = stages.iter().filter_map(|key| held.get(key));
        ours.for_each(|mark| mark.broken_off.cancel());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One stage held; dropped, it is let go of.
#[derive(Debug)]
pub(crate) struct Hold {
    pub key: Key,
    /// Tells that the stage is over: its order was ended, or given to another.
    pub broken_off: CancellationToken,
    of: Held,
}

impl Hold {
    /// Notes that the claim was committed.
    pub fn note_claimed(&self) {
        if let Some(mark) = self.of.lock().get_mut(&self.key) {
            mark.is_claimed = true;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.of.lock().remove(&self.key);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_held_once_until_its_hold_is_dropped() {
        let held = Held::default();
        let hold = held.hold((OrderNo(1), Attempt(1))).unwrap();
        assert!(held.hold((OrderNo(1), Attempt(1))).is_none());
        assert!(held.hold((OrderNo(1), Attempt(2))).is_some());
        drop(hold);
        assert!(!held.contains((OrderNo(1), Attempt(1))));
    }

    #[test]
    fn rec_2_a_stage_counts_as_claimed_only_when_its_claim_was_answered() {
        let held = Held::default();
        let hold = held.hold((OrderNo(1), Attempt(1))).unwrap();
        assert!(held.claimed().is_empty(), "a slow claim would be broken off");
        hold.note_claimed();
        assert!(held.claimed().contains(&hold.key));
    }

    #[test]
    fn a_stage_can_be_broken_off_before_it_runs() {
        let held = Held::default();
        let hold = held.hold((OrderNo(1), Attempt(1))).unwrap();
        held.break_off(&[(OrderNo(1), Attempt(2)), (OrderNo(2), Attempt(1))]);
        assert!(!hold.broken_off.is_cancelled());
        held.break_off(&[(OrderNo(1), Attempt(1))]);
        assert!(hold.broken_off.is_cancelled());
    }
}
