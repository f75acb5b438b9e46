//! What may be written where, in texts that nobody has finished.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;

use super::*;

/// A text with its place written as `‸`.
fn at(text: &str) -> Completions {
    let before = text.split('‸').next().unwrap();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap().chars().map(char::len_utf16).sum::<usize>() + 1;
    complete(&text.replace('‸', ""), line, column)
}

fn labels(text: &str) -> Vec<String> {
    at(text).items.into_iter().map(|item| item.label).collect()
}

const HEAD: &str = "scenario: s
params: {type: object, properties: {msisdn: {type: string}, tariff: {type: string}}}
initialState: ask
states:
  ask:
    actions:
      - http: {url: 'http://h', request: activation, save: {reservation: '${response.body.id}'}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

#[test]
fn ui_6_keys_of_each_level_are_offered_with_a_sentence() {
    assert!(labels("scenario: s\n‸").contains(&"states".to_owned()));
    assert_eq!(labels("scenario: s\ninit‸"), ["initialState"]);
    let state = labels("states:\n  ask:\n    ‸");
    assert!(
        ["actions", "kind", "on", "entryPoint"].iter().all(|key| state.contains(&(*key).to_owned())),
        "{state:?}"
    );
    let action = labels("states:\n  ask:\n    actions:\n      - ‸");
    assert!(["http", "script", "wait"].iter().all(|key| action.contains(&(*key).to_owned())), "{action:?}");
    let http = at("states:\n  ask:\n    actions:\n      - http:\n          method: POST\n          u‸");
    assert_eq!(http.items[0].insert, "url: ");
    assert!(http.items[0].detail.is_some() && http.column == 11);
    let flow = labels("states:\n  ask:\n    actions: [{http: {method: POST, ti‸");
    assert_eq!(flow, ["timeout"]);
    assert!(labels("kind: operation\n‸").contains(&"actions".to_owned()));
    assert!(!labels("kind: operation\n‸").contains(&"states".to_owned()));
}

#[test]
fn ui_6_words_and_states_are_offered_as_values() {
    assert_eq!(labels("states:\n  ask: {kind: t‸"), ["terminal"]);
    assert_eq!(labels(&HEAD.replace("initialState: ask", "initialState: ‸")), ["ask", "done", "failed"]);
    assert_eq!(labels(&HEAD.replace("success: done", "success: d‸")), ["done"]);
    assert_eq!(
        labels(&HEAD.replace("initialState: ask", "initialState: ask\ntargetStates: [‸]")),
        ["ask", "done", "failed"]
    );
    assert_eq!(labels("states:\n  ask:\n    entryPoint: t‸"), ["true"]);
}

#[test]
fn ui_6_expressions_know_parameters_variables_and_requests_of_the_text() {
    let inside =
        |expression: &str| labels(&HEAD.replace("'http://h'", &format!("'http://h/${{{expression}‸'")));
    assert_eq!(inside("params."), ["msisdn", "tariff"]);
    assert_eq!(inside("params.t"), ["tariff"]);
    assert_eq!(inside("vars."), ["reservation"]);
    assert_eq!(inside("callbacks."), ["activation"]);
    assert_eq!(inside("par"), ["params"]);
    assert!(inside("order.").contains(&"transactionId".to_owned()));
}

proptest! {
    #[test]
    fn ui_6_no_text_and_no_place_breaks_it(text in "[a-z:{}\\[\\],'\"$ |>#\\-\n\u{1f980}é]{0,200}", line in 0usize..20, column in 0usize..90) {
        let answer = complete(&text, line, column);
        prop_assert!(answer.column >= 1);
    }

    #[test]
    fn ui_6_every_place_of_a_sound_text_has_a_path(cut in 0usize..500) {
        let end = HEAD.char_indices().map(|(at, _)| at).take_while(|at| *at <= cut).last().unwrap_or(0);
        let text = &HEAD[..end];
        let line = text.matches('\n').count() + 1;
        let column = text.rsplit('\n').next().unwrap().len() + 1;
        let _ = complete(text, line, column);
    }
}
