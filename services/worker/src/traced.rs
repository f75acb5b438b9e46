//! Spans of a worker: of stages, of calls, and of messages, by the conventions of OpenTelemetry.
//!
//! URLs are shown without path and query, where secrets may stand; bodies and headers never.

use pagurus_broker::Message;
use pagurus_domain::id::Attempt;
use pagurus_domain::order::stage::Wake;
use pagurus_domain::trace::TraceContext;
use pagurus_http::Authority;
use pagurus_runtime::Host;
use pagurus_runtime::traces::{SpanKind, TraceSpan, messaging, names};
use pagurus_scenario::stage::{Answer, HttpCall, HttpFailure, Response};
use pagurus_store::hot::stages::Claimed;

use crate::claim::ClaimedStage;
use crate::finish::StageFinish;
use crate::order_log::error_of;
use crate::stage_trace::{registration_of, traced_order};

/// Starts the root span of a stage, with links to what was before it. If nothing is recorded, the context of the order's
/// client is handed on.
pub(crate) fn stage(host: &Host, work: &ClaimedStage) -> TraceSpan {
    let claimed = &work.claimed;
    let registration = registration_of(claimed);
    if !host.traces.is_on() {
        return TraceSpan::unrecorded(registration);
    }
    let order = traced_order(host, claimed, registration.as_ref());
    let mut span = host.traces.root(order.stage(claimed.attempt), SpanKind::Internal, "order.stage");
    if !span.is_recorded() {
        return span;
    }
    span.began(work.claimed_at.elapsed());
    describe(&mut span, claimed);
    if let Some(registration) = &registration {
        span.link(registration, "registration");
    }
    let Attempt(attempt) = claimed.attempt;
    if attempt > 1 {
        span.link(&order.stage(Attempt(1)), "first");
    }
    if attempt > 2 {
        span.link(&order.stage(Attempt(attempt - 1)), "previous");
    }
    if let Some(callback) = last_callback(work) {
        span.link(&callback, "callback");
    }
    span
}

/// Returns the context of the answer that woke the order.
fn last_callback(work: &ClaimedStage) -> Option<TraceContext> {
    let woken = work.claimed.wake == Wake::Callback;
    let last = work.callbacks.iter().filter(|_| woken).max_by_key(|callback| callback.no)?;
    TraceContext::read(last.header("traceparent")?, last.header("tracestate"))
}

fn describe(span: &mut TraceSpan, claimed: &Claimed) {
    span.set_text(names::ORDER_ID, &claimed.head.id);
    span.set(names::LIFE, i64::from(claimed.head.life.0));
    span.set(names::STAGE, i64::from(claimed.attempt.0));
    span.set(names::WAKE, claimed.wake.as_str());
    span.set(names::WAITED_SECONDS, claimed.waited_ms() as f64 / 1000.0);
    span.set_text(names::FLOW, &claimed.flow);
    if let Some(transaction) = &claimed.head.transaction_id {
        span.set_text(names::TRANSACTION_ID, transaction);
    }
    if let Some(queue) = &claimed.queue {
        span.set_text(names::QUEUE, queue);
    }
}

/// Records how a stage ended; its notifications go on from there.
pub(crate) fn ended(span: &mut TraceSpan, end: &StageFinish) {
    if !span.is_recorded() {
        return;
    }
    if let Some(scenario) = &end.run.scenario {
        span.set_text(names::SCENARIO_NAME, &scenario.name);
        span.set(names::SCENARIO_VERSION, i64::from(scenario.version));
    }
    span.set(names::STATUS, end.finished.then.status().as_str());
    if let Some(step) = &end.finished.step {
        span.set_text(names::STEP, step);
    }
    if let Some(error) = error_of(&end.finished.then) {
        span.fail(error.class_word(), &error.message);
    }
}

/// Starts the span of a call.
pub(crate) fn call(host: &Host, stage: Option<&TraceContext>, call: &HttpCall) -> TraceSpan {
    let mut span = host.traces.within(stage, SpanKind::Client, call.method.as_str());
    span.set("http.request.method", call.method.as_str());
    if span.is_recorded() {
        span.set_text(names::SYSTEM, &call.system());
    }
    span
}

/// Records where a call goes.
pub(crate) fn addressed(span: &mut TraceSpan, authority: &Authority) {
    span.set_text("server.address", &authority.host);
    span.set("server.port", i64::from(authority.port));
}

/// Records the result of a call.
pub(crate) fn answered(span: &mut TraceSpan, answer: &Result<Response, HttpFailure>) {
    if !span.is_recorded() {
        return;
    }
    match answer {
        Ok(response) => {
            span.set("http.response.status_code", i64::from(response.status));
            if response.status >= 400 {
                span.fail(&response.status.to_string(), "");
            }
        }
        // Its text may name a URL, with what stands in there.
        Err(failure) => span.fail(failure.chain.last().copied().unwrap_or("HttpError"), ""),
    }
}

/// Starts the span of a message, whose headers carry it on.
pub(crate) fn message(
    host: &Host,
    stage: Option<&TraceContext>,
    vhost: Option<&str>,
    message: &mut Message,
) -> TraceSpan {
    let mut span = host.traces.within(stage, SpanKind::Producer, "publish");
    messaging::publish(&mut span, message);
    if let Some(vhost) = vhost {
        span.set_text(names::VHOST, vhost);
    }
    messaging::carry(&mut message.properties, span.context());
    span
}

/// Records the result of a message.
pub(crate) fn published(span: &mut TraceSpan, answer: &Answer) {
    if let Answer::Unpublished(why) = answer {
        span.fail("amqp.unpublished", why);
    }
}

/// Records that a stage is somebody else's by now.
pub(crate) fn stale(span: &mut TraceSpan) {
    span.fail("stale", "the stage was given to another, or its order was ended");
}
