//! The way through the states: SCN-2 to SCN-7, SCN-12, and what orders show of it (ORD-8 to 13).

use super::*;

const DONE: &str = "  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";

fn states(text: &str) -> String {
    format!("{text}{DONE}")
}

/// Status and scenario status of the end.
fn ended(played: &Played) -> String {
    format!("{} {}", played.last().then.status(), played.last().scenario_status)
}

const CALL: &str = "  a: {actions: [{http: {url: 'http://h/a'}}], on: {success: DONE, fail: other}}\n  DONE: {kind: terminal}\n";

#[test]
fn scn_2_ord_9_terminal_states_say_status_and_scenario_status() {
    // Target states, outcome of the other one, answer, status and scenario status.
    for (targets, outcome, answer, expected) in [
        ("", "fail", "200", "success target"),
        ("", "fail", "404", "fail failed"),
        ("", "success", "404", "success failed"),
        ("targetStates: [other]", "fail", "200", "success failed"),
        ("targetStates: [other]", "fail", "404", "fail target"),
        ("targetStates: [other, DONE]", "success", "404", "success target"),
    ] {
        let text = format!(
            "scenario: s\ninitialState: a\n{targets}\nstates:\n{CALL}  other: {{kind: terminal, outcome: {outcome}}}\n"
        );
        let played = Play::whole(&text).go(&[answer]);
        assert_eq!(ended(&played), expected, "{targets} {outcome} {answer}");
    }
}

#[test]
fn scn_3_transitions_are_reported_with_event_and_time() {
    let text = states(
        "  a: {actions: [{http: {url: 'http://h/a'}}], on: {success: b, fail: failed}}
  b: {actions: [{sleep: {for: 1h}}], on: {sleep: c}}
  c: {kind: sleeping, on: {timeout: done}}\n",
    );
    let played = play(&text, &["+2s 200"]);
    assert_eq!(played.path(), "success b, sleep c, timeout done");
    let moves: Vec<_> = played.ends.iter().flat_map(|end| &end.transitions).collect();
    let lines: Vec<String> = moves.iter().map(|t| format!("{} {}", t.from, t.at)).collect();
    assert_eq!(lines, ["a 2026-01-01T00:00:02Z", "b 2026-01-01T00:00:02Z", "c 2026-01-01T01:00:02Z"]);
    let history = json!({"transitions": played.ends[0].transitions, "log": played.ends[0].log});
    assert_eq!(history["transitions"][0]["event"], "success");
    assert_eq!(played.last().duration, Duration::ZERO);
    assert_eq!(played.ends[0].duration, Duration::from_secs(2));
}

#[test]
fn scn_4_the_event_is_what_the_actions_make_of_it() {
    let three = |middle: &str| {
        states(&format!(
            "  a: {{actions: [{{http: {{url: 'http://h/1'}}}}, {middle}, {{http: {{url: 'http://h/2'}}}}], \
             on: {{success: done, fail: failed}}}}\n"
        ))
    };
    for (middle, answers, path, calls) in [
        ("{log: x}", &["200", "200"][..], "success done", 2),
        ("{log: x}", &["200", "404"][..], "fail failed", 2),
        ("{log: x}", &["404"][..], "fail failed", 1),
        ("{log: '${params.absent}'}", &["200"][..], "fail failed", 1),
        ("{script: success()}", &["200"][..], "success done", 1),
        ("{script: fail()}", &["200"][..], "fail failed", 1),
        ("{script: vars.x = 1}", &["200", "200"][..], "success done", 2),
        ("{script: vars.x = params.absent}", &["200"][..], "fail failed", 1),
        ("{amqp: {exchange: e, key: k}}", &["200", "published", "200"][..], "success done", 3),
        ("{amqp: {exchange: e, key: k}}", &["200", "unroutable"][..], "fail failed", 2),
        ("{http: {url: 'http://h/x', expect: 404}}", &["200", "404", "200"][..], "success done", 3),
    ] {
        let played = play(&three(middle), answers);
        assert_eq!((played.path().as_str(), played.calls.len()), (path, calls), "{middle}");
    }
}

#[test]
fn scn_5_values_reach_calls_and_vars_survive_suspension() {
    let text = states(
        "  a:
    actions:
      - http: {url: '${config.base}/a/${params.n}', name: first, save: {id: '${response.body.id}'}}
      - http: {url: 'http://h/b', body: {id: '${vars.id}', was: '${responses.first.status}', o: '${order.id}'}}
      - script: 'vars.twice = [vars.id, vars.id]; result(#{n: params.n}); message(\"m\"); log(\"l\")'
      - sleep: {for: 30s}
    on: {fail: failed, sleep: c}
  c: {kind: sleeping, on: {timeout: d}}
  d:
    actions:
      - http: {url: 'http://h/c', body: '${vars.twice}'}
      - script: if type_of(response.body) == \"string\" { fail(response.body) }
    on: {success: done, fail: failed}\n",
    );
    let played = play(&text, &["200 {\"id\": 9007199254740993}", "201", "200 oops"]);
    assert_eq!(played.http()[0].url, "http://h/a/7");
    assert_eq!(played.body(1), json!({"id": 9_007_199_254_740_993_i64, "was": 200, "o": "o-1"}));
    assert_eq!(played.body(2), json!([9_007_199_254_740_993_i64, 9_007_199_254_740_993_i64]));
    let slept = &played.ends[0].snapshot;
    assert_eq!(slept.main.answers, Answers::default(), "answers end with their stage");
    assert_eq!(played.ends[0].log.last().unwrap().text, "l");
    let end = played.last();
    assert_eq!((&end.snapshot.result, end.snapshot.message.as_deref()), (&Some(json!({"n": 7})), Some("m")));
    assert_eq!(played.error().message, "oops");
}

const SLEEPS: &str = "  a: {actions: [{sleep: HOW}], on: {sleep: c}}
  c: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}\n";

#[test]
fn scn_6_a_sleep_lasts_as_long_as_it_says_and_not_less_than_the_bound() {
    for (how, until) in [
        ("{for: 1d}", "2026-01-02T00:00:00Z"),
        ("{for: 5s}", "2026-01-01T00:00:20Z"),
        ("{for: 20s}", "2026-01-01T00:00:20Z"),
        ("{until: '2026-03-01T10:00:00.250+03:00'}", "2026-03-01T07:00:00.25Z"),
        ("{until: '2020-01-01T00:00:00Z'}", "2026-01-01T00:00:20Z"),
    ] {
        let played = play(&SLEEPS.replace("HOW", how), &[]);
        assert_eq!(played.ends[0].then, Then::Sleep { until: until.parse().unwrap() }, "{how}");
        assert_eq!(
            (played.path().as_str(), played.ends[0].step.as_str()),
            ("sleep c, timeout done", "c"),
            "{how}"
        );
    }
}

#[test]
fn scn_6_a_sleep_without_a_readable_time_is_a_failure_of_the_scenario() {
    for how in ["until: '${params.n}'", "for: '${params.n}'", "for: '${params.n}6751991167d'"] {
        let text = states(&format!(
            "  a: {{actions: [{{sleep: {{{how}}}}}], on: {{sleep: c, fail: failed}}}}
  c: {{kind: sleeping, on: {{timeout: done}}}}\n"
        ));
        let played = play(&text, &[]);
        assert_eq!(
            (played.path().as_str(), played.class().as_str()),
            ("fail failed", "script.error"),
            "{how}"
        );
    }
}

/// Two requests, one by each protocol, and a wait of ten minutes.
const WAITS: &str = "  a:
    actions:
      - http: {url: 'http://h/a', body: {to: '${request.url}'}, request: one}
      - amqp: {exchange: e, key: k, body: '${request.id}', request: two}
      - wait: {timeout: 10m}
    on: {wait: w, fail: failed}
  w: {kind: waiting, on: {callback: c, timeout: failed}}
  c: {actions: [{script: 'result([callbacks.one.body, callbacks.two.body])'}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";

#[test]
fn scn_7_requests_are_registered_before_they_are_sent_and_awaited_by_id() {
    let played = play(WAITS, &["200", "published", r#"callback {"one": {"body": 1}, "two": {"body": 2}}"#]);
    let ids: Vec<RequestId> = played.requests.values().copied().collect();
    assert_eq!(played.body(0), json!({"to": format!("http://engine/v1/callbacks/{}", ids[0])}));
    let Need::Publish(message) = &played.calls[1].2 else { panic!("{:?}", played.calls) };
    assert_eq!((message.request, message.body.as_slice()), (Some(ids[1]), ids[1].to_string().as_bytes()));
    let until = "2026-01-01T00:10:00Z".parse().unwrap();
    assert_eq!(played.ends[0].then, Then::Wait { until, requests: ids });
    assert_eq!(played.path(), "wait w, callback c, success done");
    assert_eq!(played.last().snapshot.result, Some(json!([1, 2])));
    assert!(played.last().snapshot.requests.is_empty(), "the next wait waits for its own requests only");
}

#[test]
fn scn_7_when_the_time_ends_first_the_event_is_timeout() {
    let played = play(WAITS, &["200", "published", "timeout"]);
    assert_eq!((played.path().as_str(), ended(&played).as_str()), ("wait w, timeout failed", "fail failed"));
}

#[test]
fn scn_12_ord_22_a_restart_begins_at_its_state_with_its_vars() {
    let text = states(
        "  a: {entryPoint: true, actions: [{http: {url: 'http://h/a', save: {x: 5}}}], on: {success: b, fail: failed}}
  b: {entryPoint: true, actions: [{http: {url: 'http://h/b', body: '${vars.x}'}}], on: {success: c, fail: failed}}
  c: {actions: [{http: {url: 'http://h/c'}}], on: {success: done, fail: failed}}\n",
    );
    let first = play(&text, &["200", "200", "404"]);
    assert_eq!(
        (first.path().as_str(), first.last().entry_point.as_deref()),
        ("success b, success c, fail failed", Some("b"))
    );
    let second = Play::of(&text).entering("b", json!({"x": 5})).go(&["200", "200"]);
    assert_eq!((second.path().as_str(), second.body(0)), ("success c, success done", json!(5)));
    assert_eq!(second.last().entry_point.as_deref(), Some("b"), "the state it begins at is visited, too");
    let third = Play::of(&text).entering("a", json!({})).go(&["404"]);
    assert_eq!(third.last().entry_point.as_deref(), Some("a"));
    let elsewhere = Play::of(&text).entering("c", json!({})).go(&["200"]);
    let next = elsewhere.last().entry_point.as_deref();
    assert_eq!(
        (elsewhere.path().as_str(), next),
        ("success done", Some("c")),
        "what was named is gone back to"
    );
}

#[test]
fn ord_8_the_scenario_status_tells_whether_a_target_can_be_reached() {
    let text = states(
        "  a: {actions: [{sleep: {for: 1m}}], on: {sleep: b}}
  b: {kind: sleeping, on: {timeout: c}}
  c: {actions: [{http: {url: 'http://h/c'}}], on: {success: done, fail: d}}
  d: {actions: [{sleep: {for: 1m}}], on: {sleep: e}}
  e: {kind: sleeping, on: {timeout: failed}}\n",
    );
    let played = play(&text, &["404"]);
    let shown: Vec<_> = played.ends.iter().map(|end| (end.scenario_status.as_str(), end.distance)).collect();
    assert_eq!(shown, [("on_target", Some(2)), ("off_target", None), ("failed", None)]);
    assert_eq!(
        played.error().message,
        "GET h/c answered 404: ",
        "what failed is reported after the sleep, too"
    );
}

#[test]
fn ord_11_what_follows_a_stage_is_reported_by_its_status() {
    let played = play(WAITS, &["503", "200", "published", "timeout"]);
    assert_eq!(played.statuses(), "retry, wait, fail");
    assert_eq!(play(&SLEEPS.replace("HOW", "{for: 1m}"), &[]).statuses(), "sleep, success");
}

#[test]
fn ord_12_waits_are_bounded_by_the_mode() {
    let longest = |text: &str, sequential: bool| {
        let play = Play::of(text);
        let play = if sequential { play.sequential() } else { play };
        let played = play.go(&["200", "published", "timeout"]);
        match played.ends[0].then {
            Then::Wait { until, .. } => until.as_second() - START.parse::<Timestamp>().unwrap().as_second(),
            ref other => panic!("{other:?}"),
        }
    };
    for (wait, parallel, sequential) in [
        ("wait: {timeout: 10m}", 600, 600),
        ("wait: {timeout: 2h}", 7200, 3600),
        ("wait: {}", 8_035_200, 3600),
    ] {
        let text = WAITS.replace("wait: {timeout: 10m}", wait);
        assert_eq!((longest(&text, false), longest(&text, true)), (parallel, sequential), "{wait}");
    }
}

#[test]
fn ord_12_a_call_of_a_sequential_order_that_what_is_left_of_its_stage_is_too_short_for_begins_the_next() {
    let text = states(
        "  a:
    actions: [{http: {url: 'http://h/1', timeout: 2m}}, {http: {url: 'http://h/2', timeout: 2m}}, {http: {url: 'http://h/3'}}]
    on: {success: done, fail: failed}\n",
    );
    let answers = ["+4m 200", "+1m 200", "200"];
    let timeouts = |played: &Played| -> Vec<u64> {
        played.http().iter().map(|call| call.timeout.as_millis() as u64).collect()
    };
    let parallel = Play::of(&text).go(&answers);
    assert_eq!(
        (timeouts(&parallel), parallel.statuses().as_str()),
        (vec![120_000, 120_000, 30_000], "success")
    );
    let sequential = Play::of(&text).sequential().go(&answers);
    assert_eq!(
        timeouts(&sequential),
        [120_000, 120_000, 30_000],
        "none is cut; without one of its own it has that of all"
    );
    assert_eq!(sequential.statuses(), "wait, success", "it has a stage of its own");
}

#[test]
fn ord_13_a_release_is_reported_with_the_end_of_its_stage() {
    let text =
        states("  a: {actions: [release, {http: {url: 'http://h/a'}}], on: {success: done, fail: failed}}\n");
    let played = Play::of(&text).sequential().go(&["503", "200"]);
    let released: Vec<bool> = played.ends.iter().map(|end| end.released).collect();
    assert_eq!(released, [true, false], "once; the retry resumes behind it");
}

#[test]
fn ord_13_scn_5_the_name_of_the_queue_stays_readable_and_who_holds_it_is_another_field() {
    let shows = "{script: 'vars.seen += order.queue + \" \" + order.holdsQueue'}";
    let text = states(&format!(
        "  a: {{actions: [{{script: 'vars.seen = []'}}, {shows}, release, {shows}, {{http: {{url: 'http://h/a', request: r}}}}, {{wait: {{timeout: 1m}}}}], on: {{wait: w, fail: failed}}}}
  w: {{kind: waiting, on: {{timeout: b, callback: failed}}}}
  b: {{actions: [{shows}, {{log: 'of ${{order.queue}}'}}], on: {{success: done, fail: failed}}}}\n"
    ));
    let played = Play::of(&text).sequential().go(&["200", "timeout"]);
    assert_eq!(played.statuses(), "wait, success");
    assert_eq!(played.last().snapshot.vars["seen"], json!(["q true", "q false", "q false"]));
    let parallel = Play::of(
        &text.replace("+ order.holdsQueue", "+ \"\"").replace("order.queue + \" \"", "order.holdsQueue"),
    );
    assert_eq!(
        parallel.go(&["200", "timeout"]).last().snapshot.vars["seen"],
        json!(["false", "false", "false"])
    );
}

#[test]
fn scn_5_scripts_know_the_number_of_their_hand_out_by_its_name() {
    let shows = "{script: 'vars.same = order.handOut == order.attempt && order.handOut >= 1'}";
    let text = format!(
        "  a: {{actions: [{shows}, {{sleep: {{for: 1h}}}}], on: {{sleep: s, fail: failed}}}}\n  s: {{kind: sleeping, on: {{timeout: done}}}}\n"
    );
    assert_eq!(Play::of(&states(&text)).go(&[]).last().snapshot.vars["same"], true);
}
