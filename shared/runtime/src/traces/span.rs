//! A span that is under way. Its end is its drop, so that work that is broken off is shown as far as it came.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use pagurus_domain::trace::TraceContext;

use super::{Recording, names};

/// Longest text of an attribute, in bytes: what clients and called systems wrote is cut.
const MAX_TEXT_BYTES: usize = 1024;

/// A span, or in its place the context of one that others record. Setting something on the latter does nothing.
#[derive(Debug)]
pub struct TraceSpan {
    context: Option<TraceContext>,
    open: Option<Box<OpenSpan>>,
}

#[derive(Debug)]
struct OpenSpan {
    data: SpanData,
    recording: Arc<Recording>,
}

impl TraceSpan {
    /// A context that is handed on and not recorded here.
    #[must_use]
    pub const fn unrecorded(context: Option<TraceContext>) -> Self {
        Self { context, open: None }
    }

    pub(super) fn begin(
        recording: &Arc<Recording>,
        context: TraceContext,
        parent: Option<&TraceContext>,
        kind: SpanKind,
        name: &'static str,
    ) -> Self {
        if !context.sampled {
            return Self::unrecorded(Some(context));
        }
        let now = SystemTime::now();
        let data = SpanData {
            span_context: otel_context(&context, false),
            parent_span_id: parent.map_or(SpanId::INVALID, |parent| SpanId::from(parent.span)),
            parent_span_is_remote: false,
            span_kind: kind,
            name: Cow::Borrowed(name),
            start_time: now,
            end_time: now,
            attributes: Vec::with_capacity(8),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: recording.scope.clone(),
        };
        let open = Box::new(OpenSpan { data, recording: recording.clone() });
        Self { context: Some(context), open: Some(open) }
    }

    /// The context for systems that are called on behalf of it; none where nobody began a trace.
    #[must_use]
    pub const fn context(&self) -> Option<&TraceContext> {
        self.context.as_ref()
    }

    /// True where somebody will see it: what costs something to find out is asked only then.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.open.is_some()
    }

    /// Sets an attribute.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(open) = &mut self.open {
            open.data.attributes.push(KeyValue::new(key, value));
        }
    }

    /// Sets an attribute to a text of somebody else, cut to a length.
    pub fn set_text(&mut self, key: &'static str, text: &str) {
        if self.is_recorded() {
            self.set(key, text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned());
        }
    }

    /// Takes another name: its kind and what it is about.
    pub fn rename(&mut self, name: String) {
        if let Some(open) = &mut self.open {
            open.data.name = Cow::Owned(name);
        }
    }

    /// Links it to a span of another trace; `meaning` tells what that one is to this.
    pub fn link(&mut self, to: &TraceContext, meaning: &'static str) {
        if let Some(open) = &mut self.open {
            let meaning = vec![KeyValue::new(names::LINK, meaning)];
            open.data.links.links.push(Link::new(otel_context(to, true), meaning, 0));
        }
    }

    /// Says that it began so long ago.
    pub fn began(&mut self, ago: Duration) {
        if let Some(open) = &mut self.open {
            open.data.start_time = open.data.start_time.checked_sub(ago).unwrap_or(open.data.start_time);
        }
    }

    /// Says that it failed: a word that is the same for all failures of the kind, and the text for people.
    pub fn fail(&mut self, class: &str, message: &str) {
        if !self.is_recorded() {
            return;
        }
        self.set_text("error.type", class);
        if let Some(open) = &mut self.open {
            let message = message[..message.floor_char_boundary(MAX_TEXT_BYTES)].to_owned();
            open.data.status = Status::error(message);
        }
    }
}

impl Drop for TraceSpan {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        let OpenSpan { mut data, recording } = *open;
        data.end_time = SystemTime::now().max(data.start_time);
        recording.take(data);
    }
}

fn otel_context(context: &TraceContext, is_remote: bool) -> SpanContext {
    let flags = if context.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    // A state that the library does not take is carried all the same, but not shown.
    let state = context.state.as_deref().and_then(|state| state.parse::<TraceState>().ok());
    let (trace, span) = (TraceId::from(context.trace), SpanId::from(context.span));
    SpanContext::new(trace, span, flags, is_remote, state.unwrap_or_default())
}
