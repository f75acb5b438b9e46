//! Operations among the actions of a workflow, on real servers (SCN-19): versions, savepoints, rests, a worker that dies.

use serde_json::{Value, json};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program};

use crate::err::policy;
use crate::installation::{Installation, PATIENCE, call, until};

/// An operation with these actions.
fn operation(name: &str, actions: &str) -> String {
    let actions: String = actions.lines().map(|line| format!("  {line}\n")).collect();
    format!("scenario: {name}\nkind: operation\nactions:\n{actions}")
}

const RESULT: &str = "- script: 'result(#{version: 1});'";
const SOON: &str = "{initial_interval: 200ms, multiplier: 2, max_interval: 1s, jitter: 0, max_attempts: 4, max_duration: 1h}";

/// A call with a request, whose answer comes back to the order.
fn asks(path: &str) -> String {
    format!(
        "- http: {{method: POST, url: \"${{config.demo}}{path}\", headers: {{X-Callback-Url: \"${{request.url}}\"}}, \
         body: {{order: \"${{order.id}}\"}}, timeout: 5s, request: answer}}\n- wait: {{timeout: 1h}}"
    )
}

#[tokio::test]
async fn scn_19_a_worker_that_dies_in_an_operation_is_followed_from_its_savepoint() {
    let errors = policy(SOON);
    let settings =
        [("PAGURUS__NODE__LOST_AFTER", "1200ms"), ("PAGURUS__EXECUTION__ERROR_HANDLING", errors.as_str())];
    let mut engine = Installation::with("scn_19_dies", &settings).await;
    engine.world().program(Program::at("/hang").hang(1));
    engine.world().program(Program::at("/late").fail(2, 503));
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"code": 7}))));
    let actions = format!(
        "{}\n- savepoint: half\n- script: 'vars.seen = get(vars, \"seen\", 0) + 1'\n- http: {{method: POST, url: \"${{config.demo}}/hang\", timeout: 2m}}\n\
         {}\n{}\n- script: 'result(#{{code: callbacks.answer.body.code, seen: vars.seen}});'",
        call("/before"),
        call("/late"),
        asks("/ask")
    );
    engine.put_scenario("inner", &operation("inner", &actions)).await.unwrap();
    let outer = "- do: {operation: inner, save: {got: \"${result}\"}}\n- script: 'result(vars.got);'";
    engine.put_scenario("outer", &operation("outer", outer)).await.unwrap();
    engine
        .actions("w", "- script: 'vars.own = 1'\n- do: {operation: outer, save: {out: \"${result}\"}}\n- script: 'result(#{out: vars.out, own: vars.own, seen: get(vars, \"seen\", 0)});'")
        .await;
    engine.accepted(json!({"id": "a", "scenario": "w"})).await;
    engine.calls("/hang", 1).await;
    let shown = engine.order("a").await.unwrap();
    assert_eq!((&shown["step"], &shown["status"]), (&json!("work"), &json!("running")), "{shown}");
    engine.add(Role::Worker, "worker-2").await;
    engine.node(Role::Worker).kill().await.unwrap();
    let order = engine.reach("a", "success").await;
    assert_eq!(order["result"], json!({"out": {"code": 7, "seen": 1}, "own": 1, "seen": 0}), "{order}");
    // What lies before the savepoint was stored; what was asked again had the same key.
    let counts = ["/before", "/hang", "/late", "/ask"].map(|path| engine.world().calls(path).len());
    assert_eq!((counts[0], counts[2], counts[3]), (1, 3, 1), "{counts:?}");
    for path in ["/hang", "/late"] {
        let keys: Vec<_> = engine
            .world()
            .calls(path)
            .into_iter()
            .map(|call| call.headers.get("idempotency-key").cloned())
            .collect();
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{path}: {keys:?}");
    }
}

#[tokio::test]
async fn scn_19_an_order_runs_the_version_of_an_operation_that_was_there_when_its_scenario_was_applied() {
    let engine = Installation::start("scn_19_versions").await;
    let missing = engine.env().http().put(format!("{}/v1/scenarios/w", engine.base()));
    let workflow = "scenario: w\ninitialState: work\nstates:\n  work:\n    actions: [{do: {operation: op, save: {v: \"${result.version}\"}}}, {script: 'result(vars.v);'}]\n    \
                    on: {success: done, fail: done}\n  done: {kind: terminal}\n";
    let refused: Value = missing
        .header("content-type", "application/yaml")
        .body(workflow)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert!(refused["detail"].as_str().unwrap().contains("there is no operation `op`"), "{refused}");
    engine.put_scenario("op", &operation("op", RESULT)).await.unwrap();
    engine.put_scenario("w", workflow).await.unwrap();
    assert_eq!(engine.run(json!({"id": "a", "scenario": "w"}), "success").await["result"], 1);
    // Another version breaks nobody: who runs the operation goes on with what it has.
    let put = async |name: &str, text: String| -> Value {
        let request = engine.env().http().put(format!("{}/v1/scenarios/{name}", engine.base()));
        request
            .header("content-type", "application/yaml")
            .body(text)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    };
    let newer =
        format!("params: {{type: object, required: [n]}}\n{}", operation("op", &RESULT.replace('1', "2")));
    let applied = put("op", newer).await;
    assert_eq!(applied["version"], 2, "{applied}");
    let user = &applied["usedBy"][0];
    assert_eq!((&user["scenario"], &user["operationVersion"]), (&json!("w"), &json!(1)), "{applied}");
    let fault = user["faults"][0]["message"].as_str().unwrap();
    assert!(fault.contains("of the operation"), "{applied}");
    assert_eq!(engine.run(json!({"id": "b", "scenario": "w"}), "success").await["result"], 1);
    let refused = put("w", workflow.to_owned()).await;
    assert_eq!(refused["status"], 422, "{refused}");
    let third = put("op", operation("op", &RESULT.replace('1', "3"))).await;
    assert_eq!(third["usedBy"][0]["faults"], json!([]), "{third}");
    // The same text means another operation now: that is a version of its own.
    let applied = put("w", workflow.to_owned()).await;
    assert_eq!(
        (&applied["version"], &applied["operations"]),
        (&json!(2), &json!([{"operation": "op", "version": 3}])),
        "{applied}"
    );
    assert_eq!(put("w", workflow.to_owned()).await["version"], 2);
    assert_eq!(engine.run(json!({"id": "c", "scenario": "w"}), "success").await["result"], 3);
    let first = json!({"id": "d", "scenario": "w", "scenarioVersion": 1});
    assert_eq!(engine.run(first, "success").await["result"], 1);
}

#[tokio::test]
async fn scn_19_an_operation_waits_and_sleeps_in_the_state_that_runs_it_and_a_restart_begins_at_the_entry_point()
 {
    let engine = Installation::with("scn_19_rests", &[("PAGURUS__SCENARIO__MIN_SLEEP", "100ms")]).await;
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"n": 4}))));
    engine.world().program(Program::at("/after").fail(1, 400));
    let actions = format!(
        "{}\n- sleep: {{for: 300ms}}\n{}\n- script: 'result(callbacks.answer.body.n);'",
        asks("/ask"),
        call("/after")
    );
    engine.put_scenario("op", &operation("op", &actions)).await.unwrap();
    engine.actions("w", "- do: {operation: op, save: {n: \"${result}\"}}\n- script: 'result(vars.n);'").await;
    let failed = engine.run(json!({"id": "a", "scenario": "w"}), "fail").await;
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("operation `op`: POST "), "{failed}");
    let transitions = engine.part("a", "transitions").await;
    assert_eq!(transitions.as_array().map_or(0, Vec::len), 1, "{transitions}");
    engine.act("a", "restart", &json!({"reason": "again"})).await.success().unwrap();
    assert_eq!(engine.reach("a", "success").await["result"], 4);
    until("it is asked again", PATIENCE, async || engine.world().calls("/ask").len() == 2).await;
}

#[tokio::test]
async fn scn_13_scn_19_an_order_that_waits_in_an_operation_moves_to_a_version_that_runs_the_same_one() {
    let engine = Installation::start("scn_19_moves").await;
    let asks = format!("{}\n- script: 'result(#{{code: callbacks.answer.body.code}});'", asks("/ask"));
    engine.put_scenario("op", &operation("op", &asks)).await.unwrap();
    let workflow = |path: &str| {
        format!(
            "- do: {{operation: op, save: {{got: \"${{result}}\"}}}}\n{}\n- script: 'result(vars.got);'",
            call(path)
        )
    };
    engine.actions("w", &workflow("/after")).await;
    engine.run(json!({"id": "a", "scenario": "w"}), "wait").await;
    engine.actions("w", &workflow("/new-after")).await;
    engine.put_scenario("op", &operation("op", &format!("{asks}\n- log: 'another version'"))).await.unwrap();
    engine.actions("w", &workflow("/other-after")).await;
    let migrate = async |to: i32| {
        let body = json!({"from": 1, "to": to, "apply": true, "reason": "a new address"});
        engine.post("/v1/scenarios/w/migrate", &body).await.unwrap().success().unwrap()
    };
    let report = migrate(3).await;
    assert_eq!((&report["moved"], &report["left"]), (&json!(0), &json!(1)), "{report}");
    let reason = report["reasons"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("action 1 of state `work`, which is another one"), "{report}");
    let report = migrate(2).await;
    assert_eq!((&report["moved"], &report["left"]), (&json!(1), &json!(0)), "{report}");
    let url = engine.calls("/ask", 1).await[0].headers["x-callback-url"].clone();
    engine.env().http().post(url).json(&json!({"code": 7})).send().await.unwrap();
    let order = engine.reach("a", "success").await;
    assert_eq!((&order["result"], &order["scenarioVersion"]), (&json!({"code": 7}), &json!(2)), "{order}");
    let counts =
        ["/ask", "/after", "/new-after", "/other-after"].map(|path| engine.world().calls(path).len());
    assert_eq!(counts, [1, 0, 1, 0], "nothing is asked again");
}
