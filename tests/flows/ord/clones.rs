//! Clones of orders with times and conditions.

use serde_json::{Value, json};

use crate::installation::{Installation, call};

#[tokio::test]
async fn ord_23_a_clone_keeps_the_times_and_conditions_that_have_not_passed() {
    let engine = Installation::start("ord_23_clone_times").await;
    engine.actions("quick", &call("/do")).await;
    let after = json!([{"order": "later", "states": ["done"], "otherwise": "cancel"}, {"order": "ended", "states": ["done"]}]);
    let lifecycle =
        json!({"startAt": "2090-01-01T00:00:00Z", "promiseAt": "2090-02-01T00:00:00Z", "after": after});
    engine.run(json!({"id": "ended", "scenario": "quick"}), "success").await;
    engine.accepted(json!({"id": "old", "scenario": "quick", "lifecycle": lifecycle})).await;
    let made = engine.act("old", "clone", &json!({"id": "new"})).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.body["note"], "not taken over, because it has passed: after", "{made:?}");
    let new = engine.order("new").await.unwrap();
    assert_eq!(
        (&new["status"], &new["startAt"]),
        (&json!("postponed"), &json!("2090-01-01T00:00:00.000Z")),
        "{new}"
    );
    let text = engine.part("new", "explain").await["explanation"].as_str().unwrap().to_owned();
    assert!(text.contains("waits for order `later`, which is not registered yet"), "{text}");
    assert!(!text.contains("`ended`") && text.contains("2090-01-01"), "{text}");
    assert_eq!(engine.act("old", "clone", &json!({"id": "now", "lifecycle": null})).await.status, 201);
    let now = engine.reach("now", "success").await;
    assert_eq!(now["startAt"], Value::Null, "{now}");
    // Times in the past are left out, and so is a period that counts from the clone and ends before it may start.
    engine
        .database()
        .await
        .execute("UPDATE orders SET start_at = '2020-01-01' WHERE id = 'old'", &[])
        .await
        .unwrap();
    let made = engine.act("old", "clone", &json!({"id": "past"})).await;
    assert_eq!(made.body["note"], "not taken over, because it has passed: startAt, after", "{made:?}");
    engine.run(json!({"id": "later", "scenario": "quick"}), "success").await;
    engine.reach("past", "success").await;
}

#[tokio::test]
async fn ord_23_a_clone_asked_for_again_under_its_key_is_the_first_one_though_times_have_passed() {
    let engine = Installation::start("ord_23_clone_again").await;
    engine.actions("quick", &call("/do")).await;
    let lifecycle = json!({"startAt": "2090-01-01T00:00:00Z"});
    engine.accepted(json!({"id": "old", "scenario": "quick", "lifecycle": lifecycle})).await;
    let clone = async |body: Value| {
        let request = reqwest::Client::new().post(format!("{}/v1/orders/old/clone", engine.base()));
        let answer = request.header("idempotency-key", "once").json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let first = clone(json!({"reason": "again"})).await;
    assert_eq!((first.0, &first.1["orderStatus"]), (201, &json!("postponed")), "{first:?}");
    let passed = "UPDATE orders SET start_at = '2020-01-01' WHERE id = 'old'";
    engine.database().await.execute(passed, &[]).await.unwrap();
    let again = clone(json!({"reason": "again"})).await;
    assert_eq!((again.0, &again.1["id"]), (200, &first.1["id"]), "{again:?}");
    let other = clone(json!({"priority": "high"})).await;
    assert_eq!((other.0, &other.1["type"]), (422, &json!("urn:pagurus:problem:invalid")), "{other:?}");
    let audit = engine.get("/v1/audit?action=cloned").await.unwrap().success().unwrap();
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "{audit}");
}
