//! Recent events of orders, by their numbers: for those who follow many orders at once.

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::order::Status;

use crate::columns::columns;
use crate::hot::history::HistoryEvent;
use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Client, Result};

statements! {
    // Of an order of which something was sent before, what is behind that; of another one, what is not older than a time. The
    // registration itself has no row.
    CHANGES = concat!("
        SELECT o.no, o.id, s.name AS scenario, o.flow, o.queue, o.transaction_id, o.created_at, o.step, ", shown_status!(), " AS status,
               t.sent = 0 AND o.created_at >= $3 AS is_new, h.number, h.life, h.kind, h.at, h.source, h.detail
          FROM unnest($1::bigint[], $2::integer[]) AS t (no, sent)
          JOIN orders o ON o.no = ANY(ARRAY[t.no])
          JOIN scenarios s ON s.no = ANY(ARRAY[o.scenario])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[t.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[t.no])
          LEFT JOIN LATERAL (
               SELECT number, life, kind, at, source, detail FROM history
                WHERE order_no = ANY(ARRAY[t.no]) AND number >= t.sent AND (t.sent > 0 OR at >= $3)
                ORDER BY number LIMIT $4) AS h ON true
         ORDER BY h.at NULLS FIRST, o.no, h.number");
    FOLLOWED = "SELECT no, events FROM orders WHERE id = ANY($1::text[])";
}

/// An order that somebody follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedOrder {
    /// The order.
    pub no: OrderNo,
    /// Number of the last event of it that was sent; 0 if none was.
    pub sent: i32,
}

/// Something that happened to an order that is followed, and the order as it is now.
#[derive(Clone, Debug)]
pub struct OrderChange {
    /// The order.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Flow.
    pub flow: String,
    /// Sequential queue.
    pub queue: Option<String>,
    /// Business transaction.
    pub transaction_id: Option<String>,
    /// Time of its registration.
    pub created_at: Timestamp,
    /// State, as outsiders see it.
    pub step: Option<String>,
    /// Status, as outsiders see it.
    pub status: Status,
    /// True if its registration is to be sent, too.
    pub is_new: bool,
    /// The event; none where there is only the registration.
    pub event: Option<HistoryEvent>,
}

/// Events of these orders since the last one of each that was sent; of those of which none was, since a time. At most
/// `limit` events of each, the oldest first.
pub async fn of(
    client: &Client,
    followed: &[FollowedOrder],
    since: Timestamp,
    limit: i64,
) -> Result<Vec<OrderChange>> {
    let columns = columns!(one in followed => {
        no: i64 = one.no.0,
        sent: i32 = one.sent,
    });
    columns.query(client, CHANGES, &[&since, &limit]).await?.iter().map(read).collect()
}

fn read(row: &tokio_postgres::Row) -> Result<OrderChange> {
    let event = row.get::<_, Option<i32>>("number").map(|number| HistoryEvent {
        number,
        life: Life(row.get("life")),
        kind: row.get("kind"),
        at: row.get("at"),
        source: row.get("source"),
        detail: row.get("detail"),
    });
    Ok(OrderChange {
        no: OrderNo(row.get("no")),
        id: row.get("id"),
        scenario: row.get("scenario"),
        flow: row.get("flow"),
        queue: row.get("queue"),
        transaction_id: row.get("transaction_id"),
        created_at: row.get("created_at"),
        step: row.get("step"),
        status: word(row, "status", "orders.status")?,
        is_new: row.get("is_new"),
        event,
    })
}

/// These orders, as far as they are registered, each with the number of its last event.
pub async fn followed(client: &Client, ids: &[String]) -> Result<Vec<FollowedOrder>> {
    let rows = client.query(&client.prepare_cached(FOLLOWED).await?, &[&ids]).await?;
    Ok(rows.iter().map(|row| FollowedOrder { no: OrderNo(row.get("no")), sent: row.get("events") }).collect())
}
