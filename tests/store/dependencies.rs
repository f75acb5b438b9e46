//! Orders that wait for others: cycles, races of registrations with ends, and of ends with each other.
//! Never starts an activator: what is tested here is what one transaction does by itself.

use futures_util::future::join_all;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::{StartDecision, StartMode};
use pagurus_domain::order::transition::Cause;
use pagurus_store::hot::control;
use pagurus_store::hot::dependencies::{self, Cursor};
use pagurus_store::outside::ends::{self, Ending};
use pagurus_store::outside::orders::Registered;
use serde_json::{Value, json};

use crate::ground::{Ground, fail, finished, in_an_hour, success};

/// A registration that waits for these orders to end in `a`, where the stages of these tests end.
fn after(ids: &[&str]) -> Value {
    let after: Vec<Value> = ids.iter().map(|id| json!({"order": id, "states": ["a"]})).collect();
    json!({"lifecycle": {"after": after}})
}

async fn stand(ground: &Ground, no: OrderNo, before: &str) -> String {
    let client = ground.work().await;
    let query = "SELECT stand FROM dependencies WHERE order_no = $1 AND before_id = $2";
    client.query_one(query, &[&no.0, &before]).await.unwrap().get(0)
}

async fn end(ground: &Ground, no: OrderNo) -> Vec<OrderNo> {
    let claimed = ground.claim(no).await;
    ground.finish(&claimed, success()).await.iter().map(|stage| stage.no).collect()
}

#[tokio::test]
async fn ord_14_the_last_condition_that_is_met_makes_an_order_ready_in_the_same_transaction() {
    let ground = Ground::new("met").await;
    let (a, b) = (ground.order("a", &json!({})).await, ground.order("b", &json!({})).await);
    let d = ground.order("d", &after(&["a", "b"])).await;
    assert_eq!(ground.ready_attempt(d).await, None);
    assert_eq!(end(&ground, a).await, []);
    assert_eq!((stand(&ground, d, "a").await, stand(&ground, d, "b").await), ("met".into(), "found".into()));
    let claimed = ground.claim(b).await;
    // A result that is not ours to write settles nothing.
    assert!(ground.finish_under(b, crate::ground::no_pass(), &finished(&claimed, success())).await.is_none());
    assert_eq!(ground.ready_attempt(d).await, None);
    let ready = ground.finish(&claimed, success()).await;
    assert_eq!(
        ready.iter().map(|stage| (stage.no, stage.attempt, stage.woken)).collect::<Vec<_>>(),
        [(d, Attempt::FIRST, false)]
    );
    assert_eq!(ground.claim(d).await.status, Status::Postponed);
    // All is known at the registration: nothing waits.
    match &ground.register(&[ground.new_order("e", &after(&["a", "b"]))]).await[..] {
        [Registered::Accepted { ready: Some(_), .. }] => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ord_14_an_end_and_the_registration_of_its_dependant_never_miss_each_other() {
    let ground = Ground::new("miss").await;
    for round in 0..40 {
        let (before, dependant) = (format!("p{round}"), format!("d{round}"));
        let p = ground.order(&before, &json!({})).await;
        let claimed = ground.claim(p).await;
        let waits = [ground.new_order(&dependant, &after(&[&before]))];
        let (_, registered) = tokio::join!(ground.finish(&claimed, success()), ground.register(&waits));
        let [Registered::Accepted { no, .. }] = registered[..] else { panic!("{registered:?}") };
        assert_eq!(
            ground.ready_attempt(no).await,
            Some(Attempt::FIRST),
            "round {round}: {}",
            stand(&ground, no, &before).await
        );
    }
}

#[tokio::test]
async fn ord_15_two_conditions_that_are_met_at_the_same_moment_start_the_order_once() {
    let ground = Ground::new("both").await;
    for round in 0..30 {
        let ids = [format!("a{round}"), format!("b{round}")];
        let mut claimed = Vec::new();
        for id in &ids {
            let no = ground.order(id, &json!({})).await;
            claimed.push(ground.claim(no).await);
        }
        let d = ground.order(&format!("d{round}"), &after(&[&ids[0], &ids[1]])).await;
        let (one, two) =
            tokio::join!(ground.finish(&claimed[0], success()), ground.finish(&claimed[1], success()));
        let started: Vec<OrderNo> = one.iter().chain(&two).map(|stage| stage.no).collect();
        assert_eq!(started, [d], "round {round}");
    }
}

#[tokio::test]
async fn ord_14_orders_that_close_a_cycle_at_the_same_moment_are_not_all_taken() {
    let ground = Ground::new("cycle").await;
    for round in 0..20 {
        let id = |n: usize| format!("{round}-{}", n % 3);
        let batches: Vec<_> = (0..3).map(|n| [ground.new_order(&id(n), &after(&[&id(n + 1)]))]).collect();
        let outcomes = join_all(batches.iter().map(|batch| ground.register(batch))).await;
        let cycles = outcomes.iter().flatten().filter(|one| matches!(one, Registered::Cycle(_))).count();
        let accepted =
            outcomes.iter().flatten().filter(|one| matches!(one, Registered::Accepted { .. })).count();
        assert_eq!((accepted, cycles), (2, 1), "{outcomes:?}");
    }
    // In one batch the last is refused, with the way of the cycle; the same again is a duplicate.
    let batch = [
        ground.new_order("x", &after(&["y"])),
        ground.new_order("z", &json!({})),
        ground.new_order("y", &after(&["x"])),
    ];
    match &ground.register(&batch).await[..] {
        [Registered::Accepted { .. }, Registered::Accepted { .. }, Registered::Cycle(way)] => {
            assert_eq!(way[..], ["y", "x", "y"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(ground.register(&batch[..1]).await[..], [Registered::Duplicate(Status::Postponed)]));
}

#[tokio::test]
async fn ord_14_a_pre_condition_may_come_later_and_a_start_time_must_hold_too() {
    let ground = Ground::new("later").await;
    let d = ground.order("d", &after(&["p"])).await;
    let mut both = after(&["p"]);
    both["lifecycle"]["startAt"] = json!(in_an_hour().to_string());
    let e = ground.order("e", &both).await;
    let mut sequential = after(&["p"]);
    sequential["mode"] = json!("sequential");
    sequential["queue"] = json!("q");
    let s = ground.order("s", &sequential).await;
    assert_eq!(ground.count("SELECT count(*) FROM queued").await, 0, "who waits has no place in a queue");
    assert_eq!(stand(&ground, d, "p").await, "unknown");
    let p = ground.order("p", &json!({})).await;
    assert_eq!(stand(&ground, d, "p").await, "found");
    let mut started = end(&ground, p).await;
    started.sort();
    assert_eq!(started, [d, s]);
    assert_eq!(ground.count("SELECT count(*) FROM queued").await, 1);
    assert_eq!(ground.ready_attempt(e).await, None);
    let timed = format!("SELECT count(*) FROM due WHERE order_no = {e} AND stream = 6 AND due_at > now()");
    assert_eq!(ground.count(&timed).await, 1, "its conditions are met: it waits for its time");
}

#[tokio::test]
async fn ord_15_other_ends_leave_it_waiting_and_polling_leaves_all_to_the_look() {
    let ground = Ground::new("other").await;
    let p = ground.order("p", &json!({})).await;
    let d = ground.order("d", &after(&["p"])).await;
    let mut polled = ground.new_order("polled", &after(&["p"]));
    polled.start_mode = StartMode::Polling;
    let [Registered::Accepted { no: polled, .. }] = ground.register(&[polled]).await[..] else { panic!() };
    let claimed = ground.claim(p).await;
    let mut end = finished(&claimed, fail());
    end.step = Some("elsewhere".to_owned());
    // The names of the states were looked at, as they are before anything is missed.
    ground.sql("UPDATE dependencies SET stand = 'open'").await;
    ground.finish_under(p, claimed.pass, &end).await.unwrap();
    assert_eq!(
        (stand(&ground, d, "p").await, stand(&ground, polled, "p").await),
        ("missed".into(), "open".into())
    );
    assert_eq!(ground.ready_attempt(d).await, None);

    let mut client = ground.work().await;
    let (found, next) = dependencies::unsettled(&client, false, &Cursor::default(), 10).await.unwrap();
    assert_eq!((found, next), (vec![polled.0], None));
    let tx = client.transaction().await.unwrap();
    let waiting = dependencies::lock_waiting(&tx, &[polled.0]).await.unwrap();
    let conditions = dependencies::judged(&tx, &waiting).await.unwrap();
    assert_eq!(dependencies::verdict(&conditions[&polled]), StartDecision::Fail(0));
    tx.commit().await.unwrap();
    assert_eq!(dependencies::urgent(&client, OrderNo(0), 10).await.unwrap(), [polled.0]);
}

#[tokio::test]
async fn ord_15_every_way_in_which_an_order_ends_settles_what_waits_for_it() {
    let ground = Ground::new("ways").await;
    for cause in [Cause::Canceled, Cause::Interrupted, Cause::ProcessTimedOut] {
        let p = ground.order(&format!("p-{cause}"), &json!({})).await;
        let d = ground.order(&format!("d-{cause}"), &after(&[&format!("p-{cause}")])).await;
        let e = ground.order(&format!("e-{cause}"), &after(&[&format!("d-{cause}")])).await;
        // The end in a state that would do counts, whatever ended it.
        ground.sql(&format!("UPDATE orders SET step = 'a' WHERE no = {p}")).await;
        let mut client = ground.work().await;
        let tx = client.transaction().await.unwrap();
        let order = control::lock(&tx, &format!("p-{cause}")).await.unwrap().unwrap();
        let ending = Ending { error: None, step: None, source: "test", detail: "{}".to_owned() };
        let ended = ends::end_lives(&tx, &[(order.may(cause).unwrap(), ending.clone())]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(ended.ready.iter().map(|stage| stage.no).collect::<Vec<_>>(), [d], "{cause}");
        // The one that waits for the dependant goes on waiting; canceled, it asks no more.
        assert_eq!(stand(&ground, e, &format!("d-{cause}")).await, "found");
        let tx = client.transaction().await.unwrap();
        let order = control::lock(&tx, &format!("e-{cause}")).await.unwrap().unwrap();
        ends::end_lives(&tx, &[(order.may(Cause::Canceled).unwrap(), ending)]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(stand(&ground, e, &format!("d-{cause}")).await, "closed");
    }
}
