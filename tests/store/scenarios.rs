//! Versions of scenarios: nobody who reads what is new ever misses one.

use std::time::Duration;

use pagurus_store::scenarios::{self, Applied};

use crate::ground::Ground;

/// A number that is given but not committed must not lie below one that can be seen: readers go on
/// from the greatest that they have seen.
#[tokio::test]
async fn scn_13_versions_are_seen_in_the_order_of_their_numbers() {
    let ground = Ground::new("scenario_numbers").await;
    let (mut slow, mut quick, reader) = (ground.work().await, ground.work().await, ground.work().await);
    let before = scenarios::last(&reader).await.unwrap();
    let first = slow.transaction().await.unwrap();
    scenarios::apply(&first, "a", "scenario: a").await.unwrap();
    let second = tokio::spawn(async move {
        let tx = quick.transaction().await.unwrap();
        let applied = scenarios::apply(&tx, "b", "scenario: b").await.unwrap();
        tx.commit().await.unwrap();
        applied
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(scenarios::last(&reader).await.unwrap(), before, "the second was stored before the first");
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), Applied::New(1));
    let names: Vec<String> =
        scenarios::since(&reader, before).await.unwrap().into_iter().map(|version| version.name).collect();
    assert_eq!(names, ["a", "b"]);
}
