//! Parameters, held against the schema of their scenario.

use serde_json::Value;

use super::fault;
use crate::document::Fault;
use crate::scenario::Scenario;
use crate::scenario::schema::{COSTLY_WORK, Expansion, MAX_WORK};

/// Faults of the parameters that are told.
const MOST_FAULTS: usize = 20;
/// Longest text of one of them, in bytes: it may quote a value.
const LONGEST_FAULT: usize = 500;

/// True if holding these parameters against the schema would be felt by what else runs on the thread.
/// Whoever holds many orders asks this first.
#[must_use]
pub fn is_costly(params: &Value, scenario: &Scenario) -> bool {
    scenario.params_expansion.as_ref().is_some_and(|expansion| {
        let work = expansion.work(params);
        (COSTLY_WORK..=MAX_WORK).contains(&work)
    })
}

/// Faults of parameters, by the schema of the scenario. Parameters that would take too long to
/// check are refused unchecked: a validator cannot be broken off.
#[must_use]
pub fn params_faults(params: &Value, scenario: &Scenario) -> Vec<Fault> {
    let Some(validator) = &scenario.params_validator else { return Vec::new() };
    if scenario
        .params_expansion
        .as_ref()
        .is_none_or(|expansion: &Expansion| expansion.work(params) > MAX_WORK)
    {
        let mut found = fault("/params", "would take too long to check by the schema of the scenario");
        found.hint = Some(
            "send fewer or less deeply nested parameters, or store a version of the scenario with a simpler \
             schema"
                .into(),
        );
        return vec![found];
    }
    let told = |error: jsonschema::ValidationError<'_>| {
        let mut message = error.to_string();
        message.truncate(message.floor_char_boundary(LONGEST_FAULT));
        fault(&format!("/params{}", error.instance_path()), message)
    };
    validator.iter_errors(params).take(MOST_FAULTS).map(told).collect()
}
