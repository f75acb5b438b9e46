//! The time for a whole life: it begins when the order may start (ORD-17), whatever it waits for.

use std::time::Duration;

use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::registration::NewOrder;
use pagurus_domain::order::transition::Cause;
use pagurus_store::hot::control;
use pagurus_store::outside::amend::{self, Postponement, Reopening, Starts, Updating};
use serde_json::{Value, json};

use crate::ground::{Ground, fail, in_an_hour, success};

/// Far from what a test takes, so that a time that counts from another moment is noticed.
const PROCESS: Duration = Duration::from_secs(10_000);

fn timed(ground: &Ground, id: &str, more: &Value) -> NewOrder {
    NewOrder { process_timeout: Some(PROCESS), ..ground.new_order(id, more) }
}

async fn register(ground: &Ground, id: &str, more: &Value) -> OrderNo {
    ground.register(&[timed(ground, id, more)]).await;
    OrderNo(ground.count(&format!("SELECT no FROM orders WHERE id = '{id}'")).await)
}

/// Whole seconds that are left; `None` while the time has not begun.
async fn left(ground: &Ground, no: OrderNo) -> Option<i64> {
    let query = "SELECT ceil(extract(epoch FROM at - clock_timestamp()) / 100)::bigint * 100
                   FROM deadlines WHERE order_no = $1 AND kind = 'process'";
    ground.work().await.query_one(query, &[&no.0]).await.unwrap().get(0)
}

/// Lets an hour pass for all times that an order has.
async fn let_an_hour_pass(ground: &Ground, no: OrderNo) {
    let table = |table: &str, column: &str| {
        format!("UPDATE {table} SET {column} = {column} - interval '1 hour' WHERE order_no = {no}")
    };
    ground.sql(&table("due", "due_at")).await;
    ground.sql(&table("deadlines", "at")).await;
}

#[tokio::test]
async fn ord_17_the_process_time_out_counts_from_the_moment_at_which_an_order_may_start() {
    let ground = Ground::new("process").await;
    let at_once = register(&ground, "now", &json!({})).await;
    assert_eq!(left(&ground, at_once).await, Some(10_000));

    let later =
        register(&ground, "later", &json!({"lifecycle": {"startAt": in_an_hour().to_string()}})).await;
    assert_eq!(left(&ground, later).await, None, "an order that may not start outlives nothing");
    let_an_hour_pass(&ground, later).await;
    assert_eq!(ground.wake(Stream::Postponed).await, [later]);
    assert_eq!(left(&ground, later).await, Some(10_000));

    let after = json!({"lifecycle": {"after": [{"order": "now", "states": ["a"]}]}});
    let after = register(&ground, "after", &after).await;
    assert_eq!(left(&ground, after).await, None);
    let claimed = ground.claim(at_once).await;
    ground.finish(&claimed, success()).await;
    assert_eq!(left(&ground, after).await, Some(10_000));
}

#[tokio::test]
async fn ord_17_an_order_that_is_restarted_or_moved_has_all_of_its_time_when_it_may_start() {
    let ground = Ground::new("again").await;
    let no = register(&ground, "a", &json!({})).await;
    let claimed = ground.claim(no).await;
    ground.finish(&claimed, fail()).await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let orders = control::lock_all(&tx, &[no.0]).await.unwrap().orders;
    let new = Reopening {
        keeps_answers: false,
        snapshot: None,
        entry_point: None,
        scenario: None,
        postponed: Some(Postponement::Until(in_an_hour())),
        params: None,
        start_deadline: None,
        process_timeout: Some(PROCESS),
        source: "test",
        detail: "{}".to_owned(),
    };
    let allowed = orders[0].may(Cause::RestartPostponed).unwrap();
    amend::reopen_all(&tx, &[(allowed, new)]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(left(&ground, no).await, None);
    let_an_hour_pass(&ground, no).await;
    ground.wake(Stream::Postponed).await;
    assert_eq!(left(&ground, no).await, Some(10_000));

    let moved = register(&ground, "b", &json!({})).await;
    let tx = client.transaction().await.unwrap();
    let orders = control::lock_all(&tx, &[moved.0]).await.unwrap().orders;
    let new = Updating {
        params: None,
        snapshot: None,
        priority: pagurus_domain::order::Priority::Normal,
        start_at: Some(in_an_hour()),
        notify: None,
        starts: Starts::At(in_an_hour(), Stream::Postponed),
        source: "test",
        detail: "{}".to_owned(),
    };
    amend::update(&tx, orders[0].may(Cause::Deferred).unwrap(), &new).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(left(&ground, moved).await, None, "it may not start any more");
}
