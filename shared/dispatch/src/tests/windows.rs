//! Maintenance windows of flows and called systems, beside stops and orders by hand.

use pagurus_domain::maintenance::{Calendar, CalendarRule, MaintenanceWindow, WindowTarget};

use super::super::*;
use super::limits::{rules, with};
use super::*;

fn window(no: i64, target: WindowTarget, from: i64, length: i64) -> MaintenanceWindow {
    let rule =
        CalendarRule { from: Some(second(from)), duration: format!("{length}s"), ..CalendarRule::default() };
    MaintenanceWindow { no, target, calendar: Calendar::read(&rule).unwrap(), void_until: None }
}

fn of_flows(no: i64, keyword: &str, from: i64, length: i64) -> MaintenanceWindow {
    window(no, WindowTarget::Flows(keyword.to_owned()), from, length)
}

fn of_system(no: i64, from: i64, length: i64) -> MaintenanceWindow {
    window(no, WindowTarget::System("stock".to_owned()), from, length)
}

/// Sends all rules in their order: windows first.
fn tell(dispatcher: &mut Dispatcher, windows: Vec<MaintenanceWindow>, stops: Vec<FlowStop>, at: i64) {
    dispatcher.handle(DispatchEvent::Windows(windows), second(at));
    dispatcher.handle(DispatchEvent::Stops(stops), second(at));
    dispatcher.handle(DispatchEvent::SystemOverrides(Vec::new()), second(at));
}

fn order(order: SystemOrder, from: i64, until: Option<i64>) -> DispatchEvent {
    let (from, until) = (second(from), until.map(second));
    DispatchEvent::SystemOverrides(vec![SystemOverride { system: "stock".to_owned(), order, from, until }])
}

fn ready(dispatcher: &mut Dispatcher, numbers: std::ops::RangeInclusive<i64>) {
    dispatcher.handle(DispatchEvent::Ready(numbers.map(parallel).collect()), second(0));
}

/// The flow `order` calls the system.
fn calling() -> Dispatcher {
    let mut dispatcher = dispatcher(with(rules(DistributionMode::StoppedFlows), &["stock"]));
    let samples = CallSamples {
        flow: Arc::from("order"),
        scenario: Arc::from("order"),
        system: Arc::from("stock"),
        kind: CallKind::Direct,
        outcome: CallOutcome::Answered,
        count: 1,
        stages: 200,
        latencies: Latencies::of_counts([(step_of(Duration::from_millis(100)), 1)]),
        retry_after: None,
    };
    dispatcher.handle(DispatchEvent::Called(vec![samples]), second(0));
    ready(&mut dispatcher, 1..=50);
    dispatcher
}

#[test]
fn dsp_16_a_window_holds_its_flows_from_start_to_end_and_nobody_else() {
    let mut dispatcher = dispatcher(settings(100, 100));
    tell(&mut dispatcher, vec![of_flows(1, "ord", 10, 20)], vec![], 0);
    ready(&mut dispatcher, 1..=2);
    assert_eq!(polled(&mut dispatcher, 0), [1, 2]);
    assert_eq!(dispatcher.next_wake(), Some(second(10)));
    ready(&mut dispatcher, 3..=9);
    let other = DispatchEvent::Ready(vec![of_flow("other", parallel(99))]);
    dispatcher.handle(other, second(10));
    assert_eq!(polled(&mut dispatcher, 10), [99]);
    assert_eq!(
        dispatcher
            .changed_flows(second(10))
            .iter()
            .filter(|flow| flow.state == FlowState::DisabledManually)
            .count(),
        1
    );
    assert_eq!(dispatcher.next_wake(), Some(second(30)));
    let later = DispatchEvent::Ready(vec![of_flow("reorder", parallel(100))]);
    dispatcher.handle(later, second(20));
    assert_eq!(polled(&mut dispatcher, 29), NOBODY, "it holds for flows that appear later");
    assert_eq!(
        polled(&mut dispatcher, 30),
        [3, 100, 4, 5, 6, 7, 8, 9],
        "nothing limits them afterwards, as before"
    );
}

#[test]
fn dsp_16_windows_and_stops_are_independent_and_each_ends_alone() {
    let mut dispatcher = dispatcher(settings(100, 100));
    let stop = FlowStop { no: 1, keyword: "order".to_owned(), from: second(0), until: Some(second(25)) };
    let windows = vec![of_flows(1, "ord", 10, 10), of_flows(2, "der", 15, 25)];
    tell(&mut dispatcher, windows.clone(), vec![stop], 0);
    ready(&mut dispatcher, 1..=5);
    for at in [0, 10, 20, 25, 39] {
        assert_eq!(polled(&mut dispatcher, at), NOBODY, "{at}");
    }
    assert_eq!(polled(&mut dispatcher, 40).len(), 5);

    // One that is taken away while it is open releases at once, and only what no other holds.
    let mut dispatcher = self::dispatcher(settings(100, 100));
    tell(&mut dispatcher, windows.clone(), vec![], 0);
    ready(&mut dispatcher, 1..=5);
    assert_eq!(polled(&mut dispatcher, 0).len(), 5);
    ready(&mut dispatcher, 6..=9);
    assert_eq!(polled(&mut dispatcher, 16), NOBODY);
    tell(&mut dispatcher, windows[..1].to_vec(), vec![], 17);
    assert_eq!(polled(&mut dispatcher, 17), NOBODY);
    tell(&mut dispatcher, vec![], vec![], 18);
    (1..=5).for_each(|no| dispatcher.handle(super::limits::measured(no, None), second(18)));
    assert_ne!(polled(&mut dispatcher, 18), NOBODY);
}

#[test]
fn dsp_16_a_system_in_its_window_is_left_alone_and_probed_afterwards() {
    let mut dispatcher = calling();
    tell(&mut dispatcher, vec![of_system(1, 10, 20)], vec![], 0);
    assert_eq!(polled(&mut dispatcher, 10), NOBODY);
    let shown = dispatcher.changed_systems(second(10));
    assert_eq!((shown[0].state, shown[0].closed_until), (SystemState::Stopped, Some(second(30))));
    assert_eq!(polled(&mut dispatcher, 29), NOBODY);
    assert_eq!(polled(&mut dispatcher, 30), [1, 2, 3], "a few try whether it is back");
}

#[test]
fn dsp_16_the_word_about_a_system_that_was_given_last_goes() {
    // To call it, given before the window began: the window was meant.
    let mut dispatcher = calling();
    tell(&mut dispatcher, vec![of_system(1, 10, 20)], vec![], 0);
    dispatcher.handle(order(SystemOrder::ForceOpen, 5, None), second(5));
    assert_eq!(polled(&mut dispatcher, 10), NOBODY);
    // Given while it is open: the operator knows better.
    dispatcher.handle(order(SystemOrder::ForceOpen, 15, Some(20)), second(15));
    assert_ne!(polled(&mut dispatcher, 15), NOBODY);
    for no in 1..=50 {
        dispatcher.handle(super::limits::measured(no, None), second(16));
    }
    ready(&mut dispatcher, 51..=60);
    assert_eq!(polled(&mut dispatcher, 20), NOBODY, "that order is over, and the window is not");
    // To keep it stopped beyond the window: both hold.
    dispatcher.handle(order(SystemOrder::KeepStopped, 25, Some(40)), second(25));
    assert_eq!(polled(&mut dispatcher, 30), NOBODY);
    assert_eq!(dispatcher.changed_systems(second(30))[0].closed_until, Some(second(40)));
    assert_ne!(polled(&mut dispatcher, 40), NOBODY);
}

#[test]
fn dsp_16_a_window_that_ends_while_nobody_leads_is_over_for_the_next_one() {
    let mut first = calling();
    tell(&mut first, vec![of_system(1, 10, 20), of_flows(2, "other", 10, 20)], vec![], 0);
    first.handle(DispatchEvent::Ready(vec![of_flow("other", parallel(99))]), second(10));
    assert_eq!(polled(&mut first, 10), NOBODY);
    let remembered = DispatchEvent::Remembered {
        flows: first.changed_flows(second(11)),
        systems: first.changed_systems(second(11)),
    };
    for (at, expected) in [(20, 0), (35, 4)] {
        let mut next = Dispatcher::new(with(rules(DistributionMode::StoppedFlows), &["stock"]));
        next.handle(DispatchEvent::NodeUp { node: NODE, concurrency: 100 }, second(at));
        next.handle(DispatchEvent::InProgress(nothing()), second(at));
        next.handle(remembered.clone(), second(at));
        tell(&mut next, vec![of_system(1, 10, 20), of_flows(2, "other", 10, 20)], vec![], at);
        next.handle(DispatchEvent::Ready((1..=50).map(parallel).collect()), second(at));
        next.handle(DispatchEvent::Ready(vec![of_flow("other", parallel(99))]), second(at));
        // Three probes of the system, and the order of the flow.
        assert_eq!(polled(&mut next, at).len(), expected, "at {at}");
    }
}
