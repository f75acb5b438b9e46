//! Retention (ORD-26): what is over goes with everything that belongs to it, and can be exported before.

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, call, until};

/// Tables with a row of an order, each with its column.
const TABLES: [&str; 19] = [
    "payloads",
    "contexts",
    "ready",
    "running",
    "due",
    "deadlines",
    "queued",
    "requests",
    "calls",
    "history",
    "outbox",
    "failures",
    "suspensions",
    "promises",
    "dependencies",
    "children",
    "search_values",
    "callbacks",
    "inconsistencies",
];

async fn rows(engine: &Installation, no: i64) -> i64 {
    let database = engine.database().await;
    let mut count = 0;
    for table in TABLES {
        let query = format!("SELECT count(*) FROM {table} WHERE order_no = {no}");
        count += database.query_one(&query, &[]).await.unwrap().get::<_, i64>(0);
    }
    count
        + database
            .query_one(&format!("SELECT count(*) FROM orders WHERE no = {no}"), &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
}

async fn export(engine: &Installation, file: &std::path::Path) -> Vec<Value> {
    let program = std::path::PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let mut command = tokio::process::Command::new(program);
    command.args(["--server", engine.base(), "order", "export", "--ended-before", "1d", "--file"]).arg(file);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn ord_26_what_is_over_is_exported_and_removed_and_what_never_ends_is_ended_first() {
    let engine = Installation::start("ord_26").await;
    engine.world().program(pagurus_harness::world::program::Program::at("/silent"));
    engine.actions("one", &call("/do")).await;
    engine
        .scenario("short", &format!("retention: 1d\n{}", crate::installation::with_actions(&call("/do"))))
        .await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    // Nobody takes its notification: that is never dropped (ORD-19).
    let order = json!({"id": "unheard", "scenario": "one", "notify": {"url": "amqp://?key=nobody"}});
    engine.run(order, "success").await;
    until("its notification is parked", PATIENCE, async || {
        !engine.order("unheard").await.unwrap()["unsentNotifications"][0]["parkedBecause"].is_null()
    })
    .await;
    let mut numbers = Vec::new();
    for (id, scenario, status) in [
        ("old", "one", "success"),
        ("young", "one", "success"),
        ("short", "short", "success"),
        ("endless", "asks", "wait"),
    ] {
        let order = engine.run(json!({"id": id, "scenario": scenario}), status).await;
        numbers.push(order["no"].as_i64().unwrap());
    }
    engine
        .run(json!({"id": "queued", "scenario": "one", "mode": "sequential", "queue": "q"}), "success")
        .await;
    // Both wait for a notification that is on its way: nothing of these orders is. Their ends lie in the past now.
    let past =
        "UPDATE orders SET finished_at = finished_at - interval '100 days' WHERE id IN ('old', 'unheard');
        UPDATE orders SET finished_at = finished_at - interval '2 days' WHERE id IN ('short', 'young');
        UPDATE queues SET last_position = last_position - 7200000";
    let folder = std::env::temp_dir().join(format!("pagurus-ord-26-{}", std::process::id()));
    engine.database().await.batch_execute(past).await.unwrap();
    let exported = export(&engine, &folder).await;
    assert!(!exported.is_empty(), "at least the young one is there still");
    let again = export(&engine, &folder).await;
    assert_eq!(exported, again, "it goes on behind the last one");
    for order in &exported {
        assert!(order["events"].as_array().unwrap().len() > 2, "{order}");
    }
    std::fs::remove_file(&folder).unwrap();
    for (place, id) in [(0, "old"), (2, "short")] {
        until(&format!("{id} is removed"), PATIENCE, async || rows(&engine, numbers[place]).await == 0).await;
        assert_eq!(engine.get(&format!("/v1/orders/{id}")).await.unwrap().status, 404);
    }
    assert!(rows(&engine, numbers[1]).await > 0, "its time is not over");
    assert_eq!(engine.get("/v1/orders/unheard").await.unwrap().status, 200);
    // Until its receiver wants none any more.
    let gone = "UPDATE outbox SET parked_because = 'gone' WHERE order_no = (SELECT no FROM orders WHERE id = 'unheard')";
    engine.database().await.batch_execute(gone).await.unwrap();
    until("unheard is removed", PATIENCE, async || {
        engine.get("/v1/orders/unheard").await.unwrap().status == 404
    })
    .await;
    // The id is free.
    engine.run(json!({"id": "old", "scenario": "one", "params": {"other": true}}), "success").await;
    let past = "UPDATE orders SET created_at = created_at - interval '181 days' WHERE id = 'endless'";
    engine.database().await.batch_execute(past).await.unwrap();
    let order = engine.reach("endless", "fail").await;
    assert_eq!(order["error"]["class"], "retention.expired", "{order}");
    let queues = "SELECT count(*) FROM queues";
    until("the empty queue is gone", 3 * PATIENCE, async || {
        engine.database().await.query_one(queues, &[]).await.unwrap().get::<_, i64>(0) == 0
    })
    .await;
}

#[tokio::test]
async fn ord_26_children_values_callbacks_and_marks_go_with_their_order_and_ended_nodes_in_their_time() {
    let mut engine = Installation::start("ord_26_kin").await;
    let asks = asking("/asked", "1h");
    engine.world().program(Program::at("/asked").calling_back(CallBack::with(json!({"code": 0}))));
    engine.scenario("kin", &format!("search: {{customer: params.customer}}\n{asks}")).await;
    engine
        .actions(
            "parent",
            "- order: {scenario: kin, params: {customer: 7}, id: the-child, request: child, wait: true}",
        )
        .await;
    engine.run(json!({"id": "parent", "scenario": "parent"}), "success").await;
    let no = engine.reach("the-child", "success").await["no"].as_i64().unwrap();
    let database = engine.database().await;
    let mark = format!("INSERT INTO inconsistencies (order_no, findings) VALUES ({no}, '{{no_place}}')");
    database.execute(&mark, &[]).await.unwrap();
    for table in &TABLES[15..] {
        let query = format!("SELECT count(*) FROM {table} WHERE order_no = {no}");
        let rows: i64 = database.query_one(&query, &[]).await.unwrap().get(0);
        assert!(rows > 0, "the trial shows nothing of {table}");
    }
    let past = "UPDATE orders SET finished_at = finished_at - interval '100 days' WHERE id IN ('the-child', 'parent')";
    database.execute(past, &[]).await.unwrap();
    until("the child is removed", PATIENCE, async || rows(&engine, no).await == 0).await;

    // A node that ended, and has a successor of its role.
    let gone = engine.add(Role::Worker, "gone").await;
    gone.kill().await.unwrap();
    engine.add(Role::Worker, "next").await;
    until("its end is noted", PATIENCE, async || {
        let query = "UPDATE nodes SET ended_at = ended_at - interval '1000 days' WHERE name = 'gone' AND ended_at IS NOT NULL";
        engine.database().await.execute(query, &[]).await.unwrap() == 1
    })
    .await;
    until("the ended node is removed", 3 * PATIENCE, async || {
        let query = "SELECT count(*) FROM nodes WHERE name = 'gone'";
        engine.database().await.query_one(query, &[]).await.unwrap().get::<_, i64>(0) == 0
    })
    .await;
}
