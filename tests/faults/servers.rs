//! A PostgreSQL of one's own that is demoted, fails over, has no connection left, or no space (rows 23, 26, 29).
//! Never touches the server of the run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pagurus_harness::nodes::Role;
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{self, Postgres, Stop};
use pagurus_harness::process::is_root;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use tokio_postgres::{Client, NoTls};

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};
use crate::restart::tempfolder;

/// Time within which every node must notice that nothing can be written.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

pub struct Server {
    pub postgres: OfTest<Postgres>,
    _ports: Ports,
}

impl Server {
    async fn start(folder: &Path) -> Self {
        Self::start_as(folder, |postgres| postgres).await
    }

    /// A server that is prepared in a way of its own.
    pub async fn start_as(folder: &Path, prepare: impl FnOnce(Postgres) -> Postgres) -> Self {
        let ports = Ports::reserve(1, &Owner::this_process().unwrap()).unwrap();
        let postgres = Postgres::prepare(folder, &folder.with_extension("log"), ports.first()).unwrap();
        let postgres = OfTest(prepare(postgres));
        postgres.start().await.unwrap();
        Self { postgres, _ports: ports }
    }

    pub async fn session(&self, database: &str) -> Client {
        let (client, connection) =
            tokio_postgres::connect(&self.postgres.url(database), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    pub async fn with_engine(folder: &Path) -> Self {
        let server = Self::start(folder).await;
        server.postgres.create_database("engine").await.unwrap();
        server
    }

    pub fn url(&self) -> String {
        self.postgres.url("engine")
    }

    pub async fn end(self) {
        self.postgres.stop(Stop::Immediate).await.unwrap();
        // A folder that stays costs only space.
        let _ = std::fs::remove_dir_all(self.postgres.data());
    }
}

async fn all_ready(engine: &Installation, ready: bool, within: Duration) -> Duration {
    let times = join_all(engine.nodes.iter().map(|node| engine.wait_readiness(node, ready, within))).await;
    times.into_iter().max().unwrap()
}

#[tokio::test]
async fn qlt_5_a_primary_that_takes_no_writes_is_noticed_within_5_s_and_survived() {
    let folder = tempfolder("demoted");
    let server = Server::with_engine(&folder).await;
    let url = server.url();
    let engine = Installation::behind("demoted", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::with_naps("a", 30);
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    // In the sessions that are open, too: their next write is refused with SQLSTATE 25006.
    let session = server.session("postgres").await;
    let set = async |to: &str| {
        session.batch_execute("SET default_transaction_read_only = off").await.unwrap();
        session
            .batch_execute(&format!("ALTER SYSTEM SET default_transaction_read_only = {to}"))
            .await
            .unwrap();
        session.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    };
    set("on").await;
    let noticed = all_ready(&engine, false, NOTICED_WITHIN).await;
    let answer = engine.api.post("/v1/orders", &crate::load::body("no", "call", serde_json::json!({}))).await;
    assert_eq!(answer.unwrap().status, 503);
    let during = Load::with_naps("b", 10);
    during.publish(&amqp).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    set("off").await;
    let back = all_ready(&engine, true, PATIENCE).await;
    eprintln!("read-only noticed by all nodes within {noticed:?}; ready again {back:?} after its end");
    Load::check_all(&[load, during], &engine, &inbox, PATIENCE).await;
    drop(engine);
    server.end().await;
}

#[tokio::test]
async fn qlt_5_a_standby_that_is_promoted_goes_on_with_everything_that_was_confirmed() {
    let folder = tempfolder("failover");
    let primary = Server::with_engine(&folder.join("primary")).await;
    let standby = standby_of(&primary, &folder.join("standby")).await;
    // Confirmed is what both have.
    let session = primary.session("postgres").await;
    session.batch_execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await.unwrap();
    session.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let proxy = Proxy::start(&host_of(&primary.url())).await.unwrap();
    let url = proxy.url(&primary.url());
    let engine = Installation::behind("promoted", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::with_naps("a", 30);
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    let epoch = "SELECT max(epoch) FROM epochs";
    let before: i64 = engine.session().await.query_one(epoch, &[]).await.unwrap().get(0);
    primary.postgres.stop(Stop::Immediate).await.unwrap();
    // The address leads to the standby before it is the primary, as it does where names are moved first.
    proxy.redirect(&host_of(&standby.url())).await.unwrap();
    proxy.set(Mode::Cut);
    proxy.set(Mode::Pass);
    all_ready(&engine, false, NOTICED_WITHIN).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let still = all_ready(&engine, false, NOTICED_WITHIN).await;
    let during = Load::with_naps("b", 10);
    during.publish(&amqp).await;
    let promoted = Instant::now();
    standby.session("postgres").await.query("SELECT pg_promote()", &[]).await.unwrap();
    all_ready(&engine, true, PATIENCE).await;
    eprintln!("not ready at the standby ({still:?}); all ready {:?} after its promotion", promoted.elapsed());
    Load::check_all(&[load, during], &engine, &inbox, PATIENCE).await;
    let after: i64 = engine.session().await.query_one(epoch, &[]).await.unwrap().get(0);
    assert!(after > before, "epochs: {before}, then {after}");
    drop(engine);
    standby.end().await;
    primary.end().await;
    let _ = std::fs::remove_dir_all(&folder);
}

/// A hot standby, made by a base backup.
async fn standby_of(primary: &Server, folder: &Path) -> Server {
    let port = primary.postgres.port().to_string();
    let backup = Command::new(postgres::binaries().unwrap().join("pg_basebackup"))
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            postgres::USER,
            "-X",
            "stream",
            "-c",
            "fast",
            "-R",
            "-D",
        ])
        .arg(folder)
        .output()
        .unwrap();
    assert!(backup.status.success(), "{}", String::from_utf8_lossy(&backup.stderr));
    if is_root() {
        let owner = Command::new("chown").args(["-R", "postgres:postgres"]).arg(folder).status().unwrap();
        assert!(owner.success());
    }
    Server::start(folder).await
}

#[tokio::test]
async fn qlt_5_connections_used_up_by_others_make_nodes_wait_and_not_die() {
    let folder = tempfolder("connections");
    let server = Server::with_engine(&folder).await;
    let url = server.url();
    let mut engine = Installation::behind("no_connections", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::with_naps("a", 20);
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    let mut others = Vec::new();
    // Somebody else takes every connection there is, the reserved ones too.
    while let Ok((client, connection)) =
        tokio_postgres::connect(&server.postgres.url("postgres"), NoTls).await
    {
        others.push((client, tokio::spawn(connection)));
    }
    assert!(others.len() > 100, "{} connections", others.len());
    let during = Load::with_naps("b", 10);
    during.publish(&amqp).await;
    // Who starts now finds none, and waits.
    let worker = engine.nodes.iter().position(|node| node.spec.role == Role::Worker).unwrap();
    engine.nodes[worker].kill().await.unwrap();
    while let Ok((client, connection)) =
        tokio_postgres::connect(&server.postgres.url("postgres"), NoTls).await
    {
        others.push((client, tokio::spawn(connection)));
    }
    let release = async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        others.clear();
    };
    let (again, ()) = tokio::join!(engine.env.restart(&engine.nodes[worker]), release);
    engine.nodes[worker] = again.unwrap();
    Load::check_all(&[load, during], &engine, &inbox, 2 * PATIENCE).await;
    drop(engine);
    server.end().await;
}

/// A small file system of its own in memory; it goes with this value.
struct Small(PathBuf);

impl Small {
    fn mount(folder: &Path, megabytes: u32) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let size = format!("size={megabytes}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).status().unwrap();
        assert!(mounted.success(), "no file system could be mounted at {}", folder.display());
        Self(folder.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // A process that still uses it keeps it until it is done.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn qlt_5_a_disk_of_postgres_that_is_full_and_freed_costs_nothing_but_time() {
    if !is_root() {
        eprintln!("not shown here: only root may mount a small file system");
        return;
    }
    let folder = tempfolder("full_disk");
    let small = Small::mount(&folder.join("disk"), 160);
    let server = Server::with_engine(&folder.join("disk/data")).await;
    let url = server.url();
    let engine = Installation::behind("full_disk", |_| ("PAGURUS__DATABASE__URL", url)).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::with_naps("a", 30);
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    let ballast = folder.join("disk/ballast");
    // On a thread of its own: the world of the test must go on answering meanwhile.
    let path = ballast.clone();
    let fill = tokio::task::spawn_blocking(move || {
        let mut zeros = std::io::Read::take(std::io::repeat(0), 1 << 30);
        std::fs::File::create(path).and_then(|mut file| std::io::copy(&mut zeros, &mut file))
    });
    let filled = fill.await.unwrap();
    assert!(filled.is_err(), "a gibibyte fits into 160 MB");
    // Until the log has no room for its next file: the server goes down then, or refuses what is written.
    let during = Load::with_naps("b", 30);
    during.publish(&amqp).await;
    let begun = Instant::now();
    let mut refused = false;
    while !refused && begun.elapsed() < PATIENCE {
        let note = "x".repeat(20_000);
        let order =
            crate::load::body(&format!("big-{}", begun.elapsed().as_nanos()), "call", serde_json::json!({}));
        let mut order = order;
        order["params"]["note"] = note.into();
        refused = engine.api.post("/v1/orders", &order).await.unwrap().status == 503;
    }
    assert!(refused, "the disk never got full");
    std::fs::remove_file(&ballast).unwrap();
    server.postgres.start().await.unwrap();
    all_ready(&engine, true, PATIENCE).await;
    Load::check_all(&[load, during], &engine, &inbox, 2 * PATIENCE).await;
    drop(engine);
    server.end().await;
    drop(small);
    let _ = std::fs::remove_dir_all(&folder);
}
