//! Examples of what is known of orders and flows, and for how long.

use super::limits::{measured, ready, rules, with};
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
fn dsp_14_the_record_of_a_flow_says_since_when_its_oldest_stage_may_run() {
    let mut dispatcher = dispatcher(settings(1, 0));
    let rows = (1..=3).map(parallel).collect();
    dispatcher.handle(DispatchEvent::Ready(rows), second(100));
    let oldest = |dispatcher: &mut Dispatcher, at: i64| {
        let records = dispatcher.changed_flows(second(at));
        records.into_iter().find(|record| record.flow == "order").map(|record| record.oldest_ready_since)
    };
    assert_eq!(oldest(&mut dispatcher, 101), Some(None), "no round has ended yet");
    let read = |since: i64| DispatchEvent::OldestReady(vec![(Arc::from("order"), second(since))]);
    dispatcher.handle(read(90), second(102));
    assert_eq!(oldest(&mut dispatcher, 102), Some(Some(second(90))));
    dispatcher.handle(read(91), second(103));
    assert_eq!(oldest(&mut dispatcher, 103), None, "the same, reckoned from an age: nothing is written");
    dispatcher.handle(read(99), second(104));
    assert_eq!(oldest(&mut dispatcher, 104), Some(Some(second(99))), "the next one is the oldest now");
    dispatcher.handle(DispatchEvent::OldestReady(Vec::new()), second(105));
    assert_eq!(oldest(&mut dispatcher, 105), Some(None), "nothing of it was ready");
}

#[test]
fn dsp_14_the_record_of_a_flow_says_that_its_work_waits_for_its_limit_and_what_took_how_long_and_went_well() {
    let policy = FlowPolicy {
        name: "heavy".into(),
        scenarios: ["order".to_owned()].into(),
        mode: Some(DistributionMode::LimitedFlows),
        max_limit: Some(7),
        weight: None,
    };
    let rules = FlowRules { policies: vec![policy], ..rules(DistributionMode::StoppedFlows) };
    let mut dispatcher = dispatcher(with(rules, &[]));
    let record = |dispatcher: &mut Dispatcher, at| dispatcher.changed_flows(second(at)).pop().unwrap();
    ready(&mut dispatcher, 1..=7);
    assert_eq!(polled(&mut dispatcher, 0).len(), 7);
    assert!(!record(&mut dispatcher, 0).at_limit, "nothing waits");
    dispatcher.handle(DispatchEvent::Ready(vec![parallel(8)]), second(0));
    assert!(record(&mut dispatcher, 0).at_limit);
    dispatcher.handle(measured(1, Some("business")), second(1));
    let one_less = record(&mut dispatcher, 1);
    assert!(!one_less.at_limit, "there is a place for it");
    assert_eq!((one_less.successes.p99_ms, one_less.short_term.p99_ms.is_some()), (None, true));
    dispatcher.handle(measured(2, None), second(2));
    assert!(record(&mut dispatcher, 3).successes.p99_ms.is_some());
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
