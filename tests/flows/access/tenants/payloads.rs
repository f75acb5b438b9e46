//! Payloads by role (`access.payloads`).

use reqwest::Method;
use serde_json::json;

use super::{Zoo, filled};
use crate::installation::{PATIENCE, until};

#[tokio::test]
async fn scn_15_no_operation_shows_a_payload_to_a_role_that_sees_none() {
    let zoo = Zoo::of("tenants_payloads", "operator").await;
    zoo.populate("common", "okapi").await;
    // An answer that came, too.
    let asked = zoo.engine.calls("/ask", 1).await;
    let address = asked.iter().find(|call| call.body.to_string().contains("common-3")).unwrap();
    let address = address.headers["x-callback-url"].clone();
    let answer = zoo.engine.env().http().post(address).body(r#"{"stripes": "okapi"}"#).send().await.unwrap();
    assert!(answer.status().is_success());
    zoo.reach("common-3", "success").await;
    zoo.reach("common-6", "success").await;
    let (viewer, operator) = (zoo.token("viewer", &[]).await, zoo.token("operator", &[]).await);
    let (mut shown, mut leaks) = (Vec::new(), Vec::new());
    for (path, _) in zoo.reading().await {
        for address in filled(&path, "common") {
            let (seen, hidden) = (zoo.get(&operator, &address).await, zoo.get(&viewer, &address).await);
            if seen.body.to_string().contains("okapi") {
                shown.push(path.clone());
            }
            if hidden.body.to_string().contains("okapi") {
                leaks.push(format!("{address}: {}", hidden.body));
            }
            let may = seen.status != hidden.status && hidden.status != 403;
            assert!(!may, "{address}: {} and {}", seen.status, hidden.status);
        }
    }
    shown.dedup();
    assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
    // The test would be worth nothing where nobody saw a payload.
    for path in [
        "/v1/orders/{id}",
        "/v1/orders/{id}/params",
        "/v1/orders/{id}/events",
        "/v1/orders/{id}/log",
        "/v1/orders/{id}/callbacks",
        "/v1/orders/{id}/explain",
        "/v1/callbacks",
        "/v1/errors/orders",
        "/v1/export/orders",
        "/v1/schedules",
        "/v1/schedules/{name}",
    ] {
        assert!(shown.iter().any(|one| one == path), "{path} shows it to nobody: {shown:?}");
    }
    let order = zoo.get(&viewer, "/v1/orders/common-2").await.body;
    assert_eq!((&order["params"], &order["vars"]), (&json!("***"), &json!("***")), "{order}");
    assert_eq!(
        (&order["error"]["message"], &order["error"]["class"]),
        (&json!("***"), &json!("animal.gone"))
    );

    // Nobody finds by its value what they do not see.
    for query in ["params.secret=okapi&status=fail", "vars.found=okapi&status=fail", "text=okapi"] {
        for list in ["orders", "counts", "ledger"] {
            let answer = zoo.get(&viewer, &format!("/v1/{list}?{query}")).await;
            assert_eq!(answer.status, 403, "{list} {query}: {answer:?}");
        }
        assert_eq!(zoo.get(&operator, &format!("/v1/orders?{query}")).await.status, 200, "{query}");
    }
    let as_text =
        viewer.on(zoo.engine.env().http().get(format!("{}/v1/orders/common-1/log", zoo.engine.base())));
    let as_text = as_text.header("accept", "text/plain").send().await.unwrap();
    assert_eq!(as_text.status().as_u16(), 403);
}

#[tokio::test]
async fn scn_15_an_operator_from_whom_payloads_are_hidden_changes_none_by_looking() {
    let zoo = Zoo::of("tenants_blind", "admin").await;
    zoo.populate("common", "okapi").await;
    let operator = zoo.token("operator", &[]).await;
    let note = json!({"note": "n"});
    let path = "/v1/schedules/common-nightly";
    let put = zoo.caller(&operator).ask(Method::PATCH, path, Some(&note)).await;
    assert!(put.status == 200 && !put.body.to_string().contains("okapi"), "{put:?}");
    let schedule = zoo.get(&zoo.admin, "/v1/schedules/common-nightly").await.body;
    assert_eq!((&schedule["order"]["params"]["secret"], &schedule["note"]), (&json!("okapi"), &json!("n")));
    let change = json!({"priority": "low", "reason": "r"});
    let changed = zoo.caller(&operator).ask(Method::PATCH, "/v1/orders/common-6", Some(&change)).await;
    assert!(changed.status == 200 && !changed.body.to_string().contains("okapi"), "{changed:?}");
    let restart = zoo.post(&operator, "/v1/orders/common-2/restart", json!({"reason": "r"})).await;
    assert!(restart.status == 200 && !restart.body.to_string().contains("okapi"), "{restart:?}");
    until("it failed again", PATIENCE, async || {
        let order = zoo.get(&zoo.admin, "/v1/orders/common-2").await.body;
        order["life"] == 2 && order["status"] == "fail" && order["params"]["secret"] == "okapi"
    })
    .await;
    let search = json!({"action": "kill", "search": {"status": ["wait"], "params": {"secret": "okapi"}}, "reason": "r"});
    assert_eq!(zoo.post(&operator, "/v1/operations", search).await.status, 403);
}
