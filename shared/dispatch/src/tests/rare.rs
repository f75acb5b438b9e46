//! Examples of systems that only some orders of a flow call, and of those that nobody has named.

use super::super::flow::Flow;
use super::limits::{calls, failed, measured, ready, rules, state, tell, with};
use super::*;

/// Stages in progress of all flows, by the part of each that calls this system.
pub(super) fn parts_of(dispatcher: &Dispatcher, system: SystemIndex) -> u64 {
    let of_flow = |flow: &Flow| {
        let link = flow.links.iter().find(|link| link.system == system);
        link.map_or(0, |link| u64::from(flow.stages_in_progress()) * u64::from(link.calling.part()))
    };
    dispatcher.flows.iter().map(|(_, flow)| of_flow(flow)).sum()
}

/// A dispatcher of which a hundred orders have ended, one of `every` with a call of `stock`.
fn with_callers(mode: DistributionMode, every: i64) -> Dispatcher {
    let mut dispatcher = dispatcher(with(rules(mode), &[]));
    ready(&mut dispatcher, 1..=100);
    assert_eq!(polled(&mut dispatcher, 0).len(), 100);
    for no in 1..=100 {
        dispatcher.handle(measured(no, None), second(0));
        if no % every == 0 {
            tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 1), 0);
        }
    }
    dispatcher
}

/// Four hundred calls of `stock` that repeat what was tried before have failed.
fn fails(dispatcher: &mut Dispatcher, at: i64) {
    let repeats = CallSamples { stages: 0, ..calls("order", "stock", failed("away"), 400) };
    tell(dispatcher, repeats, at);
    polled(dispatcher, at);
    polled(dispatcher, at + 1);
}

fn stock(dispatcher: &mut Dispatcher, at: i64) -> SystemState {
    let index = dispatcher.systems.find("stock").unwrap();
    dispatcher.system_changed(index);
    let records = dispatcher.changed_systems(second(at));
    records.iter().find(|record| record.system == "stock").unwrap().state
}

#[test]
fn dsp_16_a_system_that_one_order_in_a_hundred_calls_holds_nobody_else() {
    let mut dispatcher = with_callers(DistributionMode::StoppedFlows, 100);
    fails(&mut dispatcher, 1);
    assert_eq!(stock(&mut dispatcher, 2), SystemState::Stopped);
    ready(&mut dispatcher, 101..=150);
    assert_eq!(polled(&mut dispatcher, 2).len(), 50, "they will hardly call it");
    assert_eq!(state(&mut dispatcher, 2), (FlowState::Enabled, None));
    // Of those that rest before their call a few go by themselves: their calls are the probes.
    polled(&mut dispatcher, 4);
    assert_eq!(stock(&mut dispatcher, 4), SystemState::Probing);
    for no in 101..=150 {
        dispatcher.handle(measured(no, None), second(4));
    }
    assert_eq!(stock(&mut dispatcher, 7), SystemState::Probing, "what did not call it says nothing");
    tell(&mut dispatcher, calls("order", "stock", failed("away"), 1), 7);
    assert_eq!(stock(&mut dispatcher, 7), SystemState::Stopped);
    polled(&mut dispatcher, 10);
    polled(&mut dispatcher, 10);
    assert_eq!(stock(&mut dispatcher, 10), SystemState::Probing);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 1), 10);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 1), 10);
    assert!(!dispatcher.systems.get(0).unwrap().is_away(), "{:?}", stock(&mut dispatcher, 10));
    ready(&mut dispatcher, 201..=300);
    assert_eq!(polled(&mut dispatcher, 10).len(), 100, "its limit is not theirs either");
}

#[test]
fn dsp_16_a_system_that_most_orders_call_holds_the_whole_flow() {
    for (every, holds) in [(1, true), (2, true), (4, false)] {
        let mut dispatcher = with_callers(DistributionMode::StoppedFlows, every);
        fails(&mut dispatcher, 1);
        ready(&mut dispatcher, 101..=150);
        assert_eq!(polled(&mut dispatcher, 2).is_empty(), holds, "one in {every}");
    }
}

#[test]
fn dsp_16_what_part_of_a_flow_calls_a_system_outlives_the_dispatcher() {
    let mut first = with_callers(DistributionMode::StoppedFlows, 100);
    fails(&mut first, 1);
    let (flows, systems) = (first.changed_flows(second(2)), first.changed_systems(second(2)));
    let mut after = dispatcher(with(rules(DistributionMode::StoppedFlows), &[]));
    after.handle(DispatchEvent::Remembered { flows, systems }, second(2));
    ready(&mut after, 101..=150);
    assert_eq!(stock(&mut after, 2), SystemState::Stopped);
    assert_eq!(polled(&mut after, 2).len(), 50);
}

#[test]
fn dsp_16_systems_that_nobody_named_are_bounded_in_number_and_the_unused_are_forgotten() {
    let mut dispatcher = dispatcher(with(rules(DistributionMode::StoppedFlows), &[]));
    let busy = CallSamples {
        retry_after: Some(Duration::from_secs(600)),
        ..calls("order", "closed", failed("away"), 1)
    };
    tell(&mut dispatcher, busy, 0);
    for n in 0..2500 {
        tell(&mut dispatcher, calls("other", &format!("host-{n}"), CallOutcome::Answered, 1), 1 + n / 100);
    }
    let known = dispatcher.systems.all().len();
    assert_eq!(known, 2000);
    for name in ["closed", "host-0", "host-2499"] {
        // The first of them are those that the flow is known to call.
        assert!(dispatcher.systems.find(name).is_some(), "{name}");
    }
    assert!(dispatcher.systems.find("host-300").is_none());
}
