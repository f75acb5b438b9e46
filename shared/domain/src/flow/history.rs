//! History of decisions about flows and called systems (DSP-14): what they are about, and the figures that stand beside them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FlowRecord, SystemRecord};
use crate::id::spelled;

/// Kind of thing that a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DecisionSubject {
    /// A flow.
    Flow,
    /// A called system.
    System,
}

spelled!(DecisionSubject { Flow => "flow", System => "system" });

/// Figures of a flow or a called system at the time of a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionNumbers {
    /// Stages in progress; of a system, those and the requests that count against its limit.
    pub in_progress: u32,
    /// Requests that were sent and whose callback had not come.
    pub open_requests: u32,
    /// Stages that could run; none of a system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<u32>,
    /// Stages, or calls, that ended in a second.
    pub throughput: f64,
    /// Median time of a stage or a call over the last minute or so, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Milliseconds of a call to a system that is not pressed, as it was learnt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_ms: Option<f64>,
    /// Recent errors by class.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
}

impl DecisionNumbers {
    /// Figures of a flow.
    #[must_use]
    pub fn of_flow(flow: &FlowRecord) -> Self {
        Self {
            in_progress: flow.in_progress,
            open_requests: flow.open_requests,
            ready: Some(flow.ready.sum()),
            throughput: flow.throughput,
            p50_ms: flow.short_term.p50_ms,
            p99_ms: flow.short_term.p99_ms,
            base_ms: None,
            errors: flow.errors.clone(),
        }
    }

    /// Figures of a called system.
    #[must_use]
    pub fn of_system(system: &SystemRecord) -> Self {
        Self {
            in_progress: system.in_progress,
            open_requests: system.open_requests,
            ready: None,
            throughput: system.throughput,
            p50_ms: system.short_term.p50_ms,
            p99_ms: system.short_term.p99_ms,
            base_ms: system.base_ms,
            errors: system.errors.clone(),
        }
    }
}
