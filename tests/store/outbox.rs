//! Notifications for receivers: each gets what there is room for, and nobody gets what another has (ORD-18, 19).

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_store::Client;
use pagurus_store::hot::outbox::sending::{self, FailedNotification, Notification};
use pagurus_store::hot::outbox::shown;
use pagurus_store::hot::outbox::webhooks::{self, Wanted};

use crate::ground::Ground;

/// Stores rows for a receiver from this number on, `age` seconds old.
async fn fill(client: &Client, receiver: &str, first: i64, count: i64, age: i64) {
    let statement = "INSERT INTO outbox (order_no, life, kind, message_id, target, receiver, body, created_at, next_at)
        SELECT n, 1, 'final', gen_random_uuid(), $1, $1, '{}', now() - make_interval(secs => $4), now() - make_interval(secs => $4)
          FROM generate_series($2::bigint, $2 + $3 - 1) n";
    client.execute(statement, &[&receiver, &first, &count, &(age as f64)]).await.unwrap();
}

async fn take(client: &Client, rooms: &[(String, usize)], limit: usize) -> Vec<Notification> {
    let room = |receiver: &str| rooms.iter().find(|(name, _)| name == receiver).map_or(3, |(_, room)| *room);
    let receivers = webhooks::receivers(client).await.unwrap();
    let rooms: Vec<_> = receivers.into_iter().map(|name| (name.clone(), room(&name), None)).collect();
    let wanted = Wanted { rooms: &rooms, limit, lease: Duration::from_secs(60) };
    webhooks::take(client, &wanted).await.unwrap().notifications
}

fn of(taken: &[Notification], receiver: &str) -> usize {
    taken.iter().filter(|one| one.receiver.as_deref() == Some(receiver)).count()
}

#[tokio::test]
async fn ord_18_each_receiver_is_taken_from_as_it_has_room_however_much_waits_for_another() {
    let ground = Ground::new("outbox_rooms").await;
    let client = ground.work().await;
    fill(&client, "https://a:443", 1, 500, 10).await;
    fill(&client, "https://b:443", 1001, 2, 5).await;
    fill(&client, "https://c:443", 2001, 9, 5).await;
    let rooms = [("https://a:443".to_owned(), 0), ("https://c:443".to_owned(), 1)];
    let taken = take(&client, &rooms, 100).await;
    assert_eq!(
        [of(&taken, "https://a:443"), of(&taken, "https://b:443"), of(&taken, "https://c:443")],
        [0, 2, 1]
    );
    // What is taken is kept off others, and what is left is taken next.
    let others = take(&client, &[], 100).await;
    assert_eq!(
        [of(&others, "https://a:443"), of(&others, "https://b:443"), of(&others, "https://c:443")],
        [3, 0, 3]
    );
    assert!(others.iter().all(|one| !taken.iter().any(|other| other.no == one.no)));
    assert_eq!(take(&client, &[], 2).await.len(), 2, "and no more than is wanted in all");
    // Two at once share what there is.
    let (one, two) = (ground.work().await, ground.work().await);
    let rooms = [("https://a:443".to_owned(), 200)];
    let (left, right) = tokio::join!(take(&one, &rooms, 1000), take(&two, &rooms, 1000));
    assert!(left.iter().all(|one| !right.iter().any(|other| other.no == one.no)));
    assert!(
        sending::take(&client, Timestamp::UNIX_EPOCH, 1000).await.unwrap().is_empty(),
        "the broker gets nothing of theirs"
    );
}

#[tokio::test]
async fn ord_19_what_was_tried_for_too_long_is_given_up_and_what_is_sent_again_is_as_new() {
    let ground = Ground::new("outbox_give_up").await;
    let client = ground.work().await;
    let (receiver, after) = ("https://a:443", Duration::from_secs(60));
    fill(&client, receiver, 1, 3, 100).await;
    fill(&client, receiver, 11, 2, 10).await;
    fill(&client, "https://b:443", 21, 1, 100).await;
    let taken = take(&client, &[], 100).await;
    let tried = taken.iter().find(|one| one.no == OrderNo(1)).unwrap();
    let young = Notification { no: OrderNo(11), ..tried.clone() };
    let failed = |notification| FailedNotification {
        notification,
        error: "down".into(),
        delay: Duration::ZERO,
        parked: None,
    };
    assert_eq!(
        webhooks::failed(&client, &[failed(tried), failed(&young)], after).await.unwrap(),
        1,
        "the old one"
    );
    // Those under way are another's: only what waits is given up with it.
    assert_eq!(webhooks::give_up(&client, (receiver, None), after, "down").await.unwrap(), 0);
    client.execute("UPDATE outbox SET next_at = now() - interval '1 second'", &[]).await.unwrap();
    assert_eq!(webhooks::give_up(&client, (receiver, None), after, "down").await.unwrap(), 2);
    let parked = shown::parked(&client, (OrderNo(0), Life(0), ""), 10).await.unwrap();
    assert!(parked.is_empty(), "their orders are not there: {parked:?}");
    let mut client = client;
    let tx = client.transaction().await.unwrap();
    assert_eq!(shown::resend(&tx, OrderNo(2)).await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert_eq!(webhooks::give_up(&client, (receiver, None), after, "down").await.unwrap(), 0, "it is as new");
    let left = of(&take(&client, &[(receiver.to_owned(), 10)], 100).await, receiver);
    assert_eq!(left, 3, "the two young ones, and the one that is sent again");
}

/// Stores rows of one order, due since a second.
async fn ends(client: &Client, no: i64, rows: &[(&str, Option<&str>)]) {
    for (kind, receiver) in rows {
        let statement =
            "INSERT INTO outbox (order_no, life, kind, message_id, target, receiver, body, next_at)
            VALUES ($1, 1, $2, gen_random_uuid(), 'amqp://?key=k', $3, '{}', now() - interval '1 second')";
        client.execute(statement, &[&no, kind, receiver]).await.unwrap();
    }
}

#[tokio::test]
async fn ord_38_a_second_end_waits_for_the_first_of_the_same_recipient_and_for_no_other() {
    let ground = Ground::new("outbox_recipients").await;
    let client = ground.work().await;
    ends(&client, 1, &[("final", None), ("final-2", None), ("final-r2", None), ("final-2-r2", None)]).await;
    ends(&client, 2, &[("final", None), ("final-2-r2", None), ("final-2-s7", None), ("final-s8", None)])
        .await;
    let web = Some("https://a:443");
    ends(&client, 3, &[("final-r3", web), ("final-2-r3", web), ("final-2-r4", web)]).await;
    let kinds = |taken: &[Notification], no: i64| {
        let of = taken.iter().filter(|one| one.no == OrderNo(no));
        let mut kinds: Vec<String> = of.map(|one| one.kind.clone()).collect();
        kinds.sort();
        kinds
    };
    // What news tells of is read: of two ends of one recipient the first.
    let unread = |no: i64| sending::Unread { no: OrderNo(no), life: Life(1), kind: None };
    let read = sending::read(&client, &[unread(1), unread(2), unread(3)]).await.unwrap();
    assert_eq!(kinds(&read, 1), ["final", "final-r2"]);
    assert_eq!(kinds(&read, 2), ["final", "final-2-r2", "final-2-s7", "final-s8"]);
    assert!(kinds(&read, 3).is_empty());
    let taken = sending::take(&client, Timestamp::UNIX_EPOCH, 100).await.unwrap();
    assert_eq!((kinds(&taken, 1), kinds(&taken, 2)), (kinds(&read, 1), kinds(&read, 2)));
    let taken = take(&client, &[], 100).await;
    assert_eq!(kinds(&taken, 3), ["final-2-r4", "final-r3"]);
    // Once the first has arrived, the second may go.
    let first = taken.iter().find(|one| one.kind == "final-r3").unwrap();
    assert_eq!(sending::sent(&client, &[first.key()]).await.unwrap(), 1);
    client.execute("UPDATE outbox SET next_at = now() WHERE kind = 'final-2-r3'", &[]).await.unwrap();
    assert_eq!(kinds(&take(&client, &[], 100).await, 3), ["final-2-r3"]);
}
