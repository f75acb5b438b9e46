//! Texts that mean harm, and texts that mean nothing at all.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{faults, outcome, with_actions};
use crate::source::explain_faults;

/// Debug builds are slow and build servers are busy; without a bound these take minutes.
const FAST: Duration = Duration::from_secs(20);

#[test]
#[allow(clippy::disallowed_methods, reason = "the test measures; the core does not")]
fn scn_1_texts_made_to_burden_the_reader_are_refused_fast() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        laughs.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    let many_faults = with_actions(&"- http: {url: '${x.y}'}\n".repeat(20_000));
    let one_line = format!("{{\"states\": [{}]}}", "\"${x.y}\",".repeat(50_000));
    let many_states: String = (0..30_000).map(|n| format!("  s{n}: {{on: {{x{n}: y{n}}}}}\n")).collect();
    let many_states = format!("scenario: s\ninitialState: s1\nstates:\n{many_states}");
    let unknown_keys: String = (0..20_000).map(|n| format!("unknown{n}: 1\n")).collect();
    let near_states: String = (0..250).map(|n| format!("  state{n}: {{kind: terminal}}\n")).collect();
    let near_targets: String = (0..50_000).map(|n| format!("stste{n}, ")).collect();
    let near_targets =
        format!("scenario: s\ninitialState: state1\ntargetStates: [{near_targets}]\nstates:\n{near_states}");
    let long_key = format!("scenario: s\n{}: {{{}}}", "k".repeat(1000), "a: 1, b: 2");
    let long_name = with_actions("- log: x").replace("a:\n", &format!("{}:\n", "a".repeat(200)));
    for text in [
        laughs,
        "[".repeat(100_000),
        many_faults,
        one_line,
        many_states,
        unknown_keys,
        near_targets,
        long_key,
        long_name,
        "x".repeat(2 << 20),
    ] {
        let start = Instant::now();
        let found = outcome(&text).unwrap_err();
        assert!(!found.is_empty() && found.len() <= 1001);
        let shown = explain_faults(&text, "a.yaml", &found);
        assert!(shown.len() < 2 << 20);
        assert!(start.elapsed() < FAST, "{:?}: {}", start.elapsed(), found[0]);
    }
}

#[test]
fn a_schema_that_refers_to_itself_neither_hangs_nor_overflows() {
    for schema in [
        "{$ref: '#'}",
        "{allOf: [{$ref: '#'}]}",
        "{$ref: '#/$defs/a', $defs: {a: {$ref: '#/$defs/b'}, b: {$ref: '#/$defs/a'}}}",
        "{anyOf: [{type: string}, {$dynamicRef: '#a'}], $dynamicAnchor: a}",
        "{not: {$ref: '#'}}",
        "{if: {$ref: '#'}, then: {type: object}}",
    ] {
        let text =
            format!("scenario: s\nparams: {schema}\ninitialState: d\nstates: {{d: {{kind: terminal}}}}\n");
        if let Ok(scenario) = outcome(&text) {
            let validator = scenario.params_validator.unwrap();
            let _ = validator.is_valid(&serde_json::json!({"a": [1, {"b": null}]}));
            let _ = validator.iter_errors(&serde_json::json!({"a": 1})).count();
        }
    }
}

const SEED: &str = r#"scenario: s
params: {type: object, properties: {a: {$ref: '#/$defs/b'}}, $defs: {b: {type: string}}}
initialState: a
targetStates: [done]
timeouts: {work: 5m}
states:
  a:
    actions:
      - http: {method: POST, url: "${config.b}/x", headers: {A: "é${order.id}"}, body: {m: [1, '${1 + 1}']}, expect: [404, "4xx"], save: {r: "${response.body.id}"}, request: r}
      - amqp: {exchange: n, key: k, body: "${#{a: `}`}}"}
      - script: |
          if params.a == "x" { fail("no", "c"); } // "é
          vars.b = 1;
      - log: "x ${vars.b} $${y}"
      - release
      - wait: {timeout: 10m}
    on: {wait: w, fail: f}
  w: {kind: waiting, on: {callback: s, timeout: f}}
  s: {actions: [{sleep: {for: 1d}}], on: {sleep: z}}
  z: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  f: {kind: terminal, outcome: fail}
"#;

#[test]
fn the_seed_of_the_mutations_is_sound() {
    assert_eq!(faults(SEED), Vec::<String>::new());
}

/// A change of a text: drops some characters at a place and puts a piece in.
fn change() -> impl Strategy<Value = (usize, usize, String)> {
    let pieces = prop_oneof![
        Just(String::new()),
        "[\\[\\]{}:,&*!|>'\"%@`$#\\\\\n\t -]{1,3}",
        "[a-z0-9é\u{1F600}\u{0}\r]{1,4}",
        Just("${".to_owned()),
        Just("null".to_owned()),
        Just("9999999999999999999".to_owned()),
    ];
    (any::<usize>(), 0_usize..12, pieces)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_never_panics(changes in prop::collection::vec(change(), 1..5)) {
        let mut characters: Vec<char> = SEED.chars().collect();
        for (at, dropped, piece) in changes {
            let at = at % (characters.len() + 1);
            let end = (at + dropped).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        let text: String = characters.into_iter().collect();
        if let Err(found) = outcome(&text) {
            prop_assert!(!found.is_empty());
            let lines = text.matches(['\n', '\r']).count() + 1;
            for fault in &found {
                prop_assert!(fault.at.is_none_or(|at| at.line as usize <= lines));
            }
            prop_assert!(!explain_faults(&text, "a.yaml", &found).is_empty());
        }
    }
}

proptest! {
    #[test]
    fn scn_5_qlt_8_no_template_and_no_script_breaks_the_reader(
        template in "(\\$\\{|\\}|\\$|\"|`|'|\\(|\\)|\\[|\\]|#|\\?|\\.|params|vars|secret| |a|1|é|\n){0,30}",
        script in "(let |if |else |loop |fn |for |in |\\{|\\}|\\(|\\)|\\[|\\]|#|\"|`|/\\*|;|=|\\+|\\||params|vars|a|1|é|\n){0,40}",
    ) {
        let actions = serde_json::json!([{"log": template}, {"script": script}]).to_string();
        let text = format!(
            "{{\"scenario\": \"s\", \"initialState\": \"a\", \"states\": {{\"a\": {{\"actions\": {actions}, \
             \"on\": {{\"success\": \"d\", \"fail\": \"d\"}}}}, \"d\": {{\"kind\": \"terminal\"}}}}}}"
        );
        if let Err(found) = outcome(&text) {
            prop_assert!(!found.is_empty());
            prop_assert!(!explain_faults(&text, "a.json", &found).is_empty());
        }
    }
}
