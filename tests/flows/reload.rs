//! The configuration of processes that run (07-interfaces.md, Configuration): read again on SIGHUP or when the
//! file has changed, refused as a whole when it is faulty, and reported by every process.

use std::time::Duration;

use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::{pagurus, policy};
use crate::installation::{Installation, PATIENCE, call, most_at_once, until, with_actions};

/// The configuration that a process says it runs.
async fn running(engine: &Installation, node: &Node) -> Value {
    let answer = engine.env().http().get(format!("{}/readyz", node.url())).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["configuration"].clone()
}

/// Waits until every process says so of its configuration.
async fn all_say(engine: &Installation, what: &str, says: impl Fn(&Value) -> bool) {
    until(what, PATIENCE, async || {
        for node in &engine.nodes {
            if !says(&running(engine, node).await) {
                return false;
            }
        }
        true
    })
    .await;
}

pub fn hang_up(engine: &Installation) {
    for node in &engine.nodes {
        node.hang_up().unwrap();
    }
}

/// Changes the file, asks all processes to read it, and waits until they have taken it.
async fn reload(engine: &Installation, file: &str, snapshot: u64) {
    engine.env().configure(file).unwrap();
    hang_up(engine);
    let is_taken = |state: &Value| state["snapshot"] == snapshot && state["refused"] == false;
    all_say(engine, &format!("snapshot {snapshot} is taken"), is_taken).await;
}

fn log_of(node: &Node) -> String {
    std::fs::read_to_string(&node.spec.log).unwrap()
}

/// Waits for a line of a node's log: it says something in its state a moment before it does so in its log.
async fn logged(node: &Node, text: &str) -> String {
    let found = || log_of(node).lines().find(|line| line.contains(text)).map(str::to_owned);
    until(text, PATIENCE, async || found().is_some()).await;
    found().unwrap()
}

/// A file with one limit, rule or mode of each service.
fn file(word: &str, body: &str, parallel: u32, rules: &str, deny: &str, level: &str) -> String {
    format!(
        "config: {{word: {word}}}\n\
         intake: {{max_body_bytes: {body}}}\n\
         distribution: {{capacity: {{parallel_count: {parallel}, sequential_count: 1}}, flows: {{max_share_percentage: 100}}}}\n\
         execution: {{error_handling: {rules}}}\n\
         worker: {{http: {{deny: {deny}}}}}\n\
         log: {{level: {level}}}\n"
    )
}

/// An action that calls a path under a name that resolves to the world.
fn call_by_name(engine: &Installation, path: &str) -> String {
    let url = engine.world().url().replace("127.0.0.1", "localhost");
    format!(
        "- http: {{method: POST, url: \"{url}{path}\", body: {{word: \"${{config.word}}\"}}, timeout: 5s}}"
    )
}

#[tokio::test]
async fn config_a_changed_setting_takes_effect_in_every_service_without_a_restart() {
    let before = file("first", "64KiB", 1, "{}", "[]", "warn");
    let engine = Installation::configured("reload_live", &before).await;
    engine.world().program(Program::at("/down").fail(1, 503));
    engine.world().program(Program::at("/slow").delayed(Duration::from_millis(400)));
    engine.actions("says", &call_by_name(&engine, "/says")).await;
    engine.actions("down", &call("/down")).await;
    engine.actions("slow", &call("/slow")).await;
    let first = running(&engine, engine.node(Role::Worker)).await;
    assert_eq!((&first["snapshot"], &first["needsRestart"]), (&json!(1), &json!([])), "{first}");

    let many = |prefix: &'static str| {
        (0..8).map(move |n| json!({"id": format!("{prefix}-{n}"), "scenario": "slow"}))
    };
    for order in many("one-by-one") {
        engine.accepted(order).await;
    }
    let calls = engine.calls("/slow", 8).await;
    for n in 0..8 {
        engine.reach(&format!("one-by-one-{n}"), "success").await;
    }
    // A worker gets at least one place, of the two of both modes together.
    assert_eq!(most_at_once(&engine.world().calls("/slow")), 1, "{calls:?}");
    engine.run(json!({"id": "says-first", "scenario": "says"}), "success").await;
    engine.run(json!({"id": "no-rule", "scenario": "down"}), "fail").await;
    let long = json!({"id": "long", "scenario": "says", "params": {"text": "x".repeat(4096)}});
    assert_eq!(engine.submit(&long).await.status, 201);

    let rules =
        policy("{initial_interval: 100ms, multiplier: 1, max_interval: 100ms, jitter: 0, max_attempts: 3}");
    reload(&engine, &file("second", "1KiB", 500, &rules, "[]", "info"), 2).await;

    engine.world().program(Program::at("/down").fail(1, 503));
    engine.world().forget();
    for order in many("at-once") {
        engine.accepted(order).await;
    }
    for n in 0..8 {
        engine.reach(&format!("at-once-{n}"), "success").await;
    }
    assert!(most_at_once(&engine.world().calls("/slow")) > 1, "the dispatcher goes by the new capacity");
    engine.run(json!({"id": "says-second", "scenario": "says"}), "success").await;
    assert_eq!(engine.world().calls("/says")[0].body["word"], "second");
    engine.run(json!({"id": "a-rule", "scenario": "down"}), "success").await;
    let refused = engine
        .submit(&json!({"id": "too-long", "scenario": "says", "params": {"text": "x".repeat(4096)}}))
        .await;
    assert_eq!(refused.status, 413, "{refused:?}");
    let log = log_of(engine.node(Role::Notifier));
    let line = log.lines().find(|line| line.contains("the configuration was read again")).expect(&log);
    assert!(
        line.contains("intake.max_body_bytes") && line.contains(", config\"") && !line.contains("second"),
        "{line}"
    );

    // Denied from now on, though a connection to it is open.
    reload(&engine, &file("second", "1KiB", 500, &rules, "['localhost']", "info"), 3).await;
    let order = engine.run(json!({"id": "denied", "scenario": "says"}), "fail").await;
    assert!(order["error"]["message"].as_str().unwrap().contains("worker.http.allow"), "{order}");
    let page = engine.metric(engine.node(Role::Activator), "pagurus_configuration_snapshot").await;
    assert!((page - 3.0).abs() < 0.1, "{page}");
}

/// Line of the log about a file that is refused.
const INVALID: &str = "the configuration is not valid";

#[tokio::test]
async fn config_a_faulty_file_is_refused_and_the_old_one_stays() {
    let engine = Installation::configured("reload_faulty", "config: {word: good}\n").await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_millis(1500)));
    engine.actions("slow", &call("/slow")).await;
    engine.actions("says", &call_by_name(&engine, "/says")).await;
    engine.accepted(json!({"id": "meanwhile", "scenario": "slow"})).await;
    engine.calls("/slow", 1).await;

    engine
        .env()
        .configure("config: {word: bad}\nworker: {http: {timeot: 1s}}\nrecovery: {batch: 0}\n")
        .unwrap();
    hang_up(&engine);
    all_say(&engine, "the file is refused", |state| state["refused"] == true && state["snapshot"] == 1).await;
    for node in &engine.nodes {
        let line = logged(node, INVALID).await;
        assert!(line.contains("2:17: unknown key `timeot`; did you mean `timeout`?"), "{line}");
        assert!(line.contains("3:19: 0 is not between 1 and 4294967295"), "{line}");
    }
    engine.reach("meanwhile", "success").await;
    engine.run(json!({"id": "after", "scenario": "says"}), "success").await;
    assert_eq!(engine.calls("/says", 1).await[0].body["word"], "good");

    // Mended, and noticed without a signal; what needs a restart is named and stays.
    engine.env().configure("config: {word: better}\nbroker: {prefetch: 7}\n").unwrap();
    let is_taken = |state: &Value| {
        state["snapshot"] == 2
            && state["refused"] == false
            && state["needsRestart"] == json!(["broker.prefetch"])
    };
    all_say(&engine, "the mended file is taken", is_taken).await;
    let output = pagurus(&["config", "show", "--json", "--server", engine.base()]).await;
    let state: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(is_taken(&state), "{state}");
    engine.world().forget();
    engine.run(json!({"id": "mended", "scenario": "says"}), "success").await;
    assert_eq!(engine.calls("/says", 1).await[0].body["word"], "better");
    for node in &engine.nodes {
        let line = logged(node, "when the process is restarted").await;
        assert!(line.contains("broker.prefetch"), "{line}");
        let log = log_of(node);
        let count = log.matches(INVALID).count();
        assert_eq!(count, 1, "a file with a fault is reported once: {log}");
    }
}

#[tokio::test]
async fn config_many_signals_while_orders_run_end_no_process_and_lose_no_order() {
    let engine = Installation::configured("reload_burst", "config: {word: w0}\n").await;
    engine.world().program(Program::at("/says").delayed(Duration::from_millis(5)));
    engine.scenario("says", &with_actions(&call_by_name(&engine, "/says"))).await;
    for n in 0..300 {
        engine.accepted(json!({"id": format!("o-{n}"), "scenario": "says"})).await;
        // Whole, broken, gone and back, in the middle of everything.
        match n % 4 {
            0 => engine
                .env()
                .configure(&format!("config: {{word: w{n}}}\ndispatcher: {{reread: {}ms}}\n", 500 + n))
                .unwrap(),
            1 => engine.env().configure("config: [").unwrap(),
            2 => std::fs::remove_file(engine.env().configuration()).unwrap(),
            _ => {}
        }
        hang_up(&engine);
    }
    for n in 0..300 {
        engine.reach(&format!("o-{n}"), "success").await;
    }
    let processes = engine.nodes.iter().filter(|node| node.identity.alive()).count();
    assert_eq!(processes, engine.nodes.len());
    engine.env().configure("config: {word: last}\n").unwrap();
    hang_up(&engine);
    let version = "4ec12e81b510";
    all_say(&engine, "the last file is taken", |state| {
        state["refused"] == false && state["version"] == version
    })
    .await;
    engine.world().forget();
    engine.run(json!({"id": "last", "scenario": "says"}), "success").await;
    assert_eq!(engine.calls("/says", 1).await[0].body["word"], "last");
}
