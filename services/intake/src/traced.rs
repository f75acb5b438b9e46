//! Spans of what comes in: of registrations, from which the stages of an order are found, and of callbacks.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use pagurus_broker::Delivery;
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::Host;
use pagurus_runtime::traces::{SpanKind, TraceSpan, messaging, names};
use pagurus_wire::problem::Problem;

/// Returns the context that a request over HTTP brings.
pub(crate) fn context_of(headers: &HeaderMap) -> Option<TraceContext> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    // Several fields of the name are one list.
    let states = headers.get_all("tracestate").iter().map(|value| value.to_str().ok());
    let states: Option<Vec<&str>> = states.collect();
    TraceContext::read(parent, states.map(|states| states.join(",")).as_deref())
}

/// The place of a registration in the trace of its client. Its span ends when nobody holds a copy any more.
#[derive(Clone, Debug)]
pub(crate) struct RegistrationTrace {
    context: Option<TraceContext>,
    /// `None` if nothing is recorded.
    span: Option<Arc<Mutex<TraceSpan>>>,
}

impl RegistrationTrace {
    /// Starts the span of a request over HTTP.
    pub fn over_http(host: &Host, headers: &HeaderMap) -> Self {
        let span = host.traces.within(context_of(headers).as_ref(), SpanKind::Server, "order.register");
        Self::of(span)
    }

    /// Starts the span of a message.
    pub fn over_amqp(host: &Host, delivery: &Delivery) -> Self {
        Self::of(message(host, delivery, &host.broker.names().orders_in))
    }

    /// Creates a place without a trace.
    pub const fn none() -> Self {
        Self { context: None, span: None }
    }

    fn of(span: TraceSpan) -> Self {
        let context = span.context().cloned();
        let span = span.is_recorded().then(|| Arc::new(Mutex::new(span)));
        Self { context, span }
    }

    /// Returns the text that is kept with the order.
    pub fn stored(&self) -> Option<String> {
        self.context.as_ref().map(TraceContext::stored)
    }

    /// Returns the id of the trace, for the log.
    pub fn trace_id(&self) -> Option<String> {
        self.context.as_ref().map(TraceContext::trace_id)
    }

    /// Records the outcome of the registration.
    pub fn record(&self, id: &str, scenario: &str, outcome: &str, problem: Option<&Problem>) {
        let Some(span) = &self.span else { return };
        let mut span = span.lock().unwrap_or_else(PoisonError::into_inner);
        span.set_text(names::ORDER_ID, id);
        span.set_text(names::SCENARIO_NAME, scenario);
        span.set(names::REGISTRATION, outcome.to_owned());
        if let Some(problem) = problem {
            span.fail(outcome, &problem.detail);
        }
    }
}

/// Starts the span of a message that came in.
pub(crate) fn message(host: &Host, delivery: &Delivery, queue: &str) -> TraceSpan {
    let context = messaging::context_of(&delivery.properties);
    let mut span = host.traces.within(context.as_ref(), SpanKind::Consumer, "process");
    messaging::process(&mut span, delivery, queue);
    span
}

/// Starts the span of a callback over HTTP.
pub(crate) fn callback(host: &Host, headers: &HeaderMap) -> TraceSpan {
    let mut span =
        host.traces.within(context_of(headers).as_ref(), SpanKind::Server, "POST /v1/callbacks/{requestId}");
    span.set("http.request.method", "POST");
    span.set("http.route", "/v1/callbacks/{requestId}");
    span
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn amqp_3_several_fields_of_a_trace_state_are_one_list() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut headers = HeaderMap::new();
        assert_eq!(context_of(&headers), None);
        headers.insert("traceparent", parent.parse().unwrap());
        assert_eq!(context_of(&headers).unwrap().state, None);
        headers.append("tracestate", "a=1".parse().unwrap());
        headers.append("tracestate", "b=2".parse().unwrap());
        assert_eq!(context_of(&headers).unwrap().state.as_deref(), Some("a=1,b=2"));
    }
}
