//! Counts of each minute, as charts read them: what was processed shows in them.

use pagurus_harness::nodes::Role;
use serde_json::json;

use crate::installation::{Installation, PATIENCE, call, until};

/// The sum of a series for one key, and how many of it have a time.
async fn counted(engine: &Installation, what: &str, key: &str) -> (i64, i64) {
    let query = "SELECT coalesce(sum(count), 0)::bigint,
                        coalesce(sum((SELECT sum(b) FROM unnest(buckets) AS b)), 0)::bigint
                   FROM stats WHERE what = $1 AND key = $2";
    let row = engine.database().await.query_one(query, &[&what, &key]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn what_was_processed_shows_in_the_counts_of_its_minute() {
    let engine = Installation::start("stats").await;
    engine.actions("good", &call("/do")).await;
    engine.actions("bad", &format!("{}\n- script: fail(\"no\", \"shop.closed\")", call("/do"))).await;
    for id in ["a", "b", "c"] {
        engine.run(json!({"id": id, "scenario": "good"}), "success").await;
    }
    let failed = engine.run(json!({"id": "d", "scenario": "bad"}), "fail").await;
    let system = failed["error"]["system"].as_str().unwrap();
    let later = json!({"id": "e", "scenario": "good", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    engine.act("e", "cancel", &json!({"reason": "not wanted"})).await.success().unwrap();

    for (what, key, wanted) in [
        ("registered", "good", (4, 0)),
        ("registered", "bad", (1, 0)),
        ("ended.success", "good", (3, 0)),
        ("ended.fail", "bad", (1, 0)),
        ("ended.canceled", "good", (1, 0)),
        ("stages", "success", (3, 3)),
        ("stages", "fail", (1, 1)),
        ("errors.class", "shop.closed", (1, 0)),
        ("errors.system", system, (1, 0)),
        ("calls", system, (4, 4)),
    ] {
        until(&format!("{what} {key}"), PATIENCE, async || counted(&engine, what, key).await == wanted).await;
    }

    // A node that stops adds what it counted since its last turn.
    engine
        .accepted(json!({"id": "f", "scenario": "good", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}}))
        .await;
    engine.node(Role::Intake).stop(PATIENCE).await.unwrap();
    assert_eq!(counted(&engine, "registered", "good").await, (5, 0));
}
