//! Judges a failure against policy and limits: the next attempt, or why there is none. Must never
//! read a clock; every moment comes in.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Cycle, DurationControl, ErrorClass, ErrorPolicy, Failure, GiveUp, RetryMode};

/// How long a called system can keep an order away with `Retry-After`. Longer wishes are more
/// often a mistake of the other side than a plan, and they would outlast any policy.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(15 * 60);

/// See [`super::on_failure`].
pub(super) fn next_attempt(
    errors: &ErrorPolicy,
    failure: &Failure<'_>,
    before: Option<&Cycle>,
    now: Timestamp,
    dice: f64,
) -> Result<(Timestamp, Cycle), GiveUp> {
    if errors.mode == RetryMode::None {
        return Err(GiveUp::Disabled);
    }
    let class = failure.class.ok_or(GiveUp::NoClass)?;
    let policy = errors.policy_for(failure.scenario, class.as_str()).ok_or(GiveUp::NoPolicy)?;
    let mut cycle = continued(before, class, failure, now);
    if policy.max_attempts.is_some_and(|most| cycle.attempts >= most) {
        return Err(GiveUp::AttemptsExhausted);
    }
    cycle.attempts = cycle.attempts.saturating_add(1);
    policy.name.clone_into(&mut cycle.policy);
    let wished = failure.retry_after.map_or(Duration::ZERO, |wish| wish.min(MAX_RETRY_AFTER));
    let delay = policy.interval(cycle.attempts, dice).max(wished);

    let spent = match errors.duration_control {
        DurationControl::Total => elapsed(cycle.started_at, now),
        DurationControl::RunAndSuspending => elapsed(cycle.started_at, now).saturating_sub(cycle.suspended),
    };
    let spent_then = spent.saturating_add(delay);
    if policy.max_duration.is_some_and(|most| spent_then > most) {
        return Err(GiveUp::DurationExhausted);
    }
    if spent_then > errors.max_cycle_duration {
        return Err(GiveUp::CycleDurationExhausted);
    }
    let held = failure.sequential_since.map(|since| elapsed(since, now).saturating_add(delay));
    if held.is_some_and(|held| held > failure.max_acquisition) {
        return Err(GiveUp::AcquisitionExhausted);
    }
    Ok((after(now, delay), cycle))
}

/// The cycle before, if its class came back; else a new one.
fn continued(before: Option<&Cycle>, class: &ErrorClass, failure: &Failure<'_>, now: Timestamp) -> Cycle {
    if let Some(before) = before.filter(|before| before.class == *class) {
        let waited = match (failure.due_at, failure.started_at) {
            (Some(due_at), Some(started_at)) => elapsed(due_at, started_at),
            _ => Duration::ZERO,
        };
        return Cycle { suspended: before.suspended.saturating_add(waited), ..before.clone() };
    }
    Cycle {
        class: class.clone(),
        policy: String::new(),
        number: before.map_or(1, |before| before.number.saturating_add(1)),
        attempts: 0,
        started_at: now,
        suspended: Duration::ZERO,
    }
}

/// The time between two moments; nothing if the clock went back.
fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

fn after(now: Timestamp, delay: Duration) -> Timestamp {
    SignedDuration::try_from(delay)
        .ok()
        .and_then(|delay| now.checked_add(delay).ok())
        .unwrap_or(Timestamp::MAX)
}
