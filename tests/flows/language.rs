//! Offers of the scenario language beyond plain states: polling, operations, branches, steps at once,
//! child orders, calls from outside, secrets, and callbacks that are classified (02, 03).

mod canaries;
mod lists;
mod secret_targets;
mod secrets;
mod tokens;

use std::time::Duration;

use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, asking, at, call};

/// The way of an order: the states it entered, the first included.
pub async fn path(engine: &Installation, id: &str) -> Vec<String> {
    let transitions = engine.transitions(id).await.unwrap();
    let mut path: Vec<String> =
        transitions.first().map(|first| first["from"].as_str().unwrap().to_owned()).into_iter().collect();
    path.extend(transitions.iter().map(|one| one["to"].as_str().unwrap().to_owned()));
    path
}

fn polling(script: &str, poll: &str) -> String {
    format!(
        "initialState: ask\nstates:\n  ask:\n    kind: polling\n    poll: {poll}\n    actions:\n      \
         - http: {{url: \"${{config.demo}}/state\", timeout: 2s}}\n      - script: |\n          {script}\n    \
         on: {{success: done, fail: failed, timeout: late}}\n  done: {{kind: terminal}}\n  \
         failed: {{kind: terminal, outcome: fail}}\n  late: {{kind: terminal, outcome: fail}}\n"
    )
}

const ASK_AGAIN: &str = "if response.body.n >= 3 { success() } else { poll() }";

#[tokio::test]
async fn scn_8_a_polling_asks_until_it_is_answered_or_its_time_is_over() {
    let engine = Installation::start("scn_8").await;
    engine.world().program(
        Program::at("/state")
            .first(1, &Step::answer(200, json!({"n": 1})))
            .first(1, &Step::answer(200, json!({"n": 2})))
            .then_answer(200, json!({"n": 3})),
    );
    engine.scenario("polls", &polling(ASK_AGAIN, "{delay: 300ms, interval: 300ms, timeout: 1m}")).await;
    let order = engine.run(json!({"id": "a", "scenario": "polls"}), "polling").await;
    assert_eq!(order["step"], "ask", "{order}");
    let order = engine.reach("a", "success").await;
    let calls = engine.world().calls("/state");
    assert_eq!(calls.len(), 3, "{order}");
    let pause = calls[1].started - calls[0].started;
    assert!(pause >= Duration::from_millis(290), "{pause:?}");
    let keys: std::collections::HashSet<_> =
        calls.iter().map(|call| &call.headers["idempotency-key"]).collect();
    assert_eq!(keys.len(), 3, "each attempt is a new request");
    // Attempts are no transitions.
    assert_eq!(path(&engine, "a").await, ["ask", "done"]);

    engine.world().program(Program::at("/state").then_answer(200, json!({"n": 0})));
    engine.scenario("late", &polling(ASK_AGAIN, "{interval: 200ms, timeout: 700ms}")).await;
    let order = engine.run(json!({"id": "b", "scenario": "late"}), "fail").await;
    assert_eq!(
        (&order["step"], &order["error"]["class"]),
        (&json!("late"), &json!("polling.timeout")),
        "{order}"
    );
}

#[tokio::test]
async fn scn_8_a_sequential_order_keeps_its_queue_while_it_polls() {
    let engine = Installation::start("scn_8_queue").await;
    engine.world().program(Program::at("/state").then_answer(200, json!({"n": 0})));
    engine.scenario("polls", &polling(ASK_AGAIN, "{interval: 300ms, timeout: 900ms}")).await;
    engine.actions("short", &call("/short")).await;
    engine.run(json!({"id": "a", "scenario": "polls", "mode": "sequential", "queue": "q"}), "polling").await;
    engine.accepted(json!({"id": "b", "scenario": "short", "mode": "sequential", "queue": "q"})).await;
    let polled = engine.reach("a", "fail").await;
    let next = engine.reach("b", "success").await;
    assert!(at(&next, "startedAt") >= at(&polled, "finishedAt"), "{polled} {next}");
}

#[tokio::test]
async fn scn_10_an_operation_goes_on_at_its_last_savepoint() {
    let rules = crate::err::policy(
        "{initial_interval: 200ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 3}",
    );
    let engine = Installation::with("scn_10", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules)]).await;
    engine.world().program(Program::at("/third").fail(1, 503));
    let text = "scenario: op\nkind: operation\nactions:\n  - http: {method: POST, url: \"${config.demo}/first\"}\n  \
                - script: 'vars.n = 1'\n  \
                - savepoint: middle\n  - http: {method: POST, url: \"${config.demo}/second\"}\n  \
                - sleep: {for: 100ms}\n  - script: 'vars.n = vars.n + 1'\n  \
                - http: {method: POST, url: \"${config.demo}/third\", body: {n: \"${vars.n}\"}}\n";
    engine.put_scenario("op", text).await.unwrap();
    let order = engine.run(json!({"id": "a", "scenario": "op"}), "success").await;
    assert_eq!((&order["step"], &order["scenarioStatus"]), (&json!("done"), &json!("target")), "{order}");
    let count = |path: &str| engine.world().calls(path).len();
    assert_eq!((count("/first"), count("/second"), count("/third")), (1, 1, 2), "a rest is not rested again");
    let key = |path: &str, index: usize| engine.world().calls(path)[index].headers["idempotency-key"].clone();
    assert_eq!(key("/third", 0), key("/third", 1), "what is sent again has the same key");
    let again = engine.act("a", "restart", &json!({})).await;
    assert_eq!(again.status, 200, "{again:?}");
    engine.reach("a", "success").await;
    assert_eq!((count("/second"), count("/third")), (1, 3), "a restart begins behind the rest");
    for call in engine.world().calls("/third") {
        assert_eq!(call.body["n"], 2, "variables go back to what they were when the rest was over");
    }
}

#[tokio::test]
async fn branches_and_steps_at_once() {
    let rules = crate::err::policy(
        "{initial_interval: 200ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 3}",
    );
    let engine = Installation::with("scn_choose", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules)]).await;
    engine.world().program(Program::at("/a").then_answer(200, json!({"v": 1})));
    engine.world().program(Program::at("/b").fail(1, 503).then_answer(200, json!({"v": 2})));
    let actions = r#"- parallel:
    - http: {name: a, url: "${config.demo}/a"}
    - http: {name: b, url: "${config.demo}/b", save: {b: "${response.body.v}"}}
- choose:
    - when: "params.n > 10"
      actions:
        - script: 'result(#{ way: "big", sum: responses.a.body.v + responses.b.body.v, b: vars.b })'
    - when: "params.n > 5"
      actions:
        - script: 'result("middle")'
    - otherwise:
        - script: 'result("small")'
- log: after"#;
    engine.actions("branches", actions).await;
    for (n, expected) in
        [(11, json!({"way": "big", "sum": 3, "b": 2})), (6, json!("middle")), (1, json!("small"))]
    {
        let order = engine
            .run(json!({"id": format!("o{n}"), "scenario": "branches", "params": {"n": n}}), "success")
            .await;
        assert_eq!(order["result"], expected, "{order}");
    }
    assert_eq!(engine.world().calls("/a").len(), 3, "what went through is not made again");
    assert_eq!(engine.world().calls("/b").len(), 4);
}

#[tokio::test]
async fn a_child_order_is_started_once_and_awaited() {
    let engine = Installation::start("scn_child").await;
    engine
        .actions("child", &format!("{}\n- script: 'result(#{{ twice: params.n * 2 }})'", call("/child")))
        .await;
    engine.actions("bad", "- script: 'fail(\"no such thing\", \"child.bad\")'").await;
    let waits = r#"- order: {scenario: child, params: {n: "${params.n}"}, wait: true, request: kid}
- script: 'result(callbacks.kid.body.result)'"#;
    engine.actions("parent", waits).await;
    let order = engine.run(json!({"id": "p", "scenario": "parent", "params": {"n": 21}}), "success").await;
    assert_eq!(order["result"], json!({"twice": 42}), "{order}");
    let child = order["children"][0]["id"].as_str().unwrap().to_owned();
    let shown = engine.order(&child).await.unwrap();
    assert_eq!((&shown["parent"], &shown["status"]), (&json!("p"), &json!("success")), "{shown}");
    assert_eq!(engine.world().calls("/child").len(), 1);

    // Two at once, awaited by the state's own wait.
    let both = r"initialState: start
states:
  start:
    actions:
      - order: {scenario: child, params: {n: 1}, wait: true, request: one}
      - order: {scenario: child, params: {n: 2}, wait: true, request: two}
      - wait: {timeout: 1m}
    on: {wait: waiting, fail: failed}
  waiting: {kind: waiting, on: {callback: sum, timeout: failed}}
  sum:
    actions: [{script: 'result(callbacks.one.body.result.twice + callbacks.two.body.result.twice)'}]
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    engine.scenario("both", both).await;
    let order = engine.run(json!({"id": "q", "scenario": "both"}), "success").await;
    assert_eq!((&order["result"], order["children"].as_array().unwrap().len()), (&json!(6), 2), "{order}");

    engine.actions("hopes", "- order: {scenario: bad, wait: true}").await;
    let order = engine.run(json!({"id": "r", "scenario": "hopes"}), "fail").await;
    assert_eq!(order["error"]["class"], "child.bad", "{order}");
    engine.actions("lost", "- order: {scenario: nobody-knows-it, wait: true}").await;
    let order = engine.run(json!({"id": "s", "scenario": "lost"}), "fail").await;
    assert_eq!(order["error"]["class"], "order.refused", "{order}");
    // A scenario that starts itself comes to an end.
    engine.actions("endless", "- order: {scenario: endless, wait: true}").await;
    let order = engine.run(json!({"id": "t", "scenario": "endless"}), "fail").await;
    assert!(order["error"]["message"].is_string(), "{order}");
}

#[tokio::test]
async fn two_parents_that_name_the_same_child_do_not_share_it() {
    let engine = Installation::start("scn_child_id").await;
    engine.actions("child", &call("/child")).await;
    engine.actions("parent", "- order: {id: the-only-one, scenario: child, wait: true}").await;
    let both = json!([{"id": "p", "scenario": "parent"}, {"id": "q", "scenario": "parent"}]);
    engine.post("/v1/orders/batch", &both).await.unwrap();
    let ends = tokio::join!(
        engine.get("/v1/orders/p/wait?timeout=10s"),
        engine.get("/v1/orders/q/wait?timeout=10s")
    );
    let mut statuses =
        [ends.0.unwrap().body["status"].to_string(), ends.1.unwrap().body["status"].to_string()];
    statuses.sort();
    assert_eq!(statuses, ["\"fail\"", "\"success\""], "one of them learns that the id is taken");
    assert_eq!(engine.world().calls("/child").len(), 1);
}

const CALLED: &str = r#"initialState: rest
calls:
  where:
    actions:
      - http: {method: POST, url: "${config.demo}/asked", body: {who: "${event.body.who}"}}
    answer: {step: "${order.id}", who: "${event.body.who}", seen: "${response.body.ok}"}
  breaks:
    actions: [{script: 'fail("it broke", "call.broken")'}]
states:
  rest: {actions: [{sleep: {for: 10m}}], on: {sleep: resting}}
  resting:
    kind: sleeping
    on: {timeout: done, "call:hurry": hurried}
  hurried:
    actions: [{script: 'vars.why = event.body.why; answer(#{ taken: event.body.why });'}]
    on: {success: done, fail: done}
  done: {kind: terminal}
"#;

#[tokio::test]
async fn scn_9_a_live_order_answers_calls_and_rests_on() {
    let engine = Installation::start("scn_9").await;
    engine.scenario("called", CALLED).await;
    engine.accepted(json!({"id": "a", "scenario": "called"})).await;
    let before = engine.reach("a", "sleep").await;
    let ask = async |id: &str, body: Value| engine.act(id, "calls", &body).await;
    let answer = ask("a", json!({"name": "where", "body": {"who": "w"}, "key": "k1", "reason": "why"})).await;
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("answered")), "{answer:?}");
    assert_eq!(answer.body["answer"], json!({"step": "a", "who": "w", "seen": true}), "{answer:?}");
    // The same key is the same call; another content under it is a conflict.
    let again = ask("a", json!({"name": "where", "body": {"who": "w"}, "key": "k1"})).await;
    assert_eq!(again.body["answer"], answer.body["answer"]);
    assert_eq!(engine.world().calls("/asked").len(), 1, "never handled twice");
    let audit = engine.get("/v1/audit?action=call&subject=a").await.unwrap().success().unwrap();
    let [entry] = &audit["items"].as_array().unwrap()[..] else { panic!("not once: {audit}") };
    assert_eq!(entry["reason"], "why", "{entry}");
    assert_eq!(entry["detail"], json!({"name": "where", "key": "k1"}), "{entry}");
    assert_eq!(ask("a", json!({"name": "where", "body": {"who": "x"}, "key": "k1"})).await.status, 409);
    assert_eq!(ask("a", json!({"name": "unknown"})).await.status, 422);
    let misspelt = ask("a", json!({"name": "where", "boddy": {"who": "w"}})).await;
    assert_eq!((misspelt.status, &misspelt.body["pointer"]), (422, &json!("/boddy")), "{misspelt:?}");
    let broken = ask("a", json!({"name": "breaks"})).await;
    assert_eq!(
        (&broken.body["status"], &broken.body["error"]["class"]),
        (&json!("failed"), &json!("call.broken"))
    );
    // The rest has kept its timer.
    let after = engine.order("a").await.unwrap();
    assert_eq!((&after["status"], &after["dueAt"]), (&json!("sleep"), &before["dueAt"]), "{after}");
    let hurried = ask("a", json!({"name": "hurry", "body": {"why": "rain"}})).await;
    assert_eq!(hurried.body["answer"], json!({"taken": "rain"}), "{hurried:?}");
    engine.reach("a", "success").await;
    assert_eq!(path(&engine, "a").await, ["rest", "resting", "hurried", "done"]);
    assert_eq!(ask("a", json!({"name": "where"})).await.status, 409, "an order that ended takes no calls");
    assert_eq!(engine.get("/v1/orders/a/calls/k1").await.unwrap().body["status"], "answered");
    assert_eq!(engine.part("a", "calls").await.as_array().unwrap().len(), 3);
}

/// Rules for callbacks: a body with `busy` is `asked.busy`, silence `asked.silent`; both are retried.
const ASYNC: &str = "{async: {classification: {rules: {r: {requests: {http: [{path: \"/**\"}]}, classes: {\
    asked.busy: {responses: [{body_keywords: [[busy]]}]}, asked.silent: {timeout: true}}}}}, \
    retry: {policies: {p: {error_classes: [asked.busy, asked.silent], \
    parameters: {initial_interval: 200ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 3}}}}}}";

#[tokio::test]
async fn err_6_11_a_failed_callback_is_repeated_from_the_entry_point() {
    let engine = Installation::with("err_6", &[("PAGURUS__EXECUTION__ERROR_HANDLING", ASYNC)]).await;
    let answering = |body: Value| Step { callback: Some(CallBack::with(body)), ..Step::fine() };
    engine.world().program(
        Program::at("/ask")
            .first(1, &answering(json!({"text": "busy, sorry"})))
            .then(answering(json!({"text": "fine"}))),
    );
    engine.scenario("asks", &asking("/ask", "5s")).await;
    let order = engine.run(json!({"id": "a", "scenario": "asks"}), "success").await;
    assert_eq!(engine.world().calls("/ask").len(), 2, "{order}");
    assert_eq!(path(&engine, "a").await, ["ask", "asked", "ask", "asked", "after", "done"]);
    let keys: Vec<String> =
        engine.world().calls("/ask").iter().map(|call| call.headers["idempotency-key"].clone()).collect();
    assert_ne!(keys[0], keys[1], "a new visit is a new request");

    // Silence has a class of its own; when the policy is at its end the scenario sees the time-out.
    engine.scenario("silent", &asking("/silent", "300ms")).await;
    let order = engine.run(json!({"id": "b", "scenario": "silent"}), "fail").await;
    assert_eq!(order["error"]["class"], "asked.silent", "{order}");
    assert_eq!(engine.world().calls("/silent").len(), 4, "{order}");
}

#[tokio::test]
async fn err_13_only_the_failed_requests_are_sent_again() {
    let engine = Installation::with("err_13", &[("PAGURUS__EXECUTION__ERROR_HANDLING", ASYNC)]).await;
    let answering = |body: Value| Step { callback: Some(CallBack::with(body)), ..Step::fine() };
    engine.world().program(Program::at("/good").then(answering(json!({"v": 1}))));
    engine.world().program(
        Program::at("/bad").first(1, &answering(json!({"text": "busy"}))).then(answering(json!({"v": 2}))),
    );
    let request = |name: &str| {
        format!(
            "      - http: {{method: POST, url: \"${{config.demo}}/{name}\", \
             headers: {{X-Callback-Url: \"${{request.url}}\"}}, request: {name}}}\n"
        )
    };
    let text = format!(
        "initialState: ask\nstates:\n  ask:\n    entryPoint: true\n    actions:\n{}{}      - wait: {{timeout: 10s}}\n    \
         on: {{wait: asked, fail: failed}}\n  asked: {{kind: waiting, retryFailedOnly: true, on: {{callback: sum, timeout: failed}}}}\n  \
         sum: {{actions: [{{script: 'result(callbacks.good.body.v + callbacks.bad.body.v)'}}], on: {{success: done, fail: failed}}}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n",
        request("good"),
        request("bad")
    );
    engine.scenario("two", &text).await;
    let order = engine.run(json!({"id": "a", "scenario": "two"}), "success").await;
    assert_eq!(order["result"], 3, "{order}");
    assert_eq!((engine.world().calls("/good").len(), engine.world().calls("/bad").len()), (1, 2));
}
