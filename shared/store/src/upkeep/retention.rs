//! Retention (ORD-26): orders whose time is over, with everything that belongs to them; queues without members; nodes that
//! ended long ago; what operators decided about flows, long ago. Always in bounded steps by ascending key.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::{OrderNo, ScenarioNo};

use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    AGES = "
        SELECT no, scenario, created_at, finished_at, now() AS now FROM orders WHERE no > $1 ORDER BY no LIMIT $2";
    NAMED = "SELECT no, id, finished_at FROM orders WHERE no > $1 ORDER BY no LIMIT $2";
    // An order stays while a notification of it is on its way or parked, unless its receiver wants none any more (`gone`), while a
    // call of it is on its way, and while another one waits for it.
    LOCK_REMOVABLE = "
        SELECT o.no, o.status FROM orders o
         WHERE o.no = ANY($1::bigint[]) AND o.finished_at = ($2::timestamptz[])[array_position($1::bigint[], o.no)]
           AND NOT EXISTS (SELECT FROM outbox b WHERE b.order_no = ANY(ARRAY[o.no])
                              AND b.parked_because IS DISTINCT FROM 'gone')
           AND NOT EXISTS (SELECT FROM cancellations c WHERE c.order_no = ANY(ARRAY[o.no]) AND c.status = 'pending')
           AND NOT EXISTS (SELECT FROM dependencies d
                            WHERE d.before_id = ANY(ARRAY[o.id]) AND d.stand NOT IN ('met', 'closed'))
         ORDER BY o.no FOR UPDATE SKIP LOCKED";
    DROP_CALLBACKS = "
        DELETE FROM callbacks WHERE request_id = ANY(ARRAY(
            SELECT id FROM requests WHERE order_no = ANY($1::bigint[])))";
    DROP_CANCELLATIONS = "DELETE FROM cancellations WHERE order_no = ANY($1::bigint[])";
    DROP_REQUESTS = "DELETE FROM requests WHERE order_no = ANY($1::bigint[])";
    DROP_CALLS = "DELETE FROM calls WHERE order_no = ANY($1::bigint[])";
    DROP_DEPENDENCIES = "DELETE FROM dependencies WHERE order_no = ANY($1::bigint[])";
    DROP_CHILDREN = "DELETE FROM children WHERE order_no = ANY($1::bigint[])";
    DROP_SEARCH_VALUES = "DELETE FROM search_values WHERE order_no = ANY($1::bigint[])";
    DROP_LABELS = "DELETE FROM order_labels WHERE order_no = ANY($1::bigint[])";
    DROP_FAILURES = "DELETE FROM failures WHERE order_no = ANY($1::bigint[])";
    DROP_SUSPENSIONS = "DELETE FROM suspensions WHERE order_no = ANY($1::bigint[])";
    DROP_PROMISES = "DELETE FROM promises WHERE order_no = ANY($1::bigint[])";
    DROP_MARKS = "DELETE FROM inconsistencies WHERE order_no = ANY($1::bigint[])";
    DROP_OUTBOX = "DELETE FROM outbox WHERE order_no = ANY($1::bigint[])";
    DROP_CONTEXTS = "DELETE FROM contexts WHERE order_no = ANY($1::bigint[])";
    DROP_PAYLOADS = "DELETE FROM payloads WHERE order_no = ANY($1::bigint[])";
    DROP_DEADLINES = "DELETE FROM deadlines WHERE order_no = ANY($1::bigint[])";
    DROP_HISTORY = "DELETE FROM history WHERE order_no = ANY($1::bigint[])";
    DROP_ORDERS = "DELETE FROM orders WHERE no = ANY($1::bigint[])";
    // A position is the present millisecond at least: one of a queue whose last one is long past is never given twice.
    QUEUE_NAMES = "SELECT name FROM queues WHERE name > $1 ORDER BY name LIMIT $2";
    DROP_QUEUES = "
        DELETE FROM queues
         WHERE name = ANY(ARRAY(
               SELECT u.name FROM queues u
                WHERE u.name = ANY($1::text[])
                  AND u.last_position < floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 3600000
                  AND NOT EXISTS (SELECT FROM queued q WHERE q.queue = ANY(ARRAY[u.name]))
                ORDER BY u.name FOR UPDATE SKIP LOCKED))
           AND last_position < floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 3600000";
    DROP_NODES = "
        WITH gone AS (
            DELETE FROM nodes n
             WHERE n.incarnation = ANY(ARRAY(
                   SELECT k.incarnation FROM nodes k
                    WHERE k.ended_at < clock_timestamp() - make_interval(secs => $1)
                      AND NOT EXISTS (SELECT FROM running w WHERE w.node = k.incarnation)
                      AND NOT EXISTS (SELECT FROM leases l WHERE l.holder = k.incarnation)
                      AND EXISTS (SELECT FROM nodes m
                                   WHERE m.role = k.role AND m.incarnation > k.incarnation)
                    ORDER BY k.incarnation LIMIT $2))
            RETURNING n.incarnation),
        beats AS (DELETE FROM heartbeats h USING gone g WHERE h.incarnation = g.incarnation),
        turns AS (DELETE FROM stats_turns t USING gone g WHERE t.node = g.incarnation)
        SELECT count(*) AS gone FROM gone";
    DROP_STOPS = "
        DELETE FROM flow_stops WHERE no = ANY(ARRAY(
            SELECT no FROM flow_stops WHERE lifted_at < clock_timestamp() - make_interval(secs => $1) ORDER BY no LIMIT $2))";
    DROP_SHIFTED = "
        DELETE FROM shifted f
         USING (SELECT p.shift, p.order_no FROM shifted p
                  JOIN shifts s ON s.no = p.shift AND s.made_at < clock_timestamp() - make_interval(secs => $1)
                 ORDER BY p.shift, p.order_no LIMIT $2) AS old
         WHERE f.shift = old.shift AND f.order_no = old.order_no";
    DROP_SHIFTS = "
        DELETE FROM shifts s
         WHERE s.made_at < clock_timestamp() - make_interval(secs => $1)
           AND NOT EXISTS (SELECT FROM shifted p WHERE p.shift = s.no)";
}

/// All that decides how long an order is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderAge {
    /// The order.
    pub no: OrderNo,
    /// Version of the scenario.
    pub scenario: ScenarioNo,
    /// Registered at.
    pub created_at: Timestamp,
    /// Ended at.
    pub finished_at: Option<Timestamp>,
    /// The database's clock.
    pub now: Timestamp,
}

/// The next orders after this number, at most `limit`.
pub async fn ages(on: &impl Connection, after: i64, limit: i64) -> Result<Vec<OrderAge>> {
    let rows = on.query(&on.prepare_cached(AGES).await?, &[&after, &limit]).await?;
    let read = |row: &tokio_postgres::Row| OrderAge {
        no: OrderNo(row.get("no")),
        scenario: ScenarioNo(row.get("scenario")),
        created_at: row.get("created_at"),
        finished_at: row.get("finished_at"),
        now: row.get("now"),
    };
    Ok(rows.iter().map(read).collect())
}

/// The next orders after this number: number, client's id, and end.
pub async fn named(
    client: &Client,
    after: i64,
    limit: i64,
) -> Result<Vec<(OrderNo, String, Option<Timestamp>)>> {
    let rows = client.query(&client.prepare_cached(NAMED).await?, &[&after, &limit]).await?;
    Ok(rows.iter().map(|row| (OrderNo(row.get("no")), row.get("id"), row.get("finished_at"))).collect())
}

/// Removes those of these orders that ended then, with everything that belongs to them; the statuses that they had.
/// Their ids are free from then on. One that others hold, or still need, is left for the next round, and so is one that was
/// restarted meanwhile.
pub async fn remove(tx: &Tx<'_>, ended: &[(OrderNo, Timestamp)]) -> Result<Vec<String>> {
    let (nos, times): (Vec<i64>, Vec<Timestamp>) = ended.iter().map(|(no, at)| (no.0, *at)).unzip();
    let rows = tx.query(&tx.prepare_cached(LOCK_REMOVABLE).await?, &[&nos, &times]).await?;
    let nos: Vec<i64> = rows.iter().map(|row| row.get("no")).collect();
    if nos.is_empty() {
        return Ok(Vec::new());
    }
    for statement in [
        DROP_CALLBACKS,
        DROP_CANCELLATIONS,
        DROP_REQUESTS,
        DROP_CALLS,
        DROP_DEPENDENCIES,
        DROP_CHILDREN,
        DROP_SEARCH_VALUES,
        DROP_LABELS,
        DROP_FAILURES,
        DROP_SUSPENSIONS,
        DROP_PROMISES,
        DROP_MARKS,
        DROP_OUTBOX,
        DROP_CONTEXTS,
        DROP_PAYLOADS,
        DROP_DEADLINES,
        DROP_HISTORY,
        DROP_ORDERS,
    ] {
        tx.execute(&tx.prepare_cached(statement).await?, &[&nos]).await?;
    }
    Ok(rows.iter().map(|row| row.get("status")).collect())
}

/// Removes the queues among the next ones by name that have no member and have had none for an hour; the last name that
/// was looked at, none after the last queue.
pub async fn forget_queues(tx: &Tx<'_>, after: &str, limit: i64) -> Result<Option<String>> {
    let rows = tx.query(&tx.prepare_cached(QUEUE_NAMES).await?, &[&after, &limit]).await?;
    let names: Vec<&str> = rows.iter().map(|row| row.get("name")).collect();
    tx.execute(&tx.prepare_cached(DROP_QUEUES).await?, &[&names]).await?;
    let is_full = i64::try_from(names.len()).is_ok_and(|count| count == limit);
    Ok(names.last().filter(|_| is_full).map(|name| (*name).to_owned()))
}

/// Removes what ended longer ago than this, at most `limit` rows of each: nodes, but for the last of each role; stops that were
/// lifted, and shifts.
pub async fn forget_the_past(client: &Client, older_than: Duration, limit: i64) -> Result<()> {
    let age = older_than.as_secs_f64();
    for statement in [DROP_NODES, DROP_STOPS, DROP_SHIFTED] {
        client.execute(&client.prepare_cached(statement).await?, &[&age, &limit]).await?;
    }
    client.execute(&client.prepare_cached(DROP_SHIFTS).await?, &[&age]).await?;
    Ok(())
}
