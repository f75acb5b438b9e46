//! Rules and policies that a scenario brings along (ERR-15).

use super::*;

const SCENARIO: &str = "scenario: s
initialState: a
errors:
  sync:
    classification:
      rules:
        mine:
          requests: [{path: \"/**\"}]
          classes:
            mine.busy: {responses: [{status_codes: [503]}]}
            mine.odd: {responses: [{status_codes: [409]}]}
    retry:
      policies:
        mine: {error_classes: [\"mine.*\"], parameters: {initial_interval: 3s, jitter: 0, max_attempts: 2}}
  async:
    classification: {rules: {mine: {requests: {http: [{path: /r}]}, classes: {mine.late: {timeout: true}}}}}
    retry: {policies: {mine: {error_classes: [mine.late], parameters: {initial_interval: 7s, jitter: 0, max_attempts: 1}}}}
states:
  a: {actions: [{http: {url: 'http://h/1'}}], on: {success: b, fail: failed}}
  b: {entryPoint: true, actions: [{http: {url: 'http://h/r', request: r}}, {wait: {timeout: 1m}}], on: {wait: w, fail: failed}}
  w: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

#[test]
fn err_15_a_scenario_is_retried_by_its_own_rules_behind_those_of_the_deployment() {
    let played = Play::whole(SCENARIO).go(&["503", "409", "200", "200", "callback {\"r\": {}}"]);
    assert_eq!((played.delays(), played.path().as_str()), (vec![10, 3], "success b, wait w, callback done"));
    let alone = Play::whole(SCENARIO).errors("{}").go(&["503", "503", "503"]);
    assert_eq!((alone.delays(), alone.class().as_str()), (vec![3, 6], "mine.busy"), "two attempts at most");
    let off = Play::whole(SCENARIO).errors("sync: {mode: none}").go(&["503"]);
    assert_eq!((off.delays(), off.class().as_str()), (vec![], "mine.busy"));
}

#[test]
fn err_15_an_answer_that_does_not_come_is_classed_by_the_scenario_before_it_is_by_the_engine() {
    let played = Play::whole(SCENARIO).go(&["200", "200", "timeout", "200", "callback {\"r\": {}}"]);
    assert_eq!(played.path(), "success b, wait w, retry b, wait w, callback done");
    let played = Play::whole(SCENARIO).go(&["200", "200", "timeout", "200", "timeout"]);
    assert_eq!(played.class(), "mine.late");
}
