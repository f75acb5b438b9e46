//! Calls from outside (SCN-9): each is answered once, and the rest of the order goes on as it was.

use super::*;

/// A day of sleep during which the order is called.
fn asleep(calls: &str) -> Play {
    Play::whole(&format!(
        "scenario: s
initialState: a
states:
  a: {{actions: [{{sleep: {{for: 1d}}}}], on: {{sleep: s}}}}
  s: {{kind: sleeping, on: {{timeout: done, 'call:move': moved, 'call:stop': stopped}}}}
  moved: {{actions: [{{http: {{url: 'http://h/moved', body: '${{event.body}}'}}}}, {{sleep: {{for: 1h}}}}], on: {{sleep: s, fail: stopped}}}}
  stopped: {{kind: terminal}}
  done: {{kind: terminal}}
calls: {{{calls}}}\n"
    ))
}

/// Hours from the beginning to the last transition.
fn hours(played: &Played) -> f64 {
    let start: Timestamp = START.parse().unwrap();
    let last = played.last().transitions.last().unwrap().at;
    (last.as_second() - start.as_second()) as f64 / 3600.0
}

#[test]
fn scn_9_a_call_moves_the_order_where_its_state_says_so() {
    let played = asleep("").go(&["+2h call stop"]);
    assert_eq!(
        (played.path().as_str(), played.replies()),
        ("sleep s, call:stop stopped", vec![json!({"step": "stopped"})])
    );
    assert_eq!(hours(&played), 2.0);
    // The new rest has a timer of its own.
    let played = asleep("").go(&["+2h call move 5", "200"]);
    assert_eq!(played.path(), "sleep s, call:move moved, sleep s, timeout done");
    assert_eq!(
        (played.replies(), played.body(0), hours(&played)),
        (vec![json!({"step": "s"})], json!(5), 3.0)
    );
}

#[test]
fn scn_9_a_handled_call_is_answered_and_the_timer_goes_on() {
    let calls = "ask: {actions: [{script: 'vars.seen = event.body.by'}], answer: {seen: '${vars.seen}', of: '${event.name}'}}, \
                 say: {actions: [{script: 'answer(#{n: params.n})'}]}, still: {}";
    let played =
        asleep(calls).go(&["+1h call ask {\"by\": \"ann\"}", "+1h call say; still", "+1h call other"]);
    let expected = [json!({"seen": "ann", "of": "ask"}), json!({"n": 7}), Value::Null, json!("call.refused")];
    assert_eq!(played.replies(), expected);
    assert_eq!((played.path().as_str(), hours(&played)), ("sleep s, timeout done", 24.0));
    assert_eq!(played.last().snapshot.vars["seen"], "ann");
}

#[test]
fn scn_9_calls_are_handled_in_the_order_of_their_arrival() {
    let calls = "add: {actions: [{script: 'vars.all = (if \"all\" in vars { vars.all } else { \"\" }) + event.body'}], answer: '${vars.all}'}";
    let played = asleep(calls).go(&["call add \"a\"; add \"b\"; stop; add \"c\""]);
    assert_eq!(played.replies(), [json!("a"), json!("ab"), json!({"step": "stopped"})]);
    let played = asleep(calls).go(&["call add \"a\"; move 1; add \"b\"", "200"]);
    assert_eq!(
        played.replies(),
        [json!("a"), json!({"step": "s"}), json!("ab")],
        "the last waits for the next rest"
    );
}

#[test]
fn scn_9_a_handling_that_is_repeated_leaves_the_rest_and_its_timer_alone() {
    let ask = "ask: {actions: [{script: 'answer(1)'}, {http: {url: 'http://h/x'}}]}";
    let played = asleep(ask).go(&["+1h call ask", "503", "down", "200"]);
    assert_eq!(played.statuses(), "sleep, retry, retry, sleep, success");
    assert_eq!(
        (played.replies(), hours(&played)),
        (vec![json!(1)], 24.0),
        "what was said before the repeat counts"
    );
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!((keys[0], keys[0]), (keys[1], keys[2]));
}

#[test]
fn scn_9_a_rest_that_ended_while_a_call_was_repeated_ends_right_after_it() {
    let ask = "ask: {actions: [{http: {url: 'http://h/x'}}]}";
    let played = asleep(ask).go(&["+86395s call ask", "503", "200"]);
    assert_eq!(played.statuses(), "sleep, retry, sleep, success");
    assert_eq!((played.path().as_str(), played.replies()), ("sleep s, timeout done", vec![Value::Null]));
}

#[test]
fn scn_9_a_call_behind_one_that_is_repeated_waits_for_it_and_hurries_nothing() {
    let ask = "ask: {actions: [{http: {url: 'http://h/x'}}], answer: '${event.body}'}";
    let played = asleep(ask).go(&["+1h call ask 1", "503", "call ask 2", "503", "503", "503", "200"]);
    // The second call came at once, and the repeat of the first is still 10 seconds after its failure.
    assert_eq!(played.statuses(), "sleep, retry, retry, retry, retry, sleep, success");
    assert_eq!(
        played.replies(),
        [json!("busy"), json!(2)],
        "it fails by its own attempts, and the next has its turn"
    );
    assert_eq!(hours(&played), 24.0);
}

#[test]
fn scn_9_a_handling_that_fails_is_reported_to_its_caller_and_says_nothing_to_the_next() {
    let calls = "bad: {actions: [{script: 'answer(1)'}, {http: {url: 'http://h/x'}}]}, \
                 no: {actions: [{script: 'fail(\"no\", \"mine\")'}]}, wrong: {answer: '${vars.absent.x}'}, still: {}, \
                 yes: {actions: [{script: 'answer(2); success()'}, {log: x}], answer: 3}";
    let played = asleep(calls).go(&["call bad; no; wrong; still; yes; still", "404"]);
    let expected = [json!("none"), json!("mine"), json!("script.error"), Value::Null, json!(3), Value::Null];
    assert_eq!((played.replies(), hours(&played)), (expected.to_vec(), 24.0));
    assert!(matches!(&played.last().then, Then::End { error: None, .. }), "the order itself did not fail");
}

#[test]
fn scn_9_what_moved_the_order_is_answered_after_its_repeats() {
    let played = asleep("ask: {}").go(&["+1h call move 1", "503", "call ask", "200"]);
    assert_eq!(played.statuses(), "sleep, retry, retry, sleep, success");
    assert_eq!(played.replies(), [Value::Null, json!({"step": "s"})]);
    assert_eq!(played.delays()[0], 10, "the call between did not hurry the repeat");
}

#[test]
fn scn_9_no_caller_is_forgotten_when_a_second_call_moves_the_order_on() {
    let text = "scenario: s
initialState: a
states:
  a: {actions: [{sleep: {for: 1d}}], on: {sleep: s}}
  s: {kind: sleeping, on: {timeout: done, 'call:move': b}}
  b: {actions: [{script: 'answer(1)'}, {http: {url: 'http://h/x'}}], on: {success: done, fail: done, 'call:move': c}}
  c: {actions: [{http: {url: 'http://h/y'}}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let played = Play::whole(text).go(&["call move", "503", "call move", "200"]);
    assert_eq!(played.path(), "sleep s, call:move b, call:move c, success done");
    assert_eq!(played.replies(), [json!(1), json!({"step": "done"})]);
}

#[test]
fn scn_9_a_handling_sees_no_answers_of_the_order_and_leaves_it_its_own() {
    let text = |list: &str| {
        format!(
            "scenario: s
initialState: a
states:
  a: {{actions: [{{http: {{name: one, url: 'http://h/1'}}}}, {list}, {{http: {{url: 'http://h/3', body: ['${{responses.one.body}}', '${{response.body}}']}}}}], on: {{success: done, fail: done}}}}
  done: {{kind: terminal}}
calls:
  ask: {{actions: [{{parallel: [{{http: {{name: one, url: 'http://h/p'}}}}, {{http: {{name: two, url: 'http://h/q'}}}}]}}], answer: '${{responses.one.body}}'}}
  look: {{answer: '${{responses.one.body}}'}}\n"
        )
    };
    let call = text("{http: {url: 'http://h/2', body: '${response.body}'}}");
    let played = Play::whole(&call).go(&["200 1", "503", "call ask; look", "200 8 | 200 9", "200 2", "200"]);
    assert_eq!(played.replies(), [json!(8), json!("script.error")]);
    assert_eq!((played.body(1), played.body(4), played.body(5)), (json!(1), json!(1), json!([1, 2])));
    // The `parallel` of a call is not the one that the order repeats.
    let both =
        text("{parallel: [{http: {name: x, url: 'http://h/x'}}, {http: {name: y, url: 'http://h/y'}}]}");
    let answers = ["200 1", "200 5 | 503", "call ask", "503 | 200 9", "200 8", "200 6", "200"];
    let played = Play::whole(&both).go(&answers);
    assert_eq!(played.paths(), "1, x, y, p, q, p, y, 3");
    assert_eq!(played.replies(), [json!(8)]);
}

#[test]
fn scn_9_each_call_has_keys_of_its_own_and_starts_a_child_of_its_own() {
    let calls = "ask: {actions: [{http: {url: 'http://h/x'}}, {order: {scenario: child}}]}";
    let played = asleep(calls).go(&["call ask; ask", "200", "started", "200", "started"]);
    let (keys, children): (Vec<_>, Vec<_>) = played
        .calls
        .iter()
        .map(|(_, _, need)| match need {
            Need::Http(call) => (call.idempotency_key.to_string(), Value::Null),
            Need::Order(child) => (String::new(), child.registration["id"].clone()),
            other => panic!("{other:?}"),
        })
        .unzip();
    assert_ne!(keys[0], keys[2]);
    assert_ne!(children[1], children[3], "the second call is no repeat of the first");
}

#[test]
fn scn_9_a_call_during_a_wait_leaves_its_requests_open() {
    let text = "scenario: s
initialState: a
states:
  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, {wait: {timeout: 1h}}], on: {wait: w, fail: done}}
  w: {kind: waiting, on: {callback: done, timeout: late, 'call:skip': late}}
  late: {kind: terminal}
  done: {kind: terminal}
calls: {ask: {actions: [{http: {url: 'http://h/x'}}]}}\n";
    let played =
        Play::whole(text).go(&["published", "call ask", "503", "200", "callback {\"r\": {\"body\": 1}}"]);
    assert_eq!(
        (played.path().as_str(), played.statuses().as_str()),
        ("wait w, callback done", "wait, retry, wait, success")
    );
    let Then::Wait { requests, .. } = &played.ends[2].then else { panic!("{played:?}") };
    assert_eq!(requests.len(), 1);
    let played = Play::whole(text).go(&["published", "call ask; skip", "200"]);
    assert_eq!(played.path(), "wait w, call:skip late");
}

#[test]
fn scn_9_a_handling_that_fails_leaves_nothing_behind() {
    let calls = "spoil: {actions: [{script: 'vars.n = 99; result(5); message(\"m\")'}, {http: {url: 'http://h/x'}}]}, \
                 good: {actions: [{script: 'vars.n = 1; result(1)'}]}";
    let played = asleep(calls).go(&["call good; spoil", "503", "404"]);
    assert_eq!(played.replies(), [Value::Null, json!("none")]);
    let last = &played.last().snapshot;
    assert_eq!((&last.vars["n"], &last.result, &last.message), (&json!(1), &Some(json!(1)), &None));
}

#[test]
fn scn_9_a_wait_after_a_call_is_for_what_is_still_open_where_nothing_new_was_asked() {
    let text = |asks: &str| {
        let fail = if asks.is_empty() { "" } else { ", fail: failed" };
        format!(
            "  a: {{actions: [{{amqp: {{exchange: e, key: k, request: r}}}}, {{wait: {{timeout: 1h}}}}], on: {{wait: w, fail: failed}}}}
  w: {{kind: waiting, on: {{callback: done, timeout: late, 'call:amend': amend}}}}
  amend: {{actions: [{asks} {{wait: {{timeout: 2h}}}}], on: {{wait: w{fail}}}}}
  late: {{kind: terminal}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
        )
    };
    let waits = |played: &Played, end: usize| match &played.ends[end].then {
        Then::Wait { requests, .. } => requests.len(),
        other => panic!("{other:?}"),
    };
    let callback = r#"callback {"r": {"body": 1}}"#;
    let same = Play::of(&text("")).go(&["published", "call amend", callback]);
    assert_eq!(
        (same.path().as_str(), waits(&same, 1)),
        ("wait w, call:amend amend, wait w, callback done", 1)
    );
    let asks = "{amqp: {exchange: e, key: k, request: q}},";
    let again = Play::of(&text(asks)).go(&["published", "call amend", "published", "timeout"]);
    assert_eq!((waits(&again, 0), waits(&again, 1)), (1, 1), "what was asked again is what it waits for");
    assert_eq!(again.path(), "wait w, call:amend amend, wait w, timeout late");
}

#[test]
fn scn_9_what_was_said_to_the_call_that_moved_the_order_outlives_other_calls() {
    let text = "scenario: s
initialState: a
states:
  a: {actions: [{sleep: {for: 1d}}], on: {sleep: s}}
  s: {kind: sleeping, on: {timeout: done, 'call:move': b}}
  b: {actions: [{script: 'answer(1)'}, {http: {url: 'http://h/b'}}], on: {success: done, fail: done}}
  done: {kind: terminal}
calls: {ask: {actions: [{script: 'answer(2)'}, {http: {url: 'http://h/x'}}]}, look: {}}\n";
    // The handling is repeated, so that both answers are stored in between.
    let played = Play::whole(text).go(&["call move", "503", "call ask; look", "503", "200", "200"]);
    assert_eq!(played.statuses(), "sleep, retry, retry, retry, success");
    assert_eq!(played.replies(), [json!(2), Value::Null, json!(1)]);
}

#[test]
fn ord_12_retries_of_a_handling_that_is_over_are_no_retries_of_the_order() {
    let text = "scenario: s
initialState: a
states:
  a: {kind: polling, poll: {interval: 2h, timeout: 1d}, on: {success: done, fail: failed, timeout: failed},
      actions: [{http: {url: 'http://h/a'}}, {script: 'if response.body == 0 { poll() }'}]}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
calls: {ask: {actions: [{http: {url: 'http://h/x'}}]}}\n";
    // An hour of retries is allowed; ten seconds were spent on the call, two hours before.
    let answers = ["200 0", "call ask", "503", "404", "503", "200 1"];
    let played = Play::whole(text).sequential().go(&answers);
    assert_eq!(played.statuses(), "polling, retry, polling, retry, success");
    assert_eq!((played.delays(), played.replies()), (vec![10, 10], vec![json!("none")]));
}
