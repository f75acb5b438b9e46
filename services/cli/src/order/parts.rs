//! `pagurus order steps` and `tasks`: what the actions of an order did, and the work that it is.

use pagurus_wire::parts::{StepView, TaskView};

use crate::client::{Client, order_path};
use crate::failure::Failure;
use crate::screen::{Screen, exact_time, time};

pub(super) async fn steps(id: &str, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let steps: Vec<StepView> = client.part(&order_path(id, "steps"), &[], usize::MAX).await?;
    if screen.json {
        return screen.value(&steps);
    }
    screen.line(&steps_table(&steps, screen))
}

fn steps_table(steps: &[StepView], screen: &Screen) -> String {
    let rows: Vec<[String; 8]> = steps
        .iter()
        .map(|step| {
            let answer = step
                .status
                .map_or_else(|| step.outcome.clone(), |status| format!("{status} {}", step.outcome));
            [
                exact_time(&step.at.to_string()),
                format!("{}[{}]", step.state, step.action),
                step.name.clone().unwrap_or_else(|| step.kind.clone()),
                step.target.clone(),
                answer,
                format!("{} ms", step.duration_ms),
                step.attempt.to_string(),
                step.class.clone().unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["AT", "ACTION", "NAME", "TARGET", "ANSWER", "TOOK", "ATTEMPT", "CLASS"], &rows)
}

pub(super) async fn tasks(id: &str, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let tasks: Vec<TaskView> = client.part(&order_path(id, "tasks"), &[], usize::MAX).await?;
    if screen.json {
        return screen.value(&tasks);
    }
    screen.line(&tasks_table(&tasks, screen))
}

fn tasks_table(tasks: &[TaskView], screen: &Screen) -> String {
    let moment = |at: Option<jiff::Timestamp>| at.map(time).unwrap_or_default();
    let rows: Vec<[String; 8]> = tasks
        .iter()
        .map(|task| {
            [
                task.kind.clone(),
                task.name.clone(),
                task.status.clone(),
                task.attempts.to_string(),
                moment(task.scheduled_at),
                moment(task.started_at),
                moment(task.finished_at),
                task.node.clone().unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["KIND", "NAME", "STATUS", "ATTEMPTS", "SCHEDULED", "STARTED", "FINISHED", "NODE"], &rows)
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
        let shown = steps_table(&serde_json::from_str::<Vec<StepView>>(text).unwrap(), &Screen::plain());
        let line = shown.lines().nth(1).unwrap();
        for part in ["reserve[0]", "http", "POST stock/r", "503 failed", "43 ms", "2", "busy"] {
            assert!(line.contains(part), "{shown}");
        }
    }
}
