//! Many orders in one message (AMQP-1): each has its receipt and its fate, and the message is settled when all of them are.

use lapin::BasicProperties;
use pagurus_harness::client::amqp::{Amqp, Inbox};
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::amqp::{refused, waiting};
use crate::installation::{Installation, LOG, PATIENCE, until};

/// A client that sends orders in one message, and gets their receipts.
struct Sender {
    amqp: Amqp,
    receipts: Inbox,
    exchange: String,
}

impl Sender {
    async fn of(engine: &Installation) -> Self {
        let amqp = engine.env().amqp().await.unwrap();
        let receipts = amqp.listen_directly().await.unwrap();
        Self { amqp, receipts, exchange: format!("{}.orders", engine.env().prefix()) }
    }

    async fn send(&self, orders: &Value, name: &str) {
        let properties = BasicProperties::default()
            .with_reply_to(self.receipts.queue().into())
            .with_correlation_id(name.into())
            .with_delivery_mode(2);
        let body = orders.to_string();
        self.amqp.publish(&self.exchange, "order.create", body.as_bytes(), &properties).await.unwrap();
    }

    /// Returns the body of the receipts for a message.
    async fn receipts(&self, name: &str) -> Value {
        let of_name = |all: &[pagurus_harness::client::amqp::Message]| {
            all.iter().find(|one| one.correlation_id.as_deref() == Some(name)).map(|one| one.body.clone())
        };
        let all = self.receipts.wait(PATIENCE, |all| of_name(all).is_some()).await.unwrap();
        of_name(&all).unwrap()
    }
}

/// Returns id and status of each receipt.
fn outcomes(receipts: &Value) -> Vec<(Option<&str>, &str)> {
    let receipts = receipts.as_array().unwrap_or_else(|| panic!("one receipt for each order: {receipts}"));
    receipts.iter().map(|one| (one["id"].as_str(), one["status"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn amqp_1_a_message_holds_many_orders_and_what_is_refused_of_it_is_put_aside_alone() {
    let engine = Installation::with("amqp_1_many", &[("PAGURUS__INTAKE__MAX_BATCH_ORDERS", "1200")]).await;
    engine.actions("one", LOG).await;
    let sender = Sender::of(&engine).await;
    let order = |id: &str| json!({"id": id, "scenario": "one"});
    let with_params = |n: i32| json!({"id": "b", "scenario": "one", "params": {"n": n}});
    let mixed = json!([order("a"), with_params(1), {"id": "bad", "scenario": "unheard-of"}, 3, with_params(2), order("a")]);
    sender.send(&mixed, "mixed").await;
    assert_eq!(
        outcomes(&sender.receipts("mixed").await),
        [
            (Some("a"), "accepted"),
            (Some("b"), "accepted"),
            (Some("bad"), "rejected"),
            (None, "rejected"),
            (Some("b"), "conflict"),
            (Some("a"), "duplicate"),
        ]
    );
    let mut kept = Vec::new();
    for _ in 0..3 {
        let (body, headers) = refused(&engine, &sender.amqp).await;
        assert_eq!(headers["x-orig-correlation-id"], "mixed");
        kept.push((headers["refused-reason"].split(':').next().unwrap().to_owned(), body));
    }
    kept.sort();
    let text = |value: &Value| value.to_string().into_bytes();
    let expected = [("conflict", &mixed[4]), ("invalid", &mixed[3]), ("unknown-scenario", &mixed[2])];
    assert_eq!(kept, expected.map(|(reason, order)| (reason.to_owned(), text(order))));
    for id in ["a", "b"] {
        engine.reach(id, "success").await;
    }
    // More orders than go into one transaction.
    let most: Vec<Value> = (0..1200).map(|n| order(&format!("m-{n}"))).collect();
    sender.send(&json!(most), "most").await;
    let receipts = sender.receipts("most").await;
    let expected: Vec<String> = (0..1200).map(|n| format!("m-{n}")).collect();
    let all: Vec<(Option<&str>, &str)> = expected.iter().map(|id| (Some(id.as_str()), "accepted")).collect();
    assert_eq!(outcomes(&receipts), all);
    // One more is too much, and none of them is taken.
    let more: Vec<Value> = (0..1201).map(|n| order(&format!("x-{n}"))).collect();
    sender.send(&json!(more), "more").await;
    let receipt = sender.receipts("more").await;
    assert_eq!(
        (&receipt["status"], &receipt["error"]["status"]),
        (&json!("rejected"), &json!(413)),
        "{receipt}"
    );
    assert_eq!(refused(&engine, &sender.amqp).await.0, text(&json!(more)));
    assert_eq!(engine.get("/v1/orders/x-0").await.unwrap().status, 404);
    assert_eq!(waiting(&engine, &sender.amqp, "orders.in").await, 0, "all are acknowledged");
}

#[tokio::test]
async fn amqp_1_orders_of_a_message_that_wait_for_a_lock_hold_up_no_other_and_keep_their_row() {
    let mut engine = Installation::with("amqp_1_many_locked", &[("PAGURUS__BROKER__PREFETCH", "10")]).await;
    engine.actions("one", LOG).await;
    let sender = Sender::of(&engine).await;
    let queued = |id: String| json!({"id": id, "scenario": "one", "mode": "sequential", "queue": "q"});
    engine.run(queued("q-first".to_owned()), "success").await;
    let session = engine.database().await;
    let lock = "BEGIN; SELECT FROM queues WHERE name = 'q' FOR UPDATE";
    session.batch_execute(lock).await.unwrap();
    // More orders of the queue than messages may wait aside.
    let mut orders: Vec<Value> = (0..200).map(|n| queued(format!("q-{n}"))).collect();
    orders.insert(10, json!({"id": "free", "scenario": "one"}));
    sender.send(&json!(orders), "locked").await;
    sender.send(&json!([{"id": "later", "scenario": "one"}]), "later").await;
    assert_eq!(outcomes(&sender.receipts("later").await), [(Some("later"), "accepted")]);
    engine.reach("free", "success").await;
    assert_eq!(engine.get("/v1/orders/q-0").await.unwrap().status, 404);
    // The message is not acknowledged: another process carries out what is left of it.
    engine.node(Role::Intake).kill().await.unwrap();
    engine.restart(Role::Intake).await;
    // It comes alone this time, and holds up nobody else all the same.
    sender.send(&json!([{"id": "again", "scenario": "one"}]), "again").await;
    assert_eq!(outcomes(&sender.receipts("again").await), [(Some("again"), "accepted")]);
    assert_eq!(engine.get("/v1/orders/q-0").await.unwrap().status, 404);
    session.batch_execute("COMMIT").await.unwrap();
    for n in 0..200 {
        engine.reach(&format!("q-{n}"), "success").await;
    }
    let rows = session
        .query("SELECT id FROM orders WHERE queue = 'q' AND id <> 'q-first' ORDER BY started_at", &[])
        .await
        .unwrap();
    let ids: Vec<String> = rows.iter().map(|row| row.get("id")).collect();
    assert_eq!(ids, (0..200).map(|n| format!("q-{n}")).collect::<Vec<_>>());
    until("the message is acknowledged", PATIENCE, async || {
        waiting(&engine, &sender.amqp, "orders.in").await == 0
    })
    .await;
}
