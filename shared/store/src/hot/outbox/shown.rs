//! The outbox as people see it, and what they do about it.

use pagurus_domain::id::{Life, OrderNo};
use pagurus_wire::order::{NotificationLine, UnsentView};
use tokio_postgres::Row;

use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    OF_ORDER = "
        SELECT life, kind, target, attempts, parked_because, last_error, created_at,
               (SELECT s.name FROM subscriptions s WHERE s.no = ANY(ARRAY[subscription])) AS subscription,
               CASE WHEN parked_because IS NULL THEN next_at END AS next_at
          FROM outbox WHERE order_no = $1 ORDER BY created_at, life, kind LIMIT 1000";
    // What is sent again is tried for as long as a new one.
    RESEND = "
        UPDATE outbox SET next_at = now(), parked_because = NULL, again_since = now() WHERE order_no = $1";
    BACKLOG = "
        SELECT count(*) FILTER (WHERE parked_because IS NULL) AS waiting, count(*) FILTER (WHERE parked_because IS NOT NULL) AS parked,
               extract(epoch FROM now() - min(created_at) FILTER (WHERE parked_because IS NULL))::double precision AS age
          FROM outbox";
    PARKED = "
        SELECT o.id, p.order_no, p.life, p.kind, p.target, p.attempts, p.parked_because, p.last_error, NULL::timestamptz AS next_at, p.created_at,
               (SELECT s.name FROM subscriptions s WHERE s.no = ANY(ARRAY[p.subscription])) AS subscription
          FROM outbox p JOIN orders o ON o.no = ANY(ARRAY[p.order_no])
         WHERE p.parked_because IS NOT NULL AND (p.order_no, p.life, p.kind) > ($1, $2, $3)
         ORDER BY p.order_no, p.life, p.kind LIMIT $4";
}

/// The undelivered notifications of an order, the oldest first, a thousand at most.
pub async fn of_order(client: &Client, no: OrderNo) -> Result<Vec<UnsentView>> {
    let statement = client.prepare_cached(OF_ORDER).await?;
    let rows = client.query(&statement, &[&no.0]).await?;
    Ok(rows.iter().map(unsent).collect())
}

/// Reads a notification with its whole target: nobody is shown it unmasked.
fn unsent(row: &Row) -> UnsentView {
    read!(row => UnsentView { life, kind, target, subscription, attempts, parked_because, last_error, next_at })
}

/// A parked notification among those of all orders.
#[derive(Clone, Debug)]
pub struct ParkedNotification {
    /// Our number of the order.
    pub no: OrderNo,
    /// Line that a list shows of it.
    pub line: NotificationLine,
}

/// Parked notifications behind this one, by order, life and kind.
pub async fn parked(
    client: &Client,
    after: (OrderNo, Life, &str),
    limit: i64,
) -> Result<Vec<ParkedNotification>> {
    let statement = client.prepare_cached(PARKED).await?;
    let (no, life, kind) = (after.0.0, after.1.0, after.2);
    let rows = client.query(&statement, &[&no, &life, &kind, &limit]).await?;
    let read = |row: &Row| ParkedNotification {
        no: OrderNo(row.get("order_no")),
        line: read!(row => NotificationLine { created_at; order: row.get("id"), notification: unsent(row) }),
    };
    Ok(rows.iter().map(read).collect())
}

/// Sends the undelivered notifications of an order again, also those that were parked.
pub async fn resend(tx: &Tx<'_>, no: OrderNo) -> Result<u64> {
    let statement = tx.prepare_cached(RESEND).await?;
    Ok(tx.execute(&statement, &[&no.0]).await?)
}

/// Amount that is not sent: waiting, parked, and the age of the oldest waiting one in seconds.
pub async fn backlog(client: &Client) -> Result<(i64, i64, Option<f64>)> {
    let statement = client.prepare_cached(BACKLOG).await?;
    let row = client.query_one(&statement, &[]).await?;
    Ok((row.get("waiting"), row.get("parked"), row.get("age")))
}
