//! Nodes, and a database, whose wall clocks are wrong, and jump (rows 49 and 50). A small library before that of the system
//! shifts the clock of one process; it is built here with the compiler that links our programs, too.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pagurus_harness::client::amqp::Inbox;
use pagurus_harness::client::items;
use pagurus_harness::env::Env;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, body, notified};
use crate::restart::tempfolder;
use crate::servers::Server;

const HOUR: i64 = 3600;
const MONTH: i64 = 30 * 24 * HOUR;
/// The first clocks of the roles, in the order of their start.
const WRONG: [i64; 5] = [HOUR, -HOUR, MONTH, -MONTH, HOUR];
/// Time that a long nap lasts.
const NAP: Duration = Duration::from_secs(3);

const LONG_NAP: &str = r#"
scenario: long-nap
initialState: nap
targetStates: [done]
states:
  nap:
    entryPoint: true
    actions: [{sleep: {for: 3s}}]
    on: {sleep: napping}
  napping: {kind: sleeping, on: {timeout: call}}
  call:
    actions:
      - http: {method: POST, url: "${config.demo}/after-nap", body: {order: "${order.id}"}, timeout: 10s}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// The clocks of the nodes.
struct Clocks {
    library: PathBuf,
    folder: PathBuf,
}

impl Clocks {
    fn build(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let library = folder.join("shifted_clock.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/shifted_clock.c");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
        assert!(built.unwrap().success(), "the library of the clock could not be built");
        Self { library, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Shifts the clock of this name by this number of seconds from now on.
    fn set(&self, name: &str, seconds: i64) {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.file(name))
            .unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }
}

/// The incarnation of each node, which are all in service.
async fn lives(engine: &Installation) -> BTreeMap<String, Value> {
    let nodes = items(engine.api.get("/v1/nodes").await.unwrap().success().unwrap());
    let lost: Vec<&Value> =
        nodes.iter().filter(|node| !matches!(node["status"].as_str(), Some("active" | "standby"))).collect();
    assert!(lost.is_empty(), "{lost:#?}");
    nodes
        .iter()
        .map(|node| (node["name"].as_str().unwrap().to_owned(), node["incarnation"].clone()))
        .collect()
}

/// A stop that the dispatcher confirmed holds at once, though the clock of the intake is ahead and that of the dispatcher
/// behind, and one with an end is over in time.
async fn stops_hold_by_the_clock_of_the_database(engine: &Installation) {
    let stop = async |asked: Value| {
        let stopped = engine.api.post("/v1/flows/stop", &asked).await.unwrap().success().unwrap();
        assert_eq!(stopped["confirmed"], true, "{stopped}");
    };
    stop(json!({"keyword": "long-nap", "reason": "a test"})).await;
    for (id, scenario) in [("held", "long-nap"), ("free", "call")] {
        Load { bodies: vec![body(id, scenario, json!({}))] }.post(engine).await;
    }
    engine.api.wait_status("free", "success", PATIENCE).await.unwrap();
    let held = engine.api.get("/v1/orders/held").await.unwrap().success().unwrap();
    assert_eq!(held["status"], "new", "its flow is stopped: {held}");
    stop(json!({"keyword": "long-na", "reason": "a test", "for": "2s", "resume": true})).await;
    let lifted = json!({"keyword": "long-nap", "reason": "a test"});
    engine.api.post("/v1/flows/resume", &lifted).await.unwrap().success().unwrap();
    engine.api.wait_status("held", "success", PATIENCE).await.unwrap();
}

#[tokio::test]
async fn qlt_5_nodes_whose_clocks_are_wrong_and_jump_do_nothing_early_lose_nothing_and_nobody() {
    let clocks = Clocks::build(tempfolder("clocks"));
    let env = Env::new("wrong_clocks").await.unwrap();
    Installation::prepare(&env);
    // The clocks are wrong by far more; a machine that does other things for a second is not meant.
    env.set("PAGURUS__NODE__LOST_AFTER", "10s");
    let library = clocks.library.to_str().unwrap();
    let mut nodes = Vec::new();
    for (role, seconds) in Role::ALL.into_iter().zip(WRONG) {
        clocks.set(role.as_str(), seconds);
        let file = clocks.file(role.as_str());
        let settings = [("LD_PRELOAD", library), ("SHIFTED_CLOCK", file.to_str().unwrap())];
        nodes.push(env.start_with(role, &format!("{role}-1"), &settings).await.unwrap());
    }
    let engine = Installation::of(env, nodes).await;
    engine.api.put_scenario("long-nap", LONG_NAP).await.unwrap();
    let before = lives(&engine).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    stops_hold_by_the_clock_of_the_database(&engine).await;
    engine.env.world().forget();

    let load = Load::with_naps("wrong", 20);
    load.publish(&amqp).await;
    let begun = Instant::now();
    let naps = Load {
        bodies: (0..10).map(|number| body(&format!("nap-{number}"), "long-nap", json!({}))).collect(),
    };
    naps.post(&engine).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    // Back and forth, while it goes on.
    for round in 0..6 {
        for (role, seconds) in Role::ALL.into_iter().zip(WRONG) {
            clocks.set(role.as_str(), if round % 2 == 0 { -seconds } else { seconds });
        }
        let more = Load::with_naps(&format!("jump-{round}"), 2);
        more.publish(&amqp).await;
        more.check(&engine, &inbox, 2 * PATIENCE).await;
    }
    Load::check_all(&[load, naps], &engine, &inbox, 2 * PATIENCE).await;
    for call in engine.env.world().calls("/after-nap") {
        let slept = call.started.duration_since(begun);
        assert!(slept >= NAP, "{} was woken after {slept:?}", call.body);
    }
    assert_eq!(lives(&engine).await, before, "no node was lost, and none began a new life");
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&clocks.folder);
}

const THREE_QUARTERS: &str = r#"
scenario: three-quarters
initialState: nap
states:
  nap: {actions: [{sleep: {for: 45m}}], on: {sleep: napping}}
  napping: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
"#;

/// Sets the clock back by an hour while a queue is in use: its members go on in the order of their registration.
async fn set_back_with_a_queue_in_use(engine: &Installation, clocks: &Clocks) {
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.env.world().forget();
    engine.env.world().program(Program::at("/do").first(1, &held));
    let member = |number: usize| {
        body(
            &format!("m-{number}"),
            "call",
            json!({"mode": "sequential", "queue": "q", "params": {"queue": "m"}}),
        )
    };
    let members = Load { bodies: (0..6).map(member).collect() };
    for (number, order) in members.bodies.iter().enumerate() {
        if number == 3 {
            engine.env.world().wait_calls("/do", 1, PATIENCE).await.unwrap();
            clocks.set("database", 0);
        }
        engine.api.post("/v1/orders", order).await.unwrap().success().unwrap();
    }
    gate.send_replace(true);
    for id in members.ids() {
        engine.api.wait_status(&id, "success", PATIENCE).await.unwrap();
    }
    let calls = engine.env.world().calls("/do");
    let called: Vec<&str> = calls.iter().filter_map(|call| call.body["order"].as_str()).collect();
    assert_eq!(called, ["m-0", "m-1", "m-2", "m-3", "m-4", "m-5"]);
}

/// The death of a worker without a successor of its name: its silence tells.
async fn a_silent_worker_is_found(engine: &mut Installation, inbox: &Inbox, settings: &[(&str, &str)]) {
    let gate = watch::Sender::new(false);
    engine
        .env
        .world()
        .program(Program::at("/do").first(1, &Step { hold: Some(gate.subscribe()), ..Step::fine() }));
    let called = engine.env.world().calls("/do").len();
    let last = Load { bodies: vec![body("last", "call", json!({}))] };
    last.post(engine).await;
    engine.env.world().wait_calls("/do", called + 1, PATIENCE).await.unwrap();
    engine.node(Role::Worker).kill().await.unwrap();
    let other = engine.env.start_with(Role::Worker, "worker-2", settings).await.unwrap();
    last.check(engine, inbox, 2 * PATIENCE).await;
    engine.nodes.push(other);
}

// Times are compared by the clock of the database alone, so that all that is due is due to everybody at once.
#[tokio::test]
async fn qlt_5_a_database_whose_clock_jumps_on_and_back_loses_nothing_and_keeps_the_order_of_queues() {
    // A folder that the user of the server may look into, wherever the checkout is.
    let clocks =
        Clocks::build(Path::new("/var/tmp").join(format!("pagurus-database-clock-{}", std::process::id())));
    clocks.set("database", 0);
    let folder = tempfolder("database-clock");
    let (library, file) = (clocks.library.clone(), clocks.file("database"));
    let server = Server::start_as(&folder, |postgres| {
        postgres
            .with_variable("LD_PRELOAD", library.to_str().unwrap())
            .with_variable("SHIFTED_CLOCK", file.to_str().unwrap())
    })
    .await;
    server.postgres.create_database("engine").await.unwrap();
    let url = server.url();
    let settings = [("PAGURUS__DATABASE__URL", url.as_str()), ("PAGURUS__NODE__LOST_AFTER", "10s")];
    let mut engine = Installation::start("database_clock", &settings).await;
    engine.api.put_scenario("three-quarters", THREE_QUARTERS).await.unwrap();
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;

    // On by an hour in the middle of a load: what sleeps for less is due at once, all of it.
    let long = Load {
        bodies: (0..200).map(|number| body(&format!("long-{number}"), "three-quarters", json!({}))).collect(),
    };
    long.post(&engine).await;
    for id in long.ids() {
        engine.api.wait_status(&id, "sleep", PATIENCE).await.unwrap();
    }
    let load = Load::with_naps("before", 20);
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    clocks.set("database", HOUR);
    let during = Load::with_naps("on", 20);
    during.publish(&amqp).await;
    Load::check_all(&[long, load, during], &engine, &inbox, 2 * PATIENCE).await;

    set_back_with_a_queue_in_use(&engine, &clocks).await;

    // A process that dies after the jump is recovered from as usual, and what sleeps is woken.
    for role in [Role::Dispatcher, Role::Worker, Role::Activator, Role::Notifier] {
        engine.node(role).kill().await.unwrap();
        let again = engine.env.restart(engine.node(role)).await.unwrap();
        *engine.nodes.iter_mut().find(|node| node.spec.role == role).unwrap() = again;
        let load = Load::with_naps(&format!("back-{role}"), 5);
        load.publish(&amqp).await;
        load.check(&engine, &inbox, 2 * PATIENCE).await;
    }
    a_silent_worker_is_found(&mut engine, &inbox, &settings).await;
    // Walks over all orders, the consistency check among them, go on when their time comes round again.
    engine.rows_are_sound().await;
    drop(engine);
    server.end().await;
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&clocks.folder);
}
