//! AMQP: what is refused, what waits, what is carried on (07-interfaces.md).

use lapin::BasicProperties;
use lapin::options::{BasicGetOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy};
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, LOG, PATIENCE, call, until};
use crate::refused::listed;

#[tokio::test]
async fn amqp_1_what_can_never_be_handled_is_answered_kept_and_acknowledged() {
    let engine = Installation::with("amqp_1", &[("PAGURUS__INTAKE__MAX_BODY_BYTES", "4KiB")]).await;
    let text = "params: {type: object, required: [n], properties: {n: {type: integer}}}\ninitialState: a\nstates:\n  a: {actions: [{log: x}], on: {success: b}}\n  b: {kind: terminal}\n";
    engine.scenario("strict", text).await;
    engine.run(json!({"id": "there", "scenario": "strict", "params": {"n": 1}}), "success").await;
    let big = format!(
        "{{\"id\": \"big\", \"scenario\": \"strict\", \"params\": {{\"n\": 1, \"x\": \"{}\"}}}}",
        "x".repeat(5000)
    );
    let deep = format!(
        "{{\"id\": \"deep\", \"scenario\": \"strict\", \"params\": {{\"n\": {}{}}}}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("order.create", b"not json \xff\x00".to_vec(), "malformed"),
        ("order.create", Vec::new(), "malformed"),
        ("order.create", b"[1, 2]".to_vec(), "invalid"),
        ("order.create", br#"{"id": "u", "scenario": "unheard-of"}"#.to_vec(), "unknown-scenario"),
        ("order.create", br#"{"id": "p", "scenario": "strict", "params": {"n": "x"}}"#.to_vec(), "invalid"),
        (
            "order.create",
            br#"{"id": "z\u0000", "scenario": "strict", "params": {"n": 1}}"#.to_vec(),
            "invalid",
        ),
        ("order.create", big.into_bytes(), "too-large"),
        ("order.create", deep.into_bytes(), "malformed"),
        (
            "order.create",
            br#"{"id": "there", "scenario": "strict", "params": {"n": 2}}"#.to_vec(),
            "conflict",
        ),
        ("order.explode", br#"{"id": "there"}"#.to_vec(), "unknown-key"),
        ("order.cancel", br#"{"id": "there"}"#.to_vec(), "refused"),
        ("order.cancel", br#"{"id": "nobody"}"#.to_vec(), "not-found"),
        ("order.kill", br#"{}"#.to_vec(), "invalid"),
        ("order.restart", br#"{"id": "there", "from": "mars"}"#.to_vec(), "invalid"),
        ("order.restart", br#"{"id": "there", "from": 5}"#.to_vec(), "invalid"),
        ("order.restart", br#"{"id": "th\u0000ere"}"#.to_vec(), "invalid"),
    ];
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    for (index, (key, body, reason)) in cases.iter().enumerate() {
        let properties = BasicProperties::default()
            .with_reply_to(receipts.queue().into())
            .with_correlation_id(index.to_string().into())
            .with_expiration("3600000".into());
        client.publish(&format!("{}.orders", engine.env().prefix()), key, body, &properties).await.unwrap();
        let received = receipts
            .wait(PATIENCE, |all| all.len() > index)
            .await
            .unwrap_or_else(|error| panic!("{key} {reason}: {error}"));
        let receipt = received.last().unwrap();
        assert_eq!(receipt.correlation_id, Some(index.to_string()));
        let word = receipt.body["status"].as_str().unwrap();
        assert!(["rejected", "conflict"].contains(&word), "{receipt:?}");
        assert!(
            receipt.body["error"]["type"].as_str().unwrap().ends_with(&format!(":{reason}")),
            "{reason}: {receipt:?}"
        );
        let (kept, headers) = refused(&engine, &client).await;
        assert_eq!(&kept, body, "byte for byte");
        assert!(headers["refused-reason"].starts_with(reason), "{headers:?}");
        assert_eq!(&headers["refused-key"], key);
        assert_eq!(headers["x-orig-correlation-id"], index.to_string());
        assert!(headers.contains_key("refused-at"), "{headers:?}");
    }
    assert_eq!(waiting(&engine, &client, "orders.in").await, 0, "all are acknowledged");
    engine.run(json!({"id": "after", "scenario": "strict", "params": {"n": 3}}), "success").await;
}

#[tokio::test]
async fn amqp_1_nobody_comes_past_the_exchange_unless_the_configuration_lets_him() {
    let engine = Installation::start("past_exchange").await;
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    let queue = format!("{}.orders.in", engine.env().prefix());
    let order = br#"{"id": "past", "scenario": "any"}"#;
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
    client.publish("", &queue, order, &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    assert_eq!(received[0].body["error"]["type"], "urn:pagurus:problem:unknown-key");
    assert_eq!(refused(&engine, &client).await.0, order);
}

#[tokio::test]
async fn amqp_1_a_message_may_go_straight_to_the_queue_of_orders() {
    let engine = Installation::with("straight", &[("PAGURUS__INTAKE__STRAIGHT_TO_QUEUE", "true")]).await;
    let text = "initialState: a\nstates:\n  a: {actions: [{sleep: {for: 1h}}], on: {sleep: b}}\n  b: {kind: sleeping, on: {timeout: c}}\n  c: {kind: terminal}\n";
    engine.scenario("sleeper", text).await;
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    let queue = format!("{}.orders.in", engine.env().prefix());
    let order = br#"{"id": "s", "scenario": "sleeper"}"#;
    // The word is the property `type`; without one the message is a registration. A word that means nothing is refused.
    let cases: [(Option<&str>, &[u8], &str); 5] = [
        (None, order, "accepted"),
        (Some(""), order, "duplicate"),
        (Some("order.create"), order, "duplicate"),
        (Some("order.explode"), br#"{"id": "s"}"#, "rejected"),
        (Some("order.cancel"), br#"{"id": "s"}"#, "done"),
    ];
    for (index, (word, body, status)) in cases.into_iter().enumerate() {
        let mut properties = BasicProperties::default().with_reply_to(receipts.queue().into());
        if let Some(word) = word {
            properties = properties.with_type(word.into());
        }
        client.publish("", &queue, body, &properties).await.unwrap();
        let received = receipts.wait(PATIENCE, |all| all.len() > index).await.unwrap();
        assert_eq!(received.last().unwrap().body["status"], status, "{word:?}: {received:?}");
        if word.is_none() {
            engine.reach("s", "sleep").await;
        }
    }
    engine.reach("s", "canceled").await;
    let (kept, headers) = refused(&engine, &client).await;
    assert_eq!(kept, br#"{"id": "s"}"#);
    assert!(headers["refused-reason"].starts_with("unknown-key"), "{headers:?}");
    assert_eq!((&*headers["refused-key"], &*headers["x-orig-type"]), (&*queue, "order.explode"));
    // The word of a message that comes by the exchange is its key, whatever its type.
    let properties =
        BasicProperties::default().with_reply_to(receipts.queue().into()).with_type("order.cancel".into());
    let exchange = format!("{}.orders", engine.env().prefix());
    client.publish(&exchange, "order.create", order, &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| all.len() > 5).await.unwrap();
    assert_eq!(received.last().unwrap().body["status"], "duplicate");
}

/// The next message of the queue of refused ones: its body and its text headers.
pub async fn refused(
    engine: &Installation,
    client: &Amqp,
) -> (Vec<u8>, std::collections::BTreeMap<String, String>) {
    let queue = format!("{}.refused", engine.env().prefix());
    let mut found = None;
    until("a refused message is kept", PATIENCE, async || {
        found = client
            .channel()
            .basic_get(queue.as_str().into(), BasicGetOptions { no_ack: true })
            .await
            .unwrap();
        found.is_some()
    })
    .await;
    let delivery = found.unwrap().delivery;
    let headers = delivery.properties.headers().clone().unwrap();
    let text = |value: &AMQPValue| match value {
        AMQPValue::LongString(text) => text.to_string(),
        other => format!("{other:?}"),
    };
    let headers = headers.inner().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    (delivery.data.clone(), headers)
}

/// Number of messages that wait in a queue of the engine.
pub async fn waiting(engine: &Installation, client: &Amqp, queue: &str) -> u32 {
    let queue = format!("{}.{queue}", engine.env().prefix());
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    client
        .channel()
        .queue_declare(queue.as_str().into(), passive, FieldTable::default())
        .await
        .unwrap()
        .message_count()
}

#[tokio::test]
async fn amqp_2_without_the_broker_http_goes_on_and_without_the_database_messages_wait() {
    let mut engine = Installation::only("amqp_2", &[Role::Intake, Role::Dispatcher, Role::Worker], &[]).await;
    engine.actions("one", &call("/do")).await;
    engine.node(Role::Intake).stop(PATIENCE).await.unwrap();
    let database_url = engine.env().database_url();
    let address = |url: &str| {
        let rest = url.split_once("://").unwrap().1.split('/').next().unwrap().to_owned();
        rest.rsplit_once('@').map_or(rest.clone(), |(_, address)| address.to_owned())
    };
    let database = Proxy::start(&address(&database_url)).await.unwrap();
    let broker = Proxy::start(&address(engine.env().amqp_url())).await.unwrap();
    let settings = [
        ("PAGURUS__DATABASE__URL", database.url(&database_url)),
        ("PAGURUS__BROKER__URL", broker.url(engine.env().amqp_url())),
    ];
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let intake = engine.env().start_with(Role::Intake, "intake-2", &settings).await.unwrap();
    let api = engine.env().api(&intake);
    let probe = async || api.get("/readyz").await.unwrap();
    let ready = async || {
        let readiness = probe().await;
        readiness.status == 200 && readiness.body["degraded"] == false
    };

    broker.set(Mode::Cut);
    until("degraded without the broker", PATIENCE, async || !ready().await).await;
    let readiness = probe().await;
    assert_eq!((readiness.status, &readiness.body["doors"]["http"]), (200, &json!("up")), "{readiness:?}");
    assert_ne!(readiness.body["doors"]["amqp"], "up", "{readiness:?}");
    let answer = api.post("/v1/orders", &json!({"id": "http", "scenario": "one"})).await.unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    api.wait_status("http", "success", PATIENCE).await.unwrap();
    broker.set(Mode::Pass);
    until("ready again", PATIENCE, ready).await;

    database.set(Mode::Cut);
    let client = engine.env().amqp().await.unwrap();
    let orders: Vec<Value> = (0..20).map(|n| json!({"id": n.to_string(), "scenario": "one"})).collect();
    client.publish_orders("order.create", &orders, &BasicProperties::default()).await.unwrap();
    until("not ready without the database", PATIENCE, async || probe().await.status == 503).await;
    let answer = api.post("/v1/orders", &json!({"id": "no", "scenario": "one"})).await.unwrap();
    assert_eq!(answer.status, 503, "{answer:?}");
    database.set(Mode::Pass);
    until("ready again", PATIENCE, ready).await;
    for n in 0..20 {
        api.wait_status(&n.to_string(), "success", PATIENCE).await.unwrap();
    }
    engine.nodes.clear();
    assert_eq!(engine.world().calls("/do").len(), 21);
}

#[tokio::test]
async fn amqp_3_the_trace_and_the_sending_time_are_taken_from_headers() {
    let engine = Installation::start("amqp_3").await;
    engine.actions("one", &call("/do")).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut headers = FieldTable::default();
    headers.insert("traceparent".into(), AMQPValue::LongString(trace.into()));
    headers.insert("request-sent-time".into(), AMQPValue::LongString("2020-01-01T00:00:00Z".into()));
    let client = engine.env().amqp().await.unwrap();
    let order = |id: &str, period: Value| json!({"id": id, "scenario": "one", "lifecycle": {"periodToStart": period}});
    let marked = BasicProperties::default().with_headers(headers);
    client
        .publish_orders("order.create", &[order("free", Value::Null), order("late", json!(60))], &marked)
        .await
        .unwrap();
    let stamped = BasicProperties::default().with_timestamp(1_577_836_800);
    client.publish_orders("order.create", &[order("stamped", json!(60))], &stamped).await.unwrap();
    client
        .publish_orders("order.create", &[order("fresh", json!(60))], &BasicProperties::default())
        .await
        .unwrap();
    for (id, status) in [("free", "success"), ("late", "fail"), ("stamped", "fail"), ("fresh", "success")] {
        until("it is registered", PATIENCE, async || {
            engine.get(&format!("/v1/orders/{id}")).await.unwrap().status == 200
        })
        .await;
        engine.reach(id, status).await;
    }
    let calls = engine.world().calls("/do");
    let free = calls.iter().find(|call| call.body["order"] == "free").unwrap();
    assert!(free.headers["traceparent"].contains("0af7651916cd43dd8448eb211c80319c"), "{:?}", free.headers);
    assert_eq!(calls.len(), 2);
}

#[tokio::test]
async fn amqp_5_receipts_go_only_where_they_may() {
    let engine = Installation::start("amqp_5").await;
    engine.actions("one", LOG).await;
    let client = engine.env().amqp().await.unwrap();
    let prefix = engine.env().prefix();
    let plain = format!("{prefix}-plain");
    let temporary =
        QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
    client.channel().queue_declare(plain.as_str().into(), temporary, FieldTable::default()).await.unwrap();
    let targets = [
        format!("{prefix}.orders.in"),
        format!("{prefix}.callbacks.in"),
        format!("{prefix}.refused"),
        plain.clone(),
    ];
    for (index, target) in targets.iter().enumerate() {
        let properties = BasicProperties::default().with_reply_to(target.as_str().into());
        let order = json!({"id": index.to_string(), "scenario": "one"});
        client.publish_orders("order.create", &[order], &properties).await.unwrap();
    }
    // Whatever the message asks for: what its sender can never hear of is not done.
    engine.run(json!({"id": "ended", "scenario": "one"}), "success").await;
    let properties = BasicProperties::default().with_reply_to(plain.as_str().into());
    client.publish_orders("order.restart", &[json!({"id": "ended"})], &properties).await.unwrap();
    // An empty one is none.
    let properties = BasicProperties::default().with_reply_to("".into());
    client
        .publish_orders("order.create", &[json!({"id": "silent", "scenario": "one"})], &properties)
        .await
        .unwrap();
    until("the order without a reply queue is there", PATIENCE, async || {
        engine.get("/v1/orders/silent").await.unwrap().status == 200
    })
    .await;
    let refused = listed(&engine, targets.len() + 1).await;
    for message in &refused {
        let reason = message["reason"].as_str().unwrap();
        assert!(reason.starts_with("invalid: `reply_to`") && reason.contains("reply.allow"), "{message}");
    }
    for index in 0..targets.len() {
        assert_eq!(engine.get(&format!("/v1/orders/{index}")).await.unwrap().status, 404, "{index}");
    }
    assert_eq!(engine.order("ended").await.unwrap()["life"], 1);
    // A person may have it done without its receipt.
    let first = refused.last().unwrap()["id"].as_str().unwrap();
    let asked = ["refused", "replay", first, "--without-receipt", "--reason", "r", "--server", engine.base()];
    assert!(pagurus(&asked).await.status.success());
    engine.reach("0", "success").await;
    // A receipt of a later order has come over the same transport: earlier ones would be there, too.
    let receipts = client.listen_directly().await.unwrap();
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
    client
        .publish_orders("order.create", &[json!({"id": "last", "scenario": "one"})], &properties)
        .await
        .unwrap();
    receipts.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    for queue in ["orders.in", "callbacks.in", "refused"] {
        assert_eq!(waiting(&engine, &client, queue).await, 0, "{queue}");
    }
    let got =
        client.channel().basic_get(plain.as_str().into(), BasicGetOptions { no_ack: true }).await.unwrap();
    assert!(got.is_none());
    // The same holds for what scenarios publish.
    let own = format!(
        "- amqp: {{exchange: {prefix}.orders, key: order.create, body: {{id: \"evil\", scenario: one}}}}"
    );
    engine.actions("evil", &own).await;
    engine.run(json!({"id": "e", "scenario": "evil"}), "fail").await;
    assert_eq!(engine.get("/v1/orders/evil").await.unwrap().status, 404);
}

#[tokio::test]
async fn amqp_1_no_property_of_a_message_goes_over_to_those_that_the_engine_sends() {
    let engine = Installation::start("amqp_echo").await;
    let client = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.notifications", engine.env().prefix());
    let (queue, channel) = (format!("{}-echo", engine.env().prefix()), client.channel());
    let temporary =
        QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.as_str().into(), temporary, FieldTable::default()).await.unwrap();
    let (bind, none) = (QueueBindOptions::default(), FieldTable::default());
    channel
        .queue_bind(queue.as_str().into(), exchange.as_str().into(), "#".into(), bind, none)
        .await
        .unwrap();
    engine.actions("says", &format!("- amqp: {{exchange: {exchange}, key: said, body: {{}}}}")).await;
    let mut headers = FieldTable::default();
    for name in ["CC", "BCC"] {
        headers
            .insert(name.into(), AMQPValue::FieldArray(vec![AMQPValue::LongString("canary".into())].into()));
    }
    headers.insert("x-canary".into(), AMQPValue::LongString("canary".into()));
    let properties = BasicProperties::default()
        .with_app_id("canary".into())
        .with_type("canary".into())
        .with_message_id("canary".into())
        .with_user_id("guest".into())
        .with_expiration("3600000".into())
        .with_priority(9)
        .with_headers(headers);
    let notify = json!({"url": "amqp://?key=ended", "correlationId": "c"});
    let order = json!({"id": "a", "scenario": "says", "notify": notify});
    client.publish_orders("order.create", &[order], &properties).await.unwrap();
    let mut sent = Vec::new();
    until("message and notification are sent", PATIENCE, async || {
        let taken = channel.basic_get(queue.as_str().into(), BasicGetOptions { no_ack: true }).await.unwrap();
        sent.extend(taken.map(|message| message.delivery));
        sent.len() == 2
    })
    .await;
    for message in sent {
        let properties = &message.properties;
        let shown = format!("{properties:?}");
        assert!(!shown.contains("canary") && !shown.contains("CC"), "{shown}");
        assert_eq!((properties.user_id(), properties.expiration()), (&None, &None), "{shown}");
        assert_ne!(*properties.priority(), Some(9), "{shown}");
    }
}
