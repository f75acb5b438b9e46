//! `pagurus queues …`: who holds a queue of sequential orders, and letting it go by hand.
//!
//! Never releases anything without a reason: it is written into the history of the order.

use clap::Subcommand;
use jiff::Timestamp;
use pagurus_domain::scenario::value::percent_encode;
use serde::Deserialize;
use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, harmless, time};

/// What can be done with queues.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues that have orders
    List,
    /// Take a queue from the order that holds it; that order goes on beside the next one
    Release {
        /// Name of the queue
        name: String,
        /// Why, for the history
        #[arg(long, value_parser = clap::builder::NonEmptyStringValueParser::new())]
        reason: String,
    },
}

#[derive(Debug, Deserialize)]
struct Queues {
    items: Vec<Queue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Queue {
    queue: String,
    holder: Option<String>,
    orders: i64,
    holder_registered_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
struct Released {
    queue: String,
    released: String,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::List => {
            let reply = client.get("/v1/queues", &[]).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            let queues: Queues = reply.read()?;
            if queues.items.is_empty() {
                screen.note("no queue has orders");
                return Ok(());
            }
            screen.line(&listed(&queues.items, screen))
        }
        Command::Release { name, reason } => {
            let path = format!("/v1/queues/{}/release", percent_encode(&name));
            let reply = client.post(&path, &json!({"reason": reason})).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            let done: Released = reply.read()?;
            screen.line(&format!(
                "{} is no longer held by {}",
                harmless(&done.queue),
                harmless(&done.released)
            ))
        }
    }
}

fn listed(queues: &[Queue], screen: &Screen) -> String {
    let rows: Vec<[String; 4]> = queues
        .iter()
        .map(|queue| {
            [
                queue.queue.clone(),
                queue.orders.to_string(),
                queue.holder.clone().unwrap_or_default(),
                queue.holder_registered_at.map(time).unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["QUEUE", "ORDERS", "HELD BY", "REGISTERED"], &rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn ord_13_a_queue_shows_its_holder() {
        let text = r#"{"items": [
            {"queue": "q", "holder": "o-1", "orders": 3, "holderRegisteredAt": "2026-01-01T00:00:00Z"},
            {"queue": "empty", "holder": null, "orders": 0, "holderRegisteredAt": null}
        ]}"#;
        let queues: Queues = serde_json::from_str(text).unwrap();
        assert_eq!(
            listed(&queues.items, &Screen::plain()),
            "QUEUE  ORDERS  HELD BY  REGISTERED\nq      3       o-1      2026-01-01 00:00:00Z\nempty  0"
        );
    }
}
