//! Claims and ends of stages: one winner, no second chance for a stale pass, one running task per order and queue.
//! Never runs a scenario: ends are made up.

use futures_util::future::join_all;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::ScenarioStatus;
use pagurus_domain::order::transition::Cause;
use pagurus_store::hot::control;
use pagurus_store::hot::stages::{Claimed, Finished, Unclaimed};
use pagurus_store::outside::amend::{self, Reopening};
use pagurus_store::outside::orders;
use pagurus_store::recovery::lost;
use serde_json::json;
use tokio_postgres::error::SqlState;

use crate::ground::{FIRST_EPOCH, Ground, fail, finished, retry, sleep, success};

#[tokio::test]
async fn rec_1_of_many_claims_of_one_stage_exactly_one_wins() {
    let ground = Ground::new("claims").await;
    for round in 0..20 {
        let no = ground.order(&format!("o{round}"), &json!({})).await;
        let wanted = [(no, Attempt::FIRST)];
        let claims = join_all((0..6).map(|_| ground.claim_under(FIRST_EPOCH, &wanted))).await;
        let won = claims.iter().filter(|(claimed, _)| claimed.len() == 1).count();
        assert_eq!(won, 1);
        for (claimed, unclaimed) in &claims {
            let refused: Vec<_> = unclaimed.iter().map(|(_, why)| *why).collect();
            assert_eq!(refused, vec![Unclaimed::Gone; 1 - claimed.len()]);
        }
    }
}

#[tokio::test]
async fn rec_1_of_many_ends_of_one_stage_exactly_one_is_written() {
    let ground = Ground::new("ends").await;
    for round in 0..20 {
        let no = ground.order(&format!("o{round}"), &json!({})).await;
        let claimed = ground.claim(no).await;
        let ends: Vec<_> = [success(), sleep(), retry(), success()]
            .into_iter()
            .map(|then| finished(&claimed, then))
            .collect();
        let written = join_all(ends.iter().map(|end| ground.finish_under(no, claimed.pass, end))).await;
        assert_eq!(written.iter().filter(|written| written.is_some()).count(), 1);
        let stages = format!("SELECT count(*) FROM history WHERE order_no = {no} AND kind = 'stage'");
        assert_eq!(ground.count(&stages).await, 1);
    }
}

#[tokio::test]
async fn rec_15_one_task_of_an_order_and_of_a_queue_runs_by_key_and_not_by_hope() {
    let ground = Ground::new("keys").await;
    let first = ground.order("a", &json!({"mode": "sequential", "queue": "q"})).await;
    let second = ground.order("b", &json!({"mode": "sequential", "queue": "q"})).await;
    ground.claim(first).await;
    let insert = |no: OrderNo, queue: &str| {
        format!(
            "INSERT INTO running (order_no, pass, attempt, wake, restarts, queue, node, since, started_at, deadline_at)
             VALUES ({no}, gen_random_uuid(), 9, 'start', 0, {queue}, 1, now(), now(), now())"
        )
    };
    for (no, queue, index) in [(first, "NULL", "running_pkey"), (second, "'q'", "running_queue")] {
        let refused = ground.work().await.execute(&insert(no, queue), &[]).await.unwrap_err();
        let error = refused.as_db_error().expect("refused by the database");
        assert_eq!((error.code(), error.constraint()), (&SqlState::UNIQUE_VIOLATION, Some(index)));
    }
}

// REC-6: whatever the claim takes it gives to somebody, or the order stands nowhere from then on.
#[tokio::test]
async fn rec_6_a_stage_whose_payload_is_missing_is_claimed_and_can_be_ended() {
    let ground = Ground::new("no_payload").await;
    let broken = ground.order("a", &json!({"mode": "sequential", "queue": "q"})).await;
    let other = ground.order("b", &json!({"mode": "sequential", "queue": "q"})).await;
    ground.sql(&format!("DELETE FROM payloads WHERE order_no = {broken}")).await;
    let claimed = ground.claim(broken).await;
    assert_eq!(claimed.params, None);
    ground.finish(&claimed, fail()).await;
    let places = format!(
        "SELECT (SELECT count(*) FROM ready WHERE order_no = {broken}) + (SELECT count(*) FROM running WHERE order_no = {broken})
              + (SELECT count(*) FROM queued WHERE order_no = {broken})"
    );
    assert_eq!(ground.count(&places).await, 0);
    assert_eq!(ground.claim(other).await.head.no, other, "its queue goes on");
}

#[tokio::test]
async fn ord_10_only_the_head_of_a_queue_can_be_claimed_even_in_one_batch() {
    let ground = Ground::new("heads").await;
    let sequential = json!({"mode": "sequential", "queue": "q"});
    let orders: Vec<_> = ["a", "b", "c"].iter().map(|id| ground.new_order(id, &sequential)).collect();
    ground.register(&orders).await;
    let nos: Vec<OrderNo> = {
        let client = ground.work().await;
        let rows = client.query("SELECT order_no FROM queued ORDER BY position", &[]).await.unwrap();
        rows.iter().map(|row| OrderNo(row.get(0))).collect()
    };
    for head in 0..nos.len() {
        let wanted: Vec<_> = nos.iter().rev().map(|no| (*no, Attempt::FIRST)).collect();
        let (claimed, unclaimed) = ground.claim_under(FIRST_EPOCH, &wanted).await;
        assert_eq!(claimed.iter().map(|stage| stage.head.no).collect::<Vec<_>>(), [nos[head]]);
        let behind = unclaimed.iter().filter(|(_, why)| *why == Unclaimed::Behind).count();
        assert_eq!(behind, nos.len() - 1 - head);
        // Between its stages the head keeps the queue: nobody behind it can be claimed.
        ground.finish(&claimed[0], retry()).await;
        let (early, _) = ground.claim_under(FIRST_EPOCH, &wanted).await;
        assert!(early.is_empty(), "overtaken during a retry");
        ground.sql("UPDATE due SET due_at = now()").await;
        ground.wake(pagurus_domain::activation::Stream::Retry).await;
        let again = ground.claim(nos[head]).await;
        ground.finish(&again, success()).await;
    }
}

#[tokio::test]
async fn ord_11_a_sleep_gives_the_queue_up_and_the_sleeper_comes_back_to_its_tail() {
    let ground = Ground::new("sleeper").await;
    let sequential = json!({"mode": "sequential", "queue": "q"});
    let first = ground.order("a", &sequential).await;
    let second = ground.order("b", &sequential).await;
    let claimed = ground.claim(first).await;
    ground.finish(&claimed, sleep()).await;
    let running = ground.claim(second).await;
    ground.sql("UPDATE due SET due_at = now()").await;
    assert_eq!(ground.wake(pagurus_domain::activation::Stream::Youngest).await, [first]);
    let (early, unclaimed) = ground.claim_under(FIRST_EPOCH, &[(first, Attempt(2))]).await;
    assert!(early.is_empty());
    assert_eq!(unclaimed.first().map(|(_, why)| *why), Some(Unclaimed::Behind));
    ground.finish(&running, success()).await;
    assert_eq!(ground.claim(first).await.attempt, Attempt(2));
}

/// Lets an order that rests in this stream be due, wakes it, and claims its stage.
async fn woken(ground: &Ground, no: OrderNo, stream: Stream) -> Claimed {
    ground.sql(&format!("UPDATE due SET due_at = now() - interval '1 second' WHERE order_no = {no}")).await;
    assert_eq!(ground.wake(stream).await, [no]);
    ground.claim(no).await
}

#[tokio::test]
async fn ord_20_a_life_counts_the_stages_that_ran_and_the_repeats_and_no_hand_out() {
    let ground = Ground::new("counts").await;
    let no = ground.order("a", &json!({})).await;
    let counts = async || {
        let view = orders::view(&ground.work().await, "a").await.unwrap().unwrap();
        (view.life.0, view.stages, view.retries)
    };
    let first = ground.claim(no).await;
    assert_eq!((first.head.stages, first.head.retries), (0, 0));
    ground.finish(&first, sleep()).await;
    ground.finish(&woken(&ground, no, Stream::Youngest).await, retry()).await;
    assert_eq!(counts().await, (1, 2, 0), "a repeat that is still to come is none");
    // A stage that is handed out again is the same stage, and the repeat is the same repeat.
    let lost = woken(&ground, no, Stream::Retry).await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let stuck = lost::some_of_node(&tx, ground.node, &[no.0]).await.unwrap();
    lost::reissue(&tx, &[(&stuck[0], 1)], "test", "overdue").await.unwrap();
    tx.commit().await.unwrap();
    let again = ground.claim(no).await;
    assert_eq!((again.attempt, again.head.stages, again.head.retries), (lost.attempt.next(), 2, 0));
    ground.finish(&again, fail()).await;
    assert_eq!(counts().await, (1, 3, 1));
    let tx = client.transaction().await.unwrap();
    let order = control::lock(&tx, "a").await.unwrap().unwrap();
    assert_eq!((order.head.stages, order.head.retries), (3, 1), "as the end by an operator tells them");
    let new = Reopening {
        keeps_answers: false,
        snapshot: None,
        entry_point: None,
        scenario: None,
        postponed: None,
        params: None,
        start_deadline: None,
        process_timeout: None,
        source: "test",
        detail: "{}".to_owned(),
    };
    amend::reopen(&tx, order.may(Cause::Restarted).unwrap(), new).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(counts().await, (2, 0, 0));
    let claimed = ground.claim(no).await;
    let end = Finished::of(&claimed, fail(), ScenarioStatus::Failed);
    ground.finish_under(no, claimed.pass, &end).await.unwrap();
    assert_eq!(counts().await, (2, 0, 0), "what ended before anything was executed is no stage that ran");
}
