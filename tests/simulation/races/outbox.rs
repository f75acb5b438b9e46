//! The race of a notification: written with the end of its order, published, marked, with notifiers that die and confirms
//! that are lost (ORD-19).

use pagurus_domain::id::Life;
use pagurus_domain::invariants::traffic::{ObservedNotification, of_notifications};
use stateright::{Model, Property};
use uuid::Uuid;

use crate::{holds, is_over, is_refused};

/// Crashes, and confirms that are lost.
const TROUBLES: u8 = 2;

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twin {
    /// A row is removed before its message is confirmed.
    RemovedBeforeConfirm,
    /// Each copy has an id of its own.
    FreshId,
    /// The message goes out beside the transaction of the end.
    SentBeforeCommit,
    /// The row is written in a transaction after that of the end.
    WrittenAfterwards,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Notifier {
    Idle,
    Took,
    Published { is_confirmed: bool },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rows {
    is_ended: bool,
    /// The row, and whether others are kept off it.
    row: Option<bool>,
    /// True if a row is still to be written; only a twin has that.
    to_write: bool,
    notifiers: [Notifier; 2],
    /// Ids of the copies that the client has.
    copies: Vec<u128>,
    troubles: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    End,
    Write,
    WriterDies,
    /// A notifier that learns of the end reads the row, even if another one has it.
    Read(usize),
    Take(usize),
    LeaseEnds,
    Publish(usize),
    ConfirmLost(usize),
    Mark(usize),
    PutBack(usize),
    Dies(usize),
}

#[derive(Clone, Debug)]
struct Race(Option<Twin>);

impl Race {
    fn is(&self, twin: Twin) -> bool {
        self.0 == Some(twin)
    }
}

impl Rows {
    fn notifications(&self) -> Vec<ObservedNotification> {
        let copy = |id: &u128| ObservedNotification {
            id: "o".to_owned(),
            life: Life::FIRST,
            kind: "final".to_owned(),
            message_id: Uuid::from_u128(*id),
            body: "success".to_owned(),
        };
        self.copies.iter().map(copy).collect()
    }

    /// True if the engine's own judge of notifications finds nothing, while some may still be on their way.
    fn is_one_message(&self) -> bool {
        let ends = if self.copies.is_empty() { Vec::new() } else { self.ends() };
        of_notifications(&ends, &self.notifications()).is_empty()
    }

    fn ends(&self) -> Vec<(String, Life, String)> {
        let end = ("o".to_owned(), Life::FIRST, "final".to_owned());
        if self.is_ended { vec![end] } else { Vec::new() }
    }
}

impl Model for Race {
    type State = Rows;
    type Action = Step;

    fn init_states(&self) -> Vec<Rows> {
        vec![Rows {
            is_ended: false,
            row: None,
            to_write: false,
            notifiers: [Notifier::Idle; 2],
            copies: Vec::new(),
            troubles: 0,
        }]
    }

    fn actions(&self, rows: &Rows, steps: &mut Vec<Step>) {
        steps.extend([Step::End, Step::Write, Step::WriterDies, Step::LeaseEnds]);
        for notifier in 0..rows.notifiers.len() {
            steps.extend([
                Step::Read(notifier),
                Step::Take(notifier),
                Step::Publish(notifier),
                Step::ConfirmLost(notifier),
                Step::Mark(notifier),
                Step::PutBack(notifier),
                Step::Dies(notifier),
            ]);
        }
    }

    fn next_state(&self, rows: &Rows, step: Step) -> Option<Rows> {
        let mut next = rows.clone();
        match step {
            Step::End if !rows.is_ended => {
                next.is_ended = true;
                if self.is(Twin::WrittenAfterwards) {
                    next.to_write = true;
                } else {
                    next.row = Some(false);
                }
            }
            Step::Write if rows.to_write => (next.to_write, next.row) = (false, Some(false)),
            Step::WriterDies if rows.to_write => next.to_write = false,
            Step::LeaseEnds if rows.row == Some(true) => next.row = Some(false),
            Step::Read(one) if rows.notifiers[one] == Notifier::Idle => {
                let may_send = rows.row.is_some() || (self.is(Twin::SentBeforeCommit) && !rows.is_ended);
                if !may_send || rows.copies.len() > 2 {
                    return None;
                }
                next.notifiers[one] = Notifier::Took;
            }
            Step::Take(one) if rows.notifiers[one] == Notifier::Idle && rows.row == Some(false) => {
                (next.notifiers[one], next.row) = (Notifier::Took, Some(true));
            }
            Step::Publish(one) if rows.notifiers[one] == Notifier::Took => {
                if self.is(Twin::RemovedBeforeConfirm) && next.row.take().is_some() {
                    return Some(next);
                }
                let id = if self.is(Twin::FreshId) { rows.copies.len() as u128 } else { 7 };
                next.copies.push(id);
                next.notifiers[one] = Notifier::Published { is_confirmed: true };
            }
            Step::ConfirmLost(one)
                if rows.notifiers[one] == (Notifier::Published { is_confirmed: true })
                    && rows.troubles < TROUBLES =>
            {
                next.troubles += 1;
                next.notifiers[one] = Notifier::Published { is_confirmed: false };
            }
            Step::Mark(one) if rows.notifiers[one] == (Notifier::Published { is_confirmed: true }) => {
                (next.notifiers[one], next.row) = (Notifier::Idle, None);
            }
            Step::PutBack(one) if rows.notifiers[one] == (Notifier::Published { is_confirmed: false }) => {
                next.notifiers[one] = Notifier::Idle;
                next.row = rows.row.map(|_| false);
            }
            Step::Dies(one) if rows.notifiers[one] != Notifier::Idle && rows.troubles < TROUBLES => {
                next.troubles += 1;
                next.notifiers[one] = Notifier::Idle;
            }
            _ => return None,
        }
        Some(next)
    }

    fn within_boundary(&self, rows: &Rows) -> bool {
        rows.copies.len() < 6
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_MESSAGE, |_, rows: &Rows| rows.is_one_message()),
            Property::always(ALL_REPORTED, |race, rows: &Rows| {
                !is_over(race, rows) || of_notifications(&rows.ends(), &rows.notifications()).is_empty()
            }),
            Property::sometimes("a notification is sent twice", |_, rows: &Rows| rows.copies.len() > 1),
            Property::sometimes("a row is gone", |_, rows: &Rows| rows.is_ended && rows.row.is_none()),
        ]
    }
}

const ONE_MESSAGE: &str = "all copies are one message, and none is of an end that is none";
const ALL_REPORTED: &str = "every end is reported";

#[test]
fn ord_19_an_end_is_reported_by_one_message_despite_deaths_and_lost_confirms() {
    holds(Race(None), 50);
}

#[test]
fn ord_19_a_row_that_is_removed_before_its_confirm_is_refused() {
    is_refused(Race(Some(Twin::RemovedBeforeConfirm)), ALL_REPORTED);
}

#[test]
fn ord_19_a_row_that_is_written_after_the_end_is_refused() {
    is_refused(Race(Some(Twin::WrittenAfterwards)), ALL_REPORTED);
}

#[test]
fn ord_19_copies_with_ids_of_their_own_are_refused() {
    is_refused(Race(Some(Twin::FreshId)), ONE_MESSAGE);
}

#[test]
fn ord_19_a_message_that_goes_out_before_the_commit_is_refused() {
    is_refused(Race(Some(Twin::SentBeforeCommit)), ONE_MESSAGE);
}
