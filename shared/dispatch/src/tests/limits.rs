//! Examples of stops, limits and systems, one rule each.

use super::super::*;
use super::*;

/// A deployment in which nothing is learnt.
pub(super) fn settings(parallel: u32, sequential: u32) -> DispatchSettings {
    let capacity = Capacity { parallel, sequential };
    let flows = Arc::new(FlowRules { mode: DistributionMode::Simple, ..FlowRules::default() });
    let flow_share = FlowShare { percentage: 100 };
    DispatchSettings { capacity, flow_share, flows, ..DispatchSettings::default() }
}

pub(super) fn rules(mode: DistributionMode) -> FlowRules {
    let limiting = ["throttling", "away"].map(|class| (class.to_owned(), "order".to_owned()));
    FlowRules { mode, limiting_classes: limiting.into(), ..FlowRules::default() }
}

pub(super) fn with(rules: FlowRules, named: &[&str]) -> DispatchSettings {
    let named = named.iter().map(|name| (*name).to_owned()).collect();
    let systems = SystemRules { named, ..SystemRules::default() };
    DispatchSettings { flows: Arc::new(rules), systems: Arc::new(systems), ..settings(100, 100) }
}

fn stopping() -> Dispatcher {
    dispatcher(with(rules(DistributionMode::StoppedFlows), &[]))
}

pub(super) fn calls(flow: &str, system: &str, outcome: CallOutcome, count: u32) -> CallSamples {
    let step = step_of(Duration::from_millis(100));
    CallSamples {
        flow: Arc::from(flow),
        scenario: Arc::from("order"),
        system: Arc::from(system),
        kind: CallKind::Direct,
        outcome,
        count,
        stages: count,
        latencies: Latencies::of_counts([(step, count)]),
        retry_after: None,
    }
}

/// Calls of one system and no other, of enough stages for the flow to be known for it.
pub(super) fn caller(flow: &str, system: &str) -> CallSamples {
    CallSamples { stages: 20, ..calls(flow, system, CallOutcome::Answered, 1) }
}

pub(super) fn failed(class: &str) -> CallOutcome {
    CallOutcome::Failed(CallFailure::of_class(class))
}

pub(super) fn tell(dispatcher: &mut Dispatcher, samples: CallSamples, at: i64) {
    dispatcher.handle(DispatchEvent::Called(vec![samples]), second(at));
}

pub(super) fn measured(no: i64, class: Option<&str>) -> DispatchEvent {
    let took = StageMeasured {
        took: Duration::from_millis(100),
        waited: Duration::ZERO,
        class: class.map(Arc::from),
    };
    DispatchEvent::Ended { no: OrderNo(no), attempt: Attempt(1), left_queue: None, measured: Some(took) }
}

pub(super) fn ready(dispatcher: &mut Dispatcher, numbers: std::ops::RangeInclusive<i64>) {
    dispatcher.handle(DispatchEvent::Ready(numbers.map(parallel).collect()), second(0));
}

pub(super) fn stop(no: i64, keyword: &str, until: Option<i64>) -> FlowStop {
    FlowStop { no, keyword: keyword.to_owned(), from: second(0), until: until.map(second) }
}

pub(super) fn state(dispatcher: &mut Dispatcher, at: i64) -> (FlowState, Option<u32>) {
    // Reported whether it has changed or not.
    let flows: Vec<_> = dispatcher.flows.iter().map(|(index, _)| index).collect();
    flows.into_iter().for_each(|flow| dispatcher.flow_changed(flow));
    let records = dispatcher.changed_flows(second(at));
    let record = records.iter().find(|record| record.flow == "order").unwrap();
    (record.state, record.limit)
}

/// A flow whose calls failed until it stopped, at this second.
fn tripped() -> Dispatcher {
    let mut dispatcher = stopping();
    ready(&mut dispatcher, 1..=200);
    assert_eq!(polled(&mut dispatcher, 0).len(), 100);
    for _ in 0..4 {
        tell(&mut dispatcher, calls("order", "stock", failed("away"), 1), 1);
    }
    assert_eq!(state(&mut dispatcher, 1).0, FlowState::Enabled, "four failures may be chance");
    tell(&mut dispatcher, calls("order", "stock", failed("away"), 1), 1);
    for no in 1..=100 {
        dispatcher.handle(measured(no, Some("away")), second(1));
    }
    assert_eq!(polled(&mut dispatcher, 1), NOBODY, "answers may be on their way");
    assert_eq!(polled(&mut dispatcher, 2), NOBODY);
    dispatcher
}

#[test]
fn dsp_10_nothing_goes_before_the_stops_are_known() {
    let mut dispatcher = Dispatcher::new(settings(9, 9));
    dispatcher.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 9 }, second(0));
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(0));
    ready(&mut dispatcher, 1..=2);
    assert_eq!(polled(&mut dispatcher, 0), NOBODY);
    dispatcher.handle(DispatchEvent::Stops(vec![stop(1, "or", None)]), second(0));
    assert_eq!(polled(&mut dispatcher, 0), NOBODY);
    dispatcher.handle(DispatchEvent::Stops(vec![]), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [1, 2]);
}

#[test]
fn dsp_10_a_stopped_flow_is_in_nobodys_way_and_begins_at_the_initial_limit() {
    let mut dispatcher = dispatcher(settings(100, 100));
    dispatcher.handle(DispatchEvent::Stops(vec![stop(1, "ord", Some(10)), stop(2, "der", None)]), second(0));
    ready(&mut dispatcher, 1..=50);
    let other = DispatchEvent::Ready(vec![of_flow("other", parallel(99))]);
    dispatcher.handle(other, second(0));
    assert_eq!(polled(&mut dispatcher, 0), [99], "the rules hold for flows that appear later");
    assert_eq!(state(&mut dispatcher, 0).0, FlowState::DisabledManually);
    assert_eq!(polled(&mut dispatcher, 10), NOBODY, "one of two stops is over");
    dispatcher.handle(DispatchEvent::Stops(vec![]), second(11));
    assert_eq!(polled(&mut dispatcher, 11).len(), 50, "nothing limited it before");
    assert_eq!(state(&mut dispatcher, 11), (FlowState::Enabled, None));
}

#[test]
fn dsp_10_where_the_mode_adapts_a_flow_goes_on_with_half_of_what_it_had() {
    for (had, first) in [(4, 5), (60, 30)] {
        let mut dispatcher = dispatcher(with(rules(DistributionMode::LimitedFlows), &[]));
        ready(&mut dispatcher, 1..=had);
        assert_eq!(polled(&mut dispatcher, 0).len() as i64, had);
        dispatcher.handle(DispatchEvent::Stops(vec![stop(1, "ord", None)]), second(1));
        for no in 1..=had {
            dispatcher.handle(measured(no, None), second(2));
        }
        ready(&mut dispatcher, 101..=200);
        assert_eq!(polled(&mut dispatcher, 3), NOBODY);
        dispatcher.handle(DispatchEvent::Stops(vec![]), second(4));
        assert_eq!(polled(&mut dispatcher, 4).len(), first);
        for no in 101..101 + first as i64 {
            dispatcher.handle(measured(no, None), second(5));
        }
        let next = polled(&mut dispatcher, 5).len();
        assert!(
            next > first,
            "it grows with what ends, since it makes no calls: {next} {:?}",
            state(&mut dispatcher, 5)
        );
    }
}

#[test]
fn dsp_10_a_stop_ends_by_time_and_next_wake_knows() {
    let mut dispatcher = dispatcher(settings(100, 100));
    dispatcher.handle(DispatchEvent::Stops(vec![stop(1, "", Some(50))]), second(0));
    ready(&mut dispatcher, 1..=9);
    assert_eq!(polled(&mut dispatcher, 49), NOBODY);
    assert_eq!(dispatcher.next_wake(), Some(second(50)));
    assert_eq!(polled(&mut dispatcher, 50).len(), 9);
}

#[test]
fn dsp_10_a_stopped_flow_is_not_sent_again_what_may_be_lost() {
    let mut dispatcher = dispatcher(settings(9, 9));
    ready(&mut dispatcher, 1..=1);
    assert_eq!(polled(&mut dispatcher, 0), [1]);
    assert_eq!(dispatcher.doubtful(second(5)), [OrderNo(1)]);
    dispatcher.handle(DispatchEvent::Stops(vec![stop(1, "order", None)]), second(5));
    let ready = vec![(OrderNo(1), Attempt(1))];
    dispatcher.handle(DispatchEvent::InProgress(InProgress { ready, running: vec![] }), second(5));
    assert_eq!(polled(&mut dispatcher, 5), NOBODY);
    dispatcher.handle(DispatchEvent::Stops(vec![]), second(6));
    assert_eq!(polled(&mut dispatcher, 6), [1]);
}

#[test]
fn dsp_6_a_flow_stops_probes_with_its_oldest_and_resumes() {
    let mut dispatcher = tripped();
    assert_eq!(state(&mut dispatcher, 2).0, FlowState::Stopped);
    assert_eq!(dispatcher.next_wake(), Some(second(3)));
    let high = Ready { priority: Priority::High, ..parallel(300) };
    dispatcher.handle(DispatchEvent::Ready(vec![high]), second(2));
    assert_eq!(polled(&mut dispatcher, 3), [101, 102, 103], "the oldest, whatever their priority");
    assert_eq!(polled(&mut dispatcher, 3), NOBODY);
    assert_eq!(state(&mut dispatcher, 3).0, FlowState::Probing);
    tell(&mut dispatcher, calls("order", "stock", failed("away"), 1), 3);
    assert_eq!(polled(&mut dispatcher, 4), NOBODY, "the next pause is longer");
    for no in 101..=103 {
        dispatcher.handle(measured(no, Some("away")), second(4));
    }
    assert_eq!(polled(&mut dispatcher, 5), [104], "one after the other");
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 1), 5);
    assert_eq!(polled(&mut dispatcher, 5), [105], "one answer may be chance");
    assert_eq!(polled(&mut dispatcher, 5), NOBODY);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 1), 5);
    assert_eq!(state(&mut dispatcher, 5), (FlowState::Limited, Some(5)));
    assert_eq!(polled(&mut dispatcher, 5).len(), 3, "two of five are in progress");
}

#[test]
fn dsp_6_failures_that_began_before_the_probes_say_nothing_of_them() {
    let mut dispatcher = tripped();
    assert_eq!(polled(&mut dispatcher, 3).len(), 3);
    let late = Latencies::of_counts([(step_of(Duration::from_secs(30)), 50)]);
    let hung = CallSamples { latencies: late, ..calls("order", "stock", failed("away"), 50) };
    tell(&mut dispatcher, hung, 4);
    assert_eq!(state(&mut dispatcher, 4).0, FlowState::Probing);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 3), 4);
    assert_eq!(state(&mut dispatcher, 4).0, FlowState::Limited);
}

#[test]
fn dsp_6_probes_that_nothing_was_heard_of_are_followed_by_others() {
    let mut dispatcher = tripped();
    assert_eq!(polled(&mut dispatcher, 3).len(), 3);
    assert_eq!(polled(&mut dispatcher, 6), [104], "three hang: one more");
    for no in [101, 102, 103, 104] {
        dispatcher.handle(measured(no, None), second(7));
    }
    assert_eq!(polled(&mut dispatcher, 8).len(), 5, "all ended well, so it goes on");
}

#[test]
fn dsp_7_other_technical_failures_and_business_failures_stop_nothing() {
    let mut dispatcher = stopping();
    ready(&mut dispatcher, 1..=200);
    assert_eq!(polled(&mut dispatcher, 0).len(), 100);
    tell(&mut dispatcher, calls("order", "stock", failed("parse"), 1000), 1);
    let of_another =
        CallSamples { scenario: Arc::from("other"), ..calls("order", "stock", failed("away"), 1000) };
    tell(&mut dispatcher, of_another, 1);
    for no in 1..=100 {
        dispatcher.handle(measured(no, Some("business")), second(1));
    }
    assert_eq!(state(&mut dispatcher, 1), (FlowState::Enabled, None));
}

#[test]
fn dsp_9_policies_go_by_scenario() {
    let policy = FlowPolicy {
        name: "heavy".into(),
        scenarios: ["order".to_owned()].into(),
        mode: Some(DistributionMode::LimitedFlows),
        max_limit: Some(7),
        weight: None,
    };
    let rules = FlowRules { policies: vec![policy], ..rules(DistributionMode::StoppedFlows) };
    let mut dispatcher = dispatcher(with(rules, &[]));
    ready(&mut dispatcher, 1..=50);
    assert_eq!(polled(&mut dispatcher, 0).len(), 7);
    let others = (51..=90).map(|no| of_flow("other|200", parallel(no)));
    dispatcher.handle(DispatchEvent::Ready(others.collect()), second(0));
    assert_eq!(polled(&mut dispatcher, 0).len(), 40);
}

#[test]
fn dsp_16_retry_after_closes_a_system_for_all_flows_that_call_it() {
    let mut dispatcher = dispatcher(settings(100, 100));
    for flow in ["order", "other"] {
        tell(&mut dispatcher, caller(flow, "stock"), 0);
    }
    let busy = CallSamples {
        retry_after: Some(Duration::from_secs(3 * 3600)),
        ..calls("other", "stock", failed("busy"), 1)
    };
    tell(&mut dispatcher, busy, 1);
    ready(&mut dispatcher, 1..=9);
    dispatcher.handle(DispatchEvent::Ready(vec![of_flow("third", parallel(99))]), second(1));
    assert_eq!(polled(&mut dispatcher, 1), [99]);
    assert_eq!(state(&mut dispatcher, 1).0, FlowState::Stopped);
    let system = dispatcher.changed_systems(second(1)).pop().unwrap();
    assert_eq!((system.state, system.closed_until), (SystemState::Stopped, Some(second(901))), "clamped");
    assert_eq!(polled(&mut dispatcher, 900), NOBODY);
    assert_eq!(polled(&mut dispatcher, 901), [1, 2, 3], "then a few try");
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 3), 902);
    assert_eq!(polled(&mut dispatcher, 902).len(), 6, "nothing limited it before");
}

#[test]
fn dsp_16_the_order_of_an_operator_goes_before_what_was_learnt() {
    let mut dispatcher = dispatcher(settings(100, 100));
    let busy = CallSamples {
        stages: 20,
        retry_after: Some(Duration::from_secs(100)),
        ..calls("order", "stock", failed("busy"), 1)
    };
    tell(&mut dispatcher, busy.clone(), 0);
    ready(&mut dispatcher, 1..=20);
    let order = |order, until: Option<i64>| {
        let one = SystemOverride { system: "stock".into(), order, from: second(1), until: until.map(second) };
        DispatchEvent::SystemOverrides(vec![one])
    };
    dispatcher.handle(order(SystemOrder::ForceOpen, None), second(0));
    assert_eq!(polled(&mut dispatcher, 0), NOBODY, "it does not hold yet");
    assert_eq!(polled(&mut dispatcher, 1).len(), 20, "forced open, no limit counts");
    tell(&mut dispatcher, busy, 2);
    ready(&mut dispatcher, 21..=30);
    assert_eq!(polled(&mut dispatcher, 2).len(), 10);
    dispatcher.handle(order(SystemOrder::KeepStopped, Some(9)), second(3));
    ready(&mut dispatcher, 31..=40);
    assert_eq!(polled(&mut dispatcher, 3), NOBODY);
    assert_eq!(dispatcher.next_wake(), Some(second(9)));
    assert_eq!(polled(&mut dispatcher, 9), [31, 32, 33], "a few try when the order is over");
}

#[test]
fn dsp_16_flows_that_call_one_system_share_its_limit() {
    let mut dispatcher = dispatcher(with(rules(DistributionMode::LimitedFlows), &["stock"]));
    for flow in ["order", "other", "third"] {
        tell(&mut dispatcher, caller(flow, "stock"), 0);
    }
    let busy = CallSamples {
        retry_after: Some(Duration::from_secs(1)),
        ..calls("order", "stock", failed("away"), 1)
    };
    tell(&mut dispatcher, busy, 0);
    let rows = (0..90).map(|no| of_flow(["order", "other", "third"][no % 3], parallel(no as i64 + 1)));
    dispatcher.handle(DispatchEvent::Ready(rows.collect()), second(0));
    assert_eq!(polled(&mut dispatcher, 1), [1, 2, 3]);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 2), 1);
    assert_eq!(polled(&mut dispatcher, 1).len(), 2, "five of all flows together");
    for no in 1..=5 {
        dispatcher.handle(measured(no, None), second(1));
    }
    let went = polled(&mut dispatcher, 1);
    assert!(went.len() >= 5, "{went:?}");
    let of = |which: i64| went.iter().filter(|no| (**no - 1) % 3 == which).count();
    assert!(of(0).abs_diff(of(1)) <= 1 && of(1).abs_diff(of(2)) <= 1, "{went:?}");
    let stats = dispatcher.stats();
    assert!(stats.parallel <= dispatcher.systems.get(0).unwrap().limit().unwrap());
}

#[test]
fn dsp_16_limits_and_stops_outlive_the_dispatcher() {
    let mut first = tripped();
    let (flows, systems) = (first.changed_flows(second(2)), first.changed_systems(second(2)));
    let mut second_one = Dispatcher::new(with(rules(DistributionMode::StoppedFlows), &[]));
    second_one.handle(DispatchEvent::Remembered { flows, systems }, second(2));
    second_one.handle(DispatchEvent::Stops(vec![]), second(2));
    second_one.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 1000 }, second(2));
    second_one.handle(DispatchEvent::InProgress(nothing()), second(2));
    ready(&mut second_one, 101..=200);
    assert_eq!(state(&mut second_one, 2).0, FlowState::Stopped);
    assert_eq!(polled(&mut second_one, 2), NOBODY);
    assert_eq!(polled(&mut second_one, 3), [101, 102, 103]);
    let decisions = second_one.changed_flows(second(3)).pop().unwrap().decisions;
    assert!(decisions.iter().any(|one| one.why == "5 of 5 calls failed"), "{decisions:?}");
}

#[test]
fn dsp_2_priorities_share_the_permits_of_nodes_over_both_modes() {
    let mut dispatcher = started(settings(1000, 1000));
    dispatcher.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 75 }, second(0));
    dispatcher.handle(DispatchEvent::InProgress(nothing()), second(0));
    let high = (1..=500).map(|no| Ready { priority: Priority::High, ..parallel(no) });
    let low = (501..=1000).map(|no| Ready { priority: Priority::Low, ..member(no, &format!("q{no}"), no) });
    dispatcher.handle(DispatchEvent::Ready(high.chain(low).collect()), second(0));
    let low = polled(&mut dispatcher, 0).iter().filter(|no| **no > 500).count();
    assert!(low.abs_diff(5) <= 1, "{low} of 75 permits are low's");
}

#[test]
fn dsp_8_above_the_threshold_flows_share_by_time() {
    let mut dispatcher = dispatcher(with(rules(DistributionMode::StoppedFlows), &[]));
    for (no, flow, millis) in [(1, "slow", 900), (2, "fast", 100)] {
        dispatcher.handle(DispatchEvent::Ready(vec![of_flow(flow, parallel(no))]), second(0));
        assert_eq!(polled(&mut dispatcher, 0), [no]);
        let took = StageMeasured { took: Duration::from_millis(millis), ..StageMeasured::default() };
        let ended = DispatchEvent::Ended {
            no: OrderNo(no),
            attempt: Attempt(1),
            left_queue: None,
            measured: Some(took),
        };
        dispatcher.handle(ended, second(1));
    }
    let rows = (10..=1009).map(|no| of_flow(if no % 2 == 0 { "slow" } else { "fast" }, parallel(no)));
    dispatcher.handle(DispatchEvent::Ready(rows.collect()), second(3));
    let slow = |went: &[i64]| went.iter().filter(|no| **no % 2 == 0).count();
    let first = polled(&mut dispatcher, 3);
    assert!((40..=46).contains(&slow(&first)), "turns up to 90 of 100: {}", slow(&first));
    let mut later = Vec::new();
    for no in first.iter().take(100) {
        dispatcher.handle(ended(*no, 1, None), second(4));
        later.extend(polled(&mut dispatcher, 4));
    }
    assert!(slow(&later) <= 13, "a ninth of the stages takes half of the time: {}", slow(&later));
}
