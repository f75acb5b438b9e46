//! Slots for work, given to the kinds of work that wait in turn.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of slots, and what waits for them.
#[derive(Debug)]
pub struct Slots<K: Hash + Eq + Copy>(Mutex<State<K>>);

#[derive(Debug)]
struct State<K: Hash + Eq + Copy> {
    free: usize,
    /// Kinds of work that wait, the next one first.
    kinds: VecDeque<K>,
    /// Waiting work of each kind, the next one first.
    waiting: HashMap<K, VecDeque<oneshot::Sender<Slot<K>>>>,
    /// Work that was interrupted and waits on its thread.
    interrupted: usize,
}

/// A slot. Goes to the next one that waits when it is dropped.
#[derive(Debug)]
pub struct Slot<K: Hash + Eq + Copy>(Option<Arc<Slots<K>>>);

impl<K: Hash + Eq + Copy> Drop for Slot<K> {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.pass_on();
        }
    }
}

impl<K: Hash + Eq + Copy> Slots<K> {
    pub fn new(free: usize) -> Arc<Self> {
        let (kinds, waiting) = (VecDeque::new(), HashMap::new());
        Arc::new(Self(Mutex::new(State { free, kinds, waiting, interrupted: 0 })))
    }

    /// Waits for the next slot for work of this kind. What was interrupted goes before what has not begun.
    pub fn wait(self: &Arc<Self>, kind: K, has_begun: bool) -> oneshot::Receiver<Slot<K>> {
        let (give, given) = oneshot::channel();
        let mut state = self.lock();
        if state.free > 0 {
            state.free -= 1;
            drop(state);
            // The receiver is here.
            drop(give.send(Slot(Some(self.clone()))));
            return given;
        }
        let State { kinds, waiting, .. } = &mut *state;
        let of_kind = waiting.entry(kind).or_insert_with(|| {
            kinds.push_back(kind);
            VecDeque::new()
        });
        if has_begun {
            of_kind.push_front(give);
        } else {
            of_kind.push_back(give);
        }
        given
    }

    /// True if work of another kind waits and fewer than `max` runs are interrupted: then the caller is one of them, and
    /// [waits](Self::wait_here) when it has dropped its slot.
    pub fn begin_interruption(&self, kind: &K, max: usize) -> bool {
        let mut state = self.lock();
        let is_wanted = state.interrupted < max && state.kinds.iter().any(|other| other != kind);
        state.interrupted += usize::from(is_wanted);
        is_wanted
    }

    /// Waits on this thread for the next slot of work that was interrupted.
    pub fn wait_here(self: &Arc<Self>, kind: K) -> Option<Slot<K>> {
        let slot = self.wait(kind, true).blocking_recv().ok();
        self.lock().interrupted -= 1;
        slot
    }

    /// Gives a slot that is free to the next one that waits for it.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let Some(next) = state.next() else {
                    state.free += 1;
                    return;
                };
                next
            };
            match next.send(Slot(Some(self.clone()))) {
                Ok(()) => return,
                // The receiver has gone away: the slot is for the next one.
                Err(mut slot) => slot.0 = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq + Copy> State<K> {
    fn next(&mut self) -> Option<oneshot::Sender<Slot<K>>> {
        let kind = self.kinds.pop_front()?;
        let of_kind = self.waiting.get_mut(&kind)?;
        let next = of_kind.pop_front();
        if of_kind.is_empty() {
            self.waiting.remove(&kind);
        } else {
            self.kinds.push_back(kind);
        }
        next
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The order in which those that wait get the only slot.
    fn order_of(mut waiting: Vec<(&'static str, oneshot::Receiver<Slot<u8>>)>) -> Vec<&'static str> {
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let next = waiting.iter_mut().position(|(_, slot)| slot.try_recv().is_ok()).unwrap();
            order.push(waiting.remove(next).0);
        }
        order
    }

    #[test]
    fn scn_5_kinds_of_work_take_turns_and_what_was_interrupted_goes_first_of_its_kind() {
        let slots = Slots::new(1);
        let mut taken = slots.wait(1, false);
        let taken = taken.try_recv().unwrap();
        let wait = |name, kind, has_begun| (name, slots.wait(kind, has_begun));
        let waiting = vec![
            wait("first", 1, false),
            wait("second", 1, false),
            wait("other", 2, false),
            wait("third", 3, false),
            wait("interrupted", 1, true),
        ];
        drop(slots.wait(2, false));
        drop(taken);
        assert_eq!(order_of(waiting), ["interrupted", "other", "third", "first", "second"]);
        let state = slots.lock();
        assert!(state.free == 1 && state.kinds.is_empty() && state.waiting.is_empty());
    }

    #[test]
    fn scn_5_work_is_interrupted_for_another_kind_only_and_few_at_a_time() {
        let slots = Slots::new(1);
        let _taken = slots.wait(1, false).try_recv().unwrap();
        assert!(!slots.begin_interruption(&1, 2), "nothing waits");
        let _same = slots.wait(1, false);
        assert!(!slots.begin_interruption(&1, 2), "its own kind waits");
        let _other = slots.wait(2, false);
        assert!(slots.begin_interruption(&1, 2) && slots.begin_interruption(&1, 2));
        assert!(!slots.begin_interruption(&1, 2), "two wait already");
    }
}
