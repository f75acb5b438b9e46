//! Orders that are due: from `due` back to `ready`, and commands that are repeated.

pub mod by_flow;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::order::change::Waking;

use crate::hot::place;
use crate::hot::place::Wakeful;
use crate::hot::ready::{ReadyStage, read_ready};
use crate::hot::requests;
use crate::hot::requests::OverdueTask;
use crate::row::stream;
use crate::sql::statements;
use crate::{Error, Result, Tx};

statements! {
    TAKE = "
        DELETE FROM due
         WHERE order_no = ANY (ARRAY(
               SELECT order_no FROM due WHERE stream = $1 AND due_at >= $3 AND due_at <= statement_timestamp()
                ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING order_no, due_at";
    // Waits are decided under the lock of the order: a callback may be about to end the same wait.
    LOCK_WAITS = "
        SELECT no FROM orders
         WHERE no = ANY (ARRAY(
               SELECT order_no FROM due WHERE stream = $1 AND due_at >= $3 AND due_at <= statement_timestamp()
                ORDER BY due_at LIMIT $2))
         ORDER BY no FOR UPDATE SKIP LOCKED";
    TAKE_WAITS = "
        DELETE FROM due WHERE order_no = ANY($1::bigint[]) AND stream = $2 AND due_at <= statement_timestamp()
        RETURNING order_no, due_at";
    TAKE_ANSWERED = "
        DELETE FROM due d
         WHERE d.order_no = ANY($1::bigint[]) AND d.stream = $2
           AND NOT EXISTS (SELECT FROM requests r
                            WHERE r.order_no = ANY(ARRAY[d.order_no]) AND r.awaited AND r.status = 'open')
        RETURNING d.order_no, d.due_at";
    REPEAT = "
        UPDATE ready SET repeat_at = clock_timestamp() + greatest(make_interval(secs => $2), clock_timestamp() - since)
         WHERE order_no = ANY (ARRAY(
               SELECT order_no FROM ready WHERE repeat_at >= $3 AND repeat_at <= statement_timestamp()
                ORDER BY repeat_at LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING order_no, attempt, flow, priority, queue, position, woken, stream";
}

/// An order that was woken: what may run of it, when it was due, and what it waited for in vain.
#[derive(Clone, Debug)]
pub struct Woken {
    /// Stage that may run.
    pub stage: ReadyStage,
    /// Time at which it was due.
    pub due_at: Timestamp,
    /// Task whose work time-out it was.
    pub overdue: Option<OverdueTask>,
}

/// Wakes what is due in a stream, from a time on: at most `limit` orders, oldest first; rows that another
/// activator holds are passed over. `repeat_at` is when the command is to be repeated.
pub async fn wake(
    tx: &Tx<'_>,
    stream: Stream,
    from: Timestamp,
    limit: i64,
    repeat_at: Timestamp,
) -> Result<Vec<Woken>> {
    let rows = if stream == Stream::Wait {
        let lock = tx.prepare_cached(LOCK_WAITS).await?;
        let locked = tx.query(&lock, &[&stream.number(), &limit, &from]).await?;
        let nos: Vec<i64> = locked.iter().map(|row| row.get("no")).collect();
        let take = tx.prepare_cached(TAKE_WAITS).await?;
        tx.query(&take, &[&nos, &stream.number()]).await?
    } else {
        let take = tx.prepare_cached(TAKE).await?;
        tx.query(&take, &[&stream.number(), &limit, &from]).await?
    };
    make_ready(tx, stream, &rows, repeat_at).await
}

/// Puts orders that were taken from what is due on the list of what may run.
async fn make_ready(
    tx: &Tx<'_>,
    stream: Stream,
    rows: &[tokio_postgres::Row],
    repeat_at: Timestamp,
) -> Result<Vec<Woken>> {
    let due: Vec<(i64, Timestamp)> =
        rows.iter().map(|row| (row.get("order_no"), row.get("due_at"))).collect();
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let by = Waking::Due(stream);
    let mut overdue = HashMap::new();
    if by.times_requests_out() {
        let nos: Vec<i64> = due.iter().map(|(no, _)| *no).collect();
        overdue = requests::overdue_tasks(tx, &nos).await?;
        requests::time_out(tx, &nos).await?;
    }
    let since: Vec<(i64, Option<Timestamp>)> = due.iter().map(|(no, at)| (*no, Some(*at))).collect();
    let stages = place::wake(tx, Wakeful { orders: &since, by, repeat_at: Some(repeat_at) }).await?;
    let at: HashMap<i64, Timestamp> = due.into_iter().collect();
    stages
        .into_iter()
        .map(|stage| {
            let due_at = *at.get(&stage.no.0).ok_or_else(|| Error::broken("due", stage.no))?;
            let overdue = overdue.remove(&stage.no.0);
            Ok(Woken { stage, due_at, overdue })
        })
        .collect()
}

/// Wakes those of these orders that wait and whose awaited callbacks are all in. Their rows of
/// `orders` must be locked by this transaction.
pub(crate) async fn wake_answered(tx: &Tx<'_>, orders: &[i64]) -> Result<Vec<ReadyStage>> {
    let statement = tx.prepare_cached(TAKE_ANSWERED).await?;
    let rows = tx.query(&statement, &[&orders, &Stream::Wait.number()]).await?;
    let answered: Vec<i64> = rows.iter().map(|row| row.get("order_no")).collect();
    place::wake_now(tx, &answered, Waking::Answered).await
}

/// Repeats commands that nobody followed, from a time on: moves their time forward by the present lag of each, at
/// least by `min_shift`, and tells what to send again.
pub async fn repeat(
    tx: &Tx<'_>,
    from: Timestamp,
    limit: i64,
    min_shift: Duration,
) -> Result<Vec<(Option<Stream>, ReadyStage)>> {
    let statement = tx.prepare_cached(REPEAT).await?;
    let rows = tx.query(&statement, &[&limit, &min_shift.as_secs_f64(), &from]).await?;
    rows.iter().map(|row| Ok((stream(row), read_ready(row)?))).collect()
}
