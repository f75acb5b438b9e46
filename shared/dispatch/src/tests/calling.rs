//! Flows of which only some stages call a system (DSP-16).

use super::super::*;
use super::limits::{calls, failed, measured, ready, rules, settings, state, tell, with};
use super::*;

/// Calls of one system by this many of the stages of the flow `order`, of which there are `all`.
fn caller_of(dispatcher: &mut Dispatcher, system: &str, calling: u32, all: i64) {
    ready(dispatcher, 1001..=1000 + all);
    let went = polled(&mut *dispatcher, 0);
    assert_eq!(went.len() as i64, all);
    tell(dispatcher, calls("order", system, CallOutcome::Answered, calling), 0);
    went.into_iter().for_each(|no| dispatcher.handle(measured(no, None), second(0)));
}

fn asks_for(seconds: u64) -> CallSamples {
    CallSamples {
        retry_after: Some(Duration::from_secs(seconds)),
        ..calls("order", "stock", failed("busy"), 1)
    }
}

fn held(stages: u32) -> CallSamples {
    CallSamples { stages, ..calls("order", "stock", CallOutcome::Held, 0) }
}

#[test]
fn dsp_16_orders_that_do_not_call_a_closed_system_go_on() {
    let mut dispatcher = dispatcher(settings(100, 100));
    caller_of(&mut dispatcher, "stock", 30, 100);
    tell(&mut dispatcher, asks_for(600), 1);
    ready(&mut dispatcher, 1..=9);
    assert_eq!(polled(&mut dispatcher, 1).len(), 9, "a third of the stages call it");
    assert_eq!(state(&mut dispatcher, 1).0, FlowState::Enabled);
    let system = dispatcher.changed_systems(second(1)).pop().unwrap();
    assert_eq!(system.state, SystemState::Stopped, "what calls it is held by the workers");
}

#[test]
fn dsp_16_a_flow_stands_still_where_most_of_its_stages_call_what_is_closed() {
    let mut dispatcher = dispatcher(settings(100, 100));
    caller_of(&mut dispatcher, "stock", 60, 100);
    tell(&mut dispatcher, asks_for(600), 1);
    ready(&mut dispatcher, 1..=9);
    assert_eq!(polled(&mut dispatcher, 1), NOBODY);
    assert_eq!(state(&mut dispatcher, 1).0, FlowState::Stopped);
    // The next dispatcher knows it, too.
    polled(&mut dispatcher, 3);
    let (flows, systems) = (dispatcher.changed_flows(second(3)), dispatcher.changed_systems(second(3)));
    let mut next = super::dispatcher(settings(100, 100));
    next.handle(DispatchEvent::Remembered { flows, systems }, second(4));
    ready(&mut next, 1..=9);
    assert_eq!(polled(&mut next, 4), NOBODY);
}

#[test]
fn dsp_16_the_first_order_that_finds_a_system_closed_stops_no_flow() {
    let mut dispatcher = dispatcher(settings(100, 100));
    tell(&mut dispatcher, asks_for(600), 1);
    ready(&mut dispatcher, 1..=9);
    assert_eq!(polled(&mut dispatcher, 1).len(), 9, "nothing is known of the others");
    // All of them are held: now it is.
    tell(&mut dispatcher, held(9), 2);
    ready(&mut dispatcher, 11..=19);
    assert_eq!(polled(&mut dispatcher, 2), NOBODY);
}

#[test]
fn dsp_16_a_system_that_is_one_of_several_is_stopped_by_its_own_failures() {
    let mut dispatcher = dispatcher(with(rules(DistributionMode::StoppedFlows), &[]));
    caller_of(&mut dispatcher, "crm", 100, 100);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 20), 0);
    for at in 1..=3 {
        tell(&mut dispatcher, calls("order", "crm", CallOutcome::Answered, 100), at);
        tell(&mut dispatcher, calls("order", "stock", failed("away"), 5), at);
        polled(&mut dispatcher, at);
    }
    let systems = dispatcher.changed_systems(second(4));
    let state_of = |name: &str| systems.iter().find(|system| system.system == name).unwrap().state;
    assert_eq!((state_of("stock"), state_of("crm")), (SystemState::Probing, SystemState::Healthy));
    ready(&mut dispatcher, 1..=9);
    assert_eq!(polled(&mut dispatcher, 4).len(), 9);
}

#[test]
fn dsp_16_the_limit_of_a_system_does_not_bound_a_flow_that_hardly_calls_it() {
    let few = |outcome, count| CallSamples { stages: 0, ..calls("order", "stock", outcome, count) };
    for (calling, went) in [(2, 50), (20, 5)] {
        let mut dispatcher = dispatcher(with(rules(DistributionMode::LimitedFlows), &["stock"]));
        caller_of(&mut dispatcher, "stock", calling, 100);
        tell(&mut dispatcher, few(failed("away"), 5), 1);
        polled(&mut dispatcher, 3);
        // The pause is over, and its calls are answered.
        for at in [5, 6] {
            ready(&mut dispatcher, 10 * at + 1..=10 * at + 2);
            polled(&mut dispatcher, at)
                .into_iter()
                .for_each(|no| dispatcher.handle(measured(no, None), second(at)));
            tell(&mut dispatcher, few(CallOutcome::Answered, 3), at);
        }
        let system = dispatcher.changed_systems(second(6)).pop().unwrap();
        assert_eq!(system.limit, Some(5), "{system:?}");
        ready(&mut dispatcher, 101..=150);
        assert_eq!(polled(&mut dispatcher, 6).len(), went, "{calling} of 100 stages call it");
    }
}

#[test]
fn dsp_16_stages_that_do_not_call_a_system_do_not_open_it() {
    let mut dispatcher = dispatcher(settings(100, 100));
    caller_of(&mut dispatcher, "stock", 30, 100);
    tell(&mut dispatcher, asks_for(10), 1);
    for at in 11..=20 {
        ready(&mut dispatcher, 10 * at..=10 * at + 5);
        polled(&mut dispatcher, at)
            .into_iter()
            .for_each(|no| dispatcher.handle(measured(no, None), second(at)));
    }
    let state = |dispatcher: &mut Dispatcher, at| dispatcher.changed_systems(second(at)).pop().unwrap().state;
    assert_eq!(state(&mut dispatcher, 20), SystemState::Probing);
    assert!(dispatcher.closed_systems().all(|closure| closure.is_probed));
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 3), 21);
    assert_eq!(state(&mut dispatcher, 21), SystemState::Healthy, "its own answers do");
    assert_eq!(dispatcher.closed_systems().count(), 0);
}

#[test]
fn dsp_16_an_unnamed_system_that_is_back_bounds_no_flow_of_which_few_stages_call_it() {
    let mut dispatcher = dispatcher(with(rules(DistributionMode::LimitedFlows), &[]));
    caller_of(&mut dispatcher, "crm", 100, 100);
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 20), 0);
    tell(&mut dispatcher, calls("order", "stock", failed("away"), 6), 1);
    for at in 1..=6 {
        ready(&mut dispatcher, 10 * at + 1..=10 * at + 2);
        polled(&mut dispatcher, at)
            .into_iter()
            .for_each(|no| dispatcher.handle(measured(no, None), second(at)));
    }
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 3), 6);
    let systems = dispatcher.changed_systems(second(6));
    let stock = systems.iter().find(|system| system.system == "stock").unwrap();
    assert_ne!(stock.state, SystemState::Stopped);
    assert!(stock.decisions.iter().any(|decision| decision.state == "stopped"), "{stock:?}");
    ready(&mut dispatcher, 101..=150);
    assert_eq!(polled(&mut dispatcher, 6).len(), 50);
}
