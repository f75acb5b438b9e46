//! Facts for the consistency check (REC-6): all rows under some numbers in one statement, and so in one snapshot;
//! what is made of them stands in the domain. Repairs stand in [`repair`], marks in [`marks`].

pub mod marks;
pub mod repair;

use pagurus_domain::consistency::{DueFacts, OrderFacts, OrderRowFacts, ReadyFacts, RunningFacts};
use pagurus_domain::id::{Attempt, Life, OrderNo, RequestId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::row::word;
use crate::sql::statements;
use crate::{Client, Connection, Result};

/// Requests of one order that are read at most; of more nothing is judged.
const MAX_REQUESTS: i64 = 1000;

statements! {
    // Also the numbers that no order has.
    NUMBERS = "
        SELECT no FROM (
            (SELECT no FROM orders WHERE no > $1 ORDER BY no LIMIT $2)
            UNION (SELECT order_no FROM ready WHERE order_no > $1 ORDER BY order_no LIMIT $2)
            UNION (SELECT order_no FROM running WHERE order_no > $1 ORDER BY order_no LIMIT $2)
            UNION (SELECT order_no FROM due WHERE order_no > $1 ORDER BY order_no LIMIT $2)
            UNION (SELECT order_no FROM queued WHERE order_no > $1 ORDER BY order_no LIMIT $2)
            UNION (SELECT order_no FROM deadlines WHERE order_no > $1 ORDER BY order_no LIMIT $2)
            UNION (SELECT order_no FROM payloads WHERE order_no > $1 ORDER BY order_no LIMIT $2)
            UNION (SELECT order_no FROM contexts WHERE order_no > $1 ORDER BY order_no LIMIT $2)) AS n
         ORDER BY no LIMIT $2";
    LIVING = "
        SELECT p.no, coalesce(s.name = ANY($3::text[]), false) AS is_wanted
          FROM (SELECT no FROM (
                    (SELECT order_no AS no FROM ready WHERE order_no > $1 ORDER BY order_no LIMIT $2)
                    UNION (SELECT order_no FROM running WHERE order_no > $1 ORDER BY order_no LIMIT $2)
                    UNION (SELECT order_no FROM due WHERE order_no > $1 ORDER BY order_no LIMIT $2)) AS n
                 ORDER BY no LIMIT $2) AS p
          LEFT JOIN orders o ON o.no = ANY(ARRAY[p.no])
          LEFT JOIN scenarios s ON s.no = o.scenario
         ORDER BY p.no";
    NUMBERED = "SELECT id, no FROM orders WHERE id = ANY($1::text[])";
    // The position of an order that has ended is kept for a restart, and judged then.
    FACTS = "
        SELECT n.no, o.no IS NOT NULL AS is_order, o.status, o.mode, o.life, o.attempt, o.start_at, o.start_deadline,
               o.started_at IS NOT NULL AS has_started, o.events::bigint AS events, counted.events_in_history,
               EXISTS (SELECT FROM scenarios s WHERE s.no = o.scenario) AS has_scenario,
               conditions.open_conditions, waiting.waiting_calls, lives.greatest_life,
               CASE WHEN o.status = 'fail'
                    THEN EXISTS (SELECT FROM failures f
                                  WHERE f.order_no = ANY(ARRAY[n.no]) AND f.class IS NOT DISTINCT FROM o.error_class)
                    ELSE NOT EXISTS (SELECT FROM failures f WHERE f.order_no = ANY(ARRAY[n.no])) END AS failure_fits,
               asked.request_ids, asked.are_answered, asked.awaited_open,
               w.attempt AS running_attempt, w.queue AS running_queue,
               EXISTS (SELECT FROM nodes k WHERE k.incarnation = w.node) AS is_node_known,
               r.attempt AS ready_attempt, r.queue AS ready_queue, r.position AS ready_position, r.reissued,
               d.stream, q.queue AS queued_in, q.position AS queued_position, u.last_position,
               EXISTS (SELECT FROM deadlines l WHERE l.order_no = ANY(ARRAY[n.no])) AS has_deadlines,
               EXISTS (SELECT FROM deadlines l WHERE l.order_no = ANY(ARRAY[n.no]) AND l.kind = 'start') AS has_start_deadline,
               EXISTS (SELECT FROM payloads p WHERE p.order_no = ANY(ARRAY[n.no])) AS has_params,
               CASE WHEN o.finished_at IS NULL THEN c.snapshot END AS snapshot
          FROM unnest($1::bigint[]) AS n (no)
          LEFT JOIN orders o ON o.no = ANY(ARRAY[n.no])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[n.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[n.no])
          LEFT JOIN due d ON d.order_no = ANY(ARRAY[n.no])
          LEFT JOIN queued q ON q.order_no = ANY(ARRAY[n.no])
          LEFT JOIN queues u ON u.name = ANY(ARRAY[q.queue])
          LEFT JOIN contexts c ON c.order_no = ANY(ARRAY[n.no])
         CROSS JOIN LATERAL (
               SELECT 1 + count(*) + count(*) FILTER (WHERE h.kind = 'stage') AS events_in_history
                 FROM history h WHERE h.order_no = ANY(ARRAY[n.no])) AS counted
         CROSS JOIN LATERAL (
               SELECT count(*) AS open_conditions FROM dependencies e
                WHERE e.order_no = ANY(ARRAY[n.no]) AND e.stand NOT IN ('met', 'closed')) AS conditions
         CROSS JOIN LATERAL (
               SELECT count(*) AS waiting_calls FROM calls a
                WHERE a.order_no = ANY(ARRAY[n.no]) AND a.status = 'waiting') AS waiting
         CROSS JOIN LATERAL (
               SELECT max(x.life) AS greatest_life
                 FROM (SELECT b.life FROM outbox b WHERE b.order_no = ANY(ARRAY[n.no])
                       UNION ALL SELECT i.life FROM requests i WHERE i.order_no = ANY(ARRAY[n.no])
                       UNION ALL SELECT a.life FROM calls a WHERE a.order_no = ANY(ARRAY[n.no])
                       UNION ALL SELECT h.life FROM history h WHERE h.order_no = ANY(ARRAY[n.no])) AS x) AS lives
         CROSS JOIN LATERAL (
               SELECT array_agg(y.id) AS request_ids, array_agg(y.status = 'answered') AS are_answered,
                      count(*) FILTER (WHERE y.awaited AND y.status = 'open') AS awaited_open
                 FROM (SELECT i.id, i.status, i.awaited FROM requests i
                        WHERE i.order_no = ANY(ARRAY[n.no]) AND o.status = 'wait' LIMIT $2) AS y) AS asked
         ORDER BY n.no";
}

/// The next numbers after this one that any row has, at most `limit`.
pub async fn numbers(client: &impl Connection, after: i64, limit: i64) -> Result<Vec<i64>> {
    let rows = client.query(&client.prepare_cached(NUMBERS).await?, &[&after, &limit]).await?;
    Ok(rows.iter().map(|row| row.get("no")).collect())
}

/// The next numbers after this one of orders that have a place, each with whether its scenario is one of these.
pub async fn living(
    client: &impl Connection,
    after: i64,
    limit: i64,
    scenarios: &[String],
) -> Result<Vec<(i64, bool)>> {
    let statement = client.prepare_cached(LIVING).await?;
    let rows = client.query(&statement, &[&after, &limit, &scenarios]).await?;
    Ok(rows.iter().map(|row| (row.get("no"), row.get("is_wanted"))).collect())
}

/// Our numbers of the orders with these ids; those that are not there are left out.
pub async fn numbered(client: &Client, ids: &[&str]) -> Result<Vec<(String, OrderNo)>> {
    let rows = client.query(&client.prepare_cached(NUMBERED).await?, &[&ids]).await?;
    Ok(rows.iter().map(|row| (row.get("id"), OrderNo(row.get("no")))).collect())
}

/// The facts of these numbers, all of one moment.
///
/// # Errors
/// The database fails, or a word of it is in no vocabulary.
pub async fn facts(on: &impl Connection, nos: &[i64]) -> Result<Vec<OrderFacts>> {
    let statement = on.prepare_cached(FACTS).await?;
    let rows = on.query(&statement, &[&nos, &(MAX_REQUESTS + 1)]).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<OrderFacts> {
    let running: Option<i32> = row.get("running_attempt");
    let ready: Option<i32> = row.get("ready_attempt");
    let place = row.get::<_, Option<String>>("ready_queue").zip(row.get("ready_position"));
    Ok(OrderFacts {
        no: OrderNo(row.get("no")),
        order: if row.get("is_order") { Some(read_order(row)?) } else { None },
        running: running.map(|attempt| RunningFacts {
            attempt: Attempt(attempt),
            queue: row.get("running_queue"),
            is_node_known: row.get("is_node_known"),
        }),
        ready: ready.map(|attempt| ReadyFacts {
            attempt: Attempt(attempt),
            place,
            is_reissued: row.get("reissued"),
        }),
        due: row.get::<_, Option<i16>>("stream").map(|stream| DueFacts { stream }),
        queued: row
            .get::<_, Option<String>>("queued_in")
            .map(|queue| (queue, row.get("queued_position"), row.get("last_position"))),
        has_deadlines: row.get("has_deadlines"),
        has_start_deadline: row.get("has_start_deadline"),
        has_params: row.get("has_params"),
        snapshot: row.get("snapshot"),
    })
}

fn read_order(row: &Row) -> Result<OrderRowFacts> {
    let life = Life(row.get("life"));
    Ok(OrderRowFacts {
        status: word(row, "status", "orders.status")?,
        mode: word(row, "mode", "orders.mode")?,
        life,
        attempt: Attempt(row.get("attempt")),
        start_at: row.get("start_at"),
        start_deadline: row.get("start_deadline"),
        has_started: row.get("has_started"),
        events: row.get("events"),
        events_in_history: row.get("events_in_history"),
        has_scenario: row.get("has_scenario"),
        open_conditions: row.get("open_conditions"),
        waiting_calls: row.get("waiting_calls"),
        greatest_life: row.get::<_, Option<i32>>("greatest_life").map_or(life, Life),
        failure_fits: row.get("failure_fits"),
        requests: requests(row),
        awaited_open: row.get("awaited_open"),
    })
}

/// The requests of an order that waits; none where there are too many.
fn requests(row: &Row) -> Option<Vec<(RequestId, bool)>> {
    let ids = row.get::<_, Option<Vec<Uuid>>>("request_ids").unwrap_or_default();
    let are_answered = row.get::<_, Option<Vec<bool>>>("are_answered").unwrap_or_default();
    let is_all = i64::try_from(ids.len()).is_ok_and(|count| count <= MAX_REQUESTS);
    is_all.then(|| ids.into_iter().map(RequestId).zip(are_answered).collect())
}
