//! Changes by hand against the claims of workers: what an operator changed is what runs.

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{Priority, Status};
use pagurus_harness::race::Race;
use pagurus_store::Error;
use pagurus_store::hot::control;
use pagurus_store::hot::stages;
use pagurus_store::outside::amend::{self, ChangedParams, Reopening, Starts, Updating};
use pagurus_store::outside::orders::{Registered, view};
use serde_json::json;

use crate::ground::{FIRST_EPOCH, Ground, fail, in_an_hour, later, wait_for};

/// Updates parameters and priority; returns if the law allowed it.
async fn update(ground: &Ground, id: &str, starts: Starts) -> bool {
    loop {
        let mut client = ground.work().await;
        let tx = client.transaction().await.unwrap();
        let order = match control::lock(&tx, id).await {
            Ok(order) => order.unwrap(),
            Err(Error::Contended) => continue,
            Err(error) => panic!("{error}"),
        };
        let cause = if starts == Starts::AsBefore { Cause::Updated } else { Cause::Deferred };
        let Ok(allowed) = order.may(cause) else { return false };
        let new = Updating {
            snapshot: None,
            params: Some(ChangedParams {
                text: json!({"changed": true}).to_string(),
                attributes: Vec::new(),
            }),
            priority: Priority::High,
            start_at: None,
            notify: None,
            starts,
            source: "test",
            detail: "{}".to_owned(),
        };
        amend::update(&tx, allowed, &new).await.unwrap();
        tx.commit().await.unwrap();
        return true;
    }
}

#[tokio::test]
async fn ord_27_an_update_that_was_confirmed_is_what_the_claim_runs() {
    let ground = Ground::new("race").await;
    let mut race = Race::default();
    while !race.is_over(60) {
        let round = race.races();
        let id = format!("{round}");
        let no = ground.order(&id, &json!({})).await;
        let hand_out = [(no, Attempt(1))];
        let [updates, claims] = race.delays();
        let (done, (claimed, _)) = tokio::join!(
            later(&ground, updates, update(&ground, &id, Starts::AsBefore)),
            later(&ground, claims, ground.claim_under(FIRST_EPOCH, &hand_out))
        );
        race.won(done);
        match claimed.first() {
            // The claim was first: the update was refused.
            Some(stage) => {
                assert!(!done && !stage.params.as_deref().unwrap().contains("changed"), "round {round}")
            }
            // The update was first: the hand-out is void, the next brings what was changed.
            None => {
                assert!(done, "round {round}");
                let stage = ground.claim(no).await;
                assert!(
                    stage.params.as_deref().unwrap().contains("changed") && stage.attempt == Attempt(2),
                    "round {round}"
                );
            }
        }
    }
}

#[tokio::test]
async fn ord_27_a_later_start_takes_an_order_out_of_its_queue_and_voids_its_hand_out() {
    let ground = Ground::new("defer").await;
    let no = ground.order("a", &json!({"mode": "sequential", "queue": "q"})).await;
    assert!(update(&ground, "a", Starts::At(in_an_hour(), Stream::Postponed)).await);
    let (claimed, _) = ground.claim_under(FIRST_EPOCH, &[(no, Attempt(1))]).await;
    assert!(claimed.is_empty());
    assert_eq!(ground.count("SELECT count(*) FROM queued").await, 0);
    let seen = view(&ground.work().await, "a").await.unwrap().unwrap();
    assert_eq!((seen.status, seen.priority), (Status::Postponed, Priority::High));
    ground.sql("UPDATE due SET due_at = now() - interval '1 second'").await;
    assert_eq!(ground.wake(pagurus_domain::activation::Stream::Postponed).await, [no]);
    assert_eq!(
        ground.ready_attempt(no).await,
        Some(Attempt(2)),
        "the number of the void hand-out is not given again"
    );
}

#[tokio::test]
async fn ord_10_a_sequential_order_whose_start_time_has_passed_takes_its_place_with_its_registration() {
    let ground = Ground::new("past").await;
    let sequential = json!({"mode": "sequential", "queue": "q"});
    let starts = |at: String| json!({"mode": "sequential", "queue": "q", "lifecycle": {"startAt": at}});
    let past = starts("2020-01-01T00:00:00Z".to_owned());
    let new = [
        ground.new_order("a", &sequential),
        ground.new_order("future", &starts(in_an_hour().to_string())),
        ground.new_order("past", &past),
        ground.new_order("b", &sequential),
    ];
    let registered = ground.register(&new).await;
    let is_ready = |one: &Registered| matches!(one, Registered::Accepted { ready: Some(stage), .. } if stage.place.is_some());
    assert_eq!(
        registered.iter().map(is_ready).collect::<Vec<_>>(),
        [true, false, true, true],
        "{registered:?}"
    );
    let queued =
        "SELECT string_agg(o.id, ' ' ORDER BY q.position) FROM queued q JOIN orders o ON o.no = q.order_no";
    let ids: String = ground.work().await.query_one(queued, &[]).await.unwrap().get(0);
    assert_eq!(ids, "a past b");
    assert_eq!(
        ground
            .register(&new[2..3])
            .await
            .iter()
            .filter(|one| matches!(one, Registered::Duplicate(_)))
            .count(),
        1
    );
}

/// Restarts failed orders in one transaction; returns for each if it yields to fresh ones, as reported at once.
async fn restart_together(ground: &Ground, nos: &[OrderNo]) -> Vec<bool> {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let nos: Vec<i64> = nos.iter().map(|no| no.0).collect();
    let orders = control::lock_all(&tx, &nos).await.unwrap().orders;
    let new = || Reopening {
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
    let reopening: Vec<_> =
        orders.iter().map(|order| (order.may(Cause::Restarted).unwrap(), new())).collect();
    let reopened = amend::reopen_all(&tx, &reopening).await.unwrap();
    tx.commit().await.unwrap();
    reopened.iter().map(|stage| stage.woken).collect()
}

#[tokio::test]
async fn rec_12_orders_that_begin_again_together_yield_to_fresh_ones_and_one_by_itself_does_not() {
    let ground = Ground::new("yields").await;
    let mut nos = Vec::new();
    for id in ["alone", "one", "other", "asks"] {
        nos.push(ground.order(id, &json!({})).await);
    }
    let fresh = ground.order("fresh", &json!({})).await;
    let [alone, one, other, asks] = nos[..] else { panic!("four orders") };
    for no in [alone, one, other] {
        let claimed = ground.claim(no).await;
        ground.finish(&claimed, fail()).await;
    }
    let claimed = ground.claim(asks).await;
    let request = ground.request(&claimed, 0).await.unwrap();
    ground.finish(&claimed, wait_for(&[request])).await;
    assert_eq!(restart_together(&ground, &[alone]).await, [false]);
    assert_eq!(restart_together(&ground, &[one, other]).await, [true, true]);
    let (_, answered) = ground.answer(&[request]).await;
    assert_eq!(answered.iter().map(|stage| stage.woken).collect::<Vec<_>>(), [true]);
    // A later reader sees the same.
    let client = ground.work().await;
    let page = stages::ready_page(&client, OrderNo(0), OrderNo(i64::MAX), 100).await.unwrap();
    let read: Vec<(OrderNo, bool)> = page.iter().map(|row| (row.stage.no, row.stage.woken)).collect();
    assert_eq!(read, [(alone, false), (one, true), (other, true), (asks, true), (fresh, false)]);
}
