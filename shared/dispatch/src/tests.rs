//! Examples of the policy as a whole, one rule each. What holds for any sequence of events stands
//! in [`property`], played against the tables in [`model`].
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod asked;
mod calling;
mod known;
mod limits;
mod model;
mod parts;
mod policy;
mod property;
mod requests;
mod shipped;
mod step;
mod weights;
mod windows;
mod wishes;

use pagurus_domain::{flow::*, id::*, order::Priority, system::*};

use super::*;
use limits::settings;

const NODE: Incarnation = Incarnation(1);
const OTHER: Incarnation = Incarnation(2);
const NOBODY: [i64; 0] = [];

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn parallel(no: i64) -> Ready {
    Ready {
        no: OrderNo(no),
        attempt: Attempt(1),
        flow: Arc::from("order"),
        priority: Priority::Normal,
        lane: Lane::Fresh,
        place: None,
    }
}

fn member(no: i64, queue: &str, position: i64) -> Ready {
    Ready { place: Some(QueuePosition { queue: Arc::from(queue), position }), ..parallel(no) }
}

/// A dispatcher that knows that nothing is stopped by hand.
fn started(settings: DispatchSettings) -> Dispatcher {
    let mut dispatcher = Dispatcher::new(settings);
    dispatcher.handle(DispatchEvent::Stops(Vec::new()), second(0));
    dispatcher
}

/// A dispatcher that has read what is in progress (nothing), with one wide node.
fn dispatcher(settings: DispatchSettings) -> Dispatcher {
    let mut dispatcher = started(settings);
    dispatcher.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 1000 }, second(0));
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(0));
    dispatcher
}

fn nothing() -> InProgress {
    InProgress { running: Vec::new(), ready: Vec::new() }
}

fn ended(no: i64, attempt: i32, left: Option<&str>) -> DispatchEvent {
    DispatchEvent::Ended {
        no: OrderNo(no),
        attempt: Attempt(attempt),
        left_queue: left.map(Arc::from),
        measured: None,
    }
}

fn refused(no: i64, serial: u64, why: Refusal) -> DispatchEvent {
    let hand_out = HandOut { no: OrderNo(no), attempt: Attempt(1), node: NODE, serial };
    DispatchEvent::Refused { hand_out, why }
}

fn head(queue: &str, no: i64, position: i64) -> DispatchEvent {
    let head = QueueMember { no: OrderNo(no), position, ready: None };
    DispatchEvent::QueueHeads(vec![QueueHead { queue: Arc::from(queue), head: Some(head) }])
}

fn polled(dispatcher: &mut Dispatcher, at: i64) -> Vec<i64> {
    dispatcher.poll(second(at), 1000).iter().map(|hand_out| hand_out.no.0).collect()
}

fn wanted(dispatcher: &mut Dispatcher, at: i64) -> Vec<String> {
    dispatcher.wanted_queues(second(at), 100).iter().map(ToString::to_string).collect()
}

#[test]
fn dsp_1_each_mode_keeps_to_its_capacity() {
    let mut dispatcher = dispatcher(settings(2, 1));
    let rows =
        vec![parallel(1), parallel(2), parallel(3), member(4, "a", 1), member(5, "b", 1), member(6, "c", 1)];
    dispatcher.handle(DispatchEvent::Ready(rows), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1, 4, 2]);
    dispatcher.handle(ended(4, 1, Some("a")), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [5]);
    dispatcher.handle(ended(1, 1, None), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [3]);
}

#[test]
fn dsp_1_nothing_goes_before_what_runs_is_known() {
    let mut dispatcher = started(settings(1, 1));
    dispatcher.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 9 }, second(0));
    dispatcher.handle(DispatchEvent::Ready(vec![parallel(2), member(4, "a", 2)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), NOBODY);

    let running = |no, queue: Option<&str>| Running {
        no: OrderNo(no),
        attempt: Attempt(1),
        node: OTHER,
        flow: Arc::from("order"),
        queue: queue.map(Arc::from),
    };
    let running = vec![running(1, None), running(3, Some("a"))];
    dispatcher.handle(DispatchEvent::InProgress(InProgress { running, ready: vec![] }), second(0));
    assert_eq!(polled(&mut dispatcher, 0), NOBODY, "all capacity is in use by what ran before");
    dispatcher.handle(ended(3, 1, Some("a")), second(1));
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(2));
    assert_eq!(polled(&mut dispatcher, 2), [2, 4], "an end unheard of was found by reading");
}

#[test]
fn dsp_1_stages_spread_over_nodes_and_stop_at_their_permits() {
    let mut dispatcher = dispatcher(settings(4, 0));
    dispatcher.handle(DispatchEvent::NodeUp { node: OTHER, concurrency: 1 }, second(0));
    dispatcher.handle(DispatchEvent::Ready((1..9).map(parallel).collect()), second(0));
    let nodes: Vec<i64> = dispatcher.poll(second(0), 9).iter().map(|hand_out| hand_out.node.0).collect();
    assert_eq!(nodes, [1, 2, 1], "two is the part of each, and the other runs one at once");
    dispatcher.handle(DispatchEvent::NodeDown { node: OTHER }, second(1));
    assert_eq!(polled(&mut dispatcher, 1), [4], "what was lost with the node counts until read");
}

#[test]
fn dsp_1_a_busy_or_unreached_node_rests_and_the_stage_keeps_its_turn() {
    let mut dispatcher = dispatcher(settings(9, 0));
    dispatcher.handle(DispatchEvent::Ready((1..=3).map(parallel).collect()), second(0));
    let sent = dispatcher.poll(second(0), 9);
    let busy = |hand_out| DispatchEvent::Refused { hand_out, why: Refusal::Busy };
    sent.into_iter().rev().for_each(|hand_out| dispatcher.handle(busy(hand_out), second(1)));
    dispatcher.handle(DispatchEvent::Ready(vec![parallel(4)]), second(1));
    assert_eq!(polled(&mut dispatcher, 1), NOBODY);
    assert!(dispatcher.next_wake().is_some_and(|wake| wake < second(2)));
    assert_eq!(polled(&mut dispatcher, 2), [1, 2, 3, 4]);
    dispatcher.handle(refused(3, 6, Refusal::Busy), second(2));
    assert_eq!(polled(&mut dispatcher, 3), [3]);
    dispatcher.handle(refused(3, 6, Refusal::Busy), second(3));
    assert_eq!(polled(&mut dispatcher, 4), NOBODY, "the same refusal once more");
}

#[test]
fn dsp_2_a_mass_of_high_priority_leaves_low_its_part() {
    let mut dispatcher = dispatcher(settings(100, 0));
    let rows = (1..=1000).map(|no| Ready { priority: Priority::High, ..parallel(no) });
    dispatcher.handle(DispatchEvent::Ready(rows.collect()), second(0));
    let rows = (1001..=1010).map(|no| Ready { priority: Priority::Low, ..parallel(no) });
    dispatcher.handle(DispatchEvent::Ready(rows.collect()), second(0));
    let low = polled(&mut dispatcher, 0).iter().filter(|no| **no > 1000).count();
    assert!((6..=7).contains(&low), "5 of 75 parts are low's: {low}");
}

#[test]
fn dsp_2_a_mass_wake_up_does_not_hold_up_fresh_orders() {
    let mut dispatcher = dispatcher(settings(6, 0));
    let rows = (1..=1000).map(|no| Ready { lane: Lane::Woken, ..parallel(no) });
    dispatcher.handle(DispatchEvent::Ready(rows.collect()), second(0));
    dispatcher.handle(DispatchEvent::Ready((1001..=1003).map(parallel).collect()), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1001, 1, 1002, 2, 1003, 3]);
}

#[test]
fn dsp_3_doubled_and_outdated_news_change_nothing() {
    let mut dispatcher = dispatcher(settings(9, 9));
    let rows = vec![parallel(1), member(2, "a", 1), member(3, "a", 2)];
    for _ in 0..3 {
        dispatcher.handle(DispatchEvent::Ready(rows.clone()), second(0));
    }
    assert_eq!(polled(&mut dispatcher, 0), [1, 2]);
    dispatcher.handle(DispatchEvent::Ready(rows.clone()), second(0));
    assert_eq!(polled(&mut dispatcher, 0), NOBODY);

    let again = Ready { attempt: Attempt(2), lane: Lane::Woken, ..member(2, "a", 3) };
    dispatcher.handle(DispatchEvent::Ready(vec![again]), second(1));
    dispatcher.handle(ended(2, 1, Some("a")), second(1));
    dispatcher.handle(ended(1, 1, None), second(1));
    dispatcher.handle(DispatchEvent::Ready(rows), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [3], "2 came back to the tail of its queue");
    dispatcher.handle(DispatchEvent::LeftReady { no: OrderNo(2), attempt: Attempt(1) }, second(2));
    dispatcher.handle(ended(3, 1, Some("a")), second(2));
    assert_eq!(polled(&mut dispatcher, 2), [2]);
}

#[test]
fn dsp_3_a_silent_hand_out_is_sent_again_or_dropped() {
    let mut dispatcher = dispatcher(settings(2, 0));
    dispatcher.handle(DispatchEvent::Ready((1..=3).map(parallel).collect()), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1, 2]);
    assert_eq!(dispatcher.doubtful(second(4)), []);
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(4));
    assert_eq!(polled(&mut dispatcher, 4), NOBODY, "it is not time yet");

    assert_eq!(dispatcher.doubtful(second(5)), [OrderNo(1), OrderNo(2)]);
    let ready = vec![(OrderNo(2), Attempt(1))];
    dispatcher.handle(DispatchEvent::InProgress(InProgress { ready, running: vec![] }), second(5));
    assert_eq!(polled(&mut dispatcher, 5), [2, 3]);

    dispatcher.handle(refused(2, 3, Refusal::Gone), second(6));
    dispatcher.handle(DispatchEvent::Ready(vec![parallel(4)]), second(6));
    assert_eq!(polled(&mut dispatcher, 6), NOBODY, "the first message may have been taken");
    assert_eq!(dispatcher.doubtful(second(6)), [OrderNo(2)]);
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(6));
    assert_eq!(polled(&mut dispatcher, 6), [4]);
}

#[test]
fn dsp_1_what_was_sent_twice_keeps_its_permit_when_refused() {
    let mut dispatcher = dispatcher(settings(1, 0));
    dispatcher.handle(DispatchEvent::Ready(vec![parallel(1)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1]);
    assert_eq!(dispatcher.doubtful(second(5)), [OrderNo(1)]);
    let ready = vec![(OrderNo(1), Attempt(1))];
    dispatcher.handle(DispatchEvent::InProgress(InProgress { ready, running: vec![] }), second(5));
    assert_eq!(polled(&mut dispatcher, 5), [1]);

    let urgent = Ready { priority: Priority::High, ..parallel(2) };
    dispatcher.handle(DispatchEvent::Ready(vec![urgent]), second(6));
    dispatcher.handle(refused(1, 2, Refusal::Busy), second(6));
    assert_eq!(polled(&mut dispatcher, 7), [1], "its first message may still be taken");
}

#[test]
fn dsp_3_a_member_that_is_gone_leaves_a_question_about_its_queue() {
    let mut dispatcher = dispatcher(settings(0, 9));
    dispatcher.handle(DispatchEvent::Ready(vec![member(1, "a", 1), member(2, "a", 2)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1]);
    dispatcher.handle(refused(1, 1, Refusal::Gone), second(1));
    assert_eq!(polled(&mut dispatcher, 1), NOBODY, "it may be suspended and own the queue");
    assert_eq!(wanted(&mut dispatcher, 1), ["a"]);
    dispatcher.handle(head("a", 2, 2), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [2]);
}

#[test]
fn dsp_3_a_refused_member_waits_for_the_truth_and_does_not_spin() {
    let mut dispatcher = dispatcher(settings(0, 9));
    dispatcher.handle(DispatchEvent::Ready(vec![member(2, "a", 2)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [2]);
    dispatcher.handle(refused(2, 1, Refusal::Behind), second(1));
    assert_eq!(polled(&mut dispatcher, 1), NOBODY);
    assert_eq!(wanted(&mut dispatcher, 1), ["a"]);
    assert_eq!(wanted(&mut dispatcher, 1), [""; 0]);
    dispatcher.handle(head("a", 1, 1), second(1));
    assert_eq!(polled(&mut dispatcher, 1), NOBODY, "1 owns the queue and is suspended");
    assert_eq!(wanted(&mut dispatcher, 9), ["a"], "its end may go unheard");
    dispatcher.handle(DispatchEvent::LeftQueue { no: OrderNo(1), queue: Arc::from("a") }, second(9));
    assert_eq!(polled(&mut dispatcher, 9), [2]);
    dispatcher.handle(head("a", 1, 1), second(9));
    dispatcher.handle(ended(2, 1, Some("a")), second(9));
    assert_eq!(dispatcher.stats().queues, 0);
}

#[test]
fn dsp_3_an_answer_from_before_the_last_change_does_not_shut_the_queue() {
    let mut dispatcher = dispatcher(settings(0, 1));
    dispatcher.handle(DispatchEvent::Ready(vec![member(2, "a", 2)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [2]);
    dispatcher.handle(refused(2, 1, Refusal::Behind), second(1));
    dispatcher.handle(DispatchEvent::Ready(vec![member(3, "b", 3)]), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [3], "takes the only permit");
    assert_eq!(wanted(&mut dispatcher, 1), ["a"]);
    dispatcher.handle(head("a", 1, 1), second(1));
    assert_eq!(wanted(&mut dispatcher, 9), ["a"]);

    dispatcher.handle(ended(1, 1, Some("a")), second(9));
    dispatcher.handle(head("a", 1, 1), second(9));
    dispatcher.handle(ended(3, 1, Some("b")), second(9));
    assert_eq!(polled(&mut dispatcher, 9), [2]);
}

#[test]
fn ord_10_a_queue_goes_one_by_one_in_order_of_position() {
    let mut dispatcher = dispatcher(settings(0, 9));
    let rows = vec![member(3, "a", 30), member(1, "a", 10), member(9, "b", 5), member(2, "a", 20)];
    dispatcher.handle(DispatchEvent::Ready(rows), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1, 9]);
    for (no, next) in [(1, 2), (2, 3)] {
        assert_eq!(polled(&mut dispatcher, 0), NOBODY);
        dispatcher.handle(ended(no, 1, Some("a")), second(1));
        assert_eq!(polled(&mut dispatcher, 1), [next]);
    }
}

#[test]
fn ord_11_who_waits_or_retries_keeps_the_queue_and_who_sleeps_leaves_it() {
    let mut dispatcher = dispatcher(settings(0, 9));
    dispatcher.handle(DispatchEvent::Ready(vec![member(1, "a", 1), member(2, "a", 2)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1]);
    dispatcher.handle(ended(1, 1, None), second(1));
    assert_eq!(polled(&mut dispatcher, 1), NOBODY, "1 waits and owns the queue");
    dispatcher.handle(
        DispatchEvent::Ready(vec![Ready { attempt: Attempt(2), lane: Lane::Woken, ..member(1, "a", 1) }]),
        second(2),
    );
    assert_eq!(polled(&mut dispatcher, 2), [1]);
    dispatcher.handle(ended(1, 2, Some("a")), second(3));
    assert_eq!(polled(&mut dispatcher, 3), [2], "1 sleeps");
}

#[test]
fn ord_13_a_release_frees_the_queue_while_the_stage_runs_on() {
    let mut dispatcher = dispatcher(settings(0, 9));
    dispatcher.handle(DispatchEvent::Ready(vec![member(1, "a", 1), member(2, "a", 2)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1]);
    for _ in 0..2 {
        dispatcher.handle(DispatchEvent::LeftQueue { no: OrderNo(1), queue: Arc::from("a") }, second(1));
    }
    assert_eq!(polled(&mut dispatcher, 1), [2]);
    assert_eq!(dispatcher.stats().sequential, 2, "it still takes capacity");
    dispatcher.handle(ended(1, 1, None), second(2));
    assert_eq!(dispatcher.stats().sequential, 1);
}

fn of_flow(flow: &str, row: Ready) -> Ready {
    Ready { flow: Arc::from(flow), ..row }
}

#[test]
fn dsp_4_a_flow_whose_system_hangs_leaves_a_part_of_the_places_to_the_others() {
    let mut dispatcher =
        dispatcher(DispatchSettings { flow_share: FlowShare { percentage: 80 }, ..settings(10, 10) });
    let hanging = (1..=50).map(|no| of_flow("hangs", parallel(no)));
    dispatcher.handle(DispatchEvent::Ready(hanging.collect()), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1, 2, 3, 4, 5, 6, 7, 8]);
    let others = (101..=103).map(|no| of_flow("other", parallel(no)));
    dispatcher.handle(DispatchEvent::Ready(others.collect()), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [101, 102], "nobody stands behind those that hang");
    dispatcher.handle(ended(101, 1, None), second(2));
    assert_eq!(polled(&mut dispatcher, 2), [103]);
    dispatcher.handle(ended(1, 1, None), second(3));
    assert_eq!(polled(&mut dispatcher, 3), [9], "its place is its own again");
    // The other mode has its own part; what both modes share are the nodes.
    let sequential = (201..=220).map(|no| of_flow("hangs", member(no, &format!("q{no}"), no)));
    dispatcher.handle(DispatchEvent::Ready(sequential.collect()), second(4));
    assert_eq!(polled(&mut dispatcher, 4).len(), 8);
}

#[test]
fn dsp_4_a_flow_may_have_its_part_of_the_nodes_that_are_there() {
    let mut dispatcher = started(DispatchSettings::default());
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(0));
    dispatcher.handle(DispatchEvent::Ready((1..=50).map(parallel).collect()), second(0));
    dispatcher.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 10 }, second(0));
    assert_eq!(polled(&mut dispatcher, 0).len(), 8);
    dispatcher.handle(DispatchEvent::NodeUp { node: OTHER, concurrency: 10 }, second(1));
    assert_eq!(polled(&mut dispatcher, 1).len(), 8);
    dispatcher.handle(DispatchEvent::NodeDraining { node: OTHER }, second(2));
    dispatcher.handle(ended(1, 1, None), second(2));
    assert_eq!(polled(&mut dispatcher, 2), NOBODY, "it has more than its part by now");
    dispatcher.reconfigure(DispatchSettings {
        flow_share: FlowShare { percentage: 100 },
        ..DispatchSettings::default()
    });
    dispatcher.handle(ended(2, 1, None), second(3));
    assert_eq!(polled(&mut dispatcher, 3).len(), 4, "without a bound all free places are its own");
}

#[test]
fn dsp_4_flows_of_one_priority_take_turns() {
    let mut dispatcher = dispatcher(settings(6, 0));
    let many = (1..=1000).map(|no| of_flow("many", parallel(no)));
    dispatcher.handle(DispatchEvent::Ready(many.collect()), second(0));
    let few = (2001..=2002).map(|no| of_flow("few", parallel(no)));
    dispatcher.handle(DispatchEvent::Ready(few.collect()), second(0));
    assert_eq!(polled(&mut dispatcher, 0), [1, 2001, 2, 2002, 3, 4]);
}

#[test]
fn dsp_13_a_million_waiting_orders_take_at_most_two_hundred_bytes_each() {
    const MANY: i64 = 1_000_000;
    // A million is just above where the hash tables grow, hence a bad case and no lucky one.
    let cases = [("parallel", 0, 100), ("in 100 queues", 100, 140), ("in queues alone", MANY, 200)];
    for (name, queues, bound) in cases {
        let row = |no| match queues {
            0 => parallel(no),
            _ => member(no, &format!("customer-{:012}", no % queues), no),
        };
        let mut dispatcher = Dispatcher::new(DispatchSettings::default());
        dispatcher.handle(DispatchEvent::Ready((0..MANY).map(row).collect()), second(0));
        let each = dispatcher.stats().waiting_bytes / usize::try_from(MANY).unwrap();
        assert!(each <= bound, "{name}: {each} bytes");
    }
}
