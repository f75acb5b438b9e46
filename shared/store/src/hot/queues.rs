//! Queues of sequential orders: positions, heads, and what people see of them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::Status;

use crate::columns::columns;
use crate::row::word;
use crate::sql::{name_in_scope, shown_status, statements};
use crate::{Client, Connection, Result, Tx};

statements! {
    // A position is the present millisecond, or the one after the last given: it grows with every
    // order of the queue, and the lock on the row makes commit order follow it.
    TAKE = "
        INSERT INTO queues AS q (name, last_position, taken)
        SELECT name, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + wanted - 1, wanted
          FROM unnest($1::text[], $2::bigint[]) AS t (name, wanted)
        ON CONFLICT (name) DO UPDATE
           SET last_position = greatest(q.last_position + excluded.taken, excluded.last_position),
               taken = excluded.taken
        RETURNING name, last_position - taken + 1 AS first";
    ENQUEUE = "
        INSERT INTO queued (order_no, queue, position)
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS t (order_no, queue, position)";
    // While the first stage of a member runs, the row of the running stage says since when: most leave with its end.
    HOLD = "
        UPDATE queued q SET held_since = t.since
          FROM unnest($1::bigint[], $2::timestamptz[]) AS t (no, since)
         WHERE q.order_no = ANY(ARRAY[t.no]) AND q.held_since IS NULL";
    LEAVE = "DELETE FROM queued WHERE order_no = ANY($1::bigint[])";
    BEFORE = "SELECT count(*) AS before FROM queued WHERE queue = $1 AND position < $2";
    HEADS = "
        SELECT wanted.queue, head.position, head.order_no, r.attempt, r.flow, r.priority, r.woken
          FROM unnest($1::text[]) AS wanted (queue)
         CROSS JOIN LATERAL (
               SELECT q.position, q.order_no FROM queued q
                WHERE q.queue = wanted.queue
                  AND q.position >= coalesce((SELECT u.head FROM queues u WHERE u.name = ANY(ARRAY[wanted.queue])), 0)
                ORDER BY q.position LIMIT 1) AS head
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[head.order_no])";
    // Who is seen stands before all that is not: positions are given and committed in one order.
    RAISE_HEAD = "
        UPDATE queues u SET head = q.position
          FROM (SELECT position FROM queued
                 WHERE queue = $1 AND position >= coalesce((SELECT k.head FROM queues k WHERE k.name = $1), 0)
                 ORDER BY position LIMIT 1) AS q
         WHERE u.name = $1 AND u.head < q.position";
    // All but a holder that runs, or rests between its stages.
    HAS_WAITING = "
        WITH members AS (
            SELECT order_no FROM queued
             WHERE queue = $1 AND position >= coalesce((SELECT u.head FROM queues u WHERE u.name = ANY(ARRAY[$1])), 0)
             ORDER BY position LIMIT $2::bigint + 1)
        SELECT count(*) - (SELECT count(*) FROM (SELECT order_no FROM members LIMIT 1) AS head
                            WHERE NOT EXISTS (SELECT FROM ready r WHERE r.order_no = ANY(ARRAY[head.order_no]))) >= $2::bigint AS has
          FROM members";
    HOLDER = "
        SELECT o.id, o.flow, coalesce(q.held_since, w.started_at) AS since, d.stream, d.due_at
          FROM queued q
          JOIN orders o ON o.no = ANY(ARRAY[q.order_no])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[q.order_no])
          LEFT JOIN due d ON d.order_no = ANY(ARRAY[q.order_no])
         WHERE q.queue = $1 ORDER BY q.position LIMIT 1";
    MEMBERS = concat!("
        SELECT q.position, coalesce(q.held_since, w.started_at) AS held_since, o.id, s.name AS scenario, now() AS now, ", shown_status!(), " AS status
          FROM queued q
          JOIN orders o ON o.no = ANY(ARRAY[q.order_no])
          JOIN scenarios s ON s.no = ANY(ARRAY[o.scenario])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE q.queue = $1 AND q.position > $2 ORDER BY q.position LIMIT $3");
    COUNTS = "SELECT count(*) FILTER (WHERE position <= $2) AS before, count(*) AS members FROM queued WHERE queue = $1";
    LIST_QUEUES = concat!("
        SELECT l.queue, l.members, head.position, o.id AS holder, coalesce(head.held_since, w.started_at) AS held_since
          FROM (SELECT q.queue, count(*) AS members FROM queued q WHERE ", name_in_scope!("queue", "q.queue", "$4", "$5"), " GROUP BY q.queue
                HAVING $2::bigint IS NULL OR count(*) < $2 OR (count(*) = $2 AND q.queue > $3)
                 ORDER BY count(*) DESC, q.queue LIMIT $1) AS l
         CROSS JOIN LATERAL (
               SELECT q.position, q.order_no, q.held_since FROM queued q WHERE q.queue = l.queue ORDER BY q.position LIMIT 1) AS head
          JOIN orders o ON o.no = ANY(ARRAY[head.order_no])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[head.order_no])
         ORDER BY l.members DESC, l.queue");
}

/// Takes a position for each of these queue names, in the order given. Locks the queues until the
/// end of the transaction: an order whose registration was confirmed before another was sent
/// always has the smaller position.
pub async fn take_positions(tx: &Tx<'_>, queues: &[&str]) -> Result<Vec<i64>> {
    if queues.is_empty() {
        return Ok(Vec::new());
    }
    let mut wanted: BTreeMap<&str, i64> = BTreeMap::new();
    for queue in queues {
        *wanted.entry(queue).or_default() += 1;
    }
    // Sorted by name: two transactions lock the same queues in the same order.
    let wanted: Vec<(&str, i64)> = wanted.into_iter().collect();
    let columns = columns!((name, count) in &wanted => {
        name: &str = *name,
        wanted: i64 = *count,
    });
    let rows = columns.query(tx, TAKE, &[]).await?;
    let mut next: BTreeMap<String, i64> =
        rows.iter().map(|row| (row.get("name"), row.get("first"))).collect();
    Ok(queues
        .iter()
        .map(|queue| {
            let place = next.entry((*queue).to_owned()).or_default();
            let position = *place;
            *place += 1;
            position
        })
        .collect())
}

/// Puts orders into their queues: number, queue and position of each.
pub async fn enqueue(tx: &Tx<'_>, members: &[(i64, &str, i64)]) -> Result<()> {
    if !members.is_empty() {
        let columns = columns!((no, queue, position) in members => {
            order_no: i64 = *no,
            queue: &str = *queue,
            position: i64 = *position,
        });
        columns.execute(tx, ENQUEUE, &[]).await?;
    }
    Ok(())
}

/// Notes since when orders hold their queues, where that was not noted before: their stage is over, and they stay in them.
/// An order without a queue is passed over.
pub async fn hold(tx: &Tx<'_>, members: &[(OrderNo, Timestamp)]) -> Result<()> {
    if !members.is_empty() {
        let columns = columns!((no, since) in members => {
            no: i64 = no.0,
            since: Timestamp = *since,
        });
        columns.execute(tx, HOLD, &[]).await?;
    }
    Ok(())
}

/// Takes orders out of their queues; those that are in none stay unmentioned.
pub async fn leave(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    if !nos.is_empty() {
        let statement = tx.prepare_cached(LEAVE).await?;
        tx.execute(&statement, &[&nos]).await?;
    }
    Ok(())
}

/// A member of a queue.
#[derive(Clone, Debug)]
pub struct HeadOfQueue {
    /// The queue.
    pub queue: String,
    /// Position; the smallest owns the queue.
    pub position: i64,
    /// The order.
    pub no: OrderNo,
    /// Stage of it that may run, if one may.
    pub ready: Option<crate::hot::ready::ReadyStage>,
}

/// Number of members of a queue before a position.
pub async fn before(client: &Client, queue: &str, position: i64) -> Result<i64> {
    let statement = client.prepare_cached(BEFORE).await?;
    Ok(client.query_one(&statement, &[&queue, &position]).await?.get("before"))
}

/// The head of each of these queues; a queue without members is left out.
pub async fn heads(client: &Client, queues: &[String]) -> Result<Vec<HeadOfQueue>> {
    let statement = client.prepare_cached(HEADS).await?;
    read_members(&client.query(&statement, &[&queues]).await?)
}

fn read_members(rows: &[tokio_postgres::Row]) -> Result<Vec<HeadOfQueue>> {
    rows.iter()
        .map(|row| {
            let (queue, position, no): (String, i64, i64) =
                (row.get("queue"), row.get("position"), row.get("order_no"));
            let ready = row
                .get::<_, Option<i32>>("attempt")
                .map(|attempt| {
                    Ok::<_, crate::Error>(crate::hot::ready::ReadyStage {
                        no: OrderNo(no),
                        attempt: Attempt(attempt),
                        flow: row.get("flow"),
                        priority: crate::row::word(row, "priority", "ready.priority")?,
                        place: Some((queue.clone(), position)),
                        woken: row.get("woken"),
                    })
                })
                .transpose()?;
            Ok(HeadOfQueue { queue, position, no: OrderNo(no), ready })
        })
        .collect()
}

/// Notes the present head of a queue: look-ups begin there, and walk over nothing that is gone (QLT-2).
pub async fn raise_head(client: &Client, queue: &str) -> Result<()> {
    client.execute(&client.prepare_cached(RAISE_HEAD).await?, &[&queue]).await?;
    Ok(())
}

/// True if `count` members of a queue, or more, wait to run. Looks at hardly more of them.
pub async fn has_waiting(client: &Client, queue: &str, count: i64) -> Result<bool> {
    let statement = client.prepare_cached(HAS_WAITING).await?;
    Ok(client.query_one(&statement, &[&queue, &count]).await?.get("has"))
}

/// The order that holds a queue.
#[derive(Clone, Debug)]
pub struct QueueHolder {
    /// Id.
    pub id: String,
    /// Flow.
    pub flow: String,
    /// Time since which the order holds the queue; none until a stage of it has run.
    pub since: Option<Timestamp>,
    /// Wait between its stages, and the time at which it ends at the latest; none while a stage of it may run, or runs.
    pub waits: Option<(Stream, Timestamp)>,
}

/// Holder of a queue.
pub async fn holder(client: &impl Connection, queue: &str) -> Result<Option<QueueHolder>> {
    let row = client.query_opt(&client.prepare_cached(HOLDER).await?, &[&queue]).await?;
    Ok(row.map(|row| {
        let stream = row.get::<_, Option<i16>>("stream").and_then(Stream::of_number);
        QueueHolder {
            id: row.get("id"),
            flow: row.get("flow"),
            since: row.get("since"),
            waits: stream.zip(row.get("due_at")),
        }
    }))
}

/// A queue, as people see it.
#[derive(Clone, Debug)]
pub struct QueueView {
    /// Name.
    pub name: String,
    /// Orders in it, the holder counted in.
    pub members: i64,
    /// Position of the holder, in milliseconds.
    pub position: i64,
    /// The order that owns it.
    pub holder: String,
    /// Time since which the order holds the queue; none until a stage of it has run.
    pub held_since: Option<Timestamp>,
}

/// The longest queues in a scope; the next ones behind a queue with this number of members and this name.
pub async fn list(
    client: &Client,
    scope: &AccessScope,
    behind: Option<(i64, &str)>,
    limit: i64,
) -> Result<Vec<QueueView>> {
    let statement = client.prepare_cached(LIST_QUEUES).await?;
    let (members, name) = behind.map_or((None, ""), |(members, name)| (Some(members), name));
    let [hidden, own] = scope.as_likes();
    let rows = client.query(&statement, &[&limit, &members, &name, &hidden, &own]).await?;
    Ok(rows
        .iter()
        .map(|row| QueueView {
            name: row.get("queue"),
            members: row.get("members"),
            position: row.get("position"),
            holder: row.get("holder"),
            held_since: row.get("held_since"),
        })
        .collect())
}

/// A member of a queue, as people see it.
#[derive(Clone, Debug)]
pub struct QueueMemberRow {
    /// Position: the millisecond in which it joined, or one a little later.
    pub position: i64,
    /// Time since which it holds the queue; none where no stage of it has run.
    pub held_since: Option<Timestamp>,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Present status.
    pub status: Status,
    /// Time of the database.
    pub now: Timestamp,
}

/// Members of a queue behind a position, at most `limit`, in their order.
pub async fn members(client: &Client, queue: &str, after: i64, limit: i64) -> Result<Vec<QueueMemberRow>> {
    let rows = client.query(&client.prepare_cached(MEMBERS).await?, &[&queue, &after, &limit]).await?;
    rows.iter()
        .map(|row| {
            Ok(QueueMemberRow {
                position: row.get("position"),
                held_since: row.get("held_since"),
                id: row.get("id"),
                scenario: row.get("scenario"),
                status: word(row, "status", "orders.status")?,
                now: row.get("now"),
            })
        })
        .collect()
}

/// Number of members of a queue up to a position, and number of all.
pub async fn counts(client: &Client, queue: &str, position: i64) -> Result<(i64, i64)> {
    let row = client.query_one(&client.prepare_cached(COUNTS).await?, &[&queue, &position]).await?;
    Ok((row.get("before"), row.get("members")))
}
