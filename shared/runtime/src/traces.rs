//! Traces by OpenTelemetry. Off without a collector: then nothing is recorded, and the context of a client is handed on
//! as it came.
//!
//! Spans wait in a bounded queue for a thread of their own, which sends them in batches. Work never waits for it: what
//! finds no room is dropped, and `pagurus_spans_total` tells how much.

mod export;
pub mod messaging;
pub mod names;
mod span;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::InstrumentationScope;
pub use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanProcessor};
use pagurus_domain::document::Fault;
use pagurus_domain::id::Role;
use pagurus_domain::trace::{TraceContext, is_sampled};

use crate::Metrics;
use crate::config::TelemetrySettings;
use crate::metrics::Count;
pub use span::TraceSpan;

/// Spans of one request.
const BATCH: usize = 512;
/// Longest time that a span waits for others.
const LINGER: Duration = Duration::from_secs(1);
/// Longest time that the end of a process waits for the collector.
const LAST_CALL: Duration = Duration::from_secs(3);

/// Recorder of spans. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    recording: Option<Arc<Recording>>,
}

#[derive(Debug)]
struct Recording {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
    metrics: Metrics,
    sample_ratio: f64,
}

impl Recording {
    fn take(&self, span: SpanData) {
        self.metrics.count(Count::Spans, "recorded", 1);
        self.processor.on_end(span);
    }
}

/// Recording process: what every span tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Recorder<'a> {
    /// The service.
    pub role: Role,
    /// Name of the node.
    pub node: &'a str,
    /// Names the installation: the prefix of its queues.
    pub installation: &'a str,
}

/// A variable of the environment of this process.
pub(crate) fn own_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns what keeps spans from being sent whatever the collector does, as the key and this environment name it.
pub(crate) fn refused(
    settings: &TelemetrySettings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<Fault> {
    let collector = export::collector(settings, environment)?;
    let error = export::exporter(&collector, settings.timeout).err()?;
    Some(Fault::placed(None, collector.named_by, format!("no span can be sent: {error:#}")))
}

impl Traces {
    /// Starts recording, where a collector is named.
    ///
    /// # Errors
    /// The address of the collector is none.
    pub(crate) fn start(
        settings: &TelemetrySettings,
        who: Recorder<'_>,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let Some(collector) = export::collector(settings, &own_variable) else {
            return Ok(Self::default());
        };
        let exporter = export::Exporter::new(&collector, settings.timeout, metrics)
            .with_context(|| collector.named_by)?;
        let bounds = BatchConfigBuilder::default()
            .with_max_queue_size(settings.queue_size)
            .with_max_export_batch_size(BATCH.min(settings.queue_size))
            .with_scheduled_delay(LINGER)
            .build();
        let mut processor = BatchSpanProcessor::new(exporter, bounds);
        processor.set_resource(&export::resource(who));
        tracing::info!(endpoint = collector.url, "spans are sent to a collector");
        let scope = InstrumentationScope::builder("pagurus").with_version(env!("CARGO_PKG_VERSION")).build();
        let (metrics, sample_ratio) = (metrics.clone(), settings.sample_ratio);
        Ok(Self { recording: Some(Arc::new(Recording { processor, scope, metrics, sample_ratio })) })
    }

    /// True where spans are recorded.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.recording.is_some()
    }

    /// Part of the orders that is recorded where nothing else says so.
    #[must_use]
    pub fn sample_ratio(&self) -> f64 {
        self.recording.as_ref().map_or(0.0, |recording| recording.sample_ratio)
    }

    /// A span within the trace of another one, or of a new trace where there is none. Where nothing is recorded, the
    /// context of the other one is handed on.
    #[must_use]
    pub fn within(&self, parent: Option<&TraceContext>, kind: SpanKind, name: &'static str) -> TraceSpan {
        let Some(recording) = &self.recording else { return TraceSpan::unrecorded(parent.cloned()) };
        let context = match parent {
            Some(parent) if !parent.sampled => return TraceSpan::unrecorded(Some(parent.clone())),
            Some(parent) => parent.with_span(rand::random()),
            None => {
                let sampled = is_sampled(rand::random(), recording.sample_ratio);
                TraceContext::root(rand::random(), rand::random(), sampled)
            }
        };
        TraceSpan::begin(recording, context, parent, kind, name)
    }

    /// The root span of a trace whose context follows from something else.
    #[must_use]
    pub fn root(&self, context: TraceContext, kind: SpanKind, name: &'static str) -> TraceSpan {
        match &self.recording {
            Some(recording) => TraceSpan::begin(recording, context, None, kind, name),
            None => TraceSpan::unrecorded(Some(context)),
        }
    }

    /// Sends what waits, for a moment at most.
    pub(crate) async fn close(&self) {
        let Some(recording) = self.recording.clone() else { return };
        // The library blocks its thread, and its request needs this runtime.
        let closed =
            tokio::task::spawn_blocking(move || recording.processor.shutdown_with_timeout(LAST_CALL));
        if !matches!(closed.await, Ok(Ok(()))) {
            tracing::warn!("the last spans may not have been sent");
        }
    }
}
