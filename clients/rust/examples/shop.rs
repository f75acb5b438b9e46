//! A shop on axum: sends an order for each purchase, and receives the webhook of its end.
//! `POST /purchases/ID` sends, `GET /purchases/ID` shows, `POST /pagurus` is what `notify` names.

#![allow(clippy::disallowed_types, reason = "the refusals of this shop are its own")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use pagurus_client::{Client, Error, MAX_AGE, Notify, Order, verify_webhook};
use serde_json::{Value, json};

/// The shop: its client, and what a real one keeps in its database.
struct Shop {
    client: Client,
    /// Address of this program, for webhooks.
    address: String,
    secret: String,
    ended: Mutex<Ended>,
}

/// The ends of orders, and the ids of the notifications that brought them.
#[derive(Default)]
struct Ended {
    seen: HashSet<String>,
    statuses: HashMap<String, Value>,
}

async fn buy(
    State(shop): State<Arc<Shop>>,
    Path(id): Path<String>,
    Json(params): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let notify = Notify { url: format!("{}/pagurus", shop.address), ..Notify::default() };
    let order = Order { notify: vec![notify], ..Order::new(id, "greet").params(params) };
    match shop.client.register(&order).await {
        Ok(registered) => (StatusCode::ACCEPTED, Json(json!({"status": registered.status}))),
        Err(Error::Problem { problem, .. }) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_GATEWAY);
            (status, Json(json!({"detail": problem.to_string()})))
        }
        Err(away) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"detail": away.to_string()}))),
    }
}

async fn show(State(shop): State<Arc<Shop>>, Path(id): Path<String>) -> Json<Value> {
    let ended = shop.ended.lock().unwrap_or_else(PoisonError::into_inner);
    Json(json!({"status": ended.statuses.get(&id)}))
}

async fn receive(State(shop): State<Arc<Shop>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let Ok(notification) = verify_webhook(header, &body, &shop.secret, MAX_AGE) else {
        return StatusCode::UNAUTHORIZED;
    };
    let message = header("webhook-id").unwrap_or_default().to_owned();
    let mut ended = shop.ended.lock().unwrap_or_else(PoisonError::into_inner);
    // The same one may come twice. A real shop stores its id and its effect in one transaction.
    if ended.seen.insert(message)
        && let Some(id) = notification["id"].as_str()
    {
        ended.statuses.insert(id.to_owned(), notification["status"].clone());
    }
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let set = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", set("PORT", "0").parse::<u16>()?)).await?;
    let address = format!("http://{}", listener.local_addr()?);
    println!("{address}");
    let shop = Shop {
        client: Client::new(&set("PAGURUS_SERVER", "http://127.0.0.1:8080"))?,
        address,
        secret: std::env::var("WEBHOOK_SECRET")?,
        ended: Mutex::default(),
    };
    let routes = Router::new()
        .route("/purchases/{id}", post(buy))
        .route("/purchases/{id}", get(show))
        .route("/pagurus", post(receive))
        .with_state(Arc::new(shop));
    Ok(axum::serve(listener, routes).await?)
}
