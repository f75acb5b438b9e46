//! Actors as people see them: tasks that orders wait for, and what became known of them from minute to minute. Always for
//! people, and of a bounded number of orders.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::OrderNo;
use pagurus_scenario::stage::TASK_PREFIX;

use crate::sql::statements;
use crate::{Client, Result};

/// Orders that are looked through at most.
const MOST_ORDERS: i64 = 200_000;
/// Actors that are listed at most.
const MOST_ACTORS: i64 = 1000;

statements! {
    OPEN_TASKS = "
        SELECT r.name, count(*) AS tasks, min(r.registered_at) AS oldest
          FROM (SELECT order_no FROM due WHERE stream = $1 LIMIT $2) AS d
          JOIN requests r ON r.order_no = ANY(ARRAY[d.order_no]) AND r.status = 'open' AND r.awaited
                         AND r.work_seconds IS NOT NULL
         WHERE $4::text IS NULL OR r.name = $4
         GROUP BY r.name ORDER BY r.name LIMIT $3";
    // A queue gives its tasks out in their order: what stands in it are the newest.
    NEWEST_TAKEN = "
        SELECT r.registered_at
          FROM (SELECT order_no FROM due WHERE stream = $1 LIMIT $2) AS d
          JOIN requests r ON r.order_no = ANY(ARRAY[d.order_no]) AND r.status = 'open' AND r.awaited AND r.name = $3
         ORDER BY r.registered_at DESC OFFSET $4 LIMIT 1";
    NEWER_TASKS = "
        SELECT count(*) AS newer
          FROM (SELECT order_no FROM due WHERE stream = $1 LIMIT $2) AS d
          JOIN requests r ON r.order_no = ANY(ARRAY[d.order_no]) AND r.status = 'open' AND r.awaited AND r.name = $3
                         AND r.registered_at > (
                             SELECT max(o.registered_at) FROM requests o
                              WHERE o.order_no = $4 AND o.status = 'open' AND o.awaited AND o.name = $3)";
    SIGNS = "
        SELECT key, coalesce(sum(count) FILTER (WHERE what = $1), 0)::bigint AS decided,
               max(minute) FILTER (WHERE what = $1) AS decided_at,
               coalesce(sum(count) FILTER (WHERE what = $2), 0)::bigint AS timeouts
          FROM stats WHERE what IN ($1, $2) AND minute >= now() - interval '1 day'
         GROUP BY key ORDER BY key LIMIT $3";
}

/// Tasks of an actor that orders wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTasks {
    /// Name of the actor.
    pub actor: String,
    /// Number.
    pub tasks: i64,
    /// Time since which the oldest hand-out waits or is in hand.
    pub oldest: Timestamp,
}

/// The tasks that orders wait for, by actor; of one actor where it is named.
pub async fn open_tasks(client: &Client, actor: Option<&str>) -> Result<Vec<OpenTasks>> {
    let name = actor.map(request_of);
    let statement = client.prepare_cached(OPEN_TASKS).await?;
    let stream = Stream::Wait.number();
    let rows = client.query(&statement, &[&stream, &MOST_ORDERS, &MOST_ACTORS, &name]).await?;
    let read = |row: &tokio_postgres::Row| OpenTasks {
        actor: row.get::<_, &str>("name").trim_start_matches(TASK_PREFIX).to_owned(),
        tasks: row.get("tasks"),
        oldest: row.get("oldest"),
    };
    Ok(rows.iter().map(read).collect())
}

/// Time at which the newest task was handed out that is not among the newest `queued`, which still stand in the queue of the
/// actor; none where all do.
pub async fn newest_taken(client: &Client, actor: &str, queued: i64) -> Result<Option<Timestamp>> {
    let statement = client.prepare_cached(NEWEST_TAKEN).await?;
    let stream = Stream::Wait.number();
    let row = client.query_opt(&statement, &[&stream, &MOST_ORDERS, &request_of(actor), &queued]).await?;
    Ok(row.map(|row| row.get("registered_at")))
}

/// Tasks of an actor that were handed out after that of this order.
pub async fn newer_tasks(client: &Client, actor: &str, order: OrderNo) -> Result<i64> {
    let statement = client.prepare_cached(NEWER_TASKS).await?;
    let stream = Stream::Wait.number();
    let row = client.query_one(&statement, &[&stream, &MOST_ORDERS, &request_of(actor), &order.0]).await?;
    Ok(row.get("newer"))
}

/// Counts of an actor over a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActorSigns {
    /// Name of the actor.
    pub actor: String,
    /// Tasks that were decided.
    pub decided: i64,
    /// Minute of the last decision.
    pub decided_at: Option<Timestamp>,
    /// Hand-outs whose work time-out passed.
    pub work_timeouts: i64,
}

/// Counts of a day by actor, of the series of decisions and that of work time-outs.
pub async fn signs(client: &Client, decisions: &str, timeouts: &str) -> Result<Vec<ActorSigns>> {
    let statement = client.prepare_cached(SIGNS).await?;
    let rows = client.query(&statement, &[&decisions, &timeouts, &MOST_ACTORS]).await?;
    let read = |row: &tokio_postgres::Row| ActorSigns {
        actor: row.get("key"),
        decided: row.get("decided"),
        decided_at: row.get("decided_at"),
        work_timeouts: row.get("timeouts"),
    };
    Ok(rows.iter().map(read).collect())
}

fn request_of(actor: &str) -> String {
    format!("{TASK_PREFIX}{actor}")
}
