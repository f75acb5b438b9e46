//! Running it: migrations (07-interfaces.md, RUN-4).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Output;

use pagurus_harness::env::Env;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE};

/// Sleeps, waits, calls, and tells of its end: every kind of message between the services is sent for it.
const ALL_KINDS: &str = "initialState: a
targetStates: [done]
states:
  a: {entryPoint: true, actions: [{sleep: {for: 100ms}}], on: {sleep: rests}}
  rests: {kind: sleeping, on: {timeout: calls}}
  calls:
    actions:
      - http: {method: POST, url: \"${config.demo}/do\", body: {order: \"${order.id}\"}, timeout: 5s}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

async fn migrate(env: &Env) -> Output {
    let program = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let mut command = tokio::process::Command::new(program);
    command.args(["--json", "migrate"]).env("PAGURUS__DATABASE__URL", env.database_url());
    command.output().await.unwrap()
}

fn applied(output: &Output) -> usize {
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["applied"].as_array().unwrap().len()
}

#[tokio::test]
async fn run_4_migrations_run_once_however_many_start_them() {
    let env = Env::empty("run_4").await.unwrap();
    let both = tokio::join!(migrate(&env), migrate(&env));
    let counts = [applied(&both.0), applied(&both.1)];
    assert!(counts.contains(&0) && counts.iter().sum::<usize>() > 0, "one of them did it all: {counts:?}");
    assert_eq!(applied(&migrate(&env).await), 0);
    let nodes = env.start_all().await.unwrap();
    let intake = nodes.iter().find(|node| node.spec.role == Role::Intake).unwrap();
    assert_eq!(env.api(intake).get("/v1/orders").await.unwrap().body["items"], json!([]));
}

// A rolling upgrade: nodes of a later version tell those of this one what they do not understand.
#[tokio::test]
async fn run_4_messages_of_another_shape_are_counted_and_lose_nothing() {
    let engine = Installation::start("run_4_shapes").await;
    engine.scenario("all", ALL_KINDS).await;
    let amqp = engine.env().amqp().await.unwrap();
    let notices = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "told").await.unwrap();
    let nodes = engine.get("/v1/nodes").await.unwrap().success().unwrap();
    let worker = nodes["items"].as_array().unwrap().iter().find(|node| node["role"] == "worker").unwrap();
    let (news, work) = (format!("{}.news", engine.env().prefix()), format!("{}.work", engine.env().prefix()));
    let strange: [(&str, String, &[u8]); 8] = [
        (&news, "dispatch".into(), br#"{"ready": [{"number": "1"}]}"#),
        (&news, "dispatch".into(), br#"{"refused": [{"no": 1, "attempt": 1, "node": 1, "serial": 1, "epoch": 1, "why": "a_later_word"}]}"#),
        (&news, "due".into(), br#"{"due": {"wait": 1}}"#),
        (&news, "outbox.0".into(), br#"{"rows": 7}"#),
        (&work, "break-off".into(), br#"{"stages": 7}"#),
        (&work, "systems".into(), br#"{"closed": 7}"#),
        (&work, worker["incarnation"].to_string(), br#"{"epoch": "later", "orders": []}"#),
        (&work, worker["incarnation"].to_string(), b""),
    ];
    for (exchange, key, body) in &strange {
        amqp.publish(exchange, key, body, &lapin::BasicProperties::default()).await.unwrap();
    }
    let counted = BTreeMap::from([
        (("worker", "hand_outs"), 2.0),
        (("worker", "break_off"), 1.0),
        (("worker", "systems"), 1.0),
        (("dispatcher", "news"), 2.0),
        (("activator", "due"), 1.0),
        (("notifier", "outbox"), 1.0),
    ]);
    for ((role, message), count) in counted {
        let node = engine.node(role.parse().unwrap());
        let series = format!("pagurus_unreadable_messages_total{{message=\"{message}\"}}");
        engine.until_metric(node, &series, |value| value >= count).await;
    }
    // Among such messages orders go their way.
    let notify = json!({"url": "amqp://?key=told", "correlationId": "c"});
    let ids: Vec<String> = (0..20).map(|number| format!("o{number}")).collect();
    for (id, (exchange, key, body)) in ids.iter().zip(strange.iter().cycle()) {
        engine.accepted(json!({"id": id, "scenario": "all", "notify": notify})).await;
        amqp.publish(exchange, key, body, &lapin::BasicProperties::default()).await.unwrap();
    }
    for id in &ids {
        engine.reach(id, "success").await;
    }
    let received = notices.wait(PATIENCE, |all| all.len() >= ids.len()).await.unwrap();
    assert_eq!(received.len(), ids.len());
    assert_eq!(engine.world().calls("/do").len(), ids.len(), "nothing ran twice");
}

/// The commands of the README that follow an order, which is read by a shell as it stands there.
fn tour() -> &'static str {
    let readme = include_str!("../../README.md");
    let mut blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains("order submit")).unwrap()
}

#[tokio::test]
async fn run_1_the_tour_of_the_readme_works_word_for_word() {
    let engine = Installation::start("run_1_tour").await;
    let scenario = include_str!("../../examples/scenarios/one-action.yaml");
    engine.put_scenario("one-action", scenario).await.unwrap();
    let folder = engine.env().logs().join("checkout");
    std::fs::create_dir_all(folder.join(".dev")).unwrap();
    // What `./dev run` writes there, as far as the commands need it.
    let programs = std::env::var("PAGURUS_TEST_BIN").unwrap();
    let page = format!("export PAGURUS_SERVER='{}'\nexport PAGURUS_BIN='{programs}'\n", engine.base());
    std::fs::write(folder.join(".dev/env"), page).unwrap();
    let mut shell = tokio::process::Command::new("sh");
    let output = shell.args(["-e", "-u", "-c", tour()]).current_dir(&folder).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("first-1") && text.contains("success") && text.contains("one-action"), "{text}");
    assert_eq!(engine.order("first-1").await.unwrap()["status"], "success");
    assert_eq!(engine.world().calls("/do").len(), 1);
}
