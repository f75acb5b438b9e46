//! Calls by which called systems learn that an answer is not wanted any more (SCN-22). The statements that give requests up
//! write them; here they are taken, and their outcomes noted. Orders whose scenarios have no such call cost nothing here.

use std::time::Duration;

use pagurus_domain::id::{OrderNo, RequestId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    // Taking counts the attempt, and keeps others off for as long as the call may last, and a while to write its outcome. The
    // call is text, and is not parsed: one that PostgreSQL could not read, for a NUL in it, would hold up all others.
    TAKE = "
        UPDATE cancellations c
           SET next_at = now() + make_interval(secs => coalesce(substring(c.call FROM '\"timeoutMs\":([0-9]{1,9})[,}]')::double precision / 1000, 0) + $2),
               attempts = c.attempts + 1
         WHERE c.id = ANY(ARRAY(
               SELECT id FROM cancellations WHERE status = 'pending' AND next_at <= now()
                ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED))
           AND c.status = 'pending'
        RETURNING c.id, c.request, c.order_no, c.name, c.call, c.attempts,
                  extract(epoch FROM now() - c.created_at)::double precision AS age,
                  (SELECT o.id FROM orders o WHERE o.no = c.order_no) AS order_id";
    // One that was asked again meanwhile is gone.
    SETTLE = "
        UPDATE cancellations SET status = $2, last_error = $3, ended_at = now()
         WHERE id = $1 AND status = 'pending'";
    POSTPONE = "
        UPDATE cancellations SET next_at = now() + make_interval(secs => $2), last_error = coalesce($3, last_error),
               attempts = attempts - $4
         WHERE id = $1 AND status = 'pending'";
    // The same request is asked again: what would give up its former round must not meet the new one.
    FORGET = "DELETE FROM cancellations WHERE request = ANY($1::uuid[]) AND order_no = ANY($2::bigint[]) AND status = 'pending'";
}

/// A call that is due.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// Id: the key against doubles.
    pub id: Uuid,
    /// The request.
    pub request: RequestId,
    /// The order.
    pub order_no: OrderNo,
    /// Id of the order; `None` if it was removed.
    pub order_id: Option<String>,
    /// Name of the request.
    pub name: String,
    /// The call as it was rendered, as JSON.
    pub call: String,
    /// Number of this attempt, from 1.
    pub attempts: i32,
    /// Seconds since the request was given up.
    pub age: f64,
}

/// Takes calls that are due, `limit` at most, and keeps other workers off them while they may last, and for this time beyond.
pub async fn take(client: &Client, limit: i64, beyond: Duration) -> Result<Vec<Cancellation>> {
    let statement = client.prepare_cached(TAKE).await?;
    let rows = client.query(&statement, &[&limit, &beyond.as_secs_f64()]).await?;
    let read = |row: &Row| {
        read!(row => Cancellation {
            id, order_id, name, call, attempts, age;
            request: RequestId(row.get("request")),
            order_no: OrderNo(row.get("order_no"))
        })
    };
    Ok(rows.iter().map(read).collect())
}

/// Notes the outcome of a call that is not made again. False if the request was asked again meanwhile.
pub async fn settle(tx: &Tx<'_>, id: Uuid, is_done: bool, error: Option<&str>) -> Result<bool> {
    let status = if is_done { "done" } else { "failed" };
    let statement = tx.prepare_cached(SETTLE).await?;
    Ok(tx.execute(&statement, &[&id, &status, &error]).await? == 1)
}

/// Puts a call off: after a failure, or uncounted, because nothing was sent.
pub async fn postpone(
    client: &Client,
    id: Uuid,
    delay: Duration,
    error: Option<&str>,
    counts: bool,
) -> Result<()> {
    let statement = client.prepare_cached(POSTPONE).await?;
    client.execute(&statement, &[&id, &delay.as_secs_f64(), &error, &i32::from(!counts)]).await?;
    Ok(())
}

/// Forgets the calls for requests that are asked again.
pub(crate) async fn forget(tx: &Tx<'_>, requests: &[Uuid], orders: &[i64]) -> Result<()> {
    let statement = tx.prepare_cached(FORGET).await?;
    tx.execute(&statement, &[&requests, &orders]).await?;
    Ok(())
}
