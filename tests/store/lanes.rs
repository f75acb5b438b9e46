//! Lanes of connections: each has the settings and the number of sessions that it is for.

use std::time::Duration;

use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::search::Search;
use pagurus_store::lists::search::{SearchKey, SearchWalk};
use pagurus_store::{Client, Options, Store};
use serde_json::json;

use crate::ground::{Ground, REPORT_TIMEOUT};

async fn shown(client: &Client, setting: &str) -> String {
    client.query_one(&format!("SHOW {setting}"), &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn reports_only_read_end_in_their_own_time_and_are_planned_for_their_values() {
    let ground = Ground::new("lane_reports").await;
    let client = ground.store.reports().await.unwrap();
    let refused = client.execute("DELETE FROM orders", &[]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&tokio_postgres::error::SqlState::READ_ONLY_SQL_TRANSACTION));
    assert_eq!(shown(&client, "statement_timeout").await, format!("{}s", REPORT_TIMEOUT.as_secs()));
    for switch in ["enable_hashjoin", "enable_mergejoin"] {
        assert_eq!(shown(&client, switch).await, "on", "{switch}");
    }
    assert_ne!(shown(&client, "plan_cache_mode").await, "force_generic_plan");
    let operations = ground.store.operations().await.unwrap();
    assert_eq!(shown(&operations, "default_transaction_read_only").await, "off");
    assert_eq!(shown(&operations, "enable_seqscan").await, "off", "its statements are those of the hot path");
}

/// Orders that are counted, and rows of a burst that the planner does not know of.
const COUNTED: usize = 200;
const BURST: i64 = 5_000;

#[tokio::test]
async fn ui_3_counts_look_up_what_runs_also_while_the_planner_takes_its_table_for_empty() {
    let ground = Ground::new("lane_burst").await;
    for number in 0..COUNTED {
        ground.order(&format!("o-{number}"), &json!({})).await;
    }
    let fill = format!(
        "INSERT INTO running (order_no, pass, attempt, wake, restarts, node, since, started_at, deadline_at)
         SELECT n, gen_random_uuid(), 1, '{{}}', 0, 1, now(), now(), now() FROM generate_series(1000000, 1000000 + {BURST}) n"
    );
    ground.sql("ALTER TABLE running SET (autovacuum_enabled = off)").await;
    for statement in [&fill, "DELETE FROM running", "ANALYZE running", &fill, "ANALYZE orders"] {
        ground.sql(statement).await;
    }
    let client = ground.store.reports().await.unwrap();
    let walk = SearchWalk::begin(&client, Search::default(), &AccessScope::WHOLE, None).await.unwrap();
    let counted = walk.unwrap().count(&client, [SearchKey::Status, SearchKey::Nothing], 1000).await.unwrap();
    assert_eq!(counted.groups.iter().map(|group| group.orders).sum::<i64>(), 200);
    client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
    let read = "SELECT (seq_tup_read + idx_tup_read)::bigint FROM pg_stat_user_tables t
                  JOIN (SELECT relid, sum(idx_tup_read) AS idx_tup_read FROM pg_stat_user_indexes GROUP BY relid) i USING (relid)
                 WHERE relname = 'running'";
    let read = ground.count(read).await;
    // Filling and emptying the table have read it a few times.
    assert!(read < 10 * BURST, "{read} rows of `running` were read for {COUNTED} orders");
}

#[tokio::test]
async fn long_values_are_compressed_with_lz4_whichever_lane_writes_them() {
    let ground = Ground::new("lane_compression").await;
    let store = &ground.store;
    for client in [store.work().await, store.api().await, store.recovery().await, store.operations().await] {
        assert_eq!(shown(&client.unwrap(), "default_toast_compression").await, "lz4");
    }
    let text: String = (0..20_000).map(|n| format!("{n} ")).collect();
    let no = ground.order("long", &json!({"params": {"text": text}})).await;
    let stored = format!("SELECT pg_column_compression(params) FROM payloads WHERE order_no = {}", no.0);
    let compression: String = ground.work().await.query_one(&stored, &[]).await.unwrap().get(0);
    assert_eq!(compression, "lz4");
}

#[tokio::test]
async fn operations_that_hold_all_of_their_connections_take_none_of_recovery() {
    let ground = Ground::new("lane_operations").await;
    let options = Options { connect_timeout: Duration::from_secs(3), ..Options::of(&ground.url(), "lanes") };
    let store = Store::new(&options).unwrap();
    let held = (store.operations().await.unwrap(), store.operations().await.unwrap());
    assert!(store.operations().await.is_err(), "there are two");
    let other = (store.recovery().await, store.reports().await, store.api().await, store.lease().await);
    assert!(other.0.is_ok() && other.1.is_ok() && other.2.is_ok() && other.3.is_ok());
    drop(held);
    assert!(store.operations().await.is_ok());
}

#[tokio::test]
async fn why_there_is_no_connection_is_said_once_and_in_the_words_of_the_server() {
    let ground = Ground::new("lane_refused").await;
    let url = ground.url();
    let (server, _) = url.rsplit_once('/').unwrap();
    let address = "postgres://nobody@127.0.0.1:1/nothing";
    for (url, why) in [
        (format!("{server}/nothing").as_str(), "FATAL: database \"nothing\" does not exist"),
        (address, "error connecting to server: Connection refused (os error 111)"),
    ] {
        let store = Store::new(&Options::of(url, "refused")).unwrap();
        let error = store.work().await.err().unwrap();
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let words: Vec<String> = causes.map(ToString::to_string).collect();
        assert_eq!(words.join(": "), format!("no connection to the database: {why}"));
    }
}
