//! Likeness of tests and live servers: each of these orders once went another way offline.

use super::*;

/// Failures with 503 are repeated a second later.
const PATIENT: &str = "
    errors:
      sync:
        classification: {rules: {all: {requests: [{path: '/**'}], classes: {down: {responses: [{status_codes: [503]}]}}}}}
        retry: {policies: {patient: {error_classes: [down], parameters: {initial_interval: 1s, multiplier: 1, jitter: 0}}}}";

fn passes(scenario: &str, tests: &str) {
    let outcome = outcome(scenario, tests);
    assert!(outcome.passed(), "{outcome:#?}");
}

#[test]
fn scn_9_a_call_waits_its_turn_while_the_handling_of_another_is_repeated() {
    let scenario = r#"
scenario: s
initialState: a
calls:
  slow: {actions: [{http: {url: "http://h/slow", timeout: 2s}}], answer: {said: "${response.body.v}"}}
  quick: {answer: {said: quick}}
states:
  a: {actions: [{sleep: {for: 30s}}], on: {sleep: rest}}
  rest: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
"#;
    let tests = format!(
        "tests:
  - test: t{PATIENT}
    answers:
      - {{http: 'http://h/slow', status: 503, times: 2}}
      - {{http: 'http://h/slow', body: {{v: 3}}}}
    calls: [{{after: 500ms, name: slow}}, {{after: 600ms, name: quick}}]
    expect:
      status: success
      duration: 30s
      requests: [GET http://h/slow, GET http://h/slow, GET http://h/slow]
      answers: [{{answer: {{said: 3}}}}, {{answer: {{said: quick}}}}]"
    );
    passes(scenario, &tests);
    let story = outcome(scenario, &tests).story;
    let answered = story.iter().filter(|moment| moment.text.contains("is answered"));
    assert_eq!(answered.map(|moment| moment.after.as_millis()).collect::<Vec<_>>(), [2500, 2500]);
}

#[test]
fn scn_9_what_comes_while_a_call_blocks_the_timer_counts() {
    let scenario = r#"
scenario: s
initialState: a
calls:
  slow: {actions: [{http: {url: "http://h/slow", timeout: 5s}}]}
states:
  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, {wait: {timeout: 2s}}], on: {wait: w, fail: bad}}
  w: {kind: waiting, on: {callback: done, timeout: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;
    let tests = "
tests:
  - test: t
    answers:
      - {amqp: {exchange: e}, callback: {after: 3s}}
      - {http: 'http://h/slow', after: 4s}
    calls: [{after: 1s, name: slow}]
    expect: {path: [a, w, done], duration: 5s}";
    passes(scenario, tests);
    passes(
        scenario,
        &tests.replace("after: 3s", "after: 6s").replace("done], duration: 5s", "bad], duration: 5s"),
    );
}

const LONG: &str = r#"
scenario: s
initialState: a
timeouts: {process: 3s}
states:
  a: {actions: [{http: {url: "http://h/a", timeout: 5s}}, {script: "vars.n = 1"}, {sleep: {for: 30s}}], on: {sleep: rest, fail: bad}}
  rest: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;

#[test]
fn rec_5_an_order_that_outlives_its_time_ends_in_tests_too() {
    let expect = "error: process.timeout, status: fail, scenarioStatus: failed, duration: 3s";
    let tests = |after: &str, expect: &str| {
        format!(
            "tests: [{{test: t, answers: [{{http: 'http://h/a', after: {after}}}], expect: {{{expect}}}}}]"
        )
    };
    // At rest it keeps what its last stage left; of a stage at work nothing is left but its requests.
    passes(LONG, &tests("0s", &format!("{expect}, step: rest, vars: {{n: 1}}, path: [a, rest]")));
    let broken_off = format!("{expect}, step: a, vars: {{n: null}}, path: [a], requests: [GET http://h/a]");
    passes(LONG, &tests("4s", &broken_off));
    let story = outcome(LONG, &tests("4s", &broken_off)).story;
    assert!(story.iter().any(|one| one.to_string() == "+3s  GET http://h/a: broken off"), "{story:#?}");

    let free = LONG.replace("timeouts: {process: 3s}\n", "");
    passes(&free, &tests("0s", "status: success, duration: 30s"));
    let bounded = Deployment { process_timeout: Some(Duration::from_secs(3)), ..Deployment::default() };
    let file = read(&tests("0s", &format!("{expect}, step: rest"))).unwrap();
    let outcome = run(&scenario(&free), &bounded, &file.trials[0], &mut || true);
    assert!(outcome.passed(), "{outcome:#?}");
}

#[test]
fn ord_12_retries_hold_a_queue_no_longer_than_the_deployment_says() {
    let called = r#"
scenario: s
initialState: a
states:
  a: {actions: [{http: {url: "http://h/a", timeout: 2s}}], on: {success: done, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;
    let tests = |queue: &str| {
        format!(
            "tests:\n  - test: t{PATIENT}\n    order: {{id: o{queue}}}\n    answers: [{{http: 'http://h/a', status: 503, times: 5}}, {{http: 'http://h/a'}}]\n    expect: {{status: success}}"
        )
    };
    let short = Deployment { max_acquisition_duration: Duration::from_secs(3), ..Deployment::default() };
    for (queue, deployment, passes) in
        [("", &short, true), (", queue: q", &Deployment::default(), true), (", queue: q", &short, false)]
    {
        let file = read(&tests(queue)).unwrap();
        let outcome = run(&scenario(called), deployment, &file.trials[0], &mut || true);
        assert_eq!(outcome.passed(), passes, "{queue}: {outcome:#?}");
    }
}

fn scored(terms: &str) -> String {
    format!(
        "scenario: s
initialState: a
states:
  a: {{actions: [{{actor: {{name: scoring, workTimeout: 1s{terms}, save: {{s: '${{response.body}}'}}}}}}], on: {{success: done, fail: bad}}}}
  done: {{kind: terminal}}
  bad: {{kind: terminal, outcome: fail}}
"
    )
}

#[test]
fn scn_11_the_first_decision_counts_whichever_hand_out_it_answers() {
    let tests = |expect: &str| {
        format!(
            "tests:
  - test: t
    answers:
      - {{actor: scoring, decision: none, times: 1}}
      - {{actor: scoring, result: late, after: 1500ms, times: 1}}
      - {{actor: scoring, result: last, after: 800ms}}
    expect: {{{expect}}}"
        )
    };
    // Handed out at 0, 1 and 2 seconds; the decision of the second comes at 2.5.
    passes(&scored(""), &tests("status: success, vars: {s: late}, duration: 2s500ms"));
    passes(&scored(", taskTimeout: 3500ms"), &tests("vars: {s: late}, duration: 2s500ms"));
    passes(&scored(", acceptFirst: false"), &tests("vars: {s: last}, duration: 2s800ms"));
    let alone = "status: fail, error: actor.timeout, duration: 1s";
    passes(&scored(", restartAfterWorkTimeout: false"), &tests(alone));
    // When the time of the task is over, no hand-out may be answered any more.
    passes(&scored(", taskTimeout: 2s"), &tests("error: actor.timeout, duration: 2s"));
}

#[test]
fn ord_20_the_end_of_a_child_is_reported_as_in_a_notification() {
    let parent = r#"
scenario: s
initialState: a
states:
  a: {actions: [{order: {scenario: child, params: {k: 1}, wait: true, request: one}}, {wait: {timeout: 1h}}], on: {wait: w, fail: bad}}
  w: {kind: waiting, on: {callback: look, timeout: bad}}
  look: {actions: [{script: "let one = callbacks.one.body; result(#{keys: one.keys(), step: one.step, status: one.status, class: one.error?.class, took: one.durationMs})"}], on: {success: done, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;
    let tests = |said: &str, expect: &str| {
        format!(
            "tests: [{{test: t, answers: [{{order: child, after: 3s{said}}}], expect: {{status: success, result: {expect}}}}}]"
        )
    };
    passes(parent, &tests("", "{status: success, step: null, class: null, took: 3000}"));
    let failed = ", status: fail, step: declined, error: {class: too.risky}";
    passes(parent, &tests(failed, "{status: fail, step: declined, class: too.risky}"));
    let shown = outcome(parent, &tests("", "{keys: []}")).faults[0].to_string();
    for key in ["id", "status", "step", "result", "message", "error", "scenarioStatus", "finishedAt"] {
        assert!(shown.contains(&format!("\"{key}\"")), "{key}: {shown}");
    }
}

#[test]
fn scn_13_answers_have_the_content_type_that_servers_give() {
    let called = r#"
scenario: s
initialState: a
states:
  a: {actions: [{http: {url: "http://h/a", timeout: 2s}}, {script: 'result(response.headers["content-type"])'}], on: {success: done, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;
    for (answer, kind) in [
        ("body: {a: 1}", "application/json"),
        ("body: [1]", "application/json"),
        ("body: '{\"a\": 1}'", "application/json"),
        ("body: pong", "text/plain; charset=utf-8"),
        ("body: '1.10'", "text/plain; charset=utf-8"),
        ("body: {a: 1}, headers: {Content-Type: application/hal+json}", "application/hal+json"),
    ] {
        let tests = format!(
            "tests: [{{test: t, answers: [{{http: 'http://h/a', {answer}}}], expect: {{result: {kind}}}}}]"
        );
        assert_eq!(faults(called, &tests), Vec::<String>::new(), "{answer}");
    }
    let nothing =
        "tests: [{test: t, answers: [{http: 'http://h/a', status: 204}], expect: {error: script.error}}]";
    passes(called, nothing);
}

#[test]
fn scn_13_an_answer_to_an_earlier_request_is_none_to_its_repeat() {
    let scenario = r#"
scenario: s
initialState: a
states:
  a:
    entryPoint: true
    actions: [{amqp: {exchange: e, key: k, request: r}}, {wait: {timeout: 1m}}]
    on: {wait: w, fail: bad}
  w: {kind: waiting, on: {callback: done, timeout: bad, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;
    let tests = "
tests:
  - test: refused, then silence
    errors:
      async:
        classification: {rules: {all: {requests: {amqp: [{path: '/?exchange=e'}]}, classes: {refused: {responses: [{step_status_keywords: [k2]}]}}}}}
        retry: {policies: {again: {error_classes: [refused], parameters: {initial_interval: 1s, jitter: 0}}}}
    answers:
      - {amqp: {exchange: e}, callback: {after: 5s, stepStatus: k2}, times: 1}
      - {amqp: {exchange: e}}
    expect: {status: fail, error: async.timeout, path: [a, w, a, w, bad]}";
    passes(scenario, tests);
}

#[test]
fn scn_13_answers_that_nothing_asked_for_are_reported_and_no_fault() {
    let operation = "scenario: s\nkind: operation\nactions: [{http: {url: 'http://h/a', timeout: 3s}}]\n";
    let tests = "tests:\n  - test: t\n    answers:\n      - {http: 'http://h/a', times: 2}\n      - {http: 'http://h/aa'}\n    expect: {status: success}";
    let result = outcome(operation, tests);
    assert!(result.passed(), "{result:#?}");
    let lines: Vec<u32> = result.notes.iter().map(|note| note.at.unwrap().line).collect();
    assert_eq!(lines, [5]);
    assert_eq!(result.to_value()["notes"][0]["line"], 5);
    // A test that was broken off would have gone on to others.
    assert!(outcome(operation, &tests.replacen("h/a'", "h/b'", 1)).notes.is_empty());
}

const ASKS_FOR_EACH: &str = r#"
scenario: s
initialState: a
states:
  a:
    actions:
      - each: {in: [1, 2, 3], actions: [{http: {url: "http://h/${item}", body: {to: "${request.url}"}, request: r}}]}
      - wait: {timeout: 1m}
    on: {wait: w, fail: bad}
  w: {kind: waiting, on: {callback: tell, timeout: bad}}
  tell: {actions: [{script: "result(callbacks.r.map(|one| one?.body))"}], on: {success: done, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;

#[test]
fn scn_17_the_answer_to_a_call_of_an_element_is_its_own() {
    let tests = "
tests:
  - test: t
    answers:
      - {http: 'http://h/1', callback: {after: 3s, body: one}}
      - {http: 'http://h/2', callback: {after: 1s, body: two}}
      - {http: 'http://h/3', callback: {after: 2s, body: three}}
    expect: {status: success, result: [one, two, three], duration: 3s}";
    passes(ASKS_FOR_EACH, tests);
    let silent = tests.replace(", callback: {after: 1s, body: two}", "");
    let expect = "{status: fail, step: bad, duration: 1m}";
    passes(
        ASKS_FOR_EACH,
        &silent.replace("{status: success, result: [one, two, three], duration: 3s}", expect),
    );
}

#[test]
fn scn_9_a_call_that_fails_without_a_class_or_comes_to_an_order_that_ends_is_expected_by_its_class() {
    let scenario = r#"
scenario: s
initialState: a
calls: {broken: {actions: [{script: 'fail("no")'}]}, slow: {}}
states:
  a: {actions: [{sleep: {for: 30s}}], on: {sleep: rest}}
  rest: {kind: sleeping, on: {timeout: b}}
  b: {actions: [{http: {url: "http://h/b"}}], on: {success: done, fail: done}}
  done: {kind: terminal}
"#;
    let tests = "
tests:
  - test: t
    answers: [{http: 'http://h/b', after: 3s}]
    calls: [{after: 1s, name: broken}, {after: 31s, name: slow}]
    expect: {status: success, answers: [{error: unclassified}, {error: call.ended}]}";
    passes(scenario, tests);
}

#[test]
fn scn_22_the_story_says_what_is_given_up_and_who_is_notified() {
    let scenario = r#"
scenario: s
initialState: a
states:
  a:
    entryPoint: true
    actions: [{http: {url: "http://h/ask", body: {to: "${request.url}"}, request: r, cancel: {http: {method: DELETE, url: "http://h/jobs/${response.body.id}"}}}}, {wait: {timeout: 1m}}]
    on: {wait: w, fail: bad}
  w: {kind: waiting, on: {callback: done, timeout: bad, "call:stop": bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#;
    let tests = |rest: &str, requests: &str| {
        format!(
            "tests: [{{test: t, answers: [{{http: 'http://h/ask', body: {{id: 7}}{rest}}}], expect: {{requests: [{requests}]}}}}]"
        )
    };
    let both = "'POST http://h/ask', 'DELETE http://h/jobs/7'";
    passes(scenario, &tests("", both));
    passes(scenario, &tests(", callback: {after: 5s}", "'POST http://h/ask'"));
    let stopped = tests("", both).replace("answers:", "calls: [{name: stop, after: 5s}], answers:");
    passes(scenario, &stopped);
    let story: Vec<String> =
        outcome(scenario, &tests("", both)).story.iter().map(ToString::to_string).collect();
    assert!(
        story.iter().any(|line| line.contains("gives request `r` up: DELETE http://h/jobs/7")),
        "{story:?}"
    );
}

#[test]
fn scn_20_texts_of_xml_are_answers_and_callbacks_of_a_type_of_xml() {
    let scenario = r#"
scenario: s
initialState: a
states:
  a:
    entryPoint: true
    actions: [{http: {url: "http://h/ask", namespaces: {o: "urn:o"}, body: {xml: "<o:a><o:b>${params.b}</o:b></o:a>"}, request: r}}, {script: 'vars.kind = response.headers["content-type"]'}, {wait: {timeout: 1m}}]
    on: {wait: w, success: bad, fail: bad}
  w: {kind: waiting, on: {callback: look, timeout: bad}}
  look: {actions: [{script: 'result([vars.kind, callbacks.r.body["o:c"]])'}], on: {success: done, fail: bad}}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}
"#
    .replace(", success: bad, fail: bad}\n  w", ", fail: bad}\n  w");
    let tests = r#"
tests:
  - test: t
    params: {b: "<&>"}
    answers:
      - http: {url: "http://h/ask", body: {a: {b: "<&>"}}}
        body: "<ok/>"
        callback: {after: 1s, body: "<c xmlns='urn:o'>7</c>"}
    expect: {result: ["text/xml; charset=utf-8", "7"]}
"#;
    passes(&scenario, tests);
}
