//! Division of notifications into messages, and the content of groups.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::notification::NotifyForm;
use serde_json::{Value, json};

use super::*;
use crate::form::tests::notification;

fn terms(max: u16) -> Option<NotifyGroup> {
    Some(NotifyGroup { max, within_ms: 50 })
}

fn events(max: u16) -> NotifyForm {
    NotifyForm { format: NotifyFormat::CloudEvents, group: terms(max) }
}

/// A notification of an end.
fn end(no: i64, target: &str, group: Option<NotifyGroup>) -> Notification {
    Notification {
        no: OrderNo(no),
        life: Life(1),
        kind: "final".into(),
        message_id: Uuid::from_u128(no as u128),
        target: target.into(),
        body: json!({"id": no.to_string()}).to_string(),
        number: None,
        receiver: None,
        form: NotifyForm { format: NotifyFormat::Pagurus, group },
        ..notification(NotifyFormat::Pagurus)
    }
}

/// Returns the numbers of the orders in each message.
fn numbers(notifications: &[Notification]) -> Vec<Vec<i64>> {
    let numbers = |message: Vec<&Notification>| message.into_iter().map(|one| one.no.0).collect();
    by_message(notifications).into_iter().map(numbers).collect()
}

#[test]
fn ord_18_notifications_of_a_group_go_together_up_to_its_bound_and_all_others_alone() {
    let (a, b) = ("amqp://?queue=a", "amqp://?queue=b");
    let all = [
        end(1, a, terms(2)),
        end(2, a, None),
        end(3, b, terms(2)),
        end(4, a, terms(2)),
        end(5, a, terms(3)),
        end(6, a, terms(2)),
        end(7, b, terms(2)),
        Notification { form: events(3), ..end(8, a, terms(3)) },
        end(9, a, None),
    ];
    assert_eq!(numbers(&all), [vec![1, 4], vec![2], vec![3, 7], vec![5], vec![6], vec![8], vec![9]]);
}

#[test]
fn ord_18_a_group_is_bounded_in_bytes_and_a_longer_notification_goes_alone() {
    let long = |no, bytes: usize| Notification {
        body: format!("\"{}\"", "x".repeat(bytes)),
        ..end(no, "amqp://?queue=a", terms(9))
    };
    let half = MOST_BYTES / 2;
    let all = [long(1, half), long(2, half - 10), long(3, half), long(4, 2 * MOST_BYTES), long(5, 1)];
    assert_eq!(numbers(&all), [vec![1, 2], vec![3], vec![4], vec![5]]);
}

fn encoded(members: &[&Notification]) -> (EncodedGroup, Value) {
    let members: Vec<_> = members.iter().map(|one| (*one, None)).collect();
    let group = EncodedGroup::of(&members, "/p").unwrap();
    let body = serde_json::from_str(&group.body).unwrap();
    (group, body)
}

#[test]
fn ord_18_each_member_of_a_group_keeps_what_its_own_message_would_say() {
    let first = end(1, "amqp://?queue=a", terms(9));
    let second = Notification {
        kind: "transition-x".into(),
        number: Some(7),
        body: r#"{"id": "заказ", "n": 1.50}"#.into(),
        ..end(2, "amqp://?queue=a", terms(9))
    };
    let (group, body) = encoded(&[&first, &second]);
    assert_eq!(group.content_type, "application/json");
    assert_eq!(
        body,
        json!([
            {"messageId": Uuid::from_u128(1).to_string(), "type": "order.final", "body": {"id": "1"}},
            {"messageId": Uuid::from_u128(2).to_string(), "type": "order.transition", "sequence": 7, "body": {"id": "заказ", "n": 1.5}},
        ])
    );
    assert!(group.body.contains(r#""body":{"id": "заказ", "n": 1.50}"#), "byte for byte: {}", group.body);
    let id = |members: &[&Notification]| encoded(members).0.message_id;
    assert_eq!(id(&[&first, &second]), group.message_id);
    assert_ne!(id(&[&first]), group.message_id);
}

#[test]
fn ord_18_a_group_of_events_is_a_batch_of_cloudevents() {
    let event =
        |no| Notification { form: events(9), number: Some(no), ..end(no, "amqp://?queue=a", terms(9)) };
    let (group, body) = encoded(&[&event(1), &event(2)]);
    assert!(group.content_type.starts_with("application/cloudevents-batch+json"));
    assert_eq!(body.as_array().unwrap().len(), 2);
    assert_eq!((&body[1]["specversion"], &body[1]["data"]["id"]), (&json!("1.0"), &json!("2")));
}
