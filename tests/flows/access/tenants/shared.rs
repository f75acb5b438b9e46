//! Things of nobody that orders of several tenants share: queues, and scenarios whose parameters decide flow and queue.

use pagurus_harness::client::items;
use reqwest::Method;
use serde_json::{Value, json};

use super::Zoo;
use crate::installation::{LOG, PATIENCE, asking, until, with_actions};

/// A scenario of nobody that takes its queue from the parameters.
async fn queued(zoo: &Zoo) {
    let rest = with_actions(LOG);
    zoo.scenario("common-queued", &format!("sequential: \"${{params.queue}}\"\n{rest}")).await;
}

#[tokio::test]
async fn ord_13_a_queue_of_nobody_is_not_taken_from_an_order_of_another_tenant() {
    let zoo = Zoo::of("tenants_release", "viewer").await;
    zoo.scenario("zebra-slow", &asking("/ask", "1h")).await;
    let order = json!({"id": "zebra-9", "scenario": "zebra-slow", "mode": "sequential", "queue": "shared"});
    zoo.order(order).await;
    zoo.reach("zebra-9", "wait").await;
    let operator = zoo.token("operator", &["ours"]).await;
    let refused = zoo.post(&operator, "/v1/queues/shared/release", json!({"reason": "r"})).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(!refused.body.to_string().contains("zebra"), "{refused:?}");
    let released = zoo.post(&zoo.admin, "/v1/queues/shared/release", json!({"reason": "r"})).await;
    assert_eq!((released.status, &released.body["released"]), (200, &json!("zebra-9")), "{released:?}");
}

#[tokio::test]
async fn act_4_a_schedule_makes_no_orders_in_queues_of_another_tenant_and_theirs_is_not_seen() {
    let zoo = Zoo::of("tenants_schedules", "viewer").await;
    queued(&zoo).await;
    let operator = zoo.token("operator", &["ours"]).await;
    let schedule = |name: &str, queue: &str| {
        json!({"name": name, "cron": "0 3 * * *", "zone": "UTC",
            "order": {"scenario": "common-queued", "params": {"queue": queue}}})
    };
    let refused = zoo.post(&operator, "/v1/schedules", schedule("spies", "zebra-queue")).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(zoo.post(&operator, "/v1/schedules", schedule("mine", "own-queue")).await.status, 201);
    assert_eq!(zoo.post(&zoo.admin, "/v1/schedules", schedule("theirs", "zebra-queue")).await.status, 201);
    assert_eq!(zoo.get(&operator, "/v1/schedules/theirs").await.status, 404);
    let run = zoo.post(&operator, "/v1/schedules/theirs/run", json!({"reason": "r"})).await;
    assert_eq!(run.status, 404, "{run:?}");
    let seen = items(zoo.get(&operator, "/v1/schedules").await.body);
    let names: Vec<&Value> = seen.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["mine"]);
}

#[tokio::test]
async fn rec_12_clones_of_an_operation_get_into_no_queue_of_another_tenant() {
    let zoo = Zoo::of("tenants_clones", "viewer").await;
    queued(&zoo).await;
    zoo.order(json!({"id": "own-9", "scenario": "common-queued", "params": {"queue": "own-queue"}})).await;
    zoo.reach("own-9", "success").await;
    let operator = zoo.token("operator", &["ours"]).await;
    let clone = json!({"action": "clone", "search": {"idPrefix": "own-"}, "reason": "r",
        "with": {"params": {"queue": "zebra-queue"}}});
    let begun = zoo.post(&operator, "/v1/operations", clone).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let path = format!("/v1/operations/{}", begun.body["operation"]["no"]);
    let mut operation = Value::Null;
    until("the operation is done", PATIENCE, async || {
        operation = zoo.get(&operator, &path).await.body;
        operation["state"] == "done"
    })
    .await;
    assert_eq!((&operation["done"], &operation["failed"]), (&json!(0), &json!(1)), "{operation}");
}

#[tokio::test]
async fn ord_16_of_an_order_of_another_tenant_nobody_learns_how_it_stands() {
    let zoo = Zoo::of("tenants_after", "viewer").await;
    zoo.order(json!({"id": "zebra-9", "scenario": "zebra-ends", "params": {"secret": "s"}})).await;
    zoo.reach("zebra-9", "success").await;
    let client = zoo.token("operator", &["ours"]).await;
    let after = json!([{"order": "zebra-9", "states": ["failed"]}]);
    let spy = json!({"id": "own-spy", "scenario": "own-ends", "params": {"secret": "s"}, "lifecycle": {"after": after}});
    assert_eq!(zoo.post(&client, "/v1/orders", spy).await.status, 201);
    for path in ["/v1/orders/own-spy/dependencies", "/v1/orders/own-spy", "/v1/orders/own-spy/explain"] {
        let shown = zoo.get(&client, path).await;
        assert!(shown.status == 200 && !shown.body.to_string().contains("success"), "{path}: {shown:?}");
    }
}

#[tokio::test]
async fn scn_15_an_answer_that_waits_for_the_end_shows_no_payload_to_a_role_that_sees_none() {
    let zoo = Zoo::of("tenants_wait", "admin").await;
    let operator = zoo.token("operator", &[]).await;
    let order = |id: &str, kind: &str| json!({"id": id, "scenario": format!("common-{kind}"), "params": {"secret": "okapi"}});
    for (id, kind) in [("a", "ends"), ("b", "fails")] {
        let ended =
            zoo.caller(&operator).ask(Method::POST, "/v1/orders?wait=60", Some(&order(id, kind))).await;
        assert_eq!((ended.status, &ended.body["final"]), (201, &json!(true)), "{ended:?}");
        assert!(!ended.body.to_string().contains("okapi"), "{ended:?}");
    }
    let asked = json!({"action": "restart", "search": {"idPrefix": "b"}, "reason": "r", "with": {"params": {"secret": "okapi"}}});
    let begun = zoo.post(&zoo.admin, "/v1/operations", asked).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let listed = zoo.get(&operator, "/v1/operations").await;
    assert!(listed.status == 200 && !listed.body.to_string().contains("okapi"), "{listed:?}");
}
