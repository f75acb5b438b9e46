//! Operations as tables and sentences.

use pagurus_wire::operations::{OperationOrderView, OperationOutcome, OperationView};
use serde_json::Value;

use crate::list::who;
use crate::screen::{Screen, harmless, time};

/// Operations in a table.
pub(super) fn listed(operations: &[OperationView], screen: &Screen) -> String {
    let rows: Vec<[String; 9]> = operations
        .iter()
        .map(|one| {
            [
                one.no.to_string(),
                one.action.clone(),
                one.state.clone(),
                share(one),
                one.skipped.to_string(),
                one.failed.to_string(),
                left(one),
                time(one.made_at),
                one.reason.clone(),
            ]
        })
        .collect();
    let head = ["NO", "ACTION", "STATE", "DONE", "SKIPPED", "FAILED", "LEFT", "SINCE", "REASON"];
    screen.table(&head, &rows)
}

/// Formats an operation with all that is known of it.
pub(super) fn shown(one: &OperationView, screen: &Screen) -> String {
    let aftermath = one.aftermath.map(|after| {
        format!(
            "{} succeeded, {} failed again, {} failed otherwise, {} left, {} not ended yet",
            after.succeeded, after.failed_again, after.failed_otherwise, after.left, after.open
        )
    });
    let state = match &one.because {
        Some(because) => format!("{}: {}", one.state, harmless(because)),
        None => one.state.clone(),
    };
    let pairs = [
        ("operation", Some(one.no.to_string())),
        ("action", Some(with(one))),
        (
            "orders",
            Some(
                one.again.map_or_else(|| conditions(&one.search), |no| format!("those of {no} that failed")),
            ),
        ),
        ("reason", Some(one.reason.clone())),
        ("by", who(&one.by)),
        ("since", Some(time(one.made_at))),
        ("urgency", Some(one.urgency.clone())),
        ("rate", one.rate.map(|rate| format!("{rate} orders a second"))),
        ("ramp", one.ramp.as_ref().map(ToString::to_string)),
        ("follows until", one.follow_until.map(time)),
        ("state", Some(state)),
        ("selected", Some(format!("{}{}", one.total, if one.selecting { ", and more to come" } else { "" }))),
        ("done", Some(share(one))),
        ("skipped", Some(one.skipped.to_string())),
        ("failed", Some(one.failed.to_string())),
        ("outcomes", aftermath),
        ("speed", (one.speed > 0.0).then(|| format!("{:.1} orders a second", one.speed))),
        ("left", Some(left(one)).filter(|text| !text.is_empty())),
        ("ended", one.ended_at.map(time)),
    ];
    let mut text = screen.pairs(&pairs);
    if !one.reasons.is_empty() {
        let rows: Vec<[String; 4]> = one
            .reasons
            .iter()
            .map(|reason| {
                [
                    reason.outcome.clone(),
                    reason.orders.to_string(),
                    reason.reason.clone(),
                    reason.example.clone().unwrap_or_default(),
                ]
            })
            .collect();
        text.push_str(&format!("\n\n{}", screen.table(&["OUTCOME", "ORDERS", "REASON", "NEWEST"], &rows)));
    }
    text
}

/// Orders of an operation in a table.
pub(super) fn orders(orders: &[OperationOrderView], screen: &Screen) -> String {
    let rows: Vec<[String; 4]> = orders
        .iter()
        .map(|order| {
            [
                order.id.clone().unwrap_or_else(|| "(removed)".to_owned()),
                order.outcome.clone(),
                order.aftermath.clone().unwrap_or_default(),
                order.reason.clone().unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["ORDER", "OUTCOME", "BECAME", "REASON"], &rows)
}

/// Effect that an operation would have.
pub(super) fn would_be(action: &str, outcome: &OperationOutcome) -> String {
    let orders = outcome.orders.unwrap_or_default();
    let at_least = if outcome.complete == Some(false) { "at least " } else { "" };
    let which = match outcome.examples.as_slice() {
        [] => String::new(),
        examples => {
            let more = if orders > examples.len() as u64 { ", …" } else { "" };
            format!(": {}{more}", examples.join(", "))
        }
    };
    format!("{action} {at_least}{}{which}", counted(orders))
}

/// Summary of an operation.
pub(super) fn summary(one: &OperationView) -> String {
    let mut text = format!("{}: {} of {} done", one.action, one.done, counted(one.total));
    if one.skipped > 0 {
        text.push_str(&format!(", {} passed over", one.skipped));
    }
    if one.failed > 0 {
        text.push_str(&format!(", {} failed", one.failed));
    }
    if one.state != "done" {
        let because = one.because.as_deref().map(|because| format!(": {}", harmless(because)));
        text.push_str(&format!("; it is {}{}", one.state, because.unwrap_or_default()));
    }
    for reason in &one.reasons {
        text.push_str(&format!(
            "\n- {}: {}",
            counted(reason.orders.unsigned_abs()),
            harmless(&reason.reason)
        ));
    }
    text
}

fn with(one: &OperationView) -> String {
    match one.with.as_object() {
        Some(fields) if !fields.is_empty() => format!("{} {}", one.action, one.with),
        _ => one.action.clone(),
    }
}

/// Conditions of a search: `status fail, interrupted; flow billing`.
fn conditions(search: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let written = |value: &Value| match value {
        Value::Array(all) => all.iter().map(word).collect::<Vec<_>>().join(", "),
        one => word(one),
    };
    let all = search.as_object().into_iter().flatten();
    all.map(|(name, value)| format!("{name} {}", written(value))).collect::<Vec<_>>().join("; ")
}

fn share(one: &OperationView) -> String {
    let of = if one.selecting { format!("{}+", one.total) } else { one.total.to_string() };
    format!("{} of {of}", one.done)
}

fn left(one: &OperationView) -> String {
    match one.seconds_left {
        Some(seconds) if seconds >= 1.0 => format!("{seconds:.0} s"),
        _ => String::new(),
    }
}

fn counted(orders: u64) -> String {
    if orders == 1 { "1 order".to_owned() } else { format!("{orders} orders") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn operation() -> OperationView {
        serde_json::from_str(
            r#"{"no": 7, "action": "restart", "with": {"from": "pay"}, "search": {"status": ["fail", "interrupted"], "flow": "billing", "no": 7}, "reason": "mended",
                "by": {"door": "http", "name": "ann", "from": "10.0.0.7:41000"}, "madeAt": "2026-01-02T11:05:00Z", "urgency": "normal", "state": "paused", "because": "too many failed",
                "selecting": false, "total": 5, "done": 2, "skipped": 1, "failed": 2, "speed": 0.0,
                "aftermath": {"succeeded": 1, "failedAgain": 1, "failedOtherwise": 0, "left": 0, "open": 0},
                "reasons": [{"outcome": "failed", "reason": "`x` is no state", "orders": 2, "example": "o-9"}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn rec_12_an_operation_says_how_its_orders_ended_and_why() {
        assert_eq!(
            summary(&operation()),
            "restart: 2 of 5 orders done, 1 passed over, 2 failed; it is paused: too many failed\n- 2 orders: `x` is no state"
        );
        let shown = shown(&operation(), &Screen::plain());
        for part in [
            "restart {\"from\":\"pay\"}",
            "1 succeeded, 1 failed again",
            "paused: too many failed",
            "o-9",
            "flow billing; no 7; status fail, interrupted\n",
            " ann\n",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let table = listed(&[operation()], &Screen::plain());
        assert!(table.lines().nth(1).unwrap().starts_with("7   restart  paused  2 of 5"), "{table}");
    }

    #[test]
    fn rec_12_a_dry_run_says_how_many_it_would_be() {
        let outcome = OperationOutcome {
            orders: Some(7),
            complete: Some(false),
            examples: vec!["a".into(), "b".into()],
            ..OperationOutcome::default()
        };
        assert_eq!(would_be("kill", &outcome), "kill at least 7 orders: a, b, …");
        let one = OperationOutcome { orders: Some(1), complete: Some(true), ..OperationOutcome::default() };
        assert_eq!(would_be("kill", &one), "kill 1 order");
    }
}
