//! Places of orders that are not final: how one gets into `ready` and `due`, and what is read of it there.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::order::change::{Membership, Waking};
use pagurus_domain::order::stage::Wake;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::ready::{ReadyStage, read_ready};
use crate::hot::{deadlines, queues};
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    OUT_OF_QUEUE = "
        SELECT o.no, o.queue FROM orders o
         WHERE o.no = ANY($1::bigint[]) AND o.queue IS NOT NULL
           AND NOT EXISTS (SELECT FROM queued q WHERE q.order_no = ANY(ARRAY[o.no]))
         ORDER BY o.no";
    MAKE_READY = "
        INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, queue, position, since, stream, repeat_at, woken)
        SELECT o.no, t.pass, o.attempt + 1, $4, o.flow, o.priority, q.queue, q.position, coalesce(t.since, clock_timestamp()), $5, $6, $7
          FROM unnest($1::bigint[], $2::uuid[], $3::timestamptz[]) AS t (no, pass, since)
          JOIN orders o ON o.no = ANY(ARRAY[t.no])
          LEFT JOIN queued q ON q.order_no = ANY(ARRAY[t.no])
        RETURNING order_no, attempt, flow, priority, queue, position, woken";
    INSERT_DUE = "
        INSERT INTO due (order_no, stream, due_at)
        SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::timestamptz[]) AS t (order_no, stream, due_at)";
}

/// Orders without a place that may run now, each with the time since when; none is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wakeful<'a> {
    /// Numbers and times.
    pub orders: &'a [(i64, Option<Timestamp>)],
    /// Event that lets them run.
    pub by: Waking,
    /// Time from which the command to run them is repeated.
    pub repeat_at: Option<Timestamp>,
}

/// Puts orders on the list of what may run, at the tail of their queues where the law has it so.
pub(crate) async fn wake(tx: &Tx<'_>, wakeful: Wakeful<'_>) -> Result<Vec<ReadyStage>> {
    let Wakeful { orders, by, repeat_at } = wakeful;
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    if by.membership() == Membership::TakesTail {
        let nos: Vec<i64> = orders.iter().map(|(no, _)| *no).collect();
        rejoin_queues(tx, &nos).await?;
    }
    let columns = columns!((no, since) in orders => {
        no: i64 = *no,
        pass: Uuid = Uuid::new_v4(),
        since: Option<Timestamp> = *since,
    });
    if by.wake() == Wake::Start {
        let nos: Vec<i64> = orders.iter().map(|(no, _)| *no).collect();
        deadlines::begin(tx, &nos).await?;
    }
    let stream = by.stream().map(|stream| stream.number());
    let rows =
        columns.query(tx, MAKE_READY, &[&by.wake().as_str(), &stream, &repeat_at, &by.yields()]).await?;
    rows.iter().map(read_ready).collect()
}

/// The same for orders that may run since now, and whose command is not repeated.
pub(crate) async fn wake_now(tx: &Tx<'_>, orders: &[i64], by: Waking) -> Result<Vec<ReadyStage>> {
    let orders: Vec<(i64, Option<Timestamp>)> = orders.iter().map(|no| (*no, None)).collect();
    wake(tx, Wakeful { orders: &orders, by, repeat_at: None }).await
}

/// Puts those of these orders that are sequential, and in no queue, at the tail of theirs.
async fn rejoin_queues(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    let statement = tx.prepare_cached(OUT_OF_QUEUE).await?;
    let rows = tx.query(&statement, &[&nos]).await?;
    let names: Vec<&str> = rows.iter().map(|row| row.get("queue")).collect();
    let positions = queues::take_positions(tx, &names).await?;
    let members: Vec<(i64, &str, i64)> = rows
        .iter()
        .zip(positions)
        .map(|(row, position)| (row.get("no"), row.get("queue"), position))
        .collect();
    queues::enqueue(tx, &members).await
}

/// Puts orders to rest: each in a stream, until a time.
pub(crate) async fn insert_due(tx: &Tx<'_>, resting: &[(i64, Stream, Timestamp)]) -> Result<()> {
    if !resting.is_empty() {
        let columns = columns!((no, stream, at) in resting => {
            order_no: i64 = *no,
            stream: i16 = stream.number(),
            due_at: Timestamp = *at,
        });
        columns.execute(tx, INSERT_DUE, &[]).await?;
    }
    Ok(())
}
