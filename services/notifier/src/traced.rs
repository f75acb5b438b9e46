//! Spans of notifications: of messages, and of calls to receivers.

use pagurus_broker::Message;
use pagurus_domain::trace::TraceContext;
use pagurus_http::Address;
use pagurus_runtime::Host;
use pagurus_runtime::traces::{SpanKind, TraceSpan, messaging, names};
use pagurus_store::hot::outbox::sending::Notification;

use crate::form::type_of;

/// The span of a notification, within the trace of the stage that it tells of, or of the registration where no stage
/// led to it.
pub(crate) fn notification(host: &Host, notification: &Notification, kind: SpanKind) -> TraceSpan {
    let context = notification.trace.as_deref().and_then(TraceContext::of_stored);
    let name = if kind == SpanKind::Client { "POST" } else { "publish" };
    let mut span = host.traces.within(context.as_ref(), kind, name);
    span.set(names::NOTIFICATION_TYPE, type_of(notification));
    span.set(names::NOTIFICATION_ATTEMPT, i64::from(notification.attempts) + 1);
    span
}

/// Tells what message it became.
pub(crate) fn message(span: &mut TraceSpan, message: &Message) {
    messaging::publish(span, message);
}

/// Tells which receiver is called.
pub(crate) fn addressed(span: &mut TraceSpan, address: &Address) {
    span.set("http.request.method", "POST");
    span.set_text("server.address", &address.authority.host);
    span.set("server.port", i64::from(address.authority.port));
}
