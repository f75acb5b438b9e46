//! Suspended orders whose clients want to be notified of those that stand still (ORD-18): when it is time to look.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, OrderNo};

use crate::columns::columns;
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    WATCH = "
        INSERT INTO suspensions (order_no, attempt, at)
        SELECT no, attempt, now() + make_interval(secs => $3)
          FROM unnest($1::bigint[], $2::integer[]) AS t (no, attempt)
        ON CONFLICT (order_no) DO UPDATE SET attempt = excluded.attempt, since = excluded.since, at = excluded.at";
    PASSED = "
        DELETE FROM suspensions s
         USING (SELECT order_no FROM suspensions WHERE at >= $2 AND at <= statement_timestamp()
                 ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED) AS t
         WHERE s.order_no = ANY(ARRAY[t.order_no])
        RETURNING s.order_no, s.attempt, s.since,
                  (SELECT o.error_message FROM orders o WHERE o.no = ANY(ARRAY[s.order_no])) AS error_message";
}

/// A suspension whose time has come.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// The order.
    pub no: OrderNo,
    /// The hand-out whose stage was suspended.
    pub attempt: Attempt,
    /// Time of the suspension.
    pub since: Timestamp,
    /// Message of the error that it waits for, if it does.
    pub error: Option<String>,
}

/// Notes orders that the end of this hand-out has suspended: they are looked at after this time.
pub async fn watch(tx: &Tx<'_>, suspended: &[(OrderNo, Attempt)], after: Duration) -> Result<()> {
    if suspended.is_empty() {
        return Ok(());
    }
    let columns = columns!((no, attempt) in suspended => {
        no: i64 = no.0,
        attempt: i32 = attempt.0,
    });
    columns.execute(tx, WATCH, &[&after.as_secs_f64()]).await?;
    Ok(())
}

/// Takes those whose time has come, the oldest first; `from` is the time of the first one, below which nothing is left.
pub async fn passed(tx: &Tx<'_>, from: Timestamp, limit: i64) -> Result<Vec<Suspension>> {
    let statement = tx.prepare_cached(PASSED).await?;
    let rows = tx.query(&statement, &[&limit, &from]).await?;
    let read = |row: &tokio_postgres::Row| Suspension {
        no: OrderNo(row.get("order_no")),
        attempt: Attempt(row.get("attempt")),
        since: row.get("since"),
        error: row.get("error_message"),
    };
    Ok(rows.iter().map(read).collect())
}
