//! Trials of trials: what a test of a scenario sees, what it refuses, and that it can fail.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod changed;
mod children;
mod coverage;
mod likeness;
mod own_rules;
mod story;

use pagurus_scenario::script::Scripting;
use pagurus_scenario::{Bounds, source};

use super::*;

const SCENARIO: &str = r#"
scenario: s
params: {type: object, required: [n]}
initialState: reserve
targetStates: [done]
states:
  reserve:
    actions:
      - http: {url: "${config.base}/reservations?n=${params.n}", body: {n: "${params.n}"}, timeout: 5s, save: {id: "${response.body.id}"}}
      - amqp: {exchange: network, key: activate, body: {id: "${vars.id}"}, request: activation}
      - wait: {timeout: 10m}
    on: {wait: activating, fail: failed}
  activating: {kind: waiting, on: {callback: check, timeout: failed}}
  check:
    actions:
      - script: |
          if callbacks.activation.body.code != 0 { fail("refused", "network.refused"); }
          log("activated " + vars.id); result(#{ id: vars.id }); message("well");
    on: {success: settle, fail: failed}
  settle: {actions: [{sleep: {for: 1d}}], on: {sleep: settling}}
  settling: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

const GOOD: &str = r#"
tests:
  - test: all goes well
    params: {n: 7}
    config: {base: "http://b"}
    answers:
      - http: {method: POST, url: "http://b/reservations", body: {n: 7}}
        status: 201
        body: {id: r-1}
        after: 200ms
      - amqp: {exchange: network, key: activate}
        callback: {after: 5s, body: {code: 0}}
    expect:
      status: success
      scenarioStatus: target
      step: done
      result: {id: r-1}
      message: well
      vars: {id: r-1}
      log: [activated r-1]
      path: [reserve, activating, check, settle, settling, done]
      requests:
        - POST http://b/reservations
        - {request: amqp network activate, body: {id: r-1}}
      duration: 1d5s200ms
"#;

fn scenario(text: &str) -> Arc<Scenario> {
    let scripting = Scripting::new(Bounds::default().script);
    let read = source::read(text, &scripting, &Bounds::default());
    Arc::new(read.unwrap_or_else(|faults| panic!("{}", source::explain_faults(text, "s", &faults))))
}

fn outcome(scenario_text: &str, tests: &str) -> TrialOutcome {
    let file = read(tests).unwrap_or_else(|faults| panic!("{faults:#?}"));
    run(&scenario(scenario_text), &Deployment::default(), &file.trials[0], &mut || true)
}

fn faults(scenario_text: &str, tests: &str) -> Vec<String> {
    outcome(scenario_text, tests).faults.iter().map(ToString::to_string).collect()
}

#[test]
fn scn_13_a_whole_order_is_run_in_virtual_time() {
    let outcome = outcome(SCENARIO, GOOD);
    assert!(outcome.passed(), "{:#?}", outcome);
    let story: Vec<String> = outcome.story.iter().map(ToString::to_string).collect();
    assert_eq!(
        story,
        [
            "+0s  the order begins at `reserve`",
            "+200ms  POST http://b/reservations?n=7: 201",
            "+200ms  amqp network activate: published",
            "+200ms  `reserve` wait to `activating`",
            "+200ms  waits until 2026-03-01T10:10:00.200Z",
            "+5s200ms  callback `activation`",
            "+5s200ms  `activating` callback to `check`",
            "+5s200ms  log: activated r-1",
            "+5s200ms  `check` success to `settle`",
            "+5s200ms  `settle` sleep to `settling`",
            "+5s200ms  sleeps until 2026-03-02T10:00:05.200Z",
            "+1d5s200ms  `settling` timeout to `done`",
            "+1d5s200ms  the order ends `success` in `done`",
        ]
    );
}

#[test]
fn scn_13_every_expectation_can_fail() {
    for (wrong, right, text) in [
        ("status: fail", "status: success", "expected status `fail`, but it is `success`"),
        ("scenarioStatus: failed", "scenarioStatus: target", "expected scenarioStatus `failed`"),
        ("step: failed", "step: done", "expected step `failed`, but it is `done`"),
        ("result: {id: r-2}", "result: {id: r-1}", "result/id: expected `\"r-2\"`, but it is `\"r-1\"`"),
        ("result: [r-1]", "result: {id: r-1}", "result: expected"),
        ("message: ill", "message: well", "expected message `ill`, but it is `well`"),
        ("error: x\n      message: well", "message: well", "expected error `x`, but there is none"),
        ("vars: {other: 1}", "vars: {id: r-1}", "vars/other: expected `1`, but it is `null`"),
        ("log: [activated r-2]", "log: [activated r-1]", "no line of the log contains `activated r-2`"),
        (
            "settling, failed]",
            "settling, done]",
            "at place 6 of the path, expected `failed`, but it is `done`",
        ),
        ("check, settle]", "check, settle, settling, done]", "at place 5 of the path, expected the end"),
        ("- GET http://b/reservations", "- POST http://b/reservations\n", "expected request `GET http://b"),
        ("body: {id: r-2}}\n      d", "body: {id: r-1}}\n      d", "body/id: expected `\"r-2\"`"),
        ("headers: {X: y}}\n      d", "body: {id: r-1}}\n      d", "expected header `X: y`"),
        ("duration: 1d", "duration: 1d5s200ms", "expected duration `1d`, but it is `1d5s200ms`"),
    ] {
        let wrong = if right.ends_with('\n') { format!("{wrong}\n") } else { wrong.to_owned() };
        let tests = GOOD.replace(right, &wrong);
        assert_ne!(tests, GOOD, "{right}");
        let faults = faults(SCENARIO, &tests);
        assert!(faults.iter().any(|fault| fault.contains(text)), "{wrong}: {faults:?}");
    }
}

#[test]
fn scn_13_missing_and_superfluous_requests_are_reported() {
    let more = GOOD.replace("      duration", "        - POST http://b/more\n      duration");
    assert!(faults(SCENARIO, &more)[0].contains("but only 2 were made"));
    let less = GOOD.replace("        - {request: amqp network activate, body: {id: r-1}}\n", "");
    assert!(faults(SCENARIO, &less)[0].contains("but then came `amqp network activate`"));
}

#[test]
fn scn_13_a_request_without_an_answer_breaks_the_test_off() {
    let tests = GOOD.replace("body: {n: 7}}\n        status", "body: {n: 8}}\n        status");
    let outcome = outcome(SCENARIO, &tests);
    assert_eq!(outcome.faults.len(), 1, "{:?}", outcome.faults);
    let found = outcome.faults[0].to_string();
    assert!(
        found.contains("no answer is left for `POST http://b/reservations?n=7` with body {\"n\":7}"),
        "{found}"
    );
    assert_eq!(outcome.faults[0].at.unwrap().line, 3);
}

#[test]
fn scn_13_parameters_are_held_against_the_schema() {
    let found = faults(SCENARIO, &GOOD.replace("params: {n: 7}", "params: {m: 7}"));
    assert!(found[0].contains("the order would be refused") && found[0].contains('n'), "{found:?}");
}

#[test]
fn scn_13_waits_end_by_time_where_no_callback_comes_in_time() {
    for callback in ["none", "{after: 11m, body: {code: 0}}"] {
        let tests = GOOD.replace("{after: 5s, body: {code: 0}}", callback);
        let (head, _) = tests.split_once("    expect:").unwrap();
        let tests = format!(
            "{head}    expect: {{status: fail, path: [reserve, activating, failed], duration: 10m200ms}}\n"
        );
        assert_eq!(faults(SCENARIO, &tests), Vec::<String>::new(), "{callback}");
    }
}

#[test]
fn scn_13_failures_are_classified_and_retried_in_virtual_time() {
    let tests = r#"
tests:
  - test: the second attempt goes through
    config: {base: "http://b"}
    params: {n: 1}
    errors:
      sync:
        classification:
          rules:
            any: {requests: [{path: "/**"}], classes: {down: {exceptions: [{name_keyword: ConnectError}]}}}
        retry:
          policies:
            p: {error_classes: [down], parameters: {initial_interval: 10s, multiplier: 2, max_interval: 1m, jitter: 0, max_attempts: 3}}
    answers:
      - {http: POST http://b/reservations, fails: ConnectTimeout, times: 2, after: 1s}
      - {http: POST http://b/reservations, status: 409}
    expect:
      status: fail
      error: unclassified
      path: [reserve, failed]
      requests: [POST http://b/reservations, POST http://b/reservations, POST http://b/reservations]
      duration: 32s
"#;
    assert_eq!(faults(SCENARIO, tests), Vec::<String>::new());
    let slow = tests.replace("fails: ConnectTimeout, times: 2, after: 1s", "status: 201, after: 6s");
    let result = outcome(SCENARIO, &slow);
    assert!(
        result
            .story
            .iter()
            .any(|one| one.text.contains("ReadTimeout") && one.after == Duration::from_secs(5)),
        "{result:#?}"
    );
}

#[test]
fn scn_13_a_circle_ends_with_a_clear_message() {
    let circle = r#"
scenario: s
initialState: a
states:
  a: {actions: [{script: 'if order.attempt > 1000000 { success() }'}, {sleep: {for: 1m}}], on: {sleep: b, success: done, fail: done}}
  b: {kind: sleeping, on: {timeout: a}}
  done: {kind: terminal}
"#;
    let found = faults(circle, "tests: [{test: t, expect: {status: success}}]");
    assert!(found[0].contains("goes round in a circle"), "{found:?}");
    let long = circle.replace("1m", "3650d");
    let found = faults(&long, "tests: [{test: t, expect: {status: success}}]");
    assert!(found[0].contains("twenty years"), "{found:?}");
    let file = read("tests: [{test: t, expect: {status: success}}]").unwrap();
    let broken = run(&scenario(circle), &Deployment::default(), &file.trials[0], &mut || false);
    assert!(broken.faults[0].message.contains("broken off"), "{broken:?}");
}

#[test]
fn scn_13_all_faults_of_a_file_are_reported_at_once() {
    let text = r#"
scenario: s.yaml
tests:
  - tset: x
    now: tomorrow
    answers:
      - {http: FETCH x, status: 200}
      - {status: 200}
      - {amqp: {exchange: e}, body: {}}
      - {http: GET x, fails: Sometimes}
      - {http: GET x, fails: ReadTimeout, status: 200}
      - {http: GET x, times: 0, after: soon}
    errors: {sink: {}}
    expect: {}
"#;
    let faults = read(text).unwrap_err();
    let lines: Vec<u32> = faults.iter().map(|fault| fault.at.unwrap().line).collect();
    assert_eq!(lines, [4, 4, 5, 7, 8, 9, 10, 11, 12, 12, 13, 14], "{faults:#?}");
    assert!(faults.iter().any(|fault| fault.hint.as_deref() == Some("did you mean `test`?")), "{faults:#?}");
    assert!(read("[]").is_err() && read("tests: 1").is_err() && read("").is_err());
}

#[test]
fn durations_are_spelled_as_they_are_read() {
    for text in ["0s", "1ms", "1d5s200ms", "1h30m"] {
        let duration = pagurus_domain::document::parse_duration(text).unwrap();
        assert_eq!(spelled_duration(duration), text);
    }
}

#[test]
fn scn_8_polling_goes_on_in_virtual_time() {
    let polls = r#"
scenario: s
initialState: look
states:
  look:
    kind: polling
    poll: {delay: 5s, interval: 30s, timeout: 1h}
    actions:
      - http: {url: "http://h/state", headers: {Authorization: "Bearer ${secret.token}"}, timeout: 5s}
      - script: 'if response.body.ready { success() } else { poll() }'
    on: {success: done, fail: failed, timeout: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    let tests = r#"
tests:
  - test: ready at the third look
    secrets: {token: t0ken}
    answers:
      - {http: GET http://h/state, body: {ready: false}, times: 2}
      - {http: GET http://h/state, body: {ready: true}}
    expect:
      status: success
      path: [look, done]
      duration: 1m5s
      requests:
        - {request: GET http://h/state, headers: {authorization: Bearer t0ken}}
        - GET http://h/state
        - GET http://h/state
"#;
    assert_eq!(faults(polls, tests), Vec::<String>::new());
    let never = "tests: [{test: t, secrets: {token: t}, answers: [{http: 'http://h/**', body: {ready: false}}], expect: {status: fail, error: polling.timeout, duration: 1h}}]";
    assert_eq!(faults(polls, never), Vec::<String>::new());
}

const TEAM: &str = r#"
scenario: s
initialState: ask
states:
  ask:
    actions:
      - parallel:
          - http: {name: one, url: "http://h/one", timeout: 5s}
          - http: {name: two, url: "http://h/two", timeout: 5s}
      - actor: {name: scoring, body: {sum: "${responses.one.body.n + responses.two.body.n}"}, workTimeout: 1m, restartAfterWorkTimeout: false, save: {score: "${response.body.score}"}}
      - order: {scenario: send-sms, params: {score: "${vars.score}"}, wait: true, timeout: 1h}
      - sleep: {for: 1d}
    on: {sleep: rest, fail: failed}
  rest: {kind: sleeping, on: {timeout: done, "call:stop": stopped}}
  done: {kind: terminal}
  stopped: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
calls:
  score: {answer: {score: "${vars.score}", asked: "${event.body.by}"}}
"#;

const TEAM_TESTS: &str = r#"
tests:
  - test: everybody does their part
    answers:
      - {http: GET http://h/one, body: {n: 1}, after: 1s}
      - {http: GET http://h/two, body: {n: 2}, after: 3s}
      - {actor: {name: scoring, body: {sum: 3}}, result: {score: 7}, after: 20s}
      - {order: {scenario: send-sms, params: {score: 7}}, after: 1m}
    calls:
      - {after: 2h, name: score, body: {by: ann}}
      - {after: 3h, name: nonsense}
      - {after: 4h, name: stop}
    expect:
      status: success
      path: [ask, rest, stopped]
      requests: [GET http://h/one, GET http://h/two, actor scoring, order send-sms]
      vars: {score: 7}
      answers:
        - {answer: {score: 7, asked: ann}}
        - {error: call.refused}
        - {answer: {step: stopped}}
      duration: 4h
"#;

#[test]
fn scn_13_actors_children_and_calls_take_part() {
    let result = outcome(TEAM, TEAM_TESTS);
    assert!(result.passed(), "{result:#?}");
    let (head, _) = TEAM_TESTS.split_once("    calls:").unwrap();
    for (was, is, expect) in [
        ("result: {score: 7}", "decision: none", "status: fail, error: actor.timeout, duration: 1m3s"),
        ("result: {score: 7}", "decision: fail, error: {class: too.risky}", "error: too.risky"),
        (
            "params: {score: 7}}",
            "params: {score: 7}}, status: fail, error: {class: sms.down}",
            "error: sms.down",
        ),
        ("params: {score: 7}}", "params: {score: 7}}, status: none", "error: order.timeout, duration: 1h23s"),
        ("params: {score: 7}}", "params: {score: 7}}, fails: refused", "error: order.refused"),
        ("{n: 2}, after: 3s", "{n: 2}, status: 500", "status: fail, path: [ask, failed], duration: 1s"),
        ("after: 20s", "after: 20s", "status: success, duration: 1d1m23s, answers: []"),
    ] {
        let tests = format!("{}    expect: {{{expect}}}\n", head.replace(was, is));
        assert_eq!(faults(TEAM, &tests), Vec::<String>::new(), "{is}");
    }
}

#[test]
fn scn_9_an_answer_to_a_call_that_was_not_expected_is_reported() {
    for (was, is, text) in [
        ("{answer: {score: 7, asked: ann}}", "{answer: {score: 8}}", "answer/score: expected `8`"),
        ("{answer: {score: 7, asked: ann}}", "{error: x}", "expected `x`, but the call was answered"),
        ("{error: call.refused}", "{answer: {}}", "expected `an answer`, but the call failed"),
        ("        - {error: call.refused}\n", "", "expected 2 answers to calls, but there were 3 calls"),
        ("after: 4h, name: stop", "after: 40h, name: stop", "the order ended before it answered this call"),
    ] {
        let faults = faults(TEAM, &TEAM_TESTS.replace(was, is));
        assert!(faults.iter().any(|fault| fault.contains(text)), "{is}: {faults:?}");
    }
}

#[test]
fn scn_10_an_operation_is_tried_like_a_workflow() {
    let operation = "scenario: s\nkind: operation\nactions:\n  - http: {method: POST, url: 'http://h/sms', timeout: 3s}\n  - savepoint: sent\n  - amqp: {exchange: audit, key: sent}\n";
    let tests = "tests: [{test: t, answers: [{http: 'http://h/sms'}, {amqp: {exchange: audit}}], expect: {status: success, path: [start, sent, done]}}]";
    assert_eq!(faults(operation, tests), Vec::<String>::new());
}
