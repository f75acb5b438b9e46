//! Right to write: passes of hand-outs, numbers of hand-outs, epochs of dispatchers. Facts come one after the other, in the
//! order of the commits.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{Invariant, Violation};
use crate::id::{Attempt, Epoch, Life, OrderNo, Pass};

/// Hand-outs that were made and accepted so far.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// The latest hand-out of each order, none while none holds.
    present: BTreeMap<OrderNo, (Attempt, Option<Pass>)>,
    passes: BTreeSet<Uuid>,
    epoch: Option<Epoch>,
    taken_over: Option<Epoch>,
    restarts: BTreeMap<OrderNo, u32>,
    killed: BTreeMap<OrderNo, Life>,
}

impl Fence {
    /// A stage may run, under this number and pass.
    pub fn issued(&mut self, no: OrderNo, attempt: Attempt, pass: Pass) -> Option<Violation> {
        let before =
            self.present.insert(no, (attempt, Some(pass))).map_or(Attempt(0), |(attempt, _)| attempt);
        let grows = attempt > before;
        let is_new = self.passes.insert(pass.0);
        let invariant = if grows { Invariant::StalePass } else { Invariant::OneAttempt };
        Violation::unless(is_new && grows, invariant, || {
            format!("order {no}: hand-out {attempt} after {before}, with a new pass: {is_new}")
        })
    }

    /// The pass of an order holds no more: its life has ended, or its stage goes to another.
    pub fn revoked(&mut self, no: OrderNo) {
        if let Some((_, pass)) = self.present.get_mut(&no) {
            *pass = None;
        }
    }

    /// Something was written under a pass; `ends` where it was the end of the stage.
    pub fn accepted(&mut self, no: OrderNo, pass: Pass, ends: bool) -> Option<Violation> {
        let present = self.present.get(&no).and_then(|(_, pass)| *pass);
        let found = Violation::unless(present == Some(pass), Invariant::StalePass, || {
            format!("order {no}: a result under {pass} was accepted, and {present:?} holds")
        });
        if ends {
            self.revoked(no);
            self.restarts.remove(&no);
        }
        found
    }

    /// A stage was handed out again because nobody ended it; those that were given back in good order do not count.
    pub fn reissued(&mut self, no: OrderNo, most: u32) -> Option<Violation> {
        let count = self.restarts.entry(no).or_default();
        *count += 1;
        let count = *count;
        Violation::unless(count <= most, Invariant::BoundedPoison, || {
            format!("order {no}: one stage was handed out again {count} times")
        })
    }

    /// A stage has come to an entry point: from there it has all its tries again.
    pub fn entered(&mut self, no: OrderNo) {
        self.restarts.remove(&no);
    }

    /// A kill, a cancel or an interrupt of this life was answered.
    pub fn ended_by_hand(&mut self, no: OrderNo, life: Life) {
        self.killed.insert(no, life);
        self.revoked(no);
        self.restarts.remove(&no);
    }

    /// A stage of this life was claimed, or its end written.
    pub fn went_on(&self, no: OrderNo, life: Life) -> Option<Violation> {
        let is_over = self.killed.get(&no) == Some(&life);
        Violation::unless(!is_over, Invariant::KillWins, || {
            format!("order {no}: life {life} was ended by hand, and goes on")
        })
    }

    /// A dispatcher took over, with this epoch.
    pub fn took_over(&mut self, epoch: Epoch) -> Option<Violation> {
        let before = self.taken_over.replace(epoch);
        Violation::unless(before.is_none_or(|before| before < epoch), Invariant::OneDecider, || {
            format!("epoch {epoch} after {before:?}")
        })
    }

    /// A hand-out of this epoch was claimed.
    pub fn claimed_under(&mut self, epoch: Epoch) -> Option<Violation> {
        let before = self.epoch.replace(epoch).max(self.taken_over);
        Violation::unless(before.is_none_or(|before| before <= epoch), Invariant::OneDecider, || {
            format!("a hand-out of epoch {epoch} was claimed after {before:?}")
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn pass(number: u128) -> Pass {
        Pass(Uuid::from_u128(number))
    }

    #[test]
    fn rec_1_only_the_latest_pass_writes_and_only_once() {
        let mut fence = Fence::default();
        let no = OrderNo(1);
        assert_eq!(fence.issued(no, Attempt(1), pass(1)), None);
        assert_eq!(fence.accepted(no, pass(1), false), None);
        assert_eq!(fence.issued(no, Attempt(2), pass(2)), None);
        assert_eq!(fence.accepted(no, pass(1), true).unwrap().invariant, Invariant::StalePass);
        let mut fence = Fence::default();
        assert_eq!(fence.issued(no, Attempt(1), pass(1)), None);
        assert_eq!(fence.accepted(no, pass(1), true), None);
        assert!(fence.accepted(no, pass(1), true).is_some(), "twice");
        assert_eq!(fence.issued(no, Attempt(2), pass(1)).unwrap().invariant, Invariant::StalePass);
        assert_eq!(fence.issued(no, Attempt(2), pass(3)).unwrap().invariant, Invariant::OneAttempt);
    }

    #[test]
    fn rec_3_a_stage_is_handed_out_again_so_often_until_it_gets_on() {
        let mut fence = Fence::default();
        assert_eq!(fence.reissued(OrderNo(1), 1), None);
        fence.entered(OrderNo(1));
        assert_eq!(fence.reissued(OrderNo(1), 1), None);
        assert_eq!(fence.reissued(OrderNo(1), 1).unwrap().invariant, Invariant::BoundedPoison);
    }

    #[test]
    fn ord_21_what_was_ended_by_hand_goes_on_in_another_life_only() {
        let mut fence = Fence::default();
        fence.ended_by_hand(OrderNo(1), Life(1));
        assert_eq!(fence.went_on(OrderNo(1), Life(1)).unwrap().invariant, Invariant::KillWins);
        assert_eq!(fence.went_on(OrderNo(1), Life(2)), None);
        assert_eq!(fence.went_on(OrderNo(2), Life(1)), None);
    }

    #[test]
    fn dsp_12_epochs_grow_and_no_former_one_is_claimed() {
        let mut fence = Fence::default();
        assert_eq!(fence.took_over(Epoch(1)), None);
        assert_eq!(fence.claimed_under(Epoch(1)), None);
        assert_eq!(fence.took_over(Epoch(2)), None);
        assert_eq!(fence.claimed_under(Epoch(1)).unwrap().invariant, Invariant::OneDecider);
        assert!(fence.took_over(Epoch(2)).is_some());
    }
}
