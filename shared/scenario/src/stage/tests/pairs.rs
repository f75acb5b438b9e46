//! Features in pairs, because most defects were found where two of them meet: where each pair is tested.
//!
//! A name is that of a file of these tests; those with a slash are flows with real servers. `wide` stands for the
//! property of random workflows, `wide_operation` for that of random operations; `wide_met` holds them to it that
//! every pair meets in them. `flows/alike` runs random orders of most of these features in the offline runner, in the
//! simulation and on the real services, and compares their ends.
//!
//! | | restart | repair | retry | savepoint | sleep |
//! |---|---|---|---|---|---|
//! | repair | ord/lives | | | | |
//! | retry | lives, wide | lives, wide, ord/lives | judged, asynchronous | | |
//! | savepoint | lives, operation, wide_operation | pairs, wide_operation | lives, operation, wide_operation | operation | |
//! | sleep | wide, ord/operator | wide, ord/amend | holds, wide | lives, wide_operation | flow |
//! | wait | lives, wide, ord/lives | lives, wide, ord/lives | asynchronous, wide | lives, operation, wide_operation | calls, wide |
//! | polling | wide | wide | reported, polling, wide | impossible (1) | pairs, wide (2) |
//! | queue | wide, ord/sequence | wide, ord/amend | holds, failures, wide | pairs, wide_operation | holds, wide, ord/sequence |
//! | child | pairs, wide | pairs, wide | judged, wide | pairs, wide_operation | wide, ord/lives |
//! | call | wide | wide | judged, calls, wide | pairs, wide_operation | calls, wide |
//!
//! | | wait | polling | queue | child | call |
//! |---|---|---|---|---|---|
//! | wait | asynchronous | | | | |
//! | polling | polling, pairs, wide (2) | polling | | | |
//! | queue | flow, wide, ord/sequence | wide, flows/language | ord/sequence | | |
//! | child | tasks, wide | wide (2) | pairs, wide | wide | |
//! | call | calls, wide | polling, wide | holds, wide | pairs, calls, wide | calls |
//!
//! | | restart | repair | retry | savepoint | sleep | wait | polling | queue | child | call |
//! |---|---|---|---|---|---|---|---|---|---|---|
//! | each | wide | wide | each, judged, wide | each | wide | each, wide | wide | each, wide | each, wide | each, wide |
//! | release | wide | wide | wide | wide_operation | wide, wide_operation | wide, wide_operation | wide | ord/sequence | wide, wide_operation | wide |
//!
//! XML and SOAP, requests that are given up by `cancel`, and the callbacks that a script knows meet each rest, each of these
//! actions and each other in `wide`, and so do restarts that keep callbacks (`keepCallbacks`) each rest. The random
//! operations have none of them: `soap` and `given_up` have examples.
//!
//! 1. Savepoints are those of operations, and operations have no states that could poll.
//! 2. From one state to the next only: a polling state makes only calls that are answered at once.

use pagurus_domain::classes::ORDER_FAILED;

use super::asynchronous::ASYNC;
use super::*;
use crate::ScenarioKind;

/// Counts behind a savepoint, and tells the count twice.
const COUNTS: &str = "scenario: s
kind: operation
actions:
  - script: 'vars.n = 1'
  - http: {url: 'http://h/0'}
  - savepoint: half
  - script: 'vars.n += 1'
  - http: {url: 'http://h/1', body: '${vars.n}'}
  - http: {url: 'http://h/2', body: '${vars.n}'}
calls: {add: {actions: [{http: {url: 'http://h/add'}}, {script: 'vars.more = event.body'}]}}\n";

const ENDED: &str = r#"callback {"order": {"body": {"id": "c", "status": "success", "result": 4}}}"#;
const FAILED: &str = r#"callback {"order": {"body": {"id": "c", "status": "fail"}}}"#;

/// Calls, awaits a child, and calls again.
const PARENT: &str = "  a: {actions: [{http: {url: 'http://h/1'}}, {order: {scenario: c, wait: true}}, {http: {url: 'http://h/2'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";

/// Returns the faults for which a scenario is refused.
fn refused(text: &str) -> String {
    let faults =
        source::read(text, &Scripting::new(script::Limits::default()), &Bounds::default()).unwrap_err();
    source::explain_faults(text, "s.yaml", &faults)
}

fn bodies(played: &Played) -> Vec<Value> {
    let bodies = played.http().into_iter().filter_map(|call| call.body.as_ref());
    bodies.map(|body| serde_json::from_slice(&body.bytes).unwrap()).collect()
}

/// Ids of the children that were asked for.
fn children(played: &Played) -> Vec<String> {
    let children = played.calls.iter().filter_map(|(_, _, need)| match need {
        Need::Order(child) => child.registration["id"].as_str().map(str::to_owned),
        _ => None,
    });
    children.collect()
}

fn budget(seconds: u64) -> impl FnOnce(&mut StageSettings) {
    move |settings| settings.max_acquisition_duration = Duration::from_secs(seconds)
}

#[test]
fn ord_23_scn_10_what_is_repaired_at_a_savepoint_is_repeated_with_what_the_operator_gave() {
    let before = Play::whole(COUNTS).go(&["200", "200", "503", "200", "404"]);
    let vars = json!({"n": 40}).as_object().unwrap().clone();
    let mut play = Play::whole(COUNTS);
    play.snapshot = before.ends[0].snapshot.clone().repaired_at("half", vars, ScenarioKind::Operation);
    let played = play.go(&["200", "503", "200", "503", "200", "200"]);
    assert_eq!(bodies(&played), vec![json!(41); 6], "not what it had at its first visit");
    let keys = |played: &Played| played.http().iter().map(|call| call.idempotency_key).collect::<Vec<_>>();
    let (old, new) = (keys(&before), keys(&played));
    assert_eq!((new[0], new[1]), (new[2], new[3]), "the repeats are the same calls");
    assert!(new.iter().all(|key| !old.contains(key)), "and others than those before the repair");
    assert_eq!(played.statuses(), "retry, retry, success");
}

#[test]
fn ord_23_scn_4_what_is_repaired_while_it_awaits_its_child_starts_another_one() {
    let before = play(PARENT, &["200", "started", ENDED, "200"]);
    let awaiting = before.ends[0].snapshot.clone();
    assert_eq!(awaiting.awaited().len(), 1);
    let vars = awaiting.vars.clone();
    let mut play = Play::of(PARENT).forgetting();
    play.snapshot = awaiting.repaired_at("a", vars, ScenarioKind::Workflow);
    assert!(play.snapshot.awaited().is_empty(), "the end of the first one is awaited by nobody");
    let played = play.go(&["200", "started", ENDED, "200"]);
    assert_eq!(played.statuses(), "wait, success");
    assert_ne!(children(&played), children(&before));
    assert_ne!(played.requests.keys().next(), before.requests.keys().next(), "a request of its own");
}

#[test]
fn ord_22_scn_4_a_restart_starts_a_child_of_its_own_life() {
    let failed = play(PARENT, &["200", "started", FAILED]);
    assert_eq!((failed.class().as_str(), failed.path().as_str()), (ORDER_FAILED, "fail failed"));
    let again = Play::of(PARENT).entering("a", json!({})).go(&["200", "started", ENDED, "200"]);
    assert_eq!(again.statuses(), "wait, success");
    assert_eq!((children(&failed), children(&again)), (vec!["o-1.1.1.1".into()], vec!["o-1.2.1.1".into()]));
}

#[test]
fn ord_12_scn_4_a_sequential_order_keeps_its_queue_for_its_child_and_awaits_it_no_longer_than_it_may() {
    let answers = ["503", "503", "200", "started", ENDED, "503", "200"];
    let played = Play::of(PARENT).sequential().set(budget(45)).go(&answers);
    assert_eq!(played.statuses(), "retry, retry, wait, retry, success", "the wait is no retry");
    assert!(played.ends.iter().all(|end| !end.released));
    let until = |played: &Played| {
        let end = played.ends.iter().find(|end| matches!(end.then, Then::Wait { .. })).unwrap();
        end.then.due_at().unwrap().as_second() - START.parse::<Timestamp>().unwrap().as_second()
    };
    assert_eq!(until(&played), 30 + 3600, "behind two retries");
    let longer = ["503", "503", "200", "started", ENDED, "503", "503"];
    let played = Play::of(PARENT).sequential().set(budget(45)).go(&longer);
    assert_eq!(played.class(), "busy", "the retries before and behind it are one hold");
    assert_eq!(until(&Play::of(PARENT).go(&["200", "started", ENDED, "200"])), 8_035_200);
}

#[test]
fn scn_9_scn_4_a_call_while_a_child_is_awaited_leaves_it_awaited() {
    let calls = "calls: {ask: {actions: [{http: {url: 'http://h/x'}}], answer: '${response.body}'}}\n";
    let text = format!("{PARENT}{calls}");
    let answers = ["200 1", "started", "+10s call ask", "503", "200 5", ENDED, "200"];
    let played = play(&text, &answers);
    assert_eq!(played.statuses(), "wait, retry, wait, success");
    assert_eq!(played.ends[0].then, played.ends[2].then, "the same child, the same time");
    assert_eq!((children(&played).len(), played.replies()), (1, vec![json!(5)]));
}

#[test]
fn ord_12_scn_10_what_an_operation_repeats_from_its_savepoint_is_one_hold_of_its_queue() {
    let answers = ["200", "200", "503", "200", "503", "200", "503"];
    let played = Play::whole(COUNTS).sequential().set(budget(45)).go(&answers);
    assert_eq!((played.statuses().as_str(), played.class().as_str()), ("retry, retry, fail", "busy"));
    // Given up behind the savepoint, it is given up once, and bounds nothing any more.
    let text = COUNTS.replace("half\n", "half\n  - release\n");
    let answers = ["200", "200", "503", "200", "503", "200", "503", "200", "200"];
    let played = Play::whole(&text).sequential().set(budget(45)).go(&answers);
    assert_eq!(played.statuses(), "retry, retry, retry, success");
    assert_eq!(played.ends.iter().map(|end| end.released).collect::<Vec<_>>(), [true, false, false, false]);
}

#[test]
fn scn_10_scn_4_a_repeat_from_a_savepoint_asks_for_the_same_child() {
    let text = "scenario: s
kind: operation
actions:
  - script: 'vars.n = 1'
  - savepoint: half
  - script: 'vars.n += 1'
  - order: {scenario: c, params: {n: '${vars.n}'}, wait: true}
  - http: {url: 'http://h/1', body: ['${vars.n}', '${callbacks.order.body.result}']}\n";
    let played = Play::whole(text).go(&["started", ENDED, "503", "started", ENDED, "200"]);
    assert_eq!(played.statuses(), "wait, retry, wait, success");
    assert_eq!((played.body(0), played.body(1)), (json!([2, 4]), json!([2, 4])));
    let (ids, requests) = (children(&played), played.requests.len());
    assert_eq!((&ids[0], requests), (&ids[1], 1), "who registers it again gets the same order");
}

#[test]
fn scn_9_scn_10_what_a_call_has_set_stays_when_an_operation_goes_back_to_its_savepoint() {
    let answers = ["200", "200", "503", "call add 5", "200", "200", "503", "200", "503", "200", "404"];
    let played = Play::whole(COUNTS).go(&answers);
    assert_eq!(played.statuses(), "retry, retry, retry, retry, fail");
    assert_eq!(played.replies(), [Value::Null], "its caller was informed that it is done");
    for repeated in &played.ends[1..4] {
        assert_eq!(Value::Object(repeated.snapshot.vars.clone()), json!({"n": 1, "more": 5}));
    }
    let left = played.last().snapshot.clone().remains().unwrap();
    assert_eq!(Value::Object(left.restarted_at("half").vars), json!({"n": 1, "more": 5}));
    // One that fails has set nothing, and one that takes a variable away has taken it from the savepoint.
    let text = COUNTS.replace("vars.more = event.body", "vars.more = event.body; fail()");
    let played = Play::whole(&text).go(&["200", "200", "503", "call add 5", "200", "200", "200"]);
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"n": 2}));
    let text = COUNTS
        .replace("vars.n = 1", "vars.n = 1; vars.more = 1")
        .replace("vars.more = event.body", "vars.remove(\"more\")");
    let played = Play::whole(&text).go(&["200", "200", "503", "call add", "200", "200", "503", "200", "200"]);
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"n": 2}));
}

#[test]
fn scn_6_scn_8_a_polling_behind_a_sleep_has_its_own_time_and_its_repeat_sleeps_again() {
    let text = "  a: {entryPoint: true, actions: [{http: {url: 'http://h/1'}}, {sleep: {for: 1d}}], on: {sleep: s, fail: failed}}
  s: {kind: sleeping, on: {timeout: p}}
  p: {kind: polling, poll: {interval: 1h, timeout: 90m}, actions: [{http: {url: 'http://h/p'}}, {script: 'if response.body == 0 { poll() }'}], on: {success: done, fail: failed, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let play = Play::of(text).errors(&format!("{ERRORS}{ASYNC}"));
    let played = play.go(&["200", "200 0", "200 0", "200 0", "200", "200 0", "200 1"]);
    assert_eq!(played.statuses(), "sleep, polling, polling, retry, sleep, polling, success");
    assert_eq!(played.paths(), "1, p, p, p, 1, p, p");
    assert_eq!(played.path(), "sleep s, timeout p, retry a, sleep s, timeout p, success done");
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len(), "each attempt of each visit asks again");
}

#[test]
fn err_9_a_wait_and_a_polling_that_run_out_of_time_by_turns_have_a_cycle_each() {
    let text = "  a: {actions: [{http: {url: 'http://h/1', request: r}}, {wait: {timeout: 5m}}], on: {wait: w, fail: failed}}
  w: {kind: waiting, on: {callback: p, timeout: failed}}
  p: {kind: polling, poll: {interval: 1h, timeout: 1h}, actions: [{http: {url: 'http://h/p'}}, {script: 'if response.body == 0 { poll() }'}], on: {success: done, fail: failed, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}\n";
    let came = "callback {\"r\": {\"body\": 1}}";
    let mut answers = ["200", "timeout", "200", came, "200 0", "200 0"].repeat(2);
    answers.extend(["200", came, "200 1"]);
    let played = Play::of(text).errors(&format!("{ERRORS}{ASYNC}")).forgetting().go(&answers);
    let turn = "wait, retry, wait, polling, retry";
    assert_eq!(
        played.statuses(),
        format!("{turn}, {turn}, wait, success"),
        "two repeats of each are allowed"
    );
}

#[test]
fn scn_8_scn_10_an_operation_does_not_poll_and_who_polls_does_not_rest_for_anything_else() {
    let text = refused("scenario: s\nkind: operation\nactions:\n  - script: 'poll()'\n");
    assert!(text.contains("polling"), "{text}");
    for rests in ["sleep: {for: 1h}", "wait: {timeout: 1h}", "order: {scenario: c, wait: true}"] {
        let text = refused(&format!(
            "scenario: s\ninitialState: a\nstates:\n  a: {{kind: polling, poll: {{interval: 1h, timeout: 2h}}, actions: [{{{rests}}}, {{script: 'poll()'}}], on: {{success: done, fail: done, timeout: done}}}}\n  done: {{kind: terminal}}\n"
        ));
        assert!(
            text.contains("a polling state makes only calls that are answered at once"),
            "{rests}: {text}"
        );
    }
}
