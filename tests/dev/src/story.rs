//! The story of a few orders, printed while it happens: their statuses, and the way they went.
//! Never asks anything but the public API, so what it tells is what any client can see.

use std::time::{Duration, Instant};

use anyhow::Result;
use pagurus_harness::client::Api;
use serde_json::Value;

/// An order that the story follows.
#[derive(Debug)]
pub struct Story {
    id: String,
    status: String,
    stages: Value,
    transitions: usize,
    retries: usize,
}

/// Totals of a story.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Number of times that an order went into `retry`.
    pub retries: usize,
}

/// True if an order with this status goes no further.
#[must_use]
pub fn is_final(status: &str) -> bool {
    matches!(status, "success" | "fail" | "interrupted" | "canceled")
}

impl Story {
    /// The story of this order, introduced by its title.
    #[must_use]
    pub fn new(id: &str, title: &str) -> Self {
        println!("    {id}: {title}");
        Self { id: id.to_owned(), status: String::new(), stages: Value::Null, transitions: 0, retries: 0 }
    }

    /// Describes what is new, one line each.
    fn news(&mut self, order: &Value, transitions: &[Value]) -> Vec<String> {
        let mut lines = Vec::new();
        for transition in transitions.iter().skip(self.transitions) {
            let field = |name: &str| transition[name].as_str().unwrap_or("·").to_owned();
            lines.push(format!("{} --{}--> {}", field("from"), field("event"), field("to")));
        }
        self.transitions = self.transitions.max(transitions.len());
        let status = order["status"].as_str().unwrap_or_default();
        let stages = order["stages"].clone();
        // A second retry between two looks shows as the same status with another number of stages.
        if status != self.status || (status == "retry" && stages != self.stages) {
            lines.push(explain(status, order));
            self.retries += usize::from(status == "retry");
            status.clone_into(&mut self.status);
        }
        self.stages = stages;
        lines
    }
}

/// Tells until every story has ended or the time is over.
pub async fn tell(api: &Api, mut stories: Vec<Story>, started: Instant, within: Duration) -> Result<Summary> {
    println!();
    while started.elapsed() < within {
        for story in &mut stories {
            if is_final(&story.status) {
                continue;
            }
            let answer = api.get(&format!("/v1/orders/{}", story.id)).await?;
            // Published, and not registered yet.
            if answer.status == 404 {
                continue;
            }
            let order = answer.success()?;
            let transitions = api.transitions(&story.id).await?;
            for line in story.news(&order, &transitions) {
                println!("    {:6.1} s  {}  {line}", started.elapsed().as_secs_f64(), story.id);
            }
        }
        if stories.iter().all(|story| is_final(&story.status)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(Summary { retries: stories.iter().map(|story| story.retries).sum() })
}

/// The status with what is known about it.
fn explain(status: &str, order: &Value) -> String {
    let first = |paths: &[&str]| {
        paths.iter().find_map(|path| match order.pointer(path) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        })
    };
    let mut details = Vec::new();
    if let Some(step) = first(&["/step"]) {
        details.push(format!("in {step}"));
    }
    if let Some(class) = first(&["/retry/class", "/error/class"]) {
        details.push(format!("class {class}"));
    }
    if let Some(message) = first(&["/error/message"]) {
        details.push(message);
    }
    let due = ["/dueAt", "/retry/nextAt", "/due/at", "/nextAt"];
    if let Some(due) =
        first(&due).filter(|_| matches!(status, "sleep" | "retry" | "wait" | "polling" | "postponed"))
    {
        details.push(format!("until {due}"));
    }
    if details.is_empty() { format!("[{status}]") } else { format!("[{status}] {}", details.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_new_is_reported() {
        let mut story = Story::new("a", "a test");
        let step = json!({"from": "reserve", "event": "success", "to": "activate"});
        let running = json!({"status": "running", "step": "activate"});
        let lines = story.news(&running, std::slice::from_ref(&step));
        assert_eq!(lines, ["reserve --success--> activate", "[running] in activate"]);
        assert!(story.news(&running, &[step]).is_empty());
    }
}
