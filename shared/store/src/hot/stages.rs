//! Stages: ready, claimed, finished. The hot path, many rows a statement.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Epoch, Incarnation, OrderNo, Pass, ScenarioNo};
use pagurus_domain::number::saturated;
use pagurus_domain::order::change::{Change, Deadlines};
use pagurus_domain::order::stage::Wake;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{OrderHead, Status};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::queues;
use crate::hot::ready::read_ready;
use crate::row::{head, stream, word};
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

pub mod advance;
pub(crate) mod finish;

pub use crate::hot::ready::{ReadyRow, ReadyStage};
pub use finish::{EndsTaken, Finished, Followed, finish, take_ends};

statements! {
    // The deleted row is the right to run the stage, and `running` says at once who has it. What another epoch handed
    // out stays; reading the epoch waits for a take-over in progress, and makes a take-over wait for this claim. What
    // is not the head of its queue stays. An order without a payload is claimed, too, so that it ends: whatever is
    // deleted must be given to somebody.
    CLAIM = "
        WITH present AS (SELECT epoch FROM epochs WHERE name = 'dispatcher' FOR SHARE),
        taken AS (
            DELETE FROM ready r
             USING unnest($1::bigint[], $2::integer[], $3::bigint[]) AS h (no, attempt, epoch), present p
             WHERE r.order_no = ANY(ARRAY[h.no]) AND r.attempt = h.attempt AND h.epoch = p.epoch
               AND (r.queue IS NULL OR NOT EXISTS (
                    SELECT FROM queued q
                     WHERE q.queue = r.queue AND q.position < r.position
                       AND q.position >= coalesce((SELECT u.head FROM queues u WHERE u.name = ANY(ARRAY[r.queue])), 0)))
            RETURNING r.order_no, r.pass, r.attempt, r.wake, r.restarts, r.since, r.queue),
        claimed AS (
            SELECT o.no, t.pass, t.attempt, t.wake, t.restarts, t.since, t.queue,
                   o.id, o.scenario, o.mode, o.queue AS queue_name, o.transaction_id, o.notify, o.answers, o.labels::text AS labels, o.trace, o.start_deadline, o.created_at,
                   o.life, o.started_at, o.stages, o.retries, o.flow, o.status
              FROM taken t
              JOIN orders o ON o.no = ANY(ARRAY[t.order_no])),
        noted AS (
            INSERT INTO running (order_no, pass, attempt, wake, restarts, queue, node, since, started_at, deadline_at)
            SELECT no, pass, attempt, wake, restarts, queue, $4, since, clock_timestamp(),
                   clock_timestamp() + make_interval(secs => greatest(
                       coalesce((SELECT w.seconds FROM unnest($5::integer[], $6::double precision[]) AS w (scenario, seconds)
                                  WHERE w.scenario = c.scenario), $7),
                       CASE c.mode WHEN 'sequential' THEN $10::double precision END))
              FROM claimed c),
        met AS (
            DELETE FROM deadlines d
             USING claimed c
             WHERE d.order_no = ANY(ARRAY[c.no]) AND d.kind = 'start'
               AND c.start_deadline IS NOT NULL AND c.started_at IS NULL AND c.status = ANY($8))
        SELECT c.*, CASE WHEN octet_length(p.params) <= $9 THEN p.params END AS params, octet_length(p.params) AS params_bytes,
               x.snapshot, clock_timestamp() AS now,
               CASE WHEN c.restarts > 0 THEN EXISTS (
                    SELECT FROM suspects s WHERE s.order_no = ANY(ARRAY[c.no]) AND s.attempt = c.attempt) ELSE false END AS is_suspect
          FROM claimed c
          LEFT JOIN payloads p ON p.order_no = ANY(ARRAY[c.no])
          LEFT JOIN contexts x ON x.order_no = ANY(ARRAY[c.no])";
    BOUND_WORK = "
        UPDATE running r SET deadline_at = r.started_at + make_interval(secs => t.seconds)
          FROM unnest($1::bigint[], $2::uuid[], $3::double precision[]) AS t (no, pass, seconds)
         WHERE r.order_no = ANY(ARRAY[t.no]) AND r.pass = t.pass";
    PARAMS = "SELECT params FROM payloads WHERE order_no = $1";
    EPOCH = "SELECT epoch FROM epochs WHERE name = 'dispatcher'";
    STILL_READY = "SELECT order_no, attempt FROM ready WHERE order_no = ANY($1::bigint[])";
    GIVE_UP = "UPDATE running SET queue = NULL WHERE order_no = $1 AND pass = $2";
    CLEAR_QUEUE = "UPDATE running SET queue = NULL WHERE order_no = ANY($1::bigint[])";
    CLEAR_QUEUE_OF_READY = "UPDATE ready SET queue = NULL, position = NULL WHERE order_no = ANY($1::bigint[])";
    // Of the sequence: the end of an index that is emptied all the time is expensive under a held snapshot.
    LAST_ORDER = "SELECT last_value AS no FROM orders_no_seq";
    READY_PAGE = "
        SELECT order_no, attempt, flow, priority, queue, position, woken, stream,
               extract(epoch FROM clock_timestamp() - since)::float8 AS waited_seconds
          FROM ready WHERE order_no > $1 AND order_no <= $2 ORDER BY order_no LIMIT $3";
    RUNNING_OF_FLOW = "
        SELECT count(*) FILTER (WHERE o.mode = 'parallel') AS parallel, count(*) FILTER (WHERE o.mode = 'sequential') AS sequential
          FROM running r JOIN orders o ON o.no = ANY(ARRAY[r.order_no])
         WHERE o.flow = $1";
    RUNNING = "
        SELECT r.order_no, r.attempt, r.node, o.flow, r.queue
          FROM running r JOIN orders o ON o.no = ANY(ARRAY[r.order_no])";
}

/// A hand-out, as a worker received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedStage {
    /// The order.
    pub no: OrderNo,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Epoch of the dispatcher that sent it.
    pub epoch: Epoch,
}

/// Why a hand-out was not claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclaimed {
    /// No such stage is ready any more.
    Gone,
    /// Another order is at the head of its queue.
    Behind,
    /// The dispatcher that sent it is no longer the one.
    StaleEpoch,
}

/// Length in bytes beyond which a value is not read for many stages at once, but by each when it has room for it.
pub const LONG_BYTES: i32 = 16 * 1024;

/// A stage that is ours to run.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Head of its order.
    pub head: OrderHead,
    /// Token: without it nothing can be written.
    pub pass: Pass,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// Why the stage runs.
    pub wake: Wake,
    /// Number of times that this stage was handed out again.
    pub restarts: i16,
    /// True if a worker died while it had the stage.
    pub is_suspect: bool,
    /// Time since which it could have run.
    pub since: Timestamp,
    /// The queue it owns.
    pub queue: Option<String>,
    /// The queue of its registration: it stays when the order owns it no more.
    pub queue_name: Option<String>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// Parameters, as JSON; none where they are longer than [`LONG_BYTES`]: then [`params`] reads them.
    pub params: Option<String>,
    /// Their length. Every order has some, unless its rows are broken.
    pub params_bytes: Option<usize>,
    /// Position and variables, as JSON; none for a fresh order.
    pub snapshot: Option<String>,
    /// The database's clock.
    pub now: Timestamp,
    /// Flow marker.
    pub flow: String,
    /// Status before the claim.
    pub status: Status,
}

impl Claimed {
    /// Time for which it was ready before it was claimed, in milliseconds.
    #[must_use]
    pub fn waited_ms(&self) -> u64 {
        let waited = self.now.as_millisecond().saturating_sub(self.since.as_millisecond());
        saturated::<u64>(waited)
    }
}

/// Claimant, and time for which its stages may be without progress.
#[derive(Clone, Debug)]
pub struct Claimant<'a> {
    /// The life of the node.
    pub node: Incarnation,
    /// Longest time of a stage without progress, in seconds.
    pub work_seconds: f64,
    /// The same for scenarios that say it themselves, as far as they are known.
    pub work_seconds_of: &'a [(ScenarioNo, f64)],
    /// Least such time of a sequential stage, in seconds.
    pub least_of_sequential: f64,
}

/// Prepares the statement of [`claim`]. A caller that measures time from the claim calls this first: otherwise the first claim of
/// a connection takes longer than the others.
///
/// # Errors
/// The database fails.
pub async fn prepare_claim(on: &impl Connection) -> Result<()> {
    on.prepare_cached(CLAIM).await?;
    Ok(())
}

/// Takes stages for a node: those that are ready, at the head of their queue, and handed out by the present
/// dispatcher; and writes down that the node runs them. One statement: either both are done, or nothing.
///
/// # Errors
/// The database fails; whether anything is claimed is then not known.
pub async fn claim(
    on: &impl Connection,
    claimant: &Claimant<'_>,
    hand_outs: &[OfferedStage],
) -> Result<(Vec<Claimed>, Vec<(OfferedStage, Unclaimed)>)> {
    let columns = columns!(given in hand_outs => {
        no: i64 = given.no.0,
        attempt: i32 = given.attempt.0,
        epoch: i64 = given.epoch.0,
    });
    let scenarios: Vec<i32> = claimant.work_seconds_of.iter().map(|(scenario, _)| scenario.0).collect();
    let seconds: Vec<f64> = claimant.work_seconds_of.iter().map(|(_, seconds)| *seconds).collect();
    // Statuses in which a claim is the start that an order was to have by its deadline.
    let starts: Vec<&str> = Status::ALL
        .iter()
        .filter(|status| {
            Change::of(**status, Cause::Claimed).is_ok_and(|claim| claim.deadlines == Deadlines::StartIsMet)
        })
        .map(|status| status.as_str())
        .collect();
    let more: [&(dyn ToSql + Sync); 7] = [
        &claimant.node.0,
        &scenarios,
        &seconds,
        &claimant.work_seconds,
        &starts,
        &LONG_BYTES,
        &claimant.least_of_sequential,
    ];
    let rows = columns.query(on, CLAIM, &more).await?;
    let claimed = rows.iter().map(read_claimed).collect::<Result<Vec<_>>>()?;
    if claimed.len() == hand_outs.len() {
        return Ok((claimed, Vec::new()));
    }
    let taken: HashSet<OrderNo> = claimed.iter().map(|stage| stage.head.no).collect();
    let left: Vec<OfferedStage> = hand_outs.iter().copied().filter(|h| !taken.contains(&h.no)).collect();
    let unclaimed = why_unclaimed(on, &left).await?;
    Ok((claimed, unclaimed))
}

/// Sets the longest time of stages that were claimed, in seconds from their begin.
pub async fn bound_work(on: &impl Connection, stages: &[(OrderNo, Pass, f64)]) -> Result<()> {
    let columns = columns!((no, pass, seconds) in stages => {
        no: i64 = no.0,
        pass: Uuid = pass.0,
        seconds: f64 = *seconds,
    });
    columns.execute(on, BOUND_WORK, &[]).await?;
    Ok(())
}

/// The parameters of an order.
pub async fn params(client: &Client, no: OrderNo) -> Result<String> {
    let statement = client.prepare_cached(PARAMS).await?;
    Ok(client.query_one(&statement, &[&no.0]).await?.get("params"))
}

/// Reasons why hand-outs were not claimed: what is still ready with the same number, and of the present epoch, is not the head of its queue.
async fn why_unclaimed(
    on: &impl Connection,
    left: &[OfferedStage],
) -> Result<Vec<(OfferedStage, Unclaimed)>> {
    let nos: Vec<i64> = left.iter().map(|h| h.no.0).collect();
    let epoch = on.prepare_cached(EPOCH).await?;
    let present = Epoch(on.query_one(&epoch, &[]).await?.get("epoch"));
    let statement = on.prepare_cached(STILL_READY).await?;
    let rows = on.query(&statement, &[&nos]).await?;
    let ready: HashSet<(OrderNo, Attempt)> = rows.iter().map(read_hand_out).collect();
    let why = |h: &OfferedStage| match h {
        _ if h.epoch != present => Unclaimed::StaleEpoch,
        _ if ready.contains(&(h.no, h.attempt)) => Unclaimed::Behind,
        _ => Unclaimed::Gone,
    };
    Ok(left.iter().map(|h| (*h, why(h))).collect())
}

/// Order and number of a hand-out.
pub(crate) fn read_hand_out(row: &tokio_postgres::Row) -> (OrderNo, Attempt) {
    (OrderNo(row.get("order_no")), Attempt(row.get("attempt")))
}

fn read_claimed(row: &tokio_postgres::Row) -> Result<Claimed> {
    Ok(Claimed {
        head: head(row)?,
        pass: Pass(row.get("pass")),
        attempt: Attempt(row.get("attempt")),
        wake: word(row, "wake", "ready.wake")?,
        restarts: row.get("restarts"),
        is_suspect: row.get("is_suspect"),
        since: row.get("since"),
        queue: row.get("queue"),
        queue_name: row.get("queue_name"),
        start_deadline: row.get("start_deadline"),
        params: row.get("params"),
        params_bytes: row.get::<_, Option<i32>>("params_bytes").and_then(|bytes| usize::try_from(bytes).ok()),
        snapshot: row.get("snapshot"),
        now: row.get("now"),
        flow: row.get("flow"),
        status: word(row, "status", "orders.status")?,
    })
}

/// Gives the queue of an order up by hand, while its stage goes on, or waits to.
pub async fn leave_queue(tx: &Tx<'_>, no: OrderNo) -> Result<()> {
    for statement in [CLEAR_QUEUE, CLEAR_QUEUE_OF_READY] {
        tx.execute(&tx.prepare_cached(statement).await?, &[&vec![no.0]]).await?;
    }
    Ok(())
}

/// Gives the queue of a running stage up, by decision of its scenario; whether the stage is still the
/// caller's.
pub async fn give_queue_up(tx: &Tx<'_>, no: OrderNo, pass: Pass) -> Result<bool> {
    let statement = tx.prepare_cached(GIVE_UP).await?;
    let ours = tx.execute(&statement, &[&no.0, &pass.0]).await? == 1;
    if ours {
        queues::leave(tx, &[no.0]).await?;
    }
    Ok(ours)
}

/// The last number that was given to an order.
pub async fn last_order(client: &Client) -> Result<OrderNo> {
    Ok(OrderNo(client.query_one(&client.prepare_cached(LAST_ORDER).await?, &[]).await?.get("no")))
}

/// A page of what may run, by ascending number, after one and up to another.
pub async fn ready_page(
    client: &Client,
    after: OrderNo,
    until: OrderNo,
    limit: i64,
) -> Result<Vec<ReadyRow>> {
    let statement = client.prepare_cached(READY_PAGE).await?;
    let rows = client.query(&statement, &[&after.0, &until.0, &limit]).await?;
    rows.iter()
        .map(|row| {
            let stage = read_ready(row)?;
            // Set back, a clock may show an entry of the future.
            let waited = Duration::try_from_secs_f64(row.get("waited_seconds")).unwrap_or_default();
            Ok(ReadyRow { stage, stream: stream(row), waited })
        })
        .collect()
}

/// A stage with a worker.
#[derive(Clone, Debug)]
pub struct RunningStage {
    /// The order.
    pub no: OrderNo,
    /// Number of the hand-out.
    pub attempt: Attempt,
    /// The node that runs it.
    pub node: Incarnation,
    /// Flow marker.
    pub flow: String,
    /// The queue it owns.
    pub queue: Option<String>,
}

/// Everything that runs, and on which node: at most as many rows as there is capacity.
pub async fn running(client: &Client) -> Result<Vec<RunningStage>> {
    let statement = client.prepare_cached(RUNNING).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| RunningStage {
            no: OrderNo(row.get("order_no")),
            attempt: Attempt(row.get("attempt")),
            node: Incarnation(row.get("node")),
            flow: row.get("flow"),
            queue: row.get("queue"),
        })
        .collect())
}

/// Numbers of stages of a flow that run: parallel and sequential ones.
pub async fn running_of_flow(client: &Client, flow: &str) -> Result<[u32; 2]> {
    let statement = client.prepare_cached(RUNNING_OF_FLOW).await?;
    let row = client.query_one(&statement, &[&flow]).await?;
    Ok(["parallel", "sequential"].map(|column| u32::try_from(row.get::<_, i64>(column)).unwrap_or(u32::MAX)))
}

/// Orders among these that are still ready, with the number that their hand-out will have.
pub async fn still_ready(client: &Client, nos: &[i64]) -> Result<Vec<(OrderNo, Attempt)>> {
    let statement = client.prepare_cached(STILL_READY).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    Ok(rows.iter().map(read_hand_out).collect())
}
