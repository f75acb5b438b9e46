//! Dry runs of registrations: they say what would happen to an order, and change nothing (ORD-1).

use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, LOG, asking};

/// Status of the answer to a dry run, and its body.
async fn tried(engine: &Installation, path: &str, body: &Value) -> (u16, Value) {
    let answer = engine.post(&format!("{path}?dryRun=true"), body).await.unwrap();
    (answer.status, answer.body)
}

async fn orders(engine: &Installation) -> i64 {
    engine.database().await.query_one("SELECT count(*) FROM orders", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn ord_1_a_dry_run_tells_what_a_registration_would_and_registers_nothing() {
    let engine = Installation::start("ord_1_dry_run").await;
    let schema = "params:\n  type: object\n  required: [n]\n  properties: {n: {type: integer}}\n";
    let rest = crate::installation::with_actions(LOG);
    engine.scenario("log", &format!("{schema}{rest}")).await;
    let order = |id: &str| json!({"id": id, "scenario": "log", "params": {"n": 1}});
    engine.run(order("there"), "success").await;

    let (status, answer) = tried(&engine, "/v1/orders", &order("new")).await;
    let expected = json!({"id": "new", "status": "would_be_accepted", "orderStatus": "new"});
    let mut known = answer.clone();
    known.as_object_mut().unwrap().retain(|key, _| key != "note");
    assert_eq!((status, known), (200, expected));
    let later = json!({"id": "l", "scenario": "log", "params": {"n": 1}, "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}});
    assert_eq!(tried(&engine, "/v1/orders", &later).await.1["orderStatus"], "postponed");
    let (status, answer) = tried(&engine, "/v1/orders", &order("there")).await;
    assert_eq!(
        (status, &answer["status"], &answer["orderStatus"]),
        (200, &json!("duplicate"), &json!("success"))
    );

    // Whatever a registration refuses, with the very same words.
    let itself = json!([{"order": "c", "states": ["done"]}]);
    let refused = [
        (json!({"id": "there", "scenario": "log", "params": {"n": 2}}), 409),
        (json!({"id": "a", "scenario": "nobody"}), 422),
        (json!({"id": "a", "scenario": "log", "params": {"n": "x"}}), 422),
        (json!({"id": "a", "scenario": "log", "params": {"n": 1}, "priority": "urgent"}), 422),
        (
            json!({"id": "a", "scenario": "log", "params": {"n": 1}, "notify": {"url": "amqp://?exchange=amq.topic&key=k"}}),
            422,
        ),
        (json!({"id": "c", "scenario": "log", "params": {"n": 1}, "lifecycle": {"after": itself}}), 422),
    ];
    for (order, expected) in refused {
        let (status, answer) = tried(&engine, "/v1/orders", &order).await;
        let real = engine.submit(&order).await;
        assert_eq!((status, &answer), (real.status, &real.body), "{order}");
        assert_eq!(status, expected, "{order}: {answer}");
    }

    // A batch: also the same id twice, beyond the window in which items are looked at together.
    let mut batch: Vec<Value> = (0..1100).map(|n| order(&format!("b-{n}"))).collect();
    batch.push(order("b-0"));
    batch.push(json!({"id": "b-1", "scenario": "log", "params": {"n": 7}}));
    batch.push(json!({"id": 7}));
    let (status, answer) = tried(&engine, "/v1/orders/batch", &json!(batch)).await;
    let word = |index: usize| answer[index]["status"].as_str().unwrap();
    assert_eq!((status, word(0), word(1099)), (200, "would_be_accepted", "would_be_accepted"));
    assert_eq!(
        (word(1100), word(1101), word(1102)),
        ("duplicate", "conflict", "rejected"),
        "{}",
        answer[1102]
    );

    // The command line, which tells the same.
    let line = ["--server", engine.base(), "order", "submit", "--scenario", "log", "-p", "n:=1", "--dry-run"];
    let output = pagurus(&line).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && shown.contains("would_be_accepted"), "{shown}");

    assert_eq!(orders(&engine).await, 1, "nothing was registered");
    assert_eq!(engine.submit(&order("new")).await.status, 201, "and nothing stands in the way");
}

#[tokio::test]
async fn ord_24_a_dry_run_of_an_action_tells_the_status_that_follows_and_changes_nothing() {
    let engine = Installation::start("ord_24_dry_run").await;
    engine.actions("fails", "- script: 'fail(\"there is none\", \"no.stock\")'").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    engine.run(json!({"id": "failed", "scenario": "fails"}), "fail").await;
    engine.run(json!({"id": "waits", "scenario": "asks"}), "wait").await;
    let rows = "SELECT (SELECT count(*) FROM history) + (SELECT count(*) FROM audit) + (SELECT count(*) FROM outbox)";
    let database = engine.database().await;
    let count = async || database.query_one(rows, &[]).await.unwrap().get::<_, i64>(0);
    let before = count().await;

    let repair = json!({"state": "ask", "reason": "r"});
    for (id, action, body, expected) in [
        ("failed", "cancel", json!({"reason": "r"}), "canceled"),
        ("failed", "restart", json!({}), "reopen"),
        ("waits", "kill", json!({}), "canceled"),
        ("waits", "repair", repair, "reopen"),
    ] {
        let (status, answer) = tried(&engine, &format!("/v1/orders/{id}/{action}"), &body).await;
        assert_eq!((status, answer["status"].as_str()), (200, Some(expected)), "{action}: {answer}");
    }
    // A refusal is the same as without a dry run.
    assert_eq!(tried(&engine, "/v1/orders/failed/kill", &json!({})).await.0, 409);
    assert_eq!(tried(&engine, "/v1/orders/waits/repair", &json!({"state": "x", "reason": "r"})).await.0, 422);
    assert_eq!(count().await, before);
    assert_eq!(engine.order("failed").await.unwrap()["status"], "fail");
    assert_eq!(engine.order("waits").await.unwrap()["status"], "wait");

    let output = pagurus(&["--server", engine.base(), "order", "kill", "waits", "--dry-run"]).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && shown.contains("waits would be in status canceled"), "{shown}");
}
