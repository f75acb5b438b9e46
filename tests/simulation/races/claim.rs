//! The race of a claim, a hand-out by recovery, a late result and a kill: two workers, messages that come twice and late,
//! nodes that are taken for lost and are not (REC-1, 3, 15).

use pagurus_domain::id::{Attempt, Life, OrderNo, Pass};
use pagurus_domain::invariants::fencing::Fence;
use pagurus_domain::order::Status;
use pagurus_domain::order::change::Change;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::recovery::{Finding, Remedy, Suspicion, remedy};
use stateright::{Model, Property};
use uuid::Uuid;

use crate::{holds, is_over, is_refused};

const NO: OrderNo = OrderNo(1);
/// Times that a stage may be handed out again.
const MOST: u16 = 2;
/// Stages of the order.
const STAGES: u8 = 2;

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twin {
    /// The end of a stage asks whether the order runs, and not under which pass.
    EndIgnoresPass,
    /// A stage that is handed out again keeps its pass.
    ReissueKeepsPass,
    /// Hand-outs by recovery are not counted.
    RestartsUncounted,
    /// A kill leaves the stage with its worker.
    KillLeavesRunning,
}

/// Place of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Ready { restarts: u16 },
    Running { restarts: u16 },
    Nowhere,
}

/// A commit, for the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Commit {
    Issued(i32, u128),
    Reissued,
    Claimed,
    Ended(u128),
    Killed,
    Poisoned,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rows {
    status: Status,
    place: Place,
    /// The present hand-out, and its pass.
    attempt: i32,
    pass: u128,
    stages: u8,
    /// Numbers that hand-outs went out under: each message may come again at any time.
    messages: Vec<i32>,
    /// Stage that each worker runs: the pass of its claim.
    workers: [Option<u128>; 2],
    commits: Vec<Commit>,
    is_killed: bool,
    late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    HandOut,
    Claim { worker: usize, attempt: i32 },
    End { worker: usize },
    Recover,
    Kill,
}

#[derive(Clone, Debug)]
struct Race(Option<Twin>);

impl Race {
    fn is(&self, twin: Twin) -> bool {
        self.0 == Some(twin)
    }
}

impl Rows {
    fn issue(&mut self, restarts: u16, pass: u128) {
        self.attempt += 1;
        self.pass = pass;
        self.place = Place::Ready { restarts };
        self.commits.push(Commit::Issued(self.attempt, pass));
    }

    /// The newest pass is the largest.
    fn new_pass(&self) -> u128 {
        let issued = self.commits.iter().filter_map(|commit| match commit {
            Commit::Issued(_, pass) => Some(*pass),
            _ => None,
        });
        issued.max().unwrap_or(0) + 1
    }

    fn recover(&mut self, race: &Race) -> Option<()> {
        let Place::Running { restarts } = self.place else { return None };
        let counted = if race.is(Twin::RestartsUncounted) { 0 } else { restarts };
        match remedy(Finding::NodeLost, counted, Suspicion::default(), MOST) {
            Remedy::Poison => {
                self.status = Change::of(Status::Running, Cause::Poisoned).ok()?.to;
                self.place = Place::Nowhere;
                self.commits.push(Commit::Poisoned);
            }
            Remedy::HandOutAgain { restarts, .. } => {
                let pass = if race.is(Twin::ReissueKeepsPass) { self.pass } else { self.new_pass() };
                self.commits.push(Commit::Reissued);
                self.issue(restarts, pass);
            }
        }
        Some(())
    }

    fn end(&mut self, race: &Race, worker: usize) -> Option<()> {
        let pass = self.workers[worker].take()?;
        let runs = matches!(self.place, Place::Running { .. });
        if !runs || (pass != self.pass && !race.is(Twin::EndIgnoresPass)) {
            self.late = true;
            return Some(());
        }
        self.commits.push(Commit::Ended(pass));
        self.stages += 1;
        if self.stages < STAGES {
            let pass = self.new_pass();
            self.issue(0, pass);
        } else {
            self.status = Change::of(Status::Running, Cause::Succeeded).ok()?.to;
            self.place = Place::Nowhere;
        }
        Some(())
    }

    fn kill(&mut self, race: &Race) -> Option<()> {
        let shown = if matches!(self.place, Place::Running { .. }) { Status::Running } else { self.status };
        self.status = Change::of(shown, Cause::Killed).ok()?.to;
        self.is_killed = true;
        if !race.is(Twin::KillLeavesRunning) {
            self.place = Place::Nowhere;
        }
        self.commits.push(Commit::Killed);
        Some(())
    }

    /// True if the engine's own judge of passes accepts all commits so far.
    fn is_fenced(&self) -> bool {
        let mut fence = Fence::default();
        self.commits.iter().all(|commit| {
            let pass = |pass: u128| Pass(Uuid::from_u128(pass));
            let found = match *commit {
                Commit::Issued(attempt, number) => fence.issued(NO, Attempt(attempt), pass(number)),
                Commit::Reissued => fence.reissued(NO, u32::from(MOST)),
                Commit::Claimed => fence.went_on(NO, Life::FIRST),
                Commit::Ended(number) => {
                    fence.went_on(NO, Life::FIRST).or_else(|| fence.accepted(NO, pass(number), true))
                }
                Commit::Killed => {
                    fence.ended_by_hand(NO, Life::FIRST);
                    None
                }
                Commit::Poisoned => {
                    fence.revoked(NO);
                    None
                }
            };
            found.is_none()
        })
    }
}

impl Model for Race {
    type State = Rows;
    type Action = Step;

    fn init_states(&self) -> Vec<Rows> {
        let mut rows = Rows {
            status: Status::New,
            place: Place::Nowhere,
            attempt: 0,
            pass: 0,
            stages: 0,
            messages: Vec::new(),
            workers: [None; 2],
            commits: Vec::new(),
            is_killed: false,
            late: false,
        };
        rows.issue(0, 1);
        vec![rows]
    }

    fn actions(&self, rows: &Rows, steps: &mut Vec<Step>) {
        steps.extend([Step::HandOut, Step::Recover, Step::Kill]);
        for worker in 0..rows.workers.len() {
            steps.push(Step::End { worker });
            steps.extend(rows.messages.iter().map(|attempt| Step::Claim { worker, attempt: *attempt }));
        }
    }

    fn next_state(&self, rows: &Rows, step: Step) -> Option<Rows> {
        let mut next = rows.clone();
        match step {
            Step::HandOut => {
                let is_ready = matches!(next.place, Place::Ready { .. });
                if !is_ready || next.messages.contains(&next.attempt) {
                    return None;
                }
                next.messages.push(next.attempt);
            }
            Step::Claim { worker, attempt } => {
                let Place::Ready { restarts } = next.place else { return None };
                if attempt != next.attempt || next.workers[worker].is_some() {
                    return None;
                }
                next.status =
                    Change::of(next.status, Cause::Claimed).map_or(next.status, |_| Status::Running);
                next.place = Place::Running { restarts };
                next.workers[worker] = Some(next.pass);
                next.commits.push(Commit::Claimed);
            }
            Step::End { worker } => next.end(self, worker)?,
            Step::Recover => next.recover(self)?,
            Step::Kill if next.is_killed => return None,
            Step::Kill => next.kill(self)?,
        }
        Some(next)
    }

    fn within_boundary(&self, rows: &Rows) -> bool {
        rows.attempt <= 1 + i32::from(MOST) + i32::from(STAGES)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(FENCED, |_, rows: &Rows| rows.is_fenced()),
            Property::always("what has ended stands nowhere", |_, rows: &Rows| {
                !rows.status.is_final() || rows.place == Place::Nowhere
            }),
            Property::always("every order ends", |race, rows: &Rows| {
                !is_over(race, rows) || rows.status.is_final()
            }),
            Property::sometimes("a late result is refused", |_, rows: &Rows| rows.late),
            Property::sometimes("two workers hold one stage", |_, rows: &Rows| {
                rows.workers.iter().all(Option::is_some)
            }),
            Property::sometimes("a stage is poison", |_, rows: &Rows| {
                rows.commits.last() == Some(&Commit::Poisoned)
            }),
            Property::sometimes("all stages end", |_, rows: &Rows| rows.status == Status::Success),
        ]
    }
}

const FENCED: &str = "only the latest pass writes, once, and never after a kill";

#[test]
fn rec_1_a_late_result_changes_nothing_in_whatever_order_claim_recovery_and_kill_come() {
    holds(Race(None), 400);
}

#[test]
fn rec_1_an_end_that_asks_for_no_pass_is_refused() {
    is_refused(Race(Some(Twin::EndIgnoresPass)), FENCED);
}

#[test]
fn rec_1_a_hand_out_under_the_same_pass_is_refused() {
    is_refused(Race(Some(Twin::ReissueKeepsPass)), FENCED);
}

#[test]
fn rec_3_hand_outs_that_nobody_counts_are_refused() {
    is_refused(Race(Some(Twin::RestartsUncounted)), FENCED);
}

#[test]
fn rec_1_a_kill_that_leaves_the_stage_with_its_worker_is_refused() {
    is_refused(Race(Some(Twin::KillLeavesRunning)), FENCED);
}
