//! Answers that never arrive, of PostgreSQL to a commit, of RabbitMQ to a publish, and requests that never arrived.
//! A node that does not know whether it was done finds out by the guards, and does it once (rows 17, 18, 33).
//! Never breaks a server: each node is cut from it by a proxy of its own.

use std::time::{Duration, Instant};

use pagurus_harness::proxy::{Mode, Proxy};

use crate::installation::{Installation, PATIENCE};
use crate::load::Load;

/// Time for which nothing is answered, or nothing arrives; then the connections break.
const WINDOW: Duration = Duration::from_millis(120);
const BETWEEN: Duration = Duration::from_millis(250);
/// Windows for each role.
const WINDOWS: usize = 4;

/// Takes node after node from its server, again and again, under a load that goes on all the time.
async fn one_after_the_other(engine: &Installation, proxies: &[Proxy], mode: Mode, tag: &str) -> Vec<Load> {
    let mut loads = Vec::new();
    for (index, proxy) in proxies.iter().enumerate() {
        for window in 0..WINDOWS {
            let load = Load::with_naps(&format!("{tag}{index}w{window}"), 2);
            let broken = async {
                for _ in 0..2 {
                    proxy.set(mode);
                    tokio::time::sleep(WINDOW).await;
                    if mode != Mode::CutAtCommit {
                        proxy.set(Mode::Cut);
                    }
                    proxy.set(Mode::Pass);
                    tokio::time::sleep(BETWEEN).await;
                }
            };
            tokio::join!(load.insist(engine, PATIENCE), broken);
            loads.push(load);
        }
    }
    loads
}

#[tokio::test]
async fn qlt_5_of_every_commit_whose_answer_is_lost_the_work_is_done_once() {
    let (engine, databases, _brokers) = Installation::behind_proxies("commit_unanswered", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    // Answers to single statements, and to the ends of transactions.
    let mut loads = one_after_the_other(&engine, &databases, Mode::Mute, "m").await;
    loads.extend(one_after_the_other(&engine, &databases, Mode::CutAtCommit, "c").await);
    // Luck may have it that nothing was committed in the windows of one of them.
    let deadline = Instant::now() + PATIENCE;
    for (index, node) in engine.nodes.iter().enumerate() {
        let mut more = 0;
        while databases[index].answers_dropped() == 0 {
            assert!(Instant::now() < deadline, "{} never lost an answer", node.spec.name);
            let load = Load::with_naps(&format!("more{index}-{more}"), 2);
            databases[index].set(Mode::Mute);
            let ((), ()) = tokio::join!(load.insist(&engine, PATIENCE), async {
                tokio::time::sleep(WINDOW).await;
                databases[index].set(Mode::Pass);
            });
            loads.push(load);
            more += 1;
        }
    }
    let commits: u64 = databases.iter().map(Proxy::commits_unanswered).sum();
    let answers: Vec<u64> = databases.iter().map(Proxy::answers_dropped).collect();
    eprintln!("{commits} commits were done and not answered; answers lost by node: {answers:?}");
    assert!(commits > 0, "no commit lost its answer: the test shows nothing");
    Load::check_all(&loads, &engine, &inbox, PATIENCE).await;
}

#[tokio::test]
async fn qlt_5_of_every_commit_that_never_arrives_the_work_is_done_once() {
    let (engine, databases, _brokers) = Installation::behind_proxies("commit_lost", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let loads = one_after_the_other(&engine, &databases, Mode::BlackHole, "h").await;
    Load::check_all(&loads, &engine, &inbox, PATIENCE).await;
}

#[tokio::test]
async fn qlt_5_confirms_and_acknowledgements_that_are_lost_lose_and_double_nothing() {
    let (engine, _databases, brokers) = Installation::behind_proxies("confirm_lost", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let by_messages = Load::new("messages");
    by_messages.publish(&amqp).await;
    let mut loads = one_after_the_other(&engine, &brokers, Mode::Mute, "m").await;
    let answers: Vec<u64> = brokers.iter().map(Proxy::answers_dropped).collect();
    eprintln!("answers lost by node: {answers:?}");
    assert!(answers.iter().sum::<u64>() > 0, "no answer was lost: the test shows nothing");
    loads.push(by_messages);
    Load::check_all(&loads, &engine, &inbox, PATIENCE).await;
}
