//! `pagurus audit`: who did what from outside.

use clap::Args;
use pagurus_wire::audit::AuditView;
use pagurus_wire::order::Page;

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, time};

/// Which actions to list.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Actions of this name, like restart
    #[arg(long)]
    action: Option<String>,
    /// Actions on things of this kind: order, flow, system, queue, scenario, node, lease, operation, search, message, engine
    #[arg(long)]
    kind: Option<String>,
    /// Actions on what has this name: the id of an order, a scenario, the keyword of a stop
    #[arg(long)]
    subject: Option<String>,
    /// Actions of whoever somebody has vouched for under this name
    #[arg(long)]
    name: Option<String>,
    /// Actions of so late, or of so long ago: 2026-01-02T10:00:00Z, 2h
    #[arg(long)]
    since: Option<String>,
    /// Actions before then
    #[arg(long)]
    until: Option<String>,
    /// Actions to show, 500 at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Go on where a former list ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let asked = [
        ("action", &arguments.action),
        ("kind", &arguments.kind),
        ("subject", &arguments.subject),
        ("name", &arguments.name),
        ("since", &arguments.since),
        ("until", &arguments.until),
        ("cursor", &arguments.cursor),
    ];
    let mut query = vec![("limit", arguments.limit.to_string())];
    query.extend(asked.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    let reply = client.get("/v1/audit", &query).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let page: Page<AuditView> = reply.read()?;
    if page.items.is_empty() {
        screen.note("nobody did anything of the kind");
    } else {
        screen.line(&listed(&page.items, screen))?;
    }
    if let Some(cursor) = page.next {
        screen.note(&format!("there are more: --cursor {cursor}"));
    }
    Ok(())
}

fn listed(items: &[AuditView], screen: &Screen) -> String {
    let rows: Vec<[String; 6]> = items
        .iter()
        .map(|entry| {
            let place = entry.by.from.as_deref().unwrap_or_default();
            let who =
                entry.by.name.as_ref().map_or_else(|| place.to_owned(), |name| format!("{name}, {place}"));
            [
                time(entry.at),
                entry.action.clone(),
                format!("{} {}", entry.kind, entry.subject),
                format!("{} {who}", entry.by.door).trim_end().to_owned(),
                entry.reason.clone().unwrap_or_default(),
                if entry.detail.as_object().is_some_and(|map| map.is_empty()) {
                    String::new()
                } else {
                    entry.detail.to_string()
                },
            ]
        })
        .collect();
    screen.table(&["AT", "ACTION", "ON", "BY", "REASON", "DETAIL"], &rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn ord_24_a_line_says_who_did_what_when_and_why() {
        let entry: AuditView = serde_json::from_str(
            r#"{"no": 7, "at": "2026-01-02T11:05:00Z", "action": "restart", "kind": "order", "subject": "o-1",
                "by": {"door": "http", "from": "10.0.0.7:41000"}, "reason": "mended", "detail": {"from": "fail"}}"#,
        )
        .unwrap();
        let table = listed(&[entry], &Screen::plain());
        let line = table.lines().nth(1).unwrap();
        assert_eq!(
            line,
            "2026-01-02 11:05:00Z  restart  order o-1  http 10.0.0.7:41000  mended  {\"from\":\"fail\"}"
        );
    }
}
