//! Positions and values to which repeats and restarts go back: ORD-22, ORD-23, ERR-11, SCN-3, SCN-10.
//! Other pairs of features: `pairs`.

use super::asynchronous::ASYNC;
use super::*;
use crate::ScenarioKind;

/// A reservation, an entry point, and a state that asks and waits.
const STANDS: &str = "  a: {actions: [{http: {url: 'http://h/reserve'}}], on: {success: ask, fail: failed}}
  ask: {entryPoint: true, actions: [{http: {url: 'http://h/ask', save: {asked: true}}}], on: {success: stand, fail: failed}}
  stand: {actions: [{http: {url: 'http://h/stand', request: r}}, {wait: {timeout: 5m}}], on: {wait: w, fail: failed}}
  w: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";

fn with_rules(text: &str) -> Play {
    Play::of(text).errors(&format!("{ERRORS}{ASYNC}"))
}

fn goes_back_to(played: &Played) -> &str {
    &played.last().snapshot.entry_point.as_ref().unwrap().state
}

#[test]
fn ord_22_err_11_a_repeat_goes_back_to_the_state_from_which_the_life_was_begun() {
    let answers = ["200", "timeout", "200", "timeout", "200", "timeout"];
    let played = with_rules(STANDS).entering("stand", json!({})).forgetting().go(&answers);
    assert_eq!(played.paths(), "stand, stand, stand", "nothing is reserved again, and two repeats are two");
    assert_eq!(played.path(), "wait w, retry stand, wait w, retry stand, wait w, timeout failed");
    assert_eq!(goes_back_to(&played), "stand", "nor does the next restart go elsewhere");
    // An entry point that is visited takes its place.
    let played = with_rules(STANDS).entering("a", json!({})).forgetting().go(&[
        "200",
        "200",
        "200",
        "timeout",
        "200",
        "200",
        "callback {\"r\": {\"body\": 1}}",
    ]);
    assert_eq!(played.paths(), "reserve, ask, stand, ask, stand");
}

#[test]
fn ord_23_err_11_a_repeat_goes_back_to_the_state_of_a_repair() {
    let mut play = with_rules(STANDS).forgetting();
    let before = with_rules(STANDS).forgetting().go(&["200", "200", "404"]).last().snapshot.clone();
    let vars = before.vars.clone();
    play.snapshot = before.repaired_at("stand", vars, ScenarioKind::Workflow);
    let played = play.go(&["200", "timeout", "200", "callback {\"r\": {\"body\": 1}}"]);
    assert_eq!(
        (played.paths().as_str(), played.path().as_str()),
        ("stand, stand", "wait w, retry stand, wait w, callback done")
    );
    let ids: Vec<_> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_ne!(ids[0], ids[1], "another visit, another request");
}

#[test]
fn ord_22_a_life_leaves_its_variables_to_the_next() {
    let played = with_rules(STANDS).go(&["200", "200", "404"]);
    let left = played.last().snapshot.clone().remains().unwrap();
    let (vars, failed) = (left.vars.clone(), left.failed.clone());
    assert_eq!(left, Snapshot { vars, failed, ..Snapshot::default() });
    let next = left.restarted_at("ask");
    assert_eq!((Value::Object(next.vars.clone()), next.visit.number), (json!({"asked": true}), 0));
    assert_eq!(next.entry_point, Some(EntryPoint::new("ask", 1)));
    let none = Snapshot { failed: None, ..with_rules(STANDS).go(&["404"]).last().snapshot.clone() };
    assert_eq!(none.remains(), None);
}

/// Counts what it does, and calls with the count and with the answer before.
const COUNTS: &str = "scenario: s
kind: operation
actions:
  - http: {url: 'http://h/0'}
  - savepoint: half
  - script: 'if \"n\" in vars { vars.n += 1 } else { vars.n = 1 }'
  - http: {url: 'http://h/1', body: ['${vars.n}', '${response.body}']}
  - http: {url: 'http://h/2', body: '${vars.n}'}\n";

#[test]
fn scn_10_a_repeat_has_the_variables_and_answers_of_its_savepoint() {
    let played = Play::whole(COUNTS).go(&["200 7", "200 8", "503", "200 8", "503", "200 8", "404"]);
    assert_eq!(played.paths(), "0, 1, 2, 1, 2, 1, 2");
    for call in [1, 3, 5] {
        assert_eq!(played.body(call), json!([1, 7]), "under one key it is one call");
        assert_eq!(played.http()[call].idempotency_key, played.http()[1].idempotency_key);
    }
    // A restart has them, too, though the order has come further.
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"n": 1}));
    let next = played.last().snapshot.clone().remains().unwrap();
    assert_eq!(Snapshot::from_value(&next.to_value()), Ok(next.clone()));
    let next = next.restarted_at("half");
    assert_eq!(Value::Object(next.vars), json!({}));
}

#[test]
fn err_11_an_asynchronous_repeat_of_an_operation_has_the_variables_of_its_savepoint() {
    let text = "scenario: s
kind: operation
actions:
  - script: 'vars.n = 1'
  - savepoint: ask
  - script: 'vars.n += 1'
  - http: {url: 'http://h/1', request: r, body: '${vars.n}'}
  - wait: {timeout: 5m}\n";
    let play = Play::whole(text).errors(&format!("{ERRORS}{ASYNC}")).forgetting();
    let played = play.go(&["200", "timeout", "200", "callback {\"r\": {\"body\": 1}}"]);
    assert_eq!((played.body(0), played.body(1)), (json!(2), json!(2)));
}

#[test]
fn scn_10_a_rest_that_is_over_is_a_savepoint() {
    let text = "scenario: s
kind: operation
actions:
  - http: {url: 'http://h/first'}
  - sleep: {for: 1d}
  - http: {url: 'http://h/second'}
  - http: {url: 'http://h/third', request: r}
  - wait: {timeout: 5m}
  - http: {url: 'http://h/fourth'}\n";
    let came = "callback {\"r\": {\"body\": 1}}";
    let answers = ["200", "503", "503", "200", "200", came, "503", "503", "503", "404"];
    let played = Play::whole(text).go(&answers);
    assert_eq!(played.paths(), "first, second, second, second, third, fourth, fourth, fourth, fourth");
    assert_eq!(played.statuses(), "sleep, retry, retry, wait, retry, retry, retry, fail");
    assert_eq!(goes_back_to(&played), "start.2", "a restart goes on there as well");
}

#[test]
fn scn_3_an_entry_point_in_the_middle_of_a_stage_is_saved_when_it_is_entered() {
    let text = "  a: {entryPoint: true, actions: [{http: {url: 'http://h/a', save: {id: '${response.body}'}}}, {log: said}], on: {success: b, fail: failed}}
  b: {actions: [{http: {url: 'http://h/b'}}], on: {success: c, fail: failed}}
  c: {entryPoint: true, actions: [{http: {url: 'http://h/c', body: ['${vars.id}', '${response.body}']}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let played = play(text, &["200 1", "200 2", "200 3"]);
    let [saved] = played.saved.as_slice() else { panic!("{:?}", played.saved) };
    assert_eq!((saved.step.as_str(), saved.distance), ("c", Some(1)), "where it begins is known already");
    assert_eq!(saved.scenario_status, ScenarioStatus::OnTarget);
    assert_eq!(played.path(), "success b, success c, success done", "each move is reported once");
    assert_eq!(saved.snapshot.visit.number, 3);
    // An order that goes on there repeats none of it, and makes the same call.
    let mut next = Play::of(text);
    next.snapshot = Snapshot::from_value(&saved.snapshot.to_value()).unwrap();
    let next = next.go(&["200 3"]);
    assert_eq!((next.paths().as_str(), next.body(0)), ("c", json!([1, 2])));
    assert_eq!(next.http()[0].idempotency_key, played.http()[2].idempotency_key);
    assert_eq!((next.path().as_str(), next.saved.len()), ("success done", 0));
}

#[test]
fn scn_15_what_is_saved_in_the_middle_of_a_stage_holds_no_secret() {
    let text = "  a: {actions: [{http: {url: 'http://h/a', auth: {bearer: '${secret.token}'}, save: {told: '${response.body}'}}}, {log: '${response.body}'}], on: {success: b, fail: done}}
  b: {entryPoint: true, actions: [{http: {url: 'http://h/b'}}], on: {success: done, fail: done}}
  done: {kind: terminal}\n";
    let played = Play::of(text).secret("token", "hush-hush").go(&["200 \"hush-hush\"", "200"]);
    let saved = &played.saved[0];
    assert!(!saved.snapshot.to_text().contains("hush"), "{}", saved.snapshot.to_text());
    let shown = json!([saved.transitions, saved.log]).to_string();
    assert!(!shown.contains("hush"), "{shown}");
    assert_eq!(saved.snapshot.vars["told"], "***");
}

#[test]
fn scn_3_a_call_that_was_answered_before_the_entry_point_is_reported_with_it() {
    let text = "  a: {actions: [{sleep: {for: 1h}}], on: {sleep: w}}
  w: {kind: sleeping, on: {timeout: b, 'call:go': b}}
  b: {entryPoint: true, actions: [{http: {url: 'http://h/b'}}], on: {success: done, fail: done}}
  done: {kind: terminal}
calls: {ask: {answer: 5}}\n";
    let played = play(text, &["call ask; go", "200"]);
    assert_eq!(played.saved[0].answers.len(), 1, "the one that is over");
    assert_eq!(played.saved[0].snapshot.calls_in_hand().count(), 1, "the other goes on");
    assert_eq!(played.replies(), [json!(5), json!({"step": "done"})]);
}
