//! Calls from outside, and when they wait (SCN-9): they start nothing, and overtake nobody in a queue.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_harness::world::program::{Program, Step, Then};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::err::pagurus;
use crate::installation::{Installation, LOG, at, call, most_at_once, until};
use crate::language::path;

/// Calls the world as it begins, then rests; takes call `say` beside it and call `go` out of it.
fn resting() -> String {
    format!(
        "initialState: begin\ncalls:\n  say: {{answer: fine}}\nstates:\n  begin:\n    actions:\n      {}\n      \
         - sleep: {{for: 10m}}\n    on: {{sleep: rest, fail: failed}}\n  \
         rest: {{kind: sleeping, on: {{timeout: done, call:go: go}}}}\n  \
         go:\n    actions:\n      {}\n    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n",
        call("/begin"),
        call("/go")
    )
}

#[tokio::test]
async fn scn_9_a_call_does_not_start_an_order_before_its_time() {
    let engine = Installation::start("scn_9_early").await;
    engine.scenario("rests", &resting()).await;
    let start_at = Timestamp::now() + SignedDuration::from_secs(4);
    let order = json!({"id": "a", "scenario": "rests", "lifecycle": {"startAt": start_at.to_string()}});
    engine.accepted(order).await;
    let never = json!({"id": "b", "scenario": "rests", "lifecycle": {"after": [{"order": "nobody", "states": ["done"]}]}});
    engine.accepted(never).await;
    for id in ["a", "b"] {
        let said = engine.act(id, "calls?timeout=300ms", &json!({"name": "say", "key": "k"})).await;
        assert_eq!((said.status, &said.body["status"]), (202, &json!("waiting")), "{said:?}");
        assert_eq!(engine.get(&format!("/v1/orders/{id}")).await.unwrap().body["status"], "postponed");
    }
    let order = engine.reach("a", "sleep").await;
    assert!(at(&order, "startedAt") >= start_at, "{order}");
    let said = engine.get("/v1/orders/a/calls/k?timeout=5s").await.unwrap();
    assert_eq!((said.status, &said.body["answer"]), (200, &json!("fine")), "{said:?}");
    assert_eq!(engine.world().calls("/begin").len(), 1, "the other has not begun");
    assert_eq!(engine.act("b", "interrupt", &json!({})).await.status, 200);
    let said = engine.get("/v1/orders/b/calls/k?timeout=5s").await.unwrap();
    assert_eq!(said.body["error"]["class"], "call.ended", "{said:?}");
}

#[tokio::test]
async fn ord_11_a_call_to_a_sleeping_order_takes_its_turn_in_the_queue() {
    let engine = Installation::start("ord_11_call").await;
    engine.scenario("rests", &resting()).await;
    engine.world().program(Program::at("/long").delayed(Duration::from_millis(1500)));
    engine.actions("holds", &call("/long")).await;
    let queued = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "Q"});
    engine.run(queued("sleeper", "rests"), "sleep").await;
    engine.accepted(queued("holder", "holds")).await;
    engine.calls("/long", 1).await;
    let went = engine.act("sleeper", "calls?timeout=10s", &json!({"name": "go"})).await;
    assert_eq!((went.status, &went.body["status"]), (200, &json!("answered")), "{went:?}");
    engine.reach("sleeper", "success").await;
    let mut calls = engine.world().calls("/long");
    calls.extend(engine.world().calls("/go"));
    assert_eq!((calls.len(), most_at_once(&calls)), (2, 1), "{calls:?}");
    // One that is handled beside the sleep gives the queue back when it sleeps on.
    engine.run(queued("other", "rests"), "sleep").await;
    let said: Value = engine.act("other", "calls?timeout=10s", &json!({"name": "say"})).await.body;
    assert_eq!(said["answer"], "fine", "{said}");
    engine.run(queued("next", "holds"), "success").await;
    until("the sleeper sleeps on", Duration::from_secs(5), async || {
        engine.get("/v1/orders/other").await.unwrap().body["status"] == "sleep"
    })
    .await;
}

/// Calls the world, naps, and calls it again; takes call `say`, which reports to the world.
const NAPPING: &str = r#"initialState: work
calls:
  say:
    actions: [{http: {method: POST, url: "${config.demo}/said", body: {n: "${event.body.n}"}, timeout: 2m}}]
    answer: {heard: "${event.body.n}"}
states:
  work:
    actions: [{http: {method: POST, url: "${config.demo}/held", timeout: 2m}}, {sleep: {for: 100ms}}]
    on: {sleep: napping, fail: failed}
  napping: {kind: sleeping, on: {timeout: after}}
  after: {actions: [{http: {method: POST, url: "${config.demo}/after"}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[tokio::test]
async fn scn_9_calls_that_come_while_a_stage_runs_wait_and_are_handled_in_their_order_before_a_timer() {
    let engine = Installation::start("scn_9_turn").await;
    let (stage, first) = (watch::Sender::new(false), watch::Sender::new(false));
    for (at, gate) in [("/held", &stage), ("/said", &first)] {
        let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
        engine.world().program(Program::at(at).first(1, &held));
    }
    engine.scenario("naps", NAPPING).await;
    let short = "initialState: w\nstates:\n  w: {actions: [{sleep: {for: 100ms}}], on: {sleep: z}}\n  \
                 z: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("short", short).await;
    engine.accepted(json!({"id": "a", "scenario": "naps"})).await;
    engine.calls("/held", 1).await;
    for n in [1, 2] {
        let call = json!({"name": "say", "key": format!("k{n}"), "body": {"n": n}});
        let said = engine.act("a", "calls?timeout=0s", &call).await;
        assert_eq!((said.status, &said.body["status"]), (202, &json!("waiting")), "{said:?}");
    }
    let stood = async || -> Vec<Value> {
        let calls = engine.part("a", "calls").await;
        calls.as_array().unwrap().iter().map(|call| call["status"].clone()).collect()
    };
    // While the stage runs another order begins and ends: there was time enough to handle them.
    engine.run(json!({"id": "other", "scenario": "short"}), "success").await;
    assert_eq!(stood().await, ["waiting", "waiting"]);
    assert!(engine.world().calls("/said").is_empty(), "handled while a stage runs");

    stage.send_replace(true);
    engine.calls("/said", 1).await;
    // While the first is handled the nap of another order, begun later, ends: this one's own is over, too.
    engine.run(json!({"id": "later", "scenario": "short"}), "success").await;
    assert_eq!(stood().await, ["waiting", "waiting"], "the second waits for the first");
    let paths = |calls: Vec<pagurus_harness::world::Call>| {
        calls.into_iter().map(|call| format!("{} {}", call.path, call.body["n"])).collect::<Vec<_>>()
    };
    assert_eq!(paths(engine.world().calls("/**")), ["/held null", "/said 1"], "the timer is blocked");

    first.send_replace(true);
    for n in [1, 2] {
        let said = engine.get(&format!("/v1/orders/a/calls/k{n}?timeout=30s")).await.unwrap();
        assert_eq!((said.status, &said.body["answer"]), (200, &json!({"heard": n})), "{said:?}");
    }
    engine.reach("a", "success").await;
    assert_eq!(paths(engine.world().calls("/**")), ["/held null", "/said 1", "/said 2", "/after null"]);
    assert_eq!(path(&engine, "a").await, ["work", "napping", "after", "done"]);
}

/// Waits for an answer; takes call `look`, which asks a system of its own.
const WAITING: &str = r#"initialState: ask
calls:
  look: {actions: [{http: {url: "${config.demo}/limited"}}], answer: "${callbacks}"}
states:
  ask:
    actions: [{http: {url: "${config.demo}/asked", request: answer}}, {wait: {timeout: 10m}}]
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: check, timeout: failed}}
  check:
    actions: [{script: "result(callbacks.answer.body)"}]
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[tokio::test]
async fn scn_9_a_call_that_is_held_before_a_closed_system_takes_nothing_from_the_wait_of_its_order() {
    let engine =
        Installation::configured("scn_9_held", "systems: {named: [{name: limited, path: /limited}]}\n").await;
    engine.scenario("waits", WAITING).await;
    engine.actions("closes", &call("/limited")).await;
    for id in ["early", "late"] {
        engine.run(json!({"id": id, "scenario": "waits"}), "wait").await;
    }
    let headers = vec![("retry-after".to_owned(), "5".to_owned())];
    let later = Step { then: Then::Answer { status: 429, headers, body: json!({}) }, ..Step::fine() };
    engine.world().program(Program::at("/limited").first(1, &later));
    engine.run(json!({"id": "closes", "scenario": "closes"}), "fail").await;
    for id in ["early", "late"] {
        let asked = engine.act(id, "calls?timeout=1s", &json!({"name": "look", "key": "k"})).await;
        assert_eq!(asked.status, 202, "{asked:?}");
    }
    let answer = json!({"body": {"code": 7}, "reason": "a test"});
    let answered = async |id: &str| {
        let answered = engine.act(id, "requests/answer/answer", &answer).await;
        assert_eq!(answered.status, 200, "{answered:?}");
    };
    answered("early").await;
    let looked = async |id: &str| {
        let looked = engine.get(&format!("/v1/orders/{id}/calls/k?timeout=30s")).await.unwrap();
        assert_eq!(looked.body["status"], "answered", "{looked:?}");
        looked.body["answer"]["answer"]["body"].clone()
    };
    assert_eq!(looked("late").await, Value::Null);
    looked("early").await;
    let order = engine.get("/v1/orders/late").await.unwrap().body;
    assert_eq!(order["status"], "wait", "the end of the hold is not the end of its wait: {order}");
    answered("late").await;
    for id in ["early", "late"] {
        assert_eq!(engine.reach(id, "success").await["result"], json!({"code": 7}));
    }
    assert_eq!(engine.world().calls("/limited").len(), 3, "the system is left alone meanwhile");
}

#[tokio::test]
async fn ui_commands_print_one_document_and_take_an_answer_of_null_for_one() {
    let engine = Installation::start("one_document").await;
    engine.actions("quick", LOG).await;
    let base = ["--server", engine.base()];
    for id in [&["--id", "a"][..], &["--id", "b"], &[]] {
        let submit = ["order", "submit", "--scenario", "quick", "--wait", "--json"];
        let printed = pagurus(&[&base[..], &submit, id].concat()).await;
        assert!(printed.status.success(), "{printed:?}");
        let order: Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert_eq!(order["status"], "success");
    }
    let silent = resting().replace("say: {answer: fine}", "say: {actions: [{log: said}]}");
    engine.scenario("rests", &silent).await;
    engine.run(json!({"id": "c", "scenario": "rests"}), "sleep").await;
    let printed = pagurus(&[&base[..], &["order", "call", "c", "say"]].concat()).await;
    assert!(printed.status.success(), "{printed:?}");
    assert_eq!(String::from_utf8(printed.stdout).unwrap().trim(), "null");
}
