//! `pagurus notifications`: notifications that were parked, which only a person can help.

use clap::Args;
use pagurus_wire::order::{NotificationLine, Page};

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, time};

/// Which notifications to list.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Notifications to show, 500 at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Go on where a former list ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let mut query = vec![("limit", arguments.limit.to_string())];
    query.extend(arguments.cursor.clone().map(|cursor| ("cursor", cursor)));
    let reply = client.get("/v1/notifications", &query).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let page: Page<NotificationLine> = reply.read()?;
    if page.items.is_empty() {
        screen.note("no notification is parked");
        return Ok(());
    }
    screen.line(&listed(&page.items, screen))?;
    if let Some(cursor) = page.next {
        screen.note(&format!("there are more: --cursor {cursor}"));
    }
    screen.note("`pagurus order resend ID` sends those of an order again");
    Ok(())
}

fn listed(items: &[NotificationLine], screen: &Screen) -> String {
    let rows: Vec<[String; 7]> = items
        .iter()
        .map(|line| {
            let told = &line.notification;
            [
                line.order.clone(),
                told.kind.clone(),
                told.target.clone(),
                time(line.created_at),
                told.attempts.to_string(),
                told.parked_because.clone().unwrap_or_default(),
                told.last_error.clone().unwrap_or_default(),
            ]
        })
        .collect();
    screen.table(&["ORDER", "TELLS", "TO", "SINCE", "ATTEMPTS", "PARKED", "LAST ERROR"], &rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use pagurus_wire::order::UnsentView;

    use super::*;

    #[test]
    fn ord_19_parked_notifications_are_a_table() {
        let line = NotificationLine {
            order: "o-1".into(),
            created_at: "2026-01-02T11:05:00Z".parse().unwrap(),
            notification: UnsentView {
                life: 1,
                kind: "final".into(),
                target: "https://hooks.example/a".into(),
                attempts: 9,
                parked_because: Some("given_up".into()),
                last_error: Some("no answer".into()),
                next_at: "2026-01-02T11:05:00Z".parse().unwrap(),
            },
        };
        assert_eq!(
            listed(&[line], &Screen::plain()),
            "ORDER  TELLS  TO                       SINCE                 ATTEMPTS  PARKED    LAST ERROR\n\
             o-1    final  https://hooks.example/a  2026-01-02 11:05:00Z  9         given_up  no answer"
        );
    }
}
