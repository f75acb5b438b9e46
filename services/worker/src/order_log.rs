//! Lines of the log about orders in which nothing is wrong, in a target of their own: `orders` (ORD-6).

use std::time::Duration;

use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use pagurus_runtime::Host;
use pagurus_store::hot::stages::{Claimed, Finished};

use crate::stage_trace;

/// Writes that a stage has ended, below its commit.
pub(crate) fn stage_ended(host: &Host, claimed: &Claimed, finished: &Finished, duration: Duration) {
    if !tracing::enabled!(target: "orders", tracing::Level::INFO) {
        return;
    }
    tracing::info!(
        target: "orders",
        order = claimed.head.id,
        transaction = claimed.head.transaction_id,
        trace = stage_trace::trace_id(host, claimed),
        attempt = finished.attempt.0,
        step = finished.step,
        status = finished.then.status().as_str(),
        class = error_of(&finished.then).and_then(|error| error.class.as_deref()),
        ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        "a stage has ended"
    );
}

/// Returns the error that a stage left behind.
pub(crate) const fn error_of(then: &Then) -> Option<&OrderError> {
    match then {
        Then::Retry { error, .. } | Then::End { error: Some(error), .. } => Some(error),
        _ => None,
    }
}
