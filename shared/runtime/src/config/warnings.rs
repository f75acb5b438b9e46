//! Settings that can be used, and hardly are what was meant: limits of flows that can never act (DSP-14), an installation that
//! nobody can enter, constants that nothing is filled into.

use pagurus_domain::access::AccessMode;
use pagurus_domain::flow::DistributionMode;
use pagurus_domain::retry::UnknownName;

use super::Settings;

/// The warnings of settings that have no fault.
pub(super) fn of(settings: &Settings) -> Vec<String> {
    let mut warnings = of_flows(settings);
    for UnknownName { within, name, nearest } in settings.errors.unknown_classes() {
        let near = nearest.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        warnings.push(format!(
            "the policy `{within}` repeats failures of class `{name}`: no rule of `execution.error_handling` gives it, so it \
             only acts where a scenario does{near}"
        ));
    }
    if settings.access.mode == AccessMode::Token && settings.access.local_name.is_none() {
        warnings.push(
            "`access.mode: token`: there is no local administrator, and nobody else can make the first token: set \
             `access.local.name` and `access.local.password_hash`, at least until there is a token of an administrator"
                .to_owned(),
        );
    }
    if !settings.failover.retry_jobs {
        warnings.push(
            "`failover.retry_jobs: false` has no effect: orders in retry belong to no node, and any worker takes them"
                .to_owned(),
        );
    }
    let filled = settings.constants.as_object().into_iter().flatten();
    let filled = filled.filter(|(_, value)| value.as_str().is_some_and(|text| text.contains("${")));
    warnings.extend(filled.map(|(name, _)| {
        format!(
            "`config.{name}` holds `${{`: nothing is filled into constants; a variable of the environment is \
             `PAGURUS__CONFIG__{}`, and a secret has a place of its own (`secret.NAME`)",
            name.to_uppercase()
        )
    }));
    warnings
}

/// The warnings of limits of flows that can never act.
fn of_flows(settings: &Settings) -> Vec<String> {
    let flows = &settings.distribution.flows;
    let mut warnings = Vec::new();
    if flows.mode.stops() && flows.limiting_classes.is_empty() && flows.built_in_classes.is_empty() {
        let still = match flows.mode {
            DistributionMode::LimitedFlows => "limits follow only the time of calls",
            _ => "so the mode works like `simple`",
        };
        warnings.push(format!(
            "`distribution.mode: {}`: no error class is limiting, and no flow is ever stopped by failures; {still}: name \
             classes in `distribution.flows.limits.error_handling.built_in_classes` or `.policies`",
            flows.mode
        ));
    }
    if flows.mode.stops() && flows.built_in_classes.is_empty() && !flows.limiting_classes.is_empty() {
        let has_none = |scenario: &&String| !flows.limiting_classes.iter().any(|(_, of)| of == *scenario);
        let scenarios = flows.policies.iter().flat_map(|policy| &policy.scenarios).filter(has_none);
        warnings.extend(scenarios.map(|scenario| {
            format!(
                "the scenario `{scenario}` has a policy in `distribution.flows.limits.policies`, and no limiting class: its flows are \
                 never stopped by failures; name classes in `distribution.flows.limits.error_handling.policies`"
            )
        }));
    }
    for (class, scenario) in &flows.limiting_classes {
        if !settings.errors.gives(class) {
            warnings.push(format!(
                "the limiting class `{class}` of scenario `{scenario}`: no rule of `execution.error_handling` gives it, so it \
                 only acts where the scenario itself does"
            ));
        }
    }
    if !flows.limiting_classes.is_empty() && !flows.mode.stops() {
        warnings.push(format!(
            "`distribution.mode: {}`: limiting classes have no effect in this mode",
            flows.mode
        ));
    }
    let is_limited = |mode| mode == Some(DistributionMode::LimitedFlows);
    let limits = is_limited(Some(flows.mode))
        || (flows.mode.stops() && flows.policies.iter().any(|policy| is_limited(policy.mode)));
    if limits && settings.scenario.target_steps.is_empty() {
        warnings.push(
            "`execution.state_classification.target` names no state: in scenarios without `targetStates` every end is taken \
             for off target"
                .to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::super::warnings;

    #[test]
    fn err_8_a_policy_for_a_class_that_no_rule_gives_is_warned_of() {
        let rules = "classification: {rules: {shop: {requests: [{path: '/**'}], classes: {shop.down: {responses: [{status_codes: [503]}]}}}}}";
        let with = |class: &str| {
            let retry = format!("retry: {{policies: {{p: {{error_classes: ['{class}']}}}}}}");
            warnings(
                &format!("execution: {{error_handling: {{sync: {{{rules}, {retry}}}}}}}"),
                std::iter::empty(),
            )
        };
        for known in ["shop.down", "shop.*", "*", "async.timeout"] {
            assert_eq!(with(known), [""; 0], "{known}");
        }
        let found = with("shop.dwon");
        let [warning] = &found[..] else { panic!("{found:?}") };
        assert!(
            warning.contains("class `shop.dwon`: no rule") && warning.ends_with("did you mean `shop.down`?")
        );
        assert!(!with("biz.refused")[0].contains("did you mean"));
    }

    #[test]
    fn dsp_14_what_can_never_act_is_warned_of() {
        let limiting = "flows: {limits: {error_handling: {policies: {p: {error_classes: [CLASS], scenarios: [{name: s}]}}}}}";
        let with = |mode: &str, class: &str| {
            format!("distribution: {{mode: {mode}, {}}}", limiting.replace("CLASS", class))
        };
        let without_built_in = |mode: &str| {
            format!(
                "distribution: {{mode: {mode}, flows: {{limits: {{error_handling: {{built_in_classes: []}}}}}}}}"
            )
        };
        let cases = [
            ("distribution: {mode: rated_flows}".to_owned(), None),
            ("{}".to_owned(), None),
            ("distribution: {mode: stopped_flows}".to_owned(), None),
            (without_built_in("stopped_flows"), Some("no error class is limiting")),
            (without_built_in("limited_flows"), Some("follow only the time of calls")),
            (with("stopped_flows", "down"), Some("no rule of `execution.error_handling` gives it")),
            (with("stopped_flows", "async.timeout"), None),
            (with("simple", "async.timeout"), Some("have no effect in this mode")),
            (
                "distribution: {mode: stopped_flows, flows: {limits: {error_handling: {built_in_classes: [], policies: {p: \
                 {error_classes: [async.timeout], scenarios: [{name: s}]}}}, policies: {q: {scenarios: [{name: t}]}}}}}"
                    .to_owned(),
                Some("the scenario `t` has a policy"),
            ),
            (
                "{distribution: {mode: stopped_flows, flows: {limits: {policies: {q: {scenarios: [{name: t}], params: {mode: \
                 limited_flows}}}}}}, execution: {state_classification: {target: []}}}"
                    .to_owned(),
                Some("every end is taken for off target"),
            ),
            ("distribution: {mode: nonsense}".to_owned(), None),
            ("config: {a: '${env.X}'}".to_owned(), Some("`PAGURUS__CONFIG__A`")),
            ("failover: {retry_jobs: true}".to_owned(), None),
            ("failover: {retry_jobs: false}".to_owned(), Some("belong to no node")),
            ("access: {mode: token}".to_owned(), Some("nobody else can make the first token")),
        ];
        for (text, expected) in cases {
            let found = warnings(&text, std::iter::empty());
            match expected {
                None => assert!(found.is_empty(), "{text}: {found:?}"),
                Some(part) => assert!(found.iter().any(|one| one.contains(part)), "{text}: {found:?}"),
            }
        }
    }
}
