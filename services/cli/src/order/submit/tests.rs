//! Submission: an order of arguments, and files of orders.

use super::*;
use pagurus_domain::order::registration::Request;

#[test]
fn ord_1_an_order_of_arguments_is_one_that_the_engine_reads() {
    let order = OrderArguments {
        scenario: Some("change-tariff".into()),
        scenario_version: Some(3),
        params: Some(r#"{"tariff": "old", "deep": {"a": 1}}"#.into()),
        param: vec![("tariff".into(), json!("new"))],
        queue: Some("79990000001".into()),
        priority: Some("high".into()),
        flow: vec![("system".into(), json!("billing"))],
        notify_url: vec!["amqp://?key=done".into(), "https://hooks.example/a".into()],
        notify_on: vec!["final".into(), "parked".into()],
        notify_format: Some("cloudevents".into()),
        start_at: Some("2026-12-01T00:00:00+03:00".into()),
        period_to_start: Some(Duration::from_secs(90)),
        ..OrderArguments::default()
    };
    let body = body_of(&order, "new-id").unwrap();
    assert_eq!(body["id"], "new-id");
    assert_eq!(body["mode"], "sequential");
    let receiver = |url: &str| json!({"url": url, "on": ["final", "parked"], "format": "cloudevents"});
    assert_eq!(body["notify"], json!([receiver("amqp://?key=done"), receiver("https://hooks.example/a")]));
    let one = OrderArguments { notify_url: vec!["amqp://?key=k".into()], ..OrderArguments::default() };
    assert_eq!(notify(&one), Some(json!({"url": "amqp://?key=k"})));
    assert_eq!(body["params"], json!({"tariff": "new", "deep": {"a": 1}}));
    assert_eq!(body["lifecycle"], json!({"startAt": "2026-12-01T00:00:00+03:00", "periodToStart": 90}));
    Request::read(body).unwrap();
}

#[test]
fn what_was_not_said_is_left_out() {
    let order =
        OrderArguments { id: Some("a".into()), scenario: Some("s".into()), ..OrderArguments::default() };
    assert_eq!(body_of(&order, "new").unwrap(), json!({"id": "a", "scenario": "s", "params": {}}));
}

#[test]
fn ord_17_a_period_is_whole_seconds() {
    for period in [Duration::ZERO, Duration::from_millis(1500), Duration::from_secs(1 << 32)] {
        let order = OrderArguments { period_to_start: Some(period), ..OrderArguments::default() };
        assert_eq!(body_of(&order, "a").unwrap_err().code(), crate::failure::USAGE);
    }
}

#[test]
fn the_form_of_a_file_is_seen() {
    assert_eq!(form_of("\n{\n\"id\": 1}\n"), Ok(InputFormat::One));
    assert_eq!(form_of("{\"a\": 1}"), Ok(InputFormat::One));
    assert_eq!(form_of("[{}, {}]"), Ok(InputFormat::Array));
    assert_eq!(form_of("{\"a\": 1}\n\n{\"a\": 2}\n"), Ok(InputFormat::Lines));
    for bad in ["", "  \n", "7", "\"text\"", "{\"a\": 1}\n{\"a\": ", "{\n\"a\": 1\n}\n{\n}", "nonsense"] {
        assert!(form_of(bad).is_err(), "{bad}");
    }
}

#[test]
fn ord_1_of_a_file_with_one_order_a_line_the_wrong_line_is_named() {
    let fault = form_of("{\"a\": 1}\n\n{\"a\": 2}\n{\"a\": 3\n{\"a\": 4}\n").unwrap_err();
    assert!(fault.starts_with("line 4 is no JSON object: EOF while parsing"), "{fault}");
}

#[test]
fn the_worst_decides_the_exit_code() {
    let one = |status: &str| RegisteredView {
        id: Some("a".into()),
        status: status.into(),
        order_status: None,
        note: None,
        error: None,
    };
    let code = |statuses: &[&str]| {
        let all: Vec<RegisteredView> = statuses.iter().map(|status| one(status)).collect();
        verdict(&all).map_err(|failure| failure.code())
    };
    assert_eq!(code(&["accepted", "duplicate"]), Ok(()));
    assert_eq!(code(&["accepted", "conflict"]), Err(REFUSED));
    assert_eq!(code(&["conflict", "rejected"]), Err(FAILED));
    assert_eq!(code(&["unavailable", "accepted"]), Err(AWAY), "the same file may be sent again");
    assert_eq!(code(&["unavailable", "conflict"]), Err(REFUSED));
}
