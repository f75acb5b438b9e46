//! `pagurus nodes …`: the registry of processes, and who leads. Only looks.

use clap::Subcommand;
use jiff::Timestamp;
use serde::Deserialize;

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, time};

/// What can be seen of the cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the nodes
    List,
    /// List the leases: who leads, and until when
    Leases,
}

#[derive(Debug, Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    role: String,
    address: String,
    version: String,
    status: String,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    seen_at: Option<Timestamp>,
    concurrency: i32,
}

#[derive(Debug, Deserialize)]
struct Lease {
    name: String,
    holder: Option<String>,
    until: Option<Timestamp>,
    epoch: i64,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let path = match command {
        Command::List => "/v1/nodes",
        Command::Leases => "/v1/leases",
    };
    let reply = client.get(path, &[]).await?;
    if screen.json {
        return screen.line(&reply.text);
    }
    match command {
        Command::List => screen.line(&nodes(&reply.read::<Items<Node>>()?.items, screen)),
        Command::Leases => screen.line(&leases(&reply.read::<Items<Lease>>()?.items, screen)),
    }
}

fn nodes(nodes: &[Node], screen: &Screen) -> String {
    let rows: Vec<[String; 8]> = nodes
        .iter()
        .map(|node| {
            [
                node.name.clone(),
                node.role.clone(),
                node.status.clone(),
                node.address.clone(),
                node.version.clone(),
                time(node.started_at),
                node.ended_at.or(node.seen_at).map(time).unwrap_or_default(),
                if node.concurrency > 0 { node.concurrency.to_string() } else { String::new() },
            ]
        })
        .collect();
    screen.table(&["NAME", "ROLE", "STATUS", "ADDRESS", "VERSION", "STARTED", "SEEN", "STAGES"], &rows)
}

fn leases(leases: &[Lease], screen: &Screen) -> String {
    let rows: Vec<[String; 4]> = leases
        .iter()
        .map(|lease| {
            [
                lease.name.clone(),
                lease.holder.clone().unwrap_or_default(),
                lease.epoch.to_string(),
                lease.until.map(time).unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["LEASE", "HELD BY", "EPOCH", "UNTIL"], &rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_leases_are_tables() {
        let text = r#"{"items": [{"name": "worker-1", "role": "worker", "incarnation": 4, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "up", "startedAt": "2026-01-01T00:00:00Z", "endedAt": null,
            "seenAt": "2026-01-01T00:00:09Z", "concurrency": 1000}]}"#;
        let items: Items<Node> = serde_json::from_str(text).unwrap();
        let shown = nodes(&items.items, &Screen::plain());
        assert!(
            shown.ends_with(
                "worker-1  worker  up      127.0.0.1:1  0.1.0    2026-01-01 00:00:00Z  2026-01-01 00:00:09Z  1000"
            ),
            "{shown}"
        );
        let text = r#"{"items": [{"name": "dispatcher", "holder": null, "until": null, "epoch": 2}]}"#;
        let items: Items<Lease> = serde_json::from_str(text).unwrap();
        assert_eq!(
            leases(&items.items, &Screen::plain()),
            "LEASE       HELD BY  EPOCH  UNTIL\ndispatcher           2"
        );
    }
}
