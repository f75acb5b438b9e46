//! Doing and mending of each fault. Never leaves anything broken: what follows a window is the engine's business.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::postgres::Stop;
use pagurus_harness::process::Signal;
use pagurus_harness::proxy::{Mode, Proxy};
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::json;

use super::super::ground::{Ground, session};
use super::Fault;
use super::notice::{self, Notices};

const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time to notice the loss of a node, and some more.
const NOTICE: Duration = Duration::from_secs(30);
const SNAPSHOT: Duration = Duration::from_secs(120);
/// Time after which a muted connection is cut, again and again within a window: few answers are lost at a time.
const MUTE: Duration = Duration::from_millis(250);

/// Time for which every commit loses its answer, and then for which none does.
const COMMITS: Duration = Duration::from_millis(400);

/// Breaks something and mends it.
pub async fn blow(fault: Fault, ground: &mut Ground, dice: &mut StdRng, notices: &mut Notices) -> Result<()> {
    let time = Duration::from_millis(dice.random_range(1000..5000));
    let one = |ground: &Ground, role, dice: &mut StdRng| ground.of(role)[dice.random_range(0..2)];
    match fault {
        Fault::Kill(role) => {
            let index = one(ground, role, dice);
            ground.nodes[index].kill().await?;
            tokio::time::sleep(time).await;
            ground.again(index).await?;
        }
        Fault::Lose(Role::Dispatcher) => lose_leader(ground, notices).await?,
        Fault::Lose(role) => {
            let index = one(ground, role, dice);
            lose(ground, index, notices).await?;
        }
        Fault::KillAll => kill_all(ground, time).await?,
        Fault::Freeze(Role::Dispatcher, seconds) => {
            let index = leader(ground).await?;
            freeze(&ground.nodes[index], seconds).await?;
        }
        Fault::Freeze(role, seconds) => freeze(&ground.nodes[one(ground, role, dice)], seconds).await?,
        Fault::Stop(role) => {
            let index = one(ground, role, dice);
            ground.nodes[index].stop(STOP_TIMEOUT).await?;
            ground.again(index).await?;
        }
        Fault::Database(role, mode) => part(&[&ground.databases[one(ground, role, dice)]], mode, time).await,
        Fault::Databases(mode) => part(&ground.databases.iter().collect::<Vec<_>>(), mode, time).await,
        Fault::Broker(role, mode) => part(&[&ground.brokers[one(ground, role, dice)]], mode, 2 * time).await,
        Fault::Brokers(mode) => part(&ground.brokers.iter().collect::<Vec<_>>(), mode, time).await,
        Fault::Lock => lock(ground, time).await?,
        Fault::Sessions => end_sessions(&ground.session().await?).await?,
        Fault::ReadOnly => read_only(ground, time).await?,
        Fault::Snapshot => hold_snapshot(ground),
        Fault::Postgres(how) => restart_postgres(ground, how, time).await?,
        Fault::Rabbit => {
            ground.rabbit.identity().context("the broker is away")?.signal(Signal::Kill)?;
            tokio::time::sleep(time).await;
            ground.rabbit.start().await?;
        }
        Fault::Alarm => {
            ground.rabbit.control(&["set_vm_memory_high_watermark", "absolute", "1000000"]).await?;
            tokio::time::sleep(3 * time).await;
            ground.rabbit.control(&["set_vm_memory_high_watermark", "0.6"]).await?;
        }
        Fault::Offline(role) => offline(ground, one(ground, role, dice), time).await?,
        Fault::Bulk => bulk(ground).await?,
    }
    Ok(())
}

/// Kills a node and waits until its life counts as lost, before it is started again.
async fn lose(ground: &mut Ground, index: usize, notices: &mut Notices) -> Result<()> {
    let session = ground.session().await?;
    let name = ground.nodes[index].spec.name.clone();
    let since = notice::now(&session).await?;
    ground.nodes[index].kill().await?;
    let noticed = notice::lost(&session, &name, since, NOTICE).await?;
    notices.workers.push(noticed.unwrap_or(f64::INFINITY));
    ground.again(index).await
}

/// The place of the dispatcher that leads.
async fn leader(ground: &Ground) -> Result<usize> {
    let session = ground.session().await?;
    for _ in 0..100 {
        if let Some(name) = notice::leader(&session).await?
            && let Some(index) = ground.nodes.iter().position(|node| node.spec.name == name)
        {
            return Ok(index);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("no dispatcher leads")
}

async fn lose_leader(ground: &mut Ground, notices: &mut Notices) -> Result<()> {
    let index = leader(ground).await?;
    let session = ground.session().await?;
    let name = ground.nodes[index].spec.name.clone();
    let since = notice::now(&session).await?;
    ground.nodes[index].kill().await?;
    let noticed = notice::taken_over(&session, &name, since, NOTICE).await?;
    notices.dispatchers.push(noticed.unwrap_or(f64::INFINITY));
    ground.again(index).await
}

async fn kill_all(ground: &mut Ground, time: Duration) -> Result<()> {
    for node in &ground.nodes {
        node.kill_now()?;
    }
    for node in &ground.nodes {
        node.kill().await?;
    }
    tokio::time::sleep(time).await;
    // One of each role is enough for the others to become ready.
    for index in 0..ground.nodes.len() {
        ground.again(index).await?;
    }
    Ok(())
}

async fn freeze(node: &Node, seconds: u64) -> Result<()> {
    node.pause()?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    node.resume()
}

/// Parts nodes from a server for a while.
async fn part(proxies: &[&Proxy], mode: Mode, time: Duration) {
    let set = |mode| proxies.iter().for_each(|proxy| proxy.set(mode));
    if mode == Mode::Mute {
        for _ in 0..time.as_millis() / (2 * MUTE.as_millis()) {
            set(Mode::Mute);
            tokio::time::sleep(MUTE).await;
            set(Mode::Cut);
            set(Mode::Pass);
            tokio::time::sleep(MUTE).await;
        }
    } else if mode == Mode::CutAtCommit {
        for _ in 0..time.as_millis() / (2 * COMMITS.as_millis()) {
            set(mode);
            tokio::time::sleep(COMMITS).await;
            // A node that never brings a commit to its end gets on with nothing.
            set(Mode::Pass);
            tokio::time::sleep(COMMITS).await;
        }
    } else {
        set(mode);
        tokio::time::sleep(time).await;
        if mode == Mode::BlackHole {
            set(Mode::Cut);
        }
    }
    set(Mode::Pass);
}

async fn lock(ground: &Ground, time: Duration) -> Result<()> {
    let session = ground.session().await?;
    let lock = "BEGIN; SELECT FROM queues WHERE hashtext(name) % 2 = 0 FOR UPDATE; \
                SELECT FROM orders WHERE no % 3 = 0 AND finished_at IS NULL FOR UPDATE";
    // A deadlock with the engine costs this session its locks, which is as good.
    let _ = session.batch_execute(lock).await;
    tokio::time::sleep(time).await;
    Ok(())
}

async fn end_sessions(session: &tokio_postgres::Client) -> Result<()> {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> ''";
    Ok(session.batch_execute(end).await?)
}

async fn read_only(ground: &Ground, time: Duration) -> Result<()> {
    let session = ground.session().await?;
    for to in ["on", "off"] {
        let database = ground.env().prefix();
        let set = format!(
            "SET default_transaction_read_only = off; \
             ALTER DATABASE {database} SET default_transaction_read_only = {to}"
        );
        session.batch_execute(&set).await?;
        end_sessions(&session).await?;
        tokio::time::sleep(time).await;
    }
    Ok(())
}

/// Beside everything that follows; it ends with its time, or with the server.
fn hold_snapshot(ground: &Ground) {
    let url = ground.database_url();
    tokio::spawn(async move {
        let session = session(&url).await?;
        session.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ready").await?;
        tokio::time::sleep(SNAPSHOT).await;
        anyhow::Ok(())
    });
}

async fn restart_postgres(ground: &Ground, how: Stop, time: Duration) -> Result<()> {
    ground.postgres.stop(how).await?;
    tokio::time::sleep(time).await;
    ground.postgres.start().await?;
    Ok(())
}

async fn offline(ground: &Ground, index: usize, time: Duration) -> Result<()> {
    let spec = &ground.nodes[index].spec;
    for (order, pause) in [("offline", 2 * time), ("online", Duration::ZERO)] {
        let path = format!("/v1/nodes/{}/{}/{order}", spec.role, spec.name);
        ask(ground, &path, json!({"reason": "a soak"})).await?;
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

async fn bulk(ground: &Ground) -> Result<()> {
    let asked = json!({"action": "restart", "search": {"status": "fail"}, "with": {"ifStatus": "fail"},
                       "reason": "a soak", "rate": 50});
    ask(ground, "/v1/operations", asked).await
}

/// Asks one intake after the other until one of them does it.
async fn ask(ground: &Ground, path: &str, body: serde_json::Value) -> Result<()> {
    let apis = ground.apis();
    let mut last = String::new();
    for turn in 0..60 {
        match apis[turn % apis.len()].post(path, &body).await {
            Ok(answer) if matches!(answer.status, 200 | 201) => return Ok(()),
            Ok(answer) => last = format!("{answer:?}"),
            Err(error) => last = format!("{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    bail!("{path}: {last}")
}
