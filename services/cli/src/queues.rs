//! `pagurus queues …`: who holds a queue of sequential orders, and letting it go by hand.
//!
//! Never releases anything without a reason: it is written into the history of the order.

use clap::Subcommand;
use pagurus_domain::scenario::value::percent_encode;
use pagurus_wire::cluster::{QueueDetail, QueueLine, QueueMemberLine};
use pagurus_wire::order::Page;
use serde::Deserialize;
use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, harmless, time};

/// Commands about queues.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues that have orders, the longest first
    List {
        /// Queues to show at most; left out: all
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        limit: Option<u32>,
    },
    /// Show one queue: who holds it and since when, and who waits, in their order
    Show {
        /// Name of the queue
        name: String,
        /// Orders to show at most
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
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
struct Released {
    queue: String,
    released: String,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::List { limit } => {
            let most = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
            let queues: Page<QueueLine> = client.list("/v1/queues", &[], most).await?;
            if screen.json {
                return screen.value(&queues);
            }
            if queues.items.is_empty() {
                screen.note("no queue has orders");
                return Ok(());
            }
            screen.line(&listed(&queues.items, screen))?;
            if queues.next.is_some() {
                screen.note("there are more: --limit shows them");
            }
            Ok(())
        }
        Command::Show { name, limit } => show(&name, limit, client, screen).await,
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

async fn show(name: &str, limit: u32, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let path = format!("/v1/queues/{}", percent_encode(name));
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut waiting, mut cursor) = (Vec::new(), None);
    let whole = loop {
        let page = (wanted - waiting.len()).min(500);
        let mut query = vec![("limit", page.to_string())];
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let mut detail: QueueDetail = client.get(&path, &query).await?.read()?;
        waiting.append(&mut detail.items);
        cursor = detail.next.take();
        if cursor.is_none() || waiting.len() >= wanted {
            break QueueDetail { items: waiting, next: cursor, ..detail };
        }
    };
    if screen.json {
        return screen.value(&whole);
    }
    if whole.holder.is_none() {
        screen.note("the queue has no orders");
        return Ok(());
    }
    screen.line(&members(&whole, screen))?;
    if whole.next.is_some() {
        screen.note("there are more: --limit shows them");
    }
    Ok(())
}

fn members(queue: &QueueDetail, screen: &Screen) -> String {
    let row = |member: &QueueMemberLine| {
        let stand = match (member.before, member.held_since) {
            (0, Some(since)) => format!("holds it since {}", time(since)),
            (0, None) => "is the next".to_owned(),
            (before, _) => format!("waits behind {before}"),
        };
        let since = member.since.map(time).unwrap_or_default();
        [member.order.clone(), member.scenario.clone(), member.status.clone(), since, stand]
    };
    let rows: Vec<[String; 5]> = queue.holder.iter().chain(&queue.items).map(row).collect();
    screen.table(&["ORDER", "SCENARIO", "STATUS", "IN IT SINCE", "STANDS"], &rows)
}

fn listed(queues: &[QueueLine], screen: &Screen) -> String {
    let rows: Vec<[String; 4]> = queues
        .iter()
        .map(|queue| {
            [
                queue.queue.clone(),
                queue.orders.to_string(),
                queue.holder.clone(),
                queue.held_since.map(time).unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["QUEUE", "ORDERS", "HELD BY", "SINCE"], &rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn ord_13_a_queue_shows_its_holder() {
        let text = r#"{"items": [
            {"queue": "q", "holder": "o-1", "orders": 3, "heldSince": "2026-01-01T00:00:00Z"},
            {"queue": "new", "holder": "o-2", "orders": 1}
        ]}"#;
        let queues: Page<QueueLine> = serde_json::from_str(text).unwrap();
        assert_eq!(
            listed(&queues.items, &Screen::plain()),
            "QUEUE  ORDERS  HELD BY  SINCE\nq      3       o-1      2026-01-01 00:00:00Z\nnew    1       o-2"
        );
    }

    #[test]
    fn ord_10_who_waits_in_a_queue_stands_in_order_behind_the_holder() {
        let member = |order: &str, before: i64, held: Option<&str>| QueueMemberLine {
            order: order.into(),
            scenario: "s".into(),
            status: "new".into(),
            before,
            since: "2026-01-01T00:00:00Z".parse().ok(),
            held_since: held.and_then(|at| at.parse().ok()),
        };
        let queue = QueueDetail {
            queue: "q".into(),
            orders: 2,
            holder: Some(member("a", 0, Some("2026-01-01T00:00:07Z"))),
            items: vec![member("b", 1, None)],
            next: None,
        };
        assert_eq!(
            members(&queue, &Screen::plain()),
            "ORDER  SCENARIO  STATUS  IN IT SINCE           STANDS\n\
             a      s         new     2026-01-01 00:00:00Z  holds it since 2026-01-01 00:00:07Z\n\
             b      s         new     2026-01-01 00:00:00Z  waits behind 1"
        );
    }
}
