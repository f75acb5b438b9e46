//! A repair that goes on at the action that failed, or at an action of a state (ORD-23): what went through is not done
//! again.

use pagurus_domain::document::Fault;
use pagurus_domain::order::amendment::Repair;

use super::*;
use crate::repair::{Repaired, RepairedLife, repair};

const DONE: &str = "  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";

/// A scenario of one state with these actions.
fn one_state(actions: &str) -> String {
    format!("  a:\n    actions:\n{actions}    on: {{success: done, fail: failed}}\n{DONE}")
}

fn asked(body: &Value) -> Repair {
    let mut body = body.clone();
    body["reason"] = "mended".into();
    Repair::read(&body).unwrap()
}

/// Returns where an order goes on whose last stage ended so.
fn repaired(play: &Play, last: &StageEnd, body: &Value) -> Result<Repaired, Vec<Fault>> {
    let life = match last.then {
        Then::End { .. } => RepairedLife::Next,
        _ => RepairedLife::Present,
    };
    let kept = last.snapshot.clone().kept_behind(&last.then).unwrap_or_default();
    // As it is stored in between.
    let kept = Snapshot::from_text(&kept.to_text()).unwrap();
    repair(&asked(body), &play.scenario, kept, life, play.settings.bounds.max_vars_bytes)
}

/// The play of an order that goes on there, in its next life.
fn again(mut play: Play, last: &StageEnd, body: &Value) -> Play {
    play.snapshot = repaired(&play, last, body).unwrap().position;
    if matches!(last.then, Then::End { .. }) {
        play.facts.life += 1;
    }
    play
}

/// The same at the action that failed.
pub(super) fn again_at_failure(play: Play, last: &StageEnd) -> Play {
    again(play, last, &failed())
}

fn failed() -> Value {
    json!({"failedAction": true})
}

/// Plays to a failure, then from the failed action on.
fn repair_of(play: impl Fn() -> Play, first: &[&str], second: &[&str]) -> (Played, Played) {
    let before = play().go(first);
    assert_eq!(before.last().then.status(), Status::Fail, "{}", before.paths());
    let after = again(play(), before.last(), &failed()).go(second);
    (before, after)
}

/// The pointer and message of the one fault for which the failed action is refused.
#[track_caller]
fn refusal(play: &Play, last: &StageEnd, body: &Value) -> String {
    let faults = repaired(play, last, body).unwrap_err();
    assert_eq!(faults.len(), 1);
    format!("{} {}", faults[0].pointer, faults[0].message)
}

const LETTERS: &str = "      - http: {url: 'http://h/first'}
      - each: {in: [a, b, c, d], as: item, atOnce: 2, actions: [{http: {url: 'http://h/${item}'}}, {http: {url: 'http://h/${item}/2'}}], save: {got: '${response.body}'}}
      - http: {url: 'http://h/after', body: ['${vars}', '${response.body}']}\n";

#[test]
fn ord_23_the_failed_element_of_an_each_is_done_alone() {
    let first = ["200 0", "200 1 | 404", "200 11 | 200 3", "200 33"];
    let play = || Play::of(&one_state(LETTERS));
    let before = play().go(&first[..2]);
    assert_eq!(before.paths(), "first, a, b", "`c` and `d` were never asked");
    assert_eq!(
        before.last().snapshot.failed_action(),
        Some(FailedAction { state: "a", action: 1, elements: Some((0, 4)) })
    );
    let after = again(play(), before.last(), &failed()).go(&[
        "200 11 | 200 2",
        "200 22 | 200 3",
        "200 33 | 200 4",
        "200 44",
        "200",
    ]);
    assert_eq!(after.paths(), "a/2, b, b/2, c, c/2, d, d/2, after", "`first` and `a` are not asked again");
    assert_eq!(after.body(7), json!([{"got": [11, 22, 33, 44]}, 0]), "`response` is what it was");
    assert_eq!(after.statuses(), "success");
    let keys = |played: &Played, call: usize| played.http()[call].idempotency_key;
    assert_ne!(keys(&before, 2), keys(&after, 1), "what failed is asked under the key of another life");
}

#[test]
fn ord_23_elements_whose_failures_were_kept_are_done_alone_where_a_script_behind_them_fails() {
    let actions = "      - script: 'vars.list = [\"a\", \"b\", \"c\"]'
      - each: {in: '${vars.list}', as: item, onError: collect, actions: [{http: {url: 'http://h/${item}'}}], save: {got: '${response.body}'}}
      - log: 'looked at'
      - script: 'for one in vars.got { if type_of(one) == \"map\" { fail(\"one failed\") } }'\n";
    let play = || Play::of(&one_state(actions));
    let (before, after) = repair_of(play, &["200 1 | 404 | 200 3"], &["200 2"]);
    assert_eq!((before.paths().as_str(), after.paths().as_str()), ("a, b, c", "b"));
    assert_eq!(after.last().snapshot.vars["got"], json!([1, 2, 3]));
    // A list that has changed is another one: what was not asked is asked, what was done stays done.
    let mut play_again = play();
    let body = json!({"failedAction": true, "vars": {"list": ["x", "c", "a"]}});
    play_again.snapshot = repaired(&play(), before.last(), &body).unwrap().position;
    let other = play_again.go(&["200 9"]);
    assert_eq!((other.paths().as_str(), &other.last().snapshot.vars["got"]), ("x", &json!([9, 3, 1])));
}

#[test]
fn ord_23_the_failed_step_of_a_parallel_is_done_alone() {
    let actions = "      - http: {url: 'http://h/1'}
      - parallel: [{http: {name: a, url: 'http://h/a', save: {a: '${response.body}'}}}, {http: {name: b, url: 'http://h/b', body: '${response.body}', save: {b: '${response.body}'}}}, {http: {name: c, url: 'http://h/c'}}]
      - http: {url: 'http://h/3', body: ['${vars}', '${responses.a.body}', '${responses.b.body}', '${responses.c.body}']}\n";
    let (before, after) =
        repair_of(|| Play::of(&one_state(actions)), &["200 0", "200 1 | 404 | 200 3"], &["200 2", "200"]);
    assert_eq!((before.paths().as_str(), after.paths().as_str()), ("1, a, b, c", "b, 3"));
    assert_eq!(after.body(0), json!(0), "the step is rendered as it was the first time");
    assert_eq!(after.body(1), json!([{"a": 1, "b": 2}, 1, 2, 3]));
}

#[test]
fn ord_23_an_action_that_failed_sees_the_answers_that_it_saw() {
    let actions = "      - http: {name: one, url: 'http://h/1'}
      - http: {url: 'http://h/2', body: '${response.body}', save: {two: '${response.body}'}}
      - http: {url: 'http://h/3', body: ['${responses.one.body}', '${response.body}']}\n";
    let (_, after) = repair_of(|| Play::of(&one_state(actions)), &["200 7", "404 no"], &["200 8", "200"]);
    assert_eq!((after.paths().as_str(), after.body(0), after.body(1)), ("2, 3", json!(7), json!([7, 8])));
}

#[test]
fn ord_23_err_5_a_call_whose_answer_a_script_refused_is_made_again() {
    let actions = "      - http: {url: 'http://h/1'}
      - http: {url: 'http://h/2', body: '${response.body}'}
      - script: 'if response.body == 0 { fail(\"refused\") }'\n";
    let (before, after) = repair_of(|| Play::of(&one_state(actions)), &["200 7", "200 0"], &["200 1"]);
    assert_eq!((before.paths().as_str(), after.paths().as_str(), after.body(0)), ("1, 2", "2", json!(7)));
}

#[test]
fn ord_23_scn_17_an_element_whose_answer_its_script_refused_is_asked_again() {
    let actions = "      - each: {in: [a, b], as: item, actions: [{http: {url: 'http://h/${item}'}}, {script: 'if response.body == 0 { fail(\"refused\") }'}], save: {got: '${response.body}'}}\n";
    let (before, after) = repair_of(|| Play::of(&one_state(actions)), &["200 1 | 200 0"], &["200 2"]);
    assert_eq!((before.paths().as_str(), after.paths().as_str()), ("a, b", "b"));
    assert_eq!(after.last().snapshot.vars["got"], json!([1, 2]));
}

#[test]
fn ord_23_what_another_state_may_have_undone_is_not_kept() {
    let states = |undo: &str| {
        format!(
            "  a: {{actions: [{{http: {{url: 'http://h/1'}}}}, {{http: {{url: 'http://h/2'}}}}], on: {{success: done, fail: undo}}}}
  undo: {{actions: [{undo}, {{script: 'vars.undone = true'}}], on: {{success: failed, fail: failed}}}}\n{DONE}"
        )
    };
    let acts = Play::of(&states("{http: {url: 'http://h/undo'}}"));
    let played = Play::of(&states("{http: {url: 'http://h/undo'}}")).go(&["200", "404", "200"]);
    assert_eq!(played.last().snapshot.failed, None);
    assert!(refusal(&acts, played.last(), &failed()).starts_with("/failedAction is known of no action"));
    let says = || Play::of(&states("{log: 'it failed'}"));
    let (_, after) = repair_of(says, &["200", "404"], &["200"]);
    assert_eq!((after.paths().as_str(), after.statuses().as_str()), ("2", "success"));
    // What fails in the second state is the failure that counts.
    let fails = || Play::of(&states("{http: {url: 'http://h/undo'}}"));
    let (_, after) = repair_of(fails, &["200", "404", "404"], &["200"]);
    assert_eq!((after.paths().as_str(), after.statuses().as_str()), ("undo", "fail"));
}

#[test]
fn ord_23_a_state_that_has_asked_for_answers_is_done_as_a_whole() {
    let states = format!(
        "  a: {{actions: [{{http: {{url: 'http://h/ask', request: r}}}}, {{http: {{url: 'http://h/2'}}}}, {{wait: {{timeout: 5m}}}}], on: {{wait: w, fail: failed}}}}
  w: {{kind: waiting, on: {{callback: done, timeout: failed}}}}\n{DONE}"
    );
    let played = play(&states, &["200", "404"]);
    assert!(refusal(&Play::of(&states), played.last(), &failed()).contains("had asked for answers"));
    // The request that could not be sent is made again.
    let (_, after) =
        repair_of(|| Play::of(&states), &["404"], &["200", "200", "callback {\"r\": {\"body\": 1}}"]);
    assert_eq!((after.paths().as_str(), after.statuses().as_str()), ("ask, 2", "wait, success"));
    // What failed was no action: nobody answered.
    let played = play(&states, &["200", "200", "timeout"]);
    assert_eq!(played.last().snapshot.failed, None);
}

#[test]
fn ord_23_err_11_an_operation_goes_on_at_its_savepoint() {
    let operation = "scenario: pay\nkind: operation\nactions:
  - http: {url: 'http://h/1', save: {one: '${response.body}'}}
  - savepoint: paid
  - each: {in: [x, y], as: item, actions: [{http: {url: 'http://h/${item}'}}], save: {both: '${response.body}'}}
  - script: 'result([vars.one, vars.both, params.n])'\n";
    let text = format!(
        "scenario: s\ninitialState: a\nstates:\n{}",
        one_state(
            "      - script: 'vars.mine = 1'\n      - do: {operation: pay, params: {n: 5}, save: {paid: '${result}'}}\n"
        )
    );
    let inside = || Play::with_operations(&text, &[operation]);
    let (before, after) = repair_of(inside, &["200 1", "200 2 | 404"], &["200 3"]);
    assert_eq!((before.paths().as_str(), after.paths().as_str()), ("1, x, y", "y"));
    assert_eq!(Value::Object(after.last().snapshot.vars.clone()), json!({"mine": 1, "paid": [1, [2, 3], 5]}));
    let (before, after) = repair_of(|| Play::whole(operation), &["200 1", "200 2 | 404"], &["200 3"]);
    assert_eq!((before.paths().as_str(), after.paths().as_str()), ("1, x, y", "y"));
    assert_eq!(after.last().snapshot.result, Some(json!([1, [2, 3], 7])));
}

#[test]
fn ord_23_an_order_in_retry_goes_on_at_once_with_a_new_count_and_the_same_keys() {
    let before = Play::of(&one_state(LETTERS)).go_to_rest(&[
        "200 0",
        "200 1 | 503",
        "200 11 | 200 3",
        "200 33 | 200 4",
        "200 44",
    ]);
    assert_eq!(before.last().then.status(), Status::Retry);
    assert_eq!(
        before.last().snapshot.failed_action(),
        Some(FailedAction { state: "a", action: 1, elements: Some((3, 4)) })
    );
    let play = Play::of(&one_state(LETTERS));
    let after = again(play, before.last(), &failed()).go(&["503", "503", "503", "200 2", "200 22", "200"]);
    assert_eq!(after.paths(), "b, b, b, b, b/2, after");
    assert_eq!(after.delays(), [10, 20, 40], "all attempts of the policy are left");
    assert_eq!(before.http()[2].idempotency_key, after.http()[0].idempotency_key);
}

#[test]
fn ord_23_a_repair_under_another_version_wants_the_same_actions_up_to_the_failed_one() {
    let version = |actions: &str| Play::of(&one_state(actions));
    let failing = "      - http: {url: 'http://h/1'}\n      - http: {url: 'http://h/wrong'}\n";
    let before = version(failing).go(&["200", "404"]);
    let corrected =
        version("      - http: {url: 'http://h/1'}\n      - http: {url: 'http://h/right'}\n      - log: x\n");
    let after = again(corrected, before.last(), &failed()).go(&["200"]);
    assert_eq!(after.paths(), "right");
    let other = version("      - log: x\n      - http: {url: 'http://h/right'}\n");
    assert!(refusal(&other, before.last(), &failed()).contains("does something else there"));
    let shorter = version("      - http: {url: 'http://h/1'}\n");
    assert!(refusal(&shorter, before.last(), &failed()).contains("does something else there"));
}

#[test]
fn ord_23_an_order_goes_on_from_any_action_of_a_state_that_is_not_inside_an_operation() {
    let operation = "scenario: pay\nkind: operation\nactions:\n  - http: {url: 'http://h/in'}\n";
    let text = format!(
        "scenario: s\ninitialState: a\nstates:\n{}",
        one_state(
            "      - http: {name: one, url: 'http://h/1'}\n      - do: {operation: pay}\n      - http: {url: 'http://h/2', body: '${responses.one.body}'}\n"
        )
    );
    let play = || Play::with_operations(&text, &[operation]);
    let before = play().go(&["200 7", "200", "404"]);
    let from = |action: usize| json!({"state": "a", "action": action});
    let after = again(play(), before.last(), &from(1)).go(&["200", "200"]);
    assert_eq!((after.paths().as_str(), after.body(1)), ("in, 2", json!(7)), "named answers are kept");
    assert_eq!(after.statuses(), "success");
    let refused = |action: usize| refusal(&play(), before.last(), &from(action));
    assert_eq!(
        refused(2),
        "/action is inside operation `pay`: name the action that runs it, 1, or say `failedAction`"
    );
    assert_eq!(refused(5), "/action is none: the actions of state `a` have the numbers 0 to 4");
    let whole = Play::whole(operation);
    let ended = Play::whole(operation).go(&["404"]);
    let state = whole.scenario.state(whole.scenario.initial).name.clone();
    assert!(
        refusal(&whole, ended.last(), &json!({"state": state, "action": 0})).contains("from a savepoint")
    );
}

#[test]
fn ord_23_an_action_whose_answers_are_too_large_is_not_kept() {
    let actions = "      - http: {name: one, url: 'http://h/1'}\n      - http: {url: 'http://h/2'}\n";
    let large = format!("200 \"{}\"", "x".repeat(2000));
    let play = || Play::of(&one_state(actions)).set(|settings| settings.bounds.max_vars_bytes = 1000);
    let played = play().go(&[&large, "404"]);
    assert_eq!(played.last().snapshot.failed, None);
    assert_eq!(
        play().go(&["200 1", "404"]).last().snapshot.failed_action(),
        Some(FailedAction { state: "a", action: 1, elements: None })
    );
}

#[test]
fn ord_23_scn_15_no_secret_is_kept_with_the_failed_action() {
    let actions =
        "      - http: {name: one, url: 'http://h/${secret.key}'}\n      - http: {url: 'http://h/2'}\n";
    let play = Play::of(&one_state(actions)).secret("key", "p4ssw0rd");
    let played = play.go(&["200 \"p4ssw0rd\"", "404"]);
    let kept = played.last().snapshot.clone().kept_behind(&played.last().then).unwrap().to_text();
    assert!(kept.contains("\"failed\"") && !kept.contains("p4ssw0rd"), "{kept}");
}
