//! Registration: what is accepted is whole, what is known is recognized, the first one wins.
//! Never goes through an intake.

use futures_util::future::join_all;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::Status;
use pagurus_domain::search::Search;
use pagurus_store::lists::search::{SearchWalk, lines};
use pagurus_store::outside::orders::{self, Registered};
use serde_json::json;

use crate::ground::{Ground, in_an_hour, success};

fn word(registered: &Registered) -> &'static str {
    match registered {
        Registered::Accepted { .. } => "accepted",
        Registered::Duplicate(_) => "duplicate",
        Registered::Conflict(_) => "conflict",
        Registered::Cycle(_) => "cycle",
        Registered::Behind { .. } => "behind",
    }
}

#[tokio::test]
async fn ord_2_the_same_content_is_a_duplicate_and_another_a_conflict_in_any_status() {
    let ground = Ground::new("known").await;
    let no = ground.order("a", &json!({})).await;
    let again = [ground.new_order("a", &json!({})), ground.new_order("b", &json!({}))];
    let other = [ground.new_order("a", &json!({"params": {"x": 1}}))];
    let words: Vec<_> = ground.register(&again).await.iter().map(word).collect();
    assert_eq!(words, ["duplicate", "accepted"]);
    let claimed = ground.claim(no).await;
    assert!(matches!(ground.register(&other).await[..], [Registered::Conflict(Status::Running)]));
    ground.finish(&claimed, success()).await;
    assert!(matches!(ground.register(&again[..1]).await[..], [Registered::Duplicate(Status::Success)]));
}

#[tokio::test]
async fn ord_2_of_many_registrations_at_once_one_is_accepted_and_the_others_learn_of_it() {
    let ground = Ground::new("at_once").await;
    for round in 0..10 {
        let ids: Vec<String> = (0..20).map(|number| format!("{round}-{number}")).collect();
        // The same ids in different orders of rows: the batches cross each other.
        let registrations = (0..6).map(|shift| {
            let mut batch: Vec<_> = ids
                .iter()
                .map(|id| ground.new_order(id, &json!({"mode": "sequential", "queue": format!("q{id}")})))
                .collect();
            batch.sort_by(|a, b| a.request.id.cmp(&b.request.id));
            if shift % 2 == 1 {
                batch.truncate(10);
            }
            let ground = &ground;
            async move { ground.register(&batch).await }
        });
        let results = join_all(registrations).await;
        let accepted = results.iter().flatten().filter(|result| word(result) == "accepted").count();
        let conflicts = results.iter().flatten().filter(|result| word(result) == "conflict").count();
        assert_eq!((accepted, conflicts), (20, 0));
    }
    let whole =
        "SELECT count(*) FROM orders o JOIN payloads p ON p.order_no = o.no JOIN ready r ON r.order_no = o.no
                   JOIN queued q ON q.order_no = o.no AND q.position = r.position";
    assert_eq!(ground.count(whole).await, 200);
    assert_eq!(ground.count("SELECT count(*) FROM queued").await, 200);
}

#[tokio::test]
async fn ord_3_what_was_not_committed_left_nothing_and_what_was_is_whole() {
    let ground = Ground::new("rollback").await;
    let new = [
        ground.new_order("a", &json!({"mode": "sequential", "queue": "q"})),
        ground.new_order("b", &json!({"lifecycle": {"startAt": in_an_hour().to_string()}})),
    ];
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    orders::register(&tx, &new).await.unwrap();
    tx.rollback().await.unwrap();
    drop(client);
    let left = "SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM payloads) + (SELECT count(*) FROM ready)
                     + (SELECT count(*) FROM due) + (SELECT count(*) FROM queued) + (SELECT count(*) FROM queues)";
    assert_eq!(ground.count(left).await, 0);
    let registered = ground.register(&new).await;
    assert_eq!(registered.iter().map(word).collect::<Vec<_>>(), ["accepted"; 2]);
    let ready: Vec<_> =
        registered.iter().map(|one| matches!(one, Registered::Accepted { ready: Some(_), .. })).collect();
    assert_eq!(ready, [true, false], "a postponed order is not ready");
}

#[tokio::test]
async fn ord_10_the_time_of_creation_is_the_position_in_the_queue() {
    let ground = Ground::new("created").await;
    let sequential = json!({"mode": "sequential", "queue": "q"});
    let new: Vec<_> = (0..50).map(|n| ground.new_order(&format!("{n:02}"), &sequential)).collect();
    ground.register(&new).await;
    let equal = "SELECT count(*) FROM orders o JOIN queued q ON q.order_no = o.no
                  WHERE round(extract(epoch FROM o.created_at) * 1000) = q.position";
    assert_eq!(ground.count(equal).await, 50);
    // In the order in which they stood in the batch.
    let client = ground.work().await;
    let rows =
        client.query("SELECT o.id FROM orders o JOIN queued q ON q.order_no = o.no ORDER BY position", &[]);
    let ids: Vec<String> = rows.await.unwrap().iter().map(|row| row.get(0)).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

// ORD-6: what does not fit into an entry of an index is found all the same, and distinguished from its like.
#[tokio::test]
async fn ord_6_the_longest_transaction_is_stored_and_found_by_its_whole_text() {
    let ground = Ground::new("transaction").await;
    // No two alike in a row, so that nothing of it can be compressed: 4 096 bytes.
    let long: String = (0..1024_u32).filter_map(|n| char::from_u32(0x1_0000 + n * 7919 % 0x1_0000)).collect();
    let mut other = long.clone();
    other.pop();
    for (id, transaction) in [("a", &long), ("b", &other), ("c", &long)] {
        ground.order(id, &json!({"transactionId": transaction})).await;
    }
    let client = ground.work().await;
    let search = Search { transaction_id: Some(long), ..Search::default() };
    let step = SearchWalk::begin(&client, search, &AccessScope::WHOLE, None)
        .await
        .unwrap()
        .unwrap()
        .next(&client, 10)
        .await
        .unwrap();
    let numbers: Vec<i64> = step.found.iter().map(|order| order.no).collect();
    let found = lines(&client, &numbers).await.unwrap();
    assert_eq!(found.iter().map(|line| line.id.as_str()).collect::<Vec<_>>(), ["c", "a"]);
}
