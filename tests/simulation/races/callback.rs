//! The race of a callback, the time-out of the wait for it, a kill and a crash (SCN-7): the callback may come before the stage
//! that asked has ended, twice, and at the very moment of the time-out.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::invariants::standing::{OrderStanding, of_order};
use pagurus_domain::order::change::{Change, Waking};
use pagurus_domain::order::stage::Wake;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{Mode, Status};
use stateright::{Model, Property};

use crate::{holds, is_over, is_refused};

/// Crashes of the worker.
const CRASHES: u8 = 1;

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twin {
    /// The end of a stage does not look for answers that came before.
    EarlyAnswerOverlooked,
    /// An answer is accepted only while the order waits.
    OnlyWhileItWaits,
    /// An answer is stored in one transaction, and wakes in another, before which its process may die.
    WakesInAnother,
    /// The time-out does not ask whether the order still rests.
    TimeOutAsksNothing,
    /// A second answer to the same request is accepted, too.
    SecondAccepted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Open,
    Answered,
    Timeout,
    Canceled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Running,
    Due,
    Ready(Wake),
    Nowhere,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rows {
    status: Status,
    place: Place,
    request: Option<Request>,
    awaited: bool,
    /// True once the called system has answered; the message comes again until it is acknowledged.
    sent: bool,
    acknowledged: bool,
    verdicts: Vec<&'static str>,
    /// The answer is stored, and nobody has woken the order yet: only a twin knows this.
    to_wake: bool,
    wakings: Vec<Wake>,
    crashes: u8,
    has_waited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Ask,
    SystemAnswers,
    Deliver,
    Wake,
    IntakeDies,
    Acknowledge,
    EndStage,
    TimeOut,
    Kill,
    WorkerDies,
    Finish,
}

#[derive(Clone, Debug)]
struct Race(Option<Twin>);

impl Race {
    fn is(&self, twin: Twin) -> bool {
        self.0 == Some(twin)
    }

    /// Stores an answer, and wakes the order if it was the last one.
    fn deliver(&self, rows: &mut Rows) {
        let lives = !rows.status.is_final();
        let is_late = self.is(Twin::OnlyWhileItWaits) && rows.place != Place::Due;
        let verdict = match rows.request {
            Some(Request::Open) if lives && !is_late => "accepted",
            Some(Request::Answered) if self.is(Twin::SecondAccepted) => "accepted",
            Some(Request::Answered) => "duplicate",
            _ => "late",
        };
        rows.verdicts.push(verdict);
        if verdict == "accepted" {
            rows.request = Some(Request::Answered);
            if self.is(Twin::WakesInAnother) {
                rows.to_wake = true;
            } else {
                rows.wake_answered();
            }
        }
    }
}

impl Rows {
    /// Wakes an order that waits and whose awaited answer is in.
    fn wake_answered(&mut self) {
        if self.place == Place::Due && self.awaited && self.request == Some(Request::Answered) {
            self.wake(Waking::Answered);
        }
    }

    fn wake(&mut self, by: Waking) {
        if by.times_requests_out() && self.request == Some(Request::Open) {
            self.request = Some(Request::Timeout);
        }
        self.place = Place::Ready(by.wake());
        self.wakings.push(by.wake());
    }

    fn standing(&self) -> OrderStanding<'static> {
        OrderStanding {
            no: OrderNo(1),
            status: self.status,
            attempt: Attempt(self.wakings.len() as i32),
            mode: Mode::Parallel,
            ready: matches!(self.place, Place::Ready(_))
                .then_some((Attempt(self.wakings.len() as i32 + 1), None)),
            running: (self.place == Place::Running).then_some((Attempt(self.wakings.len() as i32), None)),
            due: (self.place == Place::Due).then_some((Stream::Wait, Some(Timestamp::UNIX_EPOCH))),
            queued: None,
            has_deadlines: false,
            has_snapshot: self.has_waited,
            awaited: (
                usize::from(self.awaited),
                usize::from(self.awaited && self.request == Some(Request::Answered) && !self.to_wake),
            ),
        }
    }
}

impl Model for Race {
    type State = Rows;
    type Action = Step;

    fn init_states(&self) -> Vec<Rows> {
        vec![Rows {
            status: Status::Running,
            place: Place::Running,
            request: None,
            awaited: false,
            sent: false,
            acknowledged: false,
            verdicts: Vec::new(),
            to_wake: false,
            wakings: Vec::new(),
            crashes: 0,
            has_waited: false,
        }]
    }

    fn actions(&self, _: &Rows, steps: &mut Vec<Step>) {
        steps.extend([
            Step::Ask,
            Step::SystemAnswers,
            Step::Deliver,
            Step::Wake,
            Step::IntakeDies,
            Step::Acknowledge,
            Step::EndStage,
            Step::TimeOut,
            Step::Kill,
            Step::WorkerDies,
            Step::Finish,
        ]);
    }

    fn next_state(&self, rows: &Rows, step: Step) -> Option<Rows> {
        let mut next = rows.clone();
        let asks = rows.place == Place::Running && !rows.has_waited;
        match step {
            // The same action of the same visit has the same request, over a crash, too.
            Step::Ask if asks && rows.request.is_none() => next.request = Some(Request::Open),
            Step::SystemAnswers if rows.request.is_some() && !rows.sent => next.sent = true,
            // It comes twice at most: a third is answered as the second is.
            Step::Deliver if rows.sent && !rows.acknowledged && rows.verdicts.len() < 2 => {
                self.deliver(&mut next);
            }
            Step::Wake if rows.to_wake => {
                next.to_wake = false;
                next.wake_answered();
            }
            Step::IntakeDies if rows.to_wake => next.to_wake = false,
            Step::Acknowledge if !rows.verdicts.is_empty() && !rows.acknowledged => next.acknowledged = true,
            Step::EndStage if asks && rows.request.is_some() => {
                next.status = Change::of(rows.status, Cause::Waited).ok()?.to;
                (next.place, next.awaited, next.has_waited) = (Place::Due, true, true);
                if !self.is(Twin::EarlyAnswerOverlooked) {
                    next.wake_answered();
                }
            }
            Step::TimeOut if rows.has_waited && rows.wakings.len() < 2 => {
                let rests = rows.place == Place::Due;
                let again = self.is(Twin::TimeOutAsksNothing) && matches!(rows.place, Place::Ready(_));
                if !rests && !again {
                    return None;
                }
                next.wake(Waking::Due(Stream::Wait));
            }
            Step::Kill => {
                next.status = Change::of(rows.status, Cause::Killed).ok()?.to;
                next.place = Place::Nowhere;
                if rows.request == Some(Request::Open) {
                    next.request = Some(Request::Canceled);
                }
            }
            Step::WorkerDies if asks && rows.crashes < CRASHES => next.crashes += 1,
            Step::Finish if matches!(rows.place, Place::Ready(_)) => {
                next.status = Change::of(Status::Running, Cause::Succeeded).ok()?.to;
                next.place = Place::Nowhere;
            }
            _ => return None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(KEPT, |_, rows: &Rows| of_order(&rows.standing()).is_empty()),
            Property::always(ONCE, |_, rows: &Rows| rows.wakings.len() < 2),
            Property::always(ONE_OUTCOME, |_, rows: &Rows| {
                rows.verdicts.iter().filter(|verdict| **verdict == "accepted").count() < 2
            }),
            Property::always(IN_TIME, |_, rows: &Rows| {
                let came_first = rows.sent && rows.verdicts.first() == Some(&"late");
                !came_first || rows.status.is_final() || rows.wakings.first() == Some(&Wake::Timer)
            }),
            Property::always(ENDS, |race, rows: &Rows| !is_over(race, rows) || rows.status.is_final()),
            Property::sometimes("a callback comes before the stage has ended", |_, rows: &Rows| {
                !rows.has_waited && rows.verdicts == ["accepted"]
            }),
            Property::sometimes("a callback comes twice", |_, rows: &Rows| {
                rows.verdicts == ["accepted", "duplicate"]
            }),
            Property::sometimes("a callback comes too late", |_, rows: &Rows| {
                rows.wakings == [Wake::Timer] && rows.verdicts == ["late"]
            }),
        ]
    }
}

const KEPT: &str = "who waits, waits for an answer that is still to come";
const ONCE: &str = "one suspension ends once";
const ONE_OUTCOME: &str = "one request has one outcome";
const IN_TIME: &str = "what comes in time is accepted";
const ENDS: &str = "every order ends";

#[test]
fn scn_7_a_callback_counts_once_in_whatever_order_it_the_time_out_a_kill_and_a_crash_come() {
    holds(Race(None), 100);
}

#[test]
fn scn_7_an_answer_that_came_early_and_is_overlooked_is_refused() {
    is_refused(Race(Some(Twin::EarlyAnswerOverlooked)), KEPT);
}

#[test]
fn scn_7_an_answer_that_counts_only_while_the_order_waits_is_refused() {
    is_refused(Race(Some(Twin::OnlyWhileItWaits)), IN_TIME);
}

#[test]
fn scn_7_an_answer_that_wakes_in_a_second_transaction_is_refused() {
    is_refused(Race(Some(Twin::WakesInAnother)), KEPT);
}

#[test]
fn scn_7_a_time_out_that_does_not_ask_whether_the_order_rests_is_refused() {
    is_refused(Race(Some(Twin::TimeOutAsksNothing)), ONCE);
}

#[test]
fn scn_7_a_second_answer_that_is_accepted_is_refused() {
    is_refused(Race(Some(Twin::SecondAccepted)), ONE_OUTCOME);
}
