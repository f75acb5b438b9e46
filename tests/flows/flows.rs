//! Flows that are stopped, shifted and limited, and called systems that are to be left alone (04-distribution.md).

mod backlog;
mod counts;
mod history;
mod ledger;
mod limits;
mod shares;
mod shipped;
mod standstill;
mod stops;
mod systems;
mod uneven;
pub mod what_if;
mod windows;

use serde_json::{Value, json};

use crate::installation::Installation;

/// Stops flows by a keyword; returns the answer once it is confirmed.
pub async fn stop(engine: &Installation, keyword: &str, more: Value) -> Value {
    let mut body = json!({"keyword": keyword, "reason": "works"});
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name.as_str()] = value.clone();
    }
    engine.post("/v1/flows/stop", &body).await.unwrap().success().unwrap()
}

pub async fn resume(engine: &Installation, body: Value) -> Value {
    let mut body = body;
    body["reason"] = json!("done");
    engine.post("/v1/flows/resume", &body).await.unwrap().success().unwrap()
}

pub async fn state_of(engine: &Installation, flow: &str) -> String {
    let answer = engine.get(&format!("/v1/flows/{flow}")).await.unwrap();
    answer.body["state"].as_str().unwrap_or_default().to_owned()
}

/// Reason for which an order does not run, in one word.
pub async fn reason(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["reason"].as_str().unwrap().to_owned()
}

pub async fn explained(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["explanation"].as_str().unwrap().to_owned()
}
