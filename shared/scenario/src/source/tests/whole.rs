//! Whole files: the example of the language, the keys at the top, many faults at once.

use pagurus_domain::document::parse;

use super::{check_table, faults, outcome};
use crate::source::explain_faults;
use crate::{Action, Body, Event, StateId, StateKind, TerminalOutcome};

const EXAMPLE: &str = r#"
scenario: change-tariff
kind: workflow
description: Change a subscriber's tariff in billing and on the network
params:
  type: object
  required: [msisdn, tariff]
initialState: reserve
targetStates: [done]
retention: 30d
timeouts: {process: 2d, idle: 6h, work: 5m}
states:
  reserve:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${config.billing}/ps/v1/tariffs/${params.tariff}/reservations"
          headers: {X-Request-Id: "${order.id}"}
          body: {msisdn: "${params.msisdn}"}
          timeout: 5s
          save: {reservation: "${response.body.id}"}
    on: {success: activate, fail: failed}
  activate:
    entryPoint: true
    actions:
      - amqp:
          exchange: network
          key: activate
          body: {msisdn: "${params.msisdn}", tariff: "${params.tariff}"}
          request: activation
      - wait: {timeout: 10m}
    on: {wait: activating, fail: undo}
  activating:
    kind: waiting
    on: {callback: check, timeout: undo}
  check:
    actions:
      - script: |
          if callbacks.activation.body.code != 0 { fail("network refused: " + callbacks.activation.body.text); }
          result(#{ tariff: params.tariff });
    on: {success: settle, fail: undo}
  settle:
    actions: [{sleep: {for: 1d}}]
    on: {sleep: settling}
  settling:
    kind: sleeping
    on: {timeout: close}
  close:
    actions:
      - log: "closing ${order.id}"
      - release
    on: {success: done, fail: undo}
  undo:
    actions:
      - http: {method: DELETE, url: "${config.billing}/ps/v1/reservations/${vars.reservation}", timeout: 5s}
    on: {success: failed, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[test]
fn scn_21_the_queue_of_a_scenario_is_made_of_parameters() {
    let text = |lines: &str| {
        format!("scenario: s\ninitialState: done\n{lines}\nstates: {{done: {{kind: terminal}}}}\n")
    };
    assert!(outcome(&text("sequential: 'sim-${params.a.b}'")).unwrap().queue.is_some());
    assert!(outcome(&text("sequential: one-at-a-time")).unwrap().queue.is_some());
    check_table(&[
        (&text("sequential: '${vars.x}'"), "3:13: `${vars.x}` uses more than parameters"),
        (&text("sequential: '${params.a + 1}'"), "3:13: `${params.a + 1}` uses more than parameters"),
        (
            &text("mask: [params.pin]\nsequential: '${params.pin}'"),
            "4:13: `params.pin` is masked, but the names of queues are visible to everybody",
        ),
    ]);
}

#[test]
fn err_15_rules_that_a_scenario_brings_along_are_read_and_checked() {
    let text = |errors: &str| {
        format!("scenario: s\ninitialState: done\nerrors:\n{errors}states: {{done: {{kind: terminal}}}}\n")
    };
    let good = "  sync:\n    classification: {rules: {r: {requests: [{path: /a}], classes: {c: {responses: [{status_codes: [503]}]}}}}}\n    retry: {policies: {p: {error_classes: [c]}}}\n";
    let scenario = outcome(&text(good)).unwrap();
    assert!(scenario.errors.policy_for("s", "c").is_some());
    check_table(&[
        (&text("  sync: {mood: retry}\n"), "4:10: unknown key `mood`; did you mean `mode`?"),
        (
            &text("  retry_duration_control: {mode: total}\n"),
            "4:3: `retry_duration_control` cannot be set by one scenario; remove it: the deployment sets it for all scenarios",
        ),
        (
            &text("  sync: {retry: {policies: {a: {error_classes: [x]}, b: {error_classes: [x]}}}}\n"),
            "4:54: equally specific as the policy `a` for scenario `*` and class `x`; make one of the two",
        ),
    ]);
    let operation = "scenario: s\nkind: operation\nactions: [{log: x}]\nerrors: {async: {mode: none}}\n";
    assert!(outcome(operation).is_ok());
}

#[test]
fn scn_1_the_example_becomes_the_model() {
    let scenario = outcome(EXAMPLE).unwrap();
    assert_eq!(scenario.name, "change-tariff");
    assert_eq!(scenario.state(scenario.initial).name, "reserve");
    assert_eq!(scenario.states.len(), 10);
    let state = |name: &str| scenario.state(scenario.state_named(name).unwrap());
    let reserve = state("reserve");
    assert!(reserve.entry_point && !state("check").entry_point);
    let Action::Http(http) = &reserve.actions[0] else {
        panic!("{:?}", reserve.actions);
    };
    assert!(matches!(http.body, Some(Body::Json(_))));
    assert_eq!(http.save[0].0, "reservation");
    let words = |name: &str| -> Vec<&str> { state(name).actions.iter().map(Action::word).collect() };
    assert_eq!(words("activate"), ["amqp", "wait"]);
    assert_eq!(words("close"), ["log", "release"]);
    assert_eq!(state("activating").kind, StateKind::Waiting);
    assert_eq!(state("activate").target_of(Event::Wait), scenario.state_named("activating"));
    assert_eq!(state("failed").outcome, TerminalOutcome::Fail);
    assert_eq!(scenario.targets.iter().copied().collect::<Vec<StateId>>(), [StateId(8)]);
    assert_eq!(scenario.timeouts.work, Some(std::time::Duration::from_secs(300)));
    assert_eq!(scenario.retention, Some(std::time::Duration::from_secs(30 * 86_400)));
    let validator = scenario.params_validator.as_ref().unwrap();
    assert!(validator.is_valid(&serde_json::json!({"msisdn": "1", "tariff": "x"})));
    assert!(!validator.is_valid(&serde_json::json!({"msisdn": "1"})));
}

#[test]
fn scn_1_the_same_in_json_is_the_same() {
    let tree = parse(EXAMPLE, &pagurus_domain::document::DocumentLimits::default()).unwrap();
    let json = serde_json::to_string_pretty(&tree.to_json()).unwrap();
    let scenario = outcome(&json).unwrap();
    assert_eq!((scenario.states.len(), scenario.targets.len()), (10, 1));
}

#[test]
fn scn_2_targets_come_from_the_deployment_where_none_are_named() {
    let text = EXAMPLE.replace("targetStates: [done]\n", "").replace(" done", " DONE");
    let scenario = outcome(&text).unwrap();
    let names: Vec<&str> = scenario.targets.iter().map(|id| scenario.state(*id).name.as_str()).collect();
    assert_eq!(names, ["DONE"]);
}

/// The least that is sound; the keys under test are put in front, from line 1 on.
fn with_keys(keys: &str) -> String {
    format!("{keys}\ninitialState: done\nstates: {{done: {{kind: terminal}}}}\n")
}

#[test]
fn scn_1_the_keys_at_the_top_are_checked() {
    let cases = [
        ("", "2:1: `scenario` is missing; write `scenario: NAME`"),
        ("scenario:", "1:1: `scenario` has no value"),
        ("scenario: 5", "1:11: `scenario` must be a text, not a whole number; put it in quotes"),
        ("scenario: a b", "1:11: `a b` is not a name for a scenario; write 1 to 64 letters"),
        ("scenario: ''", "1:11: `` is not a name for a scenario"),
        ("scenario: s\nkind: workflw", "2:7: there is no kind of scenario `workflw`; did you mean"),
        ("scenario: s\nkind: 5", "2:7: there is no kind of scenario a whole number"),
        ("scenario: s\nretension: 1d", "2:1: unknown key `retension`; did you mean `retention`?"),
        (
            "scenario: s\ncalls: []",
            "2:8: `calls` must be a mapping of names to what handles them, not a list",
        ),
        ("scenario: s\ncalls: {'1': {}}", "2:9: `1` is not a name for a call; write `call:NAME`"),
        ("scenario: s\ncalls: {a: {do: []}}", "2:13: unknown key `do`"),
        ("scenario: s\nmask: params.pin", "2:7: `mask` must be a list of paths, not a text"),
        ("scenario: s\nmask: [vars.pin]", "2:8: `vars.pin` is no path that can be masked; write it like"),
        ("scenario: s\nretention: 1 day", "2:12: `1 day` is not a duration; write it like"),
        ("scenario: s\ntimeouts: {work: 0s}", "2:18: `work` must be longer than zero"),
        ("scenario: s\ntimeouts: {wrk: 1s}", "2:12: unknown key `wrk`; did you mean `work`?"),
        ("scenario: s\ndescription: [a]", "2:14: `description` must be a text, not a list"),
        ("scenario: s\ntargetStates: done", "2:15: `targetStates` must be a list of names"),
        ("scenario: s\ntargetStates: []", "2:15: `targetStates` must be a list of names"),
        ("scenario: s\nscenario: t", "2:1: "),
    ];
    for (keys, expected) in cases {
        check_table(&[(&with_keys(keys), expected)]);
    }
    check_table(&[
        ("[a]", "1:1: `scenario file` must be a mapping with keys, not a list"),
        ("scenario: s\ninitialState: a", "1:1: `states` is missing"),
        ("scenario: s\ninitialState: a\nstates: {}", "3:9: `states` must be a mapping of names"),
        ("scenario: s\nstates: {done: {kind: terminal}}", "1:1: `initialState` is missing"),
    ]);
}

#[test]
fn scn_1_params_are_a_schema_that_fetches_nothing() {
    let twice =
        |n: usize| format!("d{n}: {{allOf: [{{$ref: '#/$defs/d{0}'}}, {{$ref: '#/$defs/d{0}'}}]}}, ", n + 1);
    let definitions: String = (0..40).map(twice).collect();
    let doubling = format!("params: {{$ref: '#/$defs/d0', $defs: {{{definitions}d40: {{type: object}}}}}}");
    let members: String = (0..8000).map(|n| format!("p{n}: {{$ref: '#'}}, ")).collect();
    let large = format!("params: {{properties: {{{members}z: true}}}}");
    let cases = [
        ("params: [a]", "2:9: `params` must be a JSON Schema, not a list"),
        ("params: {type: strin}", "2:16: `strin` is not a type of JSON Schema; did you mean `string`?"),
        ("params: {required: a}", "2:20: in the schema: "),
        (
            "params: {$ref: 'https://h/s.json'}",
            "2:16: `https://h/s.json` points outside the schema; put it under `$defs`",
        ),
        ("params: {items: {$ref: 'file:///etc/passwd'}}", "2:24: `file:///etc/passwd` points outside"),
        ("params: {$ref: '#'}", "2:9: the schema refers to itself endlessly; put references"),
        (
            &doubling,
            "2:9: the schema asks for over a billion evaluations of one value, at most 10000 are made",
        ),
        (&large, "2:9: the schema is too large to check; describe fewer"),
        ("params: {$ref: other.json}", "2:16: `other.json` points outside the schema"),
        ("params: {$ref: '#/$defs/a'}", "2:9: in the schema: "),
        (
            "params: {$schema: 'http://json-schema.org/draft-07/schema#'}",
            "2:19: the dialect `http://json-schema.org/draft-07/schema#` is not known",
        ),
        ("params: {properties: {a: {pattern: '(?=b)'}}}", "2:36: in the schema: "),
    ];
    for (params, expected) in cases {
        check_table(&[(&with_keys(&format!("scenario: s\n{params}")), expected)]);
    }
    let good = "scenario: s\nparams: {$ref: '#/$defs/a', $defs: {a: {maximum: 1.50}}}";
    assert_eq!(faults(&with_keys(good)), Vec::<String>::new());
}

#[test]
fn numbers_that_lose_their_text_ask_for_quotes() {
    let body = |value: &str| super::with_actions(&format!("- http: {{url: 'http://h', body: {value}}}"));
    check_table(&[
        (
            &body("{msisdn: 079}"),
            "6:46: `079` is read as a number and loses its format; put it in quotes: \"079\"",
        ),
        (&body("[1.50]"), "6:38: `1.50` is read as a number"),
        (
            &with_keys("scenario: s\nparams: {properties: {a: {enum: [007]}}}"),
            "2:34: `007` is read as a number",
        ),
    ]);
    assert_eq!(faults(&body("['079', 79, 0.5]")), Vec::<String>::new());
}

#[test]
fn scn_1_all_faults_of_a_file_are_reported_at_once_in_their_order() {
    let text = "scenario: a b\nretension: 1d\ninitialState: first\ntargetStates: [dne]\nstates:\n  \
                frist:\n    actions:\n      - http: {url: 'ftp://h', timeout: 5}\n      \
                - script: vars.a = ;\n      - htp: {}\n    on: {succes: done, fail: dnoe}\n  \
                rest: {kind: waiting, actions: [], outcome: fail, on: {callback: done}}\n  \
                done: {kind: terminal, on: {success: frist}}\n";
    let found = faults(text);
    let places: Vec<&str> = found.iter().filter_map(|fault| fault.split(": ").next()).collect();
    assert_eq!(
        places,
        [
            "1:11", "2:1", "3:15", "4:16", "8:21", "8:41", "9:26", "10:9", "11:10", "11:30", "12:25",
            "12:38", "12:53", "13:26"
        ],
        "{found:#?}"
    );
}

#[test]
fn faults_are_shown_with_their_line_and_a_caret() {
    let text = with_keys("scenario: s\nretension: 1d");
    let found = outcome(&text).unwrap_err();
    assert_eq!(
        explain_faults(&text, "a.yaml", &found),
        "error: unknown key `retension`\n --> a.yaml:2:1\n  |\n2 | retension: 1d\n  | ^^^^^^^^^\n  \
         = did you mean `retention`?\n"
    );
    let long = format!("scenario: s\ndescription: {}\nx: \"\u{1b}[2J\"\n", "é".repeat(500));
    let shown = explain_faults(&long, "a.yaml", &outcome(&long).unwrap_err());
    assert!(shown.lines().all(|line| line.chars().count() <= 130), "{shown}");
    assert!(!shown.contains('\u{1b}'));
}
