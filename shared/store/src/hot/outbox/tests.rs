//! Kinds and ids of notifications.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use jiff::Timestamp;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::{Mode, OrderError, OrderHead, ScenarioStatus, Status};

use pagurus_domain::subscription::{ActiveSubscription, SubscriptionRule};

use super::*;

fn order(life: i32, notify: &str) -> OrderHead {
    OrderHead {
        no: OrderNo(1),
        id: "a".into(),
        scenario: ScenarioNo(1),
        mode: Mode::Parallel,
        transaction_id: None,
        notify: Some(notify.into()),
        answers: None,
        labels: Labels::default(),
        trace: None,
        life: Life(life),
        created_at: Timestamp::UNIX_EPOCH,
        started_at: None,
        stages: 0,
        retries: 0,
    }
}

fn failed<'a>(order: &'a OrderHead, error: Option<&'a OrderError>) -> Content<'a> {
    Content {
        order,
        scenario: "s",
        scenario_version: 1,
        status: Status::Fail,
        scenario_status: ScenarioStatus::Failed,
        step: None,
        result: None,
        message: None,
        error,
        started_at: None,
        finished_at: Timestamp::UNIX_EPOCH,
        stages: 1,
        retries: 0,
    }
}

#[test]
fn ord_19_each_end_of_a_life_has_an_id_of_its_own_that_never_changes() {
    let id = |life: i32, end: LifeEnd| {
        let order = order(life, r#"{"url": "amqp://?key=k", "on": ["final"]}"#);
        NewNotification::of(&failed(&order, None), end, &ActiveSubscriptions::default())[0].message_id
    };
    let ids = [id(1, LifeEnd::First), id(1, LifeEnd::Second), id(2, LifeEnd::First), id(2, LifeEnd::Second)];
    for (index, one) in ids.iter().enumerate() {
        assert!(!ids[index + 1..].contains(one), "{ids:?}");
    }
    assert_eq!(ids[1], id(1, LifeEnd::Second));
    // What earlier versions sent has the same id when it is sent again by this one.
    assert_eq!(ids[0], Uuid::new_v5(&Uuid::NAMESPACE_OID, b"a\x001\0final"));
}

#[test]
fn ord_38_each_receiver_has_a_row_of_its_own_for_each_event_that_it_asked_for() {
    let wish = r#"{"url": "amqp://?key=k", "correlationId": "c", "others": [
        {"url": "https://h/a", "on": ["parked"]}, {"url": "amqp://?queue=q", "on": ["final", "parked", "jeopardy", "transitions"]}]}"#;
    let order = order(1, wish);
    let error = OrderError { exhausted: true, ..OrderError::new("http.503", "m") };
    let content = failed(&order, Some(&error));
    let kinds =
        |new: &[NewNotification]| -> Vec<String> { new.iter().map(|one| one.kind.to_string()).collect() };
    let first = NewNotification::of(&content, LifeEnd::First, &ActiveSubscriptions::default());
    assert_eq!(kinds(&first), ["final", "final-r3", "parked-r2", "parked-r3"]);
    assert_eq!(first[2].receiver.as_deref(), Some("https://h:443"));
    assert_eq!((first[0].correlation_id.as_deref(), first[1].correlation_id.as_deref()), (Some("c"), None));
    assert_eq!(
        kinds(&NewNotification::of(&content, LifeEnd::Second, &ActiveSubscriptions::default())),
        ["final-2", "final-2-r3"]
    );
    assert_eq!(
        kinds(&NewNotification::of_suspension(&content, 7, &ActiveSubscriptions::default())),
        ["parked-7-r2", "parked-7-r3"]
    );
    assert_eq!(
        kinds(&NewNotification::of_inconsistency(&content, 9, &ActiveSubscriptions::default())),
        ["parked-check-9-r2", "parked-check-9-r3"]
    );
    let (promise_at, expected_at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
    let jeopardy = Jeopardy { promise_at, expected_at, cause: "c" };
    assert_eq!(
        kinds(&NewNotification::of_jeopardy(&content, &jeopardy, &ActiveSubscriptions::default())),
        ["jeopardy-r3"]
    );
    let moved = Moved {
        order: &order,
        scenario: "s",
        scenario_version: 1,
        from: "a",
        event: "e",
        to: "b",
        at: promise_at,
    };
    let moves = NewNotification::of_moves(&order, [moved]);
    assert_eq!((moves.len(), moves[0].target.as_str()), (1, "amqp://?queue=q"));
    let mut ids: Vec<Uuid> = first.iter().map(|one| one.message_id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert_eq!(
        first[3].message_id,
        NewNotification::of(&content, LifeEnd::First, &ActiveSubscriptions::default())[3].message_id
    );
}

#[test]
fn ord_18_the_word_of_outsiders_follows_from_the_kind() {
    for (kind, word) in [
        ("final", "ended"),
        ("final-2", "ended"),
        ("answer", "ended"),
        ("parked", "parked"),
        ("parked-7", "parked"),
        ("parked-check-9", "parked"),
        ("transition-0b6a", "transition"),
        ("jeopardy", "jeopardy"),
        ("final-r2", "ended"),
        ("final-2-s7", "ended"),
        ("parked-7-r2", "parked"),
        ("jeopardy-s7", "jeopardy"),
    ] {
        assert_eq!(tells(kind), word, "{kind}");
    }
}

#[test]
fn ord_38_subscriptions_hear_of_what_they_ask_for_and_a_replay_has_the_ids_of_the_first_time() {
    let rule = |on: &str| {
        let body = serde_json::json!({"url": "https://h/a", "on": [on], "outcomes": ["fail"]});
        SubscriptionRule::read(&body, None).unwrap()
    };
    let standing = ActiveSubscriptions(vec![
        ActiveSubscription { no: 7, rule: rule("final") },
        ActiveSubscription { no: 8, rule: rule("parked") },
    ]);
    let order = order(1, r#"{"url": "amqp://?key=k"}"#);
    let error = OrderError { exhausted: true, ..OrderError::new("http.503", "m") };
    let content = failed(&order, Some(&error));
    let first = NewNotification::of(&content, LifeEnd::First, &standing);
    let kinds: Vec<(&str, Option<i64>)> = first.iter().map(|one| (&*one.kind, one.subscription)).collect();
    assert_eq!(kinds, [("final", None), ("final-s7", Some(7)), ("parked-s8", Some(8))]);
    let again = NewNotification::again(&content, LifeEnd::First, &standing);
    assert_eq!((again.len(), again[0].message_id), (1, first[1].message_id));
    let succeeded = Content { status: Status::Success, error: None, ..content };
    assert_eq!(NewNotification::of(&succeeded, LifeEnd::First, &standing).len(), 1);
}
