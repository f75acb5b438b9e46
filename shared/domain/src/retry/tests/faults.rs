//! Faults of a configuration: all are reported at once, each with its place and what to write.

use super::*;

#[test]
fn all_faults_are_reported_at_once() {
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
          c: {responses: [{body_keywords: [flat]}, {status_codes: [302, 99, "x", 3xx]}]}
          d: {}
          e: {exceptions: [{}]}
  retry:
    max_cycle_duration: 5
    policies:
      p:
        scenarios: [x, {nam: y}]
        parameters: {multiplier: 0.5, jitter: 2, max_attempts: 0, initial_interval: 1h, max_interval: 1m}
async: {}
retry_duration_control: {mode: totally}
"#;
    let found = faults(text);
    let expected = [
        "3:9: `sometimes` is not one of `retry`, `none`",
        "4:3: unknown key `clasification`; did you mean `classification`?",
        "7:7: the rule has no `requests`; a rule needs `requests` to which it applies and `classes` that it assigns",
        "7:7: the rule has no `classes`; a rule needs `requests` to which it applies and `classes` that it assigns",
        "9:20: the request has no `path`; write `path: \"/**\"` for every path",
        "9:38: the mask `no-slash` must begin with `/`; the host has a key of its own, `host`",
        "11:44: expected a list of substrings, found a text; put it in brackets: `[[\"text\"]]`",
        "11:27: the condition has no `status_codes`; write `status_codes: [500, 503]`",
        "11:68: 302 always counts as success (1xx and 3xx do); leave it out",
        "11:73: expected an HTTP status from 200 to 599, found 99; write it like `503`, or `5xx` for all of a class",
        "11:77: expected an HTTP status from 200 to 599, found a text; write it like `503`, or `5xx` for all of a class",
        "11:82: 3xx always counts as success (1xx and 3xx do); leave it out",
        "12:11: the class has neither `responses` nor `exceptions`; say what belongs to it: `responses: [{status_codes: [503]}]`",
        "13:28: the condition has neither `name_keyword` nor `message_keywords`; write `name_keyword: Exception` for every failure without an answer",
        "15:25: `5` is not a duration; write it like `500ms`, `5s`, `1h30m`, `2d`",
        "17:7: the policy has no `error_classes`; name the classes that it retries: `error_classes: [shop.unavailable]`",
        "18:21: expected a mapping, found a text; write `{name: change-tariff}`, with `*` for any letters",
        "18:24: the scenario has no `name`; write `{name: change-tariff}`, with `*` for any letters",
        "18:25: unknown key `nam`; did you mean `name`?",
        "19:34: 0.5 is not between 1 and 1000",
        "19:47: 2 is not between 0 and 1",
        "19:64: expected a whole number of at least 1",
        "19:21: `initial_interval` is longer than `max_interval`; make `max_interval` the longest wait that you want",
        "21:32: `totally` is not one of `total`, `run_and_suspending_durations`",
    ];
    for line in expected {
        assert!(found.iter().any(|fault| fault == line), "missing {line}\n{found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

/// The rules of the asynchronous half, from line 4 on.
fn asynchronous(rules: &str) -> Vec<String> {
    faults(&format!("async:\n  classification:\n    rules:\n{rules}"))
}

#[test]
fn err_6_faults_of_rules_for_callbacks() {
    let found = asynchronous(
        r#"      empty:
      listed: {requests: [{path: /a}], classes: {c: {timeout: true}}}
      nowhere: {requests: {}, classes: {c: {timeout: true}}}
      masks:
        requests:
          http: [{path: no-slash}, {host: x}]
          amqp: [{path: "/a?exchang=a"}, {path: "/a?key=%zz"}, {path: "/a?key=a&key=b"}, {path: "/a?key"}, {path: "/a?key=%2A"}, {}]
        classes:
          untrue: {timeout: "yes"}
          nothing: {}
          never: {timeout: false}
          blank: {responses: [{}]}
          flat: {responses: [{body_keywords: [flat]}]}
          deep: {responses: [{step_status_keywords: [[deep]]}]}
          sync: {exceptions: [{name_keyword: Exception}]}
          status: {responses: [{status_codes: [500]}]}
"#,
    );
    let form = "write it like `/vhost?exchange=orders&key=shop.*`, the virtual host `/` as `%2F`";
    let rule = "a rule needs `requests` to which it applies and `classes` that it assigns";
    let words = "callbacks have `timeout: true`, `step_status_keywords` and `body_keywords`";
    let expected = [
        format!("4:7: the rule has no `requests`; {rule}"),
        format!("4:7: the rule has no `classes`; {rule}"),
        "5:26: expected a mapping, found a list; write `requests: {http: [{path: /a}]}`".into(),
        "6:17: the rule takes neither `http` nor `amqp` requests; write `http: [{path: /a}]` or `amqp: [{path: \"/a?key=b\"}]`".into(),
        "9:25: the mask `no-slash` must begin with `/`; the host has a key of its own, `host`".into(),
        "9:36: the request has no `path`; write `path: \"/**\"` for every path".into(),
        "10:25: unknown part `exchang`; did you mean `exchange`?".into(),
        "10:49: `%zz` is not percent-encoded text; write `%25` for `%`".into(),
        "10:71: `key` occurs twice; give each once; a mask has stars".into(),
        format!("10:97: `key` has no `=`; {form}"),
        "10:115: `%2A` escapes a star, but a star always stands for any letters; write `*`".into(),
        "10:130: the request has no `path`; write `{path: \"/vhost?exchange=a&key=b\"}`".into(),
        "12:29: expected `true` or `false`, found a text".into(),
        "13:11: the class takes nothing; give it `timeout: true` or `responses`".into(),
        "14:11: the class takes nothing; give it `timeout: true` or `responses`".into(),
        "15:31: the condition has neither `step_status_keywords` nor `body_keywords`; write `step_status_keywords: [failed]`, or `body_keywords: [[error]]`".into(),
        "16:47: expected a list of substrings, found a text; put it in brackets: `[[\"text\"]]`".into(),
        "17:54: expected a text, found a list; these words are a plain list: `[failed, refused]`".into(),
        format!("18:18: unknown key `exceptions`; {words}"),
        format!("19:33: unknown key `status_codes`; {words}"),
    ];
    for line in &expected {
        assert!(found.contains(line), "missing {line}\n{found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

/// Each entry that means nothing is reported with its place and its remedy.
#[test]
fn err_1_every_fault_has_a_place_and_says_what_to_write() {
    let rule = |rule: &str| format!("sync: {{classification: {{rules: {{r: {rule}}}}}}}");
    let class = |class: &str| rule(&format!("{{requests: [{{path: /a}}], classes: {{c: {class}}}}}"));
    let policy = |policy: &str| format!("sync: {{retry: {{policies: {{p: {policy}}}}}}}");
    for text in [
        rule("[]"),
        rule("{requests: [/a], classes: {}}"),
        rule("{requests: [], classes: {}}"),
        rule("{requests: [~], classes: {}}"),
        rule("{requests: [{path: ''}], classes: {}}"),
        rule("{requests: [{path: [a]}], classes: {}}"),
        class("[]"),
        class("~"),
        class("{responses: []}"),
        class("{responses: {status_codes: [500]}}"),
        class("{responses: [500]}"),
        class("{responses: [~]}"),
        class("{responses: [{status_codes: 500}]}"),
        class("{responses: [{status_codes: [5x]}]}"),
        class("{responses: [{status_codes: [6xx]}]}"),
        class("{responses: [{status_codes: [500], body_keywords: busy}]}"),
        class("{responses: [{status_codes: [500], body_keywords: [[]]}]}"),
        class("{exceptions: [ConnectError]}"),
        class("{exceptions: [~]}"),
        policy("[]"),
        policy("~"),
        policy("{error_classes: c}"),
        policy("{error_classes: ['']}"),
        policy("{error_classes: [c], scenarios: [s]}"),
        policy("{error_classes: [c], scenarios: [~]}"),
        policy("{error_classes: [c], parameters: {max_attempts: 1.5}}"),
        policy("{error_classes: [c], parameters: {max_attempts: -1}}"),
        policy("{error_classes: [c], parameters: {initial_interval: 0}}"),
        policy("{error_classes: [c], parameters: {jitter: high}}"),
        "sync: {retries: {}}".to_owned(),
        "sync: []".to_owned(),
        "synchronous: {}".to_owned(),
        "[]".to_owned(),
    ] {
        let found = read(&text).expect_err(&text);
        for fault in found {
            assert!(fault.at.is_some(), "{text}: {fault}");
            let is_helpful = fault.hint.is_some()
                || ["expected", "is not", "must be"].iter().any(|word| fault.message.contains(word));
            assert!(is_helpful, "{text}: {fault}");
        }
    }
}

#[test]
fn err_1_words_of_the_other_half_are_explained() {
    let sync = |rule: &str| faults(&format!("sync: {{classification: {{rules: {{r: {rule}}}}}}}"));
    let found = sync("{requests: {http: [{path: /a}]}, classes: {c: {responses: [{status_codes: [500]}]}}}");
    assert_eq!(found, ["1:47: expected a list, found a mapping; write `requests: [{path: /a}]`"]);
    let found =
        sync("{requests: [{path: /a}], classes: {c: {timeout: true, responses: [{status_codes: [500]}]}}}");
    assert!(found[0].ends_with(
        "a request without an answer is an exception: `exceptions: [{name_keyword: ReadTimeout}]`"
    ));
}

#[test]
fn err_8_async_policies_are_checked_like_the_others() {
    let found = faults(
        "async:
  mode: sometimes
  retry:
    max_cycle_duration: never
    policies:
      a: {error_classes: [async.timeout]}
      b: {error_classes: [crab.async.timeout]}
      c: {error_classes: ['async.t*']}
      e: {error_classes: ['crab.as*']}
",
    );
    let tie = "make one of the two more specific";
    assert_eq!(
        found,
        [
            "2:9: `sometimes` is not one of `retry`, `none`".to_owned(),
            "4:25: `never` is not a duration; write it like `500ms`, `5s`, `1h30m`, `2d`".to_owned(),
            format!(
                "7:7: equally specific as the policy `a` for scenario `*` and class `async.timeout`; {tie}"
            ),
            format!("9:7: equally specific as the policy `c` for scenario `*` and class `crab.as*`; {tie}"),
        ]
    );
}
