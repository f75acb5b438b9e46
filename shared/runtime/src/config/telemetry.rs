//! Settings of traces. What OpenTelemetry's own variables of the environment say counts where a key is left out.

use std::time::Duration;

/// `telemetry`
#[derive(Clone, Debug)]
pub struct TelemetrySettings {
    /// Where spans go: the base of the collector's URL. Without one no span is recorded.
    pub endpoint: Option<String>,
    /// Longest time of one request to the collector.
    pub timeout: Duration,
    /// Spans that wait to be sent at most; more are dropped.
    pub queue_size: usize,
    /// Part of the orders that is recorded where their clients do not say so, from 0 to 1.
    pub sample_ratio: f64,
}
