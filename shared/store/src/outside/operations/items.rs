//! The orders of bulk operations: selected once, taken under locks, and noted with their outcomes.

use std::collections::BTreeMap;

use pagurus_domain::number::saturated;
use pagurus_domain::operation::{Aftermath, ItemOutcome};
use pagurus_domain::order::Status;

use crate::columns::columns;
use crate::row::word;
use crate::sql::statements;
use crate::{Connection, Result, Tx};

statements! {
    ADD = "
        INSERT INTO operation_orders (operation, order_no)
        SELECT $2, no FROM unnest($1::bigint[]) AS t (no) ON CONFLICT DO NOTHING";
    // What was refused, and what was carried out and failed all the same.
    ADD_FAILED = "
        WITH former AS (
            SELECT order_no FROM operation_orders
             WHERE operation = $2 AND order_no > $3
               AND (outcome = 'failed' OR aftermath IN ('failed_again', 'failed_otherwise'))
             ORDER BY order_no LIMIT $4),
        added AS (
            INSERT INTO operation_orders (operation, order_no) SELECT $1, order_no FROM former ON CONFLICT DO NOTHING
            RETURNING order_no)
        SELECT (SELECT max(order_no) FROM former) AS last, (SELECT count(*) FROM former) AS looked,
               (SELECT count(*) FROM added) AS added";
    TAKE = "
        SELECT i.order_no, o.id, o.life, o.status, o.error_class, o.flow
          FROM operation_orders i
          LEFT JOIN orders o ON o.no = ANY(ARRAY[i.order_no])
         WHERE i.operation = $1 AND i.outcome IS NULL AND i.order_no > $2 AND i.order_no <= $3
           AND coalesce(o.flow <> ALL($4::text[]), true)
         ORDER BY i.order_no LIMIT $5 FOR UPDATE OF i SKIP LOCKED";
    LAST_AHEAD = "
        SELECT max(order_no) AS last FROM (
            SELECT order_no FROM operation_orders
             WHERE operation = $1 AND outcome IS NULL AND order_no > $2 ORDER BY order_no LIMIT $3) AS ahead";
    // The fence keeps the operation a column of those rows: else a plan may walk all of it for each.
    NOTE = "
        UPDATE operation_orders i SET outcome = t.outcome, reason = t.reason, life = t.life, class = t.class
          FROM (SELECT $6::bigint AS operation, no, outcome, reason, life, class
                  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[], $5::text[]) AS t (no, outcome, reason, life, class)
                OFFSET 0) AS t
         WHERE i.operation = ANY(ARRAY[t.operation]) AND i.order_no = ANY(ARRAY[t.no])";
    // A reason that nobody has named yet is put with the others when there are too many.
    NOTE_REASONS = "
        INSERT INTO operation_reasons (operation, outcome, reason, orders, example)
        SELECT $5, t.outcome,
               CASE WHEN (SELECT count(*) FROM operation_reasons r WHERE r.operation = $5) < 100
                      OR EXISTS (SELECT FROM operation_reasons r WHERE r.operation = $5 AND r.outcome = t.outcome AND r.reason = t.reason)
                    THEN t.reason ELSE 'other reasons' END AS named, sum(t.orders), max(t.example)
          FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS t (outcome, reason, orders, example)
         GROUP BY t.outcome, named
         ORDER BY t.outcome, named
        ON CONFLICT (operation, outcome, reason) DO UPDATE
           SET orders = operation_reasons.orders + excluded.orders, example = greatest(operation_reasons.example, excluded.example)";
    SETTLE = "
        WITH looked AS MATERIALIZED (
            SELECT operation, order_no, life, class FROM operation_orders
             WHERE operation = $1 AND life IS NOT NULL AND aftermath IS NULL AND order_no > $2
             ORDER BY order_no LIMIT $3 FOR UPDATE SKIP LOCKED),
        judged AS MATERIALIZED (
            SELECT l.operation, l.order_no,
                   CASE WHEN o.no IS NULL OR o.life > l.life THEN 'left'
                        WHEN r.order_no IS NOT NULL OR w.order_no IS NOT NULL THEN NULL
                        WHEN o.status = 'success' THEN 'succeeded'
                        WHEN o.status IN ('canceled', 'interrupted') THEN 'left'
                        WHEN o.status = 'fail' AND o.error_class IS NOT DISTINCT FROM l.class THEN 'failed_again'
                        WHEN o.status = 'fail' THEN 'failed_otherwise' END AS aftermath
              FROM looked l
              LEFT JOIN orders o ON o.no = ANY(ARRAY[l.order_no])
              LEFT JOIN ready r ON r.order_no = ANY(ARRAY[l.order_no])
              LEFT JOIN running w ON w.order_no = ANY(ARRAY[l.order_no])),
        settled AS (
            UPDATE operation_orders i SET aftermath = j.aftermath FROM judged j
             WHERE i.operation = ANY(ARRAY[j.operation]) AND i.order_no = ANY(ARRAY[j.order_no]) AND j.aftermath IS NOT NULL
            RETURNING i.aftermath)
        SELECT (SELECT max(order_no) FROM looked) AS last, (SELECT count(*) FROM looked) AS looked,
               count(*) FILTER (WHERE aftermath = 'succeeded') AS succeeded,
               count(*) FILTER (WHERE aftermath = 'failed_again') AS failed_again,
               count(*) FILTER (WHERE aftermath = 'failed_otherwise') AS failed_otherwise,
               count(*) FILTER (WHERE aftermath = 'left') AS left_alone
          FROM settled";
    PAGE = "
        SELECT i.order_no, o.id, i.outcome, i.reason, i.aftermath FROM (
            SELECT order_no, outcome, reason, aftermath FROM operation_orders
             WHERE operation = $1 AND order_no > $2 ORDER BY order_no LIMIT $3) AS i
          LEFT JOIN orders o ON o.no = ANY(ARRAY[i.order_no]) ORDER BY i.order_no";
    FORGET_ORDERS = "
        DELETE FROM operation_orders WHERE operation = $1 AND order_no = ANY(ARRAY(
            SELECT order_no FROM operation_orders WHERE operation = $1 ORDER BY order_no LIMIT $2))";
}

/// Adds orders to an operation; how many it did not have.
pub async fn add(tx: &Tx<'_>, operation: i64, nos: &[i64]) -> Result<i64> {
    let statement = tx.prepare_cached(ADD).await?;
    Ok(saturated::<i64>(tx.execute(&statement, &[&nos, &operation]).await?))
}

/// The outcome of a step of a selection.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddedOrders {
    /// The last order that was looked at; none where there was none.
    pub last: Option<i64>,
    /// Orders that were looked at.
    pub looked: i64,
    /// Orders that were added.
    pub added: i64,
}

/// Adds the failed orders of another operation behind a number.
pub async fn add_failed(
    tx: &Tx<'_>,
    operation: i64,
    former: i64,
    after: i64,
    limit: i64,
) -> Result<AddedOrders> {
    let statement = tx.prepare_cached(ADD_FAILED).await?;
    let row = tx.query_one(&statement, &[&operation, &former, &after, &limit]).await?;
    Ok(AddedOrders { last: row.get("last"), looked: row.get("looked"), added: row.get("added") })
}

/// An order that is locked to be acted on.
#[derive(Clone, Debug)]
pub struct TakenOrder {
    /// Our number.
    pub no: i64,
    /// The client's id; none where the order is not there any more.
    pub id: Option<String>,
    /// Present life.
    pub life: i32,
    /// True if that has ended.
    pub is_final: bool,
    /// Class of its error.
    pub class: Option<String>,
    /// Flow of the order; none where there is no such order any more.
    pub flow: Option<String>,
}

/// Takes at most `limit` of the orders behind a number, up to another, that are still to be acted on and belong to none of
/// these flows. Those that somebody else has taken are passed over.
pub async fn take(
    tx: &Tx<'_>,
    operation: i64,
    (after, to): (i64, i64),
    limit: i64,
    without: &[String],
) -> Result<Vec<TakenOrder>> {
    let statement = tx.prepare_cached(TAKE).await?;
    let rows = tx.query(&statement, &[&operation, &after, &to, &without, &limit]).await?;
    rows.iter()
        .map(|row| {
            let id: Option<String> = row.get("id");
            let status = id.as_ref().map(|_| word::<Status>(row, "status", "orders.status")).transpose()?;
            Ok(TakenOrder {
                no: row.get("order_no"),
                life: row.get::<_, Option<i32>>("life").unwrap_or_default(),
                is_final: status.is_some_and(Status::is_final),
                class: row.get("error_class"),
                flow: row.get("flow"),
                id,
            })
        })
        .collect()
}

/// The last of the orders that a take behind this number would look at; none where there are none.
pub async fn last_ahead(tx: &Tx<'_>, operation: i64, after: i64, looked: i64) -> Result<Option<i64>> {
    Ok(tx.query_one(&tx.prepare_cached(LAST_AHEAD).await?, &[&operation, &after, &looked]).await?.get("last"))
}

/// The outcome for one order.
#[derive(Clone, Debug)]
pub struct NotedOrder<'a> {
    /// Our number.
    pub no: i64,
    /// Outcome.
    pub outcome: ItemOutcome,
    /// Why it was passed over or refused.
    pub reason: Option<&'a str>,
    /// The life whose end is awaited.
    pub life: Option<i32>,
    /// Class of the error before.
    pub class: Option<&'a str>,
}

/// Notes the outcomes of taken orders, and counts the reasons.
pub async fn note(tx: &Tx<'_>, operation: i64, orders: &[NotedOrder<'_>]) -> Result<()> {
    let items = columns!(order in orders => {
        no: i64 = order.no,
        outcome: &str = order.outcome.as_str(),
        reason: Option<&str> = order.reason,
        life: Option<i32> = order.life,
        class: Option<&str> = order.class,
    });
    items.execute(tx, NOTE, &[&operation]).await?;
    let mut reasons: BTreeMap<(ItemOutcome, &str), (i64, i64)> = BTreeMap::new();
    for order in orders {
        let Some(reason) = order.reason else { continue };
        let (count, newest) = reasons.entry((order.outcome, reason)).or_default();
        *count += 1;
        *newest = (*newest).max(order.no);
    }
    if reasons.is_empty() {
        return Ok(());
    }
    let reasons: Vec<_> = reasons.into_iter().collect();
    let reasons = columns!(((kind, text), (count, newest)) in &reasons => {
        outcome: &str = kind.as_str(),
        reason: &str = *text,
        orders: i64 = *count,
        example: i64 = *newest,
    });
    reasons.execute(tx, NOTE_REASONS, &[&operation]).await?;
    Ok(())
}

/// Findings of a look at orders whose end is awaited.
#[derive(Clone, Copy, Debug, Default)]
pub struct SettledOrders {
    /// The last that was looked at; none where there was none.
    pub last: Option<i64>,
    /// Orders that were looked at.
    pub looked: i64,
    /// Counts: succeeded, failed again, failed otherwise, left.
    pub counts: [i64; 4],
}

/// Looks at orders behind a number whose end is awaited.
pub async fn settle(tx: &Tx<'_>, operation: i64, after: i64, limit: i64) -> Result<SettledOrders> {
    let row = tx.query_one(&tx.prepare_cached(SETTLE).await?, &[&operation, &after, &limit]).await?;
    Ok(SettledOrders {
        last: row.get("last"),
        looked: row.get("looked"),
        counts: ["succeeded", "failed_again", "failed_otherwise", "left_alone"].map(|column| row.get(column)),
    })
}

/// An order of an operation.
#[derive(Clone, Debug)]
pub struct OperationOrder {
    /// Our number.
    pub no: i64,
    /// The client's id; none where the order is not there any more.
    pub id: Option<String>,
    /// Outcome; none while it is still to be acted on.
    pub outcome: Option<ItemOutcome>,
    /// Why it was passed over or refused.
    pub reason: Option<String>,
    /// Aftermath.
    pub aftermath: Option<Aftermath>,
}

/// Orders of an operation behind a number.
pub async fn page(
    client: &impl Connection,
    operation: i64,
    after: i64,
    limit: i64,
) -> Result<Vec<OperationOrder>> {
    let rows = client.query(&client.prepare_cached(PAGE).await?, &[&operation, &after, &limit]).await?;
    rows.iter()
        .map(|row| {
            let outcome = row.get::<_, Option<&str>>("outcome");
            let aftermath = row.get::<_, Option<&str>>("aftermath");
            Ok(OperationOrder {
                no: row.get("order_no"),
                id: row.get("id"),
                outcome: outcome.map(|_| word(row, "outcome", "operation_orders.outcome")).transpose()?,
                reason: row.get("reason"),
                aftermath: aftermath
                    .map(|_| word(row, "aftermath", "operation_orders.aftermath"))
                    .transpose()?,
            })
        })
        .collect()
}

/// Removes a bounded number of the orders of an operation; how many.
pub async fn forget(tx: &Tx<'_>, operation: i64, limit: i64) -> Result<u64> {
    Ok(tx.execute(&tx.prepare_cached(FORGET_ORDERS).await?, &[&operation, &limit]).await?)
}
