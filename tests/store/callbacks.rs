//! Callbacks as people look at them (SCN-7): the newest first, and what came in vain without reading what did not.

use pagurus_domain::id::RequestId;
use pagurus_store::outside::answers::{self, CallbackVerdict, NewCallback};
use pagurus_store::outside::callbacks::{self, VERDICTS};
use pagurus_store::upkeep::deletion;
use serde_json::json;
use uuid::Uuid;

use crate::ground::{Ground, callback, wait_for};

#[tokio::test]
async fn scn_7_what_came_for_nobody_is_found_beside_the_rest() {
    let ground = Ground::new("shown_callbacks").await;
    let no = ground.order("a", &json!({})).await;
    let claimed = ground.claim(no).await;
    let asked = ground.request(&claimed, 1).await.unwrap();
    ground.finish(&claimed, wait_for(&[asked])).await;
    ground.answer(&[asked]).await;
    ground.answer(&[asked]).await;
    let stranger = RequestId(Uuid::new_v4());
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let nonsense = NewCallback {
        named: "no id".to_owned(),
        request: None,
        step_status: Some("odd".to_owned()),
        body: b"0123456789".to_vec(),
        headers: None,
    };
    answers::answer(&tx, &[callback(stranger), nonsense], 10).await.unwrap();
    tx.commit().await.unwrap();

    let all = callbacks::places(&client, None, i64::MAX, 10).await.unwrap();
    let verdicts: Vec<CallbackVerdict> = all.iter().map(|place| place.verdict).collect();
    assert_eq!(
        verdicts,
        [
            CallbackVerdict::Orphan,
            CallbackVerdict::Orphan,
            CallbackVerdict::Duplicate,
            CallbackVerdict::Accepted
        ]
    );
    assert!(all.windows(2).all(|pair| pair[0].no > pair[1].no), "{all:?}");
    let below = callbacks::places(&client, None, all[1].no, 1).await.unwrap();
    assert_eq!(below, all[2..3], "a page goes on below its cursor");
    for verdict in VERDICTS {
        let found = callbacks::places(&client, Some(verdict), i64::MAX, 10).await.unwrap();
        let expected: Vec<_> = match verdict {
            // Nearly all are: a query for them passes over the rest.
            CallbackVerdict::Accepted => all.clone(),
            _ => all.iter().filter(|place| place.verdict == verdict).copied().collect(),
        };
        assert_eq!(found, expected, "{verdict:?}");
        assert_eq!(callbacks::verdict(verdict.as_str()), Some(verdict));
    }
    let nos: Vec<i64> = all.iter().map(|place| place.no).collect();
    let shown = callbacks::show(&client, &nos, 4).await.unwrap();
    assert_eq!(shown.iter().map(|one| one.place).collect::<Vec<_>>(), all);
    assert_eq!((shown[0].named.as_str(), shown[0].step_status.as_deref()), ("no id", Some("odd")));
    assert_eq!((shown[0].body.as_slice(), shown[0].body_bytes), (b"0123".as_slice(), 10));
    assert_eq!((shown[0].request, &shown[0].order, shown[0].scenario), (None, &None, None));
    assert_eq!((shown[1].named.clone(), shown[1].request), (stranger.0.to_string(), None));
    assert_eq!((shown[3].request, shown[3].order.as_deref()), (Some(asked), Some("a")));
    assert!(shown[3].scenario.is_some());
}

#[tokio::test]
async fn scn_7_what_was_accepted_burdens_neither_the_index_nor_the_search_of_the_rest() {
    let ground = Ground::new("callbacks_in_vain").await;
    let accepted = "INSERT INTO callbacks (request_id, named, order_no, verdict, body)
                    SELECT gen_random_uuid(), 'x', n, 'accepted', '' FROM generate_series(1, 20000) n";
    ground.sql(&accepted.replace("'accepted'", "'late'").replace("20000", "3")).await;
    ground.sql(accepted).await;
    let size = ground.count("SELECT pg_relation_size('callbacks_in_vain')").await;
    assert!(size <= 2 * 8192, "{size} bytes: the index holds accepted callbacks");
    ground.sql("ANALYZE callbacks").await;
    let client = ground.work().await;
    client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
    let read =
        "SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
                 WHERE relname = 'callbacks'";
    let before = ground.count(read).await;
    let late = callbacks::places(&client, Some(CallbackVerdict::Late), i64::MAX, 1000).await.unwrap();
    assert_eq!(late.len(), 3);
    client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
    client.query("SELECT 1", &[]).await.unwrap();
    let rows = ground.count(read).await - before;
    assert!((3..=10).contains(&rows), "{rows} rows read to find 3");
}

/// A callback for nobody.
fn orphan(named: &str, body: Vec<u8>, headers: Option<String>) -> NewCallback {
    NewCallback { named: named.to_owned(), request: None, step_status: None, headers, body }
}

#[tokio::test]
async fn qlt_8_callbacks_for_nobody_are_kept_in_bounded_number_and_size_and_for_a_time() {
    let ground = Ground::new("orphans").await;
    let no = ground.order("a", &json!({})).await;
    let claimed = ground.claim(no).await;
    let asked = ground.request(&claimed, 1).await.unwrap();
    ground.finish(&claimed, wait_for(&[asked])).await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let large =
        orphan("large", vec![b'x'; 1024 * 1024], Some(format!("{{\"a\": \"{}\"}}", "x".repeat(60_000))));
    let mut batch = vec![large];
    batch.extend((0..5).map(|n| orphan(&n.to_string(), b"{}".to_vec(), Some("{}".to_owned()))));
    let answered = answers::answer(&tx, &batch, 4).await.unwrap();
    assert_eq!(answered.verdicts, [CallbackVerdict::Orphan; 6], "each is answered alike");
    assert_eq!(answered.unkept, 2);
    // Somebody's is kept and wakes its order, whatever came for nobody.
    let mixed = [orphan("more", Vec::new(), None), callback(asked)];
    let answered = answers::answer(&tx, &mixed, 4).await.unwrap();
    assert_eq!(answered.verdicts, [CallbackVerdict::Orphan, CallbackVerdict::Accepted]);
    assert_eq!((answered.unkept, answered.woken.len()), (1, 1));
    tx.commit().await.unwrap();
    let kept = "SELECT count(*) FROM callbacks WHERE verdict = 'orphan'";
    assert_eq!(ground.count(kept).await, 4);
    assert_eq!(ground.count("SELECT max(length(body))::bigint FROM callbacks").await, 16 * 1024);
    assert_eq!(
        ground.count("SELECT count(*) FROM callbacks WHERE headers IS NULL AND named = 'large'").await,
        1
    );

    let day = std::time::Duration::from_secs(24 * 60 * 60);
    ground.sql("UPDATE callbacks SET received_at = now() - interval '2 days' WHERE named <> '2'").await;
    assert_eq!(deletion::forget_orphans(&client, day, 2).await.unwrap(), 2, "in bounded batches");
    assert_eq!(deletion::forget_orphans(&client, day, 2).await.unwrap(), 1);
    assert_eq!(deletion::forget_orphans(&client, day, 2).await.unwrap(), 0, "what is younger stays");
    assert_eq!(ground.count("SELECT count(*) FROM callbacks").await, 2, "and what somebody waited for");
    let tx = client.transaction().await.unwrap();
    let answered = answers::answer(&tx, &batch, 4).await.unwrap();
    assert_eq!(answered.unkept, 3, "there is room again");
}
