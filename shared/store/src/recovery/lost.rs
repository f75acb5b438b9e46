//! Rows that recovery looks at: stages that need to be handed out again, and deadlines that have passed.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Incarnation, OrderNo, Pass, ScenarioNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::change::Waking;
use pagurus_domain::order::stage::Wake;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::time;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::history;
use crate::hot::history::NewEvent;
use crate::hot::place;
use crate::hot::queues;
use crate::hot::ready::ReadyStage;
use crate::hot::ready::read_ready;
use crate::hot::requests;
use crate::hot::stages;
use crate::row::word;
use crate::sql::statements;
use crate::{Client, Connection, Error, Result, Tx};

statements! {
    OVERDUE = "
        SELECT order_no, pass, attempt, wake, restarts, node, queue, started_at, clock_timestamp() AS now,
               (SELECT n.name FROM nodes n WHERE n.incarnation = running.node) AS node_name,
               (SELECT s.name FROM orders o JOIN scenarios s ON s.no = o.scenario WHERE o.no = running.order_no) AS scenario_name,
               (SELECT o.id FROM orders o WHERE o.no = running.order_no) AS id,
               (SELECT o.transaction_id FROM orders o WHERE o.no = running.order_no) AS transaction_id
          FROM running WHERE deadline_at >= $2 AND deadline_at < statement_timestamp()
         ORDER BY deadline_at LIMIT $1 FOR UPDATE SKIP LOCKED";
    // One activator at a time takes over from lost nodes.
    LOCK_FAILOVER = "SELECT pg_try_advisory_xact_lock(hashtextextended('failover', 0)) AS is_ours";
    ABANDONED = "
        SELECT r.node, count(*) FILTER (WHERE w.recent) AS recent, count(*) FILTER (WHERE NOT w.recent) AS older
          FROM running r
         CROSS JOIN LATERAL (
               SELECT $1::double precision IS NULL OR r.started_at > clock_timestamp() - make_interval(secs => $1)) AS w (recent)
         WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.incarnation = r.node AND n.ended_at IS NULL)
         GROUP BY r.node ORDER BY r.node";
    OF_NODE = "
        SELECT order_no, pass, attempt, wake, restarts, node, queue, started_at, clock_timestamp() AS now,
               (SELECT n.name FROM nodes n WHERE n.incarnation = running.node) AS node_name,
               (SELECT s.name FROM orders o JOIN scenarios s ON s.no = o.scenario WHERE o.no = running.order_no) AS scenario_name,
               (SELECT o.id FROM orders o WHERE o.no = running.order_no) AS id,
               (SELECT o.transaction_id FROM orders o WHERE o.no = running.order_no) AS transaction_id
          FROM running
         WHERE node = $1 AND ($2::double precision IS NULL OR started_at > clock_timestamp() - make_interval(secs => $2))
         ORDER BY order_no LIMIT $3 FOR UPDATE SKIP LOCKED";
    CLAIMS_OF_NODE = "SELECT order_no, attempt FROM running WHERE node = $1";
    SOME_OF_NODE = "
        SELECT order_no, pass, attempt, wake, restarts, node, queue, started_at, clock_timestamp() AS now,
               (SELECT n.name FROM nodes n WHERE n.incarnation = running.node) AS node_name,
               (SELECT s.name FROM orders o JOIN scenarios s ON s.no = o.scenario WHERE o.no = running.order_no) AS scenario_name,
               (SELECT o.id FROM orders o WHERE o.no = running.order_no) AS id,
               (SELECT o.transaction_id FROM orders o WHERE o.no = running.order_no) AS transaction_id
          FROM running WHERE node = $1 AND order_no = ANY($2)
         ORDER BY order_no FOR UPDATE SKIP LOCKED";
    OF_ORDERS = "
        SELECT order_no, pass, attempt, wake, restarts, node, queue, started_at, clock_timestamp() AS now,
               (SELECT n.name FROM nodes n WHERE n.incarnation = running.node) AS node_name,
               (SELECT s.name FROM orders o JOIN scenarios s ON s.no = o.scenario WHERE o.no = running.order_no) AS scenario_name,
               (SELECT o.id FROM orders o WHERE o.no = running.order_no) AS id,
               (SELECT o.transaction_id FROM orders o WHERE o.no = running.order_no) AS transaction_id
          FROM running WHERE order_no = ANY($1::bigint[]) ORDER BY order_no FOR UPDATE";
    DROP_RUNNING = "DELETE FROM running WHERE order_no = ANY($1::bigint[])";
    REISSUE = "
        INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, queue, position, restarts, reissued, since, woken)
        SELECT o.no, t.pass, t.attempt, t.wake, o.flow, o.priority, q.queue, q.position, t.restarts, true, clock_timestamp(), true
          FROM unnest($1::bigint[], $2::uuid[], $3::integer[], $4::text[], $5::smallint[]) AS t (no, pass, attempt, wake, restarts)
          JOIN orders o ON o.no = ANY(ARRAY[t.no])
          LEFT JOIN queued q ON q.order_no = ANY(ARRAY[t.no])
        RETURNING order_no, attempt, flow, priority, queue, position, woken";
    PASSED = "
        SELECT d.order_no, d.kind, o.scenario
          FROM deadlines d LEFT JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         WHERE d.at >= $2 AND d.at < statement_timestamp() ORDER BY d.at LIMIT $1";
    PUT_OFF = "
        UPDATE deadlines SET at = clock_timestamp() + make_interval(secs => $3) WHERE order_no = $1 AND kind = $2";
    DROP_DUE = "DELETE FROM due WHERE order_no = $1";
    DROP_DEADLINE = "DELETE FROM deadlines WHERE order_no = $1 AND kind = $2";
}

/// A stage with a worker, locked, that recovery looks at.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// The order.
    pub no: OrderNo,
    /// The client's id of it.
    pub id: Option<String>,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Present pass.
    pub pass: Pass,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Why the stage runs.
    pub wake: Wake,
    /// Number of times that it was handed out again.
    pub restarts: i16,
    /// The node that has it.
    pub node: Incarnation,
    /// The name of that node, if it was ever registered.
    pub node_name: Option<String>,
    /// The scenario of the order, if there is one.
    pub scenario: Option<String>,
    /// The queue it owns.
    pub queue: Option<String>,
    /// Begin of the stage.
    pub started_at: Timestamp,
    /// The database's clock.
    pub now: Timestamp,
}

/// Stages past their deadline, from a time on, longest overdue first; rows that others hold are passed over.
pub async fn overdue(tx: &Tx<'_>, from: Timestamp, limit: i64) -> Result<Vec<Stuck>> {
    read_stuck(&tx.query(&tx.prepare_cached(OVERDUE).await?, &[&limit, &from]).await?)
}

/// The right to take over from lost nodes, until the end of the transaction; false while another has it.
pub async fn lock_failover(tx: &Tx<'_>) -> Result<bool> {
    Ok(tx.query_one(&tx.prepare_cached(LOCK_FAILOVER).await?, &[]).await?.get("is_ours"))
}

/// A node that is over, or was never registered, and how many stages are with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// The node.
    pub node: Incarnation,
    /// Stages that began within the time that was asked for.
    pub recent: i64,
    /// Stages that began before.
    pub older: i64,
}

/// The lost nodes that stages are still with; `within` is the age up to which a stage is a recent one,
/// none makes all of them so.
pub async fn abandoned(tx: &Tx<'_>, within: Option<Duration>) -> Result<Vec<Abandoned>> {
    let rows =
        tx.query(&tx.prepare_cached(ABANDONED).await?, &[&within.map(|age| age.as_secs_f64())]).await?;
    let read = |row: &tokio_postgres::Row| Abandoned {
        node: Incarnation(row.get("node")),
        recent: row.get("recent"),
        older: row.get("older"),
    };
    Ok(rows.iter().map(read).collect())
}

/// Order and attempt of each stage that is with this node, not locked.
pub async fn claims_of_node(client: &impl Connection, node: Incarnation) -> Result<Vec<(OrderNo, Attempt)>> {
    let rows = client.query(&client.prepare_cached(CLAIMS_OF_NODE).await?, &[&node.0]).await?;
    Ok(rows.iter().map(stages::read_hand_out).collect())
}

/// Stages of these orders that are with this node; rows that others hold are passed over.
pub async fn some_of_node(tx: &Tx<'_>, node: Incarnation, nos: &[i64]) -> Result<Vec<Stuck>> {
    read_stuck(&tx.query(&tx.prepare_cached(SOME_OF_NODE).await?, &[&node.0, &nos]).await?)
}

/// Stages that this node has, no older than `within` and at most `limit`, if these are given; rows that
/// others hold are passed over.
pub async fn of_node(
    tx: &Tx<'_>,
    node: Incarnation,
    within: Option<Duration>,
    limit: Option<i64>,
) -> Result<Vec<Stuck>> {
    let within = within.map(|age| age.as_secs_f64());
    read_stuck(&tx.query(&tx.prepare_cached(OF_NODE).await?, &[&node.0, &within, &limit]).await?)
}

/// The stages of these orders that are with a worker, locked.
pub async fn of_orders(tx: &Tx<'_>, nos: &[i64]) -> Result<Vec<Stuck>> {
    read_stuck(&tx.query(&tx.prepare_cached(OF_ORDERS).await?, &[&nos]).await?)
}

fn read_stuck(rows: &[tokio_postgres::Row]) -> Result<Vec<Stuck>> {
    rows.iter()
        .map(|row| {
            Ok(Stuck {
                no: OrderNo(row.get("order_no")),
                pass: Pass(row.get("pass")),
                attempt: Attempt(row.get("attempt")),
                wake: word(row, "wake", "running.wake")?,
                restarts: row.get("restarts"),
                node: Incarnation(row.get("node")),
                queue: row.get("queue"),
                started_at: row.get("started_at"),
                now: row.get("now"),
                node_name: row.get("node_name"),
                scenario: row.get("scenario_name"),
                id: row.get("id"),
                transaction_id: row.get("transaction_id"),
            })
        })
        .collect()
}

/// Hands locked stages out again: new pass, next attempt, the place in the queue kept. `restarts`
/// is the new count of each. The history says why.
pub async fn reissue(
    tx: &Tx<'_>,
    stages: &[(&Stuck, i16)],
    source: &str,
    finding: &str,
) -> Result<Vec<ReadyStage>> {
    if stages.is_empty() {
        return Ok(Vec::new());
    }
    let nos: Vec<i64> = stages.iter().map(|(stuck, _)| stuck.no.0).collect();
    let deleted = tx.execute(&tx.prepare_cached(DROP_RUNNING).await?, &[&nos]).await?;
    if deleted != stages.len() as u64 {
        return Err(Error::Contended);
    }
    let details: Vec<String> = stages.iter().map(|(stuck, _)| detail(stuck, finding).to_string()).collect();
    let kind = Cause::Reissued.as_str();
    let events: Vec<NewEvent<'_>> = stages
        .iter()
        .zip(&details)
        .map(|((stuck, _), detail)| NewEvent { no: stuck.no, kind, source, detail })
        .collect();
    history::append_all(tx, &events).await?;
    let held: Vec<(OrderNo, Timestamp)> =
        stages.iter().map(|(stuck, _)| (stuck.no, stuck.started_at)).collect();
    queues::hold(tx, &held).await?;
    let columns = columns!((stuck, restarts) in stages => {
        no: i64 = stuck.no.0,
        pass: Uuid = Uuid::new_v4(),
        attempt: i32 = stuck.attempt.next().0,
        wake: &str = stuck.wake.as_str(),
        restarts: i16 = *restarts,
    });
    let rows = columns.query(tx, REISSUE, &[]).await?;
    rows.iter().map(read_ready).collect()
}

/// The detail of a stage that is handed out again, in the history.
fn detail(stuck: &Stuck, finding: &str) -> Value {
    json!({
        "finding": finding, "attempt": stuck.attempt.0, "node": stuck.node.0, "nodeName": stuck.node_name,
        "startedAt": time::shown(stuck.started_at),
    })
}

/// A deadline that has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedDeadline {
    /// The order.
    pub no: OrderNo,
    /// `start` or `process`.
    pub kind: String,
    /// The version of its scenario; none where there is no such order.
    pub scenario: Option<ScenarioNo>,
}

/// Orders with a deadline of their own that has passed, from a time on, and the kind of it.
pub async fn passed_deadlines(client: &Client, from: Timestamp, limit: i64) -> Result<Vec<PassedDeadline>> {
    let statement = client.prepare_cached(PASSED).await?;
    let rows = client.query(&statement, &[&limit, &from]).await?;
    let read = |row: &tokio_postgres::Row| PassedDeadline {
        no: OrderNo(row.get("order_no")),
        kind: row.get("kind"),
        scenario: row.get::<_, Option<i32>>("scenario").map(ScenarioNo),
    };
    Ok(rows.iter().map(read).collect())
}

/// Looks at a deadline that has passed again after this time.
pub async fn put_off(tx: &Tx<'_>, no: OrderNo, kind: &str, by: Duration) -> Result<()> {
    tx.execute(&tx.prepare_cached(PUT_OFF).await?, &[&no.0, &kind, &by.as_secs_f64()]).await?;
    Ok(())
}

/// Wakes a locked, suspended order in this status because the time of the whole order is over: its scenario
/// says what follows. What it waited for is too late from now on.
pub async fn wake_outlived(tx: &Tx<'_>, no: OrderNo, status: Status) -> Result<Vec<ReadyStage>> {
    let by = Waking::Outlived(status);
    tx.execute(&tx.prepare_cached(DROP_DUE).await?, &[&no.0]).await?;
    drop_deadline(tx, no, "process").await?;
    if by.times_requests_out() {
        requests::time_out(tx, &[no.0]).await?;
    }
    place::wake_now(tx, &[no.0], by).await
}

/// Removes one deadline of an order, which has nothing more to say.
pub async fn drop_deadline(tx: &Tx<'_>, no: OrderNo, kind: &str) -> Result<()> {
    tx.execute(&tx.prepare_cached(DROP_DEADLINE).await?, &[&no.0, &kind]).await?;
    Ok(())
}
