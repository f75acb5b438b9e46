//! After the loss of a server's data (REC-14): the database restored from a backup, the broker started empty; and the
//! consistency check beside a load with kills, where it must find nothing (REC-6).

use std::process::{Command, Output};
use std::time::Duration;

use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::nodes::Role;
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres;
use pagurus_harness::rabbit::{PORTS, Rabbit};
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{CALL, Installation, PATIENCE};
use crate::load::{Load, body};
use crate::restart::tempfolder;

fn recover(engine: &Installation, more: &[&str]) -> Output {
    let program = std::path::PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let mut command = Command::new(program);
    command.args(["--json", "recover", "--reason", "the disk was lost"]).args(more);
    command.env("PAGURUS__DATABASE__URL", engine.env.database_url()).env("PAGURUS__NODE__LOST_AFTER", "2s");
    command.env("PAGURUS__NODE__HEARTBEAT", "200ms").output().unwrap()
}

fn run(program: &str, arguments: &[&str]) {
    let program = postgres::binaries().unwrap().join(program);
    let output = Command::new(&program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn rec_14_after_a_restore_of_postgres_nothing_that_is_known_from_before_is_taken_for_new() {
    let mut engine = Installation::start("pg_restore", &[]).await;
    let load = Load::new("before");
    load.post(&engine).await;
    engine.env.world().wait_calls("/do", 20, PATIENCE).await.unwrap();
    let url = engine.env.database_url();
    let folder = tempfolder("backup");
    let dump = folder.join("dump.sql");
    run("pg_dump", &["--no-owner", "-f", dump.to_str().unwrap(), &url]);
    let lost = Load::new("lost");
    lost.post(&engine).await;
    let last = engine.api.wait_status(lost.ids().last().unwrap(), "success", PATIENCE).await.unwrap();
    let last = last["no"].as_i64().unwrap();
    for node in &engine.nodes {
        node.kill().await.unwrap();
    }
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    let server = url.replace(&name, "postgres");
    postgres::drop_database(&server, &name).await.unwrap();
    postgres::create_database(&server, &name).await.unwrap();
    run("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-f", dump.to_str().unwrap(), &url]);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let output = recover(&engine, &[]);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["findings"], json!({}), "a backup is one moment: {report}");
    assert!(
        report["nodes"].as_i64().unwrap() >= 5 && report["epoch"].as_i64().unwrap() > 1_000_000,
        "{report}"
    );
    for index in 0..engine.nodes.len() {
        engine.nodes[index] = engine.env.restart(&engine.nodes[index]).await.unwrap();
    }
    engine.api = engine.env.api(&engine.nodes[0]);
    for id in load.ids() {
        let order = engine.api.wait_status(&id, "success", 2 * PATIENCE).await.unwrap();
        assert!(order["error"].is_null(), "{order}");
    }
    let answer = engine.api.post("/v1/orders", &body("after", "call", json!({}))).await.unwrap();
    answer.success().unwrap();
    let order = engine.api.wait_status("after", "success", PATIENCE).await.unwrap();
    assert!(order["no"].as_i64().unwrap() > last + 1_000_000, "no number is given twice: {order}");
    // The called system saw calls of which the restored database knows nothing: only the rows are judged.
    engine.rows_are_sound().await;
    let _ = std::fs::remove_dir_all(&folder);
}

/// Reads one number from the database.
async fn number(database: &tokio_postgres::Client, query: &str) -> i64 {
    database.query_one(query, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn rec_14_recover_beside_running_services_is_refused_and_by_force_it_voids_what_they_hold() {
    const EPOCH: &str = "SELECT max(epoch)::bigint FROM epochs";
    const RECOVERED: &str = "SELECT count(*) FROM audit WHERE action = 'recover'";
    const LIVES: &str = "SELECT max(incarnation)::bigint FROM nodes";
    let engine = Installation::start("recover_force", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let database = engine.session().await;
    let (gate, _) = watch::channel(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.env.world().program(Program::at("/do").first(10, &held).delayed(CALL));
    let load = Load::new("a");
    load.post(&engine).await;
    engine.env.world().wait_calls("/do", 10, PATIENCE).await.unwrap();
    let (epoch, last_life) = (number(&database, EPOCH).await, number(&database, LIVES).await);
    let refused = recover(&engine, &[]);
    assert_eq!(refused.status.code(), Some(3), "refused by the present state: {refused:?}");
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    for word in ["services are running", "worker worker-1", "--force"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(number(&database, RECOVERED).await, 0, "what was refused was not done");
    // A lease that was renewed late may have changed it, but a recovery adds far more.
    assert!(number(&database, EPOCH).await < epoch + 1_000_000);
    let output = recover(&engine, &["--force"]);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["nodes"].as_i64().unwrap() >= 5, "all lives end: {report}");
    assert!(report["stages"].as_i64().unwrap() >= 10, "those whose calls have no answer yet: {report}");
    gate.send_replace(true);
    assert!(number(&database, EPOCH).await > epoch + 1_000_000);
    let line = database.query_one("SELECT reason, detail FROM audit WHERE action = 'recover'", &[]).await;
    let line = line.unwrap();
    assert_eq!(line.get::<_, &str>("reason"), "the disk was lost");
    let detail: Value = serde_json::from_str(line.get("detail")).unwrap();
    assert_eq!(detail["force"], json!(true), "{detail}");
    assert_eq!(detail["beside"].as_array().unwrap().len(), 5, "{detail}");
    // Nobody restarts them: each begins another life by itself, and what it held before is void.
    for id in load.ids() {
        let order = engine.api.wait_status(&id, "success", 2 * PATIENCE).await.unwrap();
        assert!(order["error"].is_null(), "{order}");
    }
    assert!(number(&database, LIVES).await > last_life + 1_000_000, "no number of a life is given twice");
    load.check(&engine, &inbox, 2 * PATIENCE).await;
    engine.holds().await;
}

#[tokio::test]
async fn rec_14_rabbitmq_that_has_lost_all_of_its_data_is_set_up_again_and_the_engine_goes_on() {
    let folder = tempfolder("rabbitmq_lost");
    let ports = Ports::reserve(PORTS, &Owner::this_process().unwrap()).unwrap();
    let broker = OfTest(Rabbit::prepare(&folder, ports.first(), false).unwrap());
    broker.start().await.unwrap();
    let url = broker.url();
    let engine = Installation::behind("broker_lost", |_| ("PAGURUS__BROKER__URL", url.clone())).await;
    let load = Load::new("a");
    load.post(&engine).await;
    engine.env.world().wait_calls("/do", 10, PATIENCE).await.unwrap();
    broker.kill().await.unwrap();
    std::fs::remove_dir_all(folder.join("data")).unwrap();
    broker.start().await.unwrap();
    for node in &engine.nodes {
        engine.wait_readiness(node, true, 2 * PATIENCE).await;
    }
    for id in load.ids() {
        let order = engine.api.wait_status(&id, "success", 2 * PATIENCE).await.unwrap();
        assert!(order["error"].is_null(), "{order}");
    }
    // Both transports work again, too.
    let amqp = Amqp::connect(&url, engine.env.prefix()).await.unwrap();
    let more = Load::new("b");
    more.publish(&amqp).await;
    for id in more.ids() {
        engine.api.wait_status(&id, "success", 2 * PATIENCE).await.unwrap();
    }
    engine.rows_are_sound().await;
    drop(engine);
    broker.stop().await.unwrap();
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test]
async fn rec_6_the_check_finds_nothing_beside_a_load_with_kills() {
    let settings = [
        ("PAGURUS__RECOVERY__CHECK__RATE", "20000"),
        ("PAGURUS__RECOVERY__CHECK__CONFIRM_AFTER", "200ms"),
        ("PAGURUS__RECOVERY__CHECK__FIRST", "call ask"),
    ];
    let mut engine = Installation::start("check_load", &settings).await;
    let (database, connection) =
        tokio_postgres::connect(&engine.env.database_url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut ids = Vec::new();
    for (round, role) in
        [Role::Worker, Role::Dispatcher, Role::Activator, Role::Worker].into_iter().enumerate()
    {
        let load = Load::new(&format!("r{round}"));
        load.post(&engine).await;
        engine.env.world().wait_calls("/do", round * 100 + 10, PATIENCE).await.unwrap();
        engine.node(role).kill().await.unwrap();
        let again = engine.env.restart(engine.node(role)).await.unwrap();
        // The next kill of this role is of this one.
        *engine.nodes.iter_mut().find(|node| node.spec.role == role).unwrap() = again;
        ids.extend(load.ids());
    }
    for id in &ids {
        engine.api.wait_status(id, "success", 2 * PATIENCE).await.unwrap();
    }
    let rounds = "SELECT coalesce(max(rounds), 0) FROM walks WHERE name = 'check'";
    let rounds: i64 = database.query_one(rounds, &[]).await.unwrap().get(0);
    assert!(rounds >= 1, "it never came round");
    let found = "SELECT (SELECT count(*) FROM history WHERE kind = 'checked') + (SELECT count(*) FROM inconsistencies)";
    let found: i64 = database.query_one(found, &[]).await.unwrap().get(0);
    assert_eq!(found, 0, "findings in {rounds} rounds over {} orders", ids.len());
}
