//! Callbacks and actors that ask to be left alone.

use pagurus_domain::system::CallKind;

use super::super::*;
use super::limits::{caller, calls, measured, tell};
use super::requests::asks;
use super::*;

#[test]
fn dsp_16_callbacks_and_actors_close_a_system_too_and_nothing_else_is_learnt_from_a_decision() {
    let mut dispatcher = dispatcher(settings(100, 100));
    let sent = CallSamples { kind: CallKind::Asynchronous, ..calls("order", "stock", CallOutcome::Sent, 4) };
    tell(&mut dispatcher, sent, 0);
    asks(&mut dispatcher, 4, 0);
    tell(&mut dispatcher, caller("other", "stock"), 0);
    let callback = CallSamples {
        kind: CallKind::Asynchronous,
        retry_after: Some(Duration::from_secs(30)),
        ..calls("order", "stock", CallOutcome::Answered, 1)
    };
    tell(&mut dispatcher, callback, 1);
    asks(&mut dispatcher, -1, 1);
    let system = dispatcher.changed_systems(second(1)).pop().unwrap();
    assert_eq!((system.state, system.closed_until), (SystemState::Stopped, Some(second(31))));
    assert_eq!(system.open_requests, 3, "one of four requests was answered");
    dispatcher.handle(DispatchEvent::Ready(vec![of_flow("other", parallel(1))]), second(2));
    assert_eq!(polled(&mut dispatcher, 2), NOBODY, "closed for all that call it");

    let decision = CallSamples {
        stages: 20,
        retry_after: Some(Duration::from_secs(30)),
        ..calls("third", "actor:scoring", CallOutcome::Declined, 1)
    };
    tell(&mut dispatcher, decision, 3);
    let systems = dispatcher.changed_systems(second(3));
    let actor = systems.iter().find(|system| system.system == "actor:scoring").unwrap();
    assert_eq!((actor.state, actor.closed_until), (SystemState::Stopped, Some(second(33))));
    assert!(actor.errors.is_empty() && actor.seen_at == Some(second(3)), "{actor:?}");
    dispatcher.handle(DispatchEvent::Ready(vec![of_flow("third", parallel(2))]), second(4));
    assert_eq!(polled(&mut dispatcher, 4), NOBODY);
    // Nobody tells of its calls: what ended without an error opens it.
    assert_eq!(polled(&mut dispatcher, 33), [1, 2]);
    dispatcher.handle(measured(2, None), second(34));
    dispatcher.handle(measured(1, None), second(34));
    polled(&mut dispatcher, 36);
    let systems = dispatcher.changed_systems(second(36));
    assert!(systems.iter().all(|system| system.state != SystemState::Stopped), "{systems:?}");
    dispatcher.handle(DispatchEvent::Ready(vec![of_flow("third", parallel(3))]), second(36));
    assert_eq!(polled(&mut dispatcher, 36), [3]);
}
