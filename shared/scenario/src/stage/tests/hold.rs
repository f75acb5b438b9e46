//! A called system that must be left alone: the order rests at the very action that would call it, and
//! goes on there as if it had just come (DSP-16).

use pagurus_domain::system::{CallKind, CallOutcome};

use super::asynchronous::{GOOD, asking, with_rules};
use super::*;

const TWO: &str = "  a:
    actions:
      - http: {url: 'http://h/1', save: {id: '${response.body.id}'}}
      - http: {url: 'http://h/2', body: '${response.body.id}'}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";

fn keys(played: &Played) -> Vec<Uuid> {
    played.http().iter().map(|call| call.idempotency_key).collect()
}

#[test]
fn dsp_16_a_held_call_is_made_later_as_if_for_the_first_time() {
    let played = play(TWO, &["200 {\"id\": 5}", "held 1h", "held 1h", "200"]);
    assert_eq!((played.statuses().as_str(), played.path().as_str()), ("wait, wait, success", "success done"));
    assert_eq!((played.paths().as_str(), played.body(3)), ("1, 2, 2, 2", json!(5)));
    assert_eq!((keys(&played)[1], keys(&played)[1]), (keys(&played)[2], keys(&played)[3]));
    for held in &played.ends[..2] {
        let position = &held.snapshot;
        assert_eq!((position.visit.number, position.main.action), (1, 1));
        assert_eq!((&position.main.retry, position.retry_time), (&None, RetryTime::default()));
        assert_eq!((&position.error, held.transitions.len(), held.log.len()), (&None, 0, 0));
        assert!(matches!(held.then, Then::Hold { .. }), "{:?}", held.then);
    }
    let until = played.ends[0].then.due_at().unwrap();
    assert_eq!(until, later(START.parse().unwrap(), Duration::from_secs(3600)));
}

#[test]
fn dsp_16_what_is_held_loses_no_attempt_and_no_time_of_its_cycle() {
    // Three repeats are allowed.
    let played = play(TWO, &["200 {\"id\": 5}", "503", "held 2d", "503", "held 2d", "503", "held 2d", "200"]);
    assert_eq!(played.statuses(), "retry, wait, retry, wait, retry, wait, success");
    assert_eq!(played.delays(), [10, 20, 40]);
    // Twenty seconds are allowed, of which the two repeats take sixteen.
    let played = play(TWO, &["200 {\"id\": 5}", "down", "held 1h", "down", "200"]);
    assert_eq!((played.statuses().as_str(), played.delays()), ("retry, wait, retry, success", vec![8, 8]));
    let played = play(TWO, &["200 {\"id\": 5}", "down", "held 1h", "down", "held 1h", "down"]);
    assert_eq!((played.path().as_str(), played.class().as_str()), ("fail failed", "down"));
}

#[test]
fn dsp_16_an_order_that_is_held_for_long_looks_again_the_later_and_counts_once() {
    let answers: Vec<&str> =
        ["200 {\"id\": 5}"].into_iter().chain(std::iter::repeat_n("held 4s", 40)).chain(["200"]).collect();
    let played = play(TWO, &answers);
    assert!(played.statuses().ends_with("wait, success"), "{}", played.statuses());
    let rests: Vec<i64> = played.ends[..40]
        .windows(2)
        .filter_map(|ends| Some(ends[1].then.due_at()?.duration_since(ends[0].then.due_at()?).as_secs()))
        .collect();
    assert_eq!(rests[8..12], [4, 5, 5, 6], "an eighth of the time, and never less than it has to");
    assert_eq!(rests.last(), Some(&30), "{rests:?}");
    let held = |end: &&StageEnd| end.calls.iter().any(|call| call.outcome == CallOutcome::Held);
    assert_eq!(played.ends.iter().filter(held).count(), 1, "looking again is no further call");
    let played = play(TWO, &["200 {\"id\": 5}", "held 2h", "503", "held 4s", "200"]);
    assert_eq!(played.ends.iter().filter(held).count(), 1, "a repeat is no further call either");
}

#[test]
fn dsp_16_a_sequential_order_keeps_its_queue_and_its_time_to_hold_it() {
    let played = Play::of(TWO).sequential().go(&["200 {\"id\": 5}", "503", "held 2h", "503", "200"]);
    assert_eq!(played.statuses(), "retry, wait, retry, success", "an hour of retries is allowed");
    assert!(played.ends.iter().all(|end| !end.released));
}

#[test]
fn dsp_16_an_asynchronous_cycle_loses_no_time_either() {
    let text = "  a:
    entryPoint: true
    actions: [{http: {url: 'http://h/1', request: r}}, {wait: {timeout: 5m}}]
    on: {wait: w, fail: failed}
  w: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let rules = format!("{ERRORS}{}", super::asynchronous::ASYNC);
    let answers = ["200", "timeout", "held 2d", "200", "timeout", "200", "callback {\"r\": {\"body\": 1}}"];
    let played = Play::of(text).errors(&rules).go(&answers);
    assert_eq!(played.statuses(), "wait, retry, wait, wait, retry, wait, success", "a day in all is allowed");
}

#[test]
fn dsp_16_a_request_that_was_held_is_sent_under_its_id_and_awaited_by_nobody_before() {
    let text = "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, {wait: {timeout: 1h}}], on: {wait: w, fail: failed, 'call:skip': b}}
  w: {kind: waiting, on: {callback: done, timeout: failed}}
  b: {actions: [{http: {url: 'http://h/b', request: q}}, {wait: {timeout: 1h}}], on: {wait: w, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let played = play(text, &["held 1h", "published", "callback {\"r\": {\"body\": 1}}"]);
    assert_eq!((played.statuses().as_str(), played.requests.len()), ("wait, wait, success", 1));
    assert_eq!(
        (played.calls[0].2.clone(), played.path().as_str()),
        (played.calls[1].2.clone(), "wait w, callback done")
    );
    assert!(played.ends[0].snapshot.requests.is_empty(), "it was never sent");
    let moved = play(text, &["held 1h", "call skip", "200", "callback {\"q\": {\"body\": 1}}"]);
    assert_eq!(moved.path(), "call:skip b, wait w, callback done");
    assert_eq!(moved.ends[1].snapshot.main.held, None);
}

#[test]
fn dsp_16_calls_are_handled_while_an_order_is_held_and_held_themselves() {
    let calls = "calls: {ask: {actions: [{http: {url: 'http://h/x'}}, {http: {url: 'http://h/y', body: '${response.body}'}}]}, look: {}}\n";
    let text = format!("scenario: s\ninitialState: a\nstates:\n{TWO}{calls}");
    let whole = || Play::whole(&text);
    let played = whole().go(&["held 1d", "+1h call ask", "200 7", "200", "200 {\"id\": 5}", "200"]);
    assert_eq!(
        (played.statuses().as_str(), played.paths().as_str()),
        ("wait, wait, success", "1, x, y, 1, 2")
    );
    assert_eq!(played.ends[0].then, played.ends[1].then, "the hold goes on to the time that it had");
    let answers =
        ["held 1d", "+1h call ask", "200 7", "held 1h", "call look", "200", "200 {\"id\": 5}", "200"];
    let played = whole().go(&answers);
    assert_eq!(played.paths(), "1, x, y, y, 1, 2");
    assert_eq!(played.statuses(), "wait, wait, wait, wait, success");
    assert_eq!((played.body(3), played.replies()), (json!(7), vec![Value::Null, Value::Null]));
    assert_eq!(played.ends[1].then, played.ends[2].then, "a second call does not hurry the first");
    assert_eq!(played.ends[0].then, played.ends[3].then);
}

#[test]
fn dsp_16_what_an_earlier_visit_asked_is_awaited_still() {
    let text = "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, {http: {url: 'http://h/1'}}, {wait: {timeout: 1h}}], on: {wait: w, fail: a}}
  w: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}\n";
    let came = "callback {\"r\": {\"body\": 1}}";
    let played = play(text, &["published", "404", "held 1h", "published", "200", came]);
    assert_eq!(played.path(), "fail a, wait w, callback done");
    let open: Vec<usize> = played.ends[..2].iter().map(|end| end.snapshot.requests.len()).collect();
    assert_eq!(open, [1, 2], "the one that was sent, and then both");
}

#[test]
fn dsp_16_what_is_held_waits_for_its_time_only() {
    let text = "  a: {actions: [{amqp: {exchange: e, key: k, request: r}}, {http: {url: 'http://h/1'}}, {wait: {timeout: 1h}}], on: {wait: w, fail: done}}
  w: {kind: waiting, on: {callback: done, timeout: done}}
  done: {kind: terminal}
calls: {look: {}}\n";
    let whole = format!("scenario: s\ninitialState: a\nstates:\n{text}");
    let answers = ["published", "held 1d", "call look", "200", "callback {\"r\": {\"body\": 1}}"];
    let played = Play::whole(&whole).go(&answers);
    assert_eq!(played.statuses(), "wait, wait, wait, success");
    assert_eq!(played.ends[0].then, played.ends[1].then, "the open request is none of its business");
    let Then::Wait { requests, .. } = &played.ends[2].then else { panic!("{played:?}") };
    assert_eq!(requests.len(), 1);
}

#[test]
fn dsp_16_what_moved_the_order_is_answered_behind_the_hold() {
    let text = "  a: {actions: [{sleep: {for: 1d}}], on: {sleep: s}}
  s: {kind: sleeping, on: {timeout: done, 'call:go': b}}
  b: {actions: [{http: {url: 'http://h/1', body: '${event.body}'}}, {sleep: {for: 1d}}], on: {sleep: s, fail: done}}
  done: {kind: terminal}\n";
    let played = play(text, &["call go 4", "held 1h", "200"]);
    assert_eq!((played.body(1), played.replies()), (json!(4), vec![json!({"step": "s"})]));
    assert!(played.ends[1].answers.is_empty());
}

#[test]
fn dsp_16_of_steps_at_once_those_that_went_through_are_not_made_again() {
    let text = "  a: {actions: [{parallel: [{http: {name: a, url: 'http://h/a'}}, {http: {name: b, url: 'http://h/b'}}]}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let played = play(text, &["200 1 | 503", "held 1h", "200 2"]);
    assert_eq!((played.statuses().as_str(), played.paths().as_str()), ("retry, wait, success", "a, b, b, b"));
}

#[test]
fn dsp_16_a_held_operation_does_not_go_back_to_its_savepoint() {
    let text = "scenario: s\nkind: operation\nactions:\n  - savepoint: x\n  - http: {url: 'http://h/1'}\n  - http: {url: 'http://h/2'}\n";
    let played = Play::whole(text).go(&["200", "held 1h", "200"]);
    assert_eq!((played.statuses().as_str(), played.paths().as_str()), ("wait, success", "1, 2, 2"));
}

#[test]
fn dsp_16_a_callback_says_how_long_its_system_is_to_be_left_alone() {
    let wishes = |played: &Played| -> Vec<(String, bool, Option<u64>)> {
        let calls = played.ends.iter().flat_map(|end| &end.calls);
        let ended =
            calls.filter(|call| call.kind == CallKind::Asynchronous && call.outcome != CallOutcome::Sent);
        let found = ended.map(|call| {
            let is_good = call.outcome == CallOutcome::Answered;
            (call.system.clone(), is_good, call.retry_after.map(|wish| wish.as_secs()))
        });
        found.collect()
    };
    // A good answer stays one.
    let good = r#"callback {"r": {"body": "yes", "headers": {"retry-after": "60"}}, "q": {"body": "yes"}}"#;
    let played = with_rules(&asking("", "")).go(&["200", "published", good]);
    assert_eq!(played.path(), "wait w, callback done");
    assert_eq!(wishes(&played), [("h".to_owned(), true, Some(60)), ("amqp:e".to_owned(), true, None)]);
    // A failed one is repeated no sooner, and no later than by its policy.
    for (seconds, delay) in [(90, 90), (5, 30), (7200, 900)] {
        let bad = format!(
            r#"callback {{"r": {{"body": "yes"}}, "q": {{"body": "no", "stepStatus": "k21", "headers": {{"Retry-After": {seconds}}}}}}}"#
        );
        let played = with_rules(&asking("", "")).go(&["200", "published", &bad, "200", "published", GOOD]);
        assert_eq!(
            (played.delays(), played.path().as_str()),
            (vec![delay], "wait w, retry a, wait w, callback done")
        );
        assert_eq!(wishes(&played)[1], ("amqp:e".to_owned(), false, Some(seconds)));
    }
}
