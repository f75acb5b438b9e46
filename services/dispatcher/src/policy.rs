//! The policy as the settings have it.

use std::time::Duration;

use pagurus_dispatch::{DispatchSettings, Weights};
use pagurus_domain::flow::{Capacity, FlowShare};
use pagurus_domain::number::saturated;
use pagurus_runtime::config::Settings;

/// Longest time of a hand-out without a word before the tables are asked.
const GRACE: Duration = Duration::from_secs(5);

/// Settings that the dispatcher goes by.
pub(crate) fn policy(settings: &Settings) -> DispatchSettings {
    let Settings { distribution, systems, .. } = settings;
    DispatchSettings {
        capacity: Capacity {
            parallel: count(distribution.parallel_count),
            sequential: count(distribution.sequential_count),
        },
        flow_share: FlowShare { percentage: distribution.flow_share },
        flows: distribution.flows.clone(),
        systems: systems.rules.clone(),
        weights: Weights { high: distribution.high, normal: distribution.normal, low: distribution.low },
        grace: GRACE,
        queue_period: GRACE,
    }
}

fn count(setting: usize) -> u32 {
    saturated::<u32>(setting)
}
