//! What an order in `retry` shows of its cycles (ERR-14).

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::order::{Mode, Status};
use pagurus_domain::retry::{Cycle, Standing};
use pagurus_runtime::config::Settings;
use pagurus_store::orders::OrderView as Row;
use pagurus_wire::order::RetryView;
use serde_json::Value;

/// The cycles of an order, by its stored position.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    /// What the order waits for, while it is in `retry`.
    pub waiting: Option<RetryView>,
    /// The asynchronous cycle that goes on, also while its next answer is awaited.
    pub asynchronous: Option<RetryView>,
}

/// Reads the cycles and holds them against the present configuration, which judges the next failure.
pub(super) fn cycles(settings: &Settings, row: &Row, now: Timestamp) -> Cycles {
    let stored: Value =
        row.snapshot.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let cycle = |key: &str| stored.get(key).and_then(Cycle::from_value);
    let next_at = row.due_at.filter(|_| row.status == Status::Retry);
    let asynchronous = cycle("asyncCycle").map(|cycle| {
        let standing = settings.errors.async_standing(&row.scenario, &cycle);
        view(&cycle, "async", standing.max_attempts, standing.ends_at, next_at, now)
    });
    if row.status != Status::Retry {
        return Cycles { waiting: None, asynchronous: asynchronous.filter(|_| !row.status.is_final()) };
    }
    let synchronous = cycle("cycle").map(|cycle| {
        let Standing { max_attempts, mut ends_at } = settings.errors.standing(&row.scenario, &cycle);
        if let Some(around) = cycle_around(&stored) {
            ends_at = ends_at.min(settings.errors.async_cycle_ends_at(&around));
        }
        if row.mode == Mode::Sequential
            && let Some(end) = acquisition_ends_at(settings, &stored)
        {
            ends_at = ends_at.min(end);
        }
        view(&cycle, "sync", max_attempts, ends_at, next_at, now)
    });
    Cycles { waiting: synchronous.or_else(|| asynchronous.clone()), asynchronous }
}

/// The cycle in words, after a semicolon: `attempt 2 of 20 of cycle 1 by policy `shop``.
pub(super) fn told(view: &RetryView) -> String {
    let of = view.max_attempts.map_or_else(String::new, |most| format!(" of {most}"));
    let end = view.ends_at.map_or_else(String::new, |end| format!("; none begins after {end}"));
    format!("attempt {}{of} of cycle {} by policy `{}`{end}", view.attempt, view.cycle, view.policy)
}

fn cycle_around(stored: &Value) -> Option<Cycle> {
    stored.get("asyncCycle").and_then(Cycle::from_value)
}

/// A sequential order may not hold its queue for longer, whatever its cycles say (ORD-12).
fn acquisition_ends_at(settings: &Settings, stored: &Value) -> Option<Timestamp> {
    let since: Timestamp = stored.get("retryingSince")?.as_str()?.parse().ok()?;
    let most = SignedDuration::try_from(settings.resource_control.max_acquisition_duration).ok()?;
    since.checked_add(most).ok()
}

fn view(
    cycle: &Cycle,
    kind: &str,
    max_attempts: Option<u32>,
    ends_at: Timestamp,
    next_at: Option<Timestamp>,
    now: Timestamp,
) -> RetryView {
    RetryView {
        kind: kind.to_owned(),
        class: cycle.class.to_string(),
        policy: cycle.policy.clone(),
        cycle: cycle.number,
        attempt: cycle.attempts,
        max_attempts,
        started_at: Some(cycle.started_at),
        next_at,
        ends_at: Some(ends_at),
        time_left_ms: u64::try_from(ends_at.duration_since(now).as_millis()).ok().or(Some(0)),
    }
}
