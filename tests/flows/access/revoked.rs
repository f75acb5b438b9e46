//! Rights that end: on every node, and for what lasts.

use futures_util::StreamExt as _;
use pagurus_harness::nodes::Role;
use reqwest::Method;

use super::{Caller, base_of, guarded, root, token};
use crate::installation::{PATIENCE, until};

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
