//! `each`: the same actions for every element of a list (SCN-17).

use pagurus_domain::classes::EACH_TOO_LONG;

use super::*;

const DONE: &str = "  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";

/// An `each` with these settings, then a request that tells the variables.
fn scenario(settings: &str) -> String {
    format!(
        "  a:
    actions:
      - http: {{url: 'http://h/first'}}
      - each: {{{settings}}}
      - http: {{url: 'http://h/after', body: ['${{vars}}', '${{response.body}}']}}
    on: {{success: done, fail: undo}}
  undo: {{actions: [{{http: {{url: 'http://h/undo', body: ['${{vars}}', '${{error.class}}']}}}}], on: {{success: failed, fail: failed}}}}
{DONE}"
    )
}

const LETTERS: &str = "in: [a, b, c, d, e], atOnce: 2, actions: [{http: {url: 'http://h/${item}/${index}'}}], \
                       save: {got: '${response.body}', of: '${item}'}";

fn at_once(played: &Played) -> Vec<usize> {
    let sizes = played.calls.iter().filter_map(|(_, _, need)| match need {
        Need::Parallel(calls) => Some(calls.len()),
        _ => None,
    });
    sizes.collect()
}

#[test]
fn scn_17_at_most_this_many_elements_are_at_work_at_once_and_results_keep_the_order_of_the_list() {
    let played = play(&scenario(LETTERS), &["200 0", "200 1 | 200 2", "200 3 | 200 4", "200 5", "200"]);
    assert_eq!(played.paths(), "first, a/0, b/1, c/2, d/3, e/4, after");
    assert_eq!(at_once(&played), [2, 2, 1]);
    let lists = json!({"got": [1, 2, 3, 4, 5], "of": ["a", "b", "c", "d", "e"]});
    assert_eq!(played.body(6), json!([lists, 0]), "`response` is what it was before");
    let mut keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 7, "each element has a key of its own");
    assert_eq!(played.last().snapshot.main.each, None);
}

#[test]
fn scn_17_an_empty_list_is_over_at_once_and_one_that_is_too_long_or_no_list_fails() {
    let played =
        play(&scenario("in: [], actions: [{http: {url: 'http://h/x'}}], save: {got: 1}"), &["200 0", "200"]);
    assert_eq!((played.paths().as_str(), played.body(1)), ("first, after", json!([{"got": []}, 0])));
    let short = Play::of(&scenario(LETTERS)).set(|settings| settings.bounds.max_each = 4);
    let played = short.go(&["200 0", "200"]);
    assert_eq!((played.paths().as_str(), played.class().as_str()), ("first, undo", EACH_TOO_LONG));
    let none = LETTERS.replace("[a, b, c, d, e]", "'${params.n}'");
    assert_eq!(play(&scenario(&none), &["200 0", "200"]).class(), "script.error");
}

#[test]
fn scn_17_a_repeat_does_only_what_is_not_done_yet_with_the_same_keys() {
    let played =
        play(&scenario(LETTERS), &["200 0", "200 1 | 503", "200 3 | down", "200 5", "200 2 | 200 4", "200"]);
    assert_eq!(played.paths(), "first, a/0, b/1, c/2, d/3, e/4, b/1, d/3, after");
    assert_eq!(played.delays(), [10], "together, after the longest of the waits");
    assert_eq!(played.body(8)[0]["got"], json!([1, 2, 3, 4, 5]));
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!((keys[2], keys[4]), (keys[6], keys[7]));
    assert!(played.ends[0].log.iter().any(|line| line.text.contains("element 1: GET h/b/1 answered 503")));
}

#[test]
fn scn_17_where_nobody_gets_through_the_others_are_not_called() {
    let played = play(
        &scenario(LETTERS),
        &["200 0", "503 | 503", "503 | 200 2", "200 3 | 200 4", "200 5", "200 1", "200"],
    );
    assert_eq!(played.paths(), "first, a/0, b/1, a/0, b/1, c/2, d/3, e/4, a/0, after");
    assert_eq!(played.delays(), [10, 20], "one cycle");
}

#[test]
fn scn_17_the_cycle_is_over_when_what_failed_has_gone_through() {
    let one = LETTERS.replace("atOnce: 2", "atOnce: 1");
    // Each fails once: with three attempts at most for one cycle five would be too many.
    let answers =
        ["200 0", "503", "200 1", "503", "200 2", "503", "200 3", "503", "200 4", "503", "200 5", "200"];
    let played = play(&scenario(&one), &answers);
    assert_eq!((played.delays(), played.path().as_str()), (vec![10; 5], "success done"));
    let ever = ["200 0", "503", "503", "503", "503", "200"];
    let played = play(&scenario(&one), &ever);
    assert_eq!((played.delays(), played.class().as_str()), (vec![10, 20, 40], "busy"));
}

#[test]
fn scn_17_one_that_fails_ends_it_and_what_went_through_is_saved() {
    let played = play(&scenario(LETTERS), &["200 0", "200 1 | 404 no", "200"]);
    assert_eq!(played.paths(), "first, a/0, b/1, undo");
    let nothing = Value::Null;
    assert_eq!(played.body(3)[0]["got"], json!([1, nothing, nothing, nothing, nothing]));
    assert!(
        played.error().message.starts_with("element 1: GET h/b/1 answered 404"),
        "{}",
        played.error().message
    );
}

#[test]
fn scn_17_what_an_unfinished_element_was_answered_is_saved_when_another_fails() {
    let settings = "in: [a, b, c, d], atOnce: 2, actions: [{http: {url: 'http://h/${item}'}}, {script: 'if response.body.id == 9 { fail() } item = 1;'}], \
                    save: {got: '${response.body.id}', item: '${item}'}";
    let played = play(&scenario(settings), &["200 0", "200 {\"id\": 8} | 404", "200"]);
    let nothing = Value::Null;
    assert_eq!(played.body(3)[0]["got"], json!([8, nothing, nothing, nothing]), "before its script has run");
    let played = play(&scenario(settings), &["200 0", "200 {\"id\": 8} | 200 {\"id\": 9}", "200"]);
    let expected = json!({"got": [8, 9, nothing, nothing], "item": [1, "b", nothing, nothing]});
    assert_eq!(played.body(3)[0], expected, "also of the one that failed");
}

#[test]
fn scn_17_failures_are_collected_beside_the_others_where_the_scenario_wants_it() {
    let collect = format!("{LETTERS}, onError: collect");
    let played = play(
        &scenario(&collect),
        &["200 0", "404 | 500", "200 3 | 503", "200 5", "503", "503", "503", "200"],
    );
    assert_eq!(played.paths(), "first, a/0, b/1, c/2, d/3, e/4, d/3, d/3, d/3, after");
    let got = &played.body(9)[0]["got"];
    let class = |index: usize| got[index]["error"]["class"].clone();
    assert_eq!((class(0), class(1), class(3)), (Value::Null, json!("lost"), json!("busy")), "{got}");
    assert_eq!((&got[2], &got[4], &got[0]["error"]["status"]), (&json!(3), &json!(5), &json!(404)));
    assert_eq!(played.path(), "success done");
}

#[test]
fn scn_17_scripts_change_their_element_and_nothing_else() {
    let settings = r#"in: [{p: 2}, {p: 3}], as: line, actions: [
        {script: 'line.sum = line.p * params.n; if line.p == 2 { log("two") }'},
        {http: {url: 'http://h/${line.sum}'}},
        {script: 'line.answer = response.body; if line.answer == 1 { success() } line.more = true;'},
        {http: {url: 'http://h/more/${line.p}'}}], save: {lines: '${line}'}"#;
    let played = play(&scenario(settings), &["200 0", "200 1 | 200 2", "200", "200"]);
    assert_eq!(played.paths(), "first, 14, 21, more/3, after");
    let lines = json!([{"p": 2, "sum": 14, "answer": 1}, {"p": 3, "sum": 21, "answer": 2, "more": true}]);
    assert_eq!(played.body(4)[0]["lines"], lines);
    let sets = r#"in: [1], actions: [{script: 'let k = "x"; vars[k] = 1;'}]"#;
    let played = play(&scenario(sets), &["200 0", "200"]);
    assert!(played.error().message.contains("sets no variables"), "{}", played.error().message);
    assert_eq!(played.body(1), json!([{}, "script.error"]));
}

#[test]
fn err_5_the_call_that_a_script_refuses_is_made_again_for_its_element_alone() {
    let settings = r#"in: [a, b], actions: [{http: {url: 'http://h/${item}'}},
        {script: 'if response.body == "busy" { fail("try again", "busy") }'}], save: {got: '${response.body}'}"#;
    let answers = ["200 0", "200 1 | 200 \"busy\"", "200 \"busy\"", "200 2", "200"];
    let played = play(&scenario(settings), &answers);
    assert_eq!((played.paths().as_str(), played.delays()), ("first, a, b, b, b, after", vec![10, 20]));
    assert_eq!(played.body(5)[0]["got"], json!([1, 2]));
}

#[test]
fn scn_17_each_element_has_a_request_of_its_own_and_their_answers_are_a_list() {
    let states = format!(
        "  a:
    actions:
      - each: {{in: [x, y, z], atOnce: 2, actions: [{{amqp: {{exchange: e, key: '${{item}}', body: '${{request.id}}', request: r}}}}]}}
      - wait: {{timeout: 1m}}
    on: {{wait: w, fail: failed}}
  w: {{kind: waiting, on: {{callback: b, timeout: failed}}}}
  b: {{actions: [{{http: {{url: 'http://h/b', body: '${{callbacks.r}}'}}}}], on: {{success: done, fail: failed}}}}
{DONE}"
    );
    let came = "callback {\"r.0\": {\"body\": 1}, \"r.1\": {\"body\": 2}, \"r.2\": {\"body\": 3}}";
    let played = play(&states, &["published", "published", "published", came, "200"]);
    assert_eq!(played.body(0), json!([{"body": 1}, {"body": 2}, {"body": 3}]));
    assert_eq!(played.requests.len(), 3);
    let Then::Wait { requests, .. } = &played.ends[0].then else { panic!() };
    assert_eq!(requests.len(), 3, "all of them are awaited");
    let keys: Vec<&str> = played
        .calls
        .iter()
        .filter_map(|(_, _, need)| match need {
            Need::Publish(message) => Some(message.key.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["x", "y", "z"]);
    let refused = play(&states, &["published", "unroutable"]);
    assert_eq!((refused.path().as_str(), refused.class().as_str()), ("fail failed", "amqp.unroutable"));
}

#[test]
fn scn_17_asynchronous_calls_and_child_orders_are_started_for_each_element() {
    let states = format!(
        "  a:
    actions:
      - each: {{in: [x, y], actions: [{{http: {{url: 'http://h/${{item}}', body: '${{request.url}}', request: r}}}}]}}
      - each: {{in: [1, 2], as: n, actions: [{{order: {{scenario: c, params: {{n: '${{n}}'}}, wait: true}}}}]}}
      - wait
    on: {{wait: w, fail: failed}}
  w: {{kind: waiting, on: {{callback: done, timeout: failed}}}}
{DONE}"
    );
    let played = play(
        &states,
        &[
            "200 | 503",
            "200",
            "started",
            "started",
            "callback {\"r.0\": {}, \"r.1\": {}, \"order.0\": {}, \"order.1\": {}}",
        ],
    );
    let bodies: Vec<Value> = (0..3).map(|call| played.body(call)).collect();
    assert!(bodies[1] == bodies[2] && bodies[0] != bodies[1], "a repeat is the same request: {bodies:?}");
    let ids: Vec<Value> = played
        .calls
        .iter()
        .filter_map(|(_, _, need)| match need {
            Need::Order(child) => Some(child.registration["id"].clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["o-1.1.1.1.0-0", "o-1.1.1.1.1-0"]);
}

#[test]
fn scn_10_an_operation_keeps_what_its_elements_have_done_over_a_repeat() {
    let text = format!(
        "scenario: s\nkind: operation\nactions:\n  - http: {{url: 'http://h/first'}}\n  - each: {{{LETTERS}}}\n  - http: {{url: 'http://h/after'}}\n"
    );
    let played = Play::whole(&text).go(&["200", "200 1 | 503", "200 | 200", "200", "200", "200", "200"]);
    assert_eq!(played.paths(), "first, a/0, b/1, c/2, d/3, e/4, first, b/1, after");
}

#[test]
fn dsp_16_elements_that_are_held_go_on_where_they_were() {
    let played =
        play(&scenario(LETTERS), &["200 0", "200 1 | 200 2", "held 5m", "200 3 | 200 4", "200 5", "200"]);
    assert_eq!(played.paths(), "first, a/0, b/1, c/2, d/3, c/2, d/3, e/4, after");
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!((keys[3], keys[4]), (keys[5], keys[6]));
}

#[test]
fn ord_12_a_sequential_order_goes_through_a_long_list_in_several_stages() {
    let played = Play::of(&scenario(LETTERS)).sequential().go(&[
        "200 0",
        "+3m 200 1 | 200 2",
        "+3m 200 3 | 200 4",
        "200 5",
        "200",
    ]);
    assert_eq!((played.statuses().as_str(), played.path().as_str()), ("wait, success", "success done"));
}

#[test]
fn scn_9_a_call_from_outside_goes_through_a_list_beside_the_order() {
    let text = format!(
        "scenario: s\ninitialState: a\ncalls: {{c: {{actions: [{{each: {{in: '${{event.body}}', actions: [{{http: {{url: 'http://h/${{item}}'}}}}], save: {{got: '${{response.body}}'}}}}}}], answer: '${{vars.got}}'}}}}\nstates:\n  \
         a: {{actions: [{{sleep: {{for: 1d}}}}], on: {{sleep: b}}}}\n  b: {{kind: sleeping, on: {{timeout: done}}}}\n{}",
        DONE.lines().next().unwrap()
    );
    let played = Play::whole(&text).go(&["call c [1, 2]", "200 1 | 503", "200 2"]);
    assert_eq!(played.replies(), [json!([1, 2])]);
}

#[test]
fn scn_15_nothing_that_elements_keep_holds_a_secret() {
    let settings = "in: [a, b], actions: [{http: {url: 'http://h/${item}', headers: {X: '${secret.key}'}}}], save: {got: '${response.body}'}";
    let played = Play::of(&scenario(settings)).secret("key", "s3cr3t-key").go(&[
        "200 0",
        "200 {\"echo\": \"s3cr3t-key\"} | 503 s3cr3t-key",
        "200 2",
        "200",
    ]);
    let stored = played.ends[0].snapshot.to_text();
    assert!(!stored.contains("s3cr3t") && stored.contains("***"), "{stored}");
}
