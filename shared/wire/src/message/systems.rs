//! Called systems: what calls of them came to, and which are to be left alone.

use serde::{Deserialize, Serialize};

/// Calls of one kind to one system, of one flow, that had the same outcome: summed over the stages that were
/// written together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallNews {
    /// Flow marker.
    pub flow: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The called system.
    pub system: String,
    /// True if the answer comes by callback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asynchronous: bool,
    /// Outcome of these calls.
    pub outcome: CallNewsOutcome,
    /// Class of the failure, for failed ones. The empty one says that nothing is learnt from them but the time for which the
    /// system asked to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Built-in limiting class of the failure, whatever class the rules give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<String>,
    /// Number of them.
    pub count: u32,
    /// Number of stages that made them, or were held before them; workers of the version before do not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<u32>,
    /// True if they were not made, because the system is to be left alone: as failures from which nothing is learnt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Time that they took: counts by the step of a logarithmic scale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub took: Vec<(u16, u32)>,
    /// The longest time for which the system asked to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Outcome of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallNewsOutcome {
    /// Sent, and to be answered by callback.
    Sent,
    /// Answered as the scenario hoped.
    Answered,
    /// Failed for a technical reason.
    Failed,
}

/// A called system that is to be left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedSystem {
    /// Name of the system.
    pub system: String,
    /// For how long still.
    pub left_ms: u64,
    /// True while it is probed: each worker lets a few calls through, and holds the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probed: bool,
}

/// To all workers, under [`super::work::SYSTEMS`]: all systems that are closed or forced open. Repeated as long as there
/// are any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemsClosed {
    /// Systems that are to be left alone.
    pub closed: Vec<ClosedSystem>,
    /// Systems that are to be called whatever they answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
}
