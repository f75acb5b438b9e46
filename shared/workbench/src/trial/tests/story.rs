//! Story of a test: everything in its order, and the failure that came first.

use super::*;

#[test]
fn scn_13_a_test_that_is_broken_off_tells_the_failure_that_came_first_and_all_in_its_order() {
    let text = "scenario: s
initialState: a
states:
  a:
    actions:
      - http: {url: 'http://b/one'}
      - log: 'between'
      - http: {url: 'http://b/two'}
      - script: 'vars.x = callbacks.activaton;'
    on: {success: done, fail: undo}
  undo: {actions: [{http: {method: DELETE, url: 'http://b/one'}}], on: {success: failed, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    let tests = "tests:\n  - test: t\n    answers: [{http: GET http://b/one}, {http: GET http://b/two, status: 201}]\n    expect: {status: success}\n";
    let result = outcome(text, tests);
    let fault = &result.faults[0].message;
    assert!(
        fault.starts_with("no answer is left for `DELETE http://b/one` in `undo`; the last failure before it was script.error: scenario `s`, line 9"),
        "{fault}"
    );
    let story: Vec<&str> = result.story.iter().map(|moment| moment.text.as_str()).collect();
    assert_eq!(
        story[..4],
        ["the order begins at `a`", "GET http://b/one: 200", "log: between", "GET http://b/two: 201"]
    );
    assert!(
        story[4].starts_with("log: failed (script.error): ") && story[5] == "`a` fail to `undo`",
        "{story:#?}"
    );
    assert_eq!(story.len(), 6);
}
