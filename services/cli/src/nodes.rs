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
    /// Stages it takes at most; 0 for all but workers.
    concurrency: i32,
    /// Stages it has in progress.
    #[serde(default)]
    stages: u32,
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

/// The living nodes, and below them those that have ended.
fn nodes(nodes: &[Node], screen: &Screen) -> String {
    let (living, ended): (Vec<&Node>, Vec<&Node>) = nodes.iter().partition(|node| node.ended_at.is_none());
    let head = |last| ["NAME", "ROLE", "STATUS", "ADDRESS", "VERSION", "STARTED", last, "STAGES"];
    let mut shown = screen.table(&head("SEEN"), &rows(&living));
    if !ended.is_empty() {
        shown.push_str("\n\nended within the last hour:\n");
        shown.push_str(&screen.table(&head("ENDED"), &rows(&ended)));
    }
    shown
}

fn rows(nodes: &[&Node]) -> Vec<[String; 8]> {
    nodes
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
                load(node),
            ]
        })
        .collect()
}

/// Stages in progress of those it may have; a node that has ended, and is not failed over yet, may have none.
fn load(node: &Node) -> String {
    match (node.concurrency, node.ended_at, node.stages) {
        (1.., None, stages) => format!("{stages} / {}", node.concurrency),
        (.., 0) => String::new(),
        (.., stages) => format!("{stages} left"),
    }
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
            "version": "0.1.0", "status": "active", "startedAt": "2026-01-01T00:00:00Z", "endedAt": null,
            "seenAt": "2026-01-01T00:00:09Z", "concurrency": 1000, "stages": 12},
            {"name": "worker-0", "role": "worker", "incarnation": 3, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "lost", "startedAt": "2026-01-01T00:00:00Z", "endedAt": "2026-01-01T00:00:07Z",
            "seenAt": "2026-01-01T00:00:05Z", "concurrency": 1000, "stages": 3}]}"#;
        let items: Items<Node> = serde_json::from_str(text).unwrap();
        let shown = nodes(&items.items, &Screen::plain());
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[1].starts_with("worker-1  worker  active") && lines[1].ends_with("00:00:09Z  12 / 1000"),
            "{shown}"
        );
        assert_eq!(lines[2..4], ["", "ended within the last hour:"], "{shown}");
        assert!(
            lines[5].starts_with("worker-0  worker  lost") && lines[5].ends_with("00:00:07Z  3 left"),
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
