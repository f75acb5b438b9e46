//! Orders that stand still (REC-4): what may run, is due or waits for an actor for long. No column is written for it
//! while orders go on: `ready.since`, `due.due_at` and the registration of a request say when an order moved last.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{OrderNo, ScenarioNo};
use pagurus_domain::order::{Mode, Priority};

use crate::hot::ready::{ReadyStage, read_ready};
use crate::row::word;
use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // What was reported within the period is not reported again.
    IDLE_READY = "
        SELECT r.order_no, r.attempt, r.flow, r.priority, r.queue, r.position, r.woken, r.since,
               extract(epoch FROM clock_timestamp() - r.since)::float8 AS waited_seconds, o.scenario,
               r.queue IS NOT NULL AND EXISTS (
                    SELECT FROM queued q WHERE q.queue = ANY(ARRAY[r.queue]) AND q.position < r.position) AS is_behind,
               EXISTS (SELECT FROM history h
                        WHERE h.order_no = ANY(ARRAY[r.order_no]) AND h.number = o.events AND h.kind = 'idle'
                          AND h.at > clock_timestamp() - make_interval(secs => $3)) AS is_known
          FROM (SELECT order_no, attempt, flow, priority, queue, position, woken, since
                  FROM ready WHERE order_no > $1 ORDER BY order_no LIMIT $2) AS r
          JOIN orders o ON o.no = ANY(ARRAY[r.order_no])
         ORDER BY r.order_no";
    IDLE_DUE = "
        SELECT d.order_no, d.stream, o.scenario,
               extract(epoch FROM clock_timestamp() - d.due_at)::float8 AS waited_seconds,
               EXISTS (SELECT FROM history h
                        WHERE h.order_no = ANY(ARRAY[d.order_no]) AND h.number = o.events AND h.kind = 'idle'
                          AND h.at > clock_timestamp() - make_interval(secs => $3)) AS is_known
          FROM (SELECT order_no, stream, due_at FROM due
                 WHERE stream = $1 AND due_at >= $4 AND due_at < clock_timestamp() - make_interval(secs => $3)
                 ORDER BY due_at LIMIT $2) AS d
          JOIN orders o ON o.no = ANY(ARRAY[d.order_no])";
    IDLE_TASKS = "
        SELECT d.order_no, i.name, o.scenario,
               extract(epoch FROM clock_timestamp() - i.registered_at)::float8 AS waited_seconds,
               EXISTS (SELECT FROM history h
                        WHERE h.order_no = ANY(ARRAY[d.order_no]) AND h.number = o.events AND h.kind = 'idle'
                          AND h.at > clock_timestamp() - make_interval(secs => $3)) AS is_known
          FROM (SELECT order_no FROM due WHERE order_no > $1 ORDER BY order_no LIMIT $2) AS d
          JOIN requests i ON i.order_no = ANY(ARRAY[d.order_no]) AND i.status = 'open' AND i.awaited AND i.work_seconds IS NOT NULL
          JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         ORDER BY d.order_no";
    AWAITED_TASKS = "
        SELECT i.name
          FROM (SELECT order_no, stream FROM due WHERE order_no > $1 ORDER BY order_no LIMIT $2) AS d
          JOIN requests i ON i.order_no = ANY(ARRAY[d.order_no]) AND i.status = 'open' AND i.awaited AND i.work_seconds IS NOT NULL
         WHERE d.stream = $3
         GROUP BY i.name";
    LAST_OF_DUE = "SELECT max(order_no) AS last FROM (SELECT order_no FROM due WHERE order_no > $1 ORDER BY order_no LIMIT $2) AS d";
    NEWEST_TAKEN = "
        SELECT o.flow, o.priority, o.mode, max(w.since) AS newest
          FROM running w JOIN orders o ON o.no = ANY(ARRAY[w.order_no])
         GROUP BY o.flow, o.priority, o.mode";
}

/// An order that may stand still.
#[derive(Clone, Debug)]
pub struct StandingOrder<T> {
    /// The order.
    pub no: OrderNo,
    /// Version of the scenario.
    pub scenario: ScenarioNo,
    /// For how long.
    pub waited: Duration,
    /// True if that was reported within the period.
    pub is_known: bool,
    /// More, by where it stands.
    pub more: T,
}

/// A stage that may run.
#[derive(Clone, Debug)]
pub struct StandingStage {
    /// The stage, as it is sent to the dispatcher.
    pub stage: ReadyStage,
    /// Time since which it may run.
    pub since: Timestamp,
    /// True where it is not the head of its queue.
    pub is_behind: bool,
}

fn read<T>(row: &tokio_postgres::Row, more: T) -> StandingOrder<T> {
    StandingOrder {
        no: OrderNo(row.get("order_no")),
        scenario: ScenarioNo(row.get("scenario")),
        waited: Duration::try_from_secs_f64(row.get("waited_seconds")).unwrap_or_default(),
        is_known: row.get("is_known"),
        more,
    }
}

/// The next stages after this number that may run.
pub async fn ready(
    client: &Client,
    after: i64,
    limit: i64,
    period: Duration,
) -> Result<Vec<StandingOrder<StandingStage>>> {
    let statement = client.prepare_cached(IDLE_READY).await?;
    let rows = client.query(&statement, &[&after, &limit, &period.as_secs_f64()]).await?;
    rows.iter()
        .map(|row| {
            let stage = read_ready(row)?;
            let more = StandingStage { stage, since: row.get("since"), is_behind: row.get("is_behind") };
            Ok(read(row, more))
        })
        .collect()
}

/// Orders of a stream that are due for longer than the period, from the first that is due on ([`crate::upkeep::first`]).
pub async fn due(
    client: &Client,
    stream: i16,
    first: Timestamp,
    limit: i64,
    period: Duration,
) -> Result<Vec<StandingOrder<()>>> {
    let statement = client.prepare_cached(IDLE_DUE).await?;
    let rows = client.query(&statement, &[&stream, &limit, &period.as_secs_f64(), &first]).await?;
    Ok(rows.iter().map(|row| read(row, ())).collect())
}

/// Orders among the next suspended ones after this number that wait for a task, with the name of its request; and the
/// last number that was looked at, none after the last order.
pub async fn tasks(
    client: &Client,
    after: i64,
    limit: i64,
    period: Duration,
) -> Result<(Vec<StandingOrder<String>>, Option<i64>)> {
    let statement = client.prepare_cached(IDLE_TASKS).await?;
    let rows = client.query(&statement, &[&after, &limit, &period.as_secs_f64()]).await?;
    let last = client.query_one(&client.prepare_cached(LAST_OF_DUE).await?, &[&after, &limit]).await?;
    Ok((rows.iter().map(|row| read(row, row.get("name"))).collect(), last.get("last")))
}

/// Names of the tasks that the next suspended orders after this number wait for, each once; and the last number that was
/// looked at, none after the last order.
pub async fn awaited_tasks(client: &Client, after: i64, limit: i64) -> Result<(Vec<String>, Option<i64>)> {
    let statement = client.prepare_cached(AWAITED_TASKS).await?;
    let rows = client.query(&statement, &[&after, &limit, &Stream::Wait.number()]).await?;
    let last = client.query_one(&client.prepare_cached(LAST_OF_DUE).await?, &[&after, &limit]).await?;
    Ok((rows.iter().map(|row| row.get("name")).collect(), last.get("last")))
}

/// Time since which the newest stage in progress could have run, for each flow, urgency and mode.
pub async fn newest_taken(client: &Client) -> Result<HashMap<(String, Priority, Mode), Timestamp>> {
    let rows = client.query(&client.prepare_cached(NEWEST_TAKEN).await?, &[]).await?;
    rows.iter()
        .map(|row| {
            let key = (
                row.get("flow"),
                word(row, "priority", "orders.priority")?,
                word(row, "mode", "orders.mode")?,
            );
            Ok((key, row.get("newest")))
        })
        .collect()
}
