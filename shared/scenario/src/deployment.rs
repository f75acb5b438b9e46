//! The bounds of the engine that runs an order, as far as orders notice them; a trial is played by them. Data only.

use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::retry::ErrorPolicy;
use pagurus_domain::system::MAX_RETRY_AFTER;

use crate::Bounds;

const HOUR: Duration = Duration::from_secs(3600);

/// The settings of an engine that orders notice; the default is an engine without a configuration.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Bounds of scenarios.
    pub bounds: Bounds,
    /// Rules and policies for failures.
    pub errors: Arc<ErrorPolicy>,
    /// Longest time of a call whose action sets none.
    pub call_timeout: Duration,
    /// Longest synchronous part of a sequential order's stage.
    pub max_sync_duration: Duration,
    /// Longest time a sequential order may hold its queue in retries.
    pub max_acquisition_duration: Duration,
    /// Longest wait of sequential orders.
    pub max_wait_sequential: Duration,
    /// Longest wait of parallel orders.
    pub max_wait_parallel: Duration,
    /// Longest pause for which a called system is believed that asks for one.
    pub max_retry_after: Duration,
    /// Longest time of an order in all whose scenario says nothing of it; none is any time.
    pub process_timeout: Option<Duration>,
}

impl Default for Deployment {
    fn default() -> Self {
        Self {
            bounds: Bounds::default(),
            errors: Arc::default(),
            call_timeout: Duration::from_secs(30),
            max_sync_duration: HOUR / 12,
            max_acquisition_duration: HOUR,
            max_wait_sequential: HOUR,
            max_wait_parallel: HOUR * 24 * 93,
            max_retry_after: MAX_RETRY_AFTER,
            process_timeout: None,
        }
    }
}
