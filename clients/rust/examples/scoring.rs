//! An actor `scoring`: gives applicants a score. The README beside has a scenario that asks it.

use pagurus_client::actor::{Actor, Fail, Task};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

async fn score(task: Task) -> Result<Value, Fail> {
    let Some(income) = task.body["income"].as_f64() else {
        let message = "the applicant has no income".to_owned();
        return Err(Fail { class: "scoring.incomplete".to_owned(), message });
    };
    Ok(json!({"score": (income / 100_000.0).min(1.0), "order": task.order}))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let set = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let actor = Actor {
        name: "scoring".to_owned(),
        url: set("AMQP_URL", "amqp://guest:guest@localhost:5672/%2f"),
        prefix: set("PAGURUS_PREFIX", "pagurus"),
        prefetch: 8,
    };
    let mut terminate = signal(SignalKind::terminate())?;
    actor.run(score, async move { terminate.recv().await.map_or((), drop) }).await;
    Ok(())
}
