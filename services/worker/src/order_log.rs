//! Lines of the log about stages in which nothing is wrong (ORD-6).

use std::time::Duration;

use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use pagurus_runtime::Host;
use pagurus_runtime::order_log::{EndLine, TARGET, is_wanted};
use pagurus_store::hot::stages::{Claimed, Finished};

use crate::stage_trace;

/// A run of a stage, as its line shows it.
pub(crate) struct LoggedStage<'a> {
    /// The stage.
    pub claimed: &'a Claimed,
    /// End of the stage.
    pub finished: &'a Finished,
    /// Name of the scenario; empty where it cannot be read.
    pub scenario: &'a str,
    /// Event of its last transition.
    pub event: Option<&'a str>,
    /// Time that it took.
    pub duration: Duration,
}

/// Writes that a stage has ended, and the life that it ended, below its commit.
pub(crate) fn stage_ended(host: &Host, stage: &LoggedStage<'_>) {
    let LoggedStage { claimed, finished, scenario, event, duration } = stage;
    let head = &claimed.head;
    if !is_wanted(&head.id) {
        return;
    }
    let status = finished.then.status();
    let trace = stage_trace::trace_id(host, claimed);
    let class = error_of(&finished.then).and_then(|error| error.class.as_deref());
    let retries = head.retries + i32::from(finished.repeated());
    tracing::info!(
        target: TARGET,
        order = head.id,
        transaction = head.transaction_id,
        scenario,
        trace,
        hand_out = finished.attempt.0,
        step = finished.step,
        event,
        status = status.as_str(),
        class,
        retries,
        ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        "a stage has ended"
    );
    if !status.is_final() {
        return;
    }
    let before = head.started_at.map(|started| finished.started_at.duration_since(started).unsigned_abs());
    EndLine {
        order: head,
        scenario,
        trace,
        status,
        class,
        stages: head.stages + i32::from(finished.ran()),
        retries,
        lasted: Some(before.unwrap_or_default() + *duration),
    }
    .write();
}

/// Returns the error that a stage left behind.
pub(crate) const fn error_of(then: &Then) -> Option<&OrderError> {
    match then {
        Then::Retry { error, .. } | Then::End { error: Some(error), .. } => Some(error),
        _ => None,
    }
}
