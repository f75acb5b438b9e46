//! Positions in queues under concurrent registration.
//! Never assumes that commits follow each other as they began.

use std::time::Instant;

use futures_util::future::join_all;
use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::activation::Stream;
use pagurus_domain::order::registration::NewOrder;
use pagurus_store::hot::queues;
use pagurus_store::outside::orders::Registered;
use pagurus_store::recovery::lost;
use pagurus_store::recovery::restore;
use serde_json::json;

use crate::ground::{self, Ground};

/// A registration as its client saw it.
struct Seen {
    sent: Instant,
    confirmed: Instant,
    position: i64,
}

#[tokio::test]
async fn ord_10_what_was_confirmed_before_another_was_sent_stands_before_it() {
    let ground = Ground::new("positions").await;
    let clients = (0..8).map(|client| {
        let ground = &ground;
        async move {
            let mut seen = Vec::new();
            for round in 0..25 {
                let id = format!("{client}-{round}");
                let new = [ground.new_order(&id, &json!({"mode": "sequential", "queue": "q"}))];
                let sent = Instant::now();
                let registered = ground.register(&new).await;
                let confirmed = Instant::now();
                let [Registered::Accepted { ready: Some(stage), .. }] = &registered[..] else {
                    panic!("{id}: {registered:?}")
                };
                let position = stage.place.as_ref().unwrap().1;
                seen.push(Seen { sent, confirmed, position });
            }
            seen
        }
    });
    let all: Vec<Seen> = join_all(clients).await.into_iter().flatten().collect();
    for a in &all {
        for b in all.iter().filter(|b| a.confirmed < b.sent) {
            assert!(a.position < b.position, "{} is not before {}", a.position, b.position);
        }
    }
    let mut positions: Vec<i64> = all.iter().map(|seen| seen.position).collect();
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), 200, "a position was given twice");
}

#[tokio::test]
async fn ord_10_batches_over_the_same_queues_do_not_block_each_other_for_ever() {
    let ground = Ground::new("crossing").await;
    let names: Vec<String> = (0..12).map(|number| format!("q{number}")).collect();
    let clients = (0..8).map(|client: usize| {
        let (ground, names) = (&ground, &names);
        async move {
            for round in 0..10 {
                let mut names: Vec<_> = names.iter().collect();
                // Each client names the queues in an order of its own.
                names.rotate_left(client);
                if client.is_multiple_of(2) {
                    names.reverse();
                }
                let new: Vec<_> = names
                    .iter()
                    .map(|queue| {
                        let id = format!("{client}-{round}-{queue}");
                        ground.new_order(&id, &json!({"mode": "sequential", "queue": queue}))
                    })
                    .collect();
                ground.register(&new).await;
            }
        }
    });
    join_all(clients).await;
    assert_eq!(ground.count("SELECT count(*) FROM queued").await, 8 * 10 * 12);
    let counters = "SELECT count(*) FROM queues u
                     WHERE last_position = (SELECT max(position) FROM queued q WHERE q.queue = u.name)";
    assert_eq!(ground.count(counters).await, 12);
}

/// The moment since when the queue is held, as each view of it says.
async fn held_since(ground: &Ground) -> Option<Timestamp> {
    let client = ground.work().await;
    let holder = queues::holder(&client, "q").await.unwrap().unwrap().since;
    let members = queues::members(&client, "q", -1, 10).await.unwrap();
    let listed = queues::list(&client, &AccessScope::WHOLE, None, 10).await.unwrap();
    assert_eq!((members[0].held_since, listed[0].held_since), (holder, holder));
    assert_eq!(members[1].held_since, None, "who waits holds nothing");
    holder
}

#[tokio::test]
async fn ord_10_a_queue_is_held_since_the_first_stage_of_its_holder_began() {
    let ground = Ground::new("held").await;
    let sequential = json!({"mode": "sequential", "queue": "q"});
    let no = ground.order("first", &sequential).await;
    for behind in ["second", "third"] {
        ground.order(behind, &sequential).await;
    }
    assert_eq!(held_since(&ground).await, None, "it has not begun");
    ground.claim(no).await;
    let held = held_since(&ground).await;
    assert!(held.is_some(), "its first stage runs");
    // The worker is lost, and the stage is handed out again.
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let lost = lost::of_node(&tx, ground.node, None, None).await.unwrap();
    lost::reissue(&tx, &[(&lost[0], 1)], "test", "node_lost").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(held_since(&ground).await, held);
    let claimed = ground.claim(no).await;
    assert_eq!(held_since(&ground).await, held);
    ground.finish(&claimed, ground::retry()).await;
    assert_eq!(held_since(&ground).await, held, "it rests and keeps the queue");
    // A moment that was never noted is noted with the end of a stage, and by a restore.
    for ends in [true, false] {
        ground.sql("UPDATE queued SET held_since = NULL").await;
        ground.sql("UPDATE due SET due_at = now() - interval '1 hour'").await;
        assert_eq!(ground.wake(Stream::Retry).await, [no]);
        let claimed = ground.claim(no).await;
        if ends {
            ground.finish(&claimed, ground::retry()).await;
        } else {
            let tx = client.transaction().await.unwrap();
            restore::recover(&tx).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert!(held_since(&ground).await > held);
    }
}

// The order sleeps, so that it is no member, and comes back to the tail while the child of the one that it awaits is registered.
#[tokio::test]
async fn ord_13_a_child_never_comes_to_stand_behind_an_order_that_awaits_it_and_wakes_just_then() {
    let ground = Ground::new("awaited").await;
    let mut outcomes = [0, 0];
    for round in 0..30 {
        let queue = json!({"mode": "sequential", "queue": format!("q{round}")});
        let high = ground.order(&format!("high{round}"), &queue).await;
        let claimed = ground.claim(high).await;
        let awaits = |id: String, more: &serde_json::Value, answers| {
            [NewOrder { answers, ..ground.new_order(&id, more) }]
        };
        let middle = awaits(format!("middle{round}"), &json!({}), ground.request(&claimed, 0).await);
        let [Registered::Accepted { no: middle, .. }] = ground.register(&middle).await[..] else { panic!() };
        ground.finish(&claimed, ground::sleep()).await;
        ground.sql(&format!("UPDATE due SET due_at = now() WHERE order_no = {high}")).await;
        let request = ground.request(&ground.claim(middle).await, 0).await;
        let low = awaits(format!("low{round}"), &queue, request);
        let (woken, registered) = tokio::join!(ground.wake(Stream::Youngest), ground.register(&low));
        assert_eq!(woken, [high], "round {round}");
        let before = "SELECT count(*) FROM queued high JOIN queued low ON low.queue = high.queue AND low.position > high.position \
                      JOIN orders o ON o.no = low.order_no AND o.id LIKE 'low%'";
        assert_eq!(ground.count(before).await, 0, "round {round}: {registered:?}");
        match &registered[..] {
            [Registered::Accepted { .. }] => outcomes[0] += 1,
            [Registered::Behind { awaiting, .. }] if *awaiting == format!("high{round}") => outcomes[1] += 1,
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert_eq!(outcomes.iter().sum::<i32>(), 30);
}
