//! Versions of scenarios: a reader of the new ones never misses one.

use std::time::{Duration, Instant};

use pagurus_scenario::Library;
use pagurus_store::outside::scenarios::{self, Applied, Expected};

use crate::ground::Ground;

/// A number that is given but not committed must not lie below one that can be seen: readers go on
/// from the greatest that they have seen.
#[tokio::test]
async fn scn_13_versions_are_seen_in_the_order_of_their_numbers() {
    let ground = Ground::new("scenario_numbers").await;
    let (mut slow, mut quick, reader) = (ground.work().await, ground.work().await, ground.work().await);
    let before = scenarios::last(&reader).await.unwrap();
    let first = slow.transaction().await.unwrap();
    scenarios::apply(&first, "a", "scenario: a", &Library::default(), &Expected::Anything).await.unwrap();
    let second = tokio::spawn(async move {
        let tx = quick.transaction().await.unwrap();
        let applied = scenarios::apply(&tx, "b", "scenario: b", &Library::default(), &Expected::Anything)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        applied
    });
    // The second waits for the first, for no longer than a statement of the hot path may.
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    let deadline = Instant::now() + Duration::from_secs(10);
    while ground.count(waits).await == 0 && !second.is_finished() {
        assert!(Instant::now() < deadline, "the second does not begin");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(scenarios::last(&reader).await.unwrap(), before, "the second was stored before the first");
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), Applied::New(1));
    let names: Vec<String> =
        scenarios::since(&reader, before).await.unwrap().into_iter().map(|version| version.name).collect();
    assert_eq!(names, ["a", "b"]);
}

/// Two changes to the same version: the second one is refused, and overwrites nothing.
#[tokio::test]
async fn http_a_scenario_is_stored_only_on_top_of_the_version_that_is_expected() {
    let ground = Ground::new("scenario_expected").await;
    let mut client = ground.work().await;
    let mut apply = async |text: &str, expected: Expected| {
        let tx = client.transaction().await.unwrap();
        let applied = scenarios::apply(&tx, "x", text, &Library::default(), &expected).await.unwrap();
        tx.commit().await.unwrap();
        applied
    };
    let (first, second) = (scenarios::tag_of(1, "one"), scenarios::tag_of(2, "two"));
    let tagged = |tag: &str| Expected::Tagged(vec!["other".to_owned(), tag.to_owned()]);
    assert_eq!(apply("one", Expected::Something).await, Applied::Unexpected(None));
    assert_eq!(apply("one", Expected::Nothing).await, Applied::New(1));
    assert_eq!(apply("two", Expected::Nothing).await, Applied::Unexpected(Some(first.clone())));
    assert_eq!(apply("two", tagged(&first)).await, Applied::New(2));
    assert_eq!(apply("two", tagged(&first)).await, Applied::Unchanged(2), "the answer may have been lost");
    assert_eq!(apply("three", tagged(&first)).await, Applied::Unexpected(Some(second)));
    assert_ne!(first, scenarios::tag_of(3, "one"), "the same text again is another version");
}
