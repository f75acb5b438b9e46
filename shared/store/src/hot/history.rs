//! The history of orders: append-only, numbered without gaps.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::id::{Life, OrderNo};

use crate::columns::columns;
use crate::sql::{statements, taken_over};
use crate::{Client, Result, Tx};

statements! {
    APPEND = "
        WITH numbered AS (
            UPDATE orders o SET events = o.events + 1, updated_at = now()
              FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS t (no, kind, source, detail)
             WHERE o.no = ANY(ARRAY[t.no])
            RETURNING o.no, o.events, o.life, t.kind, t.source, t.detail)
        INSERT INTO history (order_no, number, life, kind, source, detail)
        SELECT no, events, life, kind, source, detail FROM numbered";
    OF_KEY = "
        SELECT DISTINCT ON (order_no) order_no, number, life, kind, at, source, detail FROM history
         WHERE order_no = ANY($1::bigint[]) AND kind = ANY($2::text[]) AND detail::jsonb ->> 'key' = $3
         ORDER BY order_no, number DESC";
    OF_ORDER = "
        SELECT number, life, kind, at, source, detail FROM history
         WHERE order_no = $1 AND number > $2 ORDER BY number LIMIT $3";
    LAST_OF_ORDER = "
        SELECT number, life, kind, at, source, detail
          FROM (SELECT * FROM history WHERE order_no = $1 ORDER BY number DESC LIMIT $2) AS last ORDER BY number";
    OF_ORDERS = "
        SELECT h.order_no, h.number, h.life, h.kind, h.at, h.source, h.detail
          FROM unnest($1::bigint[]) AS o (no)
         CROSS JOIN LATERAL (SELECT * FROM history WHERE order_no = o.no ORDER BY number LIMIT $2) AS h
         ORDER BY h.order_no, h.number";
    FAILOVERS = concat!(
        "SELECT count(*) AS times, max(at) AS last_at FROM history WHERE order_no = $1 AND ",
        taken_over!()
    );
}

/// An event to be appended.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// The order.
    pub no: OrderNo,
    /// Kind of the event.
    pub kind: &'a str,
    /// Source of the event.
    pub source: &'a str,
    /// More, as JSON.
    pub detail: &'a str,
}

/// Appends events: one to each of these orders.
pub async fn append_all(tx: &Tx<'_>, events: &[NewEvent<'_>]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let columns = columns!(event in events => {
        no: i64 = event.no.0,
        kind: &str = event.kind,
        source: &str = event.source,
        detail: &str = event.detail,
    });
    columns.execute(tx, APPEND, &[]).await?;
    Ok(())
}

/// Appends one event; `source` says who or what caused it.
pub async fn append(tx: &Tx<'_>, no: OrderNo, kind: &str, source: &str, detail: &str) -> Result<()> {
    append_all(tx, &[NewEvent { no, kind, source, detail }]).await
}

/// A row of the history.
#[derive(Clone, Debug)]
pub struct HistoryEvent {
    /// Number; a row of kind `stage` stands for this one and the next.
    pub number: i32,
    /// Life of the order.
    pub life: Life,
    /// Kind of the event.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// Source of the event.
    pub source: String,
    /// More, as JSON.
    pub detail: String,
}

/// The last event of one of these kinds that each order has from a request under this key. The orders must
/// be locked: else the same request may be at work beside.
pub async fn of_key(
    tx: &Tx<'_>,
    nos: &[i64],
    kinds: &[&str],
    key: &str,
) -> Result<HashMap<OrderNo, HistoryEvent>> {
    let statement = tx.prepare_cached(OF_KEY).await?;
    let rows = tx.query(&statement, &[&nos, &kinds, &key]).await?;
    Ok(rows.iter().map(|row| (OrderNo(row.get("order_no")), read_event(row))).collect())
}

fn read_event(row: &tokio_postgres::Row) -> HistoryEvent {
    HistoryEvent {
        number: row.get("number"),
        life: Life(row.get("life")),
        kind: row.get("kind"),
        at: row.get("at"),
        source: row.get("source"),
        detail: row.get("detail"),
    }
}

/// Events of an order after a number, in order.
pub async fn of_order(client: &Client, no: OrderNo, after: i32, limit: i64) -> Result<Vec<HistoryEvent>> {
    let statement = client.prepare_cached(OF_ORDER).await?;
    let rows = client.query(&statement, &[&no.0, &after, &limit]).await?;
    Ok(rows.iter().map(read_event).collect())
}

/// The last events of an order, in order.
pub async fn last_of_order(client: &Client, no: OrderNo, limit: i64) -> Result<Vec<HistoryEvent>> {
    let rows = client.query(&client.prepare_cached(LAST_OF_ORDER).await?, &[&no.0, &limit]).await?;
    Ok(rows.iter().map(read_event).collect())
}

/// The first events of each of these orders, `limit` at most, in order.
pub async fn of_orders(
    client: &Client,
    nos: &[i64],
    limit: i64,
) -> Result<HashMap<OrderNo, Vec<HistoryEvent>>> {
    let rows = client.query(&client.prepare_cached(OF_ORDERS).await?, &[&nos, &limit]).await?;
    let mut events: HashMap<OrderNo, Vec<HistoryEvent>> = HashMap::new();
    for row in &rows {
        events.entry(OrderNo(row.get("order_no"))).or_default().push(read_event(row));
    }
    Ok(events)
}

/// Number of times that stages of an order were taken over from nodes that were lost, with the last of them.
pub async fn failovers(client: &Client, no: OrderNo) -> Result<(i64, Option<Timestamp>)> {
    let row = client.query_one(&client.prepare_cached(FAILOVERS).await?, &[&no.0]).await?;
    Ok((row.get("times"), row.get("last_at")))
}
