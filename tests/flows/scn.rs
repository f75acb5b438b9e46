//! Scenarios: the model and its faults, transitions, values, scripts, stable keys (02-scenarios.md).

use serde_json::{Value, json};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program};

use crate::err::policy;
use crate::installation::{Installation, asking, at, call, with_actions};

#[tokio::test]
async fn scn_1_all_faults_are_reported_at_once_with_their_places() {
    let engine = Installation::start("scn_1").await;
    let text = "scenario: wrong\nkind: workflow\ninitialState: nowhere\nstates:\n  a:\n    actions:\n      - htp: {url: x}\n    on: {success: gone}\n  \
                island: {kind: terminal}\n";
    let put = async |name: &str, text: String| {
        let request = engine.env().http().put(format!("{}/v1/scenarios/{name}", engine.base()));
        let answer = request.header("content-type", "application/yaml").body(text).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, body) = put("wrong", text.to_owned()).await;
    assert_eq!(status, 422, "{body}");
    let errors = body["errors"].as_array().unwrap();
    assert!(errors.len() >= 3, "{body}");
    assert!(errors.iter().all(|one| one["line"].is_u64() && one["column"].is_u64()), "{body}");
    let fine = "scenario: fine\nkind: workflow\ninitialState: a\nstates:\n  a: {actions: [{log: x}], on: {success: b}}\n  b: {kind: terminal}\n";
    for (name, text, expected) in [
        ("fine", fine.to_owned(), 201),
        ("fine", fine.to_owned(), 200),
        ("fine", fine.replace("log: x", "log: y"), 201),
        ("other", fine.to_owned(), 422),
        ("fine", "a: [".to_owned(), 422),
        ("fine", String::new(), 422),
        ("fine", "\u{0}".to_owned(), 422),
    ] {
        let (status, body) = put(name, text.clone()).await;
        assert_eq!(status, expected, "{name} {text:?}: {body}");
    }
    let many: String = (0..31)
        .map(|n| format!("  s{n}: {{actions: [{{log: x}}], on: {{success: s{0}}}}}\n", n + 1))
        .collect();
    let (status, body) = put(
        "many",
        format!(
            "scenario: many\nkind: workflow\ninitialState: s0\nstates:\n{many}  s31: {{kind: terminal}}\n"
        ),
    )
    .await;
    assert_eq!(status, 422, "{body}");
    assert!(
        body["detail"].as_str().unwrap().contains("the scenario has 32 states, 30 are allowed"),
        "{body}"
    );
    let versions = engine.get("/v1/scenarios/fine/versions").await.unwrap().body;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn scn_2_ends_are_classed_by_the_scenario_or_else_by_the_configuration() {
    let ends_in = |name: &str| {
        format!(
            "initialState: w\nstates:\n  w: {{actions: [{{log: x}}], on: {{success: {name}}}}}\n  {name}: {{kind: terminal}}\n"
        )
    };
    let usual = Installation::start("scn_2").await;
    let named = [("PAGURUS__EXECUTION__STATE_CLASSIFICATION__TARGET", "[{step: Finished}]")];
    let own = Installation::with("scn_2_own", &named).await;
    for (engine, end, expected) in [
        (&usual, "done", "target"),
        (&usual, "Rolled_Back", "target"),
        (&usual, "finished", "failed"),
        (&own, "finished", "target"),
        (&own, "done", "failed"),
    ] {
        engine.scenario(end, &ends_in(end)).await;
        let order = engine.run(json!({"id": end, "scenario": end}), "success").await;
        assert_eq!((&order["step"], &order["scenarioStatus"]), (&json!(end), &json!(expected)), "{order}");
        // What the scenario says itself counts alone.
        for (target, expected) in [(end, "target"), ("other", "failed")] {
            let id = format!("{end}-{target}");
            let other = "  other: {kind: terminal}\n";
            let text = ends_in(end)
                .replace("success: ", "fail: other, success: ")
                .replace("log: x", "script: 'if params.n == 1 { fail(\"no\") }'");
            engine.scenario(&id, &format!("targetStates: [{target}]\n{text}{other}")).await;
            let order = engine.run(json!({"id": id, "scenario": id, "params": {"n": 0}}), "success").await;
            assert_eq!(order["scenarioStatus"], expected, "{order}");
        }
    }
}

#[tokio::test]
async fn scn_4_actions_run_in_order_until_one_of_them_decides_on_the_event() {
    let engine = Installation::start("scn_4").await;
    engine.world().program(Program::at("/refused").fail(1, 400));
    let states = format!(
        "initialState: all\nstates:\n  all:\n    actions:\n      {a}\n      - log: between\n      {b}\n    on: {{success: some, fail: failed}}\n  \
         some:\n    actions:\n      {refused}\n      {never}\n    on: {{success: failed, fail: raised}}\n  \
         raised:\n    actions:\n      {c}\n      - script: 'success()'\n      {never}\n    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n",
        a = call("/a"),
        b = call("/b"),
        c = call("/c"),
        refused = call("/refused"),
        never = call("/never"),
    );
    engine.scenario("acts", &states).await;
    engine.run(json!({"id": "a", "scenario": "acts"}), "success").await;
    let paths: Vec<String> = engine.world().calls("/**").into_iter().map(|call| call.path).collect();
    assert_eq!(paths, ["/a", "/b", "/refused", "/c"]);
    let moves: Vec<Value> =
        engine.transitions("a").await.unwrap().iter().map(|one| json!([one["from"], one["event"]])).collect();
    assert_eq!(moves, [json!(["all", "success"]), json!(["some", "fail"]), json!(["raised", "success"])]);
}

#[tokio::test]
async fn scn_6_a_sleep_keeps_its_values_and_its_time_over_every_death() {
    let mut engine = Installation::only("scn_6", &[Role::Intake, Role::Dispatcher, Role::Worker], &[]).await;
    let states = format!(
        "initialState: falls\nstates:\n  falls:\n    actions:\n      - script: 'vars.seen = #{{ n: params.n + 1 }}'\n      \
         - sleep: {{for: 700ms}}\n    on: {{sleep: asleep, fail: failed}}\n  asleep: {{kind: sleeping, on: {{timeout: wakes}}}}\n  \
         wakes:\n    actions:\n      {}\n    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n",
        call("/awake").replace("body: {", "body: {seen: \"${vars.seen}\", ")
    );
    engine.scenario("sleeps", &states).await;
    // Nobody is there to wake it.
    let asleep = engine.run(json!({"id": "a", "scenario": "sleeps", "params": {"n": 1}}), "sleep").await;
    assert_eq!(
        (&asleep["step"], &asleep["vars"]),
        (&json!("asleep"), &json!({"seen": {"n": 2}})),
        "{asleep}"
    );
    for role in [Role::Worker, Role::Dispatcher, Role::Intake] {
        engine.node(role).kill().await.unwrap();
    }
    for role in [Role::Intake, Role::Dispatcher, Role::Worker] {
        engine.restart(role).await;
    }
    assert_eq!(engine.order("a").await.unwrap()["dueAt"], asleep["dueAt"]);
    engine.add(Role::Activator, "activator-1").await;
    engine.reach("a", "success").await;
    let calls = engine.world().calls("/awake");
    assert_eq!((calls.len(), &calls[0].body["seen"]), (1, &json!({"n": 2})));
    assert!(calls[0].at >= at(&asleep, "dueAt"), "{calls:?} {asleep}");
    let transitions = engine.transitions("a").await.unwrap();
    assert_eq!((&transitions[1]["from"], &transitions[1]["event"]), (&json!("asleep"), &json!("timeout")));
}

#[tokio::test]
async fn scn_3_transitions_are_kept_and_a_running_order_keeps_its_version() {
    let engine = Installation::start("scn_3").await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    engine.accepted(json!({"id": "a", "scenario": "asks"})).await;
    engine.reach("a", "wait").await;
    engine.scenario("asks", &asking("/silent", "11m").replace("/after", "/new-after")).await;
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    engine.env().http().post(url).json(&json!({"code": 0})).send().await.unwrap();
    let order = engine.reach("a", "success").await;
    assert_eq!((&order["scenarioVersion"], &order["scenarioStatus"]), (&json!(1), &json!("target")));
    assert_eq!(engine.world().calls("/after").len(), 1);
    let transitions = engine.transitions("a").await.unwrap();
    let moves: Vec<[&str; 3]> =
        transitions.iter().map(|one| ["from", "event", "to"].map(|key| one[key].as_str().unwrap())).collect();
    assert_eq!(
        moves,
        [["ask", "wait", "asked"], ["asked", "callback", "after"], ["after", "success", "done"]]
    );
    for (index, one) in transitions.iter().enumerate() {
        assert_eq!((&one["number"], &one["node"]), (&json!(index + 1), &json!("worker-1")), "{one}");
        assert!(one["at"].is_string() && one["handOut"].as_i64().unwrap() >= 1, "{one}");
    }
    let newer = engine.run(json!({"id": "b", "scenario": "asks"}), "wait").await;
    assert_eq!(newer["scenarioVersion"], 2);
    let named = engine.run(json!({"id": "c", "scenario": "asks", "scenarioVersion": 1}), "wait").await;
    assert_eq!(named["scenarioVersion"], 1);
}

#[tokio::test]
async fn scn_5_values_keep_their_types_and_scripts_their_bounds() {
    let engine = Installation::with(
        "scn_5",
        &[("PAGURUS__CONFIG__SECRET", "s3cr3t"), ("PAGURUS__SCENARIO__MAX_VARS_BYTES", "2KiB")],
    )
    .await;
    let actions = r#"- script: 'vars.list = params.list; vars.n = params.n * 2'
- http: {method: POST, url: "${config.demo}/typed", headers: {X-Secret: "${config.secret}", X-Text: "n=${vars.n}"}, body: {n: "${vars.n}", list: "${vars.list}", flag: "${params.flag}", none: "${params.none}", text: "n is ${vars.n}", id: "${order.id}"}}
- script: 'result(#{ status: response.status, ok: response.body.ok })'"#;
    engine.actions("typed", actions).await;
    let params = json!({"n": 21, "list": [1, "two", {"three": 3.5}], "flag": true, "none": null});
    let order = engine.run(json!({"id": "a", "scenario": "typed", "params": params}), "success").await;
    assert_eq!(order["result"], json!({"status": 200, "ok": true}));
    let call = engine.calls("/typed", 1).await.remove(0);
    assert_eq!(
        call.body,
        json!({"n": 42, "list": params["list"], "flag": true, "none": null, "text": "n is 42", "id": "a"})
    );
    assert_eq!((call.headers["x-secret"].as_str(), call.headers["x-text"].as_str()), ("s3cr3t", "n=42"));
    let cases = [
        ("endless", "- script: 'loop { }'", Some("script.limit")),
        ("deep", "- script: 'fn f(n) { f(n + 1) } f(0)'", Some("script.limit")),
        ("huge", "- script: 'let s = \"x\"; loop { s += s; }'", Some("script.limit")),
        ("vars", "- script: 'vars.big = \"x\"; for n in 0..12 { vars.big += vars.big; }'", None),
        ("unfit", "- script: 'vars.n = 1; vars.n.push(2)'", Some("script.error")),
    ];
    for (name, actions, class) in cases {
        engine.actions(name, actions).await;
        let order = engine.run(json!({"id": name, "scenario": name}), "fail").await;
        assert!(order["error"]["message"].is_string(), "{order}");
        if let Some(class) = class {
            assert_eq!(order["error"]["class"], class, "{order}");
        }
    }
    let log = std::fs::read_to_string(&engine.node(Role::Worker).spec.log).unwrap();
    assert!(!log.contains("s3cr3t"), "secrets are never logged");
}

#[tokio::test]
async fn scn_7_early_double_and_late_callbacks_are_distinguished() {
    let engine = Installation::start("scn_7").await;
    engine.world().program(
        Program::at("/early")
            .calling_back(CallBack::with(json!({"code": 0})).times(2))
            .delayed(std::time::Duration::from_millis(300)),
    );
    engine.scenario("early", &asking("/early", "10m")).await;
    engine.run(json!({"id": "a", "scenario": "early"}), "success").await;
    assert_eq!(engine.calls("/after", 1).await[0].body["answer"], json!({"code": 0}));
    let mut verdicts: Vec<String> = engine
        .part("a", "callbacks")
        .await
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["verdict"].as_str().unwrap().to_owned())
        .collect();
    verdicts.sort();
    assert_eq!(verdicts, ["accepted", "duplicate"]);
    engine.scenario("times", &asking("/silent", "300ms")).await;
    let order = engine.run(json!({"id": "b", "scenario": "times"}), "fail").await;
    assert_eq!(order["step"], "failed", "{order}");
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    let late: Value =
        engine.env().http().post(url).json(&json!({})).send().await.unwrap().json().await.unwrap();
    assert_eq!(late["status"], "late");
}

#[tokio::test]
async fn scn_7_a_question_over_amqp_is_answered_over_amqp() {
    let engine = Installation::start("scn_7_amqp").await;
    let exchange = format!("world-{}", engine.env().prefix());
    let decide = std::sync::Arc::new(|question: &pagurus_harness::world::amqp::Question| {
        pagurus_harness::world::amqp::Answer::Twice(json!({"echo": question.body["n"]}))
    });
    let responder = pagurus_harness::world::amqp::Responder::start(
        engine.env().amqp_url(),
        &exchange,
        engine.env().prefix(),
        decide,
    );
    let responder = responder.await.unwrap();
    let states = asking("/ask", "1m").lines().map(str::to_owned).collect::<Vec<_>>();
    let start = states.iter().position(|line| line.contains("- http:")).unwrap();
    let end = states.iter().position(|line| line.contains("- wait:")).unwrap();
    let amqp = format!(
        "      - amqp: {{exchange: {exchange}, key: do.it, body: {{n: \"${{params.n}}\"}}, request: answer}}"
    );
    let text = [&states[..start], &[amqp], &states[end..]].concat().join("\n");
    engine.scenario("asks", &text).await;
    engine.run(json!({"id": "a", "scenario": "asks", "params": {"n": 9}}), "success").await;
    assert_eq!(engine.calls("/after", 1).await[0].body["answer"], json!({"echo": 9}));
    let questions = responder.questions();
    assert_eq!((questions.len(), questions[0].key.as_str()), (1, "do.it"));
    assert!(questions[0].message_id.is_some() && questions[0].correlation_id.is_some());
}

#[tokio::test]
async fn scn_7_answers_stay_known_when_the_order_rests_again() {
    let policies = policy(
        "{initial_interval: 100ms, multiplier: 1, max_interval: 100ms, jitter: 0, max_attempts: 2, max_duration: 1h}",
    );
    let engine =
        Installation::with("scn_7_known", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policies)]).await;
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"code": 7}))));
    engine.world().program(Program::at("/after").fail(1, 503));
    let text = asking("/ask", "1m")
        .replace("callback: after", "callback: nap")
        .replace("  after:", "  nap: {actions: [{sleep: {for: 100ms}}], on: {sleep: napping}}\n  napping: {kind: sleeping, on: {timeout: after}}\n  after:");
    engine.scenario("naps", &text).await;
    engine.run(json!({"id": "a", "scenario": "naps"}), "success").await;
    let bodies: Vec<Value> =
        engine.world().calls("/after").into_iter().map(|call| call.body["answer"].clone()).collect();
    assert_eq!(bodies, [json!({"code": 7}), json!({"code": 7})], "after a sleep, and in a retry");
}

#[tokio::test]
async fn scn_7_what_answers_a_former_life_is_late() {
    let engine = Installation::start("scn_7_life").await;
    engine.world().program(Program::at("/refuse").fail(1, 404));
    engine.scenario("asks", &asking("/refuse", "1m")).await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "fail").await;
    let url = engine.calls("/refuse", 1).await[0].headers["x-callback-url"].clone();
    let answer = async || -> Value {
        let sent = engine.env().http().post(&url).json(&json!({})).send().await.unwrap();
        sent.json().await.unwrap()
    };
    assert_eq!(answer().await["status"], "late", "the order has ended, though no wait was for this request");
    assert_eq!(engine.part("a", "requests").await[0]["status"], "canceled");
    engine.act("a", "restart", &json!({"from": "initial"})).await.success().unwrap();
    engine.reach("a", "wait").await;
    assert_eq!(answer().await["status"], "late", "another life has requests of its own");
    let statuses = engine.part("a", "requests").await;
    assert_eq!((&statuses[0]["status"], &statuses[1]["status"]), (&json!("canceled"), &json!("open")));
}

#[tokio::test]
async fn scn_14_the_idempotency_key_is_stable_over_retries_and_new_for_each_visit() {
    let policies = policy(
        "{initial_interval: 100ms, multiplier: 1, max_interval: 100ms, jitter: 0, max_attempts: 5, max_duration: 1h}",
    );
    let engine = Installation::with("scn_14", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policies)]).await;
    engine.world().program(Program::at("/do").fail(2, 503));
    let states = format!(
        "initialState: a\nstates:\n  a:\n    entryPoint: true\n    actions:\n      {0}\n      {1}\n      - script: 'vars.n = if \"n\" in vars {{ vars.n + 1 }} else {{ 1 }}; if vars.n < 2 {{ fail(\"again\") }}'\n    \
         on: {{success: done, fail: b}}\n  b: {{actions: [{{log: again}}], on: {{success: a}}}}\n  done: {{kind: terminal}}\n",
        call("/do"),
        call("/do")
    );
    engine.scenario("loops", &states).await;
    engine.run(json!({"id": "x", "scenario": "loops"}), "success").await;
    let keys = |calls: Vec<pagurus_harness::world::Call>| -> Vec<String> {
        calls.iter().map(|call| call.headers["idempotency-key"].clone()).collect()
    };
    let first = keys(engine.world().calls("/do"));
    assert_eq!(first.len(), 6);
    assert!(first[0] == first[1] && first[1] == first[2], "one action, three attempts: {first:?}");
    let mut distinct: Vec<_> = first[2..].to_vec();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "two actions in two visits: {first:?}");
    engine.act("x", "restart", &json!({"from": "initial"})).await.success().unwrap();
    engine.reach("x", "success").await;
    let all = keys(engine.world().calls("/do"));
    assert!(all[6..].iter().all(|key| !first.contains(key)), "another life, other keys: {all:?}");
}

#[tokio::test]
async fn scn_7_without_a_public_address_called_systems_answer_to_an_intake() {
    let engine = Installation::with("scn_7_url", &[("PAGURUS__INTAKE__PUBLIC_URL", "")]).await;
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"code": 0}))));
    engine.scenario("asks", &asking("/ask", "30s")).await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "success").await;
}

#[tokio::test]
async fn scn_1_applying_warns_of_what_the_deployment_does_not_have() {
    let engine = Installation::start("scn_1_warnings").await;
    let actions = "- http: {url: '${config.nope}/a', auth: {bearer: '${secret.none}'}}\n- order: {scenario: nc-not-there}\n\
                   - http: {url: '${config.demo}/${params.b}'}";
    let text = format!("scenario: warned\nkind: workflow\n{}", with_actions(actions));
    let applied = engine.put_scenario("warned", &text).await.unwrap();
    let messages = |warnings: &Value| -> Vec<String> {
        warnings.as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect()
    };
    let expected = [
        "this deployment has no constant `config.nope`",
        "this node cannot read a secret `none`",
        "there is no scenario `nc-not-there`, which its child orders need",
    ];
    assert_eq!(messages(&applied["warnings"]), expected, "{applied}");
    assert_eq!(applied["warnings"][0]["line"], 8, "{applied}");
    let request = engine.env().http().post(format!("{}/v1/scenarios/check", engine.base())).body(text);
    let checked: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(messages(&checked["warnings"]), expected, "{checked}");
}
