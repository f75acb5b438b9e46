//! Asynchronous requests and their callbacks: what counts, what does not, and no wake-up is ever lost.
//! Never sends anything: callbacks are handed to the store as intake would.

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, RequestId};
use pagurus_harness::race::Race;
use pagurus_store::outside::answers::{self, CallbackVerdict, NewCallback};
use serde_json::json;
use uuid::Uuid;

use crate::ground::{FIRST_EPOCH, Ground, callback, later, no_pass, success, wait_for};

const RACES: u32 = 200;

#[tokio::test]
async fn scn_7_an_early_callback_is_kept_and_wakes_the_order_as_soon_as_it_waits() {
    let ground = Ground::new("early").await;
    let no = ground.order("a", &json!({})).await;
    let claimed = ground.claim(no).await;
    let (first, second) =
        (ground.request(&claimed, 1).await.unwrap(), ground.request(&claimed, 2).await.unwrap());
    let (verdicts, woken) = ground.answer(&[first]).await;
    assert_eq!((verdicts, woken.len()), (vec![CallbackVerdict::Accepted], 0), "the stage still runs");
    assert!(ground.finish(&claimed, wait_for(&[first, second])).await.is_empty(), "one is still open");
    let (verdicts, woken) = ground.answer(&[second]).await;
    assert_eq!((verdicts, woken.len()), (vec![CallbackVerdict::Accepted], 1));
    let claimed = ground.claim(no).await;
    let client = ground.work().await;
    let results = answers::results(&client, &[no.0]).await.unwrap();
    let callback = results[&no][0].clone().callback(None);
    assert_eq!(callback.value.value()["body"], json!({"code": 0}));
    assert_eq!(results[&no].len(), 2);
    drop(client);
    let third = ground.request(&claimed, 3).await.unwrap();
    ground.answer(&[third]).await;
    let ready = ground.finish(&claimed, wait_for(&[third])).await;
    assert_eq!(ready.len(), 1, "everything was there when the wait began");
}

#[tokio::test]
async fn scn_7_a_question_at_the_place_of_one_that_was_left_has_an_answer_of_its_own() {
    let ground = Ground::new("another_way").await;
    let no = ground.order("a", &json!({})).await;
    let claimed = ground.claim(no).await;
    let left = ground.request(&claimed, 1).await.unwrap();
    ground.answer(&[left]).await;
    assert_eq!(ground.request(&claimed, 1).await, Some(left), "a repeat asks the same");
    // The stage was run again, and took another way.
    let other = ground.request_named(&claimed, 1, "other").await.unwrap();
    assert_ne!(left, other);
    let ready = ground.finish(&claimed, wait_for(&[other])).await;
    assert!(ready.is_empty(), "what the first question got is no answer to this one");
    assert_eq!(ground.answer(&[left]).await.0, [CallbackVerdict::Duplicate]);
    let (verdicts, woken) = ground.answer(&[other]).await;
    assert_eq!((verdicts, woken.len()), (vec![CallbackVerdict::Accepted], 1));
    ground.claim(no).await;
    let results = answers::results(&ground.work().await, &[no.0]).await.unwrap();
    assert_eq!(results[&no].len(), 1);
}

#[tokio::test]
async fn qlt_3_of_answers_that_are_repeated_without_end_the_first_are_kept() {
    let ground = Ground::new("repeated").await;
    let no = ground.order("a", &json!({})).await;
    let claimed = ground.claim(no).await;
    let (request, other) =
        (ground.request(&claimed, 1).await.unwrap(), ground.request(&claimed, 2).await.unwrap());
    for _ in 0..3 {
        let verdicts = ground.answer(&[request; 15]).await.0;
        assert_eq!(verdicts[14], CallbackVerdict::Duplicate, "each is answered");
    }
    assert_eq!(ground.answer(&[other]).await.0, [CallbackVerdict::Accepted]);
    let kept = "SELECT count(*) AS kept FROM callbacks WHERE request_id = $1";
    let client = ground.work().await;
    let kept: i64 = client.query_one(kept, &[&request.0]).await.unwrap().get("kept");
    assert!((20..=21).contains(&kept), "{kept}");
}

#[tokio::test]
async fn scn_7_doubles_late_ones_and_strangers_are_kept_and_change_nothing() {
    let ground = Ground::new("verdicts").await;
    let no = ground.order("a", &json!({})).await;
    let claimed = ground.claim(no).await;
    let (known, timed_out) =
        (ground.request(&claimed, 1).await.unwrap(), ground.request(&claimed, 2).await.unwrap());
    assert_eq!(
        ground.answer(&[known, known]).await.0,
        [CallbackVerdict::Accepted, CallbackVerdict::Duplicate],
        "in one batch"
    );
    assert_eq!(ground.answer(&[known]).await.0, [CallbackVerdict::Duplicate]);
    ground.finish(&claimed, wait_for(&[known, timed_out])).await;
    ground.sql("UPDATE due SET due_at = now()").await;
    assert_eq!(ground.wake(Stream::Wait).await, [no]);
    assert_eq!(ground.answer(&[timed_out]).await.0, [CallbackVerdict::Late], "after the time-out");
    let claimed = ground.claim(no).await;
    let unanswered = ground.request(&claimed, 3).await.unwrap();
    ground.finish(&claimed, success()).await;
    // The end of the life closes what is open only where recovery or a client ends it; the scenario's end is looked at here.
    let after_end = ground.answer(&[unanswered]).await;
    assert!(after_end.1.is_empty(), "an ended order was woken");
    let stranger = RequestId(Uuid::new_v4());
    assert_eq!(ground.answer(&[stranger]).await.0, [CallbackVerdict::Orphan]);
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let nonsense = NewCallback { named: "no id".to_owned(), request: None, ..callback(stranger) };
    assert_eq!(answers::answer(&tx, &[nonsense], 10).await.unwrap().verdicts, [CallbackVerdict::Orphan]);
    tx.commit().await.unwrap();
    drop(client);
    assert_eq!(
        ground.count("SELECT count(*) FROM callbacks").await,
        7,
        "every answer that ever came is kept"
    );
    assert_eq!(ground.count("SELECT count(*) FROM ready").await, 0);
}

#[tokio::test]
async fn scn_14_the_same_action_of_the_same_visit_has_one_request_and_only_under_the_pass() {
    let ground = Ground::new("register").await;
    let no = ground.order("a", &json!({})).await;
    let mut claimed = ground.claim(no).await;
    let first = ground.request(&claimed, 1).await;
    assert_eq!(first, ground.request(&claimed, 1).await);
    claimed.pass = no_pass();
    assert_eq!(ground.request(&claimed, 1).await, None);
    assert_eq!(ground.count("SELECT count(*) FROM requests").await, 1);
}

#[tokio::test]
async fn rec_1_a_callback_that_races_the_end_of_its_stage_is_never_lost() {
    let ground = Ground::new("race_end").await;
    for race in 0..RACES {
        let no = ground.order(&format!("o{race}"), &json!({})).await;
        let claimed = ground.claim(no).await;
        let request = ground.request(&claimed, 1).await.unwrap();
        let asked = [request];
        let (ready, (verdicts, woken)) = tokio::join!(
            later(&ground, race % 4, ground.finish(&claimed, wait_for(&asked))),
            ground.answer(&asked)
        );
        assert_eq!(verdicts, [CallbackVerdict::Accepted]);
        assert_eq!(ready.len() + woken.len(), 1, "race {race}: reported {ready:?} and {woken:?}");
        let (again, _) = ground.claim_under(FIRST_EPOCH, &[(no, Attempt(2))]).await;
        assert_eq!(again.len(), 1, "race {race}: the order waits for what has come");
    }
    assert_eq!(ground.count("SELECT count(*) FROM due").await, 0);
}

#[tokio::test]
async fn rec_1_a_callback_that_races_the_time_out_of_its_wait_wakes_once() {
    let ground = Ground::new("race_timer").await;
    let mut meet = Race::default();
    while !meet.is_over(RACES) {
        let race = meet.races();
        let no = ground.order(&format!("o{race}"), &json!({})).await;
        let claimed = ground.claim(no).await;
        let request = ground.request(&claimed, 1).await.unwrap();
        ground.finish(&claimed, wait_for(&[request])).await;
        ground.sql(&format!("UPDATE due SET due_at = now() WHERE order_no = {no}")).await;
        let asked = [request];
        let [wakes, answers] = meet.delays();
        let (timed_out, (verdicts, woken)) = tokio::join!(
            later(&ground, wakes, ground.wake(Stream::Wait)),
            later(&ground, answers, ground.answer(&asked))
        );
        meet.won(!timed_out.is_empty());
        assert_eq!(timed_out.len() + woken.len(), 1, "race {race}: {timed_out:?} {verdicts:?} {woken:?}");
        assert_eq!(woken.len() == 1, verdicts == [CallbackVerdict::Accepted], "race {race}: {verdicts:?}");
        let (again, _) = ground.claim_under(FIRST_EPOCH, &[(no, Attempt(2))]).await;
        assert_eq!(again.len(), 1, "race {race}");
    }
}

#[tokio::test]
async fn scn_7_two_last_callbacks_at_once_wake_the_order_once() {
    let ground = Ground::new("race_two").await;
    for race in 0..RACES / 2 {
        let no = ground.order(&format!("o{race}"), &json!({})).await;
        let claimed = ground.claim(no).await;
        let a = ground.request(&claimed, 1).await.unwrap();
        let b = ground.request(&claimed, 2).await.unwrap();
        ground.finish(&claimed, wait_for(&[a, b])).await;
        let (one, two) = ([a], [b]);
        let ((_, first), (_, second)) = tokio::join!(ground.answer(&one), ground.answer(&two));
        assert_eq!(first.len() + second.len(), 1, "race {race}: {first:?} {second:?}");
    }
}
