//! A thing that goes out of bounds, of a scenario or of a called system, ends as an error of its order, and
//! harms no other: afterwards every process is ready, and the next order runs.

use std::time::{Duration, Instant};

use pagurus_harness::client::Answer;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, PATIENCE, call, until, with_actions};

/// Asserts that every process is ready, and that an order that does nothing special ends well.
async fn assert_healthy(engine: &Installation, canary: &str) {
    for node in &engine.nodes {
        let answer = reqwest::get(format!("{}/readyz", node.url())).await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert_eq!(status, 200, "{} after {canary}: {text}", node.spec.role);
    }
    engine.actions("canary", &call("/canary")).await;
    engine.run(json!({"id": canary, "scenario": "canary"}), "success").await;
}

/// Class and message with which an order failed.
fn failure(order: &Value) -> (&str, &str) {
    (
        order["error"]["class"].as_str().unwrap_or_default(),
        order["error"]["message"].as_str().unwrap_or_default(),
    )
}

#[tokio::test]
async fn scn_5_a_script_that_runs_over_ends_its_order_and_nothing_else() {
    let engine = Installation::start("robust_script").await;
    let scripts = [
        ("endless", "loop {}"),
        ("deep", "fn f(n) { f(n + 1) } f(0)"),
        ("wide", "let x = \"x\"; loop { x += x; }"),
        ("list", "let x = []; loop { x.push(1); }"),
    ];
    for (name, code) in scripts {
        engine.actions(name, &format!("- script: '{code}'")).await;
    }
    // Many at once: they may share the worker's threads, and must not keep them.
    let begun = Instant::now();
    for round in 0..8 {
        for (name, _) in scripts {
            engine.accepted(json!({"id": format!("{name}-{round}"), "scenario": name})).await;
        }
    }
    assert_healthy(&engine, "while-they-run").await;
    for round in 0..8 {
        for (name, _) in scripts {
            let order = engine.reach(&format!("{name}-{round}"), "fail").await;
            assert_eq!(failure(&order).0, "script.limit", "{order}");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_healthy(&engine, "afterwards").await;
}

#[tokio::test]
async fn err_3_an_answer_without_measure_is_not_taken_in() {
    let engine = Installation::start("robust_answer").await;
    engine
        .world()
        .program(Program::at("/huge").then_answer(200, Value::String("x".repeat(10 * 1024 * 1024))));
    engine
        .world()
        .program(Program::at("/huge-error").then_answer(404, Value::String("y".repeat(10 * 1024 * 1024))));
    for path in ["/huge", "/huge-error"] {
        engine.actions(&path[1..], &call(path)).await;
        let order = engine.run(json!({"id": &path[1..], "scenario": &path[1..]}), "fail").await;
        let (_, message) = failure(&order);
        assert!(message.contains("BodyError") && message.len() < 1000, "{order}");
    }
    assert_healthy(&engine, "canary").await;
}

#[tokio::test]
async fn scn_5_what_is_saved_has_a_bound() {
    let engine = Installation::start("robust_vars").await;
    engine.world().program(Program::at("/large").then_answer(200, json!({"text": "x".repeat(300 * 1024)})));
    let save = "- http: {url: \"${config.demo}/large\", timeout: 5s, save: {all: \"${response.body}\"}}";
    engine.actions("keeps-all", save).await;
    let order = engine.run(json!({"id": "a", "scenario": "keeps-all"}), "fail").await;
    assert_eq!(failure(&order).0, "scenario.vars", "{order}");
    assert_healthy(&engine, "canary").await;
}

#[tokio::test]
async fn err_3_a_system_that_hangs_holds_up_its_own_orders_only() {
    let rules =
        policy("{initial_interval: 200ms, multiplier: 1, max_interval: 200ms, jitter: 0, max_attempts: 1}")
            .replace("{name_keyword: ConnectError}", "{name_keyword: ReadTimeout}");
    // In another mode its flow is stopped, and its orders wait.
    let settings =
        [("PAGURUS__EXECUTION__ERROR_HANDLING", &*rules), ("PAGURUS__DISTRIBUTION__MODE", "simple")];
    let engine = Installation::with("robust_hang", &settings).await;
    engine.world().program(Program::at("/hang").hang(1000));
    engine.actions("hangs", r#"- http: {url: "${config.demo}/hang", timeout: 700ms}"#).await;
    for n in 0..30 {
        engine.accepted(json!({"id": format!("h-{n}"), "scenario": "hangs"})).await;
    }
    engine.calls("/hang", 30).await;
    // One after the other, all of them would hang for this long.
    const TOGETHER: Duration = Duration::from_millis(30 * 2 * 700);
    let begun = Instant::now();
    assert_healthy(&engine, "meanwhile").await;
    assert!(begun.elapsed() < TOGETHER / 2, "others do not wait for it: {:?}", begun.elapsed());
    for n in 0..30 {
        let order = engine.reach(&format!("h-{n}"), "fail").await;
        assert_eq!(failure(&order).0, "all.connection", "{order}");
    }
    assert_eq!(engine.world().calls("/hang").len(), 60, "each was repeated once");
    assert_healthy(&engine, "afterwards").await;
}

/// Puts a scenario as it is; `scenario` of the harness insists on success.
async fn put(engine: &Installation, name: &str, text: String) -> Answer {
    let url = format!("{}/v1/scenarios/{name}", engine.base());
    let request = reqwest::Client::new().put(url).header("content-type", "application/yaml").body(text);
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    Answer { status, body: answer.json().await.unwrap_or_default() }
}

#[tokio::test]
async fn scn_1_a_file_that_was_made_to_do_harm_is_refused_in_no_time() {
    let engine = Installation::start("robust_yaml").await;
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let ten = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{ten}]\n"));
    }
    let states: String = (0..20_000).map(|n| format!("  s{n}: {{on: {{success: s{}}}}}\n", n + 1)).collect();
    let bombs = [
        ("aliases", format!("scenario: b\ninitialState: a\n{laughs}states: {{done: {{kind: terminal}}}}\n")),
        ("depth", format!("scenario: b\nparams: {}", "[".repeat(200_000))),
        ("closed depth", format!("scenario: b\nparams: {}{}", "{a: ".repeat(50_000), "}".repeat(50_000))),
        ("states", format!("scenario: b\ninitialState: s0\nstates:\n{states}")),
        ("pattern", "scenario: b\nparams: {type: string, pattern: '(((((a{1,900}){1,900}){1,900}){1,900}){1,900})'}\ninitialState: done\nstates: {done: {kind: terminal}}\n".into()),
        ("template", format!("scenario: b\n{}", with_actions(&format!("- log: \"{}\"", "${".repeat(20_000))))),
        ("script", format!("scenario: b\n{}", with_actions(&format!("- script: 'let x = {}1{}'", "(".repeat(20_000), ")".repeat(20_000))))),
        ("not text", "\u{0}\u{1}\u{2}".repeat(1000)),
    ];
    for (what, text) in bombs {
        let begun = Instant::now();
        let answer = put(&engine, "b", text).await;
        assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
        // Whatever follows such a file takes minutes, or all memory.
        assert!(begun.elapsed() < Duration::from_secs(30), "{what} took {:?}", begun.elapsed());
        assert!(answer.body.to_string().len() < 1024 * 1024, "{what} is answered at length");
    }
    assert_healthy(&engine, "canary").await;
    assert!(engine.nodes.iter().any(|node| node.spec.role == Role::Intake));
}

/// Rhai's own functions look at the bounds after they have returned.
#[tokio::test]
async fn qlt_8_a_script_whose_functions_would_make_gigabytes_harms_nobody_else() {
    let engine = Installation::start("robust_native").await;
    let scripts = [
        (
            "replace",
            "let s = \"aaaaaaaa\"; while s.len() < 60000 { s += s; } let t = s; s.replace(\"a\", t);",
        ),
        ("map", "let l = []; l.pad(10000, 1); let s = \"\"; s.pad(250000, \"x\"); l.map(|n| s + n);"),
        ("split", "let s = \"\"; s.pad(262144, \"x\"); s.split(\"\");"),
    ];
    for (name, code) in scripts {
        engine.actions(name, &format!("- script: '{code}'")).await;
    }
    engine.actions("fill", "- script: 'let s = \"a\"; s.pad(10, \"\"); vars.s = s;'").await;
    for round in 0..4 {
        for (name, _) in scripts {
            engine.accepted(json!({"id": format!("{name}-{round}"), "scenario": name})).await;
        }
    }
    // To fill with nothing once never ended.
    engine.run(json!({"id": "fill", "scenario": "fill"}), "success").await;
    assert_healthy(&engine, "while-they-run").await;
    for round in 0..4 {
        for (name, _) in scripts {
            let order = engine.reach(&format!("{name}-{round}"), "fail").await;
            assert_eq!(failure(&order).0, "script.limit", "{order}");
        }
    }
    let worker =
        std::fs::read_to_string(format!("/proc/{}/status", engine.node(Role::Worker).identity.pid)).unwrap();
    let peak = worker.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 300 * 1024, "the worker had {peak} KiB");
}

/// A schema of which each definition refers twice to the next.
fn doubling(count: usize) -> String {
    let twice =
        |n: usize| format!("d{n}: {{allOf: [{{$ref: '#/$defs/d{0}'}}, {{$ref: '#/$defs/d{0}'}}]}}, ", n + 1);
    let definitions: String = (0..count).map(twice).collect();
    format!("{{$ref: '#/$defs/d0', $defs: {{{definitions}d{count}: {{type: object}}}}}}")
}

#[tokio::test]
async fn qlt_8_a_schema_that_multiplies_harms_nobody_else() {
    let engine = Installation::start("robust_schema").await;
    let rest = "initialState: done\nstates: {done: {kind: terminal}}\n";
    let text = format!("scenario: hostile\nparams: {}\n{rest}", doubling(40));
    let refused = format!("{:#}", engine.put_scenario("hostile", &text).await.unwrap_err());
    assert!(refused.contains("evaluations of one value"), "{refused}");

    // Taken, because a tree may refer to itself; how much it is, only the parameters tell.
    engine
        .scenario(
            "tree",
            &format!("params: {{properties: {{a: {{allOf: [{{$ref: '#'}}, {{$ref: '#'}}]}}}}}}\n{rest}"),
        )
        .await;
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    let begun = Instant::now();
    for round in 0..20 {
        let order = json!({"id": format!("deep-{round}"), "scenario": "tree", "params": nested(60)});
        let answer = engine.submit(&order).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(answer.body.to_string().contains("too long to check"), "{answer:?}");
    }
    assert_healthy(&engine, "canary").await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // What can be checked is, off the threads of the others.
    engine.run(json!({"id": "shallow", "scenario": "tree", "params": nested(12)}), "success").await;
    // A child order is held against it in the worker.
    engine.actions("parent", "- order: {scenario: tree, params: \"${params}\"}").await;
    let parent = json!({"id": "parent", "scenario": "parent", "params": nested(60)});
    let parent = engine.run(parent, "fail").await;
    assert!(failure(&parent).1.contains("too long to check"), "{parent}");
    assert_healthy(&engine, "after-children").await;
}

#[tokio::test]
async fn qlt_8_a_child_that_takes_long_to_check_holds_up_no_other_child() {
    const MANY: i64 = 60;
    let engine = Installation::start("robust_children").await;
    let rest = "initialState: done\nstates: {done: {kind: terminal}}\n";
    // Each item of the list is held against all of it.
    let items = "properties: {list: {items: {$ref: '#/$defs/d0'}}}";
    let schema = doubling(11).replacen("$ref: '#/$defs/d0'", items, 1);
    engine.scenario("costly", &format!("params: {schema}\n{rest}")).await;
    engine.scenario("cheap", rest).await;
    engine.actions("parent", "- order: {scenario: costly, params: {list: \"${params.list}\"}}").await;
    engine.actions("other", "- order: {scenario: cheap}").await;
    let list = vec![json!({}); 200];
    let parents: Vec<Value> = (0..MANY)
        .map(|n| json!({"id": format!("p-{n}"), "scenario": "parent", "params": {"list": list}}))
        .collect();
    engine.post("/v1/orders/batch", &json!(parents)).await.unwrap().success().unwrap();
    let session = engine.database().await;
    let registered =
        async || -> i64 { session.query_one("SELECT count(*) FROM children", &[]).await.unwrap().get(0) };
    until("the first is registered", PATIENCE, async || registered().await > 0).await;
    engine.run(json!({"id": "other", "scenario": "other"}), "success").await;
    let so_far = registered().await;
    assert!(so_far <= MANY, "the other one waited for all {MANY}: {so_far}");
    // They take their turns, and none is lost.
    for n in 0..MANY {
        engine.reach(&format!("p-{n}"), "success").await;
    }
    assert_eq!(registered().await, MANY + 1);
}

/// Over both transports the host would be whatever the order says.
#[tokio::test]
async fn qlt_8_an_order_cannot_choose_the_host_that_is_called() {
    let engine = Installation::start("robust_host").await;
    engine.actions("whole", "- http: {url: \"${params.url}\"}").await;
    engine.actions("host", "- http: {url: \"http://${params.host}:8080/v1/orders\"}").await;
    // The host of `config.demo` is the deployment's, no matter who names it; the API of the engine is not.
    let url = format!("{}/v1/orders", engine.node(Role::Intake).url());
    for (scenario, params) in [("whole", json!({"url": url})), ("host", json!({"host": "127.0.0.1"}))] {
        let order = json!({"id": scenario, "scenario": scenario, "params": params});
        let order = engine.run(order, "fail").await;
        let (_, message) = failure(&order);
        assert!(message.contains("comes from the order") && message.contains("worker.http.allow"), "{order}");
    }
    assert_healthy(&engine, "canary").await;
}
