//! Orders that are due, by flow (ACT-5): what is woken of each, pages of what is due, and those of it that were chosen.

use jiff::Timestamp;
use pagurus_domain::activation::{NEVER_REPEATED, Stream};
use pagurus_domain::id::OrderNo;
use pagurus_store::hot::due::by_flow::{self, DuePage};
use serde_json::json;

use crate::ground::Ground;

/// Orders that are due one after the other, every third in another flow.
async fn fill(ground: &Ground, stream: Stream, count: usize) -> Vec<OrderNo> {
    let mut nos = Vec::new();
    for number in 0..count {
        let no = ground.order(&format!("o{number}"), &json!({})).await;
        let flow = if number % 3 == 2 { "other" } else { "mass" };
        let stream = stream.number();
        ground.sql(&format!("UPDATE orders SET flow = '{flow}' WHERE no = {no}")).await;
        ground.sql(&format!("DELETE FROM ready WHERE order_no = {no}")).await;
        ground
            .sql(&format!(
                "INSERT INTO due VALUES ({no}, {stream}, now() - interval '1 hour' + {number} * interval '1 second')"
            ))
            .await;
        nos.push(no);
    }
    nos
}

#[tokio::test]
async fn act_5_pages_of_what_is_due_name_the_flows_and_what_is_chosen_is_woken_once() {
    for stream in [Stream::Youngest, Stream::Wait] {
        let ground = Ground::new("by_flow").await;
        let nos = fill(&ground, stream, 6).await;
        let mut client = ground.work().await;
        let read = async |page| {
            let client = ground.work().await;
            by_flow::page(&client, stream, Timestamp::UNIX_EPOCH, page, 2).await.unwrap()
        };
        let (mass, other) = ("mass".to_owned(), "other".to_owned());
        assert_eq!(
            read(DuePage::Oldest { after: 0 }).await,
            [(nos[0], mass.clone()), (nos[1], mass.clone())]
        );
        assert_eq!(
            read(DuePage::Oldest { after: 2 }).await,
            [(nos[2], other.clone()), (nos[3], mass.clone())]
        );
        assert_eq!(read(DuePage::Newest).await, [(nos[4], mass), (nos[5], other)]);
        assert!(read(DuePage::Oldest { after: 6 }).await.is_empty());

        let chosen = [nos[2], nos[5]];
        let tx = client.transaction().await.unwrap();
        // Another activator chose one of them, too, and has not committed yet.
        let mut beside = ground.work().await;
        let held = beside.transaction().await.unwrap();
        let woken = by_flow::wake_these(&held, stream, &chosen[..1], NEVER_REPEATED).await.unwrap();
        assert_eq!(woken.iter().map(|one| one.stage.no).collect::<Vec<_>>(), [nos[2]]);
        let woken = by_flow::wake_these(&tx, stream, &chosen, NEVER_REPEATED).await.unwrap();
        assert_eq!(woken.iter().map(|one| one.stage.no).collect::<Vec<_>>(), [nos[5]], "{stream}");
        tx.commit().await.unwrap();
        held.commit().await.unwrap();
        let tx = client.transaction().await.unwrap();
        assert!(by_flow::wake_these(&tx, stream, &chosen, NEVER_REPEATED).await.unwrap().is_empty());
        tx.commit().await.unwrap();
        assert_eq!(
            by_flow::woken(&client, Timestamp::UNIX_EPOCH, 100).await.unwrap(),
            [("other".to_owned(), 2)]
        );
        assert_eq!(
            by_flow::woken(&client, Timestamp::UNIX_EPOCH, 1).await.unwrap(),
            [("other".to_owned(), 1)],
            "no more are counted"
        );
        assert_eq!(ground.count("SELECT count(*) FROM due").await, 4);
    }
}
