//! The examples for web frameworks, one in each language: the same shop, which sends an order for each purchase, and receives the
//! webhook of its end.

use std::process::Stdio;

use jiff::Timestamp;
use pagurus_domain::order::notification::SigningSecrets;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::{PATIENCE, SECRET};
use crate::installation::{Installation, until};

/// Buys in a shop, learns the end of its order there, and tries to deceive it.
pub(super) async fn demand(engine: &Installation, program: &mut Command) {
    let mut shop = program
        .env("PAGURUS_SERVER", engine.base())
        .env("WEBHOOK_SECRET", SECRET)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(shop.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("it says its address");
    let address = line.unwrap().expect("it starts");
    let http = engine.env().http();
    let buy = async |params: Value| {
        let bought = http.post(format!("{address}/purchases/purchase-1")).json(&params).send().await.unwrap();
        (bought.status().as_u16(), bought.json::<Value>().await.unwrap())
    };
    let status = async || {
        let shown = http.get(format!("{address}/purchases/purchase-1")).send().await.unwrap();
        shown.json::<Value>().await.unwrap()["status"].clone()
    };
    assert_eq!(buy(json!({"name": "a"})).await, (202, json!({"status": "accepted"})));
    until("the shop knows the end", PATIENCE, async || status().await == "success").await;
    assert_eq!(buy(json!({"name": "a"})).await, (202, json!({"status": "duplicate"})));
    let conflict = buy(json!({"name": "b"})).await;
    assert_eq!(conflict.0, 409, "{conflict:?}");

    let now = Timestamp::now().as_second();
    let body = json!({"id": "purchase-1", "status": "fail"}).to_string();
    let sign = |secret: &str, message: &str, seconds: i64| {
        SigningSecrets::parse(secret).unwrap().sign(message, seconds, body.as_bytes())
    };
    let send = async |seconds: i64, signature: String| {
        let request = http.post(format!("{address}/pagurus")).body(body.clone());
        let request = request.header("webhook-id", "m-1").header("webhook-timestamp", seconds.to_string());
        request.header("webhook-signature", signature).send().await.unwrap().status().as_u16()
    };
    for (seconds, signature) in [
        (now, "v1,AAAA".to_owned()),
        (now, sign("another-secret-of-thirty-bytes", "m-1", now)),
        (now, sign(SECRET, "m-2", now)),
        (now - 3600, sign(SECRET, "m-1", now - 3600)),
    ] {
        assert_eq!(send(seconds, signature.clone()).await, 401, "{seconds} {signature}");
    }
    assert_eq!(status().await, "success", "nobody deceived it");
    let both = format!("v1,AAAA {}", sign(SECRET, "m-1", now));
    assert_eq!(send(now, both).await, 204);
    assert_eq!(status().await, "fail");
}
