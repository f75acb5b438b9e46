//! Growth of an installation (RUN-3), as far as one machine shows it: a standby of Postgres that takes over, and more
//! than one node of every role. A cluster of RabbitMQ is looked at in `cluster`.

use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{Postgres, Stop, USER};
use serde_json::json;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, body};
use crate::restart::tempfolder;

/// Time that suffices for a server that was cut off, on a machine that is busy with other tests.
const LONG: Duration = Duration::from_secs(120);

async fn all_succeed(engine: &Installation, load: &Load) {
    for id in load.ids() {
        let order = engine.api.wait_status(&id, "success", LONG).await.unwrap();
        assert!(order["error"].is_null(), "{order}");
    }
}

#[tokio::test]
async fn run_3_a_standby_of_postgres_is_promoted_and_no_accepted_order_is_lost() {
    let folder = tempfolder("standby");
    let ports = Ports::reserve(2, &Owner::this_process().unwrap()).unwrap();
    let (first, second) = (ports.first(), ports.first() + 1);
    let primary = OfTest(Postgres::prepare(&folder.join("one"), &folder.join("one.log"), first).unwrap());
    primary.start().await.unwrap();
    primary.create_database("growth").await.unwrap();
    let standby = OfTest(primary.standby(&folder.join("two"), &folder.join("two.log"), second).unwrap());
    standby.start().await.unwrap();
    primary.demand_standby().await.unwrap();

    let url = format!(
        "postgres://{USER}@127.0.0.1:{first},127.0.0.1:{second}/growth?target_session_attrs=read-write"
    );
    let engine = Installation::behind("standby", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let before = Load::new("before");
    before.post(&engine).await;
    engine.env.world().wait_calls("/do", 20, PATIENCE).await.unwrap();
    primary.stop(Stop::Immediate).await.unwrap();
    let begun = Instant::now();
    standby.promote().unwrap();
    let promoted = begun.elapsed();
    for node in &engine.nodes {
        engine.wait_readiness(node, true, LONG).await;
    }
    let ready = begun.elapsed();
    let after = Load::new("after");
    after.post(&engine).await;
    all_succeed(&engine, &before).await;
    all_succeed(&engine, &after).await;
    println!("promoted after {promoted:?}, every node ready after {ready:?}");
    drop(engine);
    standby.stop(Stop::Fast).await.unwrap();
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test]
async fn run_3_nodes_of_every_role_are_added_and_taken_away_while_orders_run() {
    let mut engine = Installation::start("growth", &[]).await;
    let load = Load::new("a");
    load.post(&engine).await;
    for role in Role::ALL {
        let node = engine.env.start(role, &format!("{role}-2")).await.unwrap();
        engine.nodes.push(node);
    }
    let more = Load::new("b");
    more.post(&engine).await;
    let second = engine.nodes.iter().find(|node| node.spec.name == "intake-2").unwrap();
    let answer = engine.env.api(second).post("/v1/orders", &body("by-the-second", "call", json!({}))).await;
    answer.unwrap().success().unwrap();
    let first: Vec<_> = engine.nodes.iter().filter(|node| node.spec.name.ends_with("-1")).cloned().collect();
    for node in first.iter().filter(|node| node.spec.role != Role::Intake) {
        node.stop(pagurus_harness::env::STOP_TIMEOUT).await.unwrap();
    }
    all_succeed(&engine, &load).await;
    all_succeed(&engine, &more).await;
    engine.api.wait_status("by-the-second", "success", PATIENCE).await.unwrap();
}

/// Notifications that each of two notifiers has sent.
async fn sent(engine: &Installation) -> Vec<f64> {
    let mut sent = Vec::new();
    for node in engine.nodes.iter().filter(|node| node.spec.role == Role::Notifier) {
        sent.push(engine.metric(node, "pagurus_notifications_total").await);
    }
    sent
}

/// The same when nothing is added to it any more: a notification is counted behind its confirm, which may be later than the
/// message is here.
async fn settled(engine: &Installation) -> Vec<f64> {
    let mut before = sent(engine).await;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let counted = sent(engine).await;
        if counted == before {
            return counted;
        }
        before = counted;
    }
}

#[tokio::test]
async fn run_3_two_notifiers_divide_the_news_and_one_that_is_killed_leaves_it_to_the_other() {
    let mut engine = Installation::start("two_notifiers", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let second = engine.env.start(Role::Notifier, "notifier-2").await.unwrap();
    engine.nodes.push(second.clone());
    // They see each other within a second or two: by then what both hear is sent twice, or by one of them alone.
    let deadline = Instant::now() + PATIENCE;
    let mut before = settled(&engine).await;
    for round in 0.. {
        let load = Load::some(&format!("round-{round}"), 10);
        load.post(&engine).await;
        load.check(&engine, &inbox, PATIENCE).await;
        let former = std::mem::replace(&mut before, settled(&engine).await);
        let grown: Vec<f64> = before.iter().zip(&former).map(|(now, then)| now - then).collect();
        if grown.iter().all(|sent| *sent > 0.0) && grown.iter().sum::<f64>() <= load.bodies.len() as f64 {
            break;
        }
        assert!(Instant::now() < deadline, "they do not divide the news: {grown:?}");
    }
    let before: f64 = before.iter().sum();
    let load = Load::new("divided");
    load.post(&engine).await;
    load.check(&engine, &inbox, PATIENCE).await;
    let after = settled(&engine).await;
    assert!(
        after.iter().sum::<f64>() - before <= load.bodies.len() as f64,
        "sent twice: {before} and {after:?}"
    );
    second.kill().await.unwrap();
    engine.nodes.pop();
    let load = Load::new("alone");
    load.post(&engine).await;
    load.check(&engine, &inbox, PATIENCE).await;
    engine.holds().await;
}
