//! Record of a run, for figures and pictures.

use std::collections::BTreeMap;

use pagurus_domain::flow::{FlowRecord, SystemRecord};

use super::instance::Instance;
use super::plan::LabPlan;
use super::server::Server;

/// Looks at the systems in a second.
pub(super) const LOOKS_A_SECOND: u64 = 4;

/// Seen of a system, four times a second; what is counted is counted from the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLook {
    /// Calls that it could answer in a second.
    pub capacity: f64,
    /// Calls that were answered while their caller waited.
    pub answered: u64,
    /// Calls that their caller gave up.
    pub given_up: u64,
    /// Calls that were refused because they were too many.
    pub refused: u64,
    /// Calls that failed because it was away.
    pub failed: u64,
    /// Seconds that answered calls were here.
    pub stood: f64,
    /// Seconds that calls were worked on, or will be.
    pub alone: f64,
    /// Stages in progress and open requests that concern it.
    pub in_use: u32,
    /// Limit; `None` without one.
    pub limit: Option<u32>,
    /// True while it is only probed.
    pub is_stopped: bool,
    /// The base latency that was learnt, in milliseconds.
    pub base_ms: Option<f64>,
}

/// Seen of a flow, once a second; what is counted is counted from the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowLook {
    /// Seconds that workers spent on it.
    pub worked: f32,
    /// Seconds for which stages waited that ended.
    pub waited: f32,
    /// Stages that ended.
    pub ended: u32,
    /// Stages that ended with a failed call.
    pub failed: u32,
    /// Orders that came.
    pub came: u32,
    /// Orders that were ready.
    pub ready: u32,
    /// Stages in progress.
    pub in_progress: u32,
    /// Limit; `None` without one.
    pub limit: Option<u32>,
    /// Forecast of the seconds until those that are ready have gone.
    pub to_empty: Option<f64>,
}

/// All that was seen.
#[derive(Clone, Debug)]
pub struct Trace {
    /// By system of the plan.
    pub systems: Vec<Vec<SystemLook>>,
    /// Names of the flows.
    pub names: Vec<String>,
    /// By flow.
    pub flows: Vec<Vec<FlowLook>>,
}

impl Trace {
    /// Returns an empty trace.
    pub(super) fn new(plan: &LabPlan) -> Self {
        Self { systems: vec![Vec::new(); plan.systems.len()], names: Vec::new(), flows: Vec::new() }
    }

    pub(super) fn look_at_systems(
        &mut self,
        now: u64,
        servers: &[Server],
        records: &BTreeMap<String, SystemRecord>,
    ) {
        for (server, looks) in servers.iter().zip(&mut self.systems) {
            let record = records.get(server.name());
            looks.push(SystemLook {
                capacity: server.capacity(now).per_second(),
                answered: server.answered,
                given_up: server.given_up,
                refused: server.refused,
                failed: server.failed,
                stood: server.stood,
                alone: server.alone,
                in_use: record.map_or(0, |record| record.in_progress),
                limit: record.and_then(|record| record.limit),
                is_stopped: record.is_some_and(|record| record.stopped_since.is_some()),
                base_ms: record.and_then(|record| record.base_ms),
            });
        }
    }

    pub(super) fn look_at_flows(&mut self, instances: &[Instance], records: &BTreeMap<String, FlowRecord>) {
        if self.names.is_empty() {
            self.names = instances.iter().map(|instance| instance.name.to_string()).collect();
            self.flows = vec![Vec::new(); instances.len()];
        }
        for (instance, looks) in instances.iter().zip(&mut self.flows) {
            let record = records.get(&*instance.name);
            looks.push(FlowLook {
                worked: instance.worked as f32,
                waited: instance.waited as f32,
                ended: instance.ended as u32,
                failed: instance.failed as u32,
                came: instance.came as u32,
                ready: instance.ready.iter().sum(),
                in_progress: instance.in_progress,
                limit: record.and_then(|record| record.limit),
                to_empty: record.and_then(|record| record.seconds_to_empty),
            });
        }
    }

    /// Returns the last look at a system up to a second.
    pub(super) fn system_at(looks: &[SystemLook], second: f64) -> SystemLook {
        let index = (second * LOOKS_A_SECOND as f64).round() as usize;
        if index == 0 {
            return SystemLook {
                capacity: looks.first().map_or(0.0, |look| look.capacity),
                ..SystemLook::default()
            };
        }
        looks.get(index - 1).or(looks.last()).copied().unwrap_or_default()
    }

    /// Returns the last look at a flow up to a second.
    pub(super) fn flow_at(looks: &[FlowLook], second: f64) -> FlowLook {
        let index = second.round() as usize;
        if index == 0 {
            FlowLook::default()
        } else {
            looks.get(index - 1).or(looks.last()).copied().unwrap_or_default()
        }
    }
}
