//! Several receivers of one order: each has its own occasions, rows and deliveries (ORD-38).

use std::collections::BTreeSet;

use pagurus_harness::client::amqp::Message;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::World;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use super::webhook::engine;
use crate::installation::{Installation, LOG, PATIENCE, until};

pub(super) async fn inbox(engine: &Installation) -> pagurus_harness::client::amqp::Inbox {
    let amqp = engine.env().amqp().await.unwrap();
    amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap()
}

async fn unsent(engine: &Installation, id: &str) -> Vec<Value> {
    engine.order(id).await.unwrap()["unsentNotifications"].as_array().cloned().unwrap()
}

fn keys(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.key.as_str()).collect()
}

#[tokio::test]
async fn ord_38_a_message_and_a_webhook_are_sent_for_one_end_and_a_dead_receiver_delays_no_other() {
    let engine = engine("ord_38_list", &[]).await;
    engine.actions("quick", LOG).await;
    let dead = World::start().await.unwrap();
    dead.program(Program::at("/hook").then_answer(503, Value::Null));
    let inbox = inbox(&engine).await;
    let notify = json!([
        {"url": format!("{}/hook?token=t", dead.url()), "correlationId": "c-1"},
        {"url": "amqp://?key=second", "correlationId": "c-2", "on": ["final", "transitions"]},
        {"url": format!("{}/hook", engine.world().url()), "correlationId": "c-3", "format": "cloudevents"},
        {"url": "amqp://?key=never", "correlationId": "c-4", "on": ["parked"]},
    ]);
    engine.run(json!({"id": "a", "scenario": "quick", "notify": notify}), "success").await;
    let received = inbox.wait(PATIENCE, |all| all.len() >= 2).await.unwrap();
    assert_eq!(
        keys(&received),
        ["second", "second"],
        "one move and the end, and nothing for who asked for less"
    );
    let end = received.iter().find(|message| message.body.get("transition").is_none()).unwrap();
    assert_eq!(end.body["correlationId"], "c-2");
    let call = engine.calls("/hook", 1).await.remove(0);
    assert_eq!(
        (&call.body["type"], &call.body["data"]["correlationId"]),
        (&json!("io.pagurus.order.ended.v1"), &json!("c-3"))
    );
    assert_ne!(
        end.message_id.as_deref(),
        Some(call.headers["webhook-id"].as_str()),
        "each has a message of its own"
    );
    dead.wait_calls("/hook", 3, PATIENCE).await.unwrap();
    let ids: BTreeSet<String> =
        dead.calls("/hook").iter().map(|call| call.headers["webhook-id"].clone()).collect();
    assert_eq!(ids.len(), 1, "a repeat has the id of the first try");
    until("only the dead one is left", PATIENCE, async || unsent(&engine, "a").await.len() == 1).await;
    let left = unsent(&engine, "a").await;
    assert_eq!(left[0]["target"], format!("{}/hook?***", dead.url()));
    // Shown as given, without queries.
    let shown = engine.order("a").await.unwrap()["notify"].clone();
    assert_eq!((shown.as_array().unwrap().len(), &shown[0]["url"]), (4, &left[0]["target"]));
    dead.program(Program::at("/hook"));
    until("the dead one has it, too", PATIENCE, async || unsent(&engine, "a").await.is_empty()).await;
}

#[tokio::test]
async fn ord_38_19_every_life_is_reported_to_all_receivers_and_a_dead_notifier_loses_none() {
    let mut engine = engine("ord_38_lives", &[]).await;
    engine.actions("fails", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    let inbox = inbox(&engine).await;
    let notify = json!([
        {"url": "amqp://?key=first"}, {"url": format!("{}/hook", engine.world().url())}, {"url": "amqp://?key=third"},
    ]);
    engine.run(json!({"id": "a", "scenario": "fails", "notify": notify}), "fail").await;
    inbox.wait(PATIENCE, |all| all.len() >= 2).await.unwrap();
    let notifier = engine.node(Role::Notifier).clone();
    notifier.kill().await.unwrap();
    assert_eq!(engine.act("a", "restart", &json!({})).await.status, 200);
    until("the second life has ended", PATIENCE, async || {
        let order = engine.order("a").await.unwrap();
        (&order["life"], &order["status"]) == (&json!(2), &json!("fail"))
    })
    .await;
    assert_eq!(engine.act("a", "cancel", &json!({})).await.status, 200);
    engine.add(Role::Notifier, "notifier-2").await;
    // Notifications that the dead one had just taken are kept for it for three quarters of a minute.
    until("all is delivered", 3 * PATIENCE, async || unsent(&engine, "a").await.is_empty()).await;
    let seen = |key: &str| -> BTreeSet<(i64, String)> {
        let of = inbox.messages().into_iter().filter(|message| message.key == key);
        of.map(|one| (one.body["life"].as_i64().unwrap(), one.body["status"].as_str().unwrap().to_owned()))
            .collect()
    };
    let expected: BTreeSet<(i64, String)> =
        [(1, "fail"), (2, "fail"), (2, "canceled")].map(|(life, status)| (life, status.to_owned())).into();
    until("each has heard of every end", PATIENCE, async || {
        seen("first") == expected && seen("third") == expected
    })
    .await;
    let calls = engine.world().calls("/hook");
    let heard: BTreeSet<(i64, String)> = calls
        .iter()
        .map(|call| (call.body["life"].as_i64().unwrap(), call.body["status"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn ord_38_27_a_list_is_checked_by_place_changed_as_a_whole_and_copied_by_a_clone() {
    let engine = engine("ord_38_faults", &[]).await;
    engine.actions("quick", LOG).await;
    let hook = |token: &str| json!({"url": format!("{}/hook?token={token}", engine.world().url())});
    let key = |key: &str| json!({"url": format!("amqp://?key={key}")});
    for (notify, pointers) in [
        (
            json!([key("a"), {"url": "amqp://?exchange=amq.topic&key=x"}, {"url": "https://elsewhere.example/"}]),
            vec!["/notify/1/url", "/notify/2/url"],
        ),
        (json!([key("a"), {"on": ["end"]}]), vec!["/notify/1/url", "/notify/1/on/0"]),
        (json!([key("a"), key("a")]), vec!["/notify/1"]),
        (json!([]), vec!["/notify"]),
        (Value::Array((0..9).map(|n| key(&n.to_string())).collect()), vec!["/notify"]),
    ] {
        let answer = engine.submit(&json!({"id": "x", "scenario": "quick", "notify": notify})).await;
        let found: Vec<&Value> = match answer.body["errors"].as_array() {
            Some(errors) => errors.iter().map(|error| &error["pointer"]).collect(),
            None => vec![&answer.body["pointer"]],
        };
        assert_eq!(
            (answer.status, found),
            (422, pointers.iter().map(|one| json!(one)).collect::<Vec<_>>().iter().collect()),
            "{answer:?}"
        );
    }
    let later = json!({"startAt": "2099-01-01T00:00:00Z"});
    engine.accepted(json!({"id": "a", "scenario": "quick", "notify": hook("1"), "lifecycle": later})).await;
    assert!(engine.order("a").await.unwrap()["notify"].is_object(), "who sends one sees one");
    let shown = format!("{}/hook?***", engine.world().url());
    let change = json!({"notify": [key("k"), {"url": shown}]});
    let changed = engine.patch("/v1/orders/a", &change).await.unwrap();
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(engine.order("a").await.unwrap()["notify"][1]["url"], json!(shown));
    let inbox = inbox(&engine).await;
    let cloned = engine.act("a", "clone", &json!({"id": "b", "lifecycle": null})).await;
    assert_eq!(cloned.status, 201, "{cloned:?}");
    let call = engine.calls("/hook", 1).await.remove(0);
    assert_eq!((call.query.as_str(), &call.body["id"]), ("token=1", &json!("b")));
    assert_eq!(inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap()[0].body["id"], "b");
}
