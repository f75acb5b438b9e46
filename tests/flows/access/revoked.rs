//! Rights that end: on every node, and for what lasts.

use std::time::Instant;

use futures_util::StreamExt as _;
use pagurus_harness::nodes::Role;
use reqwest::Method;
use serde_json::json;

use super::{Caller, Proof, base_of, guarded, root, token};
use crate::installation::{Installation, PATIENCE, until};

#[tokio::test]
async fn qlt_15_a_revoked_token_is_refused_by_every_node_and_its_streams_and_long_polls_end() {
    let mut engine = guarded("access_revoked", &[Role::Intake, Role::Dispatcher], &[]).await;
    let other = engine.add(Role::Intake, "intake-2").await;
    let other = base_of(&other);
    let admin = Caller::of(&engine, root(&engine).await);
    let (id, proof) = token(&engine, &admin.proof, "watcher", "viewer").await;
    let watcher = Caller::of(&engine, proof.clone());
    let listed = async || watcher.ask_at(&other, Method::GET, "/v1/orders", None).await.status;
    assert_eq!(listed().await, 200);
    let stream = proof.on(engine.env().http().get(format!("{other}/v1/stream"))).send().await.unwrap();
    assert_eq!(stream.status().as_u16(), 200);
    let stream = tokio::spawn(async move { stream.bytes_stream().collect::<Vec<_>>().await });
    assert!(!stream.is_finished());
    let path = format!("/v1/access/tokens/{id}");
    assert_eq!(admin.status(Method::DELETE, &path, None).await, 204);
    assert_eq!(admin.status(Method::DELETE, &path, None).await, 404, "once is enough");
    // The node that has revoked it knows at once.
    assert_eq!(watcher.status(Method::GET, "/v1/orders", None).await, 401);
    until("the other node refuses the token", PATIENCE, async || listed().await == 401).await;
    tokio::time::timeout(PATIENCE, stream).await.expect("the stream ends").unwrap();
}

/// Follows the event stream of a node; the task ends with the stream.
async fn follow(engine: &Installation, base: &str, proof: &Proof) -> tokio::task::JoinHandle<()> {
    let stream = proof.on(engine.env().http().get(format!("{base}/v1/stream"))).send().await.unwrap();
    assert_eq!(stream.status().as_u16(), 200);
    tokio::spawn(async move { drop(stream.bytes_stream().collect::<Vec<_>>().await) })
}

#[tokio::test]
async fn qlt_15_a_token_whose_end_has_passed_is_refused_by_every_node_and_its_stream_ends() {
    let mut engine = guarded("access_expired", &[Role::Intake, Role::Dispatcher], &[]).await;
    let other = base_of(&engine.add(Role::Intake, "intake-2").await);
    let admin = Caller::of(&engine, root(&engine).await);
    let asked = json!({"name": "short", "role": "viewer", "endsAt": "2100-01-01T00:00:00Z"});
    let made = admin.ask(Method::POST, "/v1/access/tokens", Some(&asked)).await.success().unwrap();
    let proof = Proof::Token(made["token"].as_str().unwrap().to_owned());
    let short = Caller::of(&engine, proof.clone());
    let listed = async |base: &str| short.ask_at(base, Method::GET, "/v1/orders", None).await.status;
    assert_eq!((listed(engine.base()).await, listed(&other).await), (200, 200));
    let stream = follow(&engine, &other, &proof).await;
    // No test waits for an end of its own: the time of the database is the one that counts.
    let over = "UPDATE tokens SET ends_at = now() WHERE id = $1";
    let id = made["id"].as_str().unwrap();
    assert_eq!(engine.database().await.execute(over, &[&id]).await.unwrap(), 1);
    for base in [engine.base(), &*other] {
        until("the node refuses the token", PATIENCE, async || listed(base).await == 401).await;
    }
    tokio::time::timeout(PATIENCE, stream).await.expect("the stream ends").unwrap();
}

#[tokio::test]
async fn qlt_15_a_session_that_is_ended_is_refused_by_every_node_and_its_stream_ends() {
    let mut engine = guarded("access_ended", &[Role::Intake, Role::Dispatcher], &[]).await;
    let other = base_of(&engine.add(Role::Intake, "intake-2").await);
    let (_, admin) = token(&engine, &root(&engine).await, "admin", "admin").await;
    let admin = Caller::of(&engine, admin);
    let person = root(&engine).await;
    let caller = Caller::of(&engine, person.clone());
    let listed = async || caller.ask_at(&other, Method::GET, "/v1/orders", None).await.status;
    assert_eq!(listed().await, 200);
    let stream = follow(&engine, &other, &person).await;
    let sessions = admin.ask(Method::GET, "/v1/access/sessions", None).await.success().unwrap();
    for session in sessions["items"].as_array().unwrap() {
        let path = format!("/v1/access/sessions/{}", session["id"].as_str().unwrap());
        assert_eq!(admin.status(Method::DELETE, &path, None).await, 204);
    }
    let ended = Instant::now();
    until("the other node refuses the session", PATIENCE, async || listed().await == 401).await;
    println!("refused by the other node after {:?}", ended.elapsed());
    tokio::time::timeout(PATIENCE, stream).await.expect("the stream ends").unwrap();
    println!("its stream has ended after {:?}", ended.elapsed());
}
