//! The document of the messages against live messages (AMQP-4).

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::Message;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, PATIENCE, call, until};

/// Returns the schema of a message of the document.
fn schema(document: &Value, channel: &str, message: &str) -> jsonschema::Validator {
    let payload = &document["channels"][channel]["messages"][message]["payload"];
    assert!(!payload.is_null(), "no message {message} in {channel}");
    jsonschema::draft202012::new(&json!({"allOf": [payload], "components": document["components"]})).unwrap()
}

#[track_caller]
pub(crate) fn fits(document: &Value, channel: &str, message: &str, body: &Value) {
    let faults: Vec<String> = schema(document, channel, message)
        .iter_errors(body)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{channel} {message} {body}: {faults:?}");
}

/// Asserts that a live message has the headers that the document describes, and no other.
#[track_caller]
fn headers_fit(document: &Value, channel: &str, message: &str, headers: &Value) {
    let mut schema = document["channels"][channel]["messages"][message]["headers"].clone();
    schema["additionalProperties"] = false.into();
    let headers = if headers.is_null() { &json!({}) } else { headers };
    let faults: Vec<String> = jsonschema::draft202012::new(&schema)
        .unwrap()
        .iter_errors(headers)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{channel} {message} {headers}: {faults:?}");
}

/// Headers of a client that traces.
fn traced() -> FieldTable {
    let mut headers = FieldTable::default();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (name, value) in [("traceparent", trace), ("tracestate", "vendor=1")] {
        headers.insert(name.into(), AMQPValue::LongString(value.into()));
    }
    headers
}

/// Asserts that ends and moves fit the document, and that there are some of either.
fn notices_fit(document: &Value, notices: &[Message]) {
    for message in notices {
        let is_move = message.body.get("transition").is_some();
        let name = if is_move { "transition" } else { "end" };
        fits(document, "notifications", name, &message.body);
        headers_fit(document, "notifications", name, &message.headers);
        assert!(message.headers["traceparent"].is_string(), "{message:?}");
        assert_eq!(message.headers["sequence"].is_i64(), is_move, "{message:?}");
    }
    assert!(notices.iter().any(|message| message.headers["transaction-id"] == "t"), "{notices:?}");
    let (moves, ends): (Vec<&Message>, Vec<&Message>) =
        notices.iter().partition(|message| message.body.get("transition").is_some());
    assert!(moves.len() >= 2 && ends.iter().any(|end| end.body["error"].is_object()), "{notices:?}");
}

#[tokio::test]
async fn amqp_4_live_messages_are_what_the_document_says() {
    let never = policy(
        "{initial_interval: 100ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 1, max_duration: 1h}",
    );
    let engine = Installation::with("amqp_4", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &never)]).await;
    let document = engine.get("/asyncapi.json").await.unwrap().success().unwrap();
    let channel = |name: &str| document["channels"][name]["address"].as_str().unwrap().to_owned();
    engine.world().program(pagurus_harness::world::program::Program::at("/down").fail(100, 503));
    engine.actions("one", &call("/one")).await;
    engine.actions("down", &call("/down")).await;
    engine.actions("scores", "- actor: {name: scoring, body: {a: 1}}").await;
    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let notices = amqp.listen(&channel("notifications"), "told").await.unwrap();
    let tasks = amqp.listen(&channel("actors"), "scoring").await.unwrap();
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into()).with_headers(traced());
    let notify =
        json!({"url": "amqp://?key=told", "correlationId": "c", "on": ["final", "transitions", "parked"]});
    let sent = [
        ("order.create", json!({"id": "a", "scenario": "one", "transactionId": "t", "notify": notify})),
        ("order.create", json!({"id": "a", "scenario": "one"})),
        (
            "order.create",
            json!({"id": "b", "scenario": "down", "notify": notify, "lifecycle": {"periodToStart": 60}}),
        ),
        ("order.create", json!({"id": "c", "scenario": "scores"})),
        ("order.restart", json!({"id": "a", "from": "initial", "reason": "again"})),
        ("order.cancel", json!({"id": "nobody", "reason": "x"})),
        ("order.interrupt", json!({"id": "a", "ifStatus": "new"})),
        ("order.kill", json!({"id": "nobody"})),
        ("order.call", json!({"id": "c", "name": "status", "key": "k", "body": {"x": 1}})),
        ("order.create", json!({"id": "d"})),
    ];
    for (index, (key, body)) in sent.iter().enumerate() {
        if body["id"] == "d" {
            assert!(!schema(&document, "orders", key).is_valid(body), "the document wants a scenario, too");
        } else {
            fits(&document, "orders", key, body);
        }
        amqp.publish(&channel("orders"), key, body.to_string().as_bytes(), &properties).await.unwrap();
        let answers = receipts.wait(PATIENCE, |all| all.len() > index).await.unwrap();
        fits(&document, "receipts", "receipt", &answers[index].body);
        if index == 3 {
            engine.reach("a", "success").await;
            engine.reach("b", "fail").await;
        }
    }
    let received = notices
        .wait(PATIENCE, |all| all.iter().filter(|one| one.body.get("finishedAt").is_some()).count() >= 3);
    let received = received.await.unwrap();
    notices_fit(&document, &received);
    let task = tasks.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    fits(&document, "actors", "task", &task[0].body);
    headers_fit(&document, "actors", "task", &task[0].headers);
    receipts.wait(PATIENCE, |all| all.len() >= sent.len()).await.unwrap();
    for receipt in receipts.wait(PATIENCE, |_| true).await.unwrap() {
        headers_fit(&document, "receipts", "receipt", &receipt.headers);
    }
    // Each of them was worked on, and measured under the name of OpenTelemetry's conventions.
    let series = "messaging_process_duration_seconds_count";
    until("each is measured", PATIENCE, async || {
        engine.metric(engine.node(Role::Intake), series).await >= sent.len() as f64
    })
    .await;
}

#[tokio::test]
async fn amqp_4_live_cloud_events_are_what_the_document_says() {
    let engine = Installation::start("amqp_4_events").await;
    let document = engine.get("/asyncapi.json").await.unwrap().success().unwrap();
    engine.actions("one", &call("/one")).await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = document["channels"]["notifications"]["address"].as_str().unwrap();
    let notices = amqp.listen(exchange, "told").await.unwrap();
    for format in ["cloudevents", "cloudevents-binary"] {
        let notify = json!({"url": "amqp://?key=told", "on": ["final", "transitions"], "format": format});
        engine
            .run(json!({"id": format, "scenario": "one", "transactionId": "t", "notify": notify}), "success")
            .await;
    }
    let received = notices.wait(PATIENCE, |all| all.len() >= 4).await.unwrap();
    let mut forms = std::collections::BTreeMap::new();
    for message in &received {
        let form = if message.body.get("specversion").is_some() { "event" } else { "binaryEvent" };
        fits(&document, "notifications", form, &message.body);
        headers_fit(&document, "notifications", form, &message.headers);
        *forms.entry(form).or_insert(0) += 1;
    }
    assert!(forms["event"] >= 2 && forms["binaryEvent"] >= 2, "an end and a move of each: {forms:?}");
}
