//! Counts of each minute: what several nodes add is the sum, whatever is reported twice, and old minutes go.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::id::Incarnation;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use pagurus_runtime::MinuteCounts;
use pagurus_runtime::stats::Series;
use pagurus_store::lists::stats::{self, Delta, Point};
use pagurus_store::{Options, Store};

use crate::ground::Ground;

const ONE: Incarnation = Incarnation(1);
const OTHER: Incarnation = Incarnation(2);

fn delta(what: &'static str, key: &str, minutes_ago: i32, count: i64) -> Delta {
    Delta { what, key: key.to_owned(), minutes_ago, count, sum: 0.0, buckets: None }
}

fn timed(what: &'static str, key: &str, seconds: f64, bucket: usize) -> Delta {
    let mut buckets = [0; 10];
    buckets[bucket] = 1;
    Delta { sum: seconds, buckets: Some(buckets), ..delta(what, key, 0, 1) }
}

async fn series(ground: &Ground, what: &str) -> Vec<Point> {
    let hour = SignedDuration::from_hours(1);
    let (from, to) = (Timestamp::now() - hour, Timestamp::now() + hour);
    stats::series(&ground.work().await, what, from, to, 10_000).await.unwrap()
}

/// The sum over all minutes: a test may begin in one and end in the next.
fn total(points: &[Point], key: &str) -> i64 {
    points.iter().filter(|point| point.key == key).map(|point| point.count).sum()
}

#[tokio::test]
async fn what_two_nodes_add_to_the_same_minutes_is_the_sum() {
    const TURNS: i64 = 20;
    let ground = Ground::new("stats_add").await;
    let node = async |node: Incarnation, backwards: bool| {
        let client = ground.work().await;
        for turn in 1..=TURNS {
            // In both orders: two that lock rows as they come meet half-way.
            let mut deltas: Vec<Delta> =
                (0..1000).map(|key| delta("a", &format!("k{key:03}"), 0, 2)).collect();
            deltas.extend([delta("a", "k000", 1, 5), delta("b", "k000", 0, 1), timed("t", "k", 0.5, 4)]);
            if backwards {
                deltas.reverse();
            }
            assert!(stats::add(&client, node, turn, &deltas).await.unwrap());
        }
    };
    tokio::join!(node(ONE, false), node(OTHER, true));
    let points = series(&ground, "a").await;
    assert_eq!(total(&points, "k007"), 2 * 2 * TURNS);
    assert_eq!(total(&points, "k000"), 2 * (2 + 5) * TURNS, "of this minute and the one before");
    assert!(points.iter().map(|point| point.minute).collect::<std::collections::BTreeSet<_>>().len() >= 2);
    assert_eq!(total(&series(&ground, "b").await, "k000"), 2 * TURNS);
    let timed = series(&ground, "t").await;
    assert_eq!(timed.iter().map(|point| point.buckets[4]).sum::<i64>(), 2 * TURNS);
    assert!(timed.iter().all(|point| point.buckets.len() == 10));
    let seconds: f64 = timed.iter().map(|point| point.sum).sum();
    assert!((seconds - TURNS as f64).abs() < 1e-6, "{seconds}");
}

#[tokio::test]
async fn a_turn_that_is_sent_twice_is_added_once() {
    let ground = Ground::new("stats_twice").await;
    let client = ground.work().await;
    assert!(stats::add(&client, ONE, 1, &[delta("a", "k", 0, 3)]).await.unwrap());
    assert!(!stats::add(&client, ONE, 1, &[delta("a", "k", 0, 3)]).await.unwrap(), "it is there already");
    assert!(stats::add(&client, OTHER, 1, &[delta("a", "k", 0, 3)]).await.unwrap(), "of another node");
    assert!(stats::add(&client, ONE, 2, &[delta("a", "k", 0, 3)]).await.unwrap());
    assert_eq!(total(&series(&ground, "a").await, "k"), 9);
}

#[tokio::test]
async fn counts_outlive_an_absence_of_the_database_and_an_answer_that_was_lost() {
    let ground = Ground::new("stats_lost").await;
    let proxy = Proxy::start(&host_of(&ground.url())).await.unwrap();
    let store = Store::new(&Options::of(&proxy.url(&ground.url()), "counts")).unwrap();
    let counted = MinuteCounts::default();
    counted.count(Series::Registered, "k");
    proxy.set(Mode::Cut);
    assert!(counted.flush(&store, ONE).await.is_err());
    counted.count(Series::Registered, "k");
    proxy.set(Mode::Pass);
    counted.flush(&store, ONE).await.unwrap();
    assert_eq!(total(&series(&ground, "registered").await, "k"), 2);

    // The server goes on with what it was sent, and nobody hears the answer.
    let mut holder = ground.work().await;
    let lock = holder.transaction().await.unwrap();
    lock.execute("SELECT FROM stats_turns FOR UPDATE", &[]).await.unwrap();
    counted.count(Series::Registered, "k");
    let flushing = tokio::spawn({
        let (counted, store) = (counted.clone(), store.clone());
        async move { counted.flush(&store, ONE).await }
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while ground.count(waiting).await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    proxy.set(Mode::Cut);
    assert!(flushing.await.unwrap().is_err());
    lock.commit().await.unwrap();
    while total(&series(&ground, "registered").await, "k") < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    proxy.set(Mode::Pass);
    counted.count(Series::Registered, "k");
    counted.flush(&store, ONE).await.unwrap();
    assert_eq!(total(&series(&ground, "registered").await, "k"), 4, "the third once, and the fourth");
}

#[tokio::test]
async fn minutes_older_than_the_retention_go_in_bounded_batches_the_oldest_first() {
    let ground = Ground::new("stats_forget").await;
    let client = ground.work().await;
    let deltas: Vec<Delta> = (0..30).map(|ago| delta("a", "k", ago, 1)).collect();
    stats::add(&client, ONE, 1, &deltas).await.unwrap();
    let retention = Duration::from_secs(10 * 60);
    assert_eq!(stats::forget(&client, retention, 7).await.unwrap(), 7);
    let left = series(&ground, "a").await;
    let oldest = left.iter().map(|point| point.minute).min().unwrap();
    assert!(oldest > Timestamp::now() - SignedDuration::from_mins(24), "the oldest went: {oldest}");
    assert_eq!(ground.count("SELECT count(*) FROM stats_turns").await, 1);
    while stats::forget(&client, retention, 7).await.unwrap() > 0 {}
    let left = series(&ground, "a").await.len();
    assert!((10..=11).contains(&left), "{left} minutes of thirty are left");
    ground.sql("UPDATE stats_turns SET at = now() - interval '1 hour'").await;
    stats::forget(&client, retention, 7).await.unwrap();
    assert_eq!(
        ground.count("SELECT count(*) FROM stats_turns").await,
        0,
        "nodes that are gone are forgotten"
    );
}
