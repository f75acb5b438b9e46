//! Flows and called systems as they are set, stopped, recorded and shown: what the dispatcher decides by, and what it reports.

mod capacity;
mod estimate;
mod history;
mod record;
mod replay;
mod rules;

pub use capacity::{Capacity, FlowShare};
pub use estimate::{HolderWait, StartEstimate, queue_estimate, standstill, start_estimate};
pub use history::{DecisionNumbers, DecisionSubject};
pub use record::{
    ByPriority, CallsState, ControlState, Decision, FlowRecord, FlowState, OpenRequests, Quantiles,
    QueuePace, SystemRecord, SystemState,
};
pub use replay::{FlowChanges, MinuteFigures};
pub use rules::{
    DistributionMode, FlowPolicy, FlowRules, FlowStop, SystemOrder, SystemOverride, SystemRules,
};
