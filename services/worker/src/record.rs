//! Stages in the history of their orders, as JSON.

use jiff::Timestamp;
use pagurus_domain::json::json_text;
use pagurus_domain::order::ledger::LedgerReason;
use pagurus_domain::order::stage::Then;
use pagurus_domain::time;
use pagurus_scenario::stage::{LogLine, StepMade, Transition};
use pagurus_store::hot::stages::Claimed;
use serde::Serialize;

/// A stage, or the part of it up to an entry point, in the history of its order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StageRecord<'a> {
    attempt: i32,
    wake: &'static str,
    /// Milliseconds for which it was ready before it was claimed.
    waited_ms: u64,
    #[serde(serialize_with = "time::serialize")]
    started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    ended_at: Option<Timestamp>,
    /// The reason of the suspension, where the status does not say it: the class of an error, or a system left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    rests: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    transitions: &'a [Transition],
    log: &'a [LogLine],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    steps: &'a [StepMade],
}

/// Returns the JSON of a stage for the history, with its end unless it goes on.
pub(crate) fn record(
    claimed: &Claimed,
    (transitions, log, steps): (&[Transition], &[LogLine], &[StepMade]),
    end: Option<(&Then, Timestamp)>,
) -> String {
    let record = StageRecord {
        attempt: claimed.attempt.0,
        wake: claimed.wake.as_str(),
        waited_ms: claimed.waited_ms(),
        started_at: claimed.now,
        ended_at: end.map(|(_, at)| at),
        rests: end.and_then(|(then, _)| rests(then)),
        status: end.map(|(then, _)| then.status().as_str()),
        transitions,
        log,
        steps,
    };
    json_text(&record)
}

fn rests(then: &Then) -> Option<&str> {
    match then {
        Then::Hold { .. } => Some(LedgerReason::System.as_str()),
        Then::Retry { error, .. } => error.class.as_deref(),
        _ => None,
    }
}
