//! `pagurus order steps` and `tasks`: what the actions of an order did, and the work that it is.

use pagurus_wire::parts::{StepView, TaskView};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{Column, moment, table, text};
use crate::screen::{Screen, time};

/// Steps of an order.
pub(super) const STEPS: &[Column<StepView>] = &[
    ("AT", |step| time(step.at)),
    ("ACTION", |step| match &step.operation {
        // The actions of an operation lie flat among those of the state: their numbers say nothing to people.
        Some(operation) => format!("{}: {operation}", step.state),
        None => format!("{}[{}]", step.state, step.action),
    }),
    ("NAME", |step| step.name.clone().unwrap_or_else(|| step.kind.clone())),
    ("TARGET", |step| step.target.clone()),
    ("ANSWER", |step| match step.status {
        Some(status) => format!("{status} {}", step.outcome),
        None => step.error.as_ref().unwrap_or(&step.outcome).clone(),
    }),
    ("TOOK", |step| format!("{} ms", step.duration_ms)),
    ("ATTEMPT", |step| step.attempt.to_string()),
    ("CLASS", |step| text(&step.class)),
];

/// Work for an order.
pub(super) const TASKS: &[Column<TaskView>] = &[
    ("KIND", |task| task.kind.clone()),
    ("NAME", |task| task.name.clone()),
    ("STATUS", |task| task.status.clone()),
    ("ATTEMPTS", |task| task.attempts.to_string()),
    ("SCHEDULED", |task| moment(task.scheduled_at)),
    ("STARTED", |task| moment(task.started_at)),
    ("FINISHED", |task| moment(task.finished_at)),
    ("NODE", |task| text(&task.node)),
];

/// Shows a part of an order, all of it.
pub(super) async fn part<T: DeserializeOwned + Serialize>(
    path: &str,
    columns: &[Column<T>],
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let things: Vec<T> = client.part(path, &[], usize::MAX).await?;
    screen.show(&things, |things| table(columns, things, screen))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn rec_15_steps_are_a_table() {
        let text = r#"[{"number": 1, "life": 1, "handOut": 1, "node": "w", "state": "reserve", "action": 0, "kind": "http",
            "name": null, "target": "POST stock/r", "key": null, "at": "2026-01-01T00:00:00Z", "durationMs": 43,
            "status": 503, "bytes": 2, "attempt": 2, "outcome": "failed", "class": "busy"}]"#;
        let shown = table(STEPS, &serde_json::from_str::<Vec<StepView>>(text).unwrap(), &Screen::plain());
        let line = shown.lines().nth(1).unwrap();
        for part in ["reserve[0]", "http", "POST stock/r", "503 failed", "43 ms", "2", "busy"] {
            assert!(line.contains(part), "{shown}");
        }
    }
}
