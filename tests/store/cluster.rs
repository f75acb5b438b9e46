//! The registry and the lease: who lives, who leads, and that a former leader can do nothing more.
//! Never waits for a fixed time: what blocks is asked of the server's locks.

use std::time::{Duration, Instant};

use pagurus_domain::id::{Attempt, Epoch, Incarnation, Role};
use pagurus_store::hot::stages::{self, OfferedStage, Unclaimed};
use pagurus_store::recovery::cluster::{self, Beat, NodeStatus};
use pagurus_store::recovery::leases;
use pagurus_store::recovery::marks;
use pagurus_store::{Client, Error};
use serde_json::json;

use crate::ground::{FIRST_EPOCH, Ground, new_node};

const NAME: &str = "dispatcher";
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

async fn acquire(ground: &Ground, node: Incarnation, ttl: Duration) -> Option<Epoch> {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let epoch = leases::acquire(&tx, NAME, node, ttl, None).await.unwrap();
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

/// A sign of life of a node that is at work; two of them belong to one row if less than an hour lies between.
async fn beat(client: &Client, node: Incarnation) -> Result<bool, Error> {
    cluster::beat(client, node, is(NodeStatus::Active), 2 * HOUR).await
}

/// State that a node of this status tells that has nothing in hand.
const fn is(status: NodeStatus) -> Beat {
    Beat { status, in_hand: 0 }
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
    let renew = |node, epoch| leases::renew(&client, NAME, node, epoch, LONG);
    assert!(!renew(a, first).await.unwrap(), "renewed by a former holder");
    assert!(!renew(b, first).await.unwrap(), "renewed under an old epoch");
    assert!(renew(b, second).await.unwrap());
    leases::resign(&client, NAME, a).await.unwrap();
    assert_eq!(acquire(&ground, a, LONG).await, None, "given back by one who did not hold it");
    leases::resign(&client, NAME, b).await.unwrap();
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
    let under_way = [OfferedStage { no: first, attempt: Attempt::FIRST, epoch: old }];
    let (claimed, _) = stages::claim(&tx, &ground.claimant(), &under_way).await.unwrap();
    assert_eq!(claimed.len(), 1);

    let new = {
        let take_over = acquire(&ground, Incarnation(2), LONG);
        tokio::pin!(take_over);
        tokio::select! {
            epoch = &mut take_over => panic!("taken over ({epoch:?}) while a claim of the old epoch was under way"),
            () = somebody_waits(&ground) => {}
        }
        tx.commit().await.unwrap();
        take_over.await.expect("the lease had run out")
    };
    assert!(new > old);
    let (late, unclaimed) = ground.claim_under(old, &[(second, Attempt::FIRST)]).await;
    assert!(late.is_empty(), "claimed under an old epoch");
    assert_eq!(unclaimed.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Unclaimed::StaleEpoch]);
    assert_eq!(ground.claim_under(new, &[(second, Attempt::FIRST)]).await.0.len(), 1);
}

#[tokio::test]
async fn dsp_12_a_claim_that_comes_while_the_epoch_changes_waits_and_is_refused() {
    let ground = Ground::new("changing").await;
    let no = ground.order("a", &json!({})).await;
    let old = acquire(&ground, Incarnation(1), SHORT).await.expect("it is free");
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let new =
        leases::acquire(&tx, NAME, Incarnation(1), LONG, None).await.unwrap().expect("the holder may again");
    let wanted = [(no, Attempt(1))];
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
    let offered = [OfferedStage { no, attempt: Attempt::FIRST, epoch: old }];
    let (claimed, _) = stages::claim(&tx, &ground.claimant(), &offered).await.unwrap();
    assert_eq!(claimed.len(), 1);
    // From here on the claimer says nothing more, and its connection stays open.
    let begun = Instant::now();
    let new = loop {
        assert!(begun.elapsed() < Duration::from_secs(12), "nobody can take over");
        let mut client = ground.work().await;
        let tx = client.transaction().await.unwrap();
        // Waiting for the lock has a limit of its own; the standby asks again.
        if let Ok(Some(epoch)) = leases::acquire(&tx, NAME, Incarnation(2), LONG, None).await {
            tx.commit().await.unwrap();
            break epoch;
        }
    };
    assert!(tx.commit().await.is_err(), "the claim came true under an epoch that is over");
    assert_eq!(ground.claim_under(new, &[(no, Attempt(1))]).await.0.len(), 1);
}

#[tokio::test]
async fn rec_7_a_name_that_comes_back_is_another_life_and_the_former_one_is_over() {
    let ground = Ground::new("registry").await;
    let former = register(&ground, "w-2", Role::Worker).await;
    let client = ground.work().await;
    assert!(beat(&client, former).await.unwrap());
    let present = register(&ground, "w-2", Role::Worker).await;
    assert!(present > former);
    assert!(!beat(&client, former).await.unwrap(), "the former life beats on");
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
async fn ord_19_notifiers_that_are_at_work_divide_the_news_and_no_others_do() {
    let ground = Ground::new("notifiers").await;
    let starting = register(&ground, "n-1", Role::Notifier).await;
    let client = ground.work().await;
    assert!(marks::notifiers(&client).await.unwrap().is_empty(), "{starting} is not at work yet");
    let mut at_work = Vec::new();
    for name in ["n-2", "n-3", "n-4"] {
        let node = register(&ground, name, Role::Notifier).await;
        assert!(beat(&client, node).await.unwrap());
        at_work.push(node);
    }
    let worker = register(&ground, "w-1", Role::Worker).await;
    assert!(beat(&client, worker).await.unwrap());
    assert_eq!(marks::notifiers(&client).await.unwrap(), at_work);
    cluster::beat(&client, at_work[0], is(NodeStatus::Stopping), 2 * HOUR).await.unwrap();
    let mut writer = ground.work().await;
    let tx = writer.transaction().await.unwrap();
    assert!(marks::mark(&tx, Role::Notifier, "n-3", "a test", "{}").await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(marks::notifiers(&client).await.unwrap(), [at_work[2]], "one stops, one is out of service");
}

#[tokio::test]
async fn rec_7_one_name_stands_for_a_node_of_each_role() {
    let ground = Ground::new("roles").await;
    let worker = register(&ground, "prod-1", Role::Worker).await;
    let notifier = register(&ground, "prod-1", Role::Notifier).await;
    let client = ground.work().await;
    for node in [worker, notifier] {
        assert!(beat(&client, node).await.unwrap(), "{node} was displaced by another role");
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
    assert!(beat(&client, loud).await.unwrap() && beat(&client, ground.node).await.unwrap());
    // The server of the run has been up for longer than this.
    let after = Duration::from_millis(500);
    let judge = ground.node;
    ground.sql(&format!("UPDATE heartbeats SET steady_since = {ago}")).await;
    let lost: Vec<_> = loop {
        assert!(beat(&client, loud).await.unwrap() && beat(&client, judge).await.unwrap());
        let lost = cluster::lose_silent(&client, judge, after).await.unwrap();
        if !lost.is_empty() {
            break lost;
        }
    };
    assert_eq!(lost.iter().map(|(node, ..)| *node).collect::<Vec<_>>(), [silent]);
    assert!(!beat(&client, silent).await.unwrap(), "it may not come back to life by beating");
    assert!(!cluster::superseded(&client, silent).await.unwrap(), "nobody has its name: it may begin again");
    assert!(cluster::lose_silent(&client, judge, after).await.unwrap().is_empty(), "lost twice");
}

// REC-7: after a partition of all from the database nobody is lost by the silence of all.
#[tokio::test]
async fn rec_7_who_was_silent_itself_declares_nobody_lost() {
    let ground = Ground::new("judge").await;
    let other = register(&ground, "w-2", Role::Worker).await;
    let client = ground.work().await;
    let judge = ground.node;
    let lost_after = Duration::from_secs(8);
    let lose = || cluster::lose_silent(&client, judge, lost_after);
    let signal = async || {
        assert!(cluster::beat(&client, judge, is(NodeStatus::Active), lost_after).await.unwrap());
    };
    // Nobody is lost before the server itself has been up for so long.
    while ground
        .count("SELECT count(*) WHERE pg_postmaster_start_time() > now() - interval '9 seconds'")
        .await
        > 0
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // All have been steady for long, then nobody is heard for two minutes.
    let hour_ago = "now() - interval '1 hour'";
    ground.sql(&format!("UPDATE nodes SET started_at = {hour_ago}")).await;
    let silent_for = async |seconds: u32, of: &str| {
        let at = format!("now() - interval '{seconds} seconds'");
        ground.sql(&format!("UPDATE heartbeats SET at = {at}, steady_since = {hour_ago} {of}")).await;
    };
    silent_for(120, "").await;
    assert!(lose().await.unwrap().is_empty(), "judged before it was heard itself");
    signal().await;
    assert!(lose().await.unwrap().is_empty(), "judged by its first beat after the silence");
    // A gap that is too short to be silence may have kept the others from beating, too.
    silent_for(9, "").await;
    silent_for(5, &format!("WHERE incarnation = {judge}")).await;
    signal().await;
    assert!(lose().await.unwrap().is_empty(), "judged after a gap of its own");
    // Who beats all the while does judge.
    silent_for(9, "").await;
    silent_for(1, &format!("WHERE incarnation = {judge}")).await;
    signal().await;
    let lost: Vec<_> = lose().await.unwrap().into_iter().map(|(node, ..)| node).collect();
    assert_eq!(lost, [other]);
}

// REC-7, DSP-12: all times there are still to come, because the clock was set back by an hour.
#[tokio::test]
async fn rec_7_a_clock_that_is_set_back_makes_nobody_lost_and_keeps_no_dead_node_alive() {
    let ground = Ground::new("set_back").await;
    let dead = register(&ground, "w-2", Role::Worker).await;
    let living = register(&ground, "w-3", Role::Worker).await;
    let client = ground.work().await;
    let judge = ground.node;
    let lost_after = Duration::from_millis(500);
    let signal = async |node: Incarnation| {
        assert!(cluster::beat(&client, node, is(NodeStatus::Active), lost_after).await.unwrap());
    };
    let ahead = "now() + interval '1 hour'";
    ground.sql(&format!("UPDATE nodes SET started_at = {ahead}")).await;
    ground
        .sql(&format!("UPDATE heartbeats SET at = {ahead}, steady_since = now() - interval '1 hour'"))
        .await;
    let lose = || cluster::lose_silent(&client, judge, lost_after);
    assert!(lose().await.unwrap().is_empty(), "judged by a beat that is still to come");
    signal(judge).await;
    assert!(lose().await.unwrap().is_empty(), "the others have had no time to beat since");
    let deadline = Instant::now() + Duration::from_secs(30);
    let lost: Vec<_> = loop {
        signal(judge).await;
        signal(living).await;
        let lost = lose().await.unwrap();
        if !lost.is_empty() {
            break lost;
        }
        assert!(Instant::now() < deadline, "a node that died before lives until its time comes round");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(lost.iter().map(|(node, ..)| *node).collect::<Vec<_>>(), [dead]);
}

#[tokio::test]
async fn dsp_12_a_lease_of_a_clock_that_was_set_back_is_taken_by_who_saw_that_nobody_renews_it() {
    let ground = Ground::new("lease_set_back").await;
    let (a, b) = (Incarnation(1), Incarnation(2));
    let first = acquire(&ground, a, LONG).await.expect("it is free");
    let until = async || {
        let client = ground.work().await;
        let (until, _) = leases::left(&client, NAME).await.unwrap().expect("somebody has it");
        until
    };
    let seen = until().await;
    let client = ground.work().await;
    assert!(leases::renew(&client, NAME, a, first, LONG).await.unwrap());
    let take = async |unrenewed| {
        let mut client = ground.work().await;
        let tx = client.transaction().await.unwrap();
        let epoch = leases::acquire(&tx, NAME, b, LONG, Some(unrenewed)).await.unwrap();
        tx.commit().await.unwrap();
        epoch
    };
    assert_eq!(take(seen).await, None, "it was renewed since");
    assert!(take(until().await).await.expect("nobody renews it") > first);
    assert!(!leases::renew(&client, NAME, a, first, LONG).await.unwrap(), "renewed by a former holder");
}

// REC-7: one statement of a life may be lost; the next sign of life says the same again.
#[tokio::test]
async fn rec_7_each_sign_of_life_mends_what_the_registry_says_of_the_node() {
    let ground = Ground::new("status").await;
    let client = ground.work().await;
    let status = async || {
        let views = cluster::nodes(&client).await.unwrap();
        views.into_iter().find(|view| view.incarnation == ground.node).unwrap().status
    };
    assert_eq!(status().await, "starting");
    for word in [NodeStatus::Active, NodeStatus::Standby, NodeStatus::Stopping] {
        assert!(cluster::beat(&client, ground.node, is(word), HOUR).await.unwrap());
        assert_eq!(status().await, word.as_str());
    }
    assert!(cluster::set_status(&client, ground.node, NodeStatus::Stopped).await.unwrap());
    assert!(!cluster::beat(&client, ground.node, is(NodeStatus::Active), HOUR).await.unwrap());
    assert_eq!(status().await, "stopped", "who has ended does not come back by beating");
}

// DSP-12: whatever a dispatcher that lost its lease still says of itself, one is shown as active.
#[tokio::test]
async fn dsp_12_of_two_dispatchers_that_say_they_lead_the_holder_of_the_lease_is_active() {
    let ground = Ground::new("two_active").await;
    let former = register(&ground, "d-1", Role::Dispatcher).await;
    let present = register(&ground, "d-2", Role::Dispatcher).await;
    let client = ground.work().await;
    for node in [former, present] {
        assert!(beat(&client, node).await.unwrap());
    }
    acquire(&ground, present, LONG).await.expect("it is free");
    let views = cluster::nodes(&client).await.unwrap();
    let status = |node| views.iter().find(|view| view.incarnation == node).unwrap().status.as_str();
    assert_eq!([status(former), status(present)], ["standby", "active"]);
}
