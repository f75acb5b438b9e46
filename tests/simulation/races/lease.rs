//! The race of a take-over of the lease with a claim that is being written (DSP-12): the claim checks the epoch in a
//! transaction that is open while another dispatcher takes over and reads the tables.

use pagurus_domain::id::Epoch;
use pagurus_domain::invariants::fencing::Fence;
use stateright::{Model, Property};

use crate::{holds, is_refused};

/// Take-overs in all.
const EPOCHS: i64 = 3;

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twin {
    /// A claim reads the epoch, and does not lock it.
    EpochNotLocked,
    /// A take-over keeps the epoch.
    EpochKept,
    /// A claim asks for no epoch.
    ClaimAsksForNone,
}

/// A claim whose transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Writing {
    epoch: i64,
    holds_lock: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Commit {
    TookOver(i64),
    Claimed(i64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rows {
    epoch: i64,
    holder: Option<usize>,
    is_ready: bool,
    /// Per dispatcher: the epoch that it leads with, and, once it has read that, whether the order is ready.
    leaders: [Option<(i64, Option<bool>)>; 2],
    messages: Vec<i64>,
    writing: Option<Writing>,
    commits: Vec<Commit>,
    refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The time of the lease is over, whether its holder notices or not.
    LeaseEnds,
    TakeOver(usize),
    Read(usize),
    HandOut(usize),
    BeginClaim(i64),
    Commit,
}

#[derive(Clone, Debug)]
struct Race(Option<Twin>);

impl Race {
    fn is(&self, twin: Twin) -> bool {
        self.0 == Some(twin)
    }
}

impl Rows {
    fn has_one_decider(&self) -> bool {
        let mut fence = Fence::default();
        self.commits.iter().all(|commit| {
            let found = match *commit {
                Commit::TookOver(epoch) => fence.took_over(epoch_of(epoch)),
                Commit::Claimed(epoch) => fence.claimed_under(epoch_of(epoch)),
            };
            found.is_none()
        })
    }

    /// True if each leader knows what is there, as far as it was read; only claims of its own hand-outs are news to it.
    fn is_known(&self) -> bool {
        let own = |epoch| self.commits.contains(&Commit::Claimed(epoch));
        self.leaders.iter().flatten().all(|(epoch, read)| {
            *epoch < self.epoch || read.is_none_or(|ready| ready == self.is_ready || own(*epoch))
        })
    }
}

fn epoch_of(number: i64) -> Epoch {
    Epoch(number)
}

impl Model for Race {
    type State = Rows;
    type Action = Step;

    fn init_states(&self) -> Vec<Rows> {
        vec![Rows {
            epoch: 0,
            holder: None,
            is_ready: true,
            leaders: [None; 2],
            messages: Vec::new(),
            writing: None,
            commits: Vec::new(),
            refused: false,
        }]
    }

    fn actions(&self, rows: &Rows, steps: &mut Vec<Step>) {
        steps.extend([Step::LeaseEnds, Step::Commit]);
        for dispatcher in 0..rows.leaders.len() {
            steps.extend([Step::TakeOver(dispatcher), Step::Read(dispatcher), Step::HandOut(dispatcher)]);
        }
        steps.extend(rows.messages.iter().map(|epoch| Step::BeginClaim(*epoch)));
    }

    fn next_state(&self, rows: &Rows, step: Step) -> Option<Rows> {
        let mut next = rows.clone();
        let is_locked = rows.writing.is_some_and(|writing| writing.holds_lock);
        match step {
            Step::LeaseEnds => {
                next.holder.take()?;
            }
            // Raising the epoch waits for the session that has locked it.
            Step::TakeOver(dispatcher) if rows.holder.is_none() && !is_locked && rows.epoch < EPOCHS => {
                let keeps = self.is(Twin::EpochKept) && rows.epoch > 0;
                next.epoch += i64::from(!keeps);
                next.holder = Some(dispatcher);
                next.leaders[dispatcher] = Some((next.epoch, None));
                next.commits.push(Commit::TookOver(next.epoch));
                if next.commits.len() > 6 {
                    return None;
                }
            }
            Step::Read(dispatcher) => {
                let (epoch, read) = rows.leaders[dispatcher]?;
                if read.is_some() {
                    return None;
                }
                next.leaders[dispatcher] = Some((epoch, Some(rows.is_ready)));
            }
            // Also of one whose lease is over and that does not know it.
            Step::HandOut(dispatcher) => {
                let (epoch, read) = rows.leaders[dispatcher]?;
                if read != Some(true) || rows.messages.contains(&epoch) {
                    return None;
                }
                next.messages.push(epoch);
            }
            Step::BeginClaim(epoch) if rows.writing.is_none() && rows.is_ready => {
                if epoch == rows.epoch || self.is(Twin::ClaimAsksForNone) {
                    let holds_lock = !self.is(Twin::EpochNotLocked) && !self.is(Twin::ClaimAsksForNone);
                    next.writing = Some(Writing { epoch, holds_lock });
                } else if rows.refused {
                    return None;
                } else {
                    next.refused = true;
                }
            }
            Step::Commit => {
                let writing = next.writing.take()?;
                next.is_ready = false;
                next.commits.push(Commit::Claimed(writing.epoch));
            }
            _ => return None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE, |_, rows: &Rows| rows.has_one_decider()),
            Property::always(KNOWN, |_, rows: &Rows| rows.is_known()),
            Property::sometimes("a hand-out of a former epoch is refused", |_, rows: &Rows| rows.refused),
            Property::sometimes("two lead, as far as they know", |_, rows: &Rows| {
                rows.leaders.iter().all(|leads| leads.is_some_and(|(_, read)| read == Some(true)))
            }),
            Property::sometimes("an order is claimed", |_, rows: &Rows| !rows.is_ready),
        ]
    }
}

const ONE: &str = "one decides: no claim of a former epoch is written after a take-over";
const KNOWN: &str = "the one that takes over knows what is there";

#[test]
fn dsp_12_a_take_over_never_overtakes_a_claim_that_is_being_written() {
    holds(Race(None), 100);
}

#[test]
fn dsp_12_an_epoch_that_is_read_and_not_locked_is_refused() {
    is_refused(Race(Some(Twin::EpochNotLocked)), KNOWN);
    is_refused(Race(Some(Twin::EpochNotLocked)), ONE);
}

#[test]
fn dsp_12_a_take_over_that_keeps_the_epoch_is_refused() {
    is_refused(Race(Some(Twin::EpochKept)), ONE);
}

#[test]
fn dsp_12_a_claim_that_asks_for_no_epoch_is_refused() {
    is_refused(Race(Some(Twin::ClaimAsksForNone)), ONE);
}
