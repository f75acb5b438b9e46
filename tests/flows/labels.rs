//! Labels of orders, and orders that are started and waited for in one request (ORD-33).

use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, with_actions};

async fn ids(engine: &Installation, query: &[(&str, &str)]) -> Vec<String> {
    let url = reqwest::Url::parse_with_params("http://x/v1/orders", query).unwrap();
    let found = engine.get(&format!("/v1/orders?{}", url.query().unwrap())).await.unwrap().success().unwrap();
    let items = found["items"].as_array().unwrap();
    items.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn ord_33_labels_are_kept_searched_grouped_reported_and_cloned() {
    let engine = Installation::start("labels").await;
    engine.actions("one", "- script: 'result(order.labels.region)'").await;
    engine
        .actions(
            "parent",
            "- order: {scenario: one, id: child, labels: {region: \"child-of-${order.labels.region}\"}, wait: true}",
        )
        .await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "labels").await.unwrap();
    let strange = json!({"region": "ü=&,'\"%", "ключ.a/b": "", "k".repeat(64): "x".repeat(255)});
    let notify = json!({"url": "amqp://?key=labels", "correlationId": "c", "on": ["final", "transitions"]});
    engine
        .run(json!({"id": "strange", "scenario": "one", "labels": strange, "notify": notify}), "success")
        .await;
    engine
        .run(json!({"id": "north", "scenario": "one", "labels": {"region": "n", "shop": "7"}}), "success")
        .await;
    engine
        .run(json!({"id": "south", "scenario": "one", "labels": {"region": "s", "shop": "7"}}), "success")
        .await;
    engine.run(json!({"id": "parent", "scenario": "parent", "labels": {"region": "s"}}), "success").await;
    engine.run(json!({"id": "bare", "scenario": "one", "labels": {}}), "fail").await;

    // Shown, known to scripts, and reported of the end and of each transition.
    let view = engine.get("/v1/orders/strange").await.unwrap().success().unwrap();
    assert_eq!((&view["labels"], &view["result"]), (&strange, &strange["region"]));
    assert_eq!(engine.get("/v1/orders/bare").await.unwrap().success().unwrap()["labels"], Value::Null);
    let told = inbox.wait(PATIENCE, |all| all.len() >= 2).await.unwrap();
    assert!(told.iter().all(|message| message.body["labels"] == strange), "{told:?}");

    // Found by each label, by several, and along other paths.
    assert_eq!(ids(&engine, &[("labels.shop", "7")]).await, ["south", "north"]);
    assert_eq!(ids(&engine, &[("labels.shop", "7"), ("labels.region", "n")]).await, ["north"]);
    assert_eq!(ids(&engine, &[("labels.region", "s"), ("status", "success")]).await, ["parent", "south"]);
    assert_eq!(ids(&engine, &[("labels.ключ.a/b", "")]).await, ["strange"]);
    assert_eq!(ids(&engine, &[("labels.region", "child-of-s"), ("ids", "child,south")]).await, ["child"]);
    assert_eq!(ids(&engine, &[("labels.shop", "8")]).await, [""; 0]);

    // Grouped, alone and with another key.
    let counts =
        engine.get("/v1/counts?by=label:shop,status&labels.shop=7").await.unwrap().success().unwrap();
    assert_eq!(counts["by"], json!(["label:shop", "status"]));
    assert_eq!(counts["items"], json!([{"key": ["7", "success"], "orders": 2, "newest": "south"}]));
    let all = engine.get("/v1/counts?by=label:region").await.unwrap().success().unwrap();
    let groups: Vec<&Value> = all["items"].as_array().unwrap().iter().map(|item| &item["key"][0]).collect();
    assert_eq!(groups.len(), 5, "{all}");
    assert!(groups.contains(&&json!("")), "orders without the label are a group: {all}");
    assert_eq!(engine.get("/v1/counts?by=label:").await.unwrap().status, 422);

    // The same content is a duplicate, other labels are a conflict; a clone has them, and a restart keeps them.
    let order =
        |region: &str| json!({"id": "north", "scenario": "one", "labels": {"shop": "7", "region": region}});
    assert_eq!(engine.submit(&order("n")).await.status, 200);
    assert_eq!(engine.submit(&order("x")).await.status, 409);
    engine.act("north", "clone", &json!({"id": "copy", "reason": "again"})).await.success().unwrap();
    assert_eq!(engine.reach("copy", "success").await["labels"], json!({"region": "n", "shop": "7"}));
    engine.act("south", "restart", &json!({"reason": "again", "params": {"a": 1}})).await.success().unwrap();
    assert_eq!(engine.reach("south", "success").await["labels"], json!({"region": "s", "shop": "7"}));
    assert_eq!(ids(&engine, &[("labels.shop", "7")]).await, ["copy", "south", "north"]);

    // All faults at once, with their places.
    let wrong = json!({"id": "wrong", "scenario": "one", "labels": {"n": 1, "l": "x".repeat(256), "": "a"}});
    let refused = engine.submit(&wrong).await;
    assert_eq!(refused.status, 422);
    let pointers: Vec<&Value> =
        refused.body["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
    assert_eq!(pointers.len(), 3, "{}", refused.body);
}

#[tokio::test]
async fn ord_33_a_registration_that_waits_is_answered_with_the_end_or_with_the_state_after_the_time() {
    let engine = Installation::start("start_wait").await;
    engine.actions("good", "- script: 'message(\"done\"); result(#{ code: 7 })'").await;
    engine.actions("bad", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    engine.scenario("slow", &crate::installation::asking("/silent", "10m")).await;
    engine.scenario("called", &with_actions(&call("/do"))).await;
    let start = async |wait: &str, order: Value| {
        engine.post(&format!("/v1/orders?wait={wait}"), &order).await.unwrap()
    };
    let good = start("30", json!({"id": "good", "scenario": "good", "labels": {"a": "b"}})).await;
    assert_eq!(good.status, 201);
    let good = good.body;
    assert_eq!(
        (&good["final"], &good["status"], &good["registered"]),
        (&json!(true), &json!("success"), &json!("accepted"))
    );
    assert_eq!(
        (&good["result"], &good["message"], &good["labels"]),
        (&json!({"code": 7}), &json!("done"), &json!({"a": "b"}))
    );
    assert!(good["durationMs"].is_u64() && good["finishedAt"].is_string(), "{good}");
    let again = start("30s", json!({"id": "good", "scenario": "good", "labels": {"a": "b"}})).await;
    assert_eq!((again.status, &again.body["registered"]), (200, &json!("duplicate")));
    assert_eq!(again.body["result"], json!({"code": 7}));

    let bad = start("30", json!({"id": "bad", "scenario": "bad"})).await;
    assert_eq!((bad.status, &bad.body["status"]), (201, &json!("fail")), "the registration went well");
    assert_eq!(bad.body["error"]["class"], "shop.closed");

    let slow = start("1", json!({"id": "slow", "scenario": "slow"})).await;
    assert_eq!((slow.status, &slow.body["final"]), (201, &json!(false)));
    assert_eq!(slow.body["status"], engine.reach("slow", "wait").await["status"]);
    let at_once = start("0", json!({"id": "called", "scenario": "called"})).await;
    assert_eq!((at_once.status, &at_once.body["registered"]), (201, &json!("accepted")));

    // What is refused is refused as ever, at once; a dry run has nothing to wait for.
    assert_eq!(start("30", json!({"id": "good", "scenario": "bad"})).await.status, 409);
    assert_eq!(start("30", json!({"id": "new", "scenario": "none"})).await.status, 422);
    assert_eq!(start("soon", json!({"id": "new", "scenario": "good"})).await.status, 422);
    let dry = start("30&dryRun=true", json!({"id": "new", "scenario": "good"})).await;
    assert_eq!(dry.status, 422);
    assert_eq!(engine.get("/v1/orders/new").await.unwrap().status, 404);
}
