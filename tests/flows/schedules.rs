//! Schedules (ORD-39): orders at planned times, each exactly once, over deaths, downtimes, overlaps and refusals.

mod objects;
mod once;
mod overlap;

use jiff::Timestamp;
use pagurus_harness::nodes::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, call, until, with_actions};

/// Sends a request with a body and headers; status and body of the answer.
async fn send(
    engine: &Installation,
    (method, path): (Method, &str),
    headers: &[(&str, &str)],
    body: Value,
) -> (u16, Value) {
    let mut request = engine.env().http().request(method, format!("{}{path}", engine.base()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.json(&body).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

/// Puts a schedule.
async fn put(engine: &Installation, name: &str, body: Value) -> Value {
    let path = format!("/v1/schedules/{name}");
    let (status, answer) = send(engine, (Method::PUT, &path), &[], body).await;
    assert!((200..300).contains(&status), "{status} {answer}");
    answer
}

async fn shown(engine: &Installation, name: &str) -> Value {
    engine.get(&format!("/v1/schedules/{name}")).await.unwrap().success().unwrap()
}

/// Times of a schedule that have come, the newest first.
async fn runs(engine: &Installation, name: &str) -> Vec<Value> {
    let page = engine.get(&format!("/v1/schedules/{name}/runs?limit=1000")).await.unwrap().success().unwrap();
    page["items"].as_array().unwrap().clone()
}

async fn act(engine: &Installation, name: &str, word: &str, body: Value) -> Value {
    engine.post(&format!("/v1/schedules/{name}/{word}"), &body).await.unwrap().success().unwrap()
}

/// Ids of all orders of a schedule, sorted.
async fn orders(engine: &Installation, name: &str) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/orders?idPrefix={name}@&limit=500{cursor}");
        let page = engine.get(&path).await.unwrap().success().unwrap();
        ids.extend(
            page["items"].as_array().unwrap().iter().map(|order| order["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    ids.sort_unstable();
    ids
}

/// Sets a schedule back, as if nothing had been decided about its times for a while.
async fn set_back(engine: &Installation, name: &str, interval: &str) {
    let text = format!(
        "UPDATE schedules SET decided_until = clock_timestamp() - interval '{interval}', next_at = clock_timestamp()
          WHERE name = '{name}'"
    );
    engine.database().await.batch_execute(&text).await.unwrap();
}

/// Ends the activator as a crash does.
async fn without_activator(engine: &mut Installation) {
    engine.node(Role::Activator).kill().await.unwrap();
}
