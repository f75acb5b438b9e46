//! Questions of the actions of an order to the world, one after the other.

use std::ops::ControlFlow;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_store::hot::history::HistoryEvent;
use pagurus_wire::order::Page;
use pagurus_wire::parts::StepView;
use pagurus_wire::problem::Problem;
use serde_json::Value;

use crate::Views;
use crate::history::{ENTERED, parsed, text};
use crate::part::{PageCollector, PartQuery, read_on};

impl Views {
    /// Questions of the actions of an order to the world, in the order in which the answers came.
    pub async fn steps(&self, id: &str, query: &PartQuery) -> Result<Page<StepView>, Problem> {
        let mut page = query.collector()?;
        let (client, row) = self.found(id).await?;
        let read = read_on(&client, row.no, page.point.after, |event| steps_of(event, &mut page)).await;
        read.map_err(self.failed("read"))?;
        Ok(page.page())
    }
}

fn steps_of(event: &HistoryEvent, page: &mut PageCollector<StepView>) -> ControlFlow<()> {
    let is_of_stage = matches!(event.kind.as_str(), "stage" | ENTERED);
    let detail = if is_of_stage { parsed(&event.detail) } else { Value::Null };
    let hand_out = detail["attempt"].as_i64().unwrap_or_default();
    let steps = detail["steps"].as_array().into_iter().flatten();
    let views = steps.filter_map(|step| Some((step, moment(step)?))).map(|(step, at)| {
        move |place: usize| StepView {
            number: saturated::<u32>(place),
            life: event.life.0,
            hand_out,
            node: event.source.clone(),
            state: text(step, "state"),
            action: number(step, "action").unwrap_or_default(),
            operation: step["operation"].as_str().map(str::to_owned),
            kind: text(step, "kind"),
            name: step["name"].as_str().map(str::to_owned),
            target: text(step, "target"),
            key: step["key"].as_str().map(str::to_owned),
            at,
            duration_ms: step["ms"].as_u64().unwrap_or_default(),
            status: number(step, "status"),
            bytes: step["bytes"].as_u64(),
            attempt: number(step, "attempt").unwrap_or(1),
            outcome: text(step, "outcome"),
            class: step["class"].as_str().map(str::to_owned),
            error: step["error"].as_str().map(str::to_owned),
        }
    });
    page.add(event.number, views)
}

fn number<T: TryFrom<u64>>(step: &Value, key: &str) -> Option<T> {
    step[key].as_u64().and_then(|number| T::try_from(number).ok())
}

/// The moment at which a stored step was asked.
pub(crate) fn moment(step: &Value) -> Option<Timestamp> {
    step["at"].as_str()?.parse().ok()
}

/// The moment at which a stored step had its answer, and its line in the log; none of a failure that another line tells.
pub(crate) fn line(step: &Value) -> Option<(Timestamp, String)> {
    if step["logged"] == true {
        return None;
    }
    let took = step["ms"].as_i64().unwrap_or_default();
    let ended = moment(step)?.checked_add(jiff::SignedDuration::from_millis(took)).ok()?;
    let asked = match step["kind"].as_str() {
        Some("actor") => format!("task for {}", text(step, "target")),
        Some("order") => format!("child order {}", text(step, "target")),
        Some("amqp") => format!("message to {}", text(step, "target")),
        _ => text(step, "target"),
    };
    let answer = match (step["outcome"].as_str(), step["status"].as_u64()) {
        (_, Some(status)) => status.to_string(),
        (Some("sent"), None) => "taken".to_owned(),
        _ => step["error"].as_str().unwrap_or("no answer").to_owned(),
    };
    let class = step["class"].as_str().map_or_else(String::new, |class| format!(", {class}"));
    Some((ended, format!("{asked}: {answer} in {took} ms{class}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::*;

    #[test]
    fn rec_15_a_line_tells_what_was_asked_and_the_result() {
        let line_of = |more: Value| {
            let mut step = json!({"kind": "http", "target": "POST hlr/x", "at": "2026-01-01T00:00:00Z", "ms": 43, "outcome": "answered"});
            step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line(&step).unwrap().1
        };
        assert_eq!(line_of(json!({"status": 202})), "POST hlr/x: 202 in 43 ms");
        assert_eq!(
            line_of(json!({"status": 503, "class": "busy", "outcome": "failed"})),
            "POST hlr/x: 503 in 43 ms, busy"
        );
        assert_eq!(
            line_of(json!({"outcome": "failed", "class": "network"})),
            "POST hlr/x: no answer in 43 ms, network"
        );
        let refused = json!({"outcome": "failed", "error": "Connection refused"});
        assert_eq!(line_of(refused), "POST hlr/x: Connection refused in 43 ms");
        assert_eq!(line(&json!({"at": "2026-01-01T00:00:00Z", "logged": true})), None);
        assert_eq!(
            line_of(json!({"kind": "actor", "target": "scoring", "outcome": "sent"})),
            "task for scoring: taken in 43 ms"
        );
    }
}
