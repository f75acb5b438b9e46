//! Rules of operators about flows and called systems: modes, limits, stops. Plain data, no decisions.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::spelled;
use crate::system::{BuiltInClass, MAX_RETRY_AFTER};

/// Ways to share capacity among flows.
// DSP-4 to DSP-7.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DistributionMode {
    /// Flows take turns; nothing is learnt.
    Simple,
    /// Flows get equal time of workers.
    RatedFlows,
    /// A flow whose system is away is stopped, probed and resumed.
    #[default]
    StoppedFlows,
    /// Besides, the limit of a flow follows what its system can take.
    LimitedFlows,
}

spelled!(DistributionMode {
    Simple => "simple",
    RatedFlows => "rated_flows",
    StoppedFlows => "stopped_flows",
    LimitedFlows => "limited_flows",
});

impl DistributionMode {
    /// True where flows are stopped by the failures of their calls.
    #[must_use]
    pub const fn stops(self) -> bool {
        matches!(self, Self::StoppedFlows | Self::LimitedFlows)
    }
}

/// Rules of all flows (DSP-8, DSP-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRules {
    /// The general mode.
    pub mode: DistributionMode,
    /// Part of the capacity in use, in percent, from which on flows share it by time; limits and stops hold on (DSP-8).
    pub overload_threshold_percentage: u32,
    /// Limit of a flow that comes back after a stop.
    pub initial_limit: u32,
    /// Open requests count against limits at systems that answer half of them within this time, for as long.
    pub open_requests_within: Duration,
    /// Flows without work that are still known at most; of those the ones unseen for the longest time are forgotten.
    pub max_known: usize,
    /// Position of the scenario among the attributes of a flow; none where it is not one of them, and no policy can
    /// be set.
    pub scenario_attribute: Option<usize>,
    /// Policies by scenario.
    pub policies: Vec<FlowPolicy>,
    /// Built-in classes that harden the limit of every scenario.
    pub built_in_classes: BTreeSet<BuiltInClass>,
    /// Pairs of error class and scenario that harden the limit, too.
    pub limiting_classes: BTreeSet<(String, String)>,
}

impl Default for FlowRules {
    fn default() -> Self {
        Self {
            mode: DistributionMode::default(),
            overload_threshold_percentage: 90,
            initial_limit: 5,
            open_requests_within: Duration::from_secs(60),
            max_known: 10_000,
            scenario_attribute: Some(0),
            policies: Vec::new(),
            built_in_classes: BuiltInClass::ALL.iter().copied().collect(),
            limiting_classes: BTreeSet::new(),
        }
    }
}

impl FlowRules {
    /// The policy of a flow; none where the general rules hold.
    #[must_use]
    pub fn policy_of(&self, flow: &str) -> Option<&FlowPolicy> {
        let scenario = flow.split('|').nth(self.scenario_attribute?)?;
        self.policies.iter().find(|policy| policy.scenarios.contains(scenario))
    }

    /// The mode of a flow: that of its policy, where the general mode stops flows.
    #[must_use]
    pub fn mode_of(&self, flow: &str) -> DistributionMode {
        let own = self.policy_of(flow).and_then(|policy| policy.mode);
        own.filter(|_| self.mode.stops()).unwrap_or(self.mode)
    }
}

/// Exceptions of some scenarios (DSP-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPolicy {
    /// Name.
    pub name: String,
    /// The scenarios that it is for.
    pub scenarios: BTreeSet<String>,
    /// Their mode; none for the general one. Only modes that stop flows.
    pub mode: Option<DistributionMode>,
    /// Greatest limit of one of their flows.
    pub max_limit: Option<u32>,
    /// Part that one of their flows has of the limit of a system, and of the time of workers, beside others; none for 1.
    pub weight: Option<u32>,
}

/// Rules of called systems (DSP-16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemRules {
    /// A called system that says when it is to be called again is believed up to so long.
    pub max_retry_after: Duration,
    /// The systems that the configuration names. These have a limit of their own; any other can be closed only.
    pub named: BTreeSet<String>,
}

impl Default for SystemRules {
    fn default() -> Self {
        Self { max_retry_after: MAX_RETRY_AFTER, named: BTreeSet::new() }
    }
}

/// A stop by hand (DSP-10), as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStop {
    /// Number: overlapping stops are independent.
    pub no: i64,
    /// Stops every flow whose name contains it.
    pub keyword: String,
    /// Time since which it holds.
    pub from: Timestamp,
    /// Time at which it ends by itself; absent if only a person ends it.
    pub until: Option<Timestamp>,
}

impl FlowStop {
    /// True if this flow may not go now.
    #[must_use]
    pub fn holds(&self, flow: &str, now: Timestamp) -> bool {
        self.from <= now && self.until.is_none_or(|until| now < until) && flow.contains(&self.keyword)
    }
}

/// Decision of an operator about a called system (DSP-16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemOverride {
    /// The system.
    pub system: String,
    /// Order of the operator.
    pub order: SystemOrder,
    /// Time since which it holds.
    pub from: Timestamp,
    /// Time at which it ends by itself; absent if only a person ends it.
    pub until: Option<Timestamp>,
}

/// An operator's word about a called system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SystemOrder {
    /// Hands out nothing that calls it.
    KeepStopped,
    /// Calls it whatever its failures say.
    ForceOpen,
}

spelled!(SystemOrder { KeepStopped => "keep_stopped", ForceOpen => "force_open" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_10_a_stop_holds_for_flows_that_contain_its_keyword_within_its_time() {
        let at = |second| Timestamp::from_second(second).unwrap_or_default();
        let stop = FlowStop { no: 1, keyword: "tariff".into(), from: at(10), until: Some(at(20)) };
        let cases = [
            ("change-tariff|200", 10, true),
            ("change-tariff|200", 9, false),
            ("change-tariff|200", 20, false),
            ("card-block", 15, false),
        ];
        for (flow, second, expected) in cases {
            assert_eq!(stop.holds(flow, at(second)), expected, "{flow} at {second}");
        }
        let endless = FlowStop { until: None, keyword: String::new(), ..stop };
        assert!(endless.holds("card-block", at(1_000_000)), "the empty keyword is in every name");
    }
}
