//! Lines of the log about stages in which nothing is wrong (ORD-6).

use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use pagurus_runtime::Host;
use pagurus_runtime::order_log::{TARGET, is_wanted};

use crate::finish::StageFinish;
use crate::stage_trace;

/// Writes that a stage has ended, and the life that it ended, below its commit.
pub(crate) fn stage_ended(host: &Host, end: &StageFinish) {
    let head = &end.claimed.head;
    if !is_wanted(&head.id) {
        return;
    }
    let finished = &end.finished;
    let status = finished.then.status();
    let trace = stage_trace::trace_id(host, &end.claimed);
    let class = error_of(&finished.then).and_then(|error| error.class.as_deref());
    let scenario = end.run.scenario.as_ref().map_or("", |scenario| &scenario.name);
    let retries = head.retries + i32::from(finished.repeated());
    tracing::info!(
        target: TARGET,
        order = head.id,
        transaction = head.transaction_id,
        scenario,
        trace,
        hand_out = finished.attempt.0,
        step = finished.step,
        event = end.event,
        status = status.as_str(),
        class,
        retries,
        ms = u64::try_from(end.run.duration.as_millis()).unwrap_or(u64::MAX),
        "a stage has ended"
    );
    if !status.is_final() {
        return;
    }
    let before = head.started_at.map(|started| finished.started_at.duration_since(started).unsigned_abs());
    let life = before.unwrap_or_default() + end.run.duration;
    tracing::info!(
        target: TARGET,
        order = head.id,
        transaction = head.transaction_id,
        scenario,
        trace,
        status = status.as_str(),
        class,
        life = head.life.0,
        stages = head.stages + i32::from(finished.ran()),
        retries,
        ms = u64::try_from(life.as_millis()).unwrap_or(u64::MAX),
        "an order has ended"
    );
}

/// Returns the error that a stage left behind.
pub(crate) const fn error_of(then: &Then) -> Option<&OrderError> {
    match then {
        Then::Retry { error, .. } | Then::End { error: Some(error), .. } => Some(error),
        _ => None,
    }
}
