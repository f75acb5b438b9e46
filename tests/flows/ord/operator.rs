//! Actions of operators on orders: cancel, interrupt, kill, restart (ORD-21, 22).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, LOG, asking, call};

/// A status, and what follows in it on cancel, interrupt and kill; nothing where that is refused with 409.
type Law = (&'static str, Option<&'static str>, Option<&'static str>, Option<&'static str>);

const LAW: &[Law] = &[
    ("new", Some("canceled"), Some("interrupted"), None),
    ("postponed", Some("canceled"), Some("interrupted"), None),
    ("sleep", Some("canceled"), None, None),
    ("wait", None, None, Some("canceled")),
    ("retry", None, None, Some("canceled")),
    ("running", None, None, Some("canceled")),
    ("reopen", Some("canceled"), Some("interrupted"), None),
    ("success", None, None, None),
    ("fail", Some("canceled"), None, None),
    ("interrupted", Some("canceled"), None, None),
    ("canceled", None, None, None),
];

/// An engine that can bring orders into every status, and keep them there.
async fn engine(test: &str) -> Installation {
    let policies = policy(
        "{initial_interval: 1h, multiplier: 1, max_interval: 1h, jitter: 0, max_attempts: 5, max_duration: 1d}",
    );
    let engine = Installation::with(test, &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policies)]).await;
    engine.world().program(Program::at("/down").fail(1000, 503));
    engine.world().program(Program::at("/bad").fail(1000, 400));
    engine.world().program(Program::at("/hang").delayed(Duration::from_millis(2500)));
    let sleeper = "initialState: s\nstates:\n  s: {actions: [{sleep: {for: 1h}}], on: {sleep: z}}\n  \
                   z: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("sleep", sleeper).await;
    engine.scenario("wait", &asking("/silent", "10m")).await;
    engine.actions("retry", &call("/down")).await;
    engine.actions("running", &call("/hang")).await;
    engine.actions("fail", &call("/bad")).await;
    engine.actions("success", LOG).await;
    engine
}

/// Registers an order and brings it into a status.
async fn bring(engine: &Installation, id: &str, status: &str) {
    let mut order = json!({"id": id, "scenario": status});
    match status {
        // Behind an order that waits nothing runs.
        "new" => order = json!({"id": id, "scenario": "success", "mode": "sequential", "queue": "held"}),
        "reopen" => order["scenario"] = json!("success"),
        "postponed" | "interrupted" | "canceled" => {
            order =
                json!({"id": id, "scenario": "success", "lifecycle": {"startAt": "2099-01-01T00:00:00Z"}});
        }
        _ => {}
    }
    engine.accepted(order).await;
    match status {
        "interrupted" => assert_eq!(engine.act(id, "interrupt", &json!({})).await.status, 200),
        "canceled" => assert_eq!(engine.act(id, "cancel", &json!({})).await.status, 200),
        "reopen" => {
            engine.reach(id, "success").await;
            engine.node(Role::Worker).pause().unwrap();
            assert_eq!(engine.act(id, "restart", &json!({})).await.status, 200);
        }
        _ => {}
    }
    engine.reach(id, status).await;
}

#[tokio::test]
async fn ord_21_each_status_allows_what_the_law_says_and_a_refusal_names_the_status() {
    let engine = engine("ord_21").await;
    engine.accepted(json!({"id": "holder", "scenario": "wait", "mode": "sequential", "queue": "held"})).await;
    engine.reach("holder", "wait").await;
    for (status, cancel, interrupt, kill) in LAW {
        for (action, expected) in [("cancel", cancel), ("interrupt", interrupt), ("kill", kill)] {
            let id = format!("{status}-{action}");
            bring(&engine, &id, status).await;
            let answer = engine.act(&id, action, &json!({"reason": "a test"})).await;
            let found = engine.order(&id).await.unwrap()["status"].clone();
            match expected {
                Some(next) => assert_eq!((answer.status, &found), (200, &json!(next)), "{id}: {answer:?}"),
                None => {
                    assert_eq!((answer.status, &found), (409, &json!(status)), "{id}: {answer:?}");
                    assert_eq!(answer.body["orderStatus"], *status, "{id}: {answer:?}");
                }
            }
            if *status == "reopen" {
                engine.node(Role::Worker).resume().unwrap();
            }
        }
    }
    let killed = engine.order("running-kill").await.unwrap();
    assert_eq!(killed["status"], "canceled");
    // ORD-8: what was begun has ended elsewhere than in a target state; what was not is as it was.
    for (id, expected) in [
        ("sleep-cancel", "failed"),
        ("wait-kill", "failed"),
        ("retry-kill", "failed"),
        ("fail-cancel", "failed"),
        ("new-cancel", "undefined"),
        ("postponed-interrupt", "undefined"),
    ] {
        assert_eq!(engine.order(id).await.unwrap()["scenarioStatus"], expected, "{id}");
    }
    let given_up = engine.order("fail-cancel").await.unwrap();
    assert!(given_up["error"]["message"].as_str().unwrap().contains("400"), "why it failed: {given_up}");
    assert_eq!(engine.act("no such order", "cancel", &json!({})).await.status, 404);
}

#[tokio::test]
async fn ord_21_a_running_order_is_killed_over_amqp_and_only_once() {
    let engine = engine("ord_21_late").await;
    engine.accepted(json!({"id": "a", "scenario": "running"})).await;
    engine.calls("/hang", 1).await;
    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let properties = lapin::BasicProperties::default()
        .with_reply_to(receipts.queue().into())
        .with_correlation_id("mine".into());
    let kill = json!({"id": "a", "reason": "enough"});
    amqp.publish_orders("order.kill", std::slice::from_ref(&kill), &properties).await.unwrap();
    let received = receipts.wait(Duration::from_secs(5), |all| !all.is_empty()).await.unwrap();
    assert_eq!(
        (&received[0].body["status"], received[0].correlation_id.as_deref()),
        (&json!("done"), Some("mine")),
        "{received:?}"
    );
    engine.reach("a", "canceled").await;
    engine.run(json!({"id": "b", "scenario": "success"}), "success").await;
    let order = engine.order("a").await.unwrap();
    assert_eq!(order["status"], "canceled", "{order}");
    amqp.publish_orders("order.kill", &[kill], &properties).await.unwrap();
    let received = receipts.wait(Duration::from_secs(5), |all| all.len() == 2).await.unwrap();
    assert_eq!(
        (&received[1].body["status"], &received[1].body["error"]["status"]),
        (&json!("rejected"), &json!(409)),
        "{received:?}"
    );
}

#[tokio::test]
async fn ord_22_scn_12_a_restart_begins_where_it_is_asked_to() {
    let engine = Installation::start("ord_22").await;
    engine.world().program(Program::at("/three").fail(1, 400));
    let states = r#"initialState: one
states:
  one:
    actions:
      - http: {method: POST, url: "${config.demo}/one", body: {n: "${params.n}"}, save: {seen: "${params.n}"}}
    on: {success: two, fail: failed}
  two:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/two", body: {n: "${params.n}", seen: "${vars.seen}"}}
    on: {success: three, fail: failed}
  three:
    actions:
      - http: {method: POST, url: "${config.demo}/three", body: {n: "${params.n}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    let params = "params: {type: object, properties: {n: {type: integer}}}\n";
    engine.scenario("steps", &format!("{params}{states}")).await;
    let id = "a";
    engine.run(json!({"id": id, "scenario": "steps", "params": {"n": 1}}), "fail").await;
    let cases: [(Value, &[&str], i64); 4] = [
        (json!({}), &["/two", "/three"], 1),
        (json!({"from": "initial"}), &["/one", "/two", "/three"], 1),
        (json!({"from": "three"}), &["/three"], 1),
        (json!({"from": "two", "params": {"n": 5}}), &["/two", "/three"], 5),
    ];
    for (index, (body, paths, n)) in cases.into_iter().enumerate() {
        engine.world().forget();
        let answer = engine.act(id, "restart", &body).await;
        assert_eq!((answer.status, &answer.body["life"]), (200, &json!(index + 2)), "{body}: {answer:?}");
        engine.reach(id, "success").await;
        let calls = engine.world().calls("/**");
        let called: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
        assert_eq!(called, paths, "{body}");
        assert!(calls.iter().all(|call| call.body["n"] == json!(n)), "{body}: {calls:?}");
    }
    for (body, pointer) in [
        (json!({"from": "nowhere"}), "/from"),
        (json!({"params": {"n": "x"}}), "/params/n"),
        (json!({"params": 5}), "/params"),
    ] {
        let answer = engine.act(id, "restart", &body).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{body}: {answer:?}");
    }
    assert_eq!(engine.order(id).await.unwrap()["status"], "success");
    let lives: Vec<i64> =
        engine.transitions(id).await.unwrap().iter().map(|one| one["life"].as_i64().unwrap()).collect();
    assert_eq!((lives.first(), lives.last()), (Some(&1), Some(&5)), "the history stays");
}

#[tokio::test]
async fn ord_21_a_killed_order_makes_no_more_calls_and_its_queue_is_free_for_one_alone() {
    let engine = Installation::start("ord_21_calls").await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_secs(2)));
    let calls = [call("/slow"), call("/slow"), call("/slow")].join("\n");
    engine.actions("slow", &calls).await;
    engine.actions("quick", &call("/quick")).await;
    let queued = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "K"});
    engine.accepted(queued("first", "slow")).await;
    engine.calls("/slow", 1).await;
    engine.accepted(queued("next", "quick")).await;
    assert_eq!(engine.act("first", "kill", &json!({"reason": "enough"})).await.status, 200);
    engine.reach("next", "success").await;
    // Longer than the calls that are left would take to begin.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(engine.world().calls("/slow").len(), 1, "the other two are not made");
    assert_eq!(engine.order("first").await.unwrap()["status"], "canceled");
}
