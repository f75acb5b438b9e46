//! Reads how capacity is shared among flows, and the names of called systems.

use std::collections::BTreeSet;
use std::sync::Arc;

use pagurus_domain::document::form::Keys;
use pagurus_domain::document::{DocumentKey, DocumentNode, Fault, pointer_to};
use pagurus_domain::flow::{DistributionMode, FlowPolicy, FlowRules, SystemRules};
use pagurus_domain::retry::ErrorClass;
use pagurus_domain::system::{BuiltInClass, SystemMask, SystemNames};

use super::super::SystemSettings;
use super::keys;
use crate::config::builder::SettingsBuilder;

const LIMITS: &str = "distribution.flows.limits.policies";
const ERRORS: &str = "distribution.flows.limits.error_handling.policies";
const BUILT_IN: &str = "distribution.flows.limits.error_handling.built_in_classes";
const NAMED: &str = "systems.named";

/// Longest name of a policy, an error class, a scenario or a system, in characters (DSP-9).
const MAX_NAME: usize = 64;

impl SettingsBuilder {
    pub(super) fn systems(&mut self) -> Result<SystemSettings, Fault> {
        let tree: DocumentNode = self.value(NAMED)?;
        let mut masks = Vec::new();
        for (item, texts) in self.mappings(NAMED, &tree, &keys::SYSTEM) {
            let mut mask = SystemMask::default();
            for (key, text) in texts {
                match key {
                    "name" => mask.name = text,
                    "host" => mask.host = Some(text),
                    "path" => mask.path = Some(text),
                    _ => mask.exchange = Some(text),
                }
            }
            let of_http = mask.host.is_some() || mask.path.is_some();
            if !is_name(&mask.name) {
                self.values.push(NAMED, Fault::new(&item, "", BAD_NAME));
            }
            if of_http == mask.exchange.is_some() {
                let message = "an entry needs `host` or `path` or both, or `exchange`";
                self.values.push(NAMED, Fault::new(&item, "", message));
            }
            masks.push(mask);
        }
        let named = masks.iter().map(|mask| mask.name.clone()).collect();
        let max_retry_after = self.value("systems.max_retry_after")?;
        Ok(SystemSettings {
            rules: Arc::new(SystemRules { max_retry_after, named }),
            names: Arc::new(SystemNames::new(masks)),
        })
    }

    pub(in super::super) fn flow_rules(&mut self) -> Result<Arc<FlowRules>, Fault> {
        let attributes: Vec<String> = self.value("distribution.flows.attributes")?;
        let rules = FlowRules {
            mode: self.value("distribution.mode")?,
            overload_threshold_percentage: self
                .value("distribution.capacity.overload_threshold_percentage")?,
            initial_limit: self.value("distribution.flows.limits.recovery.initial_limit")?,
            open_requests_within: self.value("distribution.flows.limits.open_requests_within")?,
            max_known: self.value("distribution.flows.max_known")?,
            scenario_attribute: attributes.iter().position(|attribute| attribute == "scenario"),
            policies: self.limit_policies()?,
            built_in_classes: self.built_in_classes()?,
            limiting_classes: self.limiting_classes()?,
        };
        self.check_flow_rules(&rules);
        Ok(Arc::new(rules))
    }

    fn limit_policies(&mut self) -> Result<Vec<FlowPolicy>, Fault> {
        let mut policies: Vec<FlowPolicy> = Vec::new();
        for (key, policy) in self.named_policies(LIMITS, &keys::LIMIT)? {
            let pointer = pointer_to("", &key.name);
            let mut read = FlowPolicy {
                scenarios: self.scenarios(LIMITS, &policy, &pointer),
                name: key.name,
                mode: None,
                max_limit: None,
                weight: None,
            };
            for scenario in &read.scenarios {
                if let Some(other) = policies.iter().find(|other| other.scenarios.contains(scenario)) {
                    let message =
                        format!("the scenario `{scenario}` has the policy `{}` already", other.name);
                    self.values.push(LIMITS, Fault::new(&policy, &pointer, message));
                }
            }
            self.params(&policy, &pointer, &mut read);
            policies.push(read);
        }
        Ok(policies)
    }

    fn params(&mut self, policy: &DocumentNode, pointer: &str, read: &mut FlowPolicy) {
        let Some(params) = policy.get("params") else { return };
        let pointer = pointer_to(pointer, "params");
        let Some(entries) = params.as_map() else {
            let message = format!("expected a mapping, found {}", params.kind());
            return self.values.push(LIMITS, Fault::new(params, pointer, message));
        };
        for (key, value) in entries {
            let place = pointer_to(&pointer, &key.name);
            let fault = match key.name.as_str() {
                "mode" => match value.as_str().and_then(|word| word.parse().ok()) {
                    Some(mode @ (DistributionMode::StoppedFlows | DistributionMode::LimitedFlows)) => {
                        read.mode = Some(mode);
                        continue;
                    }
                    _ => Fault::new(value, place, "must be `stopped_flows` or `limited_flows`"),
                },
                "max_limit" => match value.as_i64().and_then(|limit| u32::try_from(limit).ok()) {
                    Some(limit) if limit > 0 => {
                        read.max_limit = Some(limit);
                        continue;
                    }
                    _ => Fault::new(value, place, "must be a whole number from 1"),
                },
                "weight" => match value.as_i64().and_then(|weight| u32::try_from(weight).ok()) {
                    Some(weight) if (1..=keys::MOST_WEIGHT).contains(&weight) => {
                        read.weight = Some(weight);
                        continue;
                    }
                    _ => Fault::new(value, place, "must be a whole number from 1 to 1000"),
                },
                _ => Fault::unknown_key(key, &pointer, keys::PARAMS.names()),
            };
            self.values.push(LIMITS, fault);
        }
    }

    fn built_in_classes(&mut self) -> Result<BTreeSet<BuiltInClass>, Fault> {
        let words: Vec<String> = self.value(BUILT_IN)?;
        // The kind of the key takes no other words.
        Ok(words.iter().filter_map(|word| word.parse().ok()).collect())
    }

    fn limiting_classes(&mut self) -> Result<BTreeSet<(String, String)>, Fault> {
        let mut pairs = BTreeSet::new();
        for (key, policy) in self.named_policies(ERRORS, &keys::LIMITING)? {
            let pointer = pointer_to("", &key.name);
            let classes = self.names_of(ERRORS, &policy, &pointer, "error_classes");
            // Names of former engines mean the same here as in rules and policies of retries.
            let classes: Vec<_> = classes.iter().map(|class| ErrorClass::from(class.as_str())).collect();
            for scenario in self.scenarios(ERRORS, &policy, &pointer) {
                for class in &classes {
                    if !pairs.insert((class.to_string(), scenario.clone())) {
                        let message =
                            format!("the class `{class}` of the scenario `{scenario}` is given twice");
                        self.values.push(ERRORS, Fault::new(&policy, &pointer, message));
                    }
                }
            }
        }
        Ok(pairs)
    }

    /// The policies of a tree, each with its name; those without a mapping or a fit name are reported and left out.
    fn named_policies(
        &mut self,
        path: &'static str,
        known: &'static Keys,
    ) -> Result<Vec<(DocumentKey, DocumentNode)>, Fault> {
        let tree: DocumentNode = self.value(path)?;
        if tree.is_null() {
            return Ok(Vec::new());
        }
        let Some(entries) = tree.as_map() else {
            self.values.fault(path, format!("expected a mapping, found {}", tree.kind()));
            return Ok(Vec::new());
        };
        let mut read = Vec::new();
        for (key, policy) in entries {
            let pointer = pointer_to("", &key.name);
            if !is_name(&key.name) {
                self.values.push(path, Fault::placed(Some(key.at), &pointer, BAD_NAME));
            }
            let Some(members) = policy.as_map() else {
                let message = format!("expected a mapping, found {}", policy.kind());
                self.values.push(path, Fault::new(policy, &pointer, message));
                continue;
            };
            for (member, _) in members.iter().filter(|(member, _)| !known.has(&member.name)) {
                self.values.push(path, Fault::unknown_key(member, &pointer, known.names()));
            }
            read.push((key.clone(), policy.clone()));
        }
        Ok(read)
    }

    /// `scenarios: [{name: …}]`
    fn scenarios(&mut self, path: &'static str, policy: &DocumentNode, pointer: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (item, place) in self.items(path, policy, pointer, "scenarios") {
            match item.get("name").and_then(DocumentNode::as_str) {
                Some(name) if is_name(name) => {
                    if !names.insert(name.to_owned()) {
                        let message = format!("the scenario `{name}` is given twice");
                        self.values.push(path, Fault::new(&item, pointer_to(&place, "name"), message));
                    }
                }
                Some(_) => self.values.push(path, Fault::new(&item, pointer_to(&place, "name"), BAD_NAME)),
                None => self.values.push(path, Fault::new(&item, place, "expected `name: SCENARIO`")),
            }
        }
        names
    }

    fn names_of(
        &mut self,
        path: &'static str,
        policy: &DocumentNode,
        pointer: &str,
        name: &str,
    ) -> Vec<String> {
        let mut names = Vec::new();
        for (item, place) in self.items(path, policy, pointer, name) {
            match item.as_str().filter(|text| is_name(text)) {
                Some(text) => names.push(text.to_owned()),
                None => self.values.push(path, Fault::new(&item, place, BAD_NAME)),
            }
        }
        names
    }

    /// The items of a list that must be there and not be empty, each with its place.
    fn items(
        &mut self,
        path: &'static str,
        policy: &DocumentNode,
        pointer: &str,
        name: &str,
    ) -> Vec<(DocumentNode, String)> {
        let place = pointer_to(pointer, name);
        let list = policy.get(name).and_then(DocumentNode::as_list).unwrap_or_default();
        if list.is_empty() {
            let at = policy.get(name).unwrap_or(policy);
            self.values.push(
                path,
                Fault::new(at, &place, format!("`{name}` must be a list with at least one entry")),
            );
        }
        let items = list.iter().enumerate();
        items.map(|(index, item)| (item.clone(), pointer_to(&place, &index.to_string()))).collect()
    }

    /// Checks what no single policy can tell.
    fn check_flow_rules(&mut self, rules: &FlowRules) {
        if !rules.mode.stops() && rules.policies.iter().any(|policy| policy.mode.is_some()) {
            let message = "a scenario may have a mode of its own only where `distribution.mode` is `stopped_flows` or \
                           `limited_flows`";
            self.values.fault(LIMITS, message);
        }
        let sets_any = !rules.policies.is_empty() || !rules.limiting_classes.is_empty();
        if sets_any && rules.scenario_attribute.is_none() {
            let message =
                "policies are by scenario: `scenario` must be among `distribution.flows.attributes`";
            self.values.fault(LIMITS, message);
        }
    }
}

const BAD_NAME: &str = "a name has 1 to 64 characters, and no control characters";

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
