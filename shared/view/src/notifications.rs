//! Notifications that were parked, of all orders: only a person can help them (ORD-19).

use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::number::saturated;
use pagurus_store::hot::outbox::shown::{self, ParkedNotification};
use pagurus_store::lists::scope;
use pagurus_wire::order::{NotificationLine, Page};
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::order::unsent_view;
use crate::query::{limit, strange_cursor};

/// Notifications on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Pages that are looked through for one page, where some of them are not seen.
const MOST_LOOKS: usize = 40;

/// Query of a list of parked notifications.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NotificationsQuery {
    /// Notifications of the page; default: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 500))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Returns a page of the parked notifications, those of the oldest orders first.
    pub async fn notifications(&self, query: &NotificationsQuery) -> Result<Page<NotificationLine>, Problem> {
        let limit = limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?;
        let (no, life, kind) = query.cursor.as_deref().map_or(Ok((0, 0, "")), read_cursor)?;
        let mut behind = (OrderNo(no), Life(life), kind.to_owned());
        let found = async {
            let client = self.host.store.api().await?;
            let mut items = Vec::new();
            for _ in 0..MOST_LOOKS {
                let wanted = saturated::<i64>(limit);
                let found = shown::parked(&client, (behind.0, behind.1, &behind.2), wanted).await?;
                let seen = scope::within(&client, &self.scope, found.iter().map(|one| one.no)).await?;
                let is_last = found.len() < limit;
                for one in found {
                    if items.len() == limit {
                        return Ok(Page { items, next: Some(cursor_of(&behind)) });
                    }
                    behind = place_of(&one);
                    if seen.has(&one.no) {
                        items.push(line(one));
                    }
                }
                if is_last {
                    return Ok(Page { items, next: None });
                }
                if self.scope.has_every_name() {
                    break;
                }
            }
            Ok(Page { items, next: Some(cursor_of(&behind)) })
        };
        found.await.map_err(self.failed("notifications"))
    }
}

fn line(parked: ParkedNotification) -> NotificationLine {
    NotificationLine { notification: unsent_view(parked.line.notification), ..parked.line }
}

/// Place of a notification in the list: order, life and kind.
type NotificationPlace = (OrderNo, Life, String);

fn place_of(one: &ParkedNotification) -> NotificationPlace {
    let unsent = &one.line.notification;
    (one.no, Life(unsent.life), unsent.kind.clone())
}

fn cursor_of((no, life, kind): &NotificationPlace) -> String {
    format!("{no}.{}.{kind}", life.0)
}

fn read_cursor(text: &str) -> Result<(i64, i32, &str), Problem> {
    let mut parts = text.splitn(3, '.');
    let mut next = || parts.next().ok_or_else(strange_cursor);
    let (no, life, kind) = (next()?, next()?, next()?);
    let no = no.parse().map_err(|_| strange_cursor())?;
    let is_kind = kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match life.parse() {
        Ok(life) if is_kind => Ok((no, life, kind)),
        _ => Err(strange_cursor()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn ord_19_a_cursor_is_read_as_it_was_given_and_no_other() {
        assert_eq!(read_cursor("7.2.final-2").unwrap(), (7, 2, "final-2"));
        for bad in ["", "7", "7.2", "a.2.final", "7.b.final", "7.2.fi\0nal", "7.2.a.b"] {
            assert!(read_cursor(bad).is_err(), "{bad}");
        }
    }
}
