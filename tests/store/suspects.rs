//! Evidence against stages whose worker died (REC-3).

use std::time::Duration;

use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_store::hot::suspects::{self, SuspectedStage};

use crate::ground::Ground;

#[tokio::test]
async fn rec_3_a_worker_that_was_given_up_changes_nothing_of_what_is_held_against_the_next_hand_out() {
    let ground = Ground::new("suspects").await;
    let mut client = ground.work().await;
    let of = |attempt| (OrderNo(7), Attempt(attempt));
    let suspect = |hand_out, deaths, died_on: Option<&str>, is_computed| SuspectedStage {
        hand_out,
        deaths,
        died_on: died_on.map(str::to_owned),
        is_computed,
    };
    suspects::begin(&client, of(1)).await.unwrap();
    let tx = client.transaction().await.unwrap();
    let kept = [suspect(of(2), 1, Some("w"), false), suspect((OrderNo(8), Attempt(1)), 0, None, false)];
    suspects::keep(&tx, &kept).await.unwrap();
    tx.commit().await.unwrap();
    // The first worker lives after all.
    suspects::begin(&client, of(1)).await.unwrap();
    suspects::end(&client, of(1)).await.unwrap();
    suspects::clear(&client, of(1)).await.unwrap();
    assert_eq!(suspects::of_orders(&client, &[7, 8]).await.unwrap(), kept);
    suspects::begin(&client, of(2)).await.unwrap();
    let computed = suspect(of(2), 1, Some("w"), true);
    assert_eq!(suspects::of_orders(&client, &[7]).await.unwrap(), [computed]);
    suspects::end(&client, of(2)).await.unwrap();
    // Another stage of the order is innocent.
    suspects::begin(&client, of(3)).await.unwrap();
    assert_eq!(suspects::of_orders(&client, &[7]).await.unwrap(), [suspect(of(3), 0, None, true)]);
    // Neither has a place any more.
    assert_eq!(suspects::forget(&client, Duration::from_secs(60)).await.unwrap(), 0);
    assert_eq!(suspects::forget(&client, Duration::ZERO).await.unwrap(), 2);
}
