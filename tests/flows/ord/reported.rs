//! Notifications of more than ends: transitions, and orders that need a person; and as CloudEvents (ORD-18).

use std::time::Duration;

use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, LOG, PATIENCE, asking, call};

const WEBHOOKS: [(&str, &str); 2] = [
    ("PAGURUS__NOTIFY__ALLOW", "[{url: 'http://127.0.0.1:*', secret: hooks}, {exchange: '*'}]"),
    ("PAGURUS_SECRET_HOOKS", "a-secret-of-some-thirty-bytes-"),
];

#[tokio::test]
async fn ord_18_transitions_are_reported_one_by_one_as_they_stand_in_the_history() {
    let engine = Installation::start("ord_18_moves").await;
    engine
        .scenario(
            "moves",
            "initialState: one\nstates:\n  one:\n    actions: [{log: a}]\n    on: {success: two}\n  \
             two:\n    entryPoint: true\n    actions: [{log: b}, {sleep: {for: 200ms}}]\n    on: {sleep: nap}\n  \
             nap: {kind: sleeping, on: {timeout: good}}\n  good: {kind: terminal}\n",
        )
        .await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let notify = json!({"url": "amqp://?key=moves", "on": ["transitions"], "correlationId": "c"});
    engine
        .run(json!({"id": "a", "scenario": "moves", "transactionId": "t", "notify": notify}), "success")
        .await;
    let shown = engine.part("a", "transitions").await;
    let shown: Vec<(&Value, &Value, &Value)> =
        shown.as_array().unwrap().iter().map(|one| (&one["from"], &one["event"], &one["to"])).collect();
    assert!(shown.len() >= 3, "{shown:?}");
    let mut messages = inbox.wait(PATIENCE, |all| all.len() >= shown.len()).await.unwrap();
    let number =
        |message: &pagurus_harness::client::amqp::Message| message.headers["sequence"].as_i64().unwrap();
    messages.sort_by_key(number);
    assert_eq!(messages.len(), shown.len(), "and no end, which nobody asked for");
    let moves: Vec<(&Value, &Value, &Value)> = messages
        .iter()
        .map(|one| &one.body["transition"])
        .map(|moved| (&moved["from"], &moved["event"], &moved["to"]))
        .collect();
    assert_eq!(moves, shown);
    assert!(messages.windows(2).all(|two| number(&two[0]) < number(&two[1])));
    for one in &messages {
        assert_eq!((&one.body["id"], &one.body["correlationId"]), (&json!("a"), &json!("c")));
        assert_eq!((&one.body["transactionId"], &one.body["life"]), (&json!("t"), &json!(1)));
    }
}

#[tokio::test]
async fn ord_18_an_order_that_stands_still_is_reported_once_and_one_that_goes_on_is_not() {
    let engine = Installation::with("ord_18_parked", &[("PAGURUS__NOTIFY__PARKED_AFTER", "1s")]).await;
    engine.scenario("asks", &asking("/ask", "1h")).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let notify = |key: &str| json!({"url": format!("amqp://?key={key}"), "on": ["parked"]});
    engine.accepted(json!({"id": "still", "scenario": "asks", "notify": notify("still")})).await;
    engine.accepted(json!({"id": "quick", "scenario": "asks", "notify": notify("quick")})).await;
    let calls = engine.calls("/ask", 2).await;
    engine.reach("quick", "wait").await;
    let quick = calls.iter().find(|call| call.body["order"] == "quick").unwrap();
    engine.env().http().post(&quick.headers["x-callback-url"]).json(&json!({})).send().await.unwrap();
    engine.reach("quick", "success").await;
    let messages = inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    assert_eq!((messages[0].key.as_str(), &messages[0].body["status"]), ("still", &json!("wait")));
    assert_eq!(messages[0].body["parked"]["reason"], "suspended");
    assert_eq!((&messages[0].body["step"], &messages[0].body["finishedAt"]), (&json!("asked"), &Value::Null));
    // Its history and the stream show it, too.
    let events = engine.part("still", "events").await;
    let parked: Vec<&Value> =
        events.as_array().unwrap().iter().filter(|event| event["kind"] == "parked").collect();
    assert_eq!(parked.len(), 1, "{events}");
    assert_eq!(parked[0]["payload"]["reason"], "suspended", "{events}");
    let quick = engine.part("quick", "events").await;
    assert!(quick.as_array().unwrap().iter().all(|event| event["kind"] != "parked"), "{quick}");
    // Longer than a report takes: neither the other one nor this one again.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn ord_18_an_end_after_repeats_that_did_not_help_is_reported_to_clients_that_asked_for_parked() {
    let soon = "{initial_interval: 100ms, multiplier: 1, max_interval: 100ms, jitter: 0, max_attempts: 2, max_duration: 1h}";
    let engine =
        Installation::with("ord_18_exhausted", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(soon))])
            .await;
    engine.actions("tries", &call("/down")).await;
    engine.actions("fails", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    engine.world().program(Program::at("/down").then_answer(503, Value::Null));
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let notify = json!({"url": "amqp://?key=p", "on": ["parked"]});
    engine.run(json!({"id": "wanted", "scenario": "fails", "notify": notify}), "fail").await;
    let order = engine.run(json!({"id": "tried", "scenario": "tries", "notify": notify}), "fail").await;
    assert!(order["retries"].as_i64().unwrap() > 0, "{order}");
    let messages = inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!((&messages[0].body["id"], &messages[0].body["status"]), (&json!("tried"), &json!("fail")));
    assert_eq!(messages[0].body["parked"]["reason"], "retries_exhausted");
}

#[tokio::test]
async fn ord_18_a_client_may_have_cloud_events_over_either_way() {
    let engine = Installation::with("ord_18_events", &WEBHOOKS).await;
    engine.actions("quick", LOG).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let hook = format!("{}/hook", engine.world().url());
    for (id, url) in [("by-amqp", "amqp://?key=k"), ("by-http", &hook)] {
        for format in ["cloudevents", "cloudevents-binary"] {
            let notify = json!({"url": url, "format": format, "correlationId": "c"});
            let order = json!({"id": format!("{id}-{format}"), "scenario": "quick", "transactionId": "t", "notify": notify});
            engine.run(order, "success").await;
        }
    }
    let demand = |event: &Value, id: &str| {
        assert_eq!(event["specversion"], "1.0");
        assert_eq!(event["type"], "io.pagurus.order.ended.v1");
        assert_eq!((&event["subject"], &event["correlationid"]), (&json!(id), &json!("c")));
        let source = format!("/pagurus/{}/scenarios/quick", engine.env().prefix());
        assert_eq!(event["source"], source);
        assert_eq!(event["sequence"].as_str().unwrap().len(), 20);
    };
    let messages = inbox.wait(PATIENCE, |all| all.len() == 2).await.unwrap();
    let structured = messages.iter().find(|one| one.body.get("specversion").is_some()).unwrap();
    demand(&structured.body, "by-amqp-cloudevents");
    assert_eq!(structured.body["data"]["status"], "success");
    assert_eq!(structured.body["id"].as_str(), structured.message_id.as_deref());
    let binary = messages.iter().find(|one| one.body.get("status").is_some()).unwrap();
    let attributes: serde_json::Map<String, Value> = binary
        .headers
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("cloudEvents_")?.to_owned(), value.clone())))
        .collect();
    demand(&Value::Object(attributes), "by-amqp-cloudevents-binary");
    let calls = engine.calls("/hook", 2).await;
    let structured = calls.iter().find(|one| one.headers["content-type"].contains("cloudevents")).unwrap();
    demand(&structured.body, "by-http-cloudevents");
    assert_eq!(structured.body["id"], structured.headers["webhook-id"]);
    let binary = calls.iter().find(|one| one.headers.contains_key("ce-id")).unwrap();
    let field = |name: &str| (name.to_owned(), json!(binary.headers[&format!("ce-{name}")]));
    let attributes = ["specversion", "type", "subject", "correlationid", "source", "sequence"]
        .into_iter()
        .map(field)
        .collect();
    demand(&Value::Object(attributes), "by-http-cloudevents-binary");
    assert_eq!(binary.body["status"], "success");
}
