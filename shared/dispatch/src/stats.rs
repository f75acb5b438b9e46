//! Figures that the dispatcher shows of itself, for metrics and operators. Must never be asked per order:
//! it walks through flows and nodes.

use std::sync::Arc;

use pagurus_domain::id::Incarnation;

use super::node::NodeState;

/// A view of the dispatcher at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Ready stages, by priority from high to low.
    pub waiting: [usize; 3],
    /// Stages handed out or running, of parallel orders.
    pub parallel: u32,
    /// Stages handed out or running, of sequential orders.
    pub sequential: u32,
    /// Every flow that has work, in no particular order.
    pub flows: Vec<FlowStats>,
    /// Every node that is there or still has something in progress, by number.
    pub nodes: Vec<NodeStats>,
    /// Sequential queues with ready members or something in progress.
    pub queues: usize,
    /// Bytes held for what waits: stages, queues and the ways to find them.
    pub waiting_bytes: usize,
}

/// Figures of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStats {
    /// Name of the flow.
    pub flow: Arc<str>,
    /// Ready stages, by priority from high to low.
    pub waiting: [u32; 3],
    /// Stages handed out or running.
    pub in_progress: u32,
}

/// Figures of one worker node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStats {
    /// The node.
    pub node: Incarnation,
    /// State of the node in its life.
    pub state: NodeState,
    /// Stages it may have in progress now.
    pub allowance: u32,
    /// Stages it has.
    pub in_progress: u32,
}
