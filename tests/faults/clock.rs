//! Nodes whose wall clocks are wrong, and jump (row 49). A small library before that of the system shifts the clock of one
//! process; it is built here with the compiler that links our programs, too.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pagurus_harness::client::items;
use pagurus_harness::env::Env;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, body, notified};
use crate::restart::tempfolder;

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

    fn file(&self, role: Role) -> PathBuf {
        self.folder.join(role.as_str())
    }

    /// The clock of a role is wrong by so many seconds from now on.
    fn set(&self, role: Role, seconds: i64) {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.file(role))
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

#[tokio::test]
async fn qlt_5_nodes_whose_clocks_are_wrong_and_jump_do_nothing_early_lose_nothing_and_nobody() {
    let clocks = Clocks::build(tempfolder("clocks"));
    let env = Env::new("wrong_clocks").await.unwrap();
    Installation::prepare(&env);
    let library = clocks.library.to_str().unwrap();
    let mut nodes = Vec::new();
    for (role, seconds) in Role::ALL.into_iter().zip(WRONG) {
        clocks.set(role, seconds);
        let file = clocks.file(role);
        let settings = [("LD_PRELOAD", library), ("SHIFTED_CLOCK", file.to_str().unwrap())];
        nodes.push(env.start_with(role, &format!("{role}-1"), &settings).await.unwrap());
    }
    let engine = Installation::of(env, nodes).await;
    engine.api.put_scenario("long-nap", LONG_NAP).await.unwrap();
    let before = lives(&engine).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;

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
            clocks.set(role, if round % 2 == 0 { -seconds } else { seconds });
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
