//! A flow of a simulation, with what was counted of it.

use std::sync::Arc;

use super::forecasts::Forecasts;

/// Flow of the plan, or one of many alike.
#[derive(Debug)]
pub(super) struct Instance {
    /// Name.
    pub(super) name: Arc<str>,
    /// Index in the plan.
    pub(super) plan: usize,
    /// Time that workers spent on it, in seconds.
    pub(super) worked: f64,
    /// Seconds for which stages waited that ended.
    pub(super) waited: f64,
    /// Stages that ended.
    pub(super) ended: u64,
    /// Stages that ended with a failed call.
    pub(super) failed: u64,
    /// Orders that came.
    pub(super) came: u64,
    /// Stages in progress.
    pub(super) in_progress: u32,
    /// Orders that are ready, fresh and woken.
    pub(super) ready: [u32; 2],
    /// Seconds from ready to the end of the stage, with when it ended.
    pub(super) dwells: Vec<(u64, f32)>,
    /// Estimates of starts, compared with the starts.
    pub(super) forecasts: Forecasts,
}
