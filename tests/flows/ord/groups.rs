//! Notifications in groups (ORD-18): many ends in one message, each as surely as alone.

use std::collections::BTreeMap;

use pagurus_harness::client::amqp::{Inbox, Message};
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, until};

/// Returns the members of all groups that have come, in their order.
fn members(messages: &[Message]) -> Vec<Value> {
    messages
        .iter()
        .flat_map(|message| message.body.as_array().cloned().expect("a group is an array"))
        .collect()
}

/// Waits until each of these orders is a member of a group. Returns the messages.
async fn all_of(inbox: &Inbox, ids: &[String]) -> Vec<Message> {
    let has_all = |messages: &[Message]| {
        let members = members(messages);
        ids.iter().all(|id| members.iter().any(|one| one["body"]["id"] == **id))
    };
    inbox.wait(PATIENCE, has_all).await.unwrap()
}

async fn register(engine: &Installation, prefix: &str, count: usize, notify: &Value) -> Vec<String> {
    let ids: Vec<String> = (0..count).map(|n| format!("{prefix}-{n}")).collect();
    let orders = ids.iter().map(|id| json!({"id": id, "scenario": "one", "notify": notify}));
    let answer = engine.post("/v1/orders/batch", &Value::Array(orders.collect())).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    ids
}

#[tokio::test]
async fn ord_18_ends_come_in_groups_of_the_size_that_was_asked_for() {
    let engine = Installation::start("ord_18_groups").await;
    engine.actions("one", LOG).await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.notifications", engine.env().prefix());
    let inbox = amqp.listen(&exchange, "group.#").await.unwrap();
    let notify =
        json!({"url": "amqp://?key=group.a", "correlationId": "c", "group": {"max": 7, "within": "1s"}});
    let ids = register(&engine, "a", 50, &notify).await;
    let messages = all_of(&inbox, &ids).await;
    assert_eq!(members(&messages).len(), 50, "each once");
    let sizes: Vec<usize> = messages.iter().map(|message| message.body.as_array().unwrap().len()).collect();
    assert!(sizes.iter().all(|size| (1..=7).contains(size)), "{sizes:?}");
    assert!(sizes.len() < 25, "they are gathered: {sizes:?}");
    for message in &messages {
        assert!(message.correlation_id.is_none() && message.message_id.is_some(), "{message:?}");
    }
    let document = engine.get("/asyncapi.json").await.unwrap().success().unwrap();
    for message in &messages {
        crate::asyncapi::fits(&document, "notifications", "group", &message.body);
    }
    let member = &members(&messages)[0];
    assert_eq!((&member["type"], &member["body"]["correlationId"]), (&json!("order.final"), &json!("c")));
    // An order that ends alone comes in a group of one, and one of the same receiver without a group comes alone.
    let alone = json!({"url": "amqp://?key=group.b", "correlationId": "c"});
    engine.run(json!({"id": "b", "scenario": "one", "notify": [notify, alone]}), "success").await;
    let is_of_b = |message: &Message| message.body["id"] == "b" || message.body[0]["body"]["id"] == "b";
    let both = inbox.wait(PATIENCE, |all| all.iter().filter(|one| is_of_b(one)).count() == 2).await.unwrap();
    let both: Vec<&Message> = both.iter().filter(|one| is_of_b(one)).collect();
    assert_eq!(both.iter().filter(|message| message.body.is_array()).count(), 1, "{both:?}");
    let events =
        json!({"url": "amqp://?key=group.c", "correlationId": "c", "format": "cloudevents", "group": {}});
    engine.run(json!({"id": "e", "scenario": "one", "notify": events}), "success").await;
    let is_event = |message: &Message| message.body[0]["subject"] == "e";
    let all = inbox.wait(PATIENCE, |all| all.iter().any(is_event)).await.unwrap();
    let event = all.iter().find(|message| is_event(message)).unwrap();
    crate::asyncapi::fits(&document, "notifications", "eventGroup", &event.body);
}

#[tokio::test]
async fn ord_19_no_member_of_a_group_is_lost_with_a_notifier_and_a_repeat_has_the_same_id() {
    let mut engine = Installation::start("ord_19_groups").await;
    engine.actions("one", LOG).await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.notifications", engine.env().prefix());
    let inbox = amqp.listen(&exchange, "group.#").await.unwrap();
    let notify =
        json!({"url": "amqp://?key=group.a", "correlationId": "c", "group": {"max": 1000, "within": "1s"}});
    let mut ids = Vec::new();
    for round in 0..3 {
        let of_round = register(&engine, &format!("r{round}"), 40, &notify).await;
        engine.reach(&of_round[39], "success").await;
        // Dies while it gathers, or sends.
        engine.node(Role::Notifier).kill().await.unwrap();
        engine.restart(Role::Notifier).await;
        ids.extend(of_round);
    }
    let messages = all_of(&inbox, &ids).await;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for member in members(&messages) {
        let (order, id) = (member["body"]["id"].to_string(), member["messageId"].to_string());
        assert_eq!(*known.entry(order).or_insert_with(|| id.clone()), id, "{member}");
    }
    let database = engine.database().await;
    until("the outbox is empty", PATIENCE, async || {
        let left: i64 =
            database.query_one("SELECT count(*) AS left FROM outbox", &[]).await.unwrap().get("left");
        left == 0
    })
    .await;
    // A group that no queue takes is parked, each of its members by itself.
    let nowhere = json!({"url": "amqp://?key=nowhere", "correlationId": "c", "group": {}});
    register(&engine, "n", 3, &nowhere).await;
    until("they are parked", PATIENCE, async || {
        let sql = "SELECT count(*) AS parked FROM outbox WHERE parked_because = 'unroutable'";
        let parked: i64 = database.query_one(sql, &[]).await.unwrap().get("parked");
        parked == 3
    })
    .await;
}
