//! The way of spans to a collector: OTLP over HTTP, in protobuf.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SpanData;
use pagurus_tls::{CertificateFiles, ClientTls};
use tokio::runtime::Handle;

use super::Recorder;
use crate::Metrics;
use crate::config::{NO_COLLECTOR, TelemetrySettings, is_collector};
use crate::metrics::Count;
use crate::reloading_client::ReloadingClient;

/// Between two lines of the log about a collector that does not answer.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// Variables that name a collector: of traces alone, and of everything.
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Variables that name files of certificates begin with one of these. The first that is set counts.
const OF_TRACES_AND_ALL: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"];
/// Keys of the certificate that is shown, and of its key.
const CERTIFICATE: [&str; 2] = ["telemetry.otlp.certificate", "telemetry.otlp.key"];

/// Target of spans, and the setting that names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Collector {
    /// The URL of traces.
    pub url: String,
    /// The key, as a pointer, or the variable that names it.
    pub named_by: &'static str,
    /// File of the issuers that are trusted; `None` for those that this machine trusts.
    issuers: Option<String>,
    /// Files of the certificate that is shown, and of its key.
    certificate: [Option<String>; 2],
}

impl Collector {
    fn tls(&self) -> anyhow::Result<ClientTls> {
        let certificate = CertificateFiles::of_options(self.certificate.clone(), CERTIFICATE);
        let certificate = certificate.map_err(|why| anyhow::anyhow!("the configuration {why}"))?;
        Ok(ClientTls { issuers: self.issuers.clone().map(Into::into), certificate, ..ClientTls::default() })
    }
}

/// The collector, by the key or by the variables of OpenTelemetry; none where nobody names one, or where
/// `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER` says no.
pub(super) fn collector(
    settings: &TelemetrySettings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<Collector> {
    let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    if is_off {
        return None;
    }
    let traces_of = |base: String| format!("{}/v1/traces", base.trim_end_matches('/'));
    let by = |named_by| {
        move |url: String| {
            // Variables that name files for another program are no fault of a collector that is asked without TLS.
            let is_asked = url.starts_with("https://");
            let named = |end: &str| OF_TRACES_AND_ALL.iter().find_map(|start| set(&format!("{start}{end}")));
            let of_environment = |end: &str| is_asked.then(|| named(end)).flatten();
            let issuers = settings.issuers.clone().or_else(|| of_environment("CERTIFICATE"));
            let certificate = match (&settings.certificate, &settings.key) {
                (None, None) => ["CLIENT_CERTIFICATE", "CLIENT_KEY"].map(of_environment),
                (certificate, key) => [certificate.clone(), key.clone()],
            };
            Collector { url, named_by, issuers, certificate }
        }
    };
    let named = settings.endpoint.clone().map(traces_of).map(by("/telemetry/otlp/endpoint"));
    let named = named.or_else(|| set(TRACES_ENDPOINT).map(by(TRACES_ENDPOINT)));
    named.or_else(|| set(ENDPOINT).map(traces_of).map(by(ENDPOINT)))
}

/// Attributes of the process, which every span has. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go before them.
pub(super) fn resource(who: Recorder<'_>) -> Resource {
    let service = format!("pagurus-{}", who.role);
    let ours = Resource::builder_empty().with_attributes([
        KeyValue::new("service.name", service),
        KeyValue::new("service.namespace", who.installation.to_owned()),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", who.node.to_owned()),
    ]);
    let detected = Resource::builder().build();
    let is_set = |key: &str, value: &str| !(key == "service.name" && value.starts_with("unknown_service"));
    let theirs = detected.iter().filter(|(key, value)| is_set(key.as_str(), &value.as_str()));
    ours.with_attributes(theirs.map(|(key, value)| KeyValue::new(key.clone(), value.clone()))).build()
}

/// Sends batches, and counts them.
#[derive(Debug)]
pub(super) struct Exporter {
    exporter: SpanExporter,
    metrics: Metrics,
    said: Mutex<Option<Instant>>,
}

impl Exporter {
    pub fn new(collector: &Collector, timeout: Duration, metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self { exporter: exporter(collector, timeout)?, metrics: metrics.clone(), said: Mutex::default() })
    }

    fn tell(&self, error: &dyn std::fmt::Display) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            *said = Some(Instant::now());
            tracing::warn!(%error, "spans could not be sent to the collector; they are dropped");
        }
    }
}

/// The exporter of the library, with all that it makes of the environment. Asks nobody whether the collector is there.
pub(super) fn exporter(collector: &Collector, timeout: Duration) -> anyhow::Result<SpanExporter> {
    anyhow::ensure!(is_collector(&collector.url), NO_COLLECTOR);
    let client = Arc::new(ReloadingClient::new(&collector.url, collector.tls()?, timeout));
    // Files that cannot be used are a fault of the configuration, and not of the first request.
    client.client()?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(OnRuntime { client, runtime: Handle::current() })
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(&collector.url)
        .with_timeout(timeout)
        .build()?;
    Ok(exporter)
}

impl opentelemetry_sdk::trace::SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let sent = self.exporter.export(batch).await;
        let word = if sent.is_ok() { "sent" } else { "failed" };
        self.metrics.count(Count::Spans, word, spans);
        sent.inspect_err(|error| self.tell(error))
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The client of the exporter, whose thread is none of the runtime that connections need.
#[derive(Debug)]
struct OnRuntime {
    client: Arc<ReloadingClient>,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let client = self.client.client()?;
        let answered = self.runtime.spawn(async move {
            // Its timer begins with the call, and must find the runtime.
            let answer = client.execute(request).await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            Ok::<_, reqwest::Error>((status, headers, answer.bytes().await?))
        });
        let (status, headers, body) = answered.await??;
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn settings(endpoint: Option<&str>) -> TelemetrySettings {
        TelemetrySettings {
            endpoint: endpoint.map(str::to_owned),
            issuers: None,
            certificate: None,
            key: None,
            timeout: Duration::from_secs(1),
            queue_size: 16,
            metric_labels: Vec::new(),
            sample_ratio: 1.0,
        }
    }

    #[test]
    fn telemetry_spans_go_where_the_key_or_the_environment_says() {
        let url_of = |key: Option<&str>, variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            collector(&settings(key), &variable).map(|collector| collector.url)
        };
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/x");
        assert_eq!(url_of(None, &[]), None);
        assert_eq!(url_of(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        assert_eq!(url_of(None, &[general]).as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!(url_of(None, &[general, traces]).as_deref(), Some("http://t:1/x"));
        assert_eq!(
            url_of(Some("http://k:4318/"), &[general, traces]).as_deref(),
            Some("http://k:4318/v1/traces")
        );
        assert_eq!(url_of(Some("http://k"), &[("OTEL_SDK_DISABLED", "TRUE")]), None);
        assert_eq!(url_of(None, &[general, ("OTEL_TRACES_EXPORTER", "none")]), None);
    }

    #[test]
    fn qlt_15_certificates_are_those_of_the_keys_or_else_of_the_environment() {
        let tls = |settings: &TelemetrySettings, variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            collector(settings, &variable).unwrap().tls()
        };
        let variables = [
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "all.pem"),
            ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "traces.pem"),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "own.crt"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "own.key"),
        ];
        let mut settings = settings(Some("https://c"));
        let own = |name: &str| {
            let file = |kind: &str| format!("{name}.{kind}").into();
            Some(CertificateFiles { certificate: file("crt"), key: file("key") })
        };
        let found = tls(&settings, &variables).unwrap();
        assert_eq!((found.issuers, found.certificate), (Some("traces.pem".into()), own("own")));
        settings.issuers = Some("key.pem".to_owned());
        settings.certificate = Some("mine.crt".to_owned());
        let why = tls(&settings, &[]).unwrap_err().to_string();
        assert!(why.contains("`telemetry.otlp.certificate` and `telemetry.otlp.key`"), "{why}");
        let why = tls(&settings, &variables).unwrap_err().to_string();
        assert!(why.contains("both are needed"), "one of ours is no pair with one of theirs: {why}");
        settings.key = Some("mine.key".to_owned());
        let found = tls(&settings, &variables).unwrap();
        assert_eq!((found.issuers, found.certificate), (Some("key.pem".into()), own("mine")));
        let plain = TelemetrySettings { certificate: None, key: None, issuers: None, ..settings };
        let plain = TelemetrySettings { endpoint: Some("http://c".to_owned()), ..plain };
        assert_eq!(tls(&plain, &variables[2..3]).unwrap(), ClientTls::default());
    }
}
