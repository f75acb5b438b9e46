//! Calls from outside against all that may happen to their order meanwhile (SCN-9): each is handled exactly once, and
//! none lies while its order rests.

use futures_util::future::join_all;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::stage::Then;
use pagurus_harness::race::Race;
use pagurus_scenario::stage::CallAnswer;
use pagurus_store::Error;
use pagurus_store::hot::calls::{self, Submitted};
use pagurus_store::hot::control;
use pagurus_store::hot::stages::{Claimed, ReadyStage};
use serde_json::json;

use crate::ground::{Ground, finished, later, retry, sleep, success, wait_for};

const RACES: u32 = 90;

/// Fate of a call that was handed in.
#[derive(Debug)]
enum Handed {
    /// The call waits; the order was woken for it, if it rested.
    Waiting(Option<ReadyStage>),
    /// The same call was there before, in this status.
    Known(String),
    /// The order takes no calls any more.
    Refused,
}

/// Hands a call in, as intake does.
async fn submit(ground: &Ground, id: &str, key: &str) -> Handed {
    loop {
        let mut client = ground.work().await;
        let tx = client.transaction().await.unwrap();
        let order = match control::lock(&tx, id).await {
            Ok(order) => order.unwrap(),
            // It moved while it was being locked.
            Err(Error::Contended) => continue,
            Err(error) => panic!("{error}"),
        };
        if order.status.is_final() {
            return Handed::Refused;
        }
        let handed = calls::submit(&tx, &order, key, "say", &json!({"key": key})).await.unwrap();
        tx.commit().await.unwrap();
        return match handed {
            Submitted::Waiting(stage) => Handed::Waiting(stage),
            Submitted::Known(call) => Handed::Known(call.status),
        };
    }
}

/// The numbers of the calls that a stage is given.
async fn given(ground: &Ground, claimed: &Claimed) -> Vec<i64> {
    let client = ground.work().await;
    let pending = calls::pending(&client, &[(claimed.head.no, claimed.head.life)]).await.unwrap();
    pending.get(&claimed.head.no).into_iter().flatten().map(|call| call.no).collect()
}

/// Ends a stage that has answered these calls.
async fn answer(ground: &Ground, claimed: &Claimed, nos: &[i64], then: Then) -> Vec<ReadyStage> {
    let mut end = finished(claimed, then);
    end.answers = nos.iter().map(|no| CallAnswer { no: *no, outcome: Ok(json!("heard")) }).collect();
    ground.finish_under(claimed.head.no, claimed.pass, &end).await.expect("the pass holds")
}

/// Number of calls of an order in each status, and number of places in which the order stands.
async fn stand(ground: &Ground, no: OrderNo) -> (i64, i64, [i64; 2]) {
    let calls = async |status: &str| {
        let query = format!("SELECT count(*) FROM calls WHERE order_no = {no} AND status = '{status}'");
        ground.count(&query).await
    };
    let place = async |table: &str| {
        ground.count(&format!("SELECT count(*) FROM {table} WHERE order_no = {no}")).await
    };
    (calls("waiting").await, calls("answered").await, [place("ready").await, place("due").await])
}

/// A stage of a new order that has a worker.
async fn begun(ground: &Ground, id: &str, queue: bool) -> (OrderNo, Claimed) {
    let more = if queue { json!({"mode": "sequential", "queue": id}) } else { json!({}) };
    let no = ground.order(id, &more).await;
    (no, ground.claim(no).await)
}

#[tokio::test]
async fn scn_9_a_call_that_races_the_end_of_a_stage_is_handled_exactly_once() {
    let ground = Ground::new("calls_end").await;
    let mut meet = Race::default();
    while !meet.is_over(RACES) {
        let race = meet.races();
        let id = format!("o{race}");
        let (no, claimed) = begun(&ground, &id, race % 2 == 0).await;
        let then = match race % 3 {
            0 => sleep(),
            1 => retry(),
            _ => wait_for(&[ground.request(&claimed, 1).await.unwrap()]),
        };
        let [ends, calls] = meet.delays();
        let (ready, handed) = tokio::join!(
            later(&ground, ends + race % 2, ground.finish(&claimed, then.clone())),
            later(&ground, calls + race / 2 % 2, submit(&ground, &id, "k"))
        );
        let Handed::Waiting(woken) = handed else { panic!("race {race}: {handed:?}") };
        meet.won(woken.is_some());
        let reported = ready.len() + usize::from(woken.is_some());
        assert_eq!(reported, 1, "race {race}: reported {ready:?} and {woken:?}");
        assert_eq!(stand(&ground, no).await, (1, 0, [1, 0]), "race {race}: the order rests with a call");
        let again = ground.claim(no).await;
        let nos = given(&ground, &again).await;
        assert_eq!(nos.len(), 1, "race {race}");
        assert!(answer(&ground, &again, &nos, then).await.is_empty(), "race {race}: woken for nothing");
        assert_eq!(stand(&ground, no).await, (0, 1, [0, 1]), "race {race}: it rests on");
        let known = submit(&ground, &id, "k").await;
        assert!(matches!(&known, Handed::Known(status) if status == "answered"), "{known:?}");
        assert_eq!(ground.ready_attempt(no).await, None, "race {race}: woken by a call that was answered");
    }
}

#[tokio::test]
async fn scn_9_calls_that_race_the_stage_that_handles_others_are_handled_in_their_order() {
    let ground = Ground::new("calls_more").await;
    for race in 0..RACES / 4 {
        let id = format!("o{race}");
        let (no, claimed) = begun(&ground, &id, false).await;
        ground.finish(&claimed, sleep()).await;
        let mut handled: Vec<i64> = Vec::new();
        for (call, others) in [("k0", ["k1", "k2"]), ("k3", ["k4", "k5"])] {
            submit(&ground, &id, call).await;
            // The same key twice at once is one call.
            let keys = [others[0], others[0], others[1]];
            let submits = join_all(
                keys.iter()
                    .zip(0..)
                    .map(|(key, more)| later(&ground, (race + more) % 4, submit(&ground, &id, key))),
            );
            let handling = async {
                let stage = ground.claim(no).await;
                let nos = given(&ground, &stage).await;
                answer(&ground, &stage, &nos, sleep()).await;
                nos
            };
            let (nos, _) = tokio::join!(handling, submits);
            handled.extend(nos);
            // What came meanwhile is not left lying: the order was woken for it.
            while ground.ready_attempt(no).await.is_some() {
                let stage = ground.claim(no).await;
                let nos = given(&ground, &stage).await;
                assert!(!nos.is_empty(), "race {race}: woken for nothing");
                answer(&ground, &stage, &nos, sleep()).await;
                handled.extend(nos);
            }
        }
        assert!(handled.is_sorted_by(|one, next| one < next), "race {race}: {handled:?}");
        assert_eq!(handled.len(), 6, "race {race}: {handled:?}");
        assert_eq!(stand(&ground, no).await, (0, 6, [0, 1]), "race {race}");
    }
}

#[tokio::test]
async fn scn_9_a_call_that_races_the_timer_of_its_order_wakes_it_once_and_is_handled_by_that_stage() {
    let ground = Ground::new("calls_timer").await;
    let mut meet = Race::default();
    while !meet.is_over(RACES) {
        let race = meet.races();
        let id = format!("o{race}");
        let (no, claimed) = begun(&ground, &id, false).await;
        ground.finish(&claimed, retry()).await;
        ground.sql(&format!("UPDATE due SET due_at = now() WHERE order_no = {no}")).await;
        let [wakes, calls] = meet.delays();
        let (timer, handed) = tokio::join!(
            later(&ground, wakes + race % 2, ground.wake(Stream::Retry)),
            later(&ground, calls + race / 2 % 2, submit(&ground, &id, "k"))
        );
        let Handed::Waiting(woken) = handed else { panic!("race {race}: {handed:?}") };
        meet.won(!timer.is_empty());
        assert_eq!(timer.len() + usize::from(woken.is_some()), 1, "race {race}: {timer:?} {woken:?}");
        let again = ground.claim(no).await;
        assert_eq!(given(&ground, &again).await.len(), 1, "race {race}");
    }
}

#[tokio::test]
async fn scn_9_a_call_that_races_the_end_of_its_order_is_refused_or_informed_of_the_end() {
    let ground = Ground::new("calls_over").await;
    let mut meet = Race::default();
    while !meet.is_over(RACES) {
        let race = meet.races();
        let id = format!("o{race}");
        let (no, claimed) = begun(&ground, &id, false).await;
        let [ends, calls] = meet.delays();
        let (ready, handed) = tokio::join!(
            later(&ground, ends + race % 2, ground.finish(&claimed, success())),
            later(&ground, calls + race / 2 % 2, submit(&ground, &id, "k"))
        );
        assert!(ready.is_empty(), "race {race}: {ready:?}");
        assert_eq!(stand(&ground, no).await, (0, 0, [0, 0]), "race {race}: {handed:?}");
        let failed_calls = format!(
            "SELECT count(*) FROM calls WHERE order_no = {no} AND status = 'failed' AND error_class = 'call.ended'"
        );
        let expected = match handed {
            Handed::Refused => 0,
            Handed::Waiting(None) => 1,
            other => panic!("race {race}: {other:?}"),
        };
        meet.won(expected == 0);
        assert_eq!(ground.count(&failed_calls).await, expected, "race {race}");
    }
}
