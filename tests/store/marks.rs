//! Nodes out of service: the mark belongs to role and name, a worker with one takes nothing, and the registry tells since when
//! things are as they are.

use std::time::Duration;

use pagurus_domain::id::Role;
use pagurus_store::Client;
use pagurus_store::recovery::cluster::{self, Beat, NodeStatus, RegisteredNode};
use pagurus_store::recovery::marks;
use pagurus_store::recovery::presence;

use crate::ground::{Ground, new_node};

const HOUR: Duration = Duration::from_secs(3600);

/// Marks the worker of these tests, or takes its mark back; true where that changed something.
async fn order(ground: &Ground, offline: bool) -> bool {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let changed = if offline {
        marks::mark(&tx, Role::Worker, "w-1", "new disk", "{}").await.unwrap()
    } else {
        marks::unmark(&tx, Role::Worker, "w-1").await.unwrap()
    };
    tx.commit().await.unwrap();
    changed
}

async fn beat(ground: &Ground, client: &Client, status: NodeStatus, in_hand: usize) {
    assert!(cluster::beat(client, ground.node, Beat { status, in_hand }, HOUR).await.unwrap());
}

async fn takes(client: &Client) -> bool {
    let by_dispatcher = cluster::workers(client).await.unwrap().iter().any(|(_, _, takes)| *takes);
    let by_explain = presence::workers_seen(client, HOUR).await.unwrap().iter().any(|worker| worker.takes);
    assert_eq!(by_dispatcher, by_explain);
    by_dispatcher
}

async fn listed(client: &Client) -> Vec<RegisteredNode> {
    cluster::nodes(client).await.unwrap()
}

#[tokio::test]
async fn rec_8_a_marked_worker_takes_nothing_before_it_has_noticed_its_mark_and_none_of_its_later_lives_does()
{
    let ground = Ground::new("marks").await;
    let client = ground.work().await;
    beat(&ground, &client, NodeStatus::Active, 0).await;
    assert!(takes(&client).await);
    assert_eq!([order(&ground, true).await, order(&ground, true).await], [true, false]);
    assert!(!takes(&client).await);
    assert!(marks::is_marked(&client, Role::Worker, "w-1").await.unwrap());
    assert!(!marks::is_marked(&client, Role::Intake, "w-1").await.unwrap(), "the mark of another role");
    let mut other = ground.work().await;
    let tx = other.transaction().await.unwrap();
    let next = cluster::register(&tx, &new_node("w-1", Role::Worker)).await.unwrap();
    tx.commit().await.unwrap();
    assert!(
        cluster::beat(&client, next, Beat { status: NodeStatus::Active, in_hand: 0 }, HOUR).await.unwrap()
    );
    assert!(!takes(&client).await, "another life of the same name");
    assert_eq!([order(&ground, false).await, order(&ground, false).await], [true, false]);
    assert!(takes(&client).await);
}

#[tokio::test]
async fn rec_8_the_registry_tells_since_when_a_status_lasts_what_is_in_hand_and_who_is_out_of_service() {
    let ground = Ground::new("since").await;
    let client = ground.work().await;
    beat(&ground, &client, NodeStatus::Active, 3).await;
    let first = listed(&client).await.remove(0);
    assert_eq!((first.in_hand, first.mark), (3, None));
    assert!(first.status_since > first.started_at, "it was starting before");
    beat(&ground, &client, NodeStatus::Active, 0).await;
    let second = listed(&client).await.remove(0);
    assert_eq!((second.in_hand, second.status_since), (0, first.status_since), "the same status goes on");
    order(&ground, true).await;
    beat(&ground, &client, NodeStatus::Offline, 0).await;
    let third = listed(&client).await.remove(0);
    assert_eq!((third.status.as_str(), third.mark.unwrap().reason.as_str()), ("offline", "new disk"));
    assert!(third.status_since > second.status_since);
    // Long gone, and still out of service: the one that starts it again has to know.
    cluster::set_status(&client, ground.node, NodeStatus::Stopped).await.unwrap();
    ground.sql("UPDATE nodes SET ended_at = now() - interval '1 day'").await;
    assert_eq!(listed(&client).await.len(), 1);
    order(&ground, false).await;
    assert!(listed(&client).await.is_empty());
}
