//! Called systems that are away, in a deployment without any setting of distribution.

use std::net::TcpListener;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::state_of;
use crate::installation::{Installation, PATIENCE, call, until};

/// An address at which nobody listens.
fn nobody() -> std::net::SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Answers 200 to whatever comes to this address, from now on.
async fn answer_at(address: std::net::SocketAddr) {
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = [0; 4096];
                while socket.read(&mut read).await.is_ok_and(|bytes| bytes > 0) {
                    let fine = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    if socket.write_all(fine).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
}

async fn count(engine: &Installation, status: &str) -> usize {
    let page = engine.get(&format!("/v1/orders?status={status}&limit=500")).await.unwrap().success().unwrap();
    page["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn dsp_4_a_system_that_refuses_every_connection_stops_its_flow_without_any_setting() {
    const ORDERS: usize = 200;
    let engine = Installation::start("dsp_4_shipped").await;
    let away = nobody();
    engine.actions("fragile", &format!("- http: {{url: 'http://{away}/pay', timeout: 5s}}")).await;
    engine.actions("other", &call("/fine")).await;
    let system = async || engine.get(&format!("/v1/systems/{away}")).await.unwrap().body;
    let stands = async || ["stopped", "probing"].contains(&state_of(&engine, "fragile").await.as_str());
    // One after another, so that how fast this machine calls does not count. No rule repeats what has failed: each
    // call is an order.
    let mut called = 0;
    while !stands().await {
        assert!(called < 40, "the flow goes on after {called} calls in vain");
        engine.accepted(json!({"id": format!("f{called}"), "scenario": "fragile"})).await;
        called += 1;
        until("the order fails, or is held", PATIENCE, async || {
            count(&engine, "fail").await == called || stands().await
        })
        .await;
    }
    for n in called..ORDERS {
        engine.accepted(json!({"id": format!("f{n}"), "scenario": "fragile"})).await;
    }
    until("the state of the calls is shown", PATIENCE, async || system().await["calls"] == "failing").await;
    let shown = system().await;
    assert_ne!(shown["state"], "healthy", "{shown}");
    assert_eq!(shown["failedShare"], 1.0, "{shown}");
    assert!(shown["errors"]["connection"].as_u64().unwrap_or(0) > 0, "{shown}");
    until("a probe has gone in vain", PATIENCE, async || {
        let flow = engine.get("/v1/flows/fragile").await.unwrap().success().unwrap();
        let said = format!("{flow} {}", system().await);
        said.contains("probe failed") || said.contains("probes failed")
    })
    .await;
    engine.run(json!({"id": "neighbour", "scenario": "other"}), "success").await;
    let in_vain = count(&engine, "fail").await;
    assert!((1..=called + 20).contains(&in_vain), "{in_vain} of {ORDERS} orders have called in vain");
    answer_at(away).await;
    let done = async || count(&engine, "success").await + count(&engine, "fail").await;
    until("all that waited goes through", PATIENCE, async || done().await == ORDERS + 1).await;
    let failed = count(&engine, "fail").await;
    assert!(failed <= called + 40, "{failed} orders have called in vain in all");
    until("it is seen that the system is back", PATIENCE, async || {
        let shown = system().await;
        ["healthy", "recovering", "slowing"].contains(&shown["state"].as_str().unwrap_or_default())
    })
    .await;
}
