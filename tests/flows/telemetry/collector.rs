//! A collector of spans: takes OTLP over HTTP as any other does, and keeps what came.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue as Any, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use pagurus_harness::ports::{Owner, Ports};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A span as it came, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub service: String,
    pub name: String,
    pub kind: i32,
    pub trace: String,
    pub span: String,
    pub parent: String,
    pub state: String,
    /// Nanoseconds since 1970.
    pub begun: u64,
    pub ended: u64,
    pub attributes: BTreeMap<String, String>,
    /// The meaning and the trace and span of each link.
    pub links: Vec<(String, String, String)>,
    pub failed: bool,
}

impl Seen {
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.attributes.get(key).is_some_and(|known| known == value)
    }

    /// Trace and span of the link with this meaning.
    pub fn link(&self, meaning: &str) -> Option<(&str, &str)> {
        let (_, trace, span) = self.links.iter().find(|(known, ..)| known == meaning)?;
        Some((trace, span))
    }
}

type Kept = Arc<Mutex<Vec<Seen>>>;

/// A running collector; it ends with this value.
#[derive(Debug)]
pub struct Collector {
    url: String,
    kept: Kept,
    task: JoinHandle<()>,
    _ports: Ports,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Collector {
    pub async fn start() -> Self {
        let ports = Ports::reserve(1, &Owner::this_process().unwrap()).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", ports.first())).await.unwrap();
        let kept = Kept::default();
        let router = Router::new().route("/v1/traces", post(take)).with_state(kept.clone());
        let task = tokio::spawn(async move {
            // It runs until the task is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Self { url: format!("http://127.0.0.1:{}", ports.first()), kept, task, _ports: ports }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn spans(&self) -> Vec<Seen> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the spans as soon as they are enough.
    pub async fn wait(&self, within: Duration, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let deadline = Instant::now() + within;
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            assert!(Instant::now() < deadline, "not within {within:?}: {spans:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn take(State(kept): State<Kept>, body: Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    for of_process in request.resource_spans {
        let resource = of_process.resource.unwrap_or_default();
        let service = words(&resource.attributes).remove("service.name").unwrap_or_default();
        let spans = of_process.scope_spans.into_iter().flat_map(|scope| scope.spans);
        let seen = spans.map(|span| seen(&service, span));
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend(seen);
    }
    StatusCode::OK
}

fn seen(service: &str, span: Span) -> Seen {
    let links = span.links.iter().map(|link| {
        let meaning = words(&link.attributes).remove("pagurus.link").unwrap_or_default();
        (meaning, hex(&link.trace_id), hex(&link.span_id))
    });
    Seen {
        service: service.to_owned(),
        links: links.collect(),
        name: span.name,
        kind: span.kind,
        trace: hex(&span.trace_id),
        span: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        state: span.trace_state,
        begun: span.start_time_unix_nano,
        ended: span.end_time_unix_nano,
        attributes: words(&span.attributes),
        failed: span.status.is_some_and(|status| status.code == 2),
    }
}

fn words(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let word = |value: &Option<Any>| match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(AnyValue::StringValue(text)) => text.clone(),
        Some(AnyValue::IntValue(number)) => number.to_string(),
        Some(other) => format!("{other:?}"),
        None => String::new(),
    };
    attributes.iter().map(|one| (one.key.clone(), word(&one.value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
