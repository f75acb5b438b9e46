//! Cycles of an order in `retry`, as it shows them (ERR-14).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::order::{Mode, Status};
use pagurus_domain::retry::{Cycle, ErrorRules, Standing};
use pagurus_runtime::config::Settings;
use pagurus_scenario::Scenario;
use pagurus_scenario::stage::Snapshot;
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_wire::order::RetryView;
use serde_json::Value;

/// The cycles of an order, by its stored position.
#[derive(Debug, Default)]
pub(crate) struct Cycles {
    /// Cycle that the order waits for, while it is in `retry`.
    pub waiting: Option<RetryView>,
    /// The asynchronous cycle that goes on, also while its next answer is awaited.
    pub asynchronous: Option<RetryView>,
}

/// Reads the cycles and holds them against the present configuration, which judges the next failure with what the
/// scenario of the order brings along.
pub(crate) fn cycles(settings: &Settings, scenario: Option<&Scenario>, row: &Row, now: Timestamp) -> Cycles {
    let stored = row.snapshot.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let order = RetryOrder {
        scenario: &row.scenario,
        status: row.status,
        due_at: row.due_at,
        max_acquisition: (row.mode == Mode::Sequential && row.position.is_some())
            .then_some(settings.resource_control.max_acquisition_duration),
    };
    let stored: Value = stored.unwrap_or_default();
    let errors = match scenario {
        // A failure in an operation is judged by the rules of that first.
        Some(scenario) => Snapshot::from_value(&stored).unwrap_or_default().rules(&settings.errors, scenario),
        None => ErrorRules::from(&settings.errors),
    };
    read(errors, &order, &stored, now)
}

/// Parts of an order by which its cycles are shown.
struct RetryOrder<'a> {
    scenario: &'a str,
    status: Status,
    due_at: Option<Timestamp>,
    /// Longest time for it to hold its queue; none for an order that holds none.
    max_acquisition: Option<Duration>,
}

fn read(errors: ErrorRules<'_>, order: &RetryOrder<'_>, stored: &Value, now: Timestamp) -> Cycles {
    if order.status.is_final() {
        return Cycles::default();
    }
    let is_retry = order.status == Status::Retry;
    let next_at = order.due_at.filter(|_| is_retry);
    let cycle = |key: &str| stored.get(key).and_then(Cycle::from_value);
    let around = cycle("asyncCycle");
    let asynchronous = around.as_ref().map(|cycle| {
        let mut standing = errors.async_standing(order.scenario, cycle);
        if let Some(end) = acquisition_ends_at(order, stored) {
            standing.ends_at = standing.ends_at.min(end);
        }
        view(cycle, "async", standing, next_at, now)
    });
    let synchronous = cycle("cycle").filter(|_| is_retry).map(|cycle| {
        let mut standing = errors.standing(order.scenario, &cycle);
        let around = around.as_ref().map(|around| errors.async_cycle_ends_at(order.scenario, around));
        for end in [around, acquisition_ends_at(order, stored)].into_iter().flatten() {
            standing.ends_at = standing.ends_at.min(end);
        }
        view(&cycle, "sync", standing, next_at, now)
    });
    let waiting = synchronous.or_else(|| asynchronous.clone().filter(|_| is_retry));
    Cycles { waiting, asynchronous }
}

/// The cycle in words, after a semicolon: `attempt 2 of 20 of cycle 1 by policy `shop``.
pub(crate) fn summary(view: &RetryView) -> String {
    let of = view.max_attempts.map_or_else(String::new, |most| format!(" of {most}"));
    let end = view.ends_at.map_or_else(String::new, |end| format!("; no attempt after {end:.3}"));
    format!("attempt {}{of} of cycle {} by policy `{}`{end}", view.attempt, view.cycle, view.policy)
}

/// A sequential order may not hold its queue for longer, whatever its cycles say (ORD-12).
fn acquisition_ends_at(order: &RetryOrder<'_>, stored: &Value) -> Option<Timestamp> {
    let since: Timestamp = stored.get("retryingSince")?.as_str()?.parse().ok()?;
    since.checked_add(SignedDuration::try_from(order.max_acquisition?).ok()?).ok()
}

fn view(
    cycle: &Cycle,
    kind: &str,
    Standing { max_attempts, ends_at }: Standing,
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use pagurus_domain::document::{DocumentLimits, parse};
    use pagurus_domain::retry::ErrorPolicy;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-02T{text}Z").parse().unwrap()
    }

    fn rules() -> ErrorPolicy {
        let text = "sync: {retry: {policies: {s: {error_classes: [c], parameters: {max_attempts: 20, max_duration: 2h}}}}}
async: {retry: {max_cycle_duration: 6h, policies: {a: {error_classes: [async.timeout], parameters: {max_attempts: 3}}}}}";
        ErrorPolicy::read(&parse(text, &DocumentLimits::default()).unwrap()).unwrap()
    }

    fn cycle(class: &str, policy: &str, started_at: &str) -> Value {
        json!({"class": class, "policy": policy, "number": 1, "attempts": 2, "startedAt": at(started_at), "suspendedMs": 0})
    }

    fn order(status: Status) -> RetryOrder<'static> {
        RetryOrder { scenario: "x", status, due_at: Some(at("12:05:00")), max_acquisition: None }
    }

    #[test]
    fn err_14_a_retry_shows_the_attempt_of_how_many_and_the_time_that_is_left() {
        let stored = json!({"cycle": cycle("c", "s", "11:00:00"), "retryingSince": at("10:30:00")});
        let shown = read((&rules()).into(), &order(Status::Retry), &stored, at("12:00:00")).waiting.unwrap();
        assert_eq!((shown.kind.as_str(), shown.attempt, shown.max_attempts), ("sync", 2, Some(20)));
        assert_eq!((shown.next_at, shown.ends_at), (Some(at("12:05:00")), Some(at("13:00:00"))));
        assert_eq!(shown.time_left_ms, Some(3_600_000));
        assert_eq!(
            summary(&shown),
            "attempt 2 of 20 of cycle 1 by policy `s`; no attempt after 2026-01-02T13:00:00.000Z"
        );
        let sequential =
            RetryOrder { max_acquisition: Some(Duration::from_secs(2 * 3600)), ..order(Status::Retry) };
        let shown = read((&rules()).into(), &sequential, &stored, at("12:00:00")).waiting.unwrap();
        assert_eq!(shown.ends_at, Some(at("12:30:00")), "its queue is held since the first failure");
        let late = read((&rules()).into(), &order(Status::Retry), &stored, at("13:30:00")).waiting.unwrap();
        assert_eq!(late.time_left_ms, Some(0));
    }

    #[test]
    fn err_12_an_asynchronous_cycle_is_shown_beside_the_synchronous_one_inside_it() {
        let stored = json!({"asyncCycle": cycle("async.timeout", "a", "06:30:00")});
        let alone = read((&rules()).into(), &order(Status::Retry), &stored, at("12:00:00"));
        let waiting = alone.waiting.unwrap();
        assert_eq!(
            (waiting.kind.as_str(), waiting.max_attempts, waiting.ends_at),
            ("async", Some(3), Some(at("12:30:00")))
        );
        assert_eq!(alone.asynchronous, Some(waiting.clone()));

        let awaited = read((&rules()).into(), &order(Status::Wait), &stored, at("12:00:00"));
        assert!(awaited.waiting.is_none() && awaited.asynchronous.unwrap().next_at.is_none());
        let ended = read((&rules()).into(), &order(Status::Fail), &stored, at("12:00:00"));
        assert!(ended.waiting.is_none() && ended.asynchronous.is_none());

        let nested = json!({"asyncCycle": cycle("async.timeout", "a", "06:30:00"), "cycle": cycle("c", "s", "11:55:00")});
        let both = read((&rules()).into(), &order(Status::Retry), &nested, at("12:00:00"));
        let waiting = both.waiting.unwrap();
        assert_eq!(
            (waiting.kind.as_str(), waiting.ends_at),
            ("sync", Some(at("12:30:00"))),
            "not beyond the cycle around it"
        );
        assert_eq!(both.asynchronous.unwrap().kind, "async");
    }
}
