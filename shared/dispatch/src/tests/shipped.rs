//! Examples of what a deployment does without any setting, and of what it shows.

use super::limits::{calls, failed, ready, rules, state, tell, with};
use super::*;

#[test]
fn dsp_4_built_in_classes_limit_every_scenario_unless_an_operator_takes_them_away() {
    let built_in = |class| CallOutcome::Failed(CallFailure { class: None, built_in: class });
    let stops = |rules: FlowRules, outcome: CallOutcome| {
        let mut dispatcher = dispatcher(with(rules, &[]));
        ready(&mut dispatcher, 1..=9);
        assert_eq!(polled(&mut dispatcher, 0).len(), 9);
        tell(&mut dispatcher, calls("order", "stock", outcome, 5), 1);
        polled(&mut dispatcher, 2);
        state(&mut dispatcher, 2).0 == FlowState::Stopped
    };
    for class in BuiltInClass::ALL {
        let outcome = built_in(Some(*class));
        assert!(stops(FlowRules::default(), outcome.clone()), "{class} in a deployment as shipped");
        let others = BuiltInClass::ALL.iter().copied().filter(|other| other != class).collect();
        assert!(!stops(FlowRules { built_in_classes: others, ..FlowRules::default() }, outcome), "{class}");
    }
    assert!(!stops(FlowRules::default(), built_in(None)), "a technical failure of no class");
    let classified = CallFailure { class: Some("quota".into()), built_in: Some(BuiltInClass::Unavailable) };
    let classified = CallOutcome::Failed(classified);
    assert!(stops(FlowRules::default(), classified), "whatever class the rules give it");
    let none = FlowRules { built_in_classes: [].into(), ..rules(DistributionMode::StoppedFlows) };
    let named = CallFailure { class: Some("away".into()), built_in: Some(BuiltInClass::Connection) };
    assert!(stops(none, CallOutcome::Failed(named)), "the classes of the operator are left");
}

#[test]
fn dsp_14_a_system_whose_calls_fail_is_never_healthy() {
    let mut dispatcher = dispatcher(settings(9, 9));
    let states = |dispatcher: &mut Dispatcher, at: i64| {
        let record = dispatcher.changed_systems(second(at)).pop().unwrap();
        (record.shown_state(), record.calls, record.control, record.failed_share)
    };
    tell(&mut dispatcher, calls("order", "stock", CallOutcome::Answered, 19), 1);
    tell(&mut dispatcher, calls("order", "stock", failed("parse"), 1), 1);
    let healthy = (SystemState::Healthy, CallsState::Healthy, ControlState::Open, Some(0.05));
    assert_eq!(states(&mut dispatcher, 1), healthy);
    tell(&mut dispatcher, calls("order", "stock", failed("parse"), 20), 1);
    let failing = (SystemState::Failing, CallsState::Failing, ControlState::Open, Some(0.525));
    assert_eq!(states(&mut dispatcher, 1), failing);
    let busy = CallSamples {
        retry_after: Some(Duration::from_secs(9)),
        ..calls("order", "stock", CallOutcome::Declined, 1)
    };
    tell(&mut dispatcher, busy, 1);
    let closed = (SystemState::Stopped, CallsState::Failing, ControlState::Stopped, Some(0.525));
    assert_eq!(states(&mut dispatcher, 1), closed, "what was declined is no sample");
}
