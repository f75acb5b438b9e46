//! Parameters, held against the schema of their scenario.

use std::collections::BTreeSet;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use pagurus_domain::document::Fault;
use pagurus_domain::order::registration::fault;
use serde_json::Value;

use crate::Scenario;
use crate::operation::ParamsSchema;
use crate::schema::{COSTLY_WORK, Expansion, MAX_WORK, SchemaFault, fault_message, find_faults};

/// Maximum number of faults of the parameters that are reported.
const MOST_FAULTS: usize = 20;

/// True if holding these parameters against the schema would be felt by what else runs on the thread.
/// Callers that hold many orders ask this first.
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
    let (Some(schema), Some(validator)) = (&scenario.params_schema, &scenario.params_validator) else {
        return Vec::new();
    };
    faults_by(params, schema, validator, scenario.params_expansion.as_ref())
}

/// Faults of the parameters of an operation, by its schema.
pub(crate) fn operation_faults(params: &Value, schema: &ParamsSchema) -> Vec<Fault> {
    faults_by(params, &schema.schema, &schema.validator, schema.expansion.as_ref())
}

/// Faults of the parameters of an operation of which only a part is known yet: the members with the names in `computed`
/// may have any value.
pub(crate) fn literal_faults(
    known: &Value,
    computed: &BTreeSet<&str>,
    schema: &ParamsSchema,
) -> Vec<SchemaFault> {
    let is_cheap = schema
        .expansion
        .as_ref()
        .is_some_and(|expansion| expansion.work(known) < COSTLY_WORK && expansion.has_few_faults(known));
    if !is_cheap {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for error in schema.validator.iter_errors(known).take(MOST_FAULTS) {
        let pointer = error.instance_path().as_str().to_owned();
        let name = pointer.split('/').nth(1);
        let is_known = match name {
            Some(name) => !computed.contains(name),
            None => {
                computed.is_empty()
                    || matches!(
                        error.kind(),
                        ValidationErrorKind::Required { .. }
                            | ValidationErrorKind::AdditionalProperties { .. }
                    )
            }
        };
        if is_known {
            faults.push(SchemaFault { pointer, message: fault_message(&error) });
        }
    }
    faults
}

fn faults_by(
    params: &Value,
    schema: &Value,
    validator: &Validator,
    expansion: Option<&Expansion>,
) -> Vec<Fault> {
    let Some(expansion) = expansion.filter(|cost| cost.work(params) <= MAX_WORK) else {
        let hint = "send fewer or less deeply nested parameters, or store a version of the scenario with a simpler \
                    schema";
        return vec![hinted(
            fault("/params", "would take too long to check by the schema of the scenario"),
            hint,
        )];
    };
    if validator.is_valid(params) {
        return Vec::new();
    }
    let placed = |pointer: &str, message: &str| fault(&format!("/params{pointer}"), message);
    // The library holds all faults in memory before it hands out the first.
    if expansion.has_few_faults(params) {
        let faults = validator.iter_errors(params).take(MOST_FAULTS);
        return faults.map(|error| placed(error.instance_path().as_str(), &fault_message(&error))).collect();
    }
    let faults = find_faults(schema, params, MOST_FAULTS);
    if faults.is_empty() {
        let hint = "send fewer parameters at once to learn which of them are at fault";
        return vec![hinted(fault("/params", "are not valid by the schema of the scenario"), hint)];
    }
    faults.iter().map(|found| placed(&found.pointer, &found.message)).collect()
}

fn hinted(mut fault: Fault, hint: &str) -> Fault {
    fault.hint = Some(hint.into());
    fault
}
