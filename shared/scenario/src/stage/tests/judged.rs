//! A script that refuses the answer of a call: the repeat makes the call again (ERR-5).

use super::*;

/// A scenario with these actions in one state, and the calls of the order beside it.
fn acting(list: &str) -> String {
    format!(
        "  a: {{actions: [{list}], on: {{success: done, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

/// Refuses an answer that says `busy`.
const JUDGE: &str = r#"{script: 'if response.body == "busy" { fail("it is busy", "busy") }'}"#;

#[test]
fn err_5_the_call_that_a_script_refused_is_made_again() {
    let list = format!(
        "{{http: {{url: 'http://h/0'}}}}, {{http: {{url: 'http://h/1', body: '${{response.body}}'}}}}, {JUDGE}"
    );
    let played = play(&acting(&list), &["200 7", "200 busy", "200 busy", "200 fine"]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("0, 1, 1, 1", "success done"));
    assert_eq!(played.delays(), [10, 20], "one cycle");
    for call in 1..=3 {
        assert_eq!(played.body(call), json!(7), "the repeat sees what the call saw");
        assert_eq!(played.http()[call].idempotency_key, played.http()[1].idempotency_key);
    }
    let played = play(&acting(&list), &["200 7", "200 busy", "200 busy", "200 busy", "200 busy"]);
    assert_eq!((played.statuses().as_str(), played.class().as_str()), ("retry, retry, retry, fail", "busy"));
}

#[test]
fn err_5_a_success_of_the_call_in_between_does_not_end_the_cycle_and_that_of_the_script_does() {
    let list = format!("{{http: {{url: 'http://h/1'}}}}, {JUDGE}, {{http: {{url: 'http://h/2'}}}}");
    // The call itself fails for once: the same class, the same cycle.
    let played = play(&acting(&list), &["200 busy", "503", "200 busy", "200 busy"]);
    assert_eq!(
        (played.delays(), played.statuses().as_str()),
        (vec![10, 20, 40], "retry, retry, retry, fail")
    );
    let played = play(&acting(&list), &["200 busy", "200 fine", "503", "503", "503", "200"]);
    assert_eq!(played.delays(), [10, 10, 20, 40]);
}

#[test]
fn err_5_what_lies_between_the_call_and_the_script_is_done_again_with_it() {
    let list = format!("{{http: {{url: 'http://h/1'}}}}, {{amqp: {{exchange: e, key: k}}}}, {JUDGE}");
    let played = play(&acting(&list), &["200 busy", "published", "200 fine", "published"]);
    assert_eq!((played.calls.len(), played.path().as_str()), (4, "success done"));
}

#[test]
fn err_5_steps_at_once_a_task_a_branch_and_a_polling_are_repeated_alike() {
    let steps =
        "{parallel: [{http: {name: one, url: 'http://h/1'}}, {http: {name: two, url: 'http://h/2'}}]}";
    let played = play(&acting(&format!("{steps}, {JUDGE}")), &["200 1 | 200 busy", "200 1 | 200 fine"]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("1, 2, 1, 2", "success done"));

    let task = "{http: {url: 'http://h/1'}}, {actor: {name: scoring, body: '${response.body}'}}";
    let decided = |word: &str| {
        format!(r#"callback {{"actor.scoring": {{"body": {{"decision": "success", "result": "{word}"}}}}}}"#)
    };
    let (busy, fine) = (decided("busy"), decided("fine"));
    let played =
        play(&acting(&format!("{task}, {JUDGE}")), &["200 7", "published", &busy, "published", &fine]);
    assert_eq!(played.path(), "success done");
    let tasks: Vec<Value> = played
        .calls
        .iter()
        .filter_map(|(_, _, need)| match need {
            Need::Task(task) => Some(serde_json::from_slice(&task.body).unwrap()),
            _ => None,
        })
        .collect();
    assert_eq!((&tasks[0]["body"], &tasks[1]["body"]), (&json!(7), &json!(7)));
    assert_eq!(
        (&tasks[0]["handOut"], &tasks[1]["handOut"]),
        (&json!(1), &json!(2)),
        "a decision answers one pass"
    );

    let branch = "{choose: [{when: 'params.n == 7', actions: [{http: {url: 'http://h/1'}}]}, {otherwise: [{http: {url: 'http://h/2'}}]}]}";
    let played = play(&acting(&format!("{branch}, {JUDGE}")), &["200 busy", "200 fine"]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("1, 1", "success done"));

    let polls = "  a: {kind: polling, poll: {interval: 1m, timeout: 1h}, actions: [{http: {url: 'http://h/1'}}, {script: 'if response.body == \"busy\" { fail(\"\", \"busy\") } if response.body == \"no\" { poll() }'}], on: {success: done, fail: done, timeout: done}}
  done: {kind: terminal}\n";
    let played = play(polls, &["200 busy", "200 no", "200 yes"]);
    assert_eq!((played.statuses().as_str(), played.paths().as_str()), ("retry, polling, success", "1, 1, 1"));
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert!(keys[0] == keys[1] && keys[1] != keys[2], "one attempt, one key");
}

#[test]
fn err_5_a_call_from_outside_makes_its_call_again_too() {
    let text = format!(
        "  a: {{actions: [{{sleep: {{for: 1h}}}}], on: {{sleep: w}}}}
  w: {{kind: sleeping, on: {{timeout: done}}}}
  done: {{kind: terminal}}
calls: {{ask: {{actions: [{{http: {{url: 'http://h/1'}}}}, {JUDGE}], answer: '${{response.body}}'}}}}\n"
    );
    let played = play(&text, &["call ask", "200 busy", "200 fine"]);
    assert_eq!((played.paths().as_str(), played.replies()), ("1, 1", vec![json!("fine")]));
}

#[test]
fn err_5_an_operation_goes_back_to_its_savepoint_and_with_it_to_the_call() {
    let text = format!(
        "scenario: s\nkind: operation\nactions:\n  - http: {{url: 'http://h/0'}}\n  - savepoint: half\n  - http: {{url: 'http://h/1'}}\n  - {}\n",
        &JUDGE[1..JUDGE.len() - 1]
    );
    let played = Play::whole(&text).go(&["200", "200 busy", "200 busy", "200 fine"]);
    assert_eq!((played.paths().as_str(), played.delays()), ("0, 1, 1, 1", vec![10, 20]));
}

#[test]
fn err_5_the_calls_of_an_each_are_made_again_with_their_keys_and_none_before_them() {
    let each =
        "{each: {in: [1, 2], actions: [{http: {url: 'http://h/${item}'}}], save: {got: '${response.body}'}}}";
    let judge = r#"{script: 'if vars.got[1] == "busy" { fail("it is busy", "busy") }'}"#;
    let list = format!("{{http: {{url: 'http://h/0'}}}}, {each}, {judge}");
    let played = play(&acting(&list), &["200", "200 a | 200 busy", "200 a | 200 busy", "200 a | 200 fine"]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("0, 1, 2, 1, 2, 1, 2", "success done"));
    assert_eq!(played.delays(), [10, 20], "one cycle, though the calls went through in between");
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert!(keys[1..3] == keys[3..5] && keys[1..3] == keys[5..7]);
    let refused = ["200", "200 a | 200 busy", "200 a | 200 busy", "200 a | 200 busy", "200 a | 200 busy"];
    let played = play(&acting(&list), &refused);
    assert_eq!((played.statuses().as_str(), played.class().as_str()), ("retry, retry, retry, fail", "busy"));
    // An element that fails in between goes on with the same cycle, as its class is the same.
    let played =
        play(&acting(&list), &["200", "200 a | 200 busy", "200 a | 503", "200 busy", "200 a | 200 fine"]);
    assert_eq!((played.delays(), played.path().as_str()), (vec![10, 20, 40], "success done"));
}

#[test]
fn err_5_an_each_without_an_answer_is_not_what_a_script_judged() {
    for each in
        ["in: [], actions: [{http: {url: 'http://h/1'}}]", "in: [1], actions: [{script: 'item += 1'}]"]
    {
        let list = format!("{{http: {{url: 'http://h/0'}}}}, {{each: {{{each}}}}}, {JUDGE}");
        let played = play(&acting(&list), &["200 busy", "200 fine"]);
        assert_eq!((played.paths().as_str(), played.path().as_str()), ("0, 0", "success done"), "{each}");
    }
}

#[test]
fn err_5_a_child_whose_end_a_script_refused_is_followed_by_another() {
    let judge = r#"{script: 'if callbacks.order.body.result == "busy" { fail("it is busy", "busy") }'}"#;
    let ended = |result: &str| {
        format!(
            r#"callback {{"order": {{"body": {{"id": "c", "status": "success", "result": "{result}"}}}}}}"#
        )
    };
    let (busy, fine) = (ended("busy"), ended("fine"));
    let answers = ["200", "started", &busy, "started", &busy, "started", &fine];
    let children = |id: &str| {
        let list =
            format!("{{http: {{url: 'http://h/0'}}}}, {{order: {{scenario: c, wait: true{id}}}}}, {judge}");
        let played = play(&acting(&list), &answers);
        assert_eq!(played.path(), "success done");
        let children = played.calls.iter().filter_map(|(_, _, need)| match need {
            Need::Order(child) => Some((child.registration["id"].clone(), child.request)),
            _ => None,
        });
        (children.collect::<Vec<_>>(), played.http().len())
    };
    let (children, calls) = children("");
    let ids: Vec<&Value> = children.iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["o-1.1.1.1", "o-1.1.1.1.again-1", "o-1.1.1.1.again-2"]);
    assert_eq!(calls, 1, "what lies before the child is not done again");
    let requests: std::collections::BTreeSet<_> = children.iter().map(|(_, request)| request).collect();
    assert_eq!(requests.len(), 3, "each is awaited by a request of its own");
}

#[test]
fn err_5_a_child_with_an_id_of_the_scenario_s_own_is_started_once_and_the_call_before_it_made_again() {
    let child = "{order: {scenario: c, wait: true, id: 'o-1-child'}}";
    let list = format!("{{http: {{url: 'http://h/1'}}}}, {child}, {JUDGE}");
    let ended = r#"callback {"order": {"body": {"id": "c", "status": "success"}}}"#;
    let played = play(&acting(&list), &["200 busy", "started", ended, "200 fine", "started", ended]);
    assert_eq!((played.paths().as_str(), played.path().as_str()), ("1, 1", "success done"));
}
