//! After a restore from a backup (REC-14): everything that a living process or a message may still name is of a time that
//! the database does not know. All numbers are raised above it, and every right that was given is void.

use std::time::Duration;

use crate::sql::statements;
use crate::{Client, Result, Tx};

/// Numbers left out: more than could have been given between a backup and its loss. At ten thousand orders a second,
/// those of eleven days.
const STEP: i64 = 10_000_000_000;
/// The same of sequences that fill integers: versions of scenarios.
const SMALL_STEP: i64 = 1_000_000;
/// Hand-outs of one order left out.
const ATTEMPTS: i32 = 1000;
/// Milliseconds left out in each queue: its positions are times, and run ahead of the clock only while more orders
/// come than milliseconds pass.
const POSITIONS: i64 = 3_600_000;

statements! {
    LIVING_NODES = "
        SELECT n.role, n.name FROM nodes n JOIN heartbeats h USING (incarnation)
         WHERE h.at > clock_timestamp() - make_interval(secs => $1) ORDER BY n.role, n.name";
    RAISE_SEQUENCES = "
        SELECT count(setval(format('%I.%I', s.schemaname, s.sequencename)::regclass,
                            coalesce(s.last_value, 1) + CASE WHEN s.data_type = 'integer'::regtype THEN $2::bigint ELSE $1::bigint END)) AS raised
          FROM pg_sequences s WHERE s.schemaname = current_schema()";
    RAISE_EPOCHS = "UPDATE epochs SET epoch = epoch + $1 RETURNING epoch";
    END_LEASES = "UPDATE leases SET until = least(until, clock_timestamp())";
    RAISE_QUEUES = "
        UPDATE queues
           SET last_position = greatest(last_position, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) + $1";
    END_NODES = "UPDATE nodes SET status = 'lost', ended_at = clock_timestamp() WHERE ended_at IS NULL";
    NEW_PASSES = "UPDATE ready SET pass = gen_random_uuid(), attempt = attempt + $1";
    HAND_BACK = "
        WITH back AS (DELETE FROM running RETURNING order_no, pass, attempt, wake, restarts, node, started_at),
        again AS (
            INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, queue, position, restarts, reissued, since, woken)
            SELECT o.no, gen_random_uuid(), b.attempt + $1, b.wake, o.flow, o.priority, q.queue, q.position, b.restarts, true,
                   clock_timestamp(), true
              FROM back b
              JOIN orders o ON o.no = ANY(ARRAY[b.order_no])
              LEFT JOIN queued q ON q.order_no = ANY(ARRAY[b.order_no])),
        held AS (
            UPDATE queued q SET held_since = b.started_at
              FROM back b WHERE q.order_no = ANY(ARRAY[b.order_no]) AND q.held_since IS NULL),
        numbered AS (
            UPDATE orders o SET events = o.events + 1, updated_at = now()
              FROM back b WHERE o.no = ANY(ARRAY[b.order_no])
            RETURNING o.no, o.events, o.life, b.attempt, b.node, b.started_at)
        INSERT INTO history (order_no, number, life, kind, source, detail)
        SELECT no, events, life, 'reissued', 'recover',
               jsonb_build_object('finding', 'restored', 'attempt', attempt, 'node', node, 'startedAt', started_at)::text
          FROM numbered";
    CHECK_AGAIN = "UPDATE walks SET after_no = 0, after = '', next_at = clock_timestamp()";
    UNCONFIRMED = "SELECT count(*) AS unconfirmed FROM outbox WHERE parked_because IS NULL";
    WAITING_READY = "SELECT count(*) AS waiting FROM ready";
}

/// Numbers that were raised, and messages that will be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Sequences of numbers.
    pub sequences: i64,
    /// The epoch of the dispatchers from which the next one begins.
    pub epoch: i64,
    /// Queues whose positions were raised.
    pub queues: u64,
    /// Lives of nodes that were ended.
    pub nodes: u64,
    /// Stages that were with a worker, and are handed out again.
    pub stages: u64,
    /// Stages that may run; those that were with a worker are among them.
    pub ready: i64,
    /// Notifications that are not confirmed and will be sent, maybe again.
    pub notifications: i64,
}

/// Nodes that gave a sign of life within this time: role and name.
pub async fn living(client: &Client, within: Duration) -> Result<Vec<(String, String)>> {
    let rows = client.query(LIVING_NODES, &[&within.as_secs_f64()]).await?;
    Ok(rows.iter().map(|row| (row.get("role"), row.get("name"))).collect())
}

/// Raises every number above what may have been given, ends every life, and gives every stage a new pass.
///
/// # Errors
/// The database fails: nothing was done then.
pub async fn recover(tx: &Tx<'_>) -> Result<Restored> {
    // First of all: no claim of a dispatcher that still leads goes by it.
    let epochs = tx.query(RAISE_EPOCHS, &[&STEP]).await?;
    tx.execute(END_LEASES, &[]).await?;
    let nodes = tx.execute(END_NODES, &[]).await?;
    tx.execute(NEW_PASSES, &[&ATTEMPTS]).await?;
    let stages = tx.execute(HAND_BACK, &[&ATTEMPTS]).await?;
    let queues = tx.execute(RAISE_QUEUES, &[&POSITIONS]).await?;
    let sequences = tx.query_one(RAISE_SEQUENCES, &[&STEP, &SMALL_STEP]).await?.get("raised");
    tx.execute(CHECK_AGAIN, &[]).await?;
    Ok(Restored {
        sequences,
        epoch: epochs.iter().map(|row| row.get("epoch")).max().unwrap_or(0),
        queues,
        nodes,
        stages,
        ready: tx.query_one(WAITING_READY, &[]).await?.get("waiting"),
        notifications: tx.query_one(UNCONFIRMED, &[]).await?.get("unconfirmed"),
    })
}
