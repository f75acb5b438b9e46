//! Examples of what is known of orders and flows, and for how long.

use super::limits::{measured, rules, with};
use super::*;

#[test]
fn dsp_14_what_is_known_of_flows_is_bounded_and_outlives_their_work() {
    let mut dispatcher =
        dispatcher(with(FlowRules { max_known: 10, ..rules(DistributionMode::Simple) }, &[]));
    for no in 1..=100 {
        let row = of_flow(&format!("flow-{no}"), parallel(no));
        dispatcher.handle(DispatchEvent::Ready(vec![row]), second(no));
        polled(&mut dispatcher, no);
        dispatcher.handle(measured(no, None), second(no));
    }
    dispatcher.poll(second(102), 1);
    let mut known: Vec<String> = dispatcher.flows.iter().map(|(_, flow)| flow.name.to_string()).collect();
    known.sort();
    assert_eq!(known.len(), 10);
    assert!(known.contains(&"flow-100".to_owned()) && known.contains(&"flow-91".to_owned()), "{known:?}");
    let records = dispatcher.changed_flows(second(103));
    let last = records.iter().find(|record| record.flow == "flow-100").unwrap();
    assert!(last.short_term.p50_ms.is_some_and(|ms| (ms - 100.0).abs() < 10.0), "{last:?}");
    assert!(last.throughput > 0.0 && last.waits.p50_ms.is_some());
}

#[test]
fn act_3_what_waits_runs_or_has_ended_is_known() {
    let mut dispatcher = dispatcher(settings(1, 0));
    let knows = |dispatcher: &Dispatcher, attempt| dispatcher.knows(OrderNo(1), Attempt(attempt));
    assert!(!knows(&dispatcher, 1));
    dispatcher.handle(DispatchEvent::Ready(vec![parallel(1)]), second(0));
    assert!(knows(&dispatcher, 1) && !knows(&dispatcher, 2));
    assert_eq!(polled(&mut dispatcher, 0), [1]);
    assert!(knows(&dispatcher, 1) && !knows(&dispatcher, 2));
    dispatcher.handle(ended(1, 1, None), second(1));
    assert!(knows(&dispatcher, 1) && !knows(&dispatcher, 2));
}
