//! A thing that is large is bounded, and costs nobody else anything (QLT-3, QLT-8).

use std::fs;

use lapin::BasicProperties;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{Installation, PATIENCE, call};

/// The most memory that the node of a role has held, in megabytes.
pub fn most_megabytes(engine: &Installation, role: Role) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", engine.node(role).identity.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() / 1024
}

/// A list of numbers of nearly a mebibyte: the tree of nothing else is so much larger than its text.
fn numbers() -> Value {
    Value::Array(vec![json!(1); 500_000])
}

#[tokio::test]
async fn qlt_3_long_answers_are_bounded_and_short_ones_go_on_meanwhile() {
    let engine = Installation::with("memory_answers", &[("PAGURUS__WORKER__MAX_HELD_BYTES", "8MiB")]).await;
    engine.world().program(Program::at("/long").then_answer(200, numbers()));
    let (gate, opened) = watch::channel(false);
    let held = Step { hold: Some(opened), ..Step::fine() };
    engine.world().program(Program::at("/hold").then(held));
    let get = |name: &str| {
        format!(
            "- http: {{method: GET, url: \"${{config.demo}}/long\", name: {name}, timeout: 60s, \
             save: {{{name}: \"${{responses.{name}.body.len()}}\"}}}}\n"
        )
    };
    let hold = "- http: {method: POST, url: \"${config.demo}/hold\", timeout: 5m}\n- script: 'result(vars)'";
    engine.actions("long", &format!("{}{}{hold}", get("first"), get("second"))).await;
    engine.actions("short", &call("/short")).await;
    for number in 0..40 {
        engine.accepted(json!({"id": format!("long-{number}"), "scenario": "long"})).await;
    }
    engine.calls("/hold", 1).await;
    // Room is scarce until the gate opens; who needs none of it does not wait.
    engine.run(json!({"id": "short", "scenario": "short"}), "success").await;
    gate.send_replace(true);
    for number in 0..40 {
        let order = engine.wait_status(&format!("long-{number}"), "success", PATIENCE * 3).await.unwrap();
        assert_eq!(order["result"], json!({"first": 500_000, "second": 500_000}), "{order}");
    }
    let most = most_megabytes(&engine, Role::Worker);
    assert!(most < 300, "the worker held {most} MB");
}

#[tokio::test]
async fn qlt_3_an_order_goes_on_with_a_version_that_has_left_memory() {
    let engine =
        Installation::with("memory_versions", &[("PAGURUS__SCENARIO__MAX_CACHED_BYTES", "2KiB")]).await;
    let rests = |path: &str| {
        format!(
            "initialState: rest\ncalls:\n  say: {{answer: \"{path}\"}}\nstates:\n  \
             rest: {{actions: [{{sleep: {{for: 10m}}}}], on: {{sleep: resting}}}}\n  \
             resting: {{kind: sleeping, on: {{timeout: done, call:go: go}}}}\n  \
             go:\n    actions:\n      {}\n    on: {{success: done, fail: failed}}\n  \
             done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n",
            call(path)
        )
    };
    engine.scenario("rests", &rests("/old")).await;
    engine.run(json!({"id": "old", "scenario": "rests"}), "sleep").await;
    for number in 0..20 {
        engine.scenario("rests", &rests(&format!("/new-{number}"))).await;
    }
    engine.run(json!({"id": "new", "scenario": "rests"}), "sleep").await;
    engine.run(json!({"id": "asked", "scenario": "rests", "scenarioVersion": 2}), "sleep").await;
    for (id, answer) in [("old", "/old"), ("new", "/new-19"), ("asked", "/new-0")] {
        let said = engine.act(id, "calls?timeout=10s", &json!({"name": "say"})).await;
        assert_eq!((said.status, &said.body["answer"]), (200, &json!(answer)), "{id}: {said:?}");
        engine.act(id, "calls?timeout=10s", &json!({"name": "go"})).await;
        engine.reach(id, "success").await;
        assert_eq!(engine.calls(answer, 1).await.len(), 1);
    }
    let unknown = engine.submit(&json!({"id": "none", "scenario": "rests", "scenarioVersion": 22})).await;
    assert_eq!(unknown.body["type"], "urn:pagurus:problem:unknown-scenario", "{unknown:?}");
}

#[tokio::test]
async fn qlt_8_a_message_that_names_no_id_is_reported_and_is_no_failure_of_ours() {
    let engine = Installation::start("memory_ids").await;
    engine.actions("short", &call("/short")).await;
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let ids = [json!("a\u{0}b"), json!("a\nb"), json!(""), json!("x".repeat(300)), json!(7), Value::Null];
    let mut sent = 0;
    for key in ["order.call", "order.cancel", "order.restart"] {
        for id in &ids {
            let mut body = json!({"id": id});
            if key == "order.call" {
                body["name"] = json!("say");
            }
            let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
            client.publish(&exchange, key, body.to_string().as_bytes(), &properties).await.unwrap();
            sent += 1;
        }
    }
    engine.run(json!({"id": "canary", "scenario": "short"}), "success").await;
    for receipt in receipts.wait(PATIENCE, |all| all.len() == sent).await.unwrap() {
        let error = &receipt.body["error"];
        let said = (&receipt.body["status"], &error["type"], &error["pointer"]);
        assert_eq!(
            said,
            (&json!("rejected"), &json!("urn:pagurus:problem:invalid"), &json!("/id")),
            "{receipt:?}"
        );
    }
}

#[tokio::test]
async fn qlt_8_an_order_starts_a_bounded_number_of_others() {
    let engine = Installation::with("memory_children", &[("PAGURUS__SCENARIO__MAX_CHILDREN", "3")]).await;
    engine.actions("child", &call("/child")).await;
    let starts = |children: usize| "- order: {scenario: child}\n".repeat(children);
    engine.actions("few", &starts(3)).await;
    engine.actions("many", &starts(4)).await;
    engine.run(json!({"id": "few", "scenario": "few"}), "success").await;
    let order = engine.run(json!({"id": "many", "scenario": "many"}), "fail").await;
    assert_eq!(order["error"]["class"], "order.refused", "{order}");
    assert!(order["error"]["message"].as_str().unwrap().contains("`scenario.max_children`"), "{order}");
    assert_eq!(order["children"].as_array().unwrap().len(), 3, "{order}");
    engine.calls("/child", 6).await;
}
