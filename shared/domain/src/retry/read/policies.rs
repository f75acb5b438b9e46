//! Reads the retry policies: `sync.retry.policies`.

use std::time::Duration;

use super::keys::{MAX_MULTIPLIER, PARAMETERS, POLICY, SCENARIO};
use super::{RetryReader, may_be_mapping};
use crate::document::{DocumentKey, DocumentNode, Fault};
use crate::retry::mask::Glob;
use crate::retry::policy::conflict;
use crate::retry::{ErrorClass, Policy};

pub(super) fn policies(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Vec<Policy> {
    let mut policies: Vec<Policy> = Vec::new();
    for (key, value, at) in reader.named(node, pointer) {
        let policy = policy(reader, key, value, &at);
        for other in &policies {
            let Some((scenario, class)) = conflict(&policy, other) else {
                continue;
            };
            let fault = Fault::placed(
                Some(key.at),
                &at,
                format!(
                    "equally specific as the policy `{}` for scenario `{}` and class `{}`",
                    other.name,
                    scenario.as_str(),
                    class.as_str()
                ),
            );
            reader.faults.push(fault.hint("make one of the two more specific"));
        }
        policies.push(policy);
    }
    policies
}

/// A policy without parameters: from five seconds to ten minutes, for as long as a cycle may last.
fn with_defaults(name: &str) -> Policy {
    Policy {
        name: name.to_owned(),
        classes: Vec::new(),
        scenarios: vec![Glob::new("*")],
        initial_interval: Duration::from_secs(5),
        multiplier: 2.0,
        max_interval: Duration::from_secs(10 * 60),
        jitter: 0.2,
        max_attempts: None,
        max_duration: None,
    }
}

fn policy(reader: &mut RetryReader, key: &DocumentKey, node: &DocumentNode, pointer: &str) -> Policy {
    let mut policy = with_defaults(&key.name);
    for (key, value, at) in reader.mapping(node, pointer, &POLICY) {
        match key.name.as_str() {
            "error_classes" => {
                for (item, at) in reader.filled_list(value, &at) {
                    let class = reader.text(item, &at).map(ErrorClass::from);
                    policy.classes.extend(class.map(|class| Glob::new(class.as_str())));
                }
            }
            "scenarios" => policy.scenarios = scenarios(reader, value, &at),
            _ => parameters(reader, value, &at, &mut policy),
        }
    }
    if node.get("error_classes").is_none() {
        let fault = Fault::placed(Some(key.at), pointer, "the policy has no `error_classes`");
        reader
            .faults
            .push(fault.hint("name the classes that it retries: `error_classes: [shop.unavailable]`"));
    }
    policy
}

fn scenarios(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Vec<Glob> {
    let mut masks = Vec::new();
    let hint = "write `{name: change-tariff}`, with `*` for any letters";
    for (item, at) in reader.filled_list(node, pointer) {
        if !may_be_mapping(item) {
            let message = format!("expected a mapping, found {}", item.kind());
            reader.fault_with_hint(item, &at, message, hint);
            continue;
        }
        if item.get("name").is_none() {
            reader.fault_with_hint(item, &at, "the scenario has no `name`".to_owned(), hint);
        }
        for (_, value, at) in reader.mapping(item, &at, &SCENARIO) {
            masks.extend(reader.text(value, &at).map(Glob::new));
        }
    }
    masks
}

fn parameters(reader: &mut RetryReader, node: &DocumentNode, pointer: &str, policy: &mut Policy) {
    let entries = reader.mapping(node, pointer, &PARAMETERS);
    for (key, value, at) in entries {
        match key.name.as_str() {
            "initial_interval" => {
                policy.initial_interval = reader.duration(value, &at).unwrap_or(policy.initial_interval);
            }
            "max_interval" => {
                policy.max_interval = reader.duration(value, &at).unwrap_or(policy.max_interval);
            }
            "multiplier" => {
                policy.multiplier =
                    reader.number(value, &at, 1.0, MAX_MULTIPLIER).unwrap_or(policy.multiplier);
            }
            "jitter" => {
                policy.jitter = reader.number(value, &at, 0.0, 1.0).unwrap_or(policy.jitter);
            }
            "max_attempts" => policy.max_attempts = reader.count(value, &at),
            _ => policy.max_duration = reader.duration(value, &at),
        }
    }
    if node.get("max_interval").is_none() {
        // A longer first wait without a cap of its own is meant as it stands.
        policy.max_interval = policy.max_interval.max(policy.initial_interval);
    } else if policy.initial_interval > policy.max_interval {
        let message = "`initial_interval` is longer than `max_interval`".to_owned();
        reader.fault_with_hint(node, pointer, message, "make `max_interval` the longest wait that you want");
    }
}
