//! Due orders by flow, for who wakes at the pace of flows (ACT-5): what is woken of each and not begun, pages of what is due, and
//! those of it that were chosen.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_domain::number::saturated;

use super::{Woken, make_ready};
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    // By the index of commands that are repeated: what was woken, and nothing else, stands in it.
    WOKEN = "
        SELECT flow, count(*) AS woken
          FROM (SELECT flow FROM ready WHERE repeat_at >= $2 ORDER BY repeat_at LIMIT $1) AS woken
         GROUP BY flow ORDER BY flow";
    OLDEST = "
        SELECT d.order_no, o.flow
          FROM (SELECT order_no, due_at FROM due WHERE stream = $1 AND due_at >= $4 AND due_at <= statement_timestamp()
                 ORDER BY due_at OFFSET $2 LIMIT $3) AS d
          JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         ORDER BY d.due_at, d.order_no";
    NEWEST = "
        SELECT d.order_no, o.flow
          FROM (SELECT order_no, due_at FROM due WHERE stream = $1 AND due_at >= $3 AND due_at <= statement_timestamp()
                 ORDER BY due_at DESC LIMIT $2) AS d
          JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         ORDER BY d.due_at, d.order_no";
    TAKE_THESE = "
        DELETE FROM due
         WHERE order_no = ANY (ARRAY(
               SELECT order_no FROM due
                WHERE order_no = ANY($1::bigint[]) AND stream = $2 AND due_at <= statement_timestamp()
                ORDER BY order_no FOR UPDATE SKIP LOCKED))
        RETURNING order_no, due_at";
    LOCK_THESE = "SELECT no FROM orders WHERE no = ANY($1::bigint[]) ORDER BY no FOR UPDATE SKIP LOCKED";
}

/// A page of what is due in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuePage {
    /// Due orders by time, after some that are passed over.
    Oldest {
        /// Number of those that are passed over.
        after: usize,
    },
    /// Due orders whose time has come last.
    Newest,
}

/// Stages that were woken and have not begun, by flow, whose commands are repeated from a time on; at most `limit` of them are
/// counted, those woken first.
pub async fn woken(client: &Client, from: Timestamp, limit: i64) -> Result<Vec<(String, u64)>> {
    let rows = client.query(&client.prepare_cached(WOKEN).await?, &[&limit, &from]).await?;
    let read = |row: &tokio_postgres::Row| (row.get("flow"), saturated::<u64>(row.get::<_, i64>("woken")));
    Ok(rows.iter().map(read).collect())
}

/// A page of what is due in a stream from a time on, with the flow of each order; nothing is locked.
pub async fn page(
    client: &Client,
    stream: Stream,
    from: Timestamp,
    page: DuePage,
    limit: usize,
) -> Result<Vec<(OrderNo, String)>> {
    let limit = saturated::<i64>(limit);
    let rows = match page {
        DuePage::Oldest { after } => {
            let after = saturated::<i64>(after);
            let statement = client.prepare_cached(OLDEST).await?;
            client.query(&statement, &[&stream.number(), &after, &limit, &from]).await?
        }
        DuePage::Newest => {
            let statement = client.prepare_cached(NEWEST).await?;
            client.query(&statement, &[&stream.number(), &limit, &from]).await?
        }
    };
    Ok(rows.iter().map(|row| (OrderNo(row.get("order_no")), row.get("flow"))).collect())
}

/// Wakes those of these orders that are due in a stream; rows that another activator holds are passed over. `repeat_at` is when
/// the command is to be repeated.
pub async fn wake_these(
    tx: &Tx<'_>,
    stream: Stream,
    orders: &[OrderNo],
    repeat_at: Timestamp,
) -> Result<Vec<Woken>> {
    let mut nos: Vec<i64> = orders.iter().map(|no| no.0).collect();
    if stream == Stream::Wait {
        // Waits are decided under the lock of the order: a callback may be about to end the same wait.
        let locked = tx.query(&tx.prepare_cached(LOCK_THESE).await?, &[&nos]).await?;
        nos = locked.iter().map(|row| row.get("no")).collect();
    }
    let rows = tx.query(&tx.prepare_cached(TAKE_THESE).await?, &[&nos, &stream.number()]).await?;
    make_ready(tx, stream, &rows, repeat_at).await
}
