//! Actions on what is configuration: each entry says what was before, and what is after.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ROLES, stop};
use crate::installation::{Installation, LOG, with_actions};

/// A request, and the entry that it leaves: kind, action, before, after. Fields that are named have these values.
type Case = (Method, &'static str, Value, [&'static str; 2], Value, Value);

fn cases() -> Vec<Case> {
    [of_flows_and_systems(), of_the_rest()].concat()
}

fn why() -> Value {
    json!({"reason": "works"})
}

fn of_flows_and_systems() -> Vec<Case> {
    let post = Method::POST;
    vec![
        (
            post.clone(),
            "/v1/flows/resume",
            json!({"keyword": "tariff", "reason": "done"}),
            ["flow", "resume"],
            json!([{"keyword": "tariff"}]),
            Value::Null,
        ),
        (
            post.clone(),
            "/v1/flows/stop",
            json!({"keyword": "tariff", "reason": "works"}),
            ["flow", "stop"],
            Value::Null,
            json!({"keyword": "tariff"}),
        ),
        (
            post.clone(),
            "/v1/systems/billing/stop",
            why(),
            ["system", "keep_stopped"],
            Value::Null,
            json!({"order": "keep_stopped"}),
        ),
        (
            post.clone(),
            "/v1/systems/billing/open",
            why(),
            ["system", "force_open"],
            json!({"order": "keep_stopped"}),
            json!({"order": "force_open"}),
        ),
        (
            post,
            "/v1/systems/billing/clear",
            json!({}),
            ["system", "clear"],
            json!({"order": "force_open"}),
            Value::Null,
        ),
    ]
}

fn of_the_rest() -> Vec<Case> {
    let (post, put, delete) = (Method::POST, Method::PUT, Method::DELETE);
    let window = json!({"flow": "tariff", "from": "2090-01-02T10:00:00Z", "for": "1h", "reason": "works"});
    let (fail, success) = (json!({"status": ["fail"]}), json!({"status": ["success"]}));
    vec![
        (post.clone(), "/v1/windows", window, ["window", "add"], Value::Null, json!({"shift": false})),
        (
            post.clone(),
            "/v1/windows/1/skip",
            why(),
            ["window", "skip"],
            json!({"calledOffUntil": null}),
            json!({}),
        ),
        (post.clone(), "/v1/windows/1/remove", why(), ["window", "remove"], json!({}), Value::Null),
        (put.clone(), "/v1/searches/s", fail.clone(), ["search", "save"], Value::Null, fail.clone()),
        (put, "/v1/searches/s", success.clone(), ["search", "save"], fail, success.clone()),
        (delete, "/v1/searches/s", Value::Null, ["search", "remove"], success, Value::Null),
        (
            post.clone(),
            "/v1/nodes/activator/NODE/offline",
            why(),
            ["node", "offline"],
            json!({"offline": false}),
            json!({"offline": true}),
        ),
        (
            post.clone(),
            "/v1/nodes/activator/NODE/online",
            why(),
            ["node", "online"],
            json!({"offline": true}),
            json!({"offline": false}),
        ),
        (
            post,
            "/v1/leases/dispatcher/resign",
            why(),
            ["lease", "resign"],
            json!({}),
            json!({"holder": null}),
        ),
    ]
}

/// True if a value has everything that is expected of it.
fn has(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| has(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| has(found, expected))
        }
        _ => found == expected,
    }
}

async fn newest(engine: &Installation) -> Value {
    engine.get("/v1/audit?limit=1").await.unwrap().success().unwrap()["items"][0].clone()
}

#[tokio::test]
async fn ord_24_what_was_done_to_configuration_is_written_with_the_value_before_and_after() {
    let engine = Installation::only("audit_changes", &ROLES, &[]).await;
    stop(&engine, "tariff").await;
    let node = engine.node(pagurus_harness::nodes::Role::Activator).spec.name.clone();
    for (method, path, body, [kind, action], before, after) in cases() {
        let url = format!("{}{}", engine.base(), path.replace("NODE", &node));
        let request = engine.env().http().request(method, url);
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{path}: {status} {}", answer.text().await.unwrap());
        let entry = newest(&engine).await;
        assert_eq!((&entry["kind"], &entry["action"]), (&json!(kind), &json!(action)), "{path}: {entry}");
        let detail = entry["detail"].as_object().unwrap();
        let found = detail.get("before").zip(detail.get("after"));
        let (found_before, found_after) = found.unwrap_or_else(|| panic!("{path}: {entry}"));
        assert!(has(found_before, &before) && has(found_after, &after), "{path}: {entry}");
    }
    for (version, before) in [(1, Value::Null), (2, json!({"version": 1}))] {
        engine.scenario("s", &format!("retention: {version}d\n{}", with_actions(LOG))).await;
        let detail = newest(&engine).await["detail"].clone();
        assert_eq!((&detail["before"], &detail["after"]["version"]), (&before, &json!(version)), "{detail}");
    }
}
