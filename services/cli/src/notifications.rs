//! `pagurus notifications`: notifications that were parked, which only a person can help.

use clap::Args;
use pagurus_wire::order::NotificationLine;
use serde::Serialize;

use crate::list::{List, text};
use crate::screen::time;

/// Notifications to list.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Arguments {
    /// Number of notifications to show, 500 at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Continue where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Notifications that were parked.
pub(crate) const NOTIFICATIONS: List<NotificationLine> = List {
    path: "/v1/notifications",
    none: "no notification is parked",
    hint: Some("`pagurus order resend ID` sends those of an order again"),
    columns: &[
        ("ORDER", |line| line.order.clone()),
        ("TELLS", |line| line.notification.kind.clone()),
        ("TO", |line| line.notification.target.clone()),
        ("SINCE", |line| time(line.created_at)),
        ("ATTEMPTS", |line| line.notification.attempts.to_string()),
        ("PARKED", |line| text(&line.notification.parked_because)),
        ("LAST ERROR", |line| text(&line.notification.last_error)),
    ],
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use pagurus_wire::order::UnsentView;

    use super::*;
    use crate::list::table;
    use crate::screen::Screen;

    #[test]
    fn ord_19_parked_notifications_are_a_table() {
        let line = NotificationLine {
            order: "o-1".into(),
            created_at: "2026-01-02T11:05:00Z".parse().unwrap(),
            notification: UnsentView {
                life: 1,
                kind: "final".into(),
                target: "https://hooks.example/a".into(),
                subscription: None,
                attempts: 9,
                parked_because: Some("given_up".into()),
                last_error: Some("no answer".into()),
                next_at: None,
            },
        };
        assert_eq!(
            table(NOTIFICATIONS.columns, &[line], &Screen::plain()),
            "ORDER  TELLS  TO                       SINCE                     ATTEMPTS  PARKED    LAST ERROR\n\
             o-1    final  https://hooks.example/a  2026-01-02T11:05:00.000Z  9         given_up  no answer"
        );
    }
}
