//! What is due: from `due` back to `ready`, and commands that are repeated.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use uuid::Uuid;

use crate::orders::word;
use crate::sql::statements;
use crate::stages::ReadyStage;
use crate::{Client, Error, Result, Tx, queues};

statements! {
    NEXT = "SELECT due_at, clock_timestamp() FROM due WHERE stream = $1 ORDER BY due_at LIMIT 1";
    TAKE = "
        DELETE FROM due
         WHERE order_no = ANY (ARRAY(
               SELECT order_no FROM due WHERE stream = $1 AND due_at <= statement_timestamp()
                ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING order_no, due_at";
    // Waits are decided under the lock of the order: a callback may be about to end the same wait.
    LOCK_WAITS = "
        SELECT no FROM orders
         WHERE no = ANY (ARRAY(
               SELECT order_no FROM due WHERE stream = $1 AND due_at <= statement_timestamp() ORDER BY due_at LIMIT $2))
         ORDER BY no FOR UPDATE SKIP LOCKED";
    TAKE_WAITS = "
        DELETE FROM due WHERE order_no = ANY($1::bigint[]) AND stream = $2 AND due_at <= statement_timestamp()
        RETURNING order_no, due_at";
    SEQUENTIAL = "
        SELECT o.no, o.queue FROM orders o
         WHERE o.no = ANY($1::bigint[]) AND o.queue IS NOT NULL
           AND NOT EXISTS (SELECT FROM queued q WHERE q.order_no = ANY(ARRAY[o.no]))
         ORDER BY o.no";
    TAKE_ANSWERED = "
        DELETE FROM due d
         WHERE d.order_no = ANY($1::bigint[]) AND d.stream = $2
           AND NOT EXISTS (SELECT FROM requests r
                            WHERE r.order_no = ANY(ARRAY[d.order_no]) AND r.awaited AND r.status = 'open')
        RETURNING d.order_no, d.due_at";
    WAKE = "
        INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, queue, position, since, stream, repeat_at)
        SELECT o.no, t.pass, o.attempt + 1, $4, o.flow, o.priority, q.queue, q.position, coalesce(t.since, clock_timestamp()), $5, $6
          FROM unnest($1::bigint[], $2::uuid[], $3::timestamptz[]) AS t (no, pass, since)
          JOIN orders o ON o.no = ANY(ARRAY[t.no])
          LEFT JOIN queued q ON q.order_no = ANY(ARRAY[t.no])
        RETURNING order_no, attempt, flow, priority, queue, position";
    REPEAT = "
        UPDATE ready SET repeat_at = clock_timestamp() + greatest(make_interval(secs => $2), clock_timestamp() - since)
         WHERE order_no = ANY (ARRAY(
               SELECT order_no FROM ready WHERE repeat_at <= statement_timestamp()
                ORDER BY repeat_at LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING order_no, attempt, flow, priority, queue, position, stream";
}

/// The next due time of a stream, and the database's clock beside it.
///
/// # Errors
/// The database fails.
pub async fn next(client: &Client, stream: Stream) -> Result<Option<(Timestamp, Timestamp)>> {
    let statement = client.prepare_cached(NEXT).await?;
    let row = client.query_opt(&statement, &[&stream.number()]).await?;
    Ok(row.map(|row| (row.get(0), row.get(1))))
}

/// An order that was woken: what may run of it, and when it was due.
#[derive(Clone, Debug)]
pub struct Woken {
    /// What may run.
    pub stage: ReadyStage,
    /// When it was due.
    pub due_at: Timestamp,
}

/// Wakes what is due in a stream: at most `limit` orders, oldest first; rows that another
/// activator holds are passed over. `repeat_at` is when the command is to be repeated.
///
/// # Errors
/// The database fails.
pub async fn wake(
    tx: &Tx<'_>,
    stream: Stream,
    limit: i64,
    repeat_at: Option<Timestamp>,
) -> Result<Vec<Woken>> {
    let rows = if stream == Stream::Wait {
        let lock = tx.prepare_cached(LOCK_WAITS).await?;
        let locked = tx.query(&lock, &[&stream.number(), &limit]).await?;
        let nos: Vec<i64> = locked.iter().map(|row| row.get(0)).collect();
        let take = tx.prepare_cached(TAKE_WAITS).await?;
        tx.query(&take, &[&nos, &stream.number()]).await?
    } else {
        let take = tx.prepare_cached(TAKE).await?;
        tx.query(&take, &[&stream.number(), &limit]).await?
    };
    let due: Vec<(i64, Timestamp)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let nos: Vec<i64> = due.iter().map(|(no, _)| *no).collect();
    match stream {
        Stream::Wait => crate::requests::time_out(tx, &nos).await?,
        Stream::Retry | Stream::Polling => {}
        // A sleep gave the queue up, and a postponed order never had a place: now it takes the tail.
        _ => rejoin_queues(tx, &nos).await?,
    }
    let wake = match stream {
        Stream::Retry => "retry",
        Stream::Polling => "poll",
        Stream::Postponed | Stream::Dependent => "start",
        _ => "timer",
    };
    let since: Vec<(i64, Option<Timestamp>)> = due.iter().map(|(no, at)| (*no, Some(*at))).collect();
    let stages = make_ready(tx, &since, wake, Some(stream), repeat_at).await?;
    let at: std::collections::HashMap<i64, Timestamp> = due.into_iter().collect();
    stages
        .into_iter()
        .map(|stage| {
            let due_at = *at.get(&stage.no.0).ok_or_else(|| Error::broken("due", stage.no))?;
            Ok(Woken { stage, due_at })
        })
        .collect()
}

/// Puts those of these orders that are sequential, and in no queue, at the tail of theirs.
pub(crate) async fn rejoin_queues(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    let statement = tx.prepare_cached(SEQUENTIAL).await?;
    let rows = tx.query(&statement, &[&nos]).await?;
    let orders: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.get(1)).collect();
    let positions = queues::take_positions(tx, &names).await?;
    queues::enqueue(tx, &orders, &names, &positions).await
}

/// Wakes those of these orders that wait and whose awaited callbacks are all in. Their rows of
/// `orders` must be locked by this transaction.
///
/// # Errors
/// The database fails.
pub(crate) async fn wake_answered(tx: &Tx<'_>, orders: &[i64]) -> Result<Vec<ReadyStage>> {
    let statement = tx.prepare_cached(TAKE_ANSWERED).await?;
    let rows = tx.query(&statement, &[&orders, &Stream::Wait.number()]).await?;
    let answered: Vec<(i64, Option<Timestamp>)> = rows.iter().map(|row| (row.get(0), None)).collect();
    if answered.is_empty() {
        return Ok(Vec::new());
    }
    make_ready(tx, &answered, "callback", None, None).await
}

/// Puts orders on the list of what may run, since the time given, or since now.
pub(crate) async fn make_ready(
    tx: &Tx<'_>,
    due: &[(i64, Option<Timestamp>)],
    wake: &str,
    stream: Option<Stream>,
    repeat_at: Option<Timestamp>,
) -> Result<Vec<ReadyStage>> {
    let nos: Vec<i64> = due.iter().map(|(no, _)| *no).collect();
    let passes: Vec<Uuid> = due.iter().map(|_| Uuid::new_v4()).collect();
    let since: Vec<Option<Timestamp>> = due.iter().map(|(_, at)| *at).collect();
    let statement = tx.prepare_cached(WAKE).await?;
    let stream_number = stream.map(Stream::number);
    let rows = tx.query(&statement, &[&nos, &passes, &since, &wake, &stream_number, &repeat_at]).await?;
    rows.iter().map(|row| read_ready(row, true)).collect()
}

/// Repeats commands that nobody followed: moves their time forward by the present lag of each, at
/// least by `min_shift`, and tells what to send again.
///
/// # Errors
/// The database fails.
pub async fn repeat(tx: &Tx<'_>, limit: i64, min_shift: Duration) -> Result<Vec<(Option<i16>, ReadyStage)>> {
    let statement = tx.prepare_cached(REPEAT).await?;
    let rows = tx.query(&statement, &[&limit, &min_shift.as_secs_f64()]).await?;
    rows.iter().map(|row| Ok((row.get(6), read_ready(row, true)?))).collect()
}

/// Reads a row that begins with the six columns of `ready` that the dispatcher needs.
pub(crate) fn read_ready(row: &tokio_postgres::Row, woken: bool) -> Result<ReadyStage> {
    Ok(ReadyStage {
        no: OrderNo(row.get(0)),
        attempt: row.get(1),
        flow: row.get(2),
        priority: word(row, 3, "ready.priority")?,
        place: row.get::<_, Option<String>>(4).zip(row.get(5)),
        woken,
    })
}
