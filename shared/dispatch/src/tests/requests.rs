//! Open requests: which of them a limit looks at, and how rows correct what news says.

use pagurus_domain::system::CallKind;

use super::super::*;
use super::limits::{calls, ready, rules, stop, tell, with};
use super::*;

/// A flow with a limit of five in this mode, whose system was seen to answer requests after `answers_after` seconds.
fn asking(mode: DistributionMode, answers_after: u64) -> Dispatcher {
    let mut dispatcher = dispatcher(with(rules(mode), &[]));
    let mut answered = calls("order", "stock", CallOutcome::Answered, 1);
    answered.kind = CallKind::Asynchronous;
    answered.latencies = Latencies::default();
    answered.latencies.note(Duration::from_secs(answers_after));
    tell(&mut dispatcher, answered, 0);
    polled(&mut dispatcher, 2);
    dispatcher.handle(DispatchEvent::Stops(vec![stop(1, "", Some(5))]), second(2));
    dispatcher
}

pub(super) fn asks(dispatcher: &mut Dispatcher, by: i32, at: i64) {
    let moved = RequestsMoved { flow: Arc::from("order"), system: Arc::from("stock"), by };
    dispatcher.handle(DispatchEvent::RequestsMoved(vec![moved]), second(at));
}

fn counted(dispatcher: &mut Dispatcher, open: u32, recent: u32, at: i64) {
    dispatcher.handle(DispatchEvent::RequestsMarked, second(at));
    let row = OpenRequests { flow: Arc::from("order"), system: Arc::from("stock"), open, recent };
    dispatcher.handle(DispatchEvent::OpenRequests(vec![row]), second(at));
}

#[test]
fn dsp_7_requests_that_are_soon_answered_count_against_the_limit_and_rows_correct_them() {
    let mut dispatcher = asking(DistributionMode::LimitedFlows, 1);
    counted(&mut dispatcher, 0, 0, 3);
    ready(&mut dispatcher, 1..=50);
    assert_eq!(polled(&mut dispatcher, 5), [1, 2, 3, 4, 5]);
    asks(&mut dispatcher, 5, 5);
    for no in 1..=5 {
        dispatcher.handle(ended(no, 1, None), second(5));
    }
    assert_eq!(polled(&mut dispatcher, 5), NOBODY, "all that may be open is open");
    // Two of the waits ended in a way that nobody tells of.
    counted(&mut dispatcher, 3, 3, 6);
    assert_eq!(polled(&mut dispatcher, 6), NOBODY, "news may be under way");
    counted(&mut dispatcher, 3, 3, 7);
    assert_eq!(polled(&mut dispatcher, 7).len(), 2);
    asks(&mut dispatcher, -3, 8);
    assert_eq!(polled(&mut dispatcher, 8).len(), 3, "an answer frees its place at once");
    // One that is not answered within the time that a limit looks back on holds no place any more.
    for no in 6..=10 {
        dispatcher.handle(ended(no, 1, None), second(9));
    }
    asks(&mut dispatcher, 5, 9);
    assert_eq!(polled(&mut dispatcher, 9), NOBODY);
    (70..=71).for_each(|at| counted(&mut dispatcher, 5, 0, at));
    assert_eq!(polled(&mut dispatcher, 71).len(), 5);
}

#[test]
fn dsp_7_requests_that_people_answer_throttle_nothing_and_no_mode_but_the_adaptive_one_looks_at_requests() {
    for (mode, after) in [
        (DistributionMode::LimitedFlows, 7200),
        (DistributionMode::StoppedFlows, 1),
        (DistributionMode::Simple, 1),
    ] {
        let mut dispatcher = asking(mode, after);
        asks(&mut dispatcher, 1000, 4);
        counted(&mut dispatcher, 1000, 1000, 4);
        ready(&mut dispatcher, 1..=5);
        assert_eq!(polled(&mut dispatcher, 5).len(), 5, "{mode} {after}");
    }
}

#[test]
fn inv_36_a_new_dispatcher_begins_with_the_requests_that_the_rows_have() {
    let mut first = asking(DistributionMode::LimitedFlows, 1);
    polled(&mut first, 5);
    let (flows, systems) = (first.changed_flows(second(6)), first.changed_systems(second(6)));
    let mut next = Dispatcher::new(with(rules(DistributionMode::LimitedFlows), &[]));
    next.handle(DispatchEvent::Remembered { flows, systems }, second(7));
    next.handle(DispatchEvent::Stops(vec![]), second(7));
    let row = OpenRequests { flow: Arc::from("order"), system: Arc::from("stock"), open: 4, recent: 4 };
    next.handle(DispatchEvent::OpenRequests(vec![row]), second(7));
    next.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 1000 }, second(7));
    next.handle(DispatchEvent::InProgress(nothing()), second(7));
    ready(&mut next, 1..=50);
    assert_eq!(polled(&mut next, 7).len(), 1, "four of five are open");
}
