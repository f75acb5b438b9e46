//! The registry and the lease: who lives, who leads, and that whoever led before can do nothing more.
//! Never waits for a fixed time: what blocks is asked of the server's locks.

use std::time::{Duration, Instant};

use pagurus_domain::id::{Epoch, Incarnation, Role};
use pagurus_store::cluster::{self, NodeStatus};
use pagurus_store::stages::{self, HandOut, Unclaimed};
use serde_json::json;

use crate::ground::{FIRST_EPOCH, Ground, new_node};

const NAME: &str = "dispatcher";
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(1);

async fn acquire(ground: &Ground, node: Incarnation, ttl: Duration) -> Option<Epoch> {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let epoch = cluster::acquire(&tx, NAME, node, ttl).await.unwrap();
    tx.commit().await.unwrap();
    epoch
}

async fn register(ground: &Ground, name: &str, role: Role) -> Incarnation {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let node = cluster::register(&tx, &new_node(name, role)).await.unwrap();
    tx.commit().await.unwrap();
    node
}

/// Waits until some session waits for a lock.
async fn somebody_waits(ground: &Ground) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while ground.count("SELECT count(*) FROM pg_locks WHERE NOT granted").await == 0 {
        assert!(Instant::now() < deadline, "nobody waits for a lock");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn dsp_12_one_holds_the_lease_and_each_holder_has_a_greater_epoch() {
    let ground = Ground::new("lease").await;
    let (a, b) = (Incarnation(1), Incarnation(2));
    let first = acquire(&ground, a, SHORT).await.expect("it is free");
    let second = loop {
        // It runs out by the database's clock; there is nothing else to wait for.
        if let Some(epoch) = acquire(&ground, b, LONG).await {
            break epoch;
        }
    };
    assert!(second > first);
    assert_eq!(acquire(&ground, a, LONG).await, None, "it is held");
    let client = ground.work().await;
    let renew = |node, epoch| cluster::renew(&client, NAME, node, epoch, LONG);
    assert!(!renew(a, first).await.unwrap(), "renewed by a former holder");
    assert!(!renew(b, first).await.unwrap(), "renewed under an old epoch");
    assert!(renew(b, second).await.unwrap());
    cluster::resign(&client, NAME, a).await.unwrap();
    assert_eq!(acquire(&ground, a, LONG).await, None, "given back by one who did not hold it");
    cluster::resign(&client, NAME, b).await.unwrap();
    assert!(acquire(&ground, a, LONG).await.expect("it was given back") > second);
}

#[tokio::test]
async fn dsp_12_a_take_over_waits_for_the_claim_under_way_and_refuses_all_later_ones() {
    let ground = Ground::new("fencing").await;
    let (first, second) = (ground.order("a", &json!({})).await, ground.order("b", &json!({})).await);
    let old = acquire(&ground, Incarnation(1), SHORT).await.expect("it is free");
    assert!(old > FIRST_EPOCH);

    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let under_way = [HandOut { no: first, attempt: 1, epoch: old }];
    let (claimed, _) = stages::claim(&tx, &under_way).await.unwrap();
    assert_eq!(claimed.len(), 1);

    let new = {
        let take_over = acquire(&ground, Incarnation(2), LONG);
        tokio::pin!(take_over);
        tokio::select! {
            epoch = &mut take_over => panic!("taken over ({epoch:?}) while a claim of the old epoch was under way"),
            () = somebody_waits(&ground) => {}
        }
        stages::run(&tx, ground.node, &claimed, &[60.0]).await.unwrap();
        tx.commit().await.unwrap();
        take_over.await.expect("the lease had run out")
    };
    assert!(new > old);
    let (late, unclaimed) = ground.claim_under(old, &[(second, 1)]).await;
    assert!(late.is_empty(), "claimed under an old epoch");
    assert_eq!(unclaimed.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Unclaimed::StaleEpoch]);
    assert_eq!(ground.claim_under(new, &[(second, 1)]).await.0.len(), 1);
}

#[tokio::test]
async fn dsp_12_a_claim_that_comes_while_the_epoch_changes_waits_and_is_refused() {
    let ground = Ground::new("changing").await;
    let no = ground.order("a", &json!({})).await;
    let old = acquire(&ground, Incarnation(1), SHORT).await.expect("it is free");
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let new = cluster::acquire(&tx, NAME, Incarnation(1), LONG).await.unwrap().expect("the holder may again");
    let wanted = [(no, 1)];
    let claim = ground.claim_under(old, &wanted);
    tokio::pin!(claim);
    tokio::select! {
        (claimed, unclaimed) = &mut claim => panic!("{claimed:?} {unclaimed:?} before the new epoch was known"),
        () = somebody_waits(&ground) => {}
    }
    tx.commit().await.unwrap();
    let (claimed, unclaimed) = claim.await;
    assert!(claimed.is_empty(), "claimed under an old epoch");
    assert_eq!(unclaimed[0].1, Unclaimed::StaleEpoch);
    assert!(new > old);
}

#[tokio::test]
async fn dsp_12_a_process_that_froze_inside_a_claim_holds_a_take_over_up_for_seconds_only() {
    let ground = Ground::new("frozen_claim").await;
    let no = ground.order("a", &json!({})).await;
    let old = acquire(&ground, Incarnation(1), SHORT).await.expect("it is free");
    let mut frozen = ground.work().await;
    let tx = frozen.transaction().await.unwrap();
    let (claimed, _) = stages::claim(&tx, &[HandOut { no, attempt: 1, epoch: old }]).await.unwrap();
    assert_eq!(claimed.len(), 1);
    // From here on the claimer says nothing more, and its connection stays open.
    let begun = Instant::now();
    let new = loop {
        assert!(begun.elapsed() < Duration::from_secs(12), "nobody can take over");
        let mut client = ground.work().await;
        let tx = client.transaction().await.unwrap();
        // Waiting for the lock has a limit of its own; the standby asks again.
        if let Ok(Some(epoch)) = cluster::acquire(&tx, NAME, Incarnation(2), LONG).await {
            tx.commit().await.unwrap();
            break epoch;
        }
    };
    assert!(tx.commit().await.is_err(), "the claim came true under an epoch that is over");
    assert_eq!(ground.claim_under(new, &[(no, 1)]).await.0.len(), 1);
}

#[tokio::test]
async fn rec_7_a_name_that_comes_back_is_another_life_and_the_former_one_is_over() {
    let ground = Ground::new("registry").await;
    let former = register(&ground, "w-2", Role::Worker).await;
    let client = ground.work().await;
    assert!(cluster::beat(&client, former).await.unwrap());
    let present = register(&ground, "w-2", Role::Worker).await;
    assert!(present > former);
    assert!(!cluster::beat(&client, former).await.unwrap(), "the former life beats on");
    assert!(!cluster::set_status(&client, former, NodeStatus::Active).await.unwrap());
    assert!(cluster::set_status(&client, present, NodeStatus::Active).await.unwrap());
    let workers = cluster::workers(&client).await.unwrap();
    assert!(workers.contains(&(present, 10, true)) && !workers.iter().any(|(node, ..)| *node == former));
    assert!(cluster::superseded(&client, former).await.unwrap());
    assert!(!cluster::superseded(&client, present).await.unwrap());
    let views = cluster::nodes(&client).await.unwrap();
    let statuses: Vec<_> =
        views.iter().filter(|view| view.name == "w-2").map(|view| view.status.as_str()).collect();
    assert_eq!(statuses, ["lost", "active"]);
}

#[tokio::test]
async fn rec_7_one_name_stands_for_a_node_of_each_role() {
    let ground = Ground::new("roles").await;
    let worker = register(&ground, "prod-1", Role::Worker).await;
    let notifier = register(&ground, "prod-1", Role::Notifier).await;
    let client = ground.work().await;
    for node in [worker, notifier] {
        assert!(cluster::beat(&client, node).await.unwrap(), "{node} was displaced by another role");
        assert!(!cluster::superseded(&client, node).await.unwrap());
    }
}

#[tokio::test]
async fn rec_7_who_is_silent_too_long_is_lost_and_who_beats_is_not() {
    let ground = Ground::new("silence").await;
    let silent = register(&ground, "w-2", Role::Worker).await;
    let loud = register(&ground, "w-3", Role::Worker).await;
    let ago = "now() - interval '1 hour'";
    ground.sql(&format!("UPDATE heartbeats SET at = {ago}")).await;
    ground.sql(&format!("UPDATE nodes SET started_at = {ago}")).await;
    let client = ground.work().await;
    assert!(
        cluster::beat(&client, loud).await.unwrap() && cluster::beat(&client, ground.node).await.unwrap()
    );
    // The server of the run has been up for longer than this.
    let after = Duration::from_millis(500);
    let lost: Vec<_> = loop {
        assert!(
            cluster::beat(&client, loud).await.unwrap() && cluster::beat(&client, ground.node).await.unwrap()
        );
        let lost = cluster::lose_silent(&client, after).await.unwrap();
        if !lost.is_empty() {
            break lost;
        }
    };
    assert_eq!(lost.iter().map(|(node, ..)| *node).collect::<Vec<_>>(), [silent]);
    assert!(!cluster::beat(&client, silent).await.unwrap(), "it may not come back to life by beating");
    assert!(!cluster::superseded(&client, silent).await.unwrap(), "nobody has its name: it may begin anew");
    assert!(cluster::lose_silent(&client, after).await.unwrap().is_empty(), "lost twice");
}
