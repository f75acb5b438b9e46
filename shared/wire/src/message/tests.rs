//! Messages of the engine: what is written is read again.

use super::*;
use serde_json::json;

#[test]
fn amqp_1_a_receipt_reads_as_the_contract_says() {
    let receipt = Receipt {
        id: Some("a".into()),
        status: "accepted".into(),
        order_status: Some("new".into()),
        note: None,
        error: None,
        call: None,
    };
    assert_eq!(
        serde_json::to_value(receipt).unwrap(),
        json!({"id": "a", "status": "accepted", "orderStatus": "new"})
    );
}

/// Puts a field that nobody knows into every object of a message, as a later version may.
fn with_more(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(with_more),
        Value::Object(fields) => {
            fields.values_mut().for_each(with_more);
            fields.insert("a_later_field".to_owned(), json!({"of": ["any", "shape"]}));
        }
        _ => {}
    }
}

#[track_caller]
fn is_read_with_more<T>(message: Value)
where
    T: serde::de::DeserializeOwned + Serialize,
{
    let read: T = serde_json::from_value(message.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), message, "the sample has every field");
    let mut later = message.clone();
    with_more(&mut later);
    assert_ne!(later, message);
    let read: T = serde_json::from_value(later).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), message);
}

#[test]
fn run_4_messages_between_services_of_a_later_version_are_read_as_far_as_they_are_known() {
    let news: News = serde_json::from_value(json!({"something_new": 1, "ended": []})).unwrap();
    assert_eq!(news, News::default());
    is_read_with_more::<News>(json!({
        "ready": [{"no": 1, "attempt": 2, "flow": "f", "priority": "high", "place": {"queue": "q", "position": 3},
            "woken": true, "repeat_of": "wait"}],
        "ended": [{"no": 1, "attempt": 2, "node": 3, "left_queue": "q", "duration_ms": 4, "waited_ms": 5, "class": "c"}],
        "refused": [{"no": 1, "attempt": 2, "node": 3, "serial": 4, "epoch": 5, "why": "busy"}],
        "left": [{"no": 1, "attempt": 2, "queue": "q"}],
        "calls": [{"flow": "f", "scenario": "s", "system": "x", "asynchronous": true, "outcome": "failed", "class": "c",
            "count": 1, "took": [[1, 2]], "retry_after_ms": 3}],
        "workers_changed": true,
        "rules_changed": true,
    }));
    is_read_with_more::<OrdersNews>(json!({"changed": [1, 2]}));
    is_read_with_more::<BreakOff>(json!({"stages": [{"no": 1, "attempt": 2}]}));
    is_read_with_more::<DueNews>(json!({"due": [{"stream": "wait", "at": 1}]}));
    is_read_with_more::<OutboxNews>(json!({
        "ended": [{"no": 1, "life": 2, "kind": "end"}],
        "rows": [{"no": 1, "life": 2, "kind": "end", "message_id": "m", "target": "t", "correlation_id": "c",
            "transaction_id": "x", "trace": "w", "body": "{}"}],
        "webhooks": true,
    }));
    is_read_with_more::<HandOuts>(json!({"epoch": 1, "orders": [{"no": 1, "attempt": 2, "serial": 3}]}));
    is_read_with_more::<SystemsClosed>(json!({"closed": [{"system": "x", "left_ms": 1}], "open": ["y"]}));
}
