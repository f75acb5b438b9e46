//! Upgrades (RUN-4): what the first release wrote outlives all migrations, and a history with another text is refused.
//! Never writes the order by the store: an upgrade finds rows, not calls.

use std::collections::BTreeMap;

use pagurus_domain::id::Life;
use pagurus_domain::order::Status;
use pagurus_harness::env::Env;
use pagurus_store::outside::orders;
use pagurus_store::upkeep::migrate;
use pagurus_store::{Client, Error, Options, Store};
use serde_json::Value;

use crate::ground::Ground;

/// Version of the schema of release 0.1.0.
const FIRST: i32 = 1;

/// A sequential order with a promise that ran behind another order and waits for an answer, as release 0.1.0 stored it.
const ORDER: &str = r#"
    INSERT INTO scenarios (name, version, source, digest) VALUES ('s', 1, 'scenario: s', '\x01');
    INSERT INTO orders (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify, created_at,
                        promise_at, status, scenario_status, step, entry_point, attempt, events, visited,
                        distance, started_at, stages)
    VALUES ('a', '\x02', 1, 'sequential', 'q', 'normal', 's', 't', 'replies', now(),
            now() + interval '1 day', 'wait', 'on_target', 'asking', 'asking', 1, 3, 1,
            1, now(), 1);
    INSERT INTO payloads (order_no, params) VALUES (1, '{"n":1}');
    INSERT INTO contexts (order_no, snapshot) VALUES (1, '{}');
    INSERT INTO history (order_no, number, life, kind, source, detail)
    VALUES (1, 1, 1, 'registered', 'intake', '{}'), (1, 2, 1, 'stage', 'w-1', '{}');
    INSERT INTO due (order_no, stream, due_at) VALUES (1, 3, now() + interval '1 hour');
    INSERT INTO deadlines (order_no, kind, at) VALUES (1, 'process', now() + interval '2 days');
    INSERT INTO queues (name, last_position, taken) VALUES ('q', 1000, 1);
    INSERT INTO queued (order_no, queue, position, held_since) VALUES (1, 'q', 1000, now());
    INSERT INTO dependencies (order_no, before_id, states, otherwise, reactive, stand)
    VALUES (1, 'before', '["success"]', 'wait', true, 'met');
    INSERT INTO requests (id, order_no, life, visit, action, name, awaited, system)
    VALUES ('00000000-0000-4000-8000-000000000001', 1, 1, 1, 0, 'r', true, 'crm');
    INSERT INTO callbacks (request_id, named, order_no, verdict, body)
    VALUES ('00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000001', 1, 'late', '{}');
    INSERT INTO calls (order_no, life, key, name, body) VALUES (1, 1, 'k', 'c', '{}');
    INSERT INTO outbox (order_no, life, kind, message_id, target, body, next_at)
    VALUES (1, 1, 'started', '00000000-0000-4000-8000-000000000002', 'replies', '{}', now());
    INSERT INTO suspensions (order_no, attempt, at) VALUES (1, 1, now());
    INSERT INTO search_values (order_no, name, value) VALUES (1, 'customer', 'x');
"#;

/// All rows of each table, as objects by column.
async fn rows(client: &Client) -> BTreeMap<String, Vec<Value>> {
    let tables = "SELECT table_name::text FROM information_schema.tables
                   WHERE table_schema = 'public' AND table_name <> 'refinery_schema_history'";
    let mut found = BTreeMap::new();
    for table in client.query(tables, &[]).await.unwrap() {
        let table: String = table.get(0);
        let query = format!("SELECT to_jsonb(t)::text FROM {table} t");
        let rows = client.query(&query, &[]).await.unwrap();
        found.insert(table, rows.iter().map(|row| serde_json::from_str(row.get(0)).unwrap()).collect());
    }
    found
}

/// True if a row has all values of another; a migration may have added columns.
fn keeps(after: &Value, before: &Value) -> bool {
    before.as_object().unwrap().iter().all(|(column, value)| after.get(column) == Some(value))
}

#[tokio::test]
async fn run_4_an_order_of_the_first_release_outlives_all_migrations() {
    let env = Env::empty("upgrade").await.unwrap();
    let store = Store::new(&Options::of(&env.database_url(), "tests")).unwrap();
    let mut client = store.work().await.unwrap();
    assert_eq!(migrate::run_to(&mut client, FIRST).await.unwrap(), ["V1__schema"]);
    client.batch_execute(ORDER).await.unwrap();
    let before = rows(&client).await;
    assert_eq!(before["promises"].len(), 1, "the database itself keeps promises");

    migrate::run(&mut client).await.unwrap();
    assert!(migrate::is_current(&client).await.unwrap());
    let after = rows(&client).await;
    for (table, rows) in &before {
        for row in rows {
            assert!(
                after[table].iter().any(|now| keeps(now, row)),
                "{table}: {row} became {:?}",
                after[table]
            );
        }
    }
    assert_eq!(orders::status(&client, "a").await.unwrap(), Some((Status::Wait, Life(1))));
}

#[tokio::test]
async fn run_4_a_database_that_was_migrated_with_another_text_is_refused() {
    let ground = Ground::new("another_text").await;
    let mut client = ground.work().await;
    assert!(migrate::is_current(&client).await.unwrap());
    ground.sql("UPDATE refinery_schema_history SET checksum = '1' WHERE version = 1").await;
    assert!(!migrate::is_current(&client).await.unwrap());
    let refused = migrate::run(&mut client).await.unwrap_err();
    let says_so = |why: &str| why.contains("applied migration V1__schema is different");
    assert!(matches!(&refused, Error::Schema(why) if says_so(why)), "{refused}");
}
