//! `pagurus nodes …`: the registry of processes, and who leads; taking nodes out of service and putting them back.

mod service;

use clap::Subcommand;
use pagurus_wire::cluster::LeaseLine;
use pagurus_wire::nodes::NodeView;
use pagurus_wire::order::Page;

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, time};

/// Commands on nodes.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the nodes
    List,
    /// List the leases: who leads, and until when
    Leases,
    /// Take a node out of service: it takes nothing new, ends what it has, and stays so over restarts
    Offline(service::Offline),
    /// Put a node back to service
    Online(service::Order),
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::List => {
            let items: Vec<NodeView> = client.all("/v1/nodes").await?;
            if screen.json {
                return screen.value(&Page { items, next: None });
            }
            screen.line(&nodes(&items, screen))
        }
        Command::Leases => {
            let items: Vec<LeaseLine> = client.all("/v1/leases").await?;
            if screen.json {
                return screen.value(&Page { items, next: None });
            }
            screen.line(&leases(&items, screen))
        }
        Command::Offline(asked) => service::offline(asked, client, screen).await,
        Command::Online(order) => service::online(order, client, screen).await,
    }
}

/// The living nodes, below them those that have ended, and below all why nodes are out of service.
fn nodes(nodes: &[NodeView], screen: &Screen) -> String {
    let (living, ended): (Vec<&NodeView>, Vec<&NodeView>) =
        nodes.iter().partition(|node| node.ended_at.is_none());
    let head = |last| ["NAME", "ROLE", "STATUS", "SINCE", "ADDRESS", "VERSION", "STARTED", last, "LOAD"];
    let mut shown = screen.table(&head("SEEN"), &rows(&living));
    if !ended.is_empty() {
        shown.push_str("\n\nended within the last hour, or out of service:\n");
        shown.push_str(&screen.table(&head("ENDED"), &rows(&ended)));
    }
    let marks = marks(nodes);
    if !marks.is_empty() {
        shown.push_str("\n\nout of service, until `pagurus nodes online` puts them back:\n");
        shown.push_str(&screen.table(&["NODE", "SINCE", "BY", "REASON"], &marks));
    }
    shown
}

fn rows(nodes: &[&NodeView]) -> Vec<[String; 9]> {
    nodes
        .iter()
        .map(|node| {
            [
                node.name.clone(),
                node.role.clone(),
                node.status.clone(),
                time(node.status_since),
                node.address.clone(),
                node.version.clone(),
                time(node.started_at),
                node.ended_at.or(node.seen_at).map(time).unwrap_or_default(),
                load(node),
            ]
        })
        .collect()
}

/// Stages in progress of those it may have. A node that is leaving, or has ended and is not failed over yet, tells what is left.
fn load(node: &NodeView) -> String {
    let is_leaving = node.ended_at.is_some() || ["offline", "stopping"].contains(&node.status.as_str());
    match (is_leaving, node.left, node.concurrency) {
        (true, 0, _) => String::new(),
        (true, left, _) => format!("{left} left"),
        (false, _, 1..) => format!("{} / {}", node.stages, node.concurrency),
        (false, ..) => String::new(),
    }
}

/// The marks, one for each role and name.
fn marks(nodes: &[NodeView]) -> Vec<[String; 4]> {
    let mut marks: Vec<[String; 4]> = nodes
        .iter()
        .filter_map(|node| {
            let mark = node.offline.as_ref()?;
            let by = |key: &str| mark.by.get(key).and_then(serde_json::Value::as_str);
            let by = by("name").or_else(|| by("from")).unwrap_or_default().to_owned();
            Some([format!("{}/{}", node.role, node.name), time(mark.since), by, mark.reason.clone()])
        })
        .collect();
    marks.dedup();
    marks
}

fn leases(leases: &[LeaseLine], screen: &Screen) -> String {
    let rows: Vec<[String; 4]> = leases
        .iter()
        .map(|lease| {
            [
                lease.name.clone(),
                lease.holder.clone().unwrap_or_default(),
                lease.epoch.to_string(),
                time(lease.until),
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
            "version": "0.1.0", "status": "active", "statusSince": "2026-01-01T00:00:01Z",
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": null,
            "seenAt": "2026-01-01T00:00:09Z", "concurrency": 1000, "stages": 12, "left": 12},
            {"name": "worker-2", "role": "worker", "incarnation": 5, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "offline", "statusSince": "2026-01-01T00:00:01Z",
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": null,
            "seenAt": "2026-01-01T00:00:09Z", "concurrency": 1000, "stages": 2, "left": 2,
            "offline": {"since": "2026-01-01T00:00:01Z", "reason": "new disk", "by": {"name": "ann"}}},
            {"name": "worker-0", "role": "worker", "incarnation": 3, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "lost", "statusSince": "2026-01-01T00:00:07Z",
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": "2026-01-01T00:00:07Z",
            "seenAt": "2026-01-01T00:00:05Z", "concurrency": 1000, "stages": 3, "left": 3}], "next": null}"#;
        let items: Page<NodeView> = serde_json::from_str(text).unwrap();
        let shown = nodes(&items.items, &Screen::plain());
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[1].starts_with("worker-1  worker  active   2026-01-01 00:00:01Z")
                && lines[1].ends_with("00:00:09Z  12 / 1000"),
            "{shown}"
        );
        assert!(lines[2].ends_with("00:00:09Z  2 left"), "{shown}");
        assert_eq!(lines[3..5], ["", "ended within the last hour, or out of service:"], "{shown}");
        assert!(
            lines[6].starts_with("worker-0  worker  lost") && lines[6].ends_with("00:00:07Z  3 left"),
            "{shown}"
        );
        assert!(lines[10].starts_with("worker/worker-2  2026-01-01 00:00:01Z  ann  new disk"), "{shown}");
        let text = r#"{"items": [{"name": "dispatcher", "holder": null, "until": "2026-01-01T00:00:00Z", "epoch": 2}]}"#;
        let items: Page<LeaseLine> = serde_json::from_str(text).unwrap();
        assert_eq!(
            leases(&items.items, &Screen::plain()),
            "LEASE       HELD BY  EPOCH  UNTIL\ndispatcher           2      2026-01-01 00:00:00Z"
        );
    }
}
