//! A snapshot that somebody else holds, such as a backup or a forgotten session: nothing that is deleted meanwhile leaves the
//! indexes. No look-up may walk over all of it again and again (QLT-2).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::installation::{Installation, PATIENCE};
use crate::load::body;

/// Orders of a part, of each kind.
const EACH: usize = 250;
const QUEUES: usize = 25;
/// Parts of equal load; the first warms up.
const PARTS: usize = 4;

const NAP: &str = r#"
scenario: nap
initialState: nap
targetStates: [done]
states:
  nap:
    actions: [{sleep: {for: 300ms}}]
    on: {sleep: slept}
  slept: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
"#;

/// Entries that were read from each index so far.
async fn read_entries(client: &tokio_postgres::Client) -> BTreeMap<String, i64> {
    // The server publishes what a session counted at the latest a second after it fell idle.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    client.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
    let rows = client
        .query("SELECT indexrelname::text AS name, idx_tup_read AS read FROM pg_stat_user_indexes", &[])
        .await
        .unwrap();
    rows.iter().map(|row| (row.get("name"), row.get("read"))).collect()
}

async fn connect(engine: &Installation) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(&engine.env.database_url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn part(engine: &Installation, number: usize) {
    let mut ids = Vec::new();
    let mut bodies = Vec::new();
    for index in 0..EACH {
        let queue = format!("q{}", index % QUEUES);
        bodies.push(body(&format!("nap-{number}-{index}"), "nap", json!({})));
        bodies.push(body(&format!("ask-{number}-{index}"), "ask", json!({})));
        let queued = json!({"mode": "sequential", "queue": queue, "params": {"queue": queue}});
        bodies.push(body(&format!("seq-{number}-{index}"), "call", queued));
    }
    for chunk in bodies.chunks(250) {
        engine.api.post("/v1/orders/batch", &json!(chunk)).await.unwrap().success().unwrap();
    }
    ids.extend(bodies.iter().map(|body| body["id"].as_str().unwrap().to_owned()));
    for id in &ids {
        engine.api.wait_status(id, "success", 2 * PATIENCE).await.unwrap();
    }
}

#[tokio::test]
async fn qlt_2_under_a_held_snapshot_no_look_up_walks_over_what_is_gone() {
    let engine = Installation::start("held_snapshot", &[]).await;
    engine.api.put_scenario("nap", NAP).await.unwrap();
    let holder = connect(&engine).await;
    holder.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    let watcher = connect(&engine).await;
    let mut parts = Vec::new();
    for number in 0..PARTS {
        let before = read_entries(&watcher).await;
        part(&engine, number).await;
        let after = read_entries(&watcher).await;
        let read: BTreeMap<String, i64> = after
            .into_iter()
            .map(|(name, read)| (name.clone(), read - before.get(&name).unwrap_or(&0)))
            .collect();
        parts.push(read);
    }
    holder.batch_execute("ROLLBACK").await.unwrap();
    let (first, last) = (&parts[1], &parts[PARTS - 1]);
    let grown: Vec<String> = last
        .iter()
        .map(|(name, read)| (name, first.get(name).copied().unwrap_or(0), *read))
        .filter(|(_, first, last)| *last > first * 3 / 2 + 3000)
        .map(|(name, first, last)| format!("{name}: {first} entries read, {last} two parts later"))
        .collect();
    for (name, read) in last {
        println!("{name}: {:?} {read}", parts.iter().map(|part| part.get(name)).collect::<Vec<_>>());
    }
    assert!(grown.is_empty(), "{grown:#?}");
}
