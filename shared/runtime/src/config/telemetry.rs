//! Settings of traces and metrics. What OpenTelemetry's own variables of the environment say counts where a key is left out.

use std::time::Duration;

use axum::http::Uri;

use super::kind::Kind::*;
use super::section::{ratio, section};

section! {
    /// `telemetry`
    #[derive(Clone, Debug)]
    pub struct TelemetrySettings;

    endpoint: Option<String> = ("telemetry.otlp.endpoint", OptionalText, "~", Restart, "Base URL of a collector that accepts OTLP over HTTP, such as `http://127.0.0.1:4318`; traces go to `/v1/traces` under it. Default: `OTEL_EXPORTER_OTLP_ENDPOINT`; without either, no spans are recorded.");
    issuers: Option<String> = ("telemetry.otlp.issuers", OptionalText, "~", Restart, "File with certificates of issuers, in PEM, that are trusted for the collector. Default: `OTEL_EXPORTER_OTLP_CERTIFICATE`; without either, those that this machine trusts. A changed file is read again within a second.");
    certificate: Option<String> = ("telemetry.otlp.certificate", OptionalText, "~", Restart, "File with the certificate that is shown to the collector, in PEM. Default: `OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE`; without either, none.");
    key: Option<String> = ("telemetry.otlp.key", OptionalText, "~", Restart, "File with the private key of `telemetry.otlp.certificate`, in PEM. Default: `OTEL_EXPORTER_OTLP_CLIENT_KEY`.");
    timeout: Duration = ("telemetry.otlp.timeout", Duration, "5s", Restart, "Longest time of one request to the collector.");
    queue_size: usize = ("telemetry.otlp.queue_size", Count { least: 1, most: 1_000_000 }, "8192", Restart, "Most spans that wait to be sent, about 1 KiB each; further ones are dropped and counted.");
    sample_ratio: f64 = ratio("telemetry.traces.sample_percentage", Count { least: 0, most: 100 }, "100", Restart, "Percentage of orders whose traces are recorded, unless their client sends `traceparent`, which then decides.");
    metric_labels: Vec<String> = ("telemetry.metrics.order_labels", TextsOrNone, "[]", Live, "Keys of order labels by whose values `pagurus_ended_by_label_total` counts ended orders; choose labels with few values. At most 200 values of each are counted separately, the rest as `other`.");
}

/// Said of an address of a collector that is none.
pub(crate) const NO_COLLECTOR: &str = "must begin with `http://` or `https://`, and name a host";

/// True for the URL of something that may take spans.
pub(crate) fn is_collector(url: &str) -> bool {
    let has_host = || url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    (url.starts_with("http://") || url.starts_with("https://")) && has_host()
}
