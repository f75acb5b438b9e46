//! Policies of flows, and names of called systems.

use pagurus_domain::flow::DistributionMode;
use pagurus_domain::system::BuiltInClass;

use super::*;

#[test]
fn dsp_9_policies_of_flows_are_read_by_scenario() {
    let text = "\
distribution:
  mode: stopped_flows
  flows:
    attributes: [region, scenario]
    limits:
      recovery: {initial_limit: 7}
      policies:
        heavy:
          scenarios: [{name: customer-order}, {name: life-cycle-update}]
          params: {mode: limited_flows, max_limit: 200, weight: 3}
      error_handling:
        policies:
          errors.policy:
            error_classes: [throttling, crab.async.timeout, polling.timeout]
            scenarios: [{name: customer-order}]
systems:
  max_retry_after: 5m
  named:
    - {name: billing, host: 'billing.*', path: /v2/**}
    - {name: crm, exchange: 'crm.*'}
";
    let settings = load::values(text, std::iter::empty());
    let settings = build::settings(settings).unwrap_or_else(|faults| panic!("{faults:?}"));
    let flows = &settings.distribution.flows;
    assert_eq!((flows.initial_limit, flows.scenario_attribute), (7, Some(1)));
    let policy = &flows.policies[0];
    assert_eq!((policy.name.as_str(), policy.max_limit, policy.scenarios.len()), ("heavy", Some(200), 2));
    let limiting: Vec<&str> = flows.limiting_classes.iter().map(|(class, _)| class.as_str()).collect();
    assert_eq!(limiting, ["async.timeout", "polling.timeout", "throttling"], "by their present names");
    assert_eq!(settings.systems.rules.named.len(), 2);
    assert_eq!(settings.systems.names.of_http("billing.example:443", "/v2/pay"), Some("billing"));
}

#[test]
fn dsp_4_flows_stop_as_shipped_and_the_built_in_classes_can_be_taken_away() {
    let read = |classes: &str| {
        let key = "distribution: {flows: {limits: {error_handling: {built_in_classes: ";
        let settings = with(&format!("{key}{classes}}}}}}}}}"), &[]).unwrap();
        settings.distribution.flows.built_in_classes.iter().map(|class| class.as_str()).collect::<Vec<_>>()
    };
    let shipped = &with("{}", &[]).unwrap().distribution.flows;
    assert_eq!(shipped.mode, DistributionMode::StoppedFlows);
    assert_eq!(shipped.built_in_classes, BuiltInClass::ALL.iter().copied().collect());
    assert_eq!(read("[429, timeout]"), ["timeout", "429"]);
    assert!(read("[]").is_empty());
    let found = faults("distribution: {flows: {limits: {error_handling: {built_in_classes: [501]}}}}");
    assert!(found.iter().any(|fault| fault.contains("`501`")), "{found:?}");
}

#[test]
fn dsp_9_what_contradicts_itself_among_policies_is_refused_with_its_place() {
    let limits =
        |inner: &str| format!("distribution:\n  mode: limited_flows\n  flows:\n    limits: {{{inner}}}\n");
    let limiting = |classes: &str, scenario: &str| {
        format!(
            "error_handling: {{policies: {{p: {{error_classes: [{classes}], scenarios: [{{name: {scenario}}}]}}}}}}"
        )
    };
    let long = "n".repeat(65);
    let cases = [
        (limits("policies: {p: {scenarios: []}}"), "`scenarios` must be a list with at least one entry"),
        (limits("policies: {p: {scenarios: [s]}}"), "expected `name: SCENARIO`"),
        (
            limits("policies: {p: {scenarios: [{name: s}], params: {mode: rated_flows}}}"),
            "must be `stopped_flows` or `limited_flows`",
        ),
        (limits("policies: {p: {scenarios: [{name: s}], params: {max_limit: 0}}}"), "from 1"),
        (
            limits("policies: {p: {scenarios: [{name: s}]}, q: {scenarios: [{name: s}]}}"),
            "the scenario `s` has the policy `p` already",
        ),
        (limits(&format!("policies: {{{long}: {{scenarios: [{{name: s}}]}}}}")), "1 to 64 characters"),
        (limits(&format!("policies: {{p: {{scenarios: [{{name: {long}}}]}}}}")), "1 to 64 characters"),
        (limits(&limiting(&long, "s")), "1 to 64 characters"),
        (limits(&limiting("c", &long)), "1 to 64 characters"),
        (limits(&limiting("async.timeout, crab.async.timeout", "s")), "is given twice"),
        (limits(&limiting("c", "s}, {name: s")), "the scenario `s` is given twice"),
        (limits("policies: {p: {scenarios: [{name: s}], parms: {}}}"), "did you mean `params`?"),
        (
            limits(
                "error_handling: {policies: {p: {error_classes: [c], scenarios: [{name: s}]}, \
                 q: {error_classes: [c], scenarios: [{name: s}]}}}",
            ),
            "the class `c` of the scenario `s` is given twice",
        ),
        (
            "distribution: {mode: simple, flows: {limits: {policies: {p: {scenarios: [{name: s}], params: {mode: stopped_flows}}}}}}"
                .to_owned(),
            "only where `distribution.mode` is `stopped_flows` or `limited_flows`",
        ),
        (
            "distribution: {flows: {attributes: [region], limits: {policies: {p: {scenarios: [{name: s}]}}}}}".to_owned(),
            "`scenario` must be among `distribution.flows.attributes`",
        ),
        ("systems: {named: [{name: a}]}".to_owned(), "`host` or `path` or both, or `exchange`"),
        ("systems: {named: [{host: a}]}".to_owned(), "1 to 64 characters"),
    ];
    for (text, expected) in cases {
        let found = faults(&text);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{expected}: {found:?}\n{text}");
    }
}

#[test]
fn act_3_wake_ups_without_a_repeat_are_refused_together_with_flow_limits() {
    for mode in DistributionMode::ALL {
        for activation in ActivationMode::ALL {
            let text = format!("activation: {{mode: {activation}}}\ndistribution: {{mode: {mode}}}\n");
            let is_refused = *activation == ActivationMode::AtMostOnce && *mode != DistributionMode::Simple;
            let checked = check(&text, std::iter::empty());
            let found = checked.iter().find(|fault| fault.pointer == "/activation/mode");
            assert_eq!(found.is_some(), is_refused, "{activation} with {mode}: {checked:?}");
            assert!(
                found.is_none_or(|fault| fault.message.contains("only with `distribution.mode: simple`"))
            );
        }
    }
}
