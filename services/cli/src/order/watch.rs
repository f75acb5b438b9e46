//! `pagurus order watch`: each change of an order in a line, until it ends.
//!
//! Every line is the difference of two readings, so nothing is said twice and a reading that
//! failed costs nothing but time.

use std::time::{Duration, Instant};

use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_domain::order::Status;
use pagurus_wire::order::{OrderView, TransitionView};
use serde_json::{Value, json};

use super::{outcome, show, view_of};
use crate::client::ApiClient;
use crate::failure::{CliError, NOT_YET};
use crate::screen::{Paint, Screen, harmless, sent_time, time};

/// Interval between two readings; the end of the order is seen at once.
const INTERVAL: Duration = Duration::from_millis(500);

/// Follows an order to its end.
pub(super) async fn run(
    id: &str,
    timeout: Option<Duration>,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let begun = Instant::now();
    let until = timeout.and_then(|timeout| begun.checked_add(timeout));
    let mut before: Option<OrderView> = None;
    loop {
        let now = view_of(id, until, client).await?;
        for change in changes(before.as_ref(), &now) {
            if screen.json {
                screen.value(&change.to_value(&now))?;
            } else {
                screen.line(&change.to_line(&now, screen))?;
            }
        }
        if now.more_transitions && before.as_ref().is_none_or(|before| !before.more_transitions) {
            screen.note("further transitions are not shown here: see `pagurus order log`");
        }
        if is_final(&now.status) {
            return outcome(&now.status);
        }
        if timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
            screen.note("the time is over; the order goes on");
            return Err(CliError::Reported(NOT_YET));
        }
        before = Some(now);
        let left = timeout.map_or(INTERVAL, |timeout| timeout.saturating_sub(begun.elapsed()).min(INTERVAL));
        client.patiently(until, || client.poll(id, left)).await?;
    }
}

fn is_final(status: &str) -> bool {
    status.parse::<Status>().is_ok_and(Status::is_final)
}

/// Something that is new about an order.
#[derive(Debug, PartialEq)]
enum OrderUpdate<'a> {
    /// Transition to another state.
    Moved(&'a TransitionView),
    /// Another status, or the same once more.
    Status,
}

/// News of an order, in the order in which they happened. At the first reading the moves of this life
/// are new, those of former lives are not.
fn changes<'a>(before: Option<&OrderView>, now: &'a OrderView) -> Vec<OrderUpdate<'a>> {
    let known = before.map_or(0, |before| before.transitions.len());
    let moved = now.transitions.iter().skip(known).filter(|moved| before.is_some() || moved.life == now.life);
    let mut changes: Vec<OrderUpdate<'a>> = moved.map(OrderUpdate::Moved).collect();
    let standing = |view: &OrderView| {
        (view.status.clone(), view.step.clone(), view.life, view.stages, view.node.clone())
    };
    if before.is_none_or(|before| standing(before) != standing(now)) {
        changes.push(OrderUpdate::Status);
    }
    changes
}

impl OrderUpdate<'_> {
    fn to_line(&self, now: &OrderView, screen: &Screen) -> String {
        match self {
            Self::Moved(moved) => {
                let text = format!("{} --{}--> {}", moved.from, moved.event, moved.to);
                format!("{}  {}", screen.paint(Paint::Dim, &sent_time(&moved.at)), harmless(&text))
            }
            Self::Status => {
                let at = screen.paint(Paint::Dim, &time(now.updated_at));
                format!("{at}  {}{}", screen.status(&now.status), harmless(&circumstances(now)))
            }
        }
    }

    fn to_value(&self, now: &OrderView) -> Value {
        match self {
            Self::Moved(moved) => json!({"kind": "transition", "id": now.id, "transition": moved}),
            Self::Status => json!({
                "kind": "status", "id": now.id, "status": now.status, "final": is_final(&now.status),
                "step": now.step, "life": now.life, "stages": now.stages, "retries": now.retries, "at": now.updated_at,
                "dueAt": now.due_at, "error": now.error, "retry": now.retry, "message": now.message,
                "result": now.result,
            }),
        }
    }
}

/// Words that belong to the status, behind it.
fn circumstances(now: &OrderView) -> String {
    let mut text = String::new();
    if let Some(step) = &now.step {
        text.push_str(&format!(" in {step}"));
    }
    if let (Some(node), "running") = (&now.node, now.status.as_str()) {
        text.push_str(&format!(" on {node}"));
    }
    match (show::retry(now), now.due_at) {
        (Some(retry), _) => text.push_str(&format!(": {retry}")),
        (None, Some(due)) if !is_final(&now.status) => {
            text.push_str(&format!(" until {}", crate::screen::time(due)));
        }
        _ => {}
    }
    if let Some(error) = &now.error {
        let class = error.class.as_deref().unwrap_or(UNCLASSIFIED);
        text.push_str(&format!(": {class}: {}", error.message));
    }
    if is_final(&now.status) {
        let message = now.message.as_ref().map(|message| format!(": {message}"));
        text.push_str(&message.unwrap_or_default());
        let result = now.result.as_ref().map(|result| format!(", result {result}"));
        text.push_str(&result.unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::show::tests::sample;
    use super::*;

    fn moved(number: u32, life: i32, to: &str) -> Value {
        json!({
            "number": number, "life": life, "from": "a", "event": "success", "to": to,
            "at": "2026-01-01T00:00:02Z", "handOut": 1, "node": "worker-1",
        })
    }

    fn lines(before: Option<&OrderView>, now: &OrderView) -> Vec<String> {
        changes(before, now).iter().map(|change| change.to_line(now, &Screen::plain())).collect()
    }

    #[test]
    fn the_first_reading_tells_the_present_life() {
        let now = sample(json!({"life": 2, "transitions": [moved(1, 1, "x"), moved(2, 2, "b")]}));
        assert_eq!(
            lines(None, &now),
            [
                "2026-01-01T00:00:02.000Z  a --success--> b",
                "2026-01-01T00:00:02.000Z  running in call on worker-1",
            ]
        );
    }

    #[test]
    fn nothing_is_said_twice() {
        let now = sample(json!({"transitions": [moved(1, 1, "b")]}));
        assert_eq!(lines(Some(&now), &now), Vec::<String>::new());
        let later = sample(json!({
            "transitions": [moved(1, 1, "b"), moved(2, 1, "done")], "status": "success", "step": "done",
            "result": {"code": 0}, "message": "fine",
        }));
        assert_eq!(
            lines(Some(&now), &later),
            [
                "2026-01-01T00:00:02.000Z  a --success--> done",
                "2026-01-01T00:00:02.000Z  success in done: fine, result {\"code\":0}",
            ]
        );
    }

    #[test]
    fn a_suspension_says_until_when_and_a_failure_why() {
        let asleep = sample(json!({"status": "sleep", "dueAt": "2026-01-01T00:01:00Z", "node": null}));
        assert_eq!(circumstances(&asleep), " in call until 2026-01-01T00:01:00.000Z");
        let failed = sample(json!({"status": "fail", "error": {"class": "net", "message": "no answer"}}));
        assert_eq!(circumstances(&failed), " in call: net: no answer");
    }

    #[test]
    fn programs_get_the_same_as_json() {
        let now = sample(json!({"transitions": [moved(1, 1, "b")]}));
        let values: Vec<Value> = changes(None, &now).iter().map(|change| change.to_value(&now)).collect();
        assert_eq!(values[0]["transition"]["to"], "b");
        assert_eq!((&values[1]["kind"], &values[1]["final"]), (&json!("status"), &json!(false)));
    }
}
