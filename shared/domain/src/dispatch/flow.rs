//! The flows that have work, by small numbers, and how much of it. Must never decide anything.
//! Counts what is in progress by mode, because that is how one flow's part is bounded (`limit`).

use std::collections::HashMap;
use std::sync::Arc;

use super::slab::Slab;
use crate::order::{Mode, Priority};

/// The number of a flow; valid while the flow has something counted.
pub(super) type FlowIndex = u32;

/// One flow.
#[derive(Debug)]
pub(super) struct Flow {
    /// Its name.
    pub(super) name: Arc<str>,
    /// Ready stages by priority.
    pub(super) waiting: [u32; 3],
    /// Stages handed out or running, by mode.
    pub(super) in_progress: [u32; 2],
}

/// All flows that have work. One without any is forgotten: names may be made of attributes, and
/// then there is no end of them.
#[derive(Debug)]
pub(super) struct Flows {
    flows: Slab<Flow>,
    by_name: HashMap<Arc<str>, FlowIndex>,
}

impl Flows {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { flows: Slab::new(), by_name: HashMap::new() }
    }

    /// Counts one more ready stage, of a flow by name.
    pub(super) fn wait_named(&mut self, name: &Arc<str>, priority: Priority) -> FlowIndex {
        let flow = self.intern(name);
        self.wait(flow, priority);
        flow
    }

    /// Counts one more ready stage.
    pub(super) fn wait(&mut self, flow: FlowIndex, priority: Priority) {
        self.flows[flow].waiting[priority as usize] += 1;
    }

    /// Counts one ready stage less.
    pub(super) fn unwait(&mut self, flow: FlowIndex, priority: Priority) {
        self.flows[flow].waiting[priority as usize] -= 1;
        self.forget_if_idle(flow);
    }

    /// Counts one more in progress, of a flow by name.
    pub(super) fn start_named(&mut self, name: &Arc<str>, mode: Mode) -> FlowIndex {
        let flow = self.intern(name);
        self.start(flow, mode);
        flow
    }

    /// Counts one more in progress.
    pub(super) fn start(&mut self, flow: FlowIndex, mode: Mode) {
        self.flows[flow].in_progress[mode as usize] += 1;
    }

    /// Counts one less in progress.
    pub(super) fn finish(&mut self, flow: FlowIndex, mode: Mode) {
        self.flows[flow].in_progress[mode as usize] -= 1;
        self.forget_if_idle(flow);
    }

    /// How many are in progress of a flow, by mode; none of one that was forgotten.
    pub(super) fn in_progress(&self, flow: FlowIndex) -> [u32; 2] {
        self.flows.get(flow).map_or([0; 2], |flow| flow.in_progress)
    }

    /// The name of a flow.
    pub(super) fn name(&self, flow: FlowIndex) -> &Arc<str> {
        &self.flows[flow].name
    }

    /// Every flow that has work, with its number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowIndex, &Flow)> {
        self.flows.iter()
    }

    fn intern(&mut self, name: &Arc<str>) -> FlowIndex {
        if let Some(&flow) = self.by_name.get(name) {
            return flow;
        }
        let flow = Flow { name: Arc::clone(name), waiting: [0; 3], in_progress: [0; 2] };
        let index = self.flows.insert(flow);
        self.by_name.insert(Arc::clone(name), index);
        index
    }

    fn forget_if_idle(&mut self, flow: FlowIndex) {
        let Flow { name, waiting, in_progress } = &self.flows[flow];
        if *waiting == [0; 3] && *in_progress == [0; 2] {
            self.by_name.remove(name);
            self.flows.remove(flow);
        }
    }
}
