//! Registrations: what is read, and every fault of what is not.

use super::*;
use serde_json::json;

fn faults(body: &Value) -> Vec<String> {
    Request::read(body.clone()).map(|_| Vec::new()).unwrap_or_else(|faults| {
        faults.iter().map(|fault| format!("{} {}", fault.pointer, fault.message)).collect()
    })
}

#[test]
fn ord_1_only_id_and_scenario_are_needed() {
    let request = Request::read(json!({"id": "a", "scenario": "s"})).unwrap();
    assert_eq!((request.mode, request.priority), (None, Priority::Normal));
    assert_eq!(*request.params, json!({}));
}

#[test]
fn ord_1_an_id_is_1_to_255_bytes_without_control_characters() {
    let read = |id: String| Request::read(json!({"id": id, "scenario": "s"}));
    for good in ["x".repeat(255), " ".into(), "/../%2F?#".into(), "é".repeat(127)] {
        assert_eq!(read(good.clone()).unwrap().id, good);
    }
    for bad in [String::new(), "x".repeat(256), "é".repeat(128), "a\nb".into(), "a\u{7f}".into()] {
        assert!(read(bad).is_err());
    }
}

#[test]
fn ord_1_all_faults_are_reported_at_once() {
    let body = json!({"scenario": 5, "prioriti": "x", "priority": "urgent", "mode": "both",
        "params": [], "lifecycle": {"startAt": "tomorrow", "periodToStart": -1}});
    assert_eq!(faults(&body).len(), 8, "{:?}", faults(&body));
}

#[test]
fn ord_2_the_digest_does_not_depend_on_form() {
    let parse = |text: &str| digest(&serde_json::from_str(text).unwrap());
    let same =
        [r#"{"id":"a","params":{"x":100,"y":"é"}}"#, r#"{ "params": {"y":"\u00e9", "x":1e2}, "id":"a" }"#];
    assert_eq!(parse(same[0]), parse(same[1]));
    assert_ne!(parse(same[0]), parse(r#"{"id":"a","params":{"x":101,"y":"é"}}"#));
    assert_ne!(parse(r#"["ab","c"]"#), parse(r#"["a","bc"]"#));
}

#[test]
fn ord_2_a_field_that_is_null_counts_as_left_out_and_what_the_client_makes_up_does_not() {
    let digest = |more: &Value| {
        let mut body = json!({"id": "a", "scenario": "s"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Request::read(body).unwrap().digest
    };
    let after = |more: Value| {
        let mut entry = json!({"order": "b", "states": ["done"]});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"queue": null, "lifecycle": {"startAt": null, "after": [entry]}})
    };
    assert_eq!(digest(&json!({"queue": null, "notify": null})), digest(&json!({})));
    assert_eq!(digest(&after(json!({"otherwise": null}))), digest(&after(json!({}))));
    assert_ne!(digest(&json!({"params": {"x": null}})), digest(&json!({"params": {}})));
}

#[test]
fn ord_14_an_unknown_field_of_a_condition_is_named_with_the_field_that_was_meant() {
    let body = json!({"id": "a", "scenario": "s",
        "lifecycle": {"startsAt": null, "after": [{"order": "b", "states": ["done"], "state": "y"}]}});
    let found: Vec<(String, Option<String>)> =
        Request::read(body).unwrap_err().into_iter().map(|fault| (fault.pointer, fault.hint)).collect();
    let hint = |meant: &str| Some(format!("did you mean `{meant}`?"));
    let expected = [("/lifecycle/startsAt", "startAt"), ("/lifecycle/after/0/state", "states")];
    assert_eq!(found, expected.map(|(pointer, meant)| (pointer.to_owned(), hint(meant))));
}

#[test]
fn ord_7_the_flow_marker_joins_the_attributes() {
    let request = Request::read(json!({"id": "a", "scenario": "s", "flow": {"region": "200"},
        "params": {"a": {"b": 7}}}))
    .unwrap();
    let attributes = ["scenario", "region", "params.a.b", "absent"].map(str::to_owned);
    assert_eq!(flow_marker(&attributes, &request), "s|200|7|");
}

#[test]
fn bodies_that_no_later_reader_could_take_are_refused() {
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    assert_eq!(faults(&json!({"id": "a", "scenario": "s", "params": {"d": deep}})).len(), 1);
    assert_eq!(faults(&json!({"id": "a", "scenario": "s", "params": {"d": "\u{0}"}})).len(), 1);
}

#[test]
fn ord_17_a_start_that_could_only_be_missed_is_refused() {
    let sent: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let check = |lifecycle: Value| {
        let body = json!({"id": "a", "scenario": "s", "lifecycle": lifecycle});
        let terms = ScenarioTerms {
            no: ScenarioNo(1),
            params_faults: Vec::new(),
            process_timeout: None,
            search: &[],
            queue: None,
        };
        let rules = Rules {
            flow_attributes: vec!["scenario".to_owned()],
            notify: AllowList {
                prefix: "pagurus".to_owned(),
                default_exchange: "n".to_owned(),
                patterns: Vec::new(),
            },
            process_timeout: None,
            start_mode: StartMode::Reactive,
        };
        Arc::new(Request::read(body).unwrap()).check(terms, &rules, sent)
    };
    let start = "2026-01-03T00:00:00Z";
    let faults = check(json!({"startAt": start, "periodToStart": 3000})).unwrap_err();
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!(fault.pointer, "/lifecycle/periodToStart");
    assert!(fault.message.starts_with("ends at 2026-01-01T00:50:00Z, before `startAt`"), "{}", fault.message);
    assert!(check(json!({"startAt": start, "periodToStart": 172_800})).is_ok(), "to the second");
    assert!(check(json!({"startAt": start})).is_ok() && check(json!({"periodToStart": 1})).is_ok());
}
