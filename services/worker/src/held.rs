//! The stages that this worker holds: each from before its claim until its end is written.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_scenario::stage::Asking;
use tokio_util::sync::CancellationToken;

/// An order and the number of its hand-out.
pub(crate) type HandOutKey = (OrderNo, Attempt);

/// Stages that are held: how each is broken off, and what it asks of the world. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldStages(Arc<Mutex<HashMap<HandOutKey, HeldStage>>>);

#[derive(Debug, Default)]
struct HeldStage {
    broken_off: CancellationToken,
    /// True once the answer to the claim has come.
    is_claimed: bool,
    /// Last question, and when it was asked; `None` while nothing is asked.
    asking: Option<(Instant, Asking)>,
}

/// A question of a stage to the world, and the time that it has waited for the answer.
pub(crate) type Slow = (HandOutKey, Asking);

impl HeldStages {
    /// Takes hold of a stage; `None` if it is held already.
    pub fn hold(&self, key: HandOutKey) -> Option<Hold> {
        match self.lock().entry(key) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                let broken_off = free.insert(HeldStage::default()).broken_off.clone();
                Some(Hold { key, broken_off, of: self.clone() })
            }
        }
    }

    /// Returns everything that is held and is known to be claimed: a claim under way says nothing, however long it takes.
    pub fn claimed(&self) -> HashSet<HandOutKey> {
        self.lock().iter().filter(|(_, stage)| stage.is_claimed).map(|(key, _)| *key).collect()
    }

    /// True if the stage is held.
    pub fn contains(&self, key: HandOutKey) -> bool {
        self.lock().contains_key(&key)
    }

    /// Breaks these stages off, if they are held here.
    pub fn break_off(&self, stages: &[HandOutKey]) {
        let held = self.lock();
        let ours = stages.iter().filter_map(|key| held.get(key));
        ours.for_each(|stage| stage.broken_off.cancel());
    }

    /// Notes what a stage asks of the world.
    pub fn note(&self, key: HandOutKey, asking: Option<Asking>) {
        if let Some(stage) = self.lock().get_mut(&key) {
            stage.asking = asking.map(|asking| (Instant::now(), asking));
        }
    }

    /// Returns questions that stages have waited for at least that long, the longest first, at most `most`.
    pub fn slow(&self, for_so_long: Duration, most: usize) -> Vec<Slow> {
        let mut slow: Vec<(Instant, Slow)> = self
            .lock()
            .iter()
            .filter_map(|(key, stage)| Some((*key, stage.asking.as_ref()?)))
            .filter(|(_, (at, _))| at.elapsed() >= for_so_long)
            .map(|(key, (at, asking))| (*at, (key, asking.clone())))
            .collect();
        slow.sort_by_key(|(at, _)| *at);
        slow.truncate(most);
        slow.into_iter().map(|(_, slow)| slow).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<HandOutKey, HeldStage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hold on one stage, released when dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    pub key: HandOutKey,
    /// Cancelled when the stage is over: its order was ended, or given to another.
    pub broken_off: CancellationToken,
    of: HeldStages,
}

impl Hold {
    /// Notes that the claim was committed.
    pub fn note_claimed(&self) {
        if let Some(stage) = self.of.lock().get_mut(&self.key) {
            stage.is_claimed = true;
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
        let held = HeldStages::default();
        let hold = held.hold((OrderNo(1), Attempt(1))).unwrap();
        assert!(held.hold((OrderNo(1), Attempt(1))).is_none());
        assert!(held.hold((OrderNo(1), Attempt(2))).is_some());
        drop(hold);
        assert!(!held.contains((OrderNo(1), Attempt(1))));
    }

    #[test]
    fn rec_2_a_stage_counts_as_claimed_only_when_its_claim_was_answered() {
        let held = HeldStages::default();
        let hold = held.hold((OrderNo(1), Attempt(1))).unwrap();
        assert!(held.claimed().is_empty(), "a slow claim would be broken off");
        hold.note_claimed();
        assert!(held.claimed().contains(&hold.key));
    }

    #[test]
    fn ord_28_what_is_waited_for_is_reported_the_longest_first_and_while_it_is_waited_for() {
        let held = HeldStages::default();
        let asking = |target: &str| Asking {
            state: "s".into(),
            action: 0,
            kind: "http",
            name: None,
            target: target.into(),
            attempt: 1,
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let keys = [1, 2, 3].map(|no| (OrderNo(no), Attempt(1)));
        let holds = keys.map(|key| held.hold(key).unwrap());
        held.note(keys[1], Some(asking("first")));
        held.note(keys[0], Some(asking("second")));
        held.note((OrderNo(9), Attempt(1)), Some(asking("nobody's")));
        let targets = |most| -> Vec<String> {
            held.slow(Duration::ZERO, most).into_iter().map(|(_, asking)| asking.target).collect()
        };
        assert_eq!(
            (targets(9), targets(1)),
            (vec!["first".into(), "second".into()], vec!["first".to_owned()])
        );
        assert!(held.slow(Duration::from_secs(60), 9).is_empty());
        held.note(keys[1], None);
        drop(holds);
        assert!(targets(9).is_empty());
    }

    #[test]
    fn a_stage_can_be_broken_off_before_it_runs() {
        let held = HeldStages::default();
        let hold = held.hold((OrderNo(1), Attempt(1))).unwrap();
        held.break_off(&[(OrderNo(1), Attempt(2)), (OrderNo(2), Attempt(1))]);
        assert!(!hold.broken_off.is_cancelled());
        held.break_off(&[(OrderNo(1), Attempt(1))]);
        assert!(hold.broken_off.is_cancelled());
    }
}
