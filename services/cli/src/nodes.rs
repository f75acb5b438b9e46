//! `pagurus nodes …`: the registry of processes, and who leads; taking nodes out of service and putting them back.

mod service;

use clap::Subcommand;
use pagurus_wire::cluster::LeaseLine;
use pagurus_wire::nodes::NodeView;
use pagurus_wire::order::Page;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{Column, moment, table, text, who};
use crate::screen::{Screen, time};

/// Commands on nodes.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the nodes
    List,
    /// List the leases: who leads, and until when
    Leases,
    /// Take a node out of service: it finishes its work and takes nothing new, even after a restart
    Offline(service::Offline),
    /// Put a node back into service
    Online(service::Order),
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => {
            let page = client.pages("/v1/nodes", &(), None).await?;
            screen.show(&page, |page: &Page<NodeView>| nodes(&page.items, screen))
        }
        Command::Leases => leases(client, screen).await,
        Command::Offline(asked) => service::offline(asked, client, screen).await,
        Command::Online(order) => service::online(order, client, screen).await,
    }
}

/// The living nodes, below them those that have ended, and below all why nodes are out of service.
fn nodes(nodes: &[NodeView], screen: &Screen) -> String {
    let (living, ended): (Vec<&NodeView>, Vec<&NodeView>) =
        nodes.iter().partition(|node| node.ended_at.is_none());
    let mut shown = table(&columns("SEEN"), living, screen);
    if !ended.is_empty() {
        shown.push_str("\n\nended within the last hour, or out of service:\n");
        shown.push_str(&table(&columns("ENDED"), ended, screen));
    }
    let marks = marks(nodes);
    if !marks.is_empty() {
        shown.push_str("\n\nout of service, until `pagurus nodes online` puts them back:\n");
        shown.push_str(&screen.table(&["NODE", "SINCE", "BY", "REASON"], &marks));
    }
    shown
}

/// The columns of nodes, with the heading of the time at which one was there last.
fn columns(last: &'static str) -> [Column<NodeView>; 10] {
    [
        ("NAME", |node| node.name.clone()),
        ("ROLE", role),
        ("LAYER", |node| node.layer.clone()),
        ("STATUS", |node| node.status.clone()),
        ("SINCE", |node| time(node.status_since)),
        ("ADDRESS", |node| node.address.clone()),
        ("VERSION", |node| node.version.clone()),
        ("STARTED", |node| time(node.started_at)),
        (last, |node| moment(node.ended_at.or(node.seen_at))),
        ("LOAD", load),
    ]
}

/// The role, with the transport of an intake that has one only.
fn role(node: &NodeView) -> String {
    match node.transport.as_deref() {
        Some(one @ ("http" | "amqp")) => format!("{} ({one})", node.role),
        _ => node.role.clone(),
    }
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
            let by = who(&mark.by).unwrap_or_default();
            Some([format!("{}/{}", node.role, node.name), time(mark.since), by, mark.reason.clone()])
        })
        .collect();
    marks.dedup();
    marks
}

/// Leases: who leads, and until when.
const LEASES: &[Column<LeaseLine>] = &[
    ("LEASE", |lease| lease.name.clone()),
    ("HELD BY", |lease| text(&lease.holder)),
    ("EPOCH", |lease| lease.epoch.to_string()),
    ("UNTIL", |lease| time(lease.until)),
];

/// Shows the leases.
pub(crate) async fn leases(client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let page = client.pages("/v1/leases", &(), None).await?;
    screen.show(&page, |page: &Page<LeaseLine>| table(LEASES, &page.items, screen))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_leases_are_tables() {
        let text = r#"{"items": [{"name": "worker-1", "role": "worker", "layer": "execution", "incarnation": 4, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "active", "statusSince": "2026-01-01T00:00:01Z",
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": null,
            "seenAt": "2026-01-01T00:00:09Z", "concurrency": 1000, "stages": 12, "left": 12},
            {"name": "worker-2", "role": "worker", "layer": "execution", "incarnation": 5, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "offline", "statusSince": "2026-01-01T00:00:01Z",
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": null,
            "seenAt": "2026-01-01T00:00:09Z", "concurrency": 1000, "stages": 2, "left": 2,
            "offline": {"since": "2026-01-01T00:00:01Z", "reason": "new disk", "by": {"name": "ann"}}},
            {"name": "worker-0", "role": "worker", "layer": "execution", "incarnation": 3, "address": "127.0.0.1:1",
            "version": "0.1.0", "status": "lost", "statusSince": "2026-01-01T00:00:07Z",
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": "2026-01-01T00:00:07Z",
            "seenAt": "2026-01-01T00:00:05Z", "concurrency": 1000, "stages": 3, "left": 3}], "next": null}"#;
        let items: Page<NodeView> = serde_json::from_str(text).unwrap();
        let shown = nodes(&items.items, &Screen::plain());
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[1].starts_with("worker-1  worker  execution  active   2026-01-01T00:00:01.000Z")
                && lines[1].ends_with("00:00:09.000Z  12 / 1000"),
            "{shown}"
        );
        assert!(lines[2].ends_with("00:00:09.000Z  2 left"), "{shown}");
        assert_eq!(lines[3..5], ["", "ended within the last hour, or out of service:"], "{shown}");
        assert!(
            lines[6].starts_with("worker-0  worker  execution  lost")
                && lines[6].ends_with("00:00:07.000Z  3 left"),
            "{shown}"
        );
        assert!(lines[10].starts_with("worker/worker-2  2026-01-01T00:00:01.000Z  ann  new disk"), "{shown}");
        let text = r#"{"items": [{"name": "dispatcher", "holder": null, "until": "2026-01-01T00:00:00Z", "epoch": 2}]}"#;
        let items: Page<LeaseLine> = serde_json::from_str(text).unwrap();
        assert_eq!(
            table(LEASES, &items.items, &Screen::plain()),
            "LEASE       HELD BY  EPOCH  UNTIL\ndispatcher           2      2026-01-01T00:00:00.000Z"
        );
    }
}
