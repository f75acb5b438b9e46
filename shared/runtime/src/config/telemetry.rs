//! Settings of traces. What OpenTelemetry's own variables of the environment say counts where a key is left out.

use std::time::Duration;

use axum::http::Uri;

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

/// Said of an address of a collector that is none.
pub(crate) const NO_COLLECTOR: &str = "must begin with `http://` or `https://`, and name a host";

/// True for the URL of something that may take spans.
pub(crate) fn is_collector(url: &str) -> bool {
    let has_host = || url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    (url.starts_with("http://") || url.starts_with("https://")) && has_host()
}
