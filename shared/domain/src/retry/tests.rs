//! Rules, policies and cycles as tables: configurations and failures in, classes and times out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod cycles;
mod rules;

use super::*;
use crate::document::{Limits, parse};

/// The example of the specification.
const EXAMPLE: &str = r#"
sync:
  mode: retry
  classification:
    rules:
      any.errors.rule:
        requests: [{path: "/**"}]
        classes:
          all.unavailable:
            responses: [{status_codes: [502, 503]}]
          all.connection:
            exceptions:
              - name_keyword: ConnectError
                message_keywords: [["Connection refused"], ["Connection failed"]]
      shop.rule:
        requests: [{path: "/ps/v1/shop/**"}, {path: "/ps/v1/cart/**"}]
        classes:
          shop.unavailable: {responses: [{status_codes: [500, 502, 503]}]}
      shop.items.rule:
        requests: [{path: "/ps/v1/shop/tasks/*/items/*/state/*"}]
        classes:
          shop.others:
            responses:
              - status_codes: [500]
                body_keywords: [["Service unavailable", "SSO"], ["Connection reset"]]
          shop.unavailable: {responses: [{status_codes: [500, 502, 503]}]}
  retry:
    max_cycle_duration: 1d
    policies:
      shop:
        error_classes: [shop.unavailable, all.connection]
        scenarios: [{name: change-tariff}, {name: "order-*"}]
        parameters: {initial_interval: 5s, multiplier: 2, max_interval: 10m, jitter: 0.2, max_attempts: 20, max_duration: 6h}
"#;

fn read(text: &str) -> Result<ErrorPolicy, Vec<Fault>> {
    ErrorPolicy::read(&parse(text, &Limits::default()).unwrap())
}

fn example() -> ErrorPolicy {
    read(EXAMPLE).unwrap()
}

fn faults(text: &str) -> Vec<String> {
    read(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn all_faults_are_told_at_once() {
    let text = r#"
sync:
  mode: sometimes
  clasification: {}
  classification:
    rules:
      empty: {}
      r:
        requests: [{host: x}, {path: no-slash}]
        classes:
          c: {responses: [{body_keywords: [flat]}, {status_codes: [302, 99, "x"]}]}
          d: {}
          e: {exceptions: [{}]}
  retry:
    max_cycle_duration: 5
    policies:
      p:
        scenarios: [x, {nam: y}]
        parameters: {multiplier: 0.5, jitter: 2, max_attempts: 0, initial_interval: 1h, max_interval: 1m}
async: {mode: retry}
retry_duration_control: {mode: totally}
"#;
    let found = faults(text);
    let expected = [
        "3:9: `sometimes` is not one of `retry`, `none`",
        "4:3: unknown key `clasification`; did you mean `classification`?",
        "7:7: the rule has no `requests`",
        "7:7: the rule has no `classes`",
        "9:20: the request has no `path`",
        "9:38: the mask `no-slash` must begin with `/`; the host has a key of its own, `host`",
        "11:44: expected a list of substrings, found a text; put it in brackets: `[[\"text\"]]`",
        "11:27: the condition has no `status_codes`",
        "11:68: 302 always counts as success (1xx and 3xx do)",
        "11:73: expected an HTTP status from 200 to 599",
        "11:77: expected an HTTP status from 200 to 599",
        "12:11: the class has neither `responses` nor `exceptions`",
        "13:28: the condition has neither `name_keyword` nor `message_keywords`",
        "15:25: `5` is not a duration; write it like `500ms`, `5s`, `1h30m`, `2d`",
        "17:7: the policy has no `error_classes`",
        "18:21: expected a mapping, found a text",
        "18:24: the scenario has no `name`",
        "18:25: unknown key `nam`; did you mean `name`?",
        "19:34: 0.5 is not between 1 and 1000",
        "19:47: 2 is not between 0 and 1",
        "19:64: expected a whole number from 1 up",
        "19:21: `initial_interval` is longer than `max_interval`",
        "20:1: the classification of asynchronous interactions is not available yet; remove `async`",
        "21:32: `totally` is not one of `total`, `run_and_suspending_durations`",
    ];
    for line in expected {
        assert!(found.iter().any(|fault| fault == line), "missing {line}\n{found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}
