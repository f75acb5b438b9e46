//! Observations of all commits, in their order, for the judge. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Epoch, Life, OrderNo, Pass};
use pagurus_domain::invariants::fencing::Fence;
use pagurus_domain::invariants::life::{of_begin, of_change, of_waking};
use pagurus_domain::invariants::{Invariant, Violation};
use pagurus_domain::order::Status;

/// Times that a stage may be handed out again.
pub const MAX_RESTARTS: u16 = 5;

/// The witness.
#[derive(Debug, Default)]
pub struct Witness {
    fence: Fence,
    statuses: BTreeMap<OrderNo, Status>,
    /// Ends that were to be reported: order, life and kind.
    pub to_tell: Vec<(String, Life, String)>,
    /// States that orders have ended in, by id.
    ends: BTreeSet<(String, String)>,
    /// Number of times that operations acted on orders, by key.
    pub operated: BTreeMap<(usize, OrderNo), u32>,
    /// Lives that were interrupted before they began.
    pub interrupted: BTreeSet<(OrderNo, Life)>,
    /// Violations found.
    pub violations: Vec<Violation>,
    /// Things that a good run has seen, and how often.
    pub seen: BTreeMap<&'static str, u64>,
}

impl Witness {
    fn found(&mut self, violation: Option<Violation>) {
        self.violations.extend(violation);
    }

    /// Notes that something worth seeing happened.
    pub fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    pub(super) fn changed(&mut self, no: OrderNo, status: Status) {
        if let Some(before) = self.statuses.insert(no, status) {
            self.found(of_change(no, before, status));
        }
    }

    pub(super) fn issued(&mut self, no: OrderNo, attempt: Attempt, pass: Pass) {
        let found = self.fence.issued(no, attempt, pass);
        self.found(found);
    }

    pub(super) fn reissued(&mut self, no: OrderNo, attempt: Attempt, pass: Pass, counts: bool) {
        self.issued(no, attempt, pass);
        self.saw("a stage was handed out again");
        if counts {
            let found = self.fence.reissued(no, u32::from(MAX_RESTARTS));
            self.found(found);
        }
    }

    pub(super) fn claimed(&mut self, no: OrderNo, life: Life, epoch: Epoch) {
        let found = [self.fence.claimed_under(epoch), self.fence.went_on(no, life)];
        self.violations.extend(found.into_iter().flatten());
    }

    pub(super) fn began(&mut self, no: OrderNo, unmet: &[String]) {
        self.found(of_begin(no, unmet));
    }

    pub(super) fn ended_in(&mut self, id: &str, step: Option<&str>) {
        self.ends.extend(step.map(|step| (id.to_owned(), step.to_owned())));
    }

    pub(super) fn has_ended_in(&self, id: &str, states: &[String]) -> bool {
        states.iter().any(|state| self.ends.contains(&(id.to_owned(), state.clone())))
    }

    pub(super) fn operated(&mut self, operation: usize, no: OrderNo) {
        *self.operated.entry((operation, no)).or_default() += 1;
    }

    pub(super) fn wrote(&mut self, no: OrderNo, pass: Pass) {
        let found = self.fence.accepted(no, pass, false);
        self.found(found);
    }

    pub(super) fn entered(&mut self, no: OrderNo, pass: Pass) {
        self.wrote(no, pass);
        self.fence.entered(no);
    }

    pub(super) fn finished(&mut self, no: OrderNo, life: Life, pass: Pass) {
        let found = [self.fence.went_on(no, life), self.fence.accepted(no, pass, true)];
        self.violations.extend(found.into_iter().flatten());
    }

    pub(super) fn ended(&mut self, no: OrderNo, life: Life, by_hand: bool, interrupted: bool) {
        if by_hand {
            self.fence.ended_by_hand(no, life);
        } else {
            self.fence.revoked(no);
            self.fence.entered(no);
        }
        if interrupted {
            self.interrupted.insert((no, life));
        }
    }

    pub(super) fn woken(&mut self, no: OrderNo, due_at: Timestamp, now: Timestamp) {
        self.found(of_waking(no, due_at, now));
    }

    /// Notes the end of a hold, and how many requests were closed by it.
    pub(super) fn hold_ended(&mut self, no: OrderNo, closed: usize) {
        self.found(Violation::unless(closed == 0, Invariant::CallbackKept, || {
            format!("order {no}: the end of a hold closes {closed} of its requests")
        }));
    }

    pub(super) fn timed_out(&mut self, no: OrderNo, awaited: usize, answered: usize) {
        let in_vain = awaited > 0 && awaited == answered;
        self.found(Violation::unless(!in_vain, Invariant::CallbackKept, || {
            format!("order {no}: its wait runs out, and all {awaited} answers are there")
        }));
    }

    pub(super) fn took_over(&mut self, epoch: Epoch) {
        let found = self.fence.took_over(epoch);
        self.found(found);
    }

    pub(super) fn note_notification(&mut self, id: &str, life: Life, kind: &str) {
        self.to_tell.push((id.to_owned(), life, kind.to_owned()));
    }

    pub(super) fn answered_life(&mut self, no: OrderNo, asked: Life, present: Life) {
        self.found(Violation::unless(asked == present, Invariant::CallbackKept, || {
            format!("order {no}: an answer to life {asked} counts for life {present}")
        }));
    }
}
