//! Trials with the rules that a scenario brings along (ERR-15).

use super::*;

#[test]
fn err_15_the_rules_of_a_scenario_are_tried_with_it_and_those_of_the_test_come_first() {
    let text = "scenario: s
initialState: a
errors:
  sync:
    classification: {rules: {mine: {requests: [{path: /x}], classes: {busy: {responses: [{status_codes: [503]}]}}}}}
    retry: {policies: {mine: {error_classes: [busy], parameters: {initial_interval: 4s, jitter: 0}}}}
states:
  a: {actions: [{http: {url: 'http://h/x'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    let tests = |errors: &str, duration: &str| {
        format!(
            "tests:\n  - test: t\n    errors: {errors}\n    answers: [{{http: GET http://h/x, status: 503, times: 1}}, {{http: GET http://h/x, status: 200}}]\n    \
             expect: {{status: success, duration: {duration}}}\n"
        )
    };
    assert_eq!(faults(text, &tests("{}", "4s")), [""; 0]);
    let first = "{sync: {retry: {policies: {first: {error_classes: [busy], parameters: {initial_interval: 9s, jitter: 0}}}}}}";
    assert_eq!(faults(text, &tests(first, "9s")), [""; 0]);

    // Without rules of its own a test meets those of the deployment.
    let policy = pagurus_domain::document::parse(first, &pagurus_domain::document::DocumentLimits::default());
    let errors = Arc::new(ErrorPolicy::read(&policy.unwrap()).unwrap());
    let deployment = Deployment { errors, ..Deployment::default() };
    let file = read(&tests("{}", "9s").replace("    errors: {}\n", "")).unwrap();
    let scenario = Arc::new(scenario(text));
    assert_eq!(run(&scenario, &deployment, &file.trials[0], &mut || true).faults, []);
}
