//! Lists of orders (REC-13): whatever is asked for, one statement reads no more rows than it was told, and page
//! after page has every order that fits.

use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_store::Client;
use pagurus_store::orders::{self, FoundOrder, Source};
use serde_json::json;

use crate::ground::{Ground, fail, in_an_hour, retry, sleep, success};

/// Rows of the tables that lists read, by keys and otherwise.
const READ: &str =
    "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
                     WHERE relname IN ('orders', 'failures', 'ready', 'running', 'due')";

/// Every order of a source, page by page.
async fn walk(client: &Client, source: Source<'_>, limit: usize) -> Vec<FoundOrder> {
    let (mut all, mut below) = (Vec::new(), OrderNo(i64::MAX));
    loop {
        let page = orders::places(client, &source, below, limit).await.unwrap();
        let is_last = page.len() < limit;
        all.extend(page);
        match all.last() {
            Some(last) if !is_last => below = last.no,
            _ => return all,
        }
    }
}

#[tokio::test]
async fn rec_13_every_order_is_found_where_its_status_shows() {
    let ground = Ground::new("search").await;
    for round in 0..5 {
        for (word, end) in [("success", success()), ("fail", fail()), ("sleep", sleep()), ("retry", retry())]
        {
            let no = ground.order(&format!("{word}-{round}"), &json!({"transactionId": "T"})).await;
            let claimed = ground.claim(no).await;
            ground.finish(&claimed, end).await;
        }
        ground.order(&format!("new-{round}"), &json!({})).await;
        let later = json!({"lifecycle": {"startAt": in_an_hour().to_string()}});
        ground.order(&format!("postponed-{round}"), &later).await;
        let no = ground.order(&format!("running-{round}"), &json!({"transactionId": "T"})).await;
        ground.claim(no).await;
        // Due again, and not claimed yet: its status stays.
        let no = ground.order(&format!("retry-due-{round}"), &json!({})).await;
        let claimed = ground.claim(no).await;
        ground.finish(&claimed, retry()).await;
        ground.sql(&format!("UPDATE due SET due_at = now() WHERE order_no = {}", no.0)).await;
        ground.wake(pagurus_domain::activation::Stream::Retry).await;
    }
    let client = ground.work().await;
    for status in [
        Status::New,
        Status::Postponed,
        Status::Running,
        Status::Sleep,
        Status::Retry,
        Status::Wait,
        Status::Fail,
        Status::Success,
    ] {
        let word = status.as_str();
        for limit in [3, 1000] {
            let found = walk(&client, Source::of(None, Some(status)), limit).await;
            assert!(found.windows(2).all(|pair| pair[0].no > pair[1].no), "{word}: {found:?}");
            let nos: Vec<i64> =
                found.iter().filter(|place| place.status == status).map(|place| place.no.0).collect();
            let lines = orders::lines(&client, &nos).await.unwrap();
            assert!(lines.iter().all(|line| line.status == status), "{word}: {lines:?}");
            let expected: Vec<String> = (0..5).rev().map(|round| format!("{word}-{round}")).collect();
            let found: Vec<String> =
                lines.into_iter().map(|line| line.id).filter(|id| !id.contains("-due-")).collect();
            assert_eq!(found, if word == "wait" { Vec::new() } else { expected }, "{limit} a page");
            let due = if word == "retry" { 5 } else { 0 };
            assert_eq!(nos.len(), found.len() + due, "{word}");
        }
    }
    let of_transaction = walk(&client, Source::of(Some("T"), Some(Status::Running)), 4).await;
    assert_eq!(of_transaction.len(), 25);
    assert_eq!(of_transaction.iter().filter(|place| place.status == Status::Running).count(), 5);
    assert_eq!(walk(&client, Source::of(None, None), 7).await.len(), 40);
    assert_eq!(orders::scenario_numbers(&client, "s").await.unwrap().len(), 1);
    assert!(orders::scenario_numbers(&client, "none").await.unwrap().is_empty());
}

#[tokio::test]
async fn rec_13_a_page_reads_a_bounded_number_of_rows_of_many() {
    const LIMIT: usize = 1000;
    let ground = Ground::new("search_many").await;
    let many = "INSERT INTO orders (id, digest, scenario, mode, priority, flow, transaction_id, created_at, status, finished_at)
                SELECT 'f-' || n, '', (SELECT max(no) FROM scenarios), 'parallel', 'normal', 's',
                       CASE WHEN n % 4 = 0 THEN 'T' END, now(), 'success', now() FROM generate_series(1, 120000) n";
    assert_eq!(ground.sql(many).await, 120_000);
    for (table, values) in [
        ("failures (order_no, at, scenario)", "no, now(), scenario"),
        ("due (order_no, stream, due_at)", "no, 1, now()"),
        (
            "ready (order_no, pass, attempt, wake, flow, priority, since)",
            "no, gen_random_uuid(), 1, 'start', 's', 'normal', now()",
        ),
        (
            "running (order_no, pass, attempt, wake, restarts, node, since, started_at, deadline_at)",
            "no, gen_random_uuid(), 1, 'start', 0, 1, now(), now(), now()",
        ),
    ] {
        ground.sql(&format!("INSERT INTO {table} SELECT {values} FROM orders WHERE no % 3 = 0")).await;
    }
    ground.sql("ANALYZE").await;
    let client = ground.work().await;
    let read = async || {
        client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
        client.query("SELECT 1", &[]).await.unwrap();
        ground.count(READ).await
    };
    for source in [
        Source::All,
        Source::Failed,
        Source::Unfinished { running: true, suspended: true },
        Source::Unfinished { running: false, suspended: false },
        Source::Transaction("T"),
    ] {
        for below in [i64::MAX, 60_000] {
            let before = read().await;
            let found = orders::places(&client, &source, OrderNo(below), LIMIT).await.unwrap();
            let rows = read().await - before;
            assert_eq!(found.len(), LIMIT, "{source:?}");
            assert!((1000..=5000).contains(&rows), "{source:?} below {below}: {rows} rows read for {LIMIT}");
        }
    }
}
