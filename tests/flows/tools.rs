//! Scenarios as people handle them over the API: tried, drawn, moved to another version (SCN-13).

use serde_json::{Value, json};

use crate::installation::Installation;

/// An order asks and waits, or naps; then it calls `/after`.
const FIRST: &str = r#"initialState: begin
targetStates: [done]
states:
  begin:
    entryPoint: true
    actions:
      - script: 'if params.nap { success() }'
      - http: {method: POST, url: "${config.demo}/silent", headers: {X-Callback-Url: "${request.url}"}, body: {order: "${order.id}"}, timeout: 5s, request: answer}
      - wait: {timeout: 10m}
    on: {success: nap, wait: asked, fail: failed}
  nap: {actions: [{sleep: {for: 1h}}], on: {sleep: napping}}
  napping: {kind: sleeping, on: {timeout: done}}
  asked: {kind: waiting, on: {callback: after, timeout: failed}}
  after:
    actions: [{http: {method: POST, url: "${config.demo}/after", body: {order: "${order.id}"}, timeout: 5s}}]
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

async fn migrate(engine: &Installation, body: &Value) -> Value {
    engine.post("/v1/scenarios/moves/migrate", body).await.unwrap().success().unwrap()
}

async fn version(engine: &Installation, id: &str) -> Value {
    engine.get(&format!("/v1/orders/{id}")).await.unwrap().body["scenarioVersion"].clone()
}

#[tokio::test]
async fn scn_13_live_orders_move_to_another_version_where_their_state_is_the_same() {
    let engine = Installation::start("scn_13_move").await;
    engine.scenario("moves", FIRST).await;
    engine.run(json!({"id": "waits", "scenario": "moves", "params": {"nap": false}}), "wait").await;
    engine.run(json!({"id": "naps", "scenario": "moves", "params": {"nap": true}}), "sleep").await;
    let member = |id: &str| json!({"id": id, "scenario": "moves", "params": {"nap": false}, "mode": "sequential", "queue": "q"});
    engine.run(member("holds"), "wait").await;
    engine.accepted(member("behind")).await;
    let second = FIRST.replace("nap:", "rest:").replace("nap,", "rest,").replace("napping", "resting");
    engine
        .scenario("moves", &second.replace("params.rest", "params.nap").replace("/after", "/new-after"))
        .await;

    let asked = json!({"from": 1, "to": 2});
    let report = migrate(&engine, &asked).await;
    assert_eq!(
        (&report["moved"], &report["left"], &report["applied"]),
        (&json!(3), &json!(1), &json!(false)),
        "{report}"
    );
    assert_eq!(report["reasons"][0]["reason"], "the new version has no state `napping`", "{report}");
    assert_eq!(report["reasons"][0]["examples"], json!(["naps"]));
    assert_eq!(version(&engine, "waits").await, 1, "a dry run changes nothing");

    // The same of a text that is not applied, before it is.
    let third = format!("scenario: moves\n{}", second.replace("asked", "questioned"));
    let preview = async |path: &str| {
        let request = engine.env().http().post(format!("{}/v1/scenarios/migration{path}", engine.base()));
        let answer =
            request.header("content-type", "application/yaml").body(third.clone()).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, report) = preview("?from=1").await;
    assert_eq!(
        (status, &report["from"], &report["to"], &report["applied"]),
        (200, &json!(1), &json!(3), &json!(false)),
        "{report}"
    );
    assert_eq!((&report["moved"], &report["left"]), (&json!(1), &json!(3)), "{report}");
    let (_, report) = preview("").await;
    assert_eq!(
        (&report["from"], &report["moved"], &report["left"]),
        (&json!(2), &json!(0), &json!(0)),
        "{report}"
    );
    assert_eq!((preview("?from=7").await.0, preview("?after=x").await.0), (404, 422));

    let report =
        migrate(&engine, &json!({"from": 1, "to": 2, "apply": true, "reason": "a new address"})).await;
    assert_eq!(
        (&report["moved"], &report["left"], &report["applied"]),
        (&json!(3), &json!(1), &json!(true)),
        "{report}"
    );
    for (id, expected) in [("waits", 2), ("holds", 2), ("behind", 2), ("naps", 1)] {
        assert_eq!(version(&engine, id).await, expected, "{id}");
    }
    let again = migrate(&engine, &asked).await;
    assert_eq!((&again["moved"], &again["left"], &again["next"]), (&json!(0), &json!(1), &Value::Null));
    let events = engine.part("waits", "events").await;
    let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "migrated").unwrap();
    // REC-15: the history says why, and who asked by which door.
    let (reason, door) = (&event["payload"]["reason"], &event["payload"]["by"]["door"]);
    assert_eq!((&event["source"], reason, door), (&json!("api"), &json!("a new address"), &json!("http")));

    // What waited goes on under the new version, and so does what stood behind it in the queue.
    for call in engine.calls("/silent", 2).await {
        let url = call.headers["x-callback-url"].clone();
        engine.env().http().post(url).json(&json!({"code": 0})).send().await.unwrap();
    }
    engine.reach("waits", "success").await;
    engine.reach("holds", "success").await;
    engine.reach("behind", "wait").await;
    let third = engine.calls("/silent", 3).await[2].headers["x-callback-url"].clone();
    engine.env().http().post(third).json(&json!({"code": 0})).send().await.unwrap();
    engine.reach("behind", "success").await;
    assert_eq!((engine.world().calls("/new-after").len(), engine.world().calls("/after").len()), (3, 0));
}

#[tokio::test]
async fn scn_13_a_migration_that_makes_no_sense_is_refused() {
    let engine = Installation::start("scn_13_refuse").await;
    engine.scenario("moves", FIRST).await;
    for (body, status) in [
        (json!({"from": 1, "to": 1}), 422),
        (json!({"from": 1}), 422),
        (json!({"from": 1, "to": 2, "apply": "yes"}), 422),
        (json!({"from": 1, "to": 2}), 404),
        (json!({"from": 1, "to": 2, "after": 7}), 422),
    ] {
        let answer = engine.post("/v1/scenarios/moves/migrate", &body).await.unwrap();
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
}

#[tokio::test]
async fn scn_13_scenarios_are_drawn_and_tried_over_the_api() {
    let engine = Installation::start("scn_13_api").await;
    engine.scenario("moves", FIRST).await;
    engine.scenario("moves", &FIRST.replace("napping", "resting")).await;
    let text = async |path: &str| {
        let answer = engine.env().http().get(format!("{}{path}", engine.base())).send().await.unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        (answer.status().as_u16(), kind, answer.text().await.unwrap())
    };
    let (status, kind, picture) = text("/v1/scenarios/moves/graph").await;
    assert!(status == 200 && kind == "image/svg+xml" && picture.contains(">resting<"), "{kind} {picture}");
    let (_, _, diagram) = text("/v1/scenarios/moves/graph?format=mermaid&version=1").await;
    assert!(diagram.starts_with("stateDiagram-v2") && diagram.contains("napping"), "{diagram}");
    assert!(text("/v1/scenarios/moves?version=1").await.2.contains("napping"));
    for (path, expected) in [("graph?format=png", 422), ("graph?version=3", 404)] {
        assert_eq!(text(&format!("/v1/scenarios/moves/{path}")).await.0, expected, "{path}");
    }

    let scenario = format!("scenario: moves\n{FIRST}");
    let tests = "tests:\n  - {test: it naps, params: {nap: true}, expect: {status: success, duration: 1h}}\n  - {test: it does not, params: {nap: true}, expect: {status: fail}}\n";
    let tried =
        engine.post("/v1/scenarios/test", &json!({"scenario": scenario, "tests": tests})).await.unwrap();
    assert_eq!((tried.status, &tried.body["passed"]), (200, &json!(false)), "{tried:?}");
    let passed: Vec<bool> =
        tried.body["tests"].as_array().unwrap().iter().map(|one| one["passed"].as_bool().unwrap()).collect();
    assert_eq!(passed, [true, false], "{tried:?}");
    let coverage = &tried.body["coverage"];
    assert_eq!(
        (&coverage["states"]["reached"], &coverage["states"]["total"]),
        (&json!(4), &json!(7)),
        "{coverage}"
    );
    let missed = coverage["transitions"]["missed"].as_array().unwrap();
    assert!(missed.contains(&json!("`begin` wait to `asked`")), "{coverage}");
    let broken = json!({"scenario": scenario, "tests": "tests: [{tset: x}]"});
    let refused = engine.post("/v1/scenarios/test", &broken).await.unwrap();
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(
        refused.body["errors"][0]["pointer"].as_str().unwrap().starts_with("/tests/tests/0"),
        "{refused:?}"
    );
}
