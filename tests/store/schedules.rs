//! Schedules: who holds one decides about it alone, and what is kept of its times.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::schedule::RunOutcome;
use pagurus_store::Client;
use pagurus_store::upkeep::schedules::runs::{self, DecidedRun, KEPT, ScheduleChange};
use pagurus_store::upkeep::schedules::{self, RunCounts, SchedulePlace, ScheduleTexts, StoredSchedule};
use serde_json::json;

use crate::ground::Ground;

async fn add(client: &mut Client, name: &str, next_at: Option<Timestamp>) -> Option<StoredSchedule> {
    let texts = ScheduleTexts { name, rule: "{}", template: "{}", note: "n", by: "{}" };
    let tx = client.transaction().await.unwrap();
    let place = SchedulePlace { decided_until: schedules::now(&tx).await.unwrap(), next_at };
    let added = schedules::add(&tx, texts, place, None).await.unwrap();
    tx.commit().await.unwrap();
    added
}

fn run(due_at: Timestamp, outcome: RunOutcome, order_id: Option<&str>) -> DecidedRun {
    DecidedRun { due_at, outcome, order_id: order_id.map(str::to_owned), reason: None, missed: None }
}

#[tokio::test]
async fn ord_39_who_takes_a_schedule_decides_alone_and_what_dies_decides_nothing() {
    let ground = Ground::new("schedules_taken").await;
    let (mut one, mut other) = (ground.work().await, ground.work().await);
    let past = Timestamp::now() - SignedDuration::from_secs(5);
    let added = add(&mut one, "s", Some(past)).await.unwrap();
    assert!(add(&mut one, "s", None).await.is_none(), "one of each name");
    assert_eq!(runs::due(&one, 10).await.unwrap(), ["s"]);
    assert!(runs::seconds_left(&one).await.unwrap().unwrap() < 0.0);

    let tx = one.transaction().await.unwrap();
    let taken = runs::take(&tx, "s").await.unwrap().unwrap();
    let beside = other.transaction().await.unwrap();
    assert!(runs::take(&beside, "s").await.unwrap().is_none(), "somebody is at it");
    drop(beside);
    let place = SchedulePlace { decided_until: taken.now, next_at: None };
    let change = ScheduleChange {
        counts: RunCounts { registered: 2, refused: 1, ..RunCounts::default() },
        refused_in_row: 1,
        has_registered: true,
        problem: Some("p".into()),
        ..ScheduleChange::default()
    };
    runs::put(&tx, "s", &[run(past, RunOutcome::Registered, Some("s@x"))], false).await.unwrap();
    runs::move_on(&tx, "s", place, &change).await.unwrap();
    // The one that holds it dies.
    tx.rollback().await.unwrap();
    assert_eq!(runs::due(&other, 10).await.unwrap(), ["s"]);
    assert!(runs::page(&other, "s", Timestamp::now(), 10).await.unwrap().is_empty());

    let tx = other.transaction().await.unwrap();
    runs::take(&tx, "s").await.unwrap().unwrap();
    runs::move_on(&tx, "s", place, &change).await.unwrap();
    tx.commit().await.unwrap();
    let stored = schedules::find(&other, "s").await.unwrap().unwrap();
    assert_eq!((stored.counts, stored.refused_in_row, stored.next_at), (change.counts, 1, None));
    assert_eq!(
        (stored.problem.unwrap().0.as_str(), stored.revision),
        ("p", added.revision),
        "people changed nothing"
    );
    assert_eq!(schedules::find(&other, "s").await.unwrap().unwrap().tag(), added.tag());
    assert!(runs::due(&other, 10).await.unwrap().is_empty());
    let levels = runs::levels(&other).await.unwrap();
    assert_eq!((levels.active, levels.over, levels.failing), (0, 1, 1));
}

#[tokio::test]
async fn ord_39_what_waits_and_what_is_waited_for_is_kept_of_the_times() {
    let ground = Ground::new("schedules_kept").await;
    let mut client = ground.work().await;
    add(&mut client, "s", None).await.unwrap();
    add(&mut client, "t", None).await.unwrap();
    let first = Timestamp::from_second(1_800_000_000).unwrap();
    let at = |second: i64| first + SignedDuration::from_secs(second);
    ground.order("s@first", &json!({})).await;
    let tx = client.transaction().await.unwrap();
    let begin = [run(first, RunOutcome::Registered, Some("s@first")), run(at(1), RunOutcome::Queued, None)];
    runs::put(&tx, "s", &begin, false).await.unwrap();
    let skipped: Vec<DecidedRun> =
        (2..KEPT + 50).map(|second| run(at(second), RunOutcome::Skipped, None)).collect();
    runs::put(&tx, "s", &skipped, false).await.unwrap();
    let change = ScheduleChange { queued: 1, ..ScheduleChange::default() };
    let place = SchedulePlace { decided_until: at(KEPT + 50), next_at: None };
    runs::move_on(&tx, "s", place, &change).await.unwrap();
    tx.commit().await.unwrap();

    let page = runs::page(&client, "s", at(10_000), 1000).await.unwrap();
    assert_eq!(page.len() as i64, KEPT + 2 + 1, "the last ones, and these two");
    assert_eq!(page[0].run.due_at, at(KEPT + 49));
    let unended = runs::unended(&client, "s").await.unwrap();
    assert_eq!((unended.len(), unended[0].id.as_str(), unended[0].status.as_str()), (1, "s@first", "new"));
    assert_eq!(runs::first_queued(&client, "s").await.unwrap(), Some(at(1)));
    assert!(runs::free(&client, 10).await.unwrap().is_empty(), "it waits for the first");
    let waiting = runs::one(&client, "s", at(1)).await.unwrap().unwrap();
    assert_eq!((waiting.run.outcome, waiting.status), (RunOutcome::Queued, None));
    ground.sql("UPDATE orders SET status = 'canceled', finished_at = now() WHERE id = 's@first'").await;
    assert_eq!(runs::free(&client, 10).await.unwrap(), ["s"]);

    let tx = client.transaction().await.unwrap();
    assert!(schedules::remove(&tx, "s").await.unwrap() && !schedules::remove(&tx, "s").await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(ground.count("SELECT count(*) FROM schedule_runs").await, 0);
    let names: Vec<String> =
        schedules::list(&client, "", 10).await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["t"]);
}
