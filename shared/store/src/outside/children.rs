//! Orders that were started by orders.

use std::collections::{HashMap, HashSet};

use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::registration::NewOrder;

use crate::columns::columns;
use crate::outside::orders::{self, Registered};
use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Client, Connection, Result, Tx};

statements! {
    DEPTHS = "SELECT order_no, depth FROM children WHERE order_no = ANY($1::bigint[])";
    // Counted no further than it matters.
    FULL = "
        SELECT t.no FROM unnest($1::bigint[]) AS t (no)
         CROSS JOIN LATERAL (
               SELECT count(*) AS children
                 FROM (SELECT FROM children WHERE parent_no = t.no LIMIT $2) AS counted) AS c
         WHERE c.children >= $2";
    LINK = "
        INSERT INTO children (order_no, parent_no, depth)
        SELECT o.no, t.parent, t.depth
          FROM unnest($1::text[], $2::bigint[], $3::integer[]) AS t (id, parent, depth)
          JOIN orders o ON o.id = ANY(ARRAY[t.id])
        ON CONFLICT (order_no) DO NOTHING";
    PARENTS = "
        SELECT o.id, c.parent_no
          FROM unnest($1::text[]) AS t (id)
         CROSS JOIN LATERAL (SELECT no, id FROM orders WHERE id = t.id OFFSET 0) AS o
         CROSS JOIN LATERAL (SELECT parent_no FROM children WHERE order_no = o.no OFFSET 0) AS c";
    OF_PARENT = concat!("
        SELECT o.id, ", shown_status!(), " AS status
          FROM (SELECT order_no FROM children WHERE parent_no = $1 LIMIT 1000) AS c
         CROSS JOIN LATERAL (SELECT no, id, status FROM orders WHERE no = ANY(ARRAY[c.order_no]) OFFSET 0) AS o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         ORDER BY c.order_no");
    PARENT = "
        SELECT o.id FROM (SELECT parent_no FROM children WHERE order_no = $1 OFFSET 0) AS c
         CROSS JOIN LATERAL (SELECT id FROM orders WHERE no = c.parent_no OFFSET 0) AS o";
    AWAITED = concat!("
        SELECT q.name, o.id, ", shown_status!(), " AS status
          FROM (SELECT order_no FROM children WHERE parent_no = $1 OFFSET 0) AS c
         CROSS JOIN LATERAL (SELECT no, id, status, answers FROM orders WHERE no = c.order_no OFFSET 0) AS o
         CROSS JOIN LATERAL (
               SELECT name FROM requests WHERE id = o.answers AND status = 'open' AND awaited OFFSET 0) AS q
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         ORDER BY c.order_no LIMIT 1000");
}

/// A child whose end its parent waits for.
#[derive(Clone, Debug)]
pub struct AwaitedChild {
    /// The name of the request that its end answers.
    pub request: String,
    /// The client's id.
    pub id: String,
    /// Present status.
    pub status: Status,
}

/// A child to be registered.
#[derive(Clone, Debug)]
pub struct NewChild {
    /// Order that starts it.
    pub parent: OrderNo,
    /// Registration.
    pub order: NewOrder,
}

/// Depth of each of these orders below an order from outside; 0 for such an order itself.
pub async fn depths(client: &Client, orders: &[OrderNo]) -> Result<HashMap<OrderNo, i32>> {
    let nos: Vec<i64> = orders.iter().map(|no| no.0).collect();
    let statement = client.prepare_cached(DEPTHS).await?;
    Ok(client
        .query(&statement, &[&nos])
        .await?
        .iter()
        .map(|row| (OrderNo(row.get("order_no")), row.get("depth")))
        .collect())
}

/// Orders among these that have started `children` others, or more.
pub async fn full(client: &Client, orders: &[OrderNo], children: u32) -> Result<HashSet<OrderNo>> {
    let nos: Vec<i64> = orders.iter().map(|no| no.0).collect();
    let statement = client.prepare_cached(FULL).await?;
    let rows = client.query(&statement, &[&nos, &i64::from(children)]).await?;
    Ok(rows.iter().map(|row| OrderNo(row.get("no"))).collect())
}

/// Parents of the orders of these ids, where an order started them.
pub async fn parents(client: &impl Connection, ids: &[&str]) -> Result<HashMap<String, OrderNo>> {
    let statement = client.prepare_cached(PARENTS).await?;
    let rows = client.query(&statement, &[&ids]).await?;
    Ok(rows.iter().map(|row| (row.get("id"), OrderNo(row.get("parent_no")))).collect())
}

/// Registers children and notes whose they are. Returns the outcome of each, in order.
pub async fn register(tx: &Tx<'_>, children: &[NewChild], depths: &[i32]) -> Result<Vec<Registered>> {
    let new: Vec<NewOrder> = children.iter().map(|child| child.order.clone()).collect();
    let registered = orders::register(tx, &new).await?;
    let accepted = children.iter().zip(depths).zip(&registered);
    let accepted: Vec<(&NewChild, i32)> = accepted
        .filter(|(_, registered)| matches!(registered, Registered::Accepted { .. }))
        .map(|((child, depth), _)| (child, *depth))
        .collect();
    let columns = columns!((child, depth) in &accepted => {
        id: &str = child.order.request.id.as_str(),
        parent: i64 = child.parent.0,
        depth: i32 = *depth,
    });
    columns.execute(tx, LINK, &[]).await?;
    only_own(tx, children, registered).await
}

/// An order of the same id and content that somebody else registered is no child of this parent:
/// its end would be reported to nobody here.
async fn only_own(
    tx: &Tx<'_>,
    children: &[NewChild],
    registered: Vec<Registered>,
) -> Result<Vec<Registered>> {
    let known = |registered: &Registered| matches!(registered, Registered::Duplicate(_));
    if !registered.iter().any(known) {
        return Ok(registered);
    }
    let ids: Vec<&str> = children.iter().map(|child| child.order.request.id.as_str()).collect();
    let parents = parents(tx, &ids).await?;
    let judge = |(child, registered): (&NewChild, Registered)| match registered {
        Registered::Duplicate(status) if parents.get(&child.order.request.id) != Some(&child.parent) => {
            Registered::Conflict(status)
        }
        other => other,
    };
    Ok(children.iter().zip(registered).map(judge).collect())
}

/// The children whose ends an order waits for now, a thousand at most.
pub async fn awaited(client: &Client, parent: OrderNo) -> Result<Vec<AwaitedChild>> {
    let rows = client.query(&client.prepare_cached(AWAITED).await?, &[&parent.0]).await?;
    rows.iter()
        .map(|row| {
            let status = word(row, "status", "orders.status")?;
            Ok(AwaitedChild { request: row.get("name"), id: row.get("id"), status })
        })
        .collect()
}

/// Parent and children of an order: ids, the latter with their statuses.
pub async fn family(client: &Client, no: OrderNo) -> Result<(Option<String>, Vec<(String, String)>)> {
    let parent = client.prepare_cached(PARENT).await?;
    let parent = client.query_opt(&parent, &[&no.0]).await?.map(|row| row.get("id"));
    let statement = client.prepare_cached(OF_PARENT).await?;
    let rows = client.query(&statement, &[&no.0]).await?;
    Ok((parent, rows.iter().map(|row| (row.get("id"), row.get("status"))).collect()))
}
