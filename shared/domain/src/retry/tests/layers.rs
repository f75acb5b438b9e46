//! Rules that a scenario brings along stand behind those of the deployment (ERR-15).

use std::time::Duration;

use super::cycles::{NOW, at};
use super::*;
use crate::classes::ASYNC_TIMEOUT;

fn rules(name: &str, status: u16, class: &str, policy: &str) -> String {
    format!(
        "sync:
  classification: {{rules: {{{name}: {{requests: [{{path: \"/shop/**\"}}], classes: {{{class}: {{responses: [{{status_codes: [{status}]}}]}}}}}}}}}}
  retry: {{policies: {{{policy}}}}}
async:
  classification: {{rules: {{{name}: {{requests: {{http: [{{path: \"/shop/**\"}}]}}, classes: {{{class}: {{timeout: true}}}}}}}}}}
  retry: {{policies: {{{policy}}}}}
"
    )
}

fn of(text: &str) -> ErrorPolicy {
    read(text).unwrap()
}

const AT_SHOP: Interaction<'static> = Interaction { method: "GET", host: "h", path: "/shop/a" };

fn class(errors: ErrorRules<'_>, status: u16) -> Option<String> {
    let outcome = Outcome::Response { status, body: "", fault: None };
    errors.classify(&AT_SHOP, &outcome).map(|found| format!("{}/{}", found.rule.unwrap(), found.class))
}

fn policy(errors: ErrorRules<'_>, class: &str) -> Option<(String, Duration)> {
    let failure = Failure {
        scenario: "s",
        class: Some(&ErrorClass::from(class)),
        retry_after: None,
        sequential_since: None,
        max_acquisition: Duration::MAX,
        latest: None,
    };
    match on_failure(errors, &failure, None, NOW, 0.5) {
        Verdict::RetryAt { at: due, cycle } => {
            Some((cycle.policy, Duration::try_from(due.duration_since(at(0))).unwrap()))
        }
        Verdict::GiveUp { .. } => None,
    }
}

const P: &str = "p: {error_classes: [busy], parameters: {initial_interval: 10s, jitter: 0}}";
const OWN: &str = "own: {error_classes: [busy, broken], parameters: {initial_interval: 3s, jitter: 0}}";

#[test]
fn err_15_the_deployment_is_asked_first_for_the_class_and_for_the_policy() {
    let (deployment, own) = (of(&rules("d", 503, "busy", P)), of(&rules("o", 503, "mine", OWN)));
    let both = ErrorRules::of(&deployment, &own);
    assert_eq!(class(both, 503).as_deref(), Some("d/busy"));
    assert_eq!(class(ErrorRules::from(&deployment), 500), None);
    assert_eq!(policy(both, "busy"), Some(("p".into(), Duration::from_secs(10))));
    assert_eq!(
        policy(both, "broken"),
        Some(("own".into(), Duration::from_secs(3))),
        "only the scenario has one"
    );
    let timed_out =
        |errors: ErrorRules<'_>| errors.classify_async(&Asked::Http(AT_SHOP), &Reply::TimedOut).unwrap();
    assert_eq!(timed_out(both).class.as_str(), "busy");
}

#[test]
fn err_15_what_the_deployment_does_not_know_is_for_the_scenario() {
    let (deployment, own) = (of(&rules("d", 500, "lost", P)), of(&rules("o", 503, "busy", OWN)));
    let both = ErrorRules::of(&deployment, &own);
    assert_eq!(
        class(both, 503).as_deref(),
        Some("o/busy"),
        "the rule of the deployment takes it and has no class"
    );
    assert_eq!(policy(both, "busy"), Some(("p".into(), Duration::from_secs(10))), "a class of either layer");
    let nothing = ErrorPolicy::default();
    let alone = ErrorRules::of(&nothing, &own);
    let late = alone.classify_async(&Asked::Http(AT_SHOP), &Reply::TimedOut).unwrap();
    assert_eq!(late.class.as_str(), "busy", "before the built-in class");
    let elsewhere = Interaction { path: "/else", ..AT_SHOP };
    let late = alone.classify_async(&Asked::Http(elsewhere), &Reply::TimedOut).unwrap();
    assert_eq!((late.class.as_str(), late.rule), (ASYNC_TIMEOUT, None));
}

#[test]
fn err_15_no_scenario_goes_beyond_what_the_deployment_allows() {
    let own = of(&format!("sync: {{retry: {{max_cycle_duration: 2d, policies: {{{OWN}}}}}}}"));
    let short = of("sync: {retry: {max_cycle_duration: 2s}}");
    assert_eq!(policy(ErrorRules::of(&short, &own), "busy"), None, "a cycle of the deployment is shorter");
    let off = of("sync: {mode: none}");
    assert_eq!(policy(ErrorRules::of(&off, &own), "busy"), None);
    let nothing = ErrorPolicy::default();
    let tight = of(&format!("sync: {{retry: {{max_cycle_duration: 2s, policies: {{{OWN}}}}}}}"));
    assert_eq!(
        policy(ErrorRules::of(&nothing, &tight), "busy"),
        None,
        "its own limit holds for its own policies"
    );
    let own_off = of(&format!("sync: {{mode: none, retry: {{policies: {{{OWN}}}}}}}"));
    assert_eq!(policy(ErrorRules::of(&nothing, &own_off), "busy"), None);
}

#[test]
fn err_15_a_class_may_come_from_one_layer_and_the_policy_from_the_other_and_it_is_reported() {
    let (deployment, own) = (of(&rules("d", 500, "lost", P)), of(&rules("o", 503, "broken", OWN)));
    let question =
        Question { scenario: Some("s"), path: Some("/shop/a"), status: Some(503), ..Question::default() };
    let explained = super::super::explain(ErrorRules::of(&deployment, &own), &question).unwrap();
    assert_eq!((explained.rule.as_deref(), explained.policy.as_deref()), (Some("o"), Some("own")));
    let why = explained.why.join("; ");
    assert!(
        why.contains("those of the scenario apply") && why.contains("the policy is the scenario's own"),
        "{why}"
    );
    let alone = super::super::explain(&deployment, &question).unwrap();
    assert_eq!((alone.class, alone.policy), (None, None));
}

#[test]
fn err_15_a_class_that_the_deployment_overrules_is_found() {
    let rule = |class: &str| {
        let classes = format!(
            "{{{class}: {{responses: [{{status_codes: [500, 503]}}], exceptions: [{{name_keyword: ConnectError}}]}}}}"
        );
        read(&format!(
            "sync: {{classification: {{rules: {{r: {{requests: [{{path: '/**'}}], classes: {classes}}}}}}}}}"
        ))
        .unwrap()
    };
    let (own, all) = (rule("stock.unavailable"), rule("system.unavailable"));
    let interaction = Interaction { method: "GET", host: "h", path: "/stock/1" };
    let found = own.overruled_by(&all, &interaction);
    let shown: Vec<String> =
        found.iter().map(|one| format!("{} {} {}", one.own, one.class, one.outcome)).collect();
    assert_eq!(
        shown,
        ["status 500", "status 503", "`ConnectError`"]
            .map(|outcome| format!("stock.unavailable system.unavailable {outcome}"))
    );
    let any_failure = read(
        "sync: {classification: {rules: {r: {requests: [{path: '/**'}], classes: {own: {responses: [{status_codes: [5xx]}]}}}}}}",
    );
    let found = any_failure.unwrap().overruled_by(&all, &interaction);
    let shown: Vec<&str> = found.iter().map(|one| one.outcome.as_str()).collect();
    assert_eq!(shown, ["status 500"], "once for all of a class");
    assert_eq!(own.overruled_by(&own, &interaction), []);
    assert_eq!(own.overruled_by(&ErrorPolicy::default(), &interaction), []);
    assert_eq!(ErrorPolicy::default().overruled_by(&all, &interaction), []);
}
