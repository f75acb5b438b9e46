//! Orders that await their children: what such a child may not wait for.
//!
//! A request that a child answers is open until the child has ended or nobody waits any more. Its order, and the orders
//! that await that one, go on only when the child has ended.

use std::collections::HashMap;

use pagurus_domain::order::registration::NewOrder;
use uuid::Uuid;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    // Upwards from the child, as long as an order awaits the one before. What the child has answered already is open no more,
    // but for the moment between its end and the answer. OFFSET 0 keeps the look at each member apart from its queue.
    MEMBERS = "
        WITH RECURSIVE line (id, queue, no, awaiting, answers) AS (
            SELECT t.id, t.queue, p.no, p.id, p.answers
              FROM unnest($1::text[], $2::text[], $3::uuid[]) AS t (id, queue, answers)
              JOIN requests r ON r.id = ANY(ARRAY[t.answers]) AND r.status = 'open'
              JOIN orders p ON p.no = ANY(ARRAY[r.order_no]) AND p.life = r.life AND p.finished_at IS NULL
             UNION
            SELECT l.id, l.queue, p.no, p.id, p.answers
              FROM line l
              JOIN requests r ON r.id = ANY(ARRAY[l.answers]) AND r.status = 'open'
              JOIN orders p ON p.no = ANY(ARRAY[r.order_no]) AND p.life = r.life AND p.finished_at IS NULL)
        SELECT l.id, l.queue, l.awaiting
          FROM line l
         CROSS JOIN LATERAL (SELECT queue FROM queued WHERE order_no = ANY(ARRAY[l.no]) OFFSET 0) AS q
         WHERE q.queue = l.queue
           AND NOT EXISTS (SELECT FROM orders o WHERE o.id = ANY(ARRAY[l.id]) AND o.finished_at IS NOT NULL)";
    AWAITING = "
        SELECT r.id, p.id AS awaiting
          FROM requests r
          JOIN orders p ON p.no = ANY(ARRAY[r.order_no]) AND p.life = r.life AND p.finished_at IS NULL
         WHERE r.id = ANY($1::uuid[]) AND r.status = 'open'";
}

/// Children among these that would stand in their queues behind an order that awaits them, by id: the queue, and that
/// order. To be asked when the positions are taken: later members stand behind. Costs nothing where no order
/// is awaited and sequential.
pub(crate) async fn behind_members(
    tx: &Tx<'_>,
    orders: &[NewOrder],
) -> Result<HashMap<String, (String, String)>> {
    let sequential = orders.iter().filter_map(|order| Some((order, order.queue.as_deref()?, order.answers?)));
    let awaited: Vec<(&NewOrder, &str, Uuid)> =
        sequential.map(|(order, queue, answers)| (order, queue, answers.0)).collect();
    if awaited.is_empty() {
        return Ok(HashMap::new());
    }
    let columns = columns!((order, queue, answers) in &awaited => {
        id: &str = order.request.id.as_str(),
        queue: &str = *queue,
        answers: Uuid = *answers,
    });
    let rows = columns.query(tx, MEMBERS, &[]).await?;
    Ok(rows.iter().map(|row| (row.get("id"), (row.get("queue"), row.get("awaiting")))).collect())
}

/// The orders that await those of these orders that are children: of each child the id, and that of the order.
pub(crate) async fn awaiting<'o>(tx: &Tx<'_>, orders: &[&'o NewOrder]) -> Result<Vec<(&'o str, String)>> {
    let answers: Vec<Uuid> = orders.iter().filter_map(|order| Some(order.answers?.0)).collect();
    if answers.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.query(&tx.prepare_cached(AWAITING).await?, &[&answers]).await?;
    let by_request: HashMap<Uuid, String> =
        rows.iter().map(|row| (row.get("id"), row.get("awaiting"))).collect();
    let of = |order: &&'o NewOrder| {
        let awaiting = by_request.get(&order.answers?.0)?;
        Some((order.request.id.as_str(), awaiting.clone()))
    };
    Ok(orders.iter().filter_map(of).collect())
}
