//! The crate, as a program of its own uses it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use pagurus_client::sender::AmqpSender;
use pagurus_client::{After, Client, Error, Lifecycle, Notify, NotifyGroup, Options, Order};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::between::Between;
use super::{TRACE, check_traces, engine, root, shop};
use crate::installation::Installation;

pub(super) fn kind(error: &Error) -> &str {
    error.problem().map_or("", |problem| problem.kind())
}

fn with(fields: Value) -> Map<String, Value> {
    fields.as_object().unwrap().clone()
}

#[tokio::test]
async fn ord_3_ord_18_the_crate_sends_follows_and_acts() {
    let engine = engine("client_rust").await;
    let client = Client::new(engine.base()).unwrap();
    registers(&client).await;
    registers_many(&client).await;
    acts(&engine, &client).await;
    has_receipts(&engine).await;

    let between = Between::start(&engine).await;
    let far = Client::new(&between.address).unwrap();
    for (id, status) in [("cut-rs", "duplicate"), ("busy-rs", "accepted"), ("gate-rs", "accepted")] {
        let order = Order::new(id, "greet").params(json!({"name": id}));
        assert_eq!(far.register(&order).await.unwrap().status, status, "{id}");
    }
    between.check(&engine, "rs").await;

    let programs = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").expect("`./dev test` sets it"));
    shop::demand(&engine, &mut Command::new(programs.join("examples/shop"))).await;
}

async fn registers(client: &Client) {
    let order = Order::new("rs/1", "greet").params(json!({"name": "a"}));
    let dry = Options { dry_run: true, ..Options::default() };
    assert_eq!(client.register_with(&order, &dry).await.unwrap().status, "would_be_accepted");
    assert_eq!(client.register(&order).await.unwrap().status, "accepted");
    assert!(client.wait("rs/1", Some(Duration::from_secs(30))).await.unwrap().is_final);
    let again = client.register(&order).await.unwrap();
    assert_eq!((again.status.as_str(), again.order_status.as_deref()), ("duplicate", Some("success")));
    assert_eq!(client.get("rs/1").await.unwrap()["result"], "hello a");
    let other = client.register(&order.clone().params(json!({"name": "b"}))).await.unwrap_err();
    assert_eq!(kind(&other), "conflict");
    let urgent = Order { priority: Some("urgent".to_owned()), ..Order::new("rs-2", "greet") };
    let wrong = client.register(&urgent).await.unwrap_err();
    assert_eq!(wrong.problem().unwrap().errors[0].pointer, "/priority", "{wrong}");
    assert_eq!(kind(&client.get("rs-2").await.unwrap_err()), "not-found");
    let unnamed = Order::with_new_id("greet").params(json!({"name": "c"}));
    assert_eq!(client.register(&unnamed).await.unwrap().id.as_deref(), Some(&*unnamed.id));
}

/// More orders than a page has, and one that is wrong.
async fn registers_many(client: &Client) {
    let labels = std::collections::BTreeMap::from([("walk".to_owned(), "rs".to_owned())]);
    let order = |number: usize| {
        let order = Order::new(format!("rs-many-{number}"), "greet").params(json!({"name": "m"}));
        Order { labels: labels.clone(), ..order }
    };
    let mut orders: Vec<Order> = (0..250).map(order).collect();
    orders.insert(100, Order::new("rs-wrong", "nothing"));
    let outcomes = client.register_many(&orders).await.unwrap();
    assert_eq!(outcomes[100].error.as_ref().unwrap().kind(), "unknown-scenario", "{:?}", outcomes[100]);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.status == "accepted").count(), 250);
    let mut search = client.find(&[("labels.walk", "rs"), ("limit", "100")]);
    let mut found = BTreeSet::new();
    while let Some(order) = search.next().await.unwrap() {
        assert!(found.insert(order["id"].as_str().unwrap().to_owned()), "{order} comes twice");
    }
    assert_eq!(found, (0..250).map(|number| format!("rs-many-{number}")).collect());
}

async fn acts(engine: &Installation, client: &Client) {
    let traced = Options { traceparent: Some(TRACE.to_owned()), ..Options::default() };
    client.register_with(&Order::new("rs-3", "ask").in_queue("q"), &traced).await.unwrap();
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    check_traces(engine, &["rs-3"]).await;
    engine.reach("rs-3", "wait").await;
    assert!(!client.wait("rs-3", Some(Duration::ZERO)).await.unwrap().is_final);
    let asked = client.call("rs-3", "where", Value::Null, Duration::from_secs(30)).await.unwrap();
    assert_eq!(asked.answer, Some(json!({"place": "here"})));
    let refused = client.restart("rs-3", "too early", None).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().order_status.as_deref(), Some("wait"), "{refused}");
    assert!(!client.explain("rs-3").await.unwrap().is_empty());
    assert_eq!(client.answer(&url, &json!({"yes": true}), Some("done")).await.unwrap(), "accepted");
    assert_eq!(client.wait("rs-3", None).await.unwrap().status, "success");
    assert_eq!(client.answer(&url, &json!({"yes": true}), None).await.unwrap(), "duplicate");
    assert_eq!(client.answer("nobody's", &json!({}), None).await.unwrap(), "orphan");
    assert_eq!(client.restart("rs-3", "once more", Some("initial")).await.unwrap().life, 2);
    engine.reach("rs-3", "wait").await;
    client.repair("rs-3", "by hand", with(json!({"state": "ask"}))).await.unwrap();
    engine.reach("rs-3", "wait").await;
    assert!(client.kill("rs-3", "nobody waits for it").await.unwrap().is_final);
    assert_eq!(client.clone_order("rs-3", with(json!({"id": "rs-4"}))).await.unwrap().status, "accepted");
    let later = Lifecycle { start_at: Some("2100-01-01T00:00:00Z".to_owned()), ..Lifecycle::default() };
    let order = Order { lifecycle: Some(later), ..Order::new("rs-5", "greet").params(json!({"name": "d"})) };
    client.register(&order).await.unwrap();
    let changed = client.update("rs-5", "urgent", with(json!({"priority": "high"}))).await.unwrap();
    assert_eq!(changed["priority"], "high", "{changed}");
    assert_eq!(client.interrupt("rs-5", "not now").await.unwrap().status, "interrupted");
    assert_eq!(client.cancel("rs-5", "never").await.unwrap().status, "canceled");
}

async fn has_receipts(engine: &Installation) {
    let sender = AmqpSender::new(engine.env().amqp_url(), engine.env().prefix());
    let order = Order::new("rs-amqp", "ask");
    let receipt = sender.register(&order, Some(TRACE)).await.unwrap();
    assert_eq!((receipt.id.as_deref(), receipt.status.as_str()), (Some("rs-amqp"), "accepted"));
    let again = sender.register(&order, None).await.unwrap();
    assert_eq!(again.status, "duplicate", "{again:?}");
    let other = sender.register(&order.clone().params(json!({"other": true})), None).await.unwrap_err();
    assert_eq!(kind(&other), "conflict");
    let wrong = sender.register(&Order::new("rs-wrong", "nothing"), None).await.unwrap_err();
    assert_eq!(kind(&wrong), "unknown-scenario");
    engine.reach("rs-amqp", "wait").await;
    check_traces(engine, &["rs-amqp"]).await;
    let killed = sender.act("rs-amqp", "kill", "nobody waits for it", Map::new()).await.unwrap();
    assert_eq!(killed.order_status.as_deref(), Some("canceled"), "{killed:?}");
    let refused = sender.act("rs-amqp", "kill", "again", Map::new()).await.unwrap_err();
    assert_eq!(kind(&refused), "refused");
    let many = (0..50).map(|number| Order::new(format!("rs-amqp-{number}"), "change-tariff"));
    let many: Vec<Order> = many.collect();
    for receipt in futures_util::future::join_all(many.iter().map(|one| sender.register(one, None))).await {
        assert_eq!(receipt.unwrap().status, "accepted");
    }
}

#[tokio::test]
async fn ord_3_a_client_tells_of_an_engine_that_is_away() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::new(&format!("http://{address}")).unwrap().with_patience(Duration::from_millis(500));
    let away = client.register(&Order::new("a", "s")).await.unwrap_err();
    assert!(matches!(away, Error::Unreachable(_)), "{away}");
    let sender = AmqpSender::new(&format!("amqp://{address}/%2f"), "p");
    let sender = sender.with_patience(Duration::from_millis(500));
    let away = sender.register(&Order::new("a", "s"), None).await.unwrap_err();
    assert!(matches!(away, Error::Unreachable(_)), "{away}");
}

#[test]
fn ord_3_the_fields_of_the_crate_are_those_of_the_document() {
    let text = |text: &str| Some(text.to_owned());
    let after = After { order: "b".into(), states: vec!["done".into()], otherwise: text("fail") };
    let lifecycle = Lifecycle {
        start_at: text("t"),
        promise_at: text("t"),
        period_to_start: Some(1),
        after: Some(vec![after.clone()]),
    };
    let group = NotifyGroup { max: Some(7), within: text("50ms") };
    let notify = Notify {
        url: "u".into(),
        correlation_id: text("c"),
        timezone: text("UTC"),
        on: Some(Vec::new()),
        format: text("pagurus"),
        group: Some(group.clone()),
    };
    let order = Order {
        scenario_version: Some(1),
        priority: text("high"),
        flow: Some(json!({})),
        transaction_id: text("t"),
        labels: [("a".to_owned(), "b".to_owned())].into(),
        notify: vec![notify.clone()],
        lifecycle: Some(lifecycle.clone()),
        ..Order::new("a", "s").params(json!({})).in_queue("q")
    };
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("docs/openapi.json")).unwrap()).unwrap();
    for (name, sent) in [
        ("OrderBody", json!(order)),
        ("LifecycleBody", json!(lifecycle)),
        ("AfterBody", json!(after)),
        ("NotifyBody", json!(notify)),
        ("GroupBody", json!(group)),
    ] {
        let known = document["components"]["schemas"][name]["properties"].as_object().unwrap();
        let (known, ours): (BTreeSet<&String>, BTreeSet<&String>) =
            (known.keys().collect(), sent.as_object().unwrap().keys().collect());
        assert_eq!(ours, known, "{name}");
    }
}
