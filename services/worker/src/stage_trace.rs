//! The trace of a stage, as it follows from its order: for spans, and for lines of the log.

use pagurus_domain::trace::{TraceContext, TracedOrder};
use pagurus_runtime::Host;
use pagurus_store::hot::stages::Claimed;

/// Returns the id of the trace in which a stage is, for lines of the log about it: that of its root span, or, if nothing is
/// recorded, that of what its client sent.
pub(crate) fn trace_id(host: &Host, claimed: &Claimed) -> Option<String> {
    let registration = registration_of(claimed);
    if !host.traces.is_on() {
        return registration.map(|context| context.trace_id());
    }
    let stage = traced_order(host, claimed, registration.as_ref()).stage(claimed.attempt);
    Some(stage.trace_id())
}

/// Returns the context that the client of an order sent.
pub(crate) fn registration_of(claimed: &Claimed) -> Option<TraceContext> {
    claimed.head.trace.as_deref().and_then(TraceContext::of_stored)
}

/// Returns the facts from which the traces of an order follow.
pub(crate) fn traced_order<'a>(
    host: &Host,
    claimed: &'a Claimed,
    registration: Option<&'a TraceContext>,
) -> TracedOrder<'a> {
    TracedOrder {
        id: &claimed.head.id,
        created_at: claimed.head.created_at,
        registration,
        ratio: host.traces.sample_ratio(),
    }
}
