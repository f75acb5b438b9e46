//! Samples of failed calls: the class that a rule gives, the built-in one, and what is no sample at all.

use pagurus_domain::system::{BuiltInClass, CallOutcome};

use super::super::sample::FailureNature;
use super::*;

const ONE: &str = "  a: {actions: [{http: {url: 'http://h/1'}}], on: {success: done, fail: done}}\n  done: {kind: terminal}\n";

/// Classes, and no policy that would repeat what has one.
const CLASSES: &str = r#"
sync:
  classification:
    rules:
      any:
        requests: [{path: "/1"}]
        classes:
          busy: {responses: [{status_codes: [429, 503]}]}
          lost: {responses: [{status_codes: [500]}]}
          quota: {responses: [{status_codes: [200], body_keywords: [[quota]]}]}
          down: {exceptions: [{name_keyword: ConnectError}]}
"#;

/// Outcome of the only call as a text: `class/built-in`, `declined` or `answered`.
fn sampled(play: Play, answer: &str) -> String {
    let played = play.go(&[answer]);
    let text = |call: &CallMade| match &call.outcome {
        CallOutcome::Answered => "answered".to_owned(),
        CallOutcome::Declined => "declined".to_owned(),
        CallOutcome::Held => "held".to_owned(),
        CallOutcome::Sent => "sent".to_owned(),
        CallOutcome::Failed(failure) => {
            let built_in = failure.built_in.map_or("-", BuiltInClass::as_str);
            format!("{}/{built_in}", failure.class.as_deref().unwrap_or("-"))
        }
    };
    played.last().calls.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn dsp_4_failures_of_the_built_in_classes_are_samples_without_any_rule() {
    let cases = [
        ("200", "answered"),
        ("down", "-/connection"),
        ("dark", "-/timeout"),
        ("429", "-/429"),
        ("502", "-/502"),
        ("503", "-/503"),
        ("503 retry-after=5", "-/503"),
        ("504", "-/504"),
        // The system is in trouble, and not because of the load.
        ("500", "-/-"),
        ("501 retry-after=5", "-/-"),
        // The system is well.
        ("404", "declined"),
    ];
    for (answer, expected) in cases {
        let without = Play::of(ONE).errors("sync: {mode: retry}");
        assert_eq!(sampled(without, answer), expected, "{answer}");
    }
}

#[test]
fn dsp_4_a_rule_gives_a_class_besides_the_built_in_one() {
    let cases = [
        ("503", "busy/503"),
        ("429", "busy/429"),
        ("504", "-/504"),
        ("200 \"quota\"", "quota/-"),
        ("500", "lost/-"),
        ("down", "down/connection"),
    ];
    for (answer, expected) in cases {
        assert_eq!(sampled(Play::of(ONE).errors(CLASSES), answer), expected, "{answer}");
    }
    let expecting = ONE.replace("'http://h/1'", "'http://h/1', expect: [503]");
    assert_eq!(
        sampled(Play::of(&expecting).errors(CLASSES), "503"),
        "answered",
        "what the scenario expects is no failure"
    );
}

#[test]
fn dsp_4_a_failure_of_this_side_says_nothing_of_the_system() {
    let connection = FailureNature::BuiltIn(BuiltInClass::Connection);
    let chains: [(&[&'static str], FailureNature); 7] = [
        (&["HttpError", "ConnectError", "ConnectTimeout"], connection),
        (&["HttpError", "ConnectionReset"], connection),
        (&["HttpError", "ConnectionClosed"], connection),
        (&["HttpError", "BodyError"], FailureNature::Technical),
        (&["HttpError", "ReadTimeout", NO_ROOM], FailureNature::Business),
        (&["HttpError", "UrlError"], FailureNature::Business),
        (&["HttpError", "Forbidden"], FailureNature::Business),
    ];
    for (chain, expected) in chains {
        let failure = HttpFailure { chain: chain.to_vec(), message: String::new() };
        assert_eq!(FailureNature::of_exception(&failure), expected, "{chain:?}");
    }
}

#[test]
fn dsp_16_a_wish_to_be_left_alone_counts_though_the_scenario_expects_the_answer() {
    let expecting = ONE.replace("'http://h/1'", "'http://h/1', expect: [503]");
    let played = Play::of(&expecting).errors("sync: {mode: retry}").go(&["503 retry-after=5"]);
    let calls: Vec<_> = played.last().calls.iter().map(|call| (&call.outcome, call.retry_after)).collect();
    assert_eq!(calls, [(&CallOutcome::Answered, Some(Duration::from_secs(5)))]);
}

#[test]
fn dsp_16_failures_and_wishes_behind_a_hundred_good_calls_are_samples_too() {
    let list = (0..150).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let each = "  a: {actions: [{each: {in: [LIST], atOnce: 1, onError: collect, actions: [{http: {url: 'http://h/1'}}]}}], \
                on: {success: done, fail: done}}\n  done: {kind: terminal}\n";
    let answers: Vec<&str> = (0..150).map(|n| if n == 120 { "429 retry-after=5" } else { "200" }).collect();
    let played = Play::of(&each.replace("LIST", &list)).errors("sync: {mode: retry}").go(&answers);
    let calls = &played.last().calls;
    assert_eq!(calls.iter().filter(|call| call.outcome == CallOutcome::Answered).count(), 100);
    assert!(calls.iter().any(|call| call.retry_after == Some(Duration::from_secs(5))));
}
