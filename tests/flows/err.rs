//! Errors and retries (03-errors-and-retries.md), synchronous.

mod groups;

use std::path::PathBuf;
use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step, Then};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, until};

/// Rules that class 502 and 503 as `all.unavailable` and lost connections as `all.connection`, and one policy for
/// both with these parameters.
pub fn policy(parameters: &str) -> String {
    format!(
        "{{sync: {{mode: retry, classification: {{rules: {{any.rule: {{requests: [{{path: \"/**\"}}], classes: {{\
         all.unavailable: {{responses: [{{status_codes: [502, 503]}}]}}, \
         all.connection: {{exceptions: [{{name_keyword: ConnectError}}, {{name_keyword: ConnectionReset}}, {{name_keyword: ConnectionClosed}}]}}}}}}}}}}, \
         retry: {{policies: {{p: {{error_classes: [all.unavailable, all.connection], parameters: {parameters}}}}}}}}}}}"
    )
}

const SOON: &str = "{initial_interval: 200ms, multiplier: 2, max_interval: 1s, jitter: 0, max_attempts: 4, max_duration: 1h}";

#[tokio::test]
async fn err_8_9_an_outage_shorter_than_the_policy_is_not_seen_by_the_scenario() {
    let engine = Installation::with("err_8", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    engine.world().program(Program::at("/two").fail(2, 503));
    engine.world().program(Program::at("/ever").fail(100, 502));
    engine.world().program(Program::at("/other").fail(100, 500));
    engine.world().program(Program::at("/cut").cut(1));
    for (path, status, calls) in
        [("/two", "success", 3), ("/ever", "fail", 5), ("/other", "fail", 1), ("/cut", "success", 2)]
    {
        engine.actions(&path[1..], &call(path)).await;
        let order = engine.run(json!({"id": &path[1..], "scenario": &path[1..]}), status).await;
        assert_eq!(engine.world().calls(path).len(), calls, "{path}: {order}");
    }
    let calls = engine.world().calls("/ever");
    let pauses: Vec<u128> =
        calls.windows(2).map(|pair| (pair[1].started - pair[0].started).as_millis()).collect();
    for (pause, least) in pauses.iter().zip([200, 400, 800, 1000]) {
        assert!((least..least + 5000).contains(pause), "{pauses:?}");
    }
    let order = engine.get("/v1/orders/ever").await.unwrap().body;
    assert_eq!(order["error"]["class"], "all.unavailable", "{order}");
}

#[tokio::test]
async fn err_5_a_class_that_a_script_gives_repeats_the_call_that_it_judged() {
    let engine = Installation::with("err_5", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    let busy = Step::answer(200, json!({"code": "BUSY"}));
    engine.world().program(Program::at("/judged").first(2, &busy).then_answer(200, json!({"code": "OK"})));
    let judge = r#"- script: 'if response.body.code == "BUSY" { fail("busy", "all.unavailable") }'"#;
    let actions = format!("{}\n{}\n{judge}\n{}", call("/before"), call("/judged"), call("/after"));
    engine.actions("judged", &actions).await;
    let order = engine.run(json!({"id": "a", "scenario": "judged"}), "success").await;
    let counts = ["/before", "/judged", "/after"].map(|path| engine.world().calls(path).len());
    assert_eq!((counts, &order["retries"]), ([1, 3, 1], &json!(2)), "{order}");
}

#[tokio::test]
async fn err_8_retry_after_is_a_lower_bound_and_the_cycle_is_shown() {
    let engine =
        Installation::with("err_8_after", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    let later = Step {
        then: Then::Answer {
            status: 503,
            headers: vec![("Retry-After".into(), "2".into())],
            body: Value::Null,
        },
        ..Step::fine()
    };
    engine.world().program(Program::at("/busy").first(1, &later));
    engine.actions("busy", &call("/busy")).await;
    let order = engine.run(json!({"id": "a", "scenario": "busy"}), "retry").await;
    let shown = json!([
        order["retry"]["class"],
        order["retry"]["policy"],
        order["retry"]["cycle"],
        order["retry"]["attempt"]
    ]);
    assert_eq!(shown, json!(["all.unavailable", "p", 1, 1]), "{order}");
    assert_eq!(
        (&order["retry"]["kind"], &order["retry"]["maxAttempts"]),
        (&json!("sync"), &json!(4)),
        "{order}"
    );
    let left = order["retry"]["timeLeftMs"].as_u64().unwrap();
    assert!((3_500_000..=3_600_000).contains(&left), "an hour, less what went by: {order}");
    let explained = engine.part("a", "explain").await;
    let text = explained["explanation"].as_str().unwrap();
    for part in ["`all.unavailable`", "attempt 1 of 4 of cycle 1 by policy `p`", "no attempt after 20"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    engine.reach("a", "success").await;
    let calls = engine.world().calls("/busy");
    assert!(calls[1].started - calls[0].started >= Duration::from_secs(2), "{calls:?}");
}

#[tokio::test]
async fn err_15_a_scenario_brings_rules_and_policies_along() {
    let engine = Installation::with("err_15", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    engine.world().program(Program::at("/odd").fail(2, 409));
    engine.world().program(Program::at("/busy").fail(100, 503));
    let scenario = r#"initialState: a
errors:
  sync:
    classification: {rules: {mine: {requests: [{path: /*}], classes: {mine.odd: {responses: [{status_codes: [409]}]}, mine.busy: {responses: [{status_codes: [503]}]}}}}}
    retry: {policies: {mine: {error_classes: ["mine.*"], parameters: {initial_interval: 2s, multiplier: 1, jitter: 0, max_attempts: 7}}}}
states:
  a: {actions: [{http: {url: "${config.demo}/SCENARIO"}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    for name in ["odd", "busy"] {
        engine.scenario(name, &scenario.replace("SCENARIO", name)).await;
    }
    let order = engine.run(json!({"id": "a", "scenario": "odd"}), "retry").await;
    let shown = json!([order["retry"]["class"], order["retry"]["policy"], order["retry"]["maxAttempts"]]);
    assert_eq!(shown, json!(["mine.odd", "mine", 7]), "{order}");
    let explained = engine.part("a", "explain").await;
    let text = explained["explanation"].as_str().unwrap();
    assert!(text.contains("attempt 1 of 7 of cycle 1 by policy `mine`"), "{text}");
    let order = engine.reach("a", "success").await;
    assert_eq!(engine.world().calls("/odd").len(), 3, "{order}");
    let order = engine.run(json!({"id": "b", "scenario": "busy"}), "fail").await;
    assert_eq!(order["error"]["class"], "all.unavailable", "the deployment is asked first: {order}");
    for (status, expected) in
        [(409, ["mine", "mine.odd", "mine"]), (503, ["any.rule", "all.unavailable", "p"])]
    {
        let question = json!({"scenario": "odd", "path": "/odd", "status": status});
        let answer = engine.post("/v1/classify", &question).await.unwrap().body;
        assert_eq!(json!([answer["rule"], answer["class"], answer["policy"]]), json!(expected), "{answer}");
    }
}

#[tokio::test]
async fn err_11_a_retry_resumes_at_the_action_that_failed_and_keeps_what_was_done() {
    let engine = Installation::with("err_11", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    engine.world().program(Program::at("/first").then_answer(200, json!({"id": "r-1"})));
    engine.world().program(Program::at("/second").fail(2, 503));
    let actions = r#"- http: {method: POST, url: "${config.demo}/first", name: one, save: {reservation: "${response.body.id}"}}
- script: 'vars.n = 41 + 1'
- http: {method: POST, url: "${config.demo}/second", body: {reservation: "${vars.reservation}", n: "${vars.n}", first: "${responses.one.body.id}"}}"#;
    engine.actions("steps", actions).await;
    engine.run(json!({"id": "a", "scenario": "steps"}), "success").await;
    assert_eq!(engine.world().calls("/first").len(), 1);
    let calls = engine.world().calls("/second");
    assert_eq!(calls.len(), 3);
    for call in calls {
        assert_eq!(call.body, json!({"reservation": "r-1", "n": 42, "first": "r-1"}));
    }
}

#[tokio::test]
async fn err_1_2_3_4_the_most_specific_rule_classes_and_its_order_of_classes_counts() {
    let rules = r#"{sync: {mode: retry, classification: {rules: {
        any.rule: {requests: [{path: "/**"}], classes: {all.unavailable: {responses: [{status_codes: [500, 502, 503]}]}, all.connection: {exceptions: [{name_keyword: java.net.ConnectException}]}, all.slow: {exceptions: [{name_keyword: ReadTimeout}]}}},
        items.rule: {requests: [{path: "/shop/*/state"}], classes: {
          shop.sso: {responses: [{status_codes: [500], body_keywords: [[Service, SSO], [reset]]}]},
          shop.money: {responses: [{status_codes: [200], body_keywords: [["no money"]]}]},
          shop.unavailable: {responses: [{status_codes: [500, 503]}]}}}}}}}"#;
    let engine = Installation::with("err_1", &[("PAGURUS__EXECUTION__ERROR_HANDLING", rules)]).await;
    let answers = [
        ("/shop/a/state", 500, json!({"text": "Service of SSO is down"}), Some("shop.sso")),
        ("/shop/b/state", 500, json!({"text": "SSO"}), Some("shop.unavailable")),
        ("/shop/c/state", 500, json!({"text": "connection reset"}), Some("shop.sso")),
        ("/shop/d/state", 200, json!({"text": "no money"}), Some("shop.money")),
        ("/shop/e/state", 502, json!({}), None),
        ("/shop/a/b/state", 500, json!({}), Some("all.unavailable")),
        ("/elsewhere", 500, json!({}), Some("all.unavailable")),
        ("/not-found", 404, json!({}), None),
    ];
    for (path, status, body, class) in answers {
        engine.world().program(Program::at(path).then_answer(status, body));
        let name = path[1..].replace('/', "-");
        engine.actions(&name, &call(path)).await;
        let order = engine.run(json!({"id": name, "scenario": name}), "fail").await;
        assert_eq!(order["error"]["class"], json!(class), "{path}: {order}");
    }
    for (path, status) in [("/redirect", 302), ("/fine", 204)] {
        engine.world().program(Program::at(path).then_answer(status, Value::Null));
        engine.actions(&path[1..], &call(path)).await;
        engine.run(json!({"id": &path[1..], "scenario": &path[1..]}), "success").await;
    }
    engine.world().program(Program::at("/hang").hang(1));
    engine.actions("slow", r#"- http: {method: GET, url: "${config.demo}/hang", timeout: 300ms}"#).await;
    let order = engine.run(json!({"id": "slow", "scenario": "slow"}), "fail").await;
    assert_eq!(order["error"]["class"], "all.slow", "{order}");
    engine.actions("refused", r#"- http: {method: GET, url: "http://127.0.0.1:9/x"}"#).await;
    let order = engine.run(json!({"id": "refused", "scenario": "refused"}), "fail").await;
    assert_eq!(order["error"]["class"], "all.connection", "{order}");
}

#[tokio::test]
async fn err_9_the_cycle_ends_with_its_duration_in_all() {
    let policies = policy(
        "{initial_interval: 300ms, multiplier: 1, max_interval: 300ms, jitter: 0, max_attempts: 100, max_duration: 1s}",
    );
    let engine = Installation::with("err_9", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policies)]).await;
    engine.world().program(Program::at("/ever").fail(100, 503));
    engine.actions("ever", &call("/ever")).await;
    engine.run(json!({"id": "a", "scenario": "ever"}), "fail").await;
    let calls = engine.world().calls("/ever").len();
    assert!((2..=5).contains(&calls), "{calls}");
}

#[tokio::test]
async fn err_10_the_time_between_due_and_begun_counts_or_does_not() {
    let policies = policy(
        "{initial_interval: 100ms, multiplier: 1, max_interval: 100ms, jitter: 0, max_attempts: 3, max_duration: 8s}",
    );
    // Nobody wakes what is due.
    let roles = [Role::Intake, Role::Dispatcher, Role::Worker];
    let engine = async |mode: &str| {
        let settings = [
            ("PAGURUS__EXECUTION__ERROR_HANDLING", policies.as_str()),
            ("PAGURUS__RETRY_DURATION_CONTROL__MODE", mode),
        ];
        let engine = Installation::only("err_10", &roles, &settings).await;
        engine.world().program(Program::at("/ever").fail(100, 503));
        engine.actions("ever", &call("/ever")).await;
        engine.run(json!({"id": "a", "scenario": "ever"}), "retry").await;
        engine
    };
    let mut without = engine("run_and_suspending_durations").await;
    // The later of the two: when its time is over, that of the other would be, too.
    let mut total = engine("total").await;
    until("the cycle has had its time", PATIENCE, async || {
        total.order("a").await.unwrap()["retry"]["timeLeftMs"] == 0
    })
    .await;
    for engine in [&mut total, &mut without] {
        engine.add(Role::Activator, "activator-1").await;
        engine.reach("a", "fail").await;
    }
    let calls = |engine: &Installation| engine.world().calls("/ever").len();
    assert_eq!(calls(&total), 2, "the attempt that was due is made, and none after it");
    assert_eq!(calls(&without), 4, "the first and all attempts of the policy");
}

#[tokio::test]
async fn err_14_classify_answers_the_same_by_file_and_by_server() {
    let rules = policy(SOON);
    let engine =
        Installation::with("err_14_classify", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules)]).await;
    let folder = std::env::temp_dir().join(format!("pagurus-classify-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("rules.yaml");
    std::fs::write(&file, format!("execution:\n  error_handling: {rules}\n")).unwrap();
    let base = engine.base().to_owned();
    let unavailable = json!({"rule": "any.rule", "class": "all.unavailable", "policy": "p"});
    let connection = json!({"rule": "any.rule", "class": "all.connection", "policy": "p"});
    let nothing = json!({"rule": null, "class": null, "policy": null});
    let timed_out = json!({"rule": null, "class": "async.timeout", "policy": null});
    for (line, expected) in [
        ("--path /a/b --status 503 --scenario s", &unavailable),
        ("--path http://h:1/a --status 502", &unavailable),
        ("--path /a --status 500 --body busy", &nothing),
        ("--path /a --exception ConnectionRefused", &connection),
        ("--path /a --exception java.net.ConnectException --message no", &connection),
        ("--path /a --exception DnsError", &connection),
        ("--path /a --exception ReadTimeout", &nothing),
        ("--path /a --timeout", &timed_out),
        ("--amqp %2F?exchange=x&key=y --timeout", &timed_out),
        ("--amqp /a?key=y --step-status done", &nothing),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        for place in [["--config", file.to_str().unwrap()], ["--server", base.as_str()]] {
            let output = pagurus(&[&["--json", "classify"], &words[..], &place[..]].concat()).await;
            assert!(output.status.success(), "{line}: {output:?}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(&answer, expected, "{line} {place:?}");
        }
    }
    let people =
        pagurus(&["classify", "--config", file.to_str().unwrap(), "--path", "/a", "--status", "503"]).await;
    let shown = String::from_utf8(people.stdout).unwrap();
    assert!(
        shown.starts_with("rule    any.rule\nclass   all.unavailable\npolicy  p\n- rule `any.rule` matches"),
        "{shown}"
    );
    std::fs::write(&file, "execution: {error_handling: {sync: {mod: retry}}}").unwrap();
    let broken =
        pagurus(&["classify", "--config", file.to_str().unwrap(), "--path", "/a", "--status", "503"]).await;
    let text = String::from_utf8(broken.stderr).unwrap();
    assert!(broken.status.code() == Some(1) && text.contains("did you mean `mode`?"), "{text}");
    for (body, status) in [
        (json!({"path": "/a"}), 422),
        (json!({"path": "/a", "status": 500, "pat": 1}), 422),
        (json!([]), 422),
    ] {
        assert_eq!(engine.post("/v1/classify", &body).await.unwrap().status, status, "{body}");
    }
    let groups = pagurus(&["errors", "--by", "scenario", "--server", &base]).await;
    assert!(
        groups.status.success() && String::from_utf8_lossy(&groups.stderr).contains("no order has failed"),
        "{groups:?}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Runs the command line.
pub async fn pagurus(arguments: &[&str]) -> std::process::Output {
    let program = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    tokio::process::Command::new(program).args(arguments).output().await.unwrap()
}
