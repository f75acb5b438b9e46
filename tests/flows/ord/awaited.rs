//! Children that their parents await: no order waits for itself (ORD-13, 14), and what is shown of it (ORD-16, 28).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::dependencies::callback_path;
use crate::err::pagurus;
use crate::installation::{Installation, PATIENCE, asking, at, call, until};

fn queued(id: &str, scenario: &str, queue: &str) -> Value {
    json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": queue})
}

/// An action that starts the child `ID-kid`, with more fields of its registration.
fn kid(more: &str) -> String {
    format!("- order: {{id: \"${{order.id}}-kid\", scenario: kid, {more}}}\n")
}

const IN_OWN_QUEUE: &str = "mode: sequential, queue: \"${order.queue}\", wait: true";

async fn is_unknown(engine: &Installation, id: &str) -> bool {
    engine.get(&format!("/v1/orders/{id}")).await.unwrap().status == 404
}

fn is_refused(order: &Value, words: &[&str]) {
    let error = &order["error"];
    assert_eq!(error["class"], "order.refused", "{order}");
    for word in words {
        assert!(error["message"].as_str().unwrap().contains(word), "`{word}` in {error}");
    }
}

#[tokio::test]
async fn ord_13_a_child_is_never_awaited_behind_the_order_that_waits_for_it() {
    let engine = Installation::start("ord_13_awaited").await;
    engine.actions("kid", &call("/kid")).await;
    engine.actions("direct", &kid(IN_OWN_QUEUE)).await;
    engine
        .actions("later", &kid(&format!("{IN_OWN_QUEUE}, lifecycle: {{startAt: \"2099-01-01T00:00:00Z\"}}")))
        .await;
    engine.actions("lowest", &kid("mode: sequential, queue: Q, wait: true")).await;
    engine.actions("middle", "- order: {id: low, scenario: lowest, wait: true}").await;
    engine.actions("highest", "- order: {id: mid, scenario: middle, wait: true}").await;
    engine.actions("next", &call("/next")).await;

    for id in ["direct", "later"] {
        engine.accepted(queued(id, id, id)).await;
        engine.accepted(queued(&format!("behind-{id}"), "next", id)).await;
        let parent = engine.reach(id, "fail").await;
        is_refused(&parent, &[&format!("queue `{id}`"), &format!("order `{id}`"), "`parallel`", "`release`"]);
        engine.reach(&format!("behind-{id}"), "success").await;
        assert!(is_unknown(&engine, &format!("{id}-kid")).await, "{id}");
    }
    // Two orders further up there is one that holds the queue until the child has ended.
    engine.accepted(queued("high", "highest", "Q")).await;
    for id in ["low", "mid", "high"] {
        is_refused(&engine.reach(id, "fail").await, &["queue `Q`", "order `high`"]);
    }
    assert!(is_unknown(&engine, "low-kid").await);
    assert!(engine.world().calls("/kid").is_empty(), "no child ever ran");
}

#[tokio::test]
async fn ord_13_a_child_that_waits_for_nobody_who_awaits_it_takes_its_turn() {
    let engine = Installation::start("ord_13_fine").await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/held").first(1, &held));
    engine.actions("kid", &call("/kid")).await;
    engine.actions("gives", &format!("- release\n{}", kid(IN_OWN_QUEUE))).await;
    let by_hand = call("/held").replace("timeout: 5s", "timeout: 2m");
    engine.actions("released", &format!("{by_hand}\n{}", kid(IN_OWN_QUEUE))).await;
    engine.actions("parallel", &kid("mode: sequential, queue: P, wait: true")).await;
    engine.actions("leaves", &kid("mode: sequential, queue: \"${order.queue}\"")).await;
    engine.actions("other", &kid("mode: sequential, queue: \"x${order.queue}\", wait: true")).await;

    engine.accepted(queued("released", "released", "H")).await;
    engine.calls("/held", 1).await;
    engine.post("/v1/queues/H/release", &json!({"reason": "r"})).await.unwrap().success().unwrap();
    gate.send_replace(true);
    engine.accepted(queued("gives", "gives", "G")).await;
    engine.accepted(json!({"id": "parallel", "scenario": "parallel"})).await;
    engine.accepted(queued("leaves", "leaves", "L")).await;
    engine.accepted(queued("other", "other", "O")).await;
    for id in ["released", "gives", "parallel", "leaves", "other"] {
        let parent = engine.reach(id, "success").await;
        let child = engine.reach(&format!("{id}-kid"), "success").await;
        let runs_after = at(&child, "startedAt") >= at(&parent, "finishedAt");
        assert_eq!(runs_after, id == "leaves", "{parent} {child}");
    }
}

#[tokio::test]
async fn ord_13_a_child_is_refused_again_by_the_worker_that_takes_the_stage_over() {
    let mut engine = Installation::with("ord_13_again", &[("PAGURUS__NODE__LOST_AFTER", "1500ms")]).await;
    let held = Step { hold: Some(watch::Sender::new(false).subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/told").first(1, &held));
    engine.actions("kid", &call("/kid")).await;
    engine.actions("next", &call("/next")).await;
    let states = format!(
        r#"initialState: work
states:
  work:
    entryPoint: true
    actions:
      {}    on: {{success: done, fail: told}}
  told:
    actions:
      - http: {{method: POST, url: "${{config.demo}}/told", body: {{order: "${{order.id}}", class: "${{error.class}}"}}, timeout: 2m}}
    on: {{success: done, fail: failed}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}
"#,
        kid(IN_OWN_QUEUE)
    );
    engine.scenario("parent", &states).await;
    engine.accepted(queued("a", "parent", "Q")).await;
    engine.accepted(queued("b", "next", "Q")).await;
    engine.calls("/told", 1).await;
    engine.node(Role::Worker).kill().await.unwrap();
    engine.restart(Role::Worker).await;
    engine.reach("a", "success").await;
    engine.reach("b", "success").await;
    let calls = engine.world().calls("/told");
    assert_eq!(calls.len(), 2, "the stage was run again");
    assert!(calls.iter().all(|call| call.body["class"] == "order.refused"), "{calls:?}");
    assert!(is_unknown(&engine, "a-kid").await && engine.world().calls("/kid").is_empty());
}

#[tokio::test]
async fn ord_14_an_awaited_child_that_would_wait_for_its_parent_is_refused() {
    let engine = Installation::start("ord_14_awaited").await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/held").first(1, &held));
    engine.actions("kid", &call("/kid")).await;
    let after = |order: &str| format!("lifecycle: {{after: [{{order: \"{order}\", states: [done]}}]}}");
    engine.actions("direct", &kid(&format!("{}, wait: true", after("${order.id}")))).await;
    engine.actions("lowest", &kid(&format!("{}, wait: true", after("high")))).await;
    engine.actions("highest", "- order: {id: low, scenario: lowest, wait: true}").await;
    engine.actions("leaves", &kid(&after("${order.id}"))).await;
    engine.actions("around", &kid(&format!("{}, wait: true", after("outside")))).await;
    let slow = call("/held").replace("timeout: 5s", "timeout: 2m");
    engine.actions("first", &format!("{slow}\n{}", kid(&format!("{}, wait: true", after("second"))))).await;

    engine.accepted(json!({"id": "direct", "scenario": "direct"})).await;
    is_refused(&engine.reach("direct", "fail").await, &["direct-kid → direct → direct-kid"]);
    engine.accepted(json!({"id": "high", "scenario": "highest"})).await;
    is_refused(&engine.reach("low", "fail").await, &["low-kid → high → low → low-kid"]);
    is_refused(&engine.reach("high", "fail").await, &[]);
    // A pre-condition that stands in the queue behind the parent.
    engine.accepted(queued("first", "first", "Q")).await;
    engine.calls("/held", 1).await;
    engine.accepted(queued("second", "kid", "Q")).await;
    gate.send_replace(true);
    is_refused(&engine.reach("first", "fail").await, &["first-kid → second → first → first-kid"]);
    engine.reach("second", "success").await;
    for id in ["direct-kid", "low-kid", "first-kid"] {
        assert!(is_unknown(&engine, id).await, "{id}");
    }
    // Nobody waits for this one.
    engine.accepted(json!({"id": "leaves", "scenario": "leaves"})).await;
    engine.reach("leaves-kid", "success").await;
    // The way is closed from outside, by an order that the child waits for already.
    engine.accepted(json!({"id": "around", "scenario": "around"})).await;
    engine.reach("around", "wait").await;
    let outside = |before: &str| json!({"id": "outside", "scenario": "kid", "lifecycle": {"after": [{"order": before, "states": ["done"]}]}});
    let refused = engine.submit(&outside("around")).await;
    assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!("/lifecycle/after")), "{refused:?}");
    let way = refused.body["detail"].as_str().unwrap();
    assert!(way.contains("outside → around → around-kid → outside"), "{way}");
    engine.accepted(outside("leaves")).await;
    engine.reach("around", "success").await;
}

#[tokio::test]
async fn ord_16_28_who_waits_for_a_child_says_for_which_and_has_an_edge_to_it() {
    let engine = Installation::start("ord_16_children").await;
    engine.scenario("slow", &asking("/silent", "10m")).await;
    engine.actions("kid", &call("/kid")).await;
    engine
        .actions("parent", "- order: {id: kid, scenario: slow, wait: true, request: message}\n- order: {id: left, scenario: kid}")
        .await;
    engine.accepted(json!({"id": "a", "scenario": "parent"})).await;
    engine.reach("kid", "wait").await;
    engine.reach("a", "wait").await;
    let explained = engine.part("a", "explain").await;
    assert_eq!(explained["reason"], "wait", "{explained}");
    let words = explained["explanation"].as_str().unwrap();
    assert!(words.starts_with("waits for the end of order `kid`, which is `wait` until "), "{words}");
    for middle in ["a", "kid"] {
        let graph = engine.part(middle, "dependencies").await;
        let edge = json!({"kind": "child", "order": "a", "after": "kid", "states": [], "otherwise": "scenario",
            "mode": "reactive", "stand": "open", "settledAt": null});
        assert_eq!(graph["edges"], json!([edge]), "{graph}");
        let nodes: Vec<&Value> = graph["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
        assert_eq!(nodes, ["a", "kid"], "{graph}");
    }
    assert_eq!(engine.order("a").await.unwrap()["after"], json!([]), "a child is no condition");
    let output = pagurus(&["--server", engine.base(), "order", "dependencies", "a"]).await;
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        table
            .lines()
            .any(|line| ["a ", "child", "kid", "scenario", "open"].iter().all(|word| line.contains(word))),
        "{table}"
    );
    let answer = engine.post(&callback_path(&engine, "kid"), &json!({"code": 0})).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    engine.reach("a", "success").await;
    engine.reach("left", "success").await;
    let graph = engine.part("a", "dependencies").await;
    let edges = graph["edges"].as_array().unwrap();
    assert_eq!((edges.len(), &edges[0]["stand"]), (1, &json!("met")), "{graph}");
    assert!(edges[0]["settledAt"].is_string(), "{graph}");
}

#[tokio::test]
async fn ord_13_scn_5_the_name_of_the_queue_outlives_its_release() {
    let mut engine = Installation::with("ord_13_name", &[("PAGURUS__NODE__LOST_AFTER", "1500ms")]).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/of/Q").first(1, &held));
    let named = "      - http: {method: POST, url: \"${config.demo}/of/${order.queue}\", body: {order: \"${order.id}\", holds: \"${order.holdsQueue}\"}, timeout: 2m}";
    let text = asking("/silent", "10m");
    let (before, after) = text.split_once("  after:\n    actions:\n").unwrap();
    let (_, rest) = after.split_once('\n').unwrap();
    engine
        .scenario("asks", &format!("{before}  after:\n    entryPoint: true\n    actions:\n{named}\n{rest}"))
        .await;
    engine.accepted(queued("a", "asks", "Q")).await;
    engine.reach("a", "wait").await;
    engine.post("/v1/queues/Q/release", &json!({"reason": "r"})).await.unwrap().success().unwrap();
    let answer = engine.post(&callback_path(&engine, "a"), &json!({"code": 0})).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    // The next stage, another worker for it, and a new life, which holds the queue again.
    engine.calls("/of/Q", 1).await;
    engine.node(Role::Worker).kill().await.unwrap();
    engine.restart(Role::Worker).await;
    let ended = engine.reach("a", "success").await;
    assert_eq!(ended["queue"], "Q", "{ended}");
    engine.act("a", "restart", &json!({})).await.success().unwrap();
    let calls = engine.calls("/of/Q", 3).await;
    engine.reach("a", "success").await;
    let holds: Vec<&Value> = calls.iter().map(|call| &call.body["holds"]).collect();
    assert_eq!(holds, [false, false, true], "{calls:?}");
    drop(gate);
}

#[tokio::test]
async fn ord_11_13_an_order_that_released_its_queue_takes_its_turn_again_when_it_wakes() {
    let engine = Installation::start("ord_11_released").await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/next").first(1, &held));
    engine.actions("next", &call("/next").replace("timeout: 5s", "timeout: 2m")).await;
    let states = r#"initialState: before
states:
  before:
    actions:
      - release
      - sleep: {for: 500ms}
    on: {sleep: sleeping}
  sleeping: {kind: sleeping, on: {timeout: behind}}
  behind:
    actions:
      - http: {method: POST, url: "${config.demo}/woken", body: {queue: "${order.queue}", holds: "${order.holdsQueue}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("sleeper", states).await;
    engine.accepted(queued("a", "sleeper", "Q")).await;
    engine.accepted(queued("b", "next", "Q")).await;
    until("it is awake and stands behind", PATIENCE, async || {
        let queue = engine.get("/v1/queues/Q").await.unwrap().success().unwrap();
        queue["holder"]["order"] == "b"
            && queue["items"].as_array().is_some_and(|items| items.iter().any(|one| one["order"] == "a"))
    })
    .await;
    assert!(engine.world().calls("/woken").is_empty());
    gate.send_replace(true);
    engine.reach("a", "success").await;
    let calls = engine.world().calls("/woken");
    assert_eq!(calls[0].body, json!({"queue": "Q", "holds": true}));
    tokio::time::timeout(Duration::from_secs(60), engine.reach("b", "success")).await.unwrap();
}
