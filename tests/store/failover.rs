//! Taking over from lost nodes: who is one, one job at a time, and a limited number of stages of each in one pass.
//! Never waits for a node to die: rows are changed behind the back of the registry.

use std::time::Duration;

use pagurus_domain::id::{Incarnation, OrderNo};
use pagurus_store::recovery::lost::{self, Abandoned};
use serde_json::json;

use crate::ground::Ground;

/// Puts `count` stages on a node of this number, which was never registered or is over.
async fn run_on(ground: &Ground, node: i64, count: usize, tag: &str) -> Vec<OrderNo> {
    let mut nos = Vec::new();
    for number in 0..count {
        let no = ground.order(&format!("{tag}{number}"), &json!({})).await;
        ground.claim(no).await;
        nos.push(no);
    }
    let listed = nos.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    ground.sql(&format!("UPDATE running SET node = {node} WHERE order_no IN ({listed})")).await;
    nos
}

#[tokio::test]
async fn rec_10_a_pass_takes_a_few_stages_of_each_lost_node_and_leaves_those_of_the_living() {
    let ground = Ground::new("batches").await;
    run_on(&ground, ground.node.0, 3, "living").await;
    let first = run_on(&ground, 1001, 5, "first").await;
    let second = run_on(&ground, 1002, 1, "second").await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let lost = lost::abandoned(&tx, None).await.unwrap();
    let expected =
        [(1001, 5), (1002, 1)].map(|(node, recent)| Abandoned { node: Incarnation(node), recent, older: 0 });
    assert_eq!(lost, expected);
    let mut taken = Vec::new();
    for node in lost {
        taken.extend(lost::of_node(&tx, node.node, None, Some(2)).await.unwrap());
    }
    let nos: Vec<OrderNo> = taken.iter().map(|stage| stage.no).collect();
    assert_eq!(nos, [first[0], first[1], second[0]]);
    let again: Vec<_> = taken.iter().map(|stage| (stage, 1)).collect();
    lost::reissue(&tx, &again, "test", "node_lost").await.unwrap();
    tx.commit().await.unwrap();
    let tx = client.transaction().await.unwrap();
    let left = lost::abandoned(&tx, None).await.unwrap();
    assert_eq!(left, [Abandoned { node: Incarnation(1001), recent: 3, older: 0 }]);
}

#[tokio::test]
async fn rec_10_what_began_before_the_interval_is_left_and_counted() {
    let ground = Ground::new("interval").await;
    let nos = run_on(&ground, 1001, 3, "o").await;
    ground
        .sql(&format!(
            "UPDATE running SET started_at = now() - interval '8 days' WHERE order_no = {}",
            nos[0]
        ))
        .await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let week = Some(Duration::from_secs(7 * 24 * 3600));
    let node = Incarnation(1001);
    assert_eq!(lost::abandoned(&tx, week).await.unwrap(), [Abandoned { node, recent: 2, older: 1 }]);
    let taken = lost::of_node(&tx, node, week, None).await.unwrap();
    assert_eq!(taken.iter().map(|stage| stage.no).collect::<Vec<_>>(), nos[1..]);
    assert_eq!(lost::of_node(&tx, node, None, None).await.unwrap().len(), 3, "no limit takes all");
}

#[tokio::test]
async fn rec_10_one_job_at_a_time_takes_over() {
    let ground = Ground::new("one_job").await;
    let (mut one, mut other) = (ground.work().await, ground.work().await);
    let first = one.transaction().await.unwrap();
    assert!(lost::lock_failover(&first).await.unwrap());
    let second = other.transaction().await.unwrap();
    assert!(!lost::lock_failover(&second).await.unwrap(), "two jobs at once");
    first.commit().await.unwrap();
    assert!(lost::lock_failover(&second).await.unwrap(), "the right ends with the transaction");
}
