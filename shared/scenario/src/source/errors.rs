//! Reads the rules and policies that a scenario brings along: `errors` (ERR-15).

use pagurus_domain::document::Fault;
use pagurus_domain::retry::ErrorPolicy;

use super::draft::Mark;
use super::reader::{ScenarioReader, Spot, quoted};

/// Keys that only a deployment has, for all of its scenarios.
const OF_DEPLOYMENT: &str = "retry_duration_control";

/// Reads the mapping under `errors`, which has the shape of `execution.error_handling`.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, scenario: &str) -> ErrorPolicy {
    if let Some((key, _)) = spot.node.entry(OF_DEPLOYMENT) {
        let mark = Mark { at: key.at, pointer: spot.mark.pointer.clone() };
        let fault = mark.fault(format!("{} cannot be set by one scenario", quoted(OF_DEPLOYMENT)));
        reader.push(fault.hint("remove it: the deployment sets it for all scenarios"));
        return ErrorPolicy::default();
    }
    match ErrorPolicy::read(spot.node) {
        Ok(errors) => {
            warn_of_idle_policies(reader, spot, &errors, scenario);
            if let Some(noted) = reader.noted.as_mut() {
                noted.errors = Some(spot.mark.clone());
            }
            errors
        }
        Err(faults) => {
            for fault in faults {
                let pointer = format!("{}{}", spot.mark.pointer, fault.pointer);
                reader.push(Fault { pointer, ..fault });
            }
            ErrorPolicy::default()
        }
    }
}

/// Warns of policies that name other scenarios than the one that brings them along.
fn warn_of_idle_policies(
    reader: &mut ScenarioReader<'_>,
    spot: &Spot<'_>,
    errors: &ErrorPolicy,
    scenario: &str,
) {
    for policy in errors.policies_for_others(scenario) {
        let warning = spot.mark.fault(format!(
            "the policy {} never applies: it is for other scenarios than {}",
            quoted(policy),
            quoted(scenario)
        ));
        reader.warn(warning.hint("remove `scenarios`: the rules of a scenario apply only to its own orders"));
    }
}
