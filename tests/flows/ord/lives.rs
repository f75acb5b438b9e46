//! Restarts, repeats and repairs: where an order goes back to, with what, and what shows meanwhile (ORD-12, 17, 22, 23, SCN-3).

use std::time::Duration;

use pagurus_harness::env::STOP_TIMEOUT;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, LOG, PATIENCE, call, until};

/// A reservation, an entry point, and a state that asks and waits.
const STANDS: &str = r#"params: {type: object, properties: {bad: {type: boolean}}}
initialState: reserve
states:
  reserve:
    actions:
      - script: 'if "bad" in params { fail("no", "bad") }'
      - http: {method: POST, url: "${config.demo}/reserve"}
    on: {success: ask, fail: failed}
  ask:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/ask", save: {asked: "${order.id}"}}
    on: {success: stand, fail: failed}
  stand:
    actions:
      - http: {method: POST, url: "${config.demo}/stand", body: {asked: "${vars.asked}"}, request: answer}
      - wait: {timeout: 300ms}
    on: {wait: waiting, fail: failed}
  waiting: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// Policy that repeats a wait once after its time-out.
const ONCE_MORE: &str = "{async: {retry: {policies: {late: {error_classes: [async.timeout], parameters: {initial_interval: 200ms, multiplier: 1, max_interval: 200ms, jitter: 0, max_attempts: 1}}}}}}";

fn paths(engine: &Installation) -> Vec<String> {
    engine.world().calls("/**").into_iter().map(|call| call.path).collect()
}

#[tokio::test]
async fn ord_22_ord_23_err_11_a_repeat_goes_back_to_where_the_operator_let_the_order_begin() {
    let engine =
        Installation::with("ord_22_lives", &[("PAGURUS__EXECUTION__ERROR_HANDLING", ONCE_MORE)]).await;
    engine.scenario("stands", STANDS).await;
    engine.run(json!({"id": "a", "scenario": "stands"}), "fail").await;
    assert_eq!(paths(&engine), ["/reserve", "/ask", "/stand", "/ask", "/stand"], "from the entry point");
    engine.world().forget();
    assert_eq!(engine.act("a", "restart", &json!({"from": "stand"})).await.status, 200);
    let failed = engine.reach("a", "fail").await;
    assert_eq!(paths(&engine), ["/stand", "/stand"], "nothing is reserved again");
    assert_eq!((&failed["entryPoint"], &failed["vars"]["asked"]), (&json!("stand"), &json!("a")), "{failed}");

    // A repair is a move, and the next repeat goes back to it.
    engine.world().forget();
    // Long enough for a repair in the middle of it.
    engine.scenario("patient", &STANDS.replace("300ms", "3s")).await;
    engine.accepted(json!({"id": "b", "scenario": "patient"})).await;
    engine.reach("b", "wait").await;
    assert_eq!(engine.act("b", "repair", &json!({"state": "stand", "reason": "r"})).await.status, 200);
    let failed = engine.reach("b", "fail").await;
    assert_eq!(paths(&engine), ["/reserve", "/ask", "/stand", "/stand", "/stand"]);
    assert_eq!(failed["entryPoint"], "stand", "{failed}");
    let moves = engine.transitions("b").await.unwrap();
    let by_hand = moves.iter().find(|one| one["event"] == "repair").expect("a transition");
    assert_eq!((&by_hand["from"], &by_hand["to"]), (&json!("waiting"), &json!("stand")), "{moves:?}");

    // From the initial state on, what an earlier life had is forgotten.
    engine.world().forget();
    let initial = json!({"from": "initial", "params": {"bad": true}});
    assert_eq!(engine.act("a", "restart", &initial).await.status, 200);
    let failed = engine.reach("a", "fail").await;
    assert_eq!((&failed["entryPoint"], &failed["vars"]), (&Value::Null, &json!({})), "{failed}");
    assert_eq!(engine.act("a", "restart", &json!({"params": {}})).await.status, 200);
    engine.reach("a", "fail").await;
    assert_eq!(paths(&engine)[..2], ["/reserve", "/ask"], "and it begins there again");
}

#[tokio::test]
async fn ord_17_an_order_is_not_postponed_behind_its_latest_start() {
    let engine =
        Installation::only("ord_17_later", &[Role::Intake, Role::Dispatcher, Role::Activator], &[]).await;
    engine.actions("quick", LOG).await;
    let now = jiff::Timestamp::now();
    let after =
        |minutes: i64| json!({"startAt": (now + jiff::SignedDuration::from_mins(minutes)).to_string()});
    let bounded = json!({"periodToStart": 3600});
    let waits = json!({"periodToStart": 3600, "after": [{"order": "first", "states": ["done"]}]});
    engine.accepted(json!({"id": "first", "scenario": "quick", "lifecycle": after(600)})).await;
    engine.accepted(json!({"id": "ready", "scenario": "quick", "lifecycle": bounded})).await;
    engine.accepted(json!({"id": "waits", "scenario": "quick", "lifecycle": waits})).await;
    let patch = async |id: &str, body: Value| engine.patch(&format!("/v1/orders/{id}"), &body).await.unwrap();
    for id in ["ready", "waits"] {
        let refused = patch(id, json!({"lifecycle": after(90)})).await;
        assert_eq!(
            (refused.status, &refused.body["pointer"]),
            (422, &json!("/lifecycle/startAt")),
            "{refused:?}"
        );
        let answer = patch(id, json!({"lifecycle": after(30)})).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("postponed")), "{answer:?}");
        let refused = patch(id, json!({"lifecycle": after(90)})).await;
        assert_eq!(refused.status, 422, "a second time, too: {refused:?}");
    }
    assert_eq!(patch("first", json!({"lifecycle": after(900)})).await.status, 200, "it has no deadline");
}

#[tokio::test]
async fn ord_17_an_order_that_has_started_has_no_latest_start_any_more() {
    let rules = policy("{initial_interval: 10m, jitter: 0, max_attempts: 3}");
    let settings = [("PAGURUS__EXECUTION__ERROR_HANDLING", rules.as_str())];
    let mut engine = Installation::with("ord_17_started", &settings).await;
    engine.world().program(Program::at("/down").fail(100, 503));
    engine.actions("down", &call("/down")).await;
    engine.run(json!({"id": "o", "scenario": "down", "lifecycle": {"periodToStart": 3600}}), "retry").await;
    engine.node(Role::Worker).stop(STOP_TIMEOUT).await.unwrap();
    engine.nodes.retain(|node| node.spec.role != Role::Worker);
    let repaired = engine.act("o", "repair", &json!({"state": "work", "reason": "a test"})).await;
    assert_eq!((repaired.status, &repaired.body["status"]), (200, &json!("reopen")), "{repaired:?}");
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(90);
    let body = json!({"lifecycle": {"startAt": later.to_string()}});
    let answer = engine.patch("/v1/orders/o", &body).await.unwrap();
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("postponed")), "{answer:?}");
}

#[tokio::test]
async fn ord_17_ord_22_a_life_that_missed_its_start_leaves_what_the_one_before_had() {
    let engine = Installation::start("ord_17_lives").await;
    engine.world().program(Program::at("/two").fail(1, 400));
    let states = r#"initialState: one
states:
  one: {actions: [{script: 'vars.seen = 7'}], on: {success: two, fail: failed}}
  two:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/two", body: {seen: "${vars.seen}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("seen", states).await;
    let order = json!({"id": "a", "scenario": "seen", "lifecycle": {"periodToStart": 60}});
    engine.run(order, "fail").await;
    let restart = engine.env().http().post(format!("{}/v1/orders/a/restart", engine.base()));
    let worker = engine.node(Role::Worker);
    let counts = async |expected: [f64; 3]| {
        let names = ["started_total", "start_missed_total", "start_delay_seconds_count"];
        for (name, expected) in names.into_iter().zip(expected) {
            engine.until_metric(worker, &format!("pagurus_{name}"), |count| count == expected).await;
        }
    };
    counts([1.0, 0.0, 1.0]).await;
    let sent =
        restart.header("request-sent-time", "2020-01-01T00:00:00Z").json(&json!({})).send().await.unwrap();
    assert_eq!(sent.status(), 200);
    let missed = engine.reach("a", "fail").await;
    assert_eq!(missed["startedAt"], Value::Null, "nothing of this life ran: {missed}");
    // A start that was missed is none.
    counts([1.0, 1.0, 1.0]).await;
    assert_eq!(missed["error"]["class"], "deadline.exceeded", "{missed}");
    assert_eq!((&missed["entryPoint"], &missed["vars"]), (&json!("two"), &json!({"seen": 7})), "{missed}");
    assert_eq!(engine.act("a", "restart", &json!({})).await.status, 200);
    engine.reach("a", "success").await;
    assert_eq!(engine.world().calls("/two")[1].body["seen"], 7);
    counts([2.0, 1.0, 2.0]).await;
    // Its delay is counted from the restart, not from the registration.
    let before = engine.metric(worker, "pagurus_start_delay_seconds_sum").await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(engine.act("a", "restart", &json!({})).await.status, 200);
    engine.reach("a", "success").await;
    counts([3.0, 1.0, 3.0]).await;
    let delay = engine.metric(worker, "pagurus_start_delay_seconds_sum").await - before;
    assert!(delay < 1.0, "{delay} s after a restart");
}

#[tokio::test]
async fn ord_12_a_compensation_is_carried_out_after_the_stage_was_broken_off() {
    let bound = [
        ("PAGURUS__RESOURCE_CONTROL__MAX_SYNC_DURATION", "700ms"),
        ("PAGURUS__RECOVERY__TIMEOUTS__WORK", "700ms"),
    ];
    let engine = Installation::with("ord_12_undo", &bound).await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_millis(1500)));
    engine.world().program(Program::at("/undo").delayed(Duration::from_millis(300)));
    let states = r#"initialState: work
targetStates: [done]
states:
  work: {actions: [{http: {method: POST, url: "${config.demo}/slow", timeout: 5s}}], on: {success: done, fail: undo}}
  undo: {actions: [{http: {method: POST, url: "${config.demo}/undo", timeout: 5s}}], on: {success: undone, fail: stuck}}
  done: {kind: terminal}
  undone: {kind: terminal, outcome: fail}
  stuck: {kind: terminal, outcome: fail}
"#;
    engine.scenario("undoes", states).await;
    let order = json!({"id": "a", "scenario": "undoes", "mode": "sequential", "queue": "q"});
    let failed = engine.run(order, "fail").await;
    assert_eq!(failed["step"], "undone", "{failed}");
    assert_eq!((engine.world().calls("/slow").len(), engine.world().calls("/undo").len()), (1, 1));
}

#[tokio::test]
async fn scn_3_an_entry_point_in_the_middle_of_a_stage_is_seen_and_gone_on_from() {
    let mut engine = Installation::start("scn_3_entered").await;
    engine.world().program(Program::at("/b").hang(1));
    let states = r#"initialState: a
targetStates: [done]
states:
  a: {entryPoint: true, actions: [{http: {method: POST, url: "${config.demo}/a", save: {n: "${order.id}"}}}, {log: said}], on: {success: b, fail: failed}}
  b: {entryPoint: true, actions: [{http: {method: POST, url: "${config.demo}/b", body: {n: "${vars.n}"}, timeout: 60s}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("two", states).await;
    engine.world().program(Program::at("/first").hang(100));
    engine.actions("first", &call("/first").replace("5s", "60s")).await;
    engine.accepted(json!({"id": "x", "scenario": "two"})).await;
    engine.calls("/b", 1).await;
    let running = engine.order("x").await.unwrap();
    assert_eq!(
        (&running["status"], &running["step"], &running["entryPoint"]),
        (&json!("running"), &json!("b"), &json!("b")),
        "{running}"
    );
    assert_eq!(
        (&running["scenarioStatus"], running["transitions"].as_array().unwrap().len()),
        (&json!("on_target"), 1)
    );
    assert_eq!(running["vars"], json!({"n": "x"}));
    let log = engine.part("x", "log").await.to_string();
    assert!(log.contains("a --success--> b") && log.contains("said"), "{log}");

    // The worker that takes over repeats none of it.
    engine.node(Role::Worker).kill().await.unwrap();
    engine.add(Role::Worker, "worker-2").await;
    engine.reach("x", "success").await;
    assert_eq!((engine.world().calls("/a").len(), engine.world().calls("/b").len()), (1, 2));
    let calls = engine.world().calls("/b");
    assert_eq!(calls[0].headers["idempotency-key"], calls[1].headers["idempotency-key"]);
    let done = engine.order("x").await.unwrap();
    assert_eq!(done["vars"], json!({"n": "x"}), "{done}");
    let events = engine.transitions("x").await.unwrap();
    let events: Vec<&str> = events.iter().map(|one| one["to"].as_str().unwrap()).collect();
    assert_eq!(events, ["b", "done"], "each move stands there once");

    // What was stored on the way is gone with the end, where nothing is to be kept.
    engine
        .scenario(
            "bare",
            &states.replace(r#", save: {n: "${order.id}"}"#, "").replace("${vars.n}", "${order.id}"),
        )
        .await;
    engine.run(json!({"id": "bare", "scenario": "bare"}), "success").await;
    let kept = "SELECT count(*) FROM contexts c JOIN orders o ON o.no = c.order_no WHERE o.id = 'bare'";
    assert_eq!(engine.database().await.query_one(kept, &[]).await.unwrap().get::<_, i64>(0), 0);

    // Of a first stage it is known where it was begun, also when it was killed in it.
    engine.accepted(json!({"id": "y", "scenario": "first"})).await;
    engine.calls("/first", 1).await;
    let running = engine.order("y").await.unwrap();
    assert_eq!(
        (&running["step"], &running["scenarioStatus"]),
        (&json!("work"), &json!("on_target")),
        "{running}"
    );
    assert_eq!(engine.act("y", "kill", &json!({})).await.status, 200);
    let killed = engine.reach("y", "canceled").await;
    assert_eq!((&killed["step"], &killed["scenarioStatus"]), (&json!("work"), &json!("failed")), "{killed}");
    assert!(killed["startedAt"].is_string(), "{killed}");
}

#[tokio::test]
async fn ord_22_ord_23_an_order_that_failed_by_its_scenario_goes_on_under_another_version() {
    let engine = Installation::start("ord_22_version").await;
    let version = |code: &str| {
        format!(
            "initialState: one\nstates:\n  one: {{entryPoint: true, actions: [{{script: '{code}'}}], on: {{success: done, fail: failed}}}}\n  done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n"
        )
    };
    engine.scenario("s", &version("fail(\"no\", \"faulty\")")).await;
    for id in ["a", "b", "c"] {
        engine.run(json!({"id": id, "scenario": "s"}), "fail").await;
    }
    engine.scenario("s", &version("result(2)")).await;
    engine.scenario("s", &version("result(3)").replace("one", "two")).await;
    assert_eq!(engine.act("a", "restart", &json!({"scenarioVersion": 2})).await.status, 200);
    let done = engine.reach("a", "success").await;
    assert_eq!((&done["result"], &done["scenarioVersion"]), (&json!(2), &json!(2)), "{done}");
    let repair = json!({"state": "two", "scenarioVersion": 3, "reason": "mended"});
    assert_eq!(engine.act("b", "repair", &repair).await.status, 200);
    assert_eq!(engine.reach("b", "success").await["result"], json!(3));
    // All that failed by it can be moved, where the version has the state at which they go on.
    let migrate = |to: i32| json!({"from": 1, "to": to, "apply": true});
    let moved = engine.post("/v1/scenarios/s/migrate", &migrate(3)).await.unwrap();
    assert_eq!((&moved.body["moved"], &moved.body["left"]), (&json!(0), &json!(1)), "{moved:?}");
    assert!(moved.body["reasons"][0]["reason"].as_str().unwrap().contains("no state `one`"), "{moved:?}");
    let moved = engine.post("/v1/scenarios/s/migrate", &migrate(2)).await.unwrap();
    assert_eq!((&moved.body["moved"], &moved.body["left"]), (&json!(1), &json!(0)), "{moved:?}");
    assert_eq!(engine.act("c", "restart", &json!({})).await.status, 200);
    assert_eq!(engine.reach("c", "success").await["result"], json!(2));
    for (body, pointer) in [
        (json!({"scenarioVersion": 9}), "/scenarioVersion"),
        (json!({"scenarioVersion": "2"}), "/scenarioVersion"),
        // The state where it would go on is not there.
        (json!({"scenarioVersion": 3}), "/scenarioVersion"),
        (json!({"scenarioVersion": 3, "from": "one"}), "/from"),
    ] {
        let answer = engine.act("a", "restart", &body).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{body}: {answer:?}");
    }
}

#[tokio::test]
async fn ord_23_what_a_parent_awaits_is_shown_to_nobody_and_can_be_neither_cloned_nor_changed() {
    let engine = Installation::start("ord_23_parents").await;
    engine.world().program(Program::at("/hang").delayed(Duration::from_millis(300)));
    let sleeps = r"initialState: one
states:
  one: {actions: [{sleep: {for: 2s}}], on: {sleep: two}}
  two: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
";
    engine.scenario("child", sleeps).await;
    engine
        .actions("parent", "- order: {id: kid, scenario: child, wait: true, request: kid, timeout: 20s}")
        .await;
    engine.accepted(json!({"id": "p", "scenario": "parent"})).await;
    until("the child is there", PATIENCE, async || engine.get("/v1/orders/kid").await.unwrap().status == 200)
        .await;
    let child = engine.reach("kid", "sleep").await;
    assert_eq!(child["notify"], Value::Null, "{child}");
    let select = "SELECT id::text FROM requests WHERE name = 'kid'";
    let request: String = engine.database().await.query_one(select, &[]).await.unwrap().get(0);
    for part in ["events", "log", "requests", "explain"] {
        assert!(!engine.part("kid", part).await.to_string().contains(&request), "{part}");
    }
    assert!(!child.to_string().contains(&request), "{child}");
    assert_eq!(engine.act("kid", "clone", &json!({})).await.status, 201);
    let changed = engine.patch("/v1/orders/kid", &json!({"notify": null, "priority": "high"})).await.unwrap();
    assert_eq!(changed.status, 200, "{changed:?}");
    engine.reach("p", "success").await;
    // A key makes one clone, however often it is asked for.
    let keyed = || async {
        let clone = engine.env().http().post(format!("{}/v1/orders/kid/clone", engine.base()));
        let answer = clone.header("idempotency-key", "k-1").json(&json!({})).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap()["id"].clone())
    };
    let (first, again) = (keyed().await, keyed().await);
    assert_eq!((first.0, again.0, &first.1), (201, 200, &again.1));
}

#[tokio::test]
async fn ord_22_an_entry_point_may_have_the_name_of_the_word_for_the_initial_state() {
    let engine = Installation::start("ord_22_initial").await;
    engine.world().program(Program::at("/once").fail(1, 500));
    let text = "initialState: prepare
targetStates: [done]
states:
  prepare: {actions: [{http: {method: POST, url: '${config.demo}/prepare'}}, {script: 'vars.n = 1'}], on: {success: initial, fail: failed}}
  initial: {entryPoint: true, actions: [{http: {method: POST, url: '${config.demo}/once'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    engine.scenario("named", text).await;
    let failed = engine.run(json!({"id": "o", "scenario": "named"}), "fail").await;
    assert_eq!(failed["entryPoint"], "initial", "{failed}");
    assert_eq!(engine.act("o", "restart", &json!({})).await.status, 200);
    let done = engine.reach("o", "success").await;
    assert_eq!(done["vars"]["n"], 1, "{done}");
    assert_eq!((engine.world().calls("/prepare").len(), engine.world().calls("/once").len()), (1, 2));
    assert_eq!(engine.act("o", "restart", &json!({"from": "initial"})).await.status, 200);
    engine.reach("o", "success").await;
    assert_eq!(engine.world().calls("/prepare").len(), 2, "the word is the initial state");
}

#[tokio::test]
async fn ord_33_a_first_stage_that_runs_is_shown_alike_everywhere() {
    let engine = Installation::start("ord_33_alike").await;
    engine.world().program(Program::at("/never").hang(9));
    engine.actions("asks", "- http: {method: POST, url: '${config.demo}/never', timeout: 60s}").await;
    engine.actions("parent", "- order: {scenario: asks, wait: false}").await;
    let order = json!({"id": "o", "scenario": "asks"});
    engine.accepted(order.clone()).await;
    engine.reach("o", "running").await;
    let asked = engine.post("/v1/orders?wait=1", &order).await.unwrap();
    let shown = engine.get("/v1/orders/o").await.unwrap().success().unwrap();
    for field in ["status", "scenarioStatus", "step", "startedAt"] {
        assert_eq!(asked.body[field], shown[field], "{field}: {asked:?}, {shown}");
    }
    assert_eq!((&shown["status"], &shown["scenarioStatus"]), (&json!("running"), &json!("on_target")));
    engine.run(json!({"id": "p", "scenario": "parent"}), "success").await;
    until("the child runs for its parent, too", PATIENCE, async || {
        let parent = engine.get("/v1/orders/p").await.unwrap().success().unwrap();
        parent["children"][0]["status"] == "running"
    })
    .await;
}
