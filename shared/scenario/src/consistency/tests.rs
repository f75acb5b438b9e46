//! One healthy order of each kind, and every way in which it can be broken.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::consistency::{
    ConsistencyRepair, DueFacts, Found, Inconsistency as Kind, OrderFacts, OrderRowFacts, PlaceName,
    ReadyFacts, RunningFacts,
};
use pagurus_domain::id::{Attempt, Life, OrderNo};
use pagurus_domain::invariants::Invariant;
use pagurus_domain::order::{Mode, Status};

use super::judge;

const RESTS: &str =
    r#"{"state": "a", "visit": 1, "rest": {"status": "STATUS", "until": "2026-01-01T00:00:00Z"}}"#;
const ASKED: &str = r#"{"state": "a", "visit": 1, "rest": {"status": "wait", "until": "2026-01-01T00:00:00Z"},
    "requests": [{"name": "r", "id": "00000000-0000-4000-8000-000000000001"}]}"#;

fn until() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// An order in this status, without a place.
fn nowhere(status: Status) -> OrderFacts {
    let has_started = !matches!(status, Status::New | Status::Reopen | Status::Postponed);
    OrderFacts {
        no: OrderNo(7),
        order: Some(OrderRowFacts {
            status,
            mode: Mode::Sequential,
            life: Life(1),
            attempt: Attempt(i32::from(has_started)),
            start_at: None,
            start_deadline: None,
            has_started,
            events: 3,
            events_in_history: 3,
            has_scenario: true,
            open_conditions: 0,
            waiting_calls: 0,
            greatest_life: Life(1),
            failure_fits: true,
            requests: None,
            awaited_open: 0,
        }),
        running: None,
        ready: None,
        due: None,
        queued: None,
        has_deadlines: false,
        has_start_deadline: false,
        has_params: true,
        snapshot: has_started.then(|| RESTS.replace("STATUS", status.as_str())),
    }
}

fn ready() -> OrderFacts {
    OrderFacts {
        ready: Some(ReadyFacts { attempt: Attempt(1), place: Some(("q".into(), 5)), is_reissued: false }),
        queued: Some(("q".into(), 5, Some(6))),
        ..nowhere(Status::New)
    }
}

fn running() -> OrderFacts {
    let row = RunningFacts { attempt: Attempt(2), queue: Some("q".into()), is_node_known: true };
    OrderFacts { running: Some(row), queued: Some(("q".into(), 5, Some(5))), ..nowhere(Status::Sleep) }
}

fn due(status: Status, stream: Stream) -> OrderFacts {
    OrderFacts { due: Some(DueFacts { stream: stream.number() }), ..nowhere(status) }
}

fn waits() -> OrderFacts {
    let mut facts = due(Status::Wait, Stream::Wait);
    facts.snapshot = Some(ASKED.to_owned());
    let id = "00000000-0000-4000-8000-000000000001".parse().unwrap();
    (order(&mut facts).requests, order(&mut facts).awaited_open) = (Some(vec![(id, false)]), 1);
    facts
}

fn order(facts: &mut OrderFacts) -> &mut OrderRowFacts {
    facts.order.as_mut().unwrap()
}

fn healthy() -> Vec<OrderFacts> {
    let mut dependent = due(Status::Postponed, Stream::Dependent);
    order(&mut dependent).open_conditions = 1;
    let mut all = vec![ready(), running(), waits(), dependent];
    all.extend([
        due(Status::Sleep, Stream::Youngest),
        due(Status::Sleep, Stream::Oldest),
        due(Status::Polling, Stream::Polling),
        due(Status::Retry, Stream::Retry),
        due(Status::Postponed, Stream::Postponed),
    ]);
    all.extend([Status::Success, Status::Fail, Status::Interrupted, Status::Canceled].map(nowhere));
    all
}

#[test]
fn rec_6_nothing_is_found_in_what_is_well() {
    for facts in healthy() {
        assert_eq!(judge(&facts), [], "{facts:?}");
        assert_eq!(facts.violations(), [], "{facts:?}");
    }
}

#[test]
fn qlt_14_the_invariants_judge_the_same_rows_on_their_own() {
    let broken = |facts: OrderFacts| -> Vec<Invariant> {
        facts.violations().into_iter().map(|one| one.invariant).collect()
    };
    assert_eq!(broken(nowhere(Status::New)), [Invariant::WillWake]);
    assert_eq!(broken(OrderFacts { ready: ready().ready, ..running() }), [Invariant::OneAttempt; 2]);
    assert_eq!(broken(OrderFacts { queued: None, ..ready() }), [Invariant::OneOwner]);
    assert_eq!(broken(OrderFacts { has_deadlines: true, ..nowhere(Status::Success) }), [Invariant::OneEnd]);
    assert_eq!(broken(due(Status::Sleep, Stream::Retry)), [Invariant::WillWake]);
    let mut unknown = due(Status::Sleep, Stream::Oldest);
    unknown.due = Some(DueFacts { stream: 99 });
    assert_eq!(broken(unknown), [], "the other judgement names it");
    assert_eq!(broken(OrderFacts { order: None, ..ready() }), []);
}

/// A way to break what is well, with what is to be found.
type Case = (OrderFacts, fn(&mut OrderFacts), Kind, Option<ConsistencyRepair>);

fn of_places() -> Vec<Case> {
    let running = running();
    let rest = |stream| Some(ConsistencyRepair::Suspend { stream, at: Some(until()) });
    vec![
        (
            nowhere(Status::New),
            |_| {},
            Kind::NoPlace,
            Some(ConsistencyRepair::MakeReady { joins_queue: true }),
        ),
        (nowhere(Status::Sleep), |_| {}, Kind::NoPlace, rest(Stream::Oldest)),
        (nowhere(Status::Retry), |_| {}, Kind::NoPlace, rest(Stream::Retry)),
        (
            nowhere(Status::Sleep),
            |facts| facts.snapshot = Some(r#"{"state": "a", "visit": 1}"#.into()),
            Kind::NoPlace,
            Some(ConsistencyRepair::MakeReady { joins_queue: false }),
        ),
        (nowhere(Status::Running), |_| {}, Kind::NoPlace, None),
        (
            nowhere(Status::Postponed),
            |facts| order(facts).open_conditions = 1,
            Kind::NoPlace,
            Some(ConsistencyRepair::Suspend { stream: Stream::Dependent, at: None }),
        ),
        (
            nowhere(Status::Postponed),
            |facts| order(facts).start_at = Some(until()),
            Kind::NoPlace,
            rest(Stream::Postponed),
        ),
        (
            running.clone(),
            |facts| facts.due = Some(DueFacts { stream: 0 }),
            Kind::TwoPlaces,
            Some(ConsistencyRepair::KeepOnly(PlaceName::Running)),
        ),
        (nowhere(Status::Success), |facts| facts.due = Some(DueFacts { stream: 0 }), Kind::PlaceOfEnded, {
            Some(ConsistencyRepair::LeavePlaces)
        }),
        (
            nowhere(Status::Fail),
            |facts| facts.queued = Some(("q".into(), 1, Some(1))),
            Kind::QueueOwnerGone,
            Some(ConsistencyRepair::LeaveQueue),
        ),
    ]
}

fn of_queues_and_ends() -> Vec<Case> {
    let ready = ready();
    vec![
        (nowhere(Status::Fail), |facts| facts.has_deadlines = true, Kind::DeadlineOfEnded, {
            Some(ConsistencyRepair::DropDeadlines)
        }),
        (nowhere(Status::Fail), |facts| order(facts).waiting_calls = 1, Kind::CallWaitingOnEnded, {
            Some(ConsistencyRepair::CloseCalls)
        }),
        (nowhere(Status::Fail), |facts| order(facts).failure_fits = false, Kind::FailureRowMismatch, {
            Some(ConsistencyRepair::RewriteFailure)
        }),
        (nowhere(Status::Fail), |facts| order(facts).open_conditions = 1, Kind::ConditionLeftOpen, {
            Some(ConsistencyRepair::CloseConditions)
        }),
        (
            ready.clone(),
            |facts| facts.queued = None,
            Kind::MembershipDiffers,
            Some(ConsistencyRepair::RejoinQueue),
        ),
        (
            ready.clone(),
            |facts| facts.ready.as_mut().unwrap().place = None,
            Kind::MembershipDiffers,
            Some(ConsistencyRepair::FollowQueue),
        ),
        (
            ready.clone(),
            |facts| facts.queued = Some(("q".into(), 5, Some(4))),
            Kind::PositionAboveLast,
            Some(ConsistencyRepair::RaiseQueue),
        ),
        (ready.clone(), |facts| order(facts).attempt = Attempt(1), Kind::AttemptBehind, {
            Some(ConsistencyRepair::Renumber)
        }),
        (ready.clone(), |facts| order(facts).start_deadline = Some(until()), Kind::DeadlineMissing, {
            Some(ConsistencyRepair::WatchStart)
        }),
        (ready.clone(), |facts| facts.has_params = false, Kind::PayloadMissing, None),
    ]
}

fn of_stages_and_rests() -> Vec<Case> {
    let ready = ready();
    let running = running();
    let rest = |stream| Some(ConsistencyRepair::Suspend { stream, at: Some(until()) });
    vec![
        (ready.clone(), |facts| order(facts).has_scenario = false, Kind::ScenarioMissing, None),
        (ready.clone(), |facts| order(facts).greatest_life = Life(2), Kind::UnknownLife, None),
        (ready, |facts| order(facts).events_in_history = 2, Kind::HistoryGap, None),
        (
            running.clone(),
            |facts| facts.running.as_mut().unwrap().is_node_known = false,
            Kind::RunningWithoutNode,
            Some(ConsistencyRepair::HandOutAgain),
        ),
        (running, |facts| facts.queued = None, Kind::MembershipDiffers, Some(ConsistencyRepair::RejoinQueue)),
        (
            due(Status::Sleep, Stream::Youngest),
            |facts| facts.due.as_mut().unwrap().stream = 99,
            { Kind::DueWithoutStream },
            rest(Stream::Oldest),
        ),
        (due(Status::Sleep, Stream::Youngest), |facts| facts.snapshot = None, Kind::ContextMissing, None),
        (
            due(Status::Sleep, Stream::Youngest),
            |facts| facts.snapshot = Some("{".into()),
            Kind::ContextUnreadable,
            None,
        ),
        (
            due(Status::Postponed, Stream::Dependent),
            |_| {},
            Kind::WaitsForNothing,
            Some(ConsistencyRepair::Start),
        ),
        (waits(), |facts| order(facts).requests = Some(Vec::new()), Kind::AwaitedRequestMissing, None),
        (
            waits(),
            |facts| {
                let order = order(facts);
                order.requests.as_mut().unwrap()[0].1 = true;
                order.awaited_open = 0;
            },
            Kind::AnsweredNotWoken,
            Some(ConsistencyRepair::WakeAnswered),
        ),
    ]
}

#[test]
fn rec_6_each_contradiction_is_named_with_its_one_repair() {
    let cases = of_places().into_iter().chain(of_queues_and_ends()).chain(of_stages_and_rests());
    let mut seen: Vec<Kind> = vec![Kind::RowsWithoutOrder, Kind::QueuedWithoutOrder];
    for (mut facts, break_it, kind, repair) in cases {
        break_it(&mut facts);
        assert_eq!(judge(&facts), [Found { kind, repair }], "{facts:?}");
        seen.push(kind);
    }
    let missing: Vec<_> = Kind::ALL.iter().filter(|kind| !seen.contains(kind)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn rec_6_rows_that_no_order_has_go_and_a_queue_is_freed_of_them() {
    let mut facts = OrderFacts { order: None, ..ready() };
    let kinds = |facts: &OrderFacts| judge(facts).iter().map(|found| found.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&facts), [Kind::QueuedWithoutOrder, Kind::RowsWithoutOrder]);
    facts = OrderFacts { ready: None, queued: None, has_params: false, ..facts };
    assert_eq!(kinds(&facts), []);
}

#[test]
fn rec_6_of_two_places_that_counts_which_the_numbers_say_came_last() {
    let keep = |running: Option<i32>, ready: Option<i32>, is_due: bool| {
        let facts = OrderFacts {
            running: running.map(|attempt| RunningFacts {
                attempt: Attempt(attempt),
                queue: None,
                is_node_known: true,
            }),
            ready: ready.map(|attempt| ReadyFacts {
                attempt: Attempt(attempt),
                place: None,
                is_reissued: false,
            }),
            due: is_due.then_some(DueFacts { stream: 0 }),
            ..nowhere(Status::Sleep)
        };
        match judge(&facts)[..] {
            [Found { kind: Kind::TwoPlaces, repair: Some(ConsistencyRepair::KeepOnly(place)) }] => {
                Some(place)
            }
            [Found { kind: Kind::TwoPlaces, repair: None }] => None,
            ref other => panic!("{other:?}"),
        }
    };
    // The order itself stands at number 1.
    assert_eq!(keep(Some(2), Some(2), false), Some(PlaceName::Running));
    assert_eq!(keep(Some(2), Some(3), false), Some(PlaceName::Ready), "it was handed out again");
    assert_eq!(keep(None, Some(2), true), Some(PlaceName::Ready), "it was woken");
    assert_eq!(keep(None, Some(1), true), Some(PlaceName::Due), "its stage has ended");
    assert_eq!(keep(Some(2), None, true), Some(PlaceName::Running));
    assert_eq!(keep(Some(1), None, true), None, "it may have ended, and it may have come to an entry point");
    assert_eq!(keep(Some(2), Some(3), true), Some(PlaceName::Ready));
}
