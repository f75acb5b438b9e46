//! Tasks of actors (SCN-11) and child orders: what the order awaits right where it stands.

use pagurus_domain::classes::{
    ACTOR_FAILED, ACTOR_INVALID, ACTOR_TIMEOUT, ORDER_FAILED, ORDER_REFUSED, ORDER_TIMEOUT,
};

use super::*;

fn acting(actor: &str) -> String {
    format!(
        "  a:
    actions:
      - http: {{url: 'http://h/1'}}
      - actor: {{name: scoring, body: '${{response.body}}', workTimeout: 1m{actor}}}
      - http: {{url: 'http://h/2', body: ['${{response.body}}', '${{responses.scoring.body}}', '${{vars}}']}}
    on: {{success: done, fail: b}}
  b: {{actions: [{{http: {{url: 'http://h/b', body: '${{response.body}}'}}}}], on: {{success: failed, fail: failed}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

const SUCCESS: &str = r#"callback {"actor.scoring": {"body": {"decision": "success", "result": 5}}}"#;

fn tasks(played: &Played) -> Vec<(Value, Uuid)> {
    let tasks = played.calls.iter().filter_map(|(_, _, need)| match need {
        Need::Task(task) => Some((serde_json::from_slice(&task.body).unwrap(), task.message_id)),
        _ => None,
    });
    tasks.collect()
}

#[test]
fn scn_11_a_decision_goes_on_where_the_task_was_handed_out() {
    let played =
        play(&acting(", save: {score: '${response.body}'}"), &["200 3", "published", SUCCESS, "200"]);
    assert_eq!((played.statuses().as_str(), played.path().as_str()), ("wait, success", "success done"));
    assert_eq!(played.body(1), json!([5, 5, {"score": 5}]));
    let (task, _) = &tasks(&played)[0];
    assert_eq!(
        (&task["body"], &task["handOut"], &task["workTimeoutMs"]),
        (&json!(3), &json!(1), &json!(60000))
    );
    assert_eq!(task["pass"], played.requests.values().next().unwrap().to_string());
}

#[test]
fn scn_11_other_decisions_are_failures_of_their_classes() {
    for (body, class) in [
        (
            json!({"decision": "fail", "error": {"class": "too.risky", "message": "no"}, "result": 1}),
            "too.risky",
        ),
        (json!({"decision": "fail"}), ACTOR_FAILED),
        (json!({"decision": "maybe"}), ACTOR_INVALID),
        (json!("success"), ACTOR_INVALID),
        (Value::Null, ACTOR_INVALID),
    ] {
        let came = format!("callback {}", json!({"actor.scoring": {"body": body}}));
        let played = play(&acting(""), &["200 3", "published", &came, "200"]);
        assert_eq!(
            (played.class().as_str(), played.path().as_str()),
            (class, "fail b, success failed"),
            "{body}"
        );
    }
    assert_eq!(play(&acting(""), &["200 3", "unroutable", "200"]).class(), "amqp.unroutable");
    assert_eq!(
        play(&acting(", save: {x: '${params.no.x}'}"), &["200", "published", SUCCESS, "200"]).class(),
        "script.error"
    );
}

#[test]
fn scn_11_a_task_without_a_decision_is_handed_out_again_with_a_new_pass() {
    let played = play(
        &acting(""),
        &["200 3", "published", "timeout", "published", "timeout", "published", SUCCESS, "200"],
    );
    let tasks = tasks(&played);
    assert_eq!(tasks.iter().map(|(task, _)| task["handOut"].clone()).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(tasks.iter().all(|(task, _)| task["task"] == tasks[0].0["task"] && task["body"] == 3));
    assert!(tasks[0].1 != tasks[1].1, "each hand-out is a message of its own");
    let once = play(&acting(", restartAfterWorkTimeout: false"), &["200 3", "published", "timeout", "200"]);
    assert_eq!((once.class().as_str(), once.path().as_str()), (ACTOR_TIMEOUT, "fail b, success failed"));
}

#[test]
fn scn_11_the_task_time_out_bounds_all_hand_outs_together() {
    // The last work time-out may end after it …
    let played = play(
        &acting(", taskTimeout: 90s"),
        &["200 3", "published", "timeout", "published", "timeout", "200"],
    );
    assert_eq!((played.class().as_str(), tasks(&played).len()), (ACTOR_TIMEOUT, 2));
    let waited = |played: &Played| {
        let until = played.ends.iter().filter_map(|end| end.then.due_at()).next_back().unwrap();
        until.as_second() - START.parse::<Timestamp>().unwrap().as_second()
    };
    assert_eq!(waited(&played), 120);
    // … or is cut short by it.
    let force = ", taskTimeout: 90s, forceFinishAfterTaskTimeout: true";
    let played = play(&acting(force), &["200 3", "published", "timeout", "published", "timeout", "200"]);
    assert_eq!((waited(&played), played.class().as_str()), (90, ACTOR_TIMEOUT));
}

#[test]
fn err_5_a_failed_task_is_repeated_by_its_policy_and_says_the_same() {
    let busy = r#"callback {"actor.scoring": {"body": {"decision": "fail", "error": {"class": "busy"}, "result": 9}}}"#;
    let played =
        play(&acting(""), &["200 3", "published", busy, "published", busy, "published", SUCCESS, "200"]);
    assert_eq!((played.delays(), played.path().as_str()), (vec![10, 20], "success done"));
    let tasks = tasks(&played);
    assert!(tasks.iter().all(|(task, _)| task["body"] == 3), "{tasks:?}");
    assert_eq!(tasks[2].0["handOut"], 3);
    let mut answers = vec!["200 3"];
    answers.extend(["published", busy].repeat(4));
    answers.push("200");
    let played = play(&acting(""), &answers);
    assert_eq!(
        (played.body(1), played.class().as_str()),
        (json!(9), "busy"),
        "in the end its scenario sees what it said"
    );
}

/// Systems that asked to be left alone, each with the seconds.
fn wishes(played: &Played) -> Vec<(String, u64)> {
    let calls = played.ends.iter().flat_map(|end| &end.calls);
    calls.filter_map(|call| Some((call.system.clone(), call.retry_after?.as_secs()))).collect()
}

#[test]
fn dsp_16_a_decision_says_how_long_its_actor_is_to_be_left_alone() {
    let good =
        r#"callback {"actor.scoring": {"body": {"decision": "success"}, "headers": {"Retry-After": 90}}}"#;
    let played = play(&acting(""), &["200 3", "published", good, "200"]);
    assert_eq!((played.statuses().as_str(), played.path().as_str()), ("wait, success", "success done"));
    assert_eq!(wishes(&played), [("actor:scoring".to_owned(), 90)]);
    let busy = r#"callback {"actor.scoring": {"body": {"decision": "fail", "error": {"class": "busy"}}, "headers": {"retry-after": "90"}}}"#;
    let played = play(&acting(""), &["200 3", "published", busy, "published", SUCCESS, "200"]);
    assert_eq!(
        (played.delays(), played.path().as_str()),
        (vec![90], "success done"),
        "not the ten of the policy"
    );
    assert_eq!(wishes(&played), [("actor:scoring".to_owned(), 90)]);
    assert!(wishes(&play(&acting(""), &["200 3", "published", SUCCESS, "200"])).is_empty());
}

#[test]
fn dsp_16_a_task_for_an_actor_that_is_to_be_left_alone_is_held_and_no_time_of_it_runs() {
    let held = ", taskTimeout: 90s, forceFinishAfterTaskTimeout: true";
    let played = play(&acting(held), &["200 3", "held 1h", "held 1h", "published", SUCCESS, "200"]);
    assert_eq!(played.statuses(), "wait, wait, wait, success");
    assert!(matches!(played.ends[1].then, Then::Hold { .. }));
    assert_eq!((played.ends[1].snapshot.visit.awaiting.as_ref(), played.requests.len()), (None, 1));
    let sent = tasks(&played);
    assert_eq!((sent.len(), &sent[0].0["handOut"], &sent[0].0["body"]), (1, &json!(1), &json!(3)));
    let until = played.ends[2].then.due_at().unwrap();
    assert_eq!(until, later(START.parse().unwrap(), Duration::from_secs(2 * 3600 + 60)), "a work time-out");
    // The retry of a failed task is held, too, and its cycle loses no time by it.
    let busy = r#"callback {"actor.scoring": {"body": {"decision": "fail", "error": {"class": "busy"}}}}"#;
    let played = play(&acting(""), &["200 3", "published", busy, "held 2d", "published", SUCCESS, "200"]);
    assert_eq!(
        (played.statuses().as_str(), played.path().as_str()),
        ("wait, retry, wait, wait, success", "success done")
    );
}

#[test]
fn dsp_16_what_an_actor_has_already_is_awaited_while_its_next_hand_out_is_held() {
    let answers = ["200 3", "published", "timeout", "held 10s", "published", SUCCESS, "200"];
    let played = play(&acting(", taskTimeout: 2m"), &answers);
    assert_eq!(played.statuses(), "wait, wait, wait, success");
    let awaiting = |end: usize| played.ends[end].snapshot.visit.awaiting.clone().unwrap();
    assert_eq!(awaiting(0).queued_at, awaiting(2).queued_at);
    assert_eq!(awaiting(0).task, awaiting(2).task, "the task time-out goes on");
    assert_eq!(tasks(&played).iter().map(|(task, _)| task["handOut"].clone()).collect::<Vec<_>>(), [1, 2]);
    // The task time-out passes while it is held.
    let played = play(&acting(", taskTimeout: 2m"), &["200 3", "published", "timeout", "held 5m", "200"]);
    assert_eq!((played.class().as_str(), tasks(&played).len()), (ACTOR_TIMEOUT, 1));
}

#[test]
fn scn_9_a_call_during_a_task_does_not_end_it() {
    let text = format!("{}calls: {{ask: {{actions: [{{http: {{url: 'http://h/x'}}}}]}}}}\n", acting(""));
    let played = play(&text, &["200 3", "published", "+10s call ask", "503", "200", SUCCESS, "200"]);
    assert_eq!((played.statuses().as_str(), tasks(&played).len()), ("wait, retry, wait, success", 1));
    assert_eq!(played.ends[0].then, played.ends[2].then, "the same work time-out");
}

/// Starts a child order; then these actions, and the transitions of its state.
fn child(order: &str, then: &str, on: &str) -> String {
    format!(
        "  a:
    actions: [{{http: {{url: 'http://h/1'}}}}, {{order: {{scenario: c, params: {{n: '${{params.n}}'}}{order}}}}}{then}]
    on: {{fail: failed, {on}}}
  b: {{actions: [{{http: {{url: 'http://h/b', body: '${{callbacks.order.body.result}}'}}}}], on: {{success: done, fail: done}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

/// A child that is awaited, or not, where it is started.
fn here(order: &str) -> String {
    child(order, "", "success: b")
}

const ENDED: &str = r#"callback {"order": {"body": {"id": "o-1.1.1.1", "status": "success", "result": 4}}}"#;

#[test]
fn scn_4_a_child_is_awaited_where_it_is_started() {
    let played = play(&here(", wait: true"), &["200", "started", ENDED, "200"]);
    assert_eq!(
        (played.statuses().as_str(), played.path().as_str()),
        ("wait, success", "success b, success done")
    );
    assert_eq!(played.body(1), json!(4));
    let Need::Order(ChildOrder { registration, request }) = &played.calls[1].2 else { panic!("{played:?}") };
    assert_eq!(*registration, json!({"id": "o-1.1.1.1", "scenario": "c", "params": {"n": 7}}));
    assert_eq!(request.as_ref(), played.requests.values().next());
}

#[test]
fn scn_4_a_child_that_fails_is_refused_or_is_late_is_a_failure() {
    let failed = r#"callback {"order": {"body": {"id": "c", "status": "fail", "error": {"class": "its.own", "message": "m"}}}}"#;
    let gone = r#"callback {"order": {"body": {"id": "c", "status": "terminated"}}}"#;
    for (answers, class) in [
        (&["200", "started", failed][..], "its.own"),
        (&["200", "started", gone][..], ORDER_FAILED),
        (&["200", "started", "timeout"][..], ORDER_TIMEOUT),
        (&["200", "refused"][..], ORDER_REFUSED),
    ] {
        let played = play(&here(", wait: true, timeout: 1h"), answers);
        assert_eq!((played.class().as_str(), played.path().as_str()), (class, "fail failed"), "{answers:?}");
        assert!(played.last().snapshot.requests.is_empty(), "no later wait is for it");
    }
}

#[test]
fn scn_4_a_child_is_awaited_by_the_wait_of_its_state_or_by_nobody() {
    let waits = "  w: {kind: waiting, on: {callback: b, timeout: failed}}\n";
    let text = format!("{}{waits}", child(", wait: true", ", {wait: {timeout: 1h}}", "wait: w"));
    let played = play(&text, &["200", "started", ENDED, "200"]);
    assert_eq!(played.path(), "wait w, callback b, success done");
    let alone = here("").replace("${callbacks.order.body.result}", "x");
    assert_eq!(play(&alone, &["200", "started", "200"]).statuses(), "success");
}
