//! Failed and retrying orders in groups (ERR-14): the table of failures is kept by the database,
//! whichever statement moves an order, and no count reads more than its bound.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::access::scope::AccessScope;
use pagurus_store::lists::errors::{self, By, ErrorsWanted, Filter, Hour};
use serde_json::Value;

use crate::ground::{Ground, fail, retry, success};

fn counts(mut hours: Vec<Hour>) -> Vec<(Option<String>, i64)> {
    hours.sort_by(|left, right| left.key.cmp(&right.key));
    hours.into_iter().map(|hour| (hour.key, hour.orders)).collect()
}

/// Orders in groups, of this number that is examined.
fn wanted(by: By, filter: &Filter, examine: i64) -> ErrorsWanted<'_> {
    ErrorsWanted { by, filter, scope: &AccessScope::WHOLE, examine }
}

/// More than there are, but in the test of many.
const PLENTY: i64 = 100_000;

fn a_day_ago() -> Timestamp {
    Timestamp::now() - SignedDuration::from_hours(24)
}

#[tokio::test]
async fn err_14_an_order_is_among_the_failures_while_it_is_failed() {
    let ground = Ground::new("failures").await;
    let client = ground.work().await;
    let mut nos = Vec::new();
    for (id, then) in [("a", fail()), ("b", fail()), ("c", success()), ("d", retry())] {
        let no = ground.order(id, &Value::Null).await;
        let claimed = ground.claim(no).await;
        ground.finish(&claimed, then).await;
        nos.push(no);
    }
    let all = Filter::default();
    let failed =
        errors::failed(&client, a_day_ago(), wanted(By::Scenario, &all, PLENTY)).await.unwrap().hours;
    assert_eq!(counts(failed.clone()), [(Some("s".to_owned()), 2)]);
    let mut sample = failed[0].sample.clone();
    sample.sort_unstable();
    assert_eq!(sample, nos[..2]);
    let retrying = errors::retrying(&client, wanted(By::Scenario, &all, PLENTY)).await.unwrap().hours;
    assert_eq!((retrying.len(), retrying[0].orders, &retrying[0].sample), (1, 1, &nos[3..].to_vec()));
    let ids = errors::ids(&client, &nos).await.unwrap();
    assert_eq!(ids.get(&nos[3]).map(String::as_str), Some("d"));
    let later = Timestamp::now() + SignedDuration::from_hours(1);
    let none = errors::failed(&client, later, wanted(By::Class, &all, PLENTY)).await.unwrap();
    assert_eq!(none, errors::ExaminedErrors::default());

    // Written again it stays one; another life ends it; a second failure brings it back.
    for (change, left) in [
        ("UPDATE orders SET updated_at = now() WHERE id = 'a'", 2),
        ("UPDATE orders SET status = 'reopen', finished_at = NULL WHERE id = 'a'", 1),
        ("UPDATE orders SET status = 'success', finished_at = now() WHERE id = 'a'", 1),
        ("UPDATE orders SET status = 'fail', error_class = 'other' WHERE id = 'a'", 2),
        ("UPDATE orders SET status = 'canceled' WHERE id IN ('a', 'b')", 0),
    ] {
        ground.sql(change).await;
        assert_eq!(ground.count("SELECT count(*) FROM failures").await, left, "{change}");
    }
}

#[tokio::test]
async fn err_14_counting_a_table_of_failures_stays_bounded() {
    let ground = Ground::new("many_failures").await;
    ground
        .sql(
            "INSERT INTO failures SELECT n, now() - n * interval '10 ms', (SELECT no FROM scenarios LIMIT 1), 'c' || n % 7, 's' || n % 3
               FROM generate_series(1, 300000) n",
        )
        .await;
    ground.sql("ANALYZE failures").await;
    let client = ground.store.reports().await.unwrap();
    let begun = Instant::now();
    let examined =
        errors::failed(&client, a_day_ago(), wanted(By::Class, &Filter::default(), PLENTY)).await.unwrap();
    let taken = begun.elapsed();
    let failed = examined.hours;
    assert_eq!(failed.iter().map(|hour| hour.orders).sum::<i64>(), PLENTY);
    assert!(failed.iter().all(|hour| hour.sample.len() == 5));
    let oldest = failed.iter().map(|hour| hour.first).min().unwrap();
    assert!(oldest > Timestamp::now() - SignedDuration::from_secs(1200), "the newest are counted: {oldest}");
    eprintln!("{PLENTY} of 300 000 failures counted in {taken:?}");
    assert!(taken < Duration::from_secs(10), "{taken:?}");

    // Those that a condition leaves out were examined all the same.
    let seventh = Filter { class: Some("c1".to_owned()), ..Filter::default() };
    let few = errors::failed(&client, a_day_ago(), wanted(By::Class, &seventh, 700)).await.unwrap();
    assert_eq!((few.examined, few.hours.iter().map(|hour| hour.orders).sum::<i64>()), (700, 100));
    assert!(few.oldest.is_some_and(|oldest| oldest > Timestamp::now() - SignedDuration::from_secs(600)));
    client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
    let scanned = ground
        .count("SELECT coalesce(seq_tup_read, 0) FROM pg_stat_user_tables WHERE relname = 'failures'")
        .await;
    // ANALYZE samples by itself and is not counted; what is counted here would be a whole scan.
    assert_eq!(scanned, 0);
}
