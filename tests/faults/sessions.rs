//! Harm that other users of the database do to the engine: they end its sessions, lock its rows, hold a snapshot, make it
//! slow (rows 21, 22, 24, 25). Orders that are not in the way go on, and the rest goes on afterwards.

use std::time::{Duration, Instant};

use pagurus_harness::proxy::Mode;
use serde_json::json;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, body, notified};

#[tokio::test]
async fn qlt_5_sessions_that_are_ended_again_and_again_cost_nothing_but_time() {
    let engine = Installation::start("sessions_ended", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let session = engine.session().await;
    let mut loads = Vec::new();
    let mut ended = 0;
    for round in 0..8 {
        let load = Load::with_naps(&format!("r{round}"), 8);
        load.publish(&amqp).await;
        loads.push(load);
        // Half of them, so that transactions of one node break off while others of it go on.
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid % 2 = $1";
        ended += session.query_one(end, &[&(round % 2)]).await.unwrap().get::<_, i64>(0);
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    assert!(ended > 20, "{ended} sessions were ended");
    Load::check_all(&loads, &engine, &inbox, PATIENCE).await;
}

/// A sleep that is long enough to be met in.
const DOZE: &str = "
scenario: doze
initialState: doze
states:
  doze: {actions: [{sleep: {for: 5s}}], on: {sleep: dozing}}
  dozing: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
";

#[tokio::test]
async fn qlt_5_a_snapshot_that_is_held_and_locks_that_are_held_stop_nobody_else() {
    let engine = Installation::start("locks_held", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let snapshot = engine.session().await;
    snapshot
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders")
        .await
        .unwrap();
    // The head of a queue, and an order that sleeps, are locked by somebody.
    let locker = engine.session().await;
    engine.api.put_scenario("doze", DOZE).await.unwrap();
    let queue = json!({"mode": "sequential", "queue": "held", "params": {"queue": "held"}});
    let held = Load { bodies: vec![body("head", "doze", queue.clone()), body("next", "call", queue)] };
    held.publish(&amqp).await;
    engine.api.wait_status("head", "sleep", PATIENCE).await.unwrap();
    locker.batch_execute("BEGIN; SELECT FROM orders WHERE id IN ('head', 'next') FOR UPDATE").await.unwrap();
    let others = Load::with_naps("others", 30);
    others.publish(&amqp).await;
    others.check(&engine, &inbox, PATIENCE).await;
    let reported = notified(&inbox.messages());
    assert!(!reported.contains_key("head") && !reported.contains_key("next"), "a lock was passed over");
    locker.batch_execute("COMMIT").await.unwrap();
    held.check(&engine, &inbox, PATIENCE).await;
    snapshot.batch_execute("COMMIT").await.unwrap();
    engine.holds().await;
}

#[tokio::test]
async fn dsp_12_a_lock_on_the_lease_is_a_loss_of_the_lease_and_no_more() {
    let engine = Installation::start("lease_locked", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let locker = engine.session().await;
    locker.batch_execute("BEGIN; SELECT FROM leases FOR UPDATE").await.unwrap();
    let load = Load::some("locked", 20);
    load.publish(&amqp).await;
    // Three times as long as the lease lasts.
    tokio::time::sleep(Duration::from_secs(3)).await;
    locker.batch_execute("COMMIT").await.unwrap();
    Load::check_all(&[load], &engine, &inbox, PATIENCE).await;
}

#[tokio::test]
async fn qlt_5_a_slow_database_makes_the_engine_slow_and_nothing_else() {
    // Times as they are shipped: those of the other tests are shorter than what a round trip takes here.
    let settings = [
        ("PAGURUS__DISPATCHER__LEASE__TTL", "3s"),
        ("PAGURUS__NODE__HEARTBEAT", "3s"),
        ("PAGURUS__NODE__LOST_AFTER", "12s"),
    ];
    let (engine, databases, _brokers) = Installation::behind_proxies("slow_database", &settings).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    databases.iter().for_each(|proxy| proxy.set(Mode::Delay(Duration::from_millis(50))));
    let load = Load::with_naps("slow", 30);
    let begun = Instant::now();
    load.publish(&amqp).await;
    let count = load.bodies.len();
    inbox.wait(3 * PATIENCE, |messages| notified(messages).len() >= count).await.unwrap();
    eprintln!("{} orders in {:?} with 100 ms a round trip", load.bodies.len(), begun.elapsed());
    // Nobody was taken for lost, and no stage began again.
    let lost = "SELECT (SELECT count(*) FROM nodes WHERE status = 'lost')
                     + (SELECT count(*) FROM history WHERE kind = 'reissued')";
    databases.iter().for_each(|proxy| proxy.set(Mode::Pass));
    load.check(&engine, &inbox, PATIENCE).await;
    let session = engine.session().await;
    assert_eq!(session.query_one(lost, &[]).await.unwrap().get::<_, i64>(0), 0);
    engine.holds().await;
}
