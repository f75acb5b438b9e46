//! `pagurus audit`: who did what from outside, whether that was changed since, and all of it for archives.

mod export;
mod verify;

use clap::{Args, Subcommand};
use pagurus_wire::audit::AuditView;
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{List, text};
use crate::screen::{Screen, time};

/// Commands about the audit log; without one its newest entries are listed.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Verify the chain of the audit log, and report the first entry that fails; exit code 0 or 1
    Verify(verify::Arguments),
    /// Export entries with their links as JSON lines, the oldest first
    Export(export::Arguments),
}

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match &arguments.command {
        None => AUDIT.page(&arguments.list, client, screen).await,
        Some(Command::Verify(arguments)) => verify::run(arguments, client, screen).await,
        Some(Command::Export(arguments)) => export::run(arguments, client, screen).await,
    }
}

/// Conditions for actions.
#[derive(Debug, Args, Serialize)]
struct AuditFilter {
    /// Only this kind of action, such as restart
    #[arg(long)]
    action: Option<String>,
    /// Only actions on this kind of thing: order, flow, system, queue, scenario, node, lease, operation, search, message, engine
    #[arg(long)]
    kind: Option<String>,
    /// Only actions on the thing of this name: the id of an order, the name of a scenario, the keyword of a stop
    #[arg(long)]
    subject: Option<String>,
    /// Only actions of the person or program of this name
    #[arg(long)]
    name: Option<String>,
    /// Only actions since this time, or since this long ago: 2026-01-02T10:00:00Z, 2h
    #[arg(long)]
    since: Option<String>,
    /// Only actions before this time, or before this long ago
    #[arg(long)]
    until: Option<String>,
}

/// Actions to list.
#[derive(Debug, Args, Serialize)]
struct ListArguments {
    #[command(flatten)]
    #[serde(flatten)]
    filter: AuditFilter,
    /// Number of actions to show, 500 at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Continue where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Actions of people and programs.
const AUDIT: List<AuditView> = List {
    path: "/v1/audit",
    none: "no matching actions",
    hint: None,
    columns: &[
        ("AT", |entry| time(entry.at)),
        ("ACTION", |entry| entry.action.clone()),
        ("ON", |entry| format!("{} {}", entry.kind, entry.subject)),
        ("BY", |entry| {
            let place = text(&entry.by.from);
            let who = entry.by.name.as_ref().map_or_else(|| place.clone(), |name| format!("{name}, {place}"));
            format!("{} {who}", entry.by.door).trim_end().to_owned()
        }),
        ("REASON", |entry| text(&entry.reason)),
        ("DETAIL", |entry| match entry.detail.as_object() {
            Some(fields) if fields.is_empty() => String::new(),
            _ => entry.detail.to_string(),
        }),
    ],
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;
    use crate::list::table;
    use crate::screen::Screen;

    #[test]
    fn ord_24_a_line_says_who_did_what_when_and_why() {
        let entry: AuditView = serde_json::from_str(
            r#"{"no": 7, "at": "2026-01-02T11:05:00Z", "action": "restart", "kind": "order", "subject": "o-1",
                "by": {"door": "http", "from": "10.0.0.7:41000"}, "reason": "mended", "detail": {"from": "fail"}}"#,
        )
        .unwrap();
        let table = table(AUDIT.columns, &[entry], &Screen::plain());
        let line = table.lines().nth(1).unwrap();
        assert_eq!(
            line,
            "2026-01-02T11:05:00.000Z  restart  order o-1  http 10.0.0.7:41000  mended  {\"from\":\"fail\"}"
        );
    }
}
