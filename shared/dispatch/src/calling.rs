//! How much of the work of a flow calls each of its systems: what concerns a system concerns the flow only so far (DSP-16).
//! Must never decide what follows from it.
//!
//! Counted are stages that ended and stages that were held before a call, each once. They fade by number and not by
//! time: while a flow stands still nothing new is known of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Dispatcher;
use super::flow::{Flow, SystemLink};
use super::index::{FlowIndex, SystemIndex};

/// Stages that are looked back on.
const STAGES: f64 = 256.0;
/// Stages that are assumed to have called nothing, so that the first few are no proof.
const UNKNOWN: f64 = 8.0;
/// Part of the stages from which on a system is what the flow is about: while it is away the whole flow stands still.
/// Below it the workers hold the single stages that come to call it.
const MOSTLY: f64 = 0.5;
/// Part of the stages below which the limit of a system does not bound the flow, and its stages take no place there.
const RARELY: f64 = 0.05;
/// Stages from which on a system may be one that is called rarely.
const ENOUGH: f64 = 64.0;

impl SystemLink {
    /// True if most stages of its flow call the system.
    pub(super) fn is_called_mostly(&self, flow: &Flow) -> bool {
        self.part(flow) >= MOSTLY
    }

    /// True if hardly a stage of its flow calls the system.
    pub(super) fn is_called_rarely(&self, flow: &Flow) -> bool {
        flow.counted >= ENOUGH && self.part(flow) < RARELY
    }

    fn part(&self, flow: &Flow) -> f64 {
        // News of calls comes a moment before that of the ends of their stages.
        self.calling / (flow.counted.max(self.calling) + UNKNOWN)
    }
}

impl Flow {
    /// Lets the older stages fade.
    pub(super) fn settle_stages(&mut self) {
        if self.counted > STAGES {
            let left = STAGES / self.counted;
            self.counted = STAGES;
            self.links.iter_mut().for_each(|link| link.calling *= left);
        }
    }

    /// Brings the places that its stages have at one of its systems in step with what is in progress. Returns the system, and how
    /// many places more it has given away.
    pub(super) fn move_places(&mut self, at: usize) -> (SystemIndex, i32) {
        let in_progress = self.stages_in_progress();
        let link = &self.links[at];
        let (system, before) = (link.system, link.places);
        // A stage that has a place keeps it to its end.
        let places = if link.is_called_rarely(self) { before.min(in_progress) } else { in_progress };
        self.links[at].places = places;
        (system, i32::try_from(i64::from(places) - i64::from(before)).unwrap_or_default())
    }

    /// Returns the form to store: all stages, and those that called each system.
    pub(super) fn remember_callers(&self, name: impl Fn(SystemIndex) -> Option<String>) -> Value {
        let links = self.links.iter().filter_map(|link| Some((name(link.system)?, link.calling)));
        json!([self.counted, links.collect::<BTreeMap<_, _>>()])
    }
}

impl Dispatcher {
    /// Stages of a flow called a system, or were held before they could.
    pub(super) fn count_callers(
        &mut self,
        index: FlowIndex,
        system: SystemIndex,
        stages: u32,
        are_held: bool,
    ) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        if are_held {
            flow.counted += f64::from(stages);
        }
        let links = flow.links.iter_mut().filter(|link| link.system == system);
        links.for_each(|link| link.calling += f64::from(stages));
    }

    /// True if most stages of a flow call a system.
    pub(super) fn is_called_mostly(&self, index: FlowIndex, system: SystemIndex) -> bool {
        let flow = self.flows.get(index);
        flow.is_some_and(|flow| {
            flow.links.iter().any(|link| link.system == system && link.is_called_mostly(flow))
        })
    }

    /// Takes over what a former dispatcher had counted.
    pub(super) fn recall_callers(&mut self, index: FlowIndex, value: &Value) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        flow.counted = value[0].as_f64().unwrap_or_default().max(0.0);
        for link in &mut flow.links {
            let name = self.systems.get(link.system).map(|system| &*system.name);
            link.calling = name.and_then(|name| value[1][name].as_f64()).unwrap_or_default().max(0.0);
        }
    }
}
