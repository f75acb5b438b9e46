//! `pagurus queues …`: who holds a queue of sequential orders, and letting it go by hand.
//!
//! Never releases anything without a reason: it is written into the history of the order.

use clap::Subcommand;
use pagurus_domain::number::saturated;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::cluster::{QueueDetail, QueueLine, QueueMemberLine, ReleasedView};
use serde_json::json;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{Column, List, moment, table};
use crate::screen::{Screen, harmless, time};

/// Commands about queues.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues that have orders, the longest first
    List {
        /// Most queues to show [default: all]
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        limit: Option<u32>,
    },
    /// Show one queue: the order that holds it, since when, and the orders that wait, first to last
    Show {
        /// Name of the queue
        name: String,
        /// Most orders to show
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Take a queue from the order that holds it; that order goes on while the next one runs
    Release {
        /// Name of the queue
        name: String,
        /// Reason, for the history
        #[arg(long, value_parser = clap::builder::NonEmptyStringValueParser::new())]
        reason: String,
    },
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List { limit } => {
            let most = limit.map(saturated::<usize>);
            QUEUES.show(&client.pages(QUEUES.path, &(), most).await?, screen)
        }
        Command::Show { name, limit } => show(&name, limit, client, screen).await,
        Command::Release { name, reason } => {
            let path = format!("/v1/queues/{}/release", percent_encode(&name));
            let reply = client.post(&path, &json!({"reason": reason})).await?;
            reply.show(screen, |done: &ReleasedView| {
                format!("{} is no longer held by {}", harmless(&done.queue), harmless(&done.released))
            })
        }
    }
}

async fn show(name: &str, limit: u32, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let path = format!("/v1/queues/{}", percent_encode(name));
    let wanted = saturated::<usize>(limit);
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
    table(MEMBERS, queue.holder.iter().chain(&queue.items), screen)
}

/// Queues that have orders.
const QUEUES: List<QueueLine> = List {
    path: "/v1/queues",
    none: "no queue has orders",
    hint: None,
    columns: &[
        ("QUEUE", |queue| queue.queue.clone()),
        ("ORDERS", |queue| queue.orders.to_string()),
        ("HELD BY", |queue| queue.holder.clone()),
        ("SINCE", |queue| moment(queue.held_since)),
    ],
};

/// Orders of one queue, the holder first.
const MEMBERS: &[Column<QueueMemberLine>] = &[
    ("ORDER", |member| member.order.clone()),
    ("SCENARIO", |member| member.scenario.clone()),
    ("STATUS", |member| member.status.clone()),
    ("IN IT SINCE", |member| moment(member.since)),
    ("STANDS", |member| match (member.before, member.held_since) {
        (0, Some(since)) => format!("holds it since {}", time(since)),
        (0, None) => "is the next".to_owned(),
        (before, _) => format!("waits behind {before}"),
    }),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_wire::order::Page;

    use super::*;

    #[test]
    fn ord_13_a_queue_shows_its_holder() {
        let text = r#"{"items": [
            {"queue": "q", "holder": "o-1", "orders": 3, "heldSince": "2026-01-01T00:00:00Z"},
            {"queue": "new", "holder": "o-2", "orders": 1}
        ]}"#;
        let queues: Page<QueueLine> = serde_json::from_str(text).unwrap();
        assert_eq!(
            table(QUEUES.columns, &queues.items, &Screen::plain()),
            "QUEUE  ORDERS  HELD BY  SINCE\nq      3       o-1      2026-01-01T00:00:00.000Z\nnew    1       o-2"
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
            "ORDER  SCENARIO  STATUS  IN IT SINCE               STANDS\n\
             a      s         new     2026-01-01T00:00:00.000Z  holds it since 2026-01-01T00:00:07.000Z\n\
             b      s         new     2026-01-01T00:00:00.000Z  waits behind 1"
        );
    }
}
