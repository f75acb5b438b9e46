//! Settings of distribution and of called systems.

use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::dispatch::{FlowRules, SystemRules};
use pagurus_domain::system::SystemNames;

/// `distribution`
#[derive(Clone, Debug)]
pub struct DistributionSettings {
    /// Stages of parallel orders in progress.
    pub parallel_count: usize,
    /// Stages of sequential orders in progress.
    pub sequential_count: usize,
    /// Weight of high priority.
    pub high: u32,
    /// Weight of normal priority.
    pub normal: u32,
    /// Weight of low priority.
    pub low: u32,
    /// Attributes that make the flow of an order.
    pub flow_attributes: Vec<String>,
    /// Part of the places that one flow may have, in percent.
    pub flow_share: u32,
    /// Limits and stops of flows.
    pub flows: Arc<FlowRules>,
    /// Time for which the knowledge of an unseen flow is kept.
    pub flow_retention: Duration,
    /// Stages of one flow that may wait before the API refuses more; none without a bound.
    pub max_backlog_of_flow: Option<u32>,
    /// Orders of one queue before the API refuses more; none without a bound.
    pub max_backlog_of_queue: Option<u32>,
}

/// `systems`
#[derive(Clone, Debug)]
pub struct SystemSettings {
    /// Treatment of called systems.
    pub rules: Arc<SystemRules>,
    /// The names of called systems.
    pub names: Arc<SystemNames>,
}
