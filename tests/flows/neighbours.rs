//! One bad message, value or lock costs its sender an answer and its neighbours nothing (QLT-8): the
//! very input is sent, and orders of others go through meanwhile.

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use lapin::options::QueueDeleteOptions;
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::client::raw::{RawAmqp, RawProperties, entries, nested_lists};
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

use crate::amqp::{refused, waiting};
use crate::installation::{Installation, LOG, PATIENCE, call, until};

/// A session of somebody else in the database of the engine.
async fn session(engine: &Installation) -> Client {
    let (client, connection) = tokio_postgres::connect(&engine.env().database_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sends an order over AMQP and follows it to its end; returns how long that took.
async fn canary(engine: &Installation, client: &Amqp, id: &str) -> Duration {
    let begun = Instant::now();
    publish(client, "order.create", json!({"id": id, "scenario": "canary"})).await;
    registered(engine, id).await;
    engine.reach(id, "success").await;
    begun.elapsed()
}

async fn publish(client: &Amqp, key: &str, body: Value) {
    client.publish_orders(key, &[body], &BasicProperties::default()).await.unwrap();
}

async fn registered(engine: &Installation, id: &str) {
    until("it is registered", PATIENCE, async || {
        engine.get(&format!("/v1/orders/{id}")).await.unwrap().status == 200
    })
    .await;
}

async fn assert_ready(engine: &Installation) {
    for node in &engine.nodes {
        let answer = reqwest::get(format!("{}/readyz", node.url())).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{}", node.spec.role);
    }
}

/// Messages that the client library cannot read, or only by overflowing its stack.
fn illegible() -> Vec<(&'static str, Vec<u8>, RawProperties)> {
    let latin = || Some(b"caf\xe9".to_vec());
    let base = RawProperties::default;
    let key = b"order.create".to_vec();
    let headers = |headers: Vec<u8>| RawProperties { headers: Some(headers), ..base() };
    let nested_name =
        entries(&[(b"t", [&b"F"[..], &pagurus_harness::client::raw::long(b"\x01\xe9V")].concat())]);
    vec![
        ("correlation_id", key.clone(), RawProperties { correlation_id: latin(), ..base() }),
        ("message_id", key.clone(), RawProperties { message_id: latin(), ..base() }),
        ("reply_to", key.clone(), RawProperties { reply_to: latin(), ..base() }),
        ("type", key.clone(), RawProperties { kind: latin(), ..base() }),
        ("app_id", key.clone(), RawProperties { app_id: latin(), ..base() }),
        ("content_type", key.clone(), RawProperties { content_type: latin(), ..base() }),
        ("content_encoding", key.clone(), RawProperties { content_encoding: latin(), ..base() }),
        ("routing key", b"order.\xe9".to_vec(), base()),
        ("headers", key.clone(), headers(entries(&[(b"n\xe9", b"V".to_vec())]))),
        ("headers", key.clone(), headers(nested_name)),
        ("headers", key.clone(), headers(entries(&[(b"n", nested_lists(33))]))),
        ("headers", key.clone(), headers(entries(&[(b"n", nested_lists(5_000))]))),
    ]
}

#[tokio::test]
async fn amqp_1_qlt_8_a_message_that_no_library_can_read_is_kept_and_stops_nobody() {
    let engine = Installation::start("illegible").await;
    engine.actions("canary", &call("/canary")).await;
    let client = engine.env().amqp().await.unwrap();
    let mut raw = RawAmqp::connect(engine.env().amqp_url()).await.unwrap();
    let body = br#"{"id": "never", "scenario": "canary"}"#;
    for (kind, queue) in [("orders", "orders.in"), ("callbacks", "callbacks.in")] {
        let exchange = format!("{}.{kind}", engine.env().prefix());
        for (index, (what, key, properties)) in illegible().into_iter().enumerate() {
            raw.publish(&exchange, &key, &properties, body).await.unwrap();
            let took = canary(&engine, &client, &format!("{kind}-{index}")).await;
            assert!(took < Duration::from_secs(20), "{what} at {kind}: {took:?}");
            let (kept, headers) = refused(&engine, &client).await;
            assert_eq!(kept, body, "byte for byte");
            let reason = &headers["refused-reason"];
            assert!(reason.starts_with("malformed: ") && reason.contains(what), "{what}: {reason}");
        }
        assert_eq!(waiting(&engine, &client, queue).await, 0, "all are acknowledged");
    }
    assert_eq!(engine.get("/v1/orders/never").await.unwrap().status, 404, "what was mended is not acted on");
    assert_ready(&engine).await;
    // What is legible stays as it is, to the greatest depth.
    let headers = entries(&[(b"n", nested_lists(31)), ("größe".as_bytes(), b"t\x01".to_vec())]);
    let properties = RawProperties {
        headers: Some(headers),
        correlation_id: Some("café".as_bytes().to_vec()),
        ..RawProperties::default()
    };
    let exchange = format!("{}.orders", engine.env().prefix());
    raw.publish(&exchange, b"order.create", &properties, br#"{"id": "deep", "scenario": "canary"}"#)
        .await
        .unwrap();
    registered(&engine, "deep").await;
    engine.reach("deep", "success").await;
}

#[tokio::test]
async fn ord_17_qlt_8_times_that_the_database_cannot_hold_are_refused_over_every_transport() {
    let engine = Installation::start("times").await;
    engine.actions("canary", &call("/canary")).await;
    let client = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let order = |id: &str, at: &str| json!({"id": id, "scenario": "canary", "lifecycle": {"startAt": at}});
    let starts = ["-004713-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "soon"];
    for (index, at) in starts.iter().enumerate() {
        let answer = engine.submit(&order("over-http", at)).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!("/lifecycle/startAt")), "{at}");
        publish(&client, "order.create", order("over-amqp", at)).await;
        let (_, headers) = refused(&engine, &client).await;
        assert!(headers["refused-reason"].starts_with("invalid: lifecycle.startAt"), "{headers:?}");
        canary(&engine, &client, &format!("start-{index}")).await;
    }
    let sent = ["-377705023201000", "-004713-01-01T00:00:00Z", "99999999999999999", "yesterday", ""];
    for (index, at) in sent.iter().enumerate() {
        let body = json!({"id": "over-http", "scenario": "canary", "lifecycle": {"periodToStart": 5}});
        let request = engine.env().http().post(format!("{}/v1/orders", engine.base()));
        let answer = request.header("request-sent-time", *at).json(&body).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 422, "{at}: {}", answer.text().await.unwrap());
        let mut headers = lapin::types::FieldTable::default();
        headers.insert("request-sent-time".into(), lapin::types::AMQPValue::LongString((*at).into()));
        let marked = BasicProperties::default().with_headers(headers);
        for (key, body) in [("order.create", body), ("order.restart", json!({"id": "start-0"}))] {
            client.publish(&exchange, key, body.to_string().as_bytes(), &marked).await.unwrap();
            let (_, headers) = refused(&engine, &client).await;
            assert!(headers["refused-reason"].contains("request-sent-time"), "{key} {at}: {headers:?}");
        }
        canary(&engine, &client, &format!("sent-{index}")).await;
    }
    let properties = BasicProperties::default().with_timestamp(u64::MAX);
    let body = json!({"id": "over-amqp", "scenario": "canary"}).to_string();
    client.publish(&exchange, "order.create", body.as_bytes(), &properties).await.unwrap();
    let (_, headers) = refused(&engine, &client).await;
    assert!(headers["refused-reason"].contains("`timestamp`"), "{headers:?}");
    for query in ["callbacks?since=-004713-01-01T00:00:00Z", "errors/orders?cursor=-9999999999999999-1"] {
        let answer = engine.get(&format!("/v1/{query}")).await.unwrap();
        assert_eq!(answer.status, 422, "{query}: {answer:?}");
    }
    canary(&engine, &client, "last").await;
}

#[tokio::test]
async fn qlt_8_one_order_that_the_database_refuses_is_put_aside_alone_over_both_transports() {
    let engine = Installation::start("unstorable").await;
    engine.actions("canary", &call("/canary")).await;
    let client = engine.env().amqp().await.unwrap();
    // Whatever the database may not take of an order: nobody knew of it before.
    let session = session(&engine).await;
    session.batch_execute("ALTER TABLE orders ADD CHECK (id NOT LIKE 'poison%')").await.unwrap();
    let ids: Vec<String> =
        (0..60).map(|n| if n % 20 == 13 { format!("poison-{n}") } else { format!("good-{n}") }).collect();
    let orders: Vec<Value> = ids.iter().map(|id| json!({"id": id, "scenario": "canary"})).collect();
    let receipts = client.listen_directly().await.unwrap();
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
    client.publish_orders("order.create", &orders, &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| all.len() == 60).await.unwrap();
    for receipt in received {
        let poison = receipt.body["id"].as_str().unwrap().starts_with("poison");
        assert_eq!(receipt.body["status"] == "rejected", poison, "{receipt:?}");
    }
    for _ in 0..3 {
        let (body, headers) = refused(&engine, &client).await;
        assert!(String::from_utf8(body).unwrap().contains("poison"), "{headers:?}");
        assert!(headers["refused-reason"].starts_with("internal: "), "{headers:?}");
    }
    for id in ids.iter().filter(|id| id.starts_with("good")) {
        engine.reach(id, "success").await;
    }
    // The same over HTTP, all at once.
    let again = ids.iter().map(|id| {
        let engine = &engine;
        let order = json!({"id": format!("{id}-http"), "scenario": "canary"});
        async move { engine.submit(&order).await.status }
    });
    for (id, status) in ids.iter().zip(futures_util::future::join_all(again).await) {
        assert_eq!(status, if id.starts_with("poison") { 500 } else { 201 }, "{id}");
    }
}

#[tokio::test]
async fn qlt_8_what_somebody_has_locked_waits_and_lets_the_others_pass() {
    let engine = Installation::start("locked").await;
    engine.actions("canary", &call("/canary")).await;
    let sleeps = "initialState: nap\nstates:\n  nap: {actions: [{sleep: {for: 1h}}], on: {sleep: napping}}\n  \
         napping: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("sleeps", sleeps).await;
    let client = engine.env().amqp().await.unwrap();
    engine.run(json!({"id": "locked", "scenario": "sleeps"}), "sleep").await;
    let first = json!({"id": "q-0", "scenario": "canary", "mode": "sequential", "queue": "q"});
    engine.run(first, "success").await;
    let session = session(&engine).await;
    session.batch_execute("BEGIN; SELECT FROM orders WHERE id = 'locked' FOR UPDATE; SELECT FROM queues WHERE name = 'q' FOR UPDATE").await.unwrap();
    let cancel = json!({"id": "locked", "reason": "first"});
    publish(&client, "order.cancel", cancel).await;
    publish(&client, "order.cancel", json!({"id": "locked", "reason": "second"})).await;
    for n in 1..4 {
        let order = json!({"id": format!("q-{n}"), "scenario": "canary", "mode": "sequential", "queue": "q"});
        publish(&client, "order.create", order).await;
    }
    // A command for an order that is not registered yet, because its queue is locked, waits behind it.
    publish(&client, "order.cancel", json!({"id": "q-3"})).await;
    let mut quick = 0;
    for n in 0..20 {
        let took = canary(&engine, &client, &format!("c-{n}")).await;
        quick += usize::from(took < Duration::from_secs(2));
        let other =
            json!({"id": format!("h-{n}"), "scenario": "canary", "mode": "sequential", "queue": "other"});
        engine.run(other, "success").await;
    }
    // A machine that stands still holds up one or two of them.
    assert!(quick >= 15, "they wait for what is locked: {quick} of 20 took less than 2 s");
    assert_eq!(engine.get("/v1/orders/locked").await.unwrap().body["status"], "sleep");
    assert_eq!(engine.get("/v1/orders/q-1").await.unwrap().status, 404);
    session.batch_execute("COMMIT").await.unwrap();
    engine.reach("locked", "canceled").await;
    for n in 1..4 {
        registered(&engine, &format!("q-{n}")).await;
    }
    for n in 1..3 {
        engine.reach(&format!("q-{n}"), "success").await;
    }
    until("q-3 has ended", PATIENCE, async || {
        let order = engine.get("/v1/orders/q-3").await.unwrap().body;
        order["status"] == "canceled" || order["status"] == "success"
    })
    .await;
    // They went in their row, and the second command found what the first had done.
    let callers: Vec<String> = engine
        .calls("/canary", 1)
        .await
        .iter()
        .filter_map(|call| call.body["order"].as_str().filter(|id| id.starts_with("q-")).map(str::to_owned))
        .collect();
    assert!(
        ["q-0", "q-1", "q-2", "q-3"].starts_with(&callers.iter().map(String::as_str).collect::<Vec<_>>())
    );
    // The second command found what the first had done; and none found nobody.
    loop {
        let (body, headers) = refused(&engine, &client).await;
        assert!(headers["refused-reason"].starts_with("refused: "), "{headers:?}");
        if String::from_utf8(body).unwrap().contains("second") {
            break;
        }
    }
}

#[tokio::test]
async fn rec_1_a_lock_or_a_read_only_moment_never_turns_a_finished_stage_into_a_failure() {
    let engine = Installation::start("ends").await;
    engine.actions("canary", &call("/canary")).await;
    let session = session(&engine).await;
    let database = engine.env().prefix();
    let flip = async |to: &str| {
        let end_sessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let set = format!("ALTER DATABASE {database} SET default_transaction_read_only = {to}");
        session.batch_execute(&format!("SET default_transaction_read_only = off; {set}")).await.unwrap();
        session.batch_execute(end_sessions).await.unwrap();
    };
    let mut ids = Vec::new();
    for round in 0..3 {
        for n in 0..40 {
            let id = format!("o-{round}-{n}");
            ids.push(engine.accepted(json!({"id": id, "scenario": "canary"})).await);
        }
        // Some are at work, some are ending, some have not begun.
        engine.calls("/canary", round * 40 + 10).await;
        session.batch_execute("BEGIN; SELECT FROM orders WHERE no % 3 = 0 FOR UPDATE").await.unwrap();
        tokio::time::sleep(Duration::from_millis(2500)).await;
        session.batch_execute("COMMIT").await.unwrap();
        flip("on").await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let answer = engine.submit(&json!({"id": format!("ro-{round}"), "scenario": "canary"})).await;
        assert_eq!(answer.status, 503, "a database without writes is away: {answer:?}");
        flip("off").await;
        until("it takes orders again", PATIENCE, async || {
            engine.submit(&json!({"id": format!("again-{round}"), "scenario": "canary"})).await.status < 300
        })
        .await;
    }
    for id in &ids {
        let order = engine.reach(id, "success").await;
        assert_eq!(order["error"], Value::Null, "{order}");
    }
}

#[tokio::test]
async fn amqp_2_a_queue_that_somebody_deleted_comes_back() {
    let engine = Installation::start("deleted").await;
    engine.actions("canary", LOG).await;
    let client = engine.env().amqp().await.unwrap();
    canary(&engine, &client, "before").await;
    for queue in ["orders.in", "callbacks.in"] {
        let name = format!("{}.{queue}", engine.env().prefix());
        client.channel().queue_delete(name.as_str().into(), QueueDeleteOptions::default()).await.unwrap();
    }
    let begun = Instant::now();
    // Until it is declared again the broker has nowhere to put an order, and says so.
    until("the broker takes orders", PATIENCE, async || {
        let order = json!({"id": "after", "scenario": "canary"});
        client.publish_orders("order.create", &[order], &BasicProperties::default()).await.is_ok()
    })
    .await;
    registered(&engine, "after").await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    engine.reach("after", "success").await;
    until("callbacks are taken", PATIENCE, async || {
        let exchange = format!("{}.callbacks", engine.env().prefix());
        client.publish(&exchange, "any", b"{}", &BasicProperties::default()).await.is_ok()
    })
    .await;
    let ready = reqwest::get(format!("{}/readyz", engine.node(Role::Intake).url())).await.unwrap();
    assert_eq!(ready.status().as_u16(), 200);
}
