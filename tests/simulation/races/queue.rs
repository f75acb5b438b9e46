//! The race for a queue: two sequential orders, one of which sleeps and comes back, with workers that are taken for lost and
//! write late (ORD-10 to 13).

use std::collections::BTreeMap;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::invariants::standing::{OrderStanding, of_order, of_queues};
use pagurus_domain::order::change::{Change, Membership, Waking};
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{Mode, Status};
use stateright::{Model, Property};

use crate::{holds, is_over, is_refused};

const QUEUE: &str = "q";
const ORDERS: usize = 2;
/// Times that a stage is handed out again.
const RECOVERIES: u8 = 1;

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twin {
    /// A claim asks for no head of the queue.
    ClaimIgnoresHead,
    /// A stage that is handed out again leaves its queue.
    ReissueLeaves,
    /// A sleep keeps its queue.
    SleepKeeps,
    /// An order that wakes comes back to its old position.
    WakesAtItsOldPosition,
    /// An end keeps its queue.
    EndKeeps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Ready,
    Running,
    Due,
    Nowhere,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Order {
    status: Status,
    place: Place,
    attempt: i32,
    has_slept: bool,
    recovered: u8,
    first_position: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rows {
    orders: [Order; ORDERS],
    members: BTreeMap<i64, usize>,
    last_position: i64,
    /// Stages that workers still run: order and number of the hand-out. More than the tables know.
    workers: Vec<(usize, i32)>,
    started: Vec<usize>,
    late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Claim(usize),
    Sleep(usize, i32),
    Finish(usize, i32),
    Wake(usize),
    Recover(usize),
    Kill(usize),
}

#[derive(Clone, Debug)]
struct Race(Option<Twin>);

impl Race {
    fn is(&self, twin: Twin) -> bool {
        self.0 == Some(twin)
    }

    /// Ends a stage by a cause, under the number of its hand-out; `None` if the cause does not apply.
    fn end(&self, rows: &mut Rows, (no, attempt): (usize, i32), cause: Cause) -> Option<()> {
        rows.workers.retain(|one| *one != (no, attempt));
        if rows.orders[no].place != Place::Running || rows.orders[no].attempt != attempt {
            rows.late = true;
            return Some(());
        }
        let change = Change::of(Status::Running, cause).ok()?;
        let keeps = (cause == Cause::Slept && self.is(Twin::SleepKeeps))
            || (cause == Cause::Succeeded && self.is(Twin::EndKeeps));
        rows.apply(no, &change, keeps);
        Some(())
    }
}

impl Rows {
    fn apply(&mut self, no: usize, change: &Change, keeps: bool) {
        let order = &mut self.orders[no];
        order.status = change.to;
        order.place = if change.to.is_final() { Place::Nowhere } else { Place::Due };
        if change.membership == Membership::Leaves && !keeps {
            self.members.retain(|_, member| *member != no);
        }
    }

    fn position(&self, no: usize) -> Option<i64> {
        self.members.iter().find(|(_, member)| **member == no).map(|(position, _)| *position)
    }

    fn has_one_owner(&self) -> bool {
        let number = |no: usize| OrderNo(no as i64 + 1);
        let running = (0..ORDERS).filter(|no| self.orders[*no].place == Place::Running);
        let members = self.members.iter().map(|(position, no)| (QUEUE, *position, number(*no)));
        of_queues(running.map(|no| (number(no), QUEUE)), members).is_empty()
            && (0..ORDERS).all(|no| of_order(&self.standing(no)).is_empty())
    }

    fn standing(&self, no: usize) -> OrderStanding<'static> {
        let order = &self.orders[no];
        let place = self.position(no).map(|position| (QUEUE, position));
        OrderStanding {
            no: OrderNo(no as i64 + 1),
            status: order.status,
            attempt: Attempt(order.attempt - i32::from(order.place == Place::Ready)),
            mode: Mode::Sequential,
            ready: (order.place == Place::Ready).then_some((Attempt(order.attempt), place)),
            running: (order.place == Place::Running).then_some((Attempt(order.attempt), Some(QUEUE))),
            due: (order.place == Place::Due).then_some((Stream::Youngest, Some(Timestamp::UNIX_EPOCH))),
            queued: place,
            has_deadlines: false,
            has_snapshot: true,
            awaited: (0, 0),
        }
    }
}

impl Model for Race {
    type State = Rows;
    type Action = Step;

    fn init_states(&self) -> Vec<Rows> {
        let order = |no: usize| Order {
            status: Status::New,
            place: Place::Ready,
            attempt: 1,
            has_slept: false,
            recovered: 0,
            first_position: no as i64 + 1,
        };
        vec![Rows {
            orders: [order(0), order(1)],
            members: BTreeMap::from([(1, 0), (2, 1)]),
            last_position: 2,
            workers: Vec::new(),
            started: Vec::new(),
            late: false,
        }]
    }

    fn actions(&self, rows: &Rows, steps: &mut Vec<Step>) {
        for no in 0..ORDERS {
            steps.extend([Step::Claim(no), Step::Wake(no), Step::Recover(no), Step::Kill(no)]);
        }
        for (no, attempt) in &rows.workers {
            steps.extend([Step::Sleep(*no, *attempt), Step::Finish(*no, *attempt)]);
        }
    }

    fn next_state(&self, rows: &Rows, step: Step) -> Option<Rows> {
        let mut next = rows.clone();
        match step {
            Step::Claim(no) if rows.orders[no].place == Place::Ready => {
                let place = rows.position(no);
                let is_head = place.is_none_or(|at| rows.members.keys().next() == Some(&at));
                if !is_head && !self.is(Twin::ClaimIgnoresHead) {
                    return None;
                }
                next.orders[no].place = Place::Running;
                next.workers.push((no, rows.orders[no].attempt));
                if !rows.started.contains(&no) {
                    next.started.push(no);
                }
            }
            Step::Sleep(no, attempt) if !rows.orders[no].has_slept => {
                self.end(&mut next, (no, attempt), Cause::Slept)?;
                next.orders[no].has_slept |= next.orders[no].place == Place::Due;
            }
            Step::Finish(no, attempt) => self.end(&mut next, (no, attempt), Cause::Succeeded)?,
            Step::Wake(no) if rows.orders[no].place == Place::Due => {
                let by = Waking::Due(Stream::Youngest);
                if by.membership() == Membership::TakesTail && rows.position(no).is_none() {
                    let old = self.is(Twin::WakesAtItsOldPosition);
                    next.last_position += i64::from(!old);
                    let position = if old { rows.orders[no].first_position } else { next.last_position };
                    next.members.insert(position, no);
                }
                next.orders[no].place = Place::Ready;
                next.orders[no].attempt += 1;
            }
            // Its worker may live, and write late.
            Step::Recover(no)
                if rows.orders[no].place == Place::Running && rows.orders[no].recovered < RECOVERIES =>
            {
                next.orders[no].place = Place::Ready;
                next.orders[no].attempt += 1;
                next.orders[no].recovered += 1;
                if self.is(Twin::ReissueLeaves) {
                    next.members.retain(|_, member| *member != no);
                }
            }
            Step::Kill(no) => {
                let order = &rows.orders[no];
                let shown = if order.place == Place::Running { Status::Running } else { order.status };
                let change = Change::of(shown, Cause::Killed).ok()?;
                next.apply(no, &change, false);
            }
            _ => return None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_OWNER, |_, rows: &Rows| rows.has_one_owner()),
            Property::always(IN_ORDER, |_, rows: &Rows| {
                // The second starts before the first only if that one was ended before it began.
                rows.started != [1, 0]
            }),
            Property::always(ENDS, |race, rows: &Rows| {
                !is_over(race, rows) || rows.orders.iter().all(|order| order.status.is_final())
            }),
            Property::sometimes("a late end is refused", |_, rows: &Rows| rows.late),
            Property::sometimes("the second overtakes the first, which sleeps", |_, rows: &Rows| {
                rows.orders[0].place == Place::Due && rows.orders[1].status == Status::Success
            }),
            Property::sometimes("one that comes back waits for another", |_, rows: &Rows| {
                rows.orders[0].has_slept
                    && rows.orders[0].place == Place::Ready
                    && rows.orders[1].place == Place::Running
            }),
        ]
    }
}

const ONE_OWNER: &str = "a queue has one owner, which is its head, and who sleeps is no member";
const IN_ORDER: &str = "orders begin in the order of their registration";
const ENDS: &str = "every order ends";

#[test]
fn ord_10_a_queue_has_one_owner_over_sleeps_late_writes_and_hand_outs_by_recovery() {
    holds(Race(None), 500);
}

#[test]
fn ord_10_a_claim_that_asks_for_no_head_is_refused() {
    is_refused(Race(Some(Twin::ClaimIgnoresHead)), ONE_OWNER);
    is_refused(Race(Some(Twin::ClaimIgnoresHead)), IN_ORDER);
}

#[test]
fn ord_13_a_stage_that_leaves_its_queue_when_it_is_handed_out_again_is_refused() {
    is_refused(Race(Some(Twin::ReissueLeaves)), ONE_OWNER);
}

#[test]
fn ord_12_a_sleep_that_keeps_its_queue_is_refused() {
    is_refused(Race(Some(Twin::SleepKeeps)), ONE_OWNER);
}

#[test]
fn ord_12_a_waking_at_the_old_position_is_refused() {
    is_refused(Race(Some(Twin::WakesAtItsOldPosition)), ONE_OWNER);
}

#[test]
fn ord_13_an_end_that_keeps_its_queue_is_refused() {
    is_refused(Race(Some(Twin::EndKeeps)), ONE_OWNER);
}
