//! Operations among the actions of a workflow (SCN-19): their names, savepoints, repeats, rests and failures.

use super::*;

/// A workflow of one state with these actions.
fn workflow(actions: &str) -> String {
    format!(
        "scenario: w\ninitialState: a\nstates:\n  a:\n    actions:\n{actions}    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n"
    )
}

fn operation(name: &str, actions: &str) -> String {
    format!("scenario: {name}\nkind: operation\nactions:\n{actions}")
}

fn inside(actions: &str, operations: &[String]) -> Play {
    let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
    Play::with_operations(&workflow(actions), &operations)
}

const CHARGE: &str = "  - http: {url: 'http://h/charge', body: '${params.amount}', name: charge, save: {id: '${response.body.id}'}}
  - script: 'vars.n = 1; result(#{id: vars.id, amount: params.amount}); message(\"charged\")'\n";

#[test]
fn scn_19_an_operation_has_names_of_its_own() {
    let actions = "      - script: 'vars.n = 5; vars.id = \"mine\"; result(\"of the order\")'
      - http: {url: 'http://h/1', name: charge}
      - do: {operation: charge, params: {amount: '${vars.n + params.n}'}, save: {charged: '${result.id}', all: '${result}'}}
      - http: {url: 'http://h/2', body: {vars: '${vars}', n: '${params.n}', last: '${response.body}', named: '${responses.charge.body}'}}\n";
    let played =
        inside(actions, &[operation("charge", CHARGE)]).go(&["200 1", "200 {\"id\": \"c-1\"}", "200"]);
    assert_eq!(played.paths(), "1, charge, 2");
    assert_eq!(played.body(1), json!(12));
    let expected = json!({
        "vars": {"n": 5, "id": "mine", "charged": "c-1", "all": {"id": "c-1", "amount": 12}},
        "n": 7, "last": 1, "named": 1,
    });
    assert_eq!(played.body(2), expected);
    let end = played.last();
    assert_eq!((&end.snapshot.result, &end.snapshot.message), (&Some(json!("of the order")), &None));
    assert!(end.log.iter().any(|line| line.text == "charged"), "{:?}", end.log);
    assert_eq!(Value::Object(end.snapshot.vars.clone()), expected["vars"]);
    assert!(end.snapshot.operations.is_empty());
}

#[test]
fn scn_19_what_a_script_of_an_element_says_is_said_to_the_operation() {
    let each = "  - each: {in: [1, 2], actions: [{script: 'result(item); message(\"m\" + item)'}]}\n";
    let actions = "      - do: {operation: counts, save: {last: '${result}'}}\n";
    let played = inside(actions, &[operation("counts", each)]).go(&[]);
    let end = played.last();
    assert_eq!(end.snapshot.vars.get("last"), Some(&json!(2)));
    assert_eq!((&end.snapshot.result, &end.snapshot.message), (&None, &None));
    assert!(end.log.iter().any(|line| line.text == "m2"), "{:?}", end.log);
}

#[test]
fn scn_19_parameters_are_held_against_the_schema_of_the_operation() {
    let charge = operation("charge", CHARGE).replace(
        "actions:",
        "params: {type: object, required: [amount], properties: {amount: {type: integer}}}\nactions:",
    );
    let actions = "      - do: {operation: charge, params: {amount: '${params.n > 5}'}}\n";
    let played = inside(actions, &[charge]).go(&[]);
    assert_eq!(played.class(), "operation.params");
    let message = played.error().message;
    assert!(message.contains("operation `charge`") && message.contains("/params/amount"), "{message}");
    let played =
        inside("      - do: {operation: charge, params: '${params.n}'}\n", &[operation("charge", CHARGE)]);
    assert_eq!(played.go(&[]).class(), "operation.params");
}

#[test]
fn scn_19_a_failure_of_an_operation_is_one_of_the_state_that_runs_it() {
    let outer =
        operation("outer", "  - script: 'vars.x = 1'\n  - do: {operation: charge, params: {amount: 1}}\n");
    let actions = "      - script: 'vars.n = 5'\n      - do: {operation: outer}\n";
    let played = inside(actions, &[operation("charge", CHARGE), outer]).go(&["404"]);
    assert_eq!((played.path().as_str(), played.statuses().as_str()), ("fail failed", "fail"));
    let error = played.error();
    assert!(error.message.starts_with("operation `outer/charge`: POST h/charge answered 404"), "{error:?}");
    assert_eq!(error.state.as_deref(), Some("a"));
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"n": 5}));
    // A fault of its code names where it stands: in the operation.
    let broken = operation("broken", "  - log: 'a'\n  - script: 'vars.a.b = 1'\n");
    let error = inside("      - do: {operation: broken}\n", &[broken]).go(&[]).error();
    assert_eq!(error.class.as_deref(), Some("script.error"));
    assert!(error.message.contains("operation `broken`, line 5, column"), "{}", error.message);
}

#[test]
fn scn_19_err_11_a_repeat_begins_at_the_last_savepoint_of_the_operation() {
    let steps = "  - http: {url: 'http://h/2'}\n  - savepoint: half\n  - script: 'vars.tries = get(vars, \"tries\", 0) + 1'\n  \
                 - http: {url: 'http://h/3'}\n  - http: {url: 'http://h/4', body: '${vars.tries}'}\n";
    let actions = "      - http: {url: 'http://h/1'}\n      - do: {operation: steps}\n      - http: {url: 'http://h/5'}\n";
    let played = inside(actions, &[operation("steps", steps)])
        .go(&["200", "200", "200", "503", "200", "503", "200", "200", "503", "200"]);
    assert_eq!(played.paths(), "1, 2, 3, 4, 3, 4, 3, 4, 5, 5");
    assert_eq!(played.delays(), [10, 20, 10]);
    assert_eq!(played.body(7), json!(1), "with the variables that there were");
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!((keys[2], keys[3], keys[8]), (keys[4], keys[7], keys[9]));
    assert_eq!(played.saved.len(), 1, "what lies before the savepoint is stored");
    assert_eq!(played.saved[0].entry_point, None, "and no restart begins there");
    assert_eq!(played.last().entry_point, None);
}

#[test]
fn scn_19_an_operation_rests_where_it_stands() {
    let ask = "  - http: {url: 'http://h/ask', body: '${request.url}', request: answer}
  - wait: {timeout: 1h}
  - script: 'result(callbacks.answer.body)'
  - sleep: {for: 1d}
  - http: {url: 'http://h/after'}\n";
    let actions = "      - http: {url: 'http://h/own', body: '${request.url}', request: answer}
      - do: {operation: ask, save: {first: '${result}'}}
      - do: {operation: ask, save: {second: '${result}'}}
      - wait: {timeout: 1h}\n";
    let text = workflow(actions)
        .replace("success: done", "wait: waits")
        .replace("  done:", "  waits: {kind: waiting, on: {callback: done, timeout: failed}}\n  done:");
    let operations = [operation("ask", ask)];
    let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
    let played = Play::with_operations(&text, &operations).go(&[
        "200",
        "200",
        "callback {\"ask/answer\": {\"body\": 1}}",
        "200",
        "200",
        "callback {\"ask/answer\": {\"body\": 2}}",
        "200",
        "callback {\"answer\": {\"body\": 3}}",
    ]);
    assert_eq!(played.statuses(), "wait, sleep, wait, sleep, wait, success");
    assert_eq!(played.path(), "wait waits, callback done");
    assert!(played.ends[..4].iter().all(|end| end.step == "a"));
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"first": 1, "second": 2}));
    let awaited = |end: &StageEnd| match &end.then {
        Then::Wait { requests, .. } => requests.len(),
        _ => 0,
    };
    assert_eq!(played.ends.iter().map(awaited).collect::<Vec<_>>(), [1, 0, 1, 0, 1, 0]);
}

#[test]
fn scn_19_what_failed_in_a_wait_of_an_operation_is_asked_again_from_its_savepoint() {
    let errors = "async: {classification: {rules: {any: {requests: {http: [{path: '/**'}]}, classes: {refused: {responses: [{step_status_keywords: [bad]}]}}}}}, \
                  retry: {policies: {refused: {error_classes: [refused], parameters: {initial_interval: 30s, multiplier: 1, max_interval: 30s, jitter: 0, max_attempts: 2}}}}}";
    let ask = "  - http: {url: 'http://h/before'}
  - savepoint: asks
  - http: {url: 'http://h/ask', request: answer}
  - wait: {timeout: 1h}
  - script: 'result(callbacks.answer.body)'\n";
    let text = format!("{}errors: {{{errors}}}\n", operation("ask", ask));
    let actions = "      - do: {operation: ask, save: {got: '${result}'}}\n";
    let bad = "callback {\"ask/answer\": {\"body\": 0, \"stepStatus\": \"bad\"}}";
    let good = "callback {\"ask/answer\": {\"body\": 1}}";
    let played = inside(actions, std::slice::from_ref(&text)).go(&["200", "200", bad, "200", good]);
    assert_eq!(
        (played.paths().as_str(), played.path().as_str()),
        ("before, ask, ask", "retry a, success done")
    );
    assert_eq!(played.statuses(), "wait, retry, wait, success");
    assert_eq!(played.last().snapshot.vars["got"], json!(1));
    assert_eq!(played.requests.len(), 2, "the repeat asks under another id");
    // Without an answer in time the operation fails, and the state with it.
    let played = inside(actions, &[text]).go(&["200", "200", "timeout"]);
    assert_eq!((played.path().as_str(), played.class().as_str()), ("fail failed", "async.timeout"));
}

#[test]
fn scn_19_err_15_the_rules_of_an_operation_are_asked_before_those_of_the_workflow() {
    let rules = |class: &str, interval: &str| {
        format!(
            "errors: {{sync: {{classification: {{rules: {{any: {{requests: [{{path: '/**'}}], classes: {{{class}: {{responses: [{{status_codes: [409]}}]}}}}}}}}}}, \
             retry: {{policies: {{{class}: {{error_classes: [{class}], scenarios: [{{name: NAME}}], parameters: {{initial_interval: {interval}, multiplier: 1, max_interval: {interval}, jitter: 0, max_attempts: 1}}}}}}}}}}}}\n"
        )
    };
    let call = operation("call", "  - http: {url: 'http://h/inner'}\n")
        + &rules("inner", "7s").replace("NAME", "call");
    let text = workflow("      - do: {operation: call}\n      - http: {url: 'http://h/outer'}\n")
        + &rules("outer", "11s").replace("NAME", "w");
    let played = Play::with_operations(&text, &[&call]).go(&["409", "200", "409", "409"]);
    assert_eq!((played.paths().as_str(), played.delays()), ("inner, inner, outer, outer", vec![7, 11]));
    assert_eq!(played.class(), "outer");
    let played = Play::with_operations(&text, &[&call]).go(&["409", "409"]);
    assert_eq!(played.class(), "inner");
}

#[test]
fn scn_9_scn_19_a_call_sees_the_names_of_the_workflow_while_an_operation_rests() {
    let rest = operation(
        "rest",
        "  - script: 'vars.n = 1'\n  - sleep: {for: 1h}\n  - http: {url: 'http://h/2', body: '${vars.n}'}\n",
    );
    let text =
        workflow("      - script: 'vars.n = 10'\n      - do: {operation: rest, save: {rested: true}}\n")
            + "calls:\n  add: {actions: [{script: 'vars.n += event.body'}], answer: '${vars.n}'}\n";
    let played = Play::with_operations(&text, &[&rest]).go(&["call add 5", "200"]);
    assert_eq!((played.replies(), played.body(0)), (vec![json!(15)], json!(1)));
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"n": 15, "rested": true}));
    // A call that moves the order leaves the operation where it is.
    let moved = text.replace("success: done", "'call:stop': done, success: done");
    let played = Play::with_operations(&moved, &[&rest]).go(&["call stop"]);
    assert_eq!(played.path(), "call:stop done");
    assert_eq!(Value::Object(played.last().snapshot.vars.clone()), json!({"n": 10}));
}

#[test]
fn scn_19_success_in_a_script_ends_the_part_of_the_operation() {
    let parts = "  - script: 'if params.ends { success(); }'\n  - do: {operation: other}\n  - http: {url: 'http://h/1'}\n  \
                 - savepoint: second\n  - http: {url: 'http://h/2'}\n";
    let operations =
        [operation("parts", parts), operation("other", "  - log: a\n  - savepoint: b\n  - log: c\n")];
    let ends = |ends: bool| format!("      - do: {{operation: parts, params: {{ends: {ends}}}}}\n");
    assert_eq!(inside(&ends(true), &operations).go(&["200"]).paths(), "2");
    assert_eq!(inside(&ends(false), &operations).go(&["200", "200"]).paths(), "1, 2");
}

#[test]
fn scn_19_a_script_that_refuses_the_result_has_the_operation_done_again() {
    let actions = "      - do: {operation: charge, params: {amount: 1}, save: {id: '${result.id}'}}
      - script: 'if vars.id == 1 { fail(\"not yet\", \"busy\"); }'\n";
    let played = inside(actions, &[operation("charge", CHARGE)]).go(&["200 {\"id\": 1}", "200 {\"id\": 2}"]);
    assert_eq!((played.paths().as_str(), played.statuses().as_str()), ("charge, charge", "retry, success"));
    let keys: Vec<Uuid> = played.http().iter().map(|call| call.idempotency_key).collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn scn_19_an_order_outlives_its_time_in_the_middle_of_an_operation() {
    let rest = operation("rest", "  - script: 'vars.n = 1'\n  - sleep: {for: 1h}\n");
    let text = workflow("      - script: 'vars.n = 10'\n      - do: {operation: rest}\n")
        .replace("success: done", "'timeout:process': late, success: done")
        .replace("  done:", "  late: {actions: [{http: {url: 'http://h/late', body: '${vars.n}'}}], on: {success: failed, fail: failed}}\n  done:");
    let play = Play::with_operations(&text, &[&rest]);
    let settings = Arc::new(play.settings);
    let stage = |snapshot, wake, answers: &[&str], played: &mut Played| {
        let mut now: Timestamp = START.parse().unwrap();
        let input = input(&play.params, &serde_json::Map::new(), snapshot, wake, now);
        let stage =
            Stage::resume(play.scenario.clone(), settings.clone(), play.facts.clone(), input, now).unwrap();
        played.stage(stage, &mut answers.iter().copied().collect(), &mut now)
    };
    let mut played = Played::default();
    let first = stage(play.snapshot.clone(), Wake::Start, &[], &mut played);
    assert_eq!(first.then.status(), Status::Sleep);
    let last = stage(first.snapshot, Wake::ProcessTimeout, &["200"], &mut played);
    assert_eq!((last.step.as_str(), played.body(0)), ("failed", json!(10)));
}

#[test]
fn scn_17_scn_19_elements_of_an_operation_ask_under_its_names() {
    let each = "  - each: {in: '${params.list}', actions: [{http: {url: 'http://h/${item}', request: one}}]}
  - wait: {timeout: 1h}
  - script: 'result(callbacks.one.map(|one| one.body))'\n";
    let actions = "      - do: {operation: many, params: {list: [a, b]}, save: {got: '${result}'}}\n";
    let play = inside(actions, &[operation("many", each)]);
    let played =
        play.go(&["200 | 200", "callback {\"many/one.0\": {\"body\": 1}, \"many/one.1\": {\"body\": 2}}"]);
    assert_eq!(played.last().snapshot.vars["got"], json!([1, 2]));
}
