//! Orders: registering many. How one is read stands in `view`.

mod view;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::attributes::AttributeValue;
use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::change::Begin;
use pagurus_domain::order::notification::{NotifyRequest, Receivers};
use pagurus_domain::order::registration::NewOrder;
use tokio::try_join;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::deadlines::{self, Deadline};
use crate::hot::dependencies::admission::{self, Admission};
use crate::hot::dependencies::awaiting;
use crate::hot::place::insert_due;
use crate::hot::queues;
use crate::hot::ready::ReadyStage;
use crate::lists::search;
use crate::row::word;
use crate::sql::{shown_status, statements};
use crate::{Connection, Error, Result, Tx, beside};
pub(crate) use view::STATEMENTS as VIEW_STATEMENTS;
pub use view::{OrderRow, names, status, view};

statements! {
    // The law says both statuses; which of them holds is a matter of the database's clock.
    INSERT_ORDERS = "
        INSERT INTO orders (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify,
                            trace, start_at, start_deadline, start_period, answers, promise_at, labels, created_at, status, awaited)
        SELECT id, digest, scenario, mode, queue, priority, flow, transaction_id, notify,
               trace, start_at, start_deadline, start_period, answers, promise_at, labels::jsonb,
               coalesce(to_timestamp(position / 1000.0), date_trunc('milliseconds', clock_timestamp())),
               CASE WHEN start_at > now() THEN later ELSE at_once END,
               EXISTS (SELECT FROM dependencies d WHERE d.before_id = ANY(ARRAY[t.id]))
          FROM unnest($1::text[], $2::bytea[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[],
                      $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::bigint[], $14::uuid[], $15::timestamptz[], $16::text[], $17::bigint[], $18::text[], $19::text[])
               AS t (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify,
                     trace, start_at, start_deadline, start_period, answers, promise_at, labels, position, at_once, later)
        ON CONFLICT (id) DO NOTHING
        RETURNING no, id, status, created_at, awaited";
    STILL_TO_COME = "
        SELECT coalesce(start_at > now(), false) AS is_later
          FROM unnest($1::timestamptz[]) WITH ORDINALITY AS t (start_at, line) ORDER BY line";
    INSERT_PAYLOADS = "
        INSERT INTO payloads (order_no, params)
        SELECT * FROM unnest($1::bigint[], $2::text[]) AS t (order_no, params)";
    INSERT_LABELS = "
        INSERT INTO order_labels (order_no, key, value)
        SELECT order_no, key, value FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t (order_no, key, value)";
    INSERT_READY = "
        INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, queue, position, since)
        SELECT no, pass, 1, 'start', flow, priority, queue, position, now()
          FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[])
               AS t (no, pass, flow, priority, queue, position)";
    KNOWN = concat!("
        SELECT o.id, o.digest, ", shown_status!(), " AS status
          FROM orders o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.id = ANY($1::text[])");
}

/// Outcome of one registration.
#[derive(Clone, Debug)]
pub enum Registered {
    /// The order is new, and durable with the commit.
    Accepted {
        /// Our number of it.
        no: OrderNo,
        /// Created at, by the database's clock.
        created_at: Timestamp,
        /// Stage of it that may run; none while it is postponed.
        ready: Option<ReadyStage>,
        /// Start time of it, where it waits for nothing else.
        starts_at: Option<Timestamp>,
        /// True if it waits for others, or others for it: somebody should look at it soon.
        conditional: bool,
    },
    /// The same order was registered before.
    Duplicate(Status),
    /// Another order has this id.
    Conflict(Status),
    /// The order would wait for itself, by this way.
    Cycle(Vec<String>),
    /// The order would stand in its queue behind an order that awaits it.
    Behind {
        /// The queue.
        queue: String,
        /// The order.
        awaiting: String,
    },
}

/// Registers orders. Ids are unique within `orders`: the caller sees to it.
///
/// # Errors
/// The database fails; nothing is registered then.
pub async fn register(tx: &Tx<'_>, orders: &[NewOrder]) -> Result<Vec<Registered>> {
    let admission = Admission::of(tx, orders).await?;
    if !admission.refused.is_empty() {
        let refused = admission.refused.into_iter().map(|(id, way)| (id, Registered::Cycle(way))).collect();
        return register_rest(tx, orders, &refused).await;
    }
    let waits: Vec<bool> = orders.iter().map(|order| admission.waits(order)).collect();
    let begins = begins(tx, orders, &waits).await?;
    let positions = positions_of(tx, orders, &begins).await?;
    let behind = awaiting::behind_members(tx, orders).await?;
    if !behind.is_empty() {
        let refused = |(id, (queue, awaiting))| (id, Registered::Behind { queue, awaiting });
        return register_rest(tx, orders, &behind.into_iter().map(refused).collect()).await;
    }
    let inserted = insert_orders(tx, orders, &positions, &begins).await?;
    insert_places(tx, orders, &positions, &waits, &inserted).await?;
    let nos: HashMap<&str, i64> = inserted.iter().map(|(id, row)| (id.as_str(), row.no.0)).collect();
    admission.write(tx, orders, &nos).await?;
    let awaited: Vec<&str> =
        inserted.iter().filter(|(_, row)| row.awaited).map(|(id, _)| id.as_str()).collect();
    admission::notice(tx, &awaited).await?;
    let missing: Vec<&str> =
        orders.iter().map(|o| o.request.id.as_str()).filter(|id| !inserted.contains_key(*id)).collect();
    let known = if missing.is_empty() { HashMap::new() } else { known(tx, &missing).await? };
    orders
        .iter()
        .zip(&positions)
        .zip(&waits)
        .map(|((order, position), waits)| {
            let id = order.request.id.as_str();
            if let Some(row) = inserted.get(id) {
                return Ok(Registered::Accepted {
                    no: row.no,
                    created_at: row.created_at,
                    ready: (row.status == Status::New).then(|| ReadyStage {
                        no: row.no,
                        attempt: Attempt::FIRST,
                        flow: order.flow.clone(),
                        priority: order.request.priority,
                        place: order.queue.clone().zip(*position),
                        woken: false,
                    }),
                    starts_at: order.request.start_at.filter(|_| row.status == Status::Postponed && !waits),
                    conditional: *waits || row.awaited,
                });
            }
            match known.get(id) {
                Some((digest, status)) if order.request.has_digest(digest) => {
                    Ok(Registered::Duplicate(*status))
                }
                Some((_, status)) => Ok(Registered::Conflict(*status)),
                // Its row was there a moment ago and is gone: retention took it. Ask again.
                None => Err(Error::Contended),
            }
        })
        .collect()
}

/// Registers all but those that are refused, by id.
async fn register_rest(
    tx: &Tx<'_>,
    orders: &[NewOrder],
    refused: &HashMap<String, Registered>,
) -> Result<Vec<Registered>> {
    let rest: Vec<NewOrder> =
        orders.iter().filter(|order| !refused.contains_key(&order.request.id)).cloned().collect();
    let mut registered = Box::pin(register(tx, &rest)).await?.into_iter();
    orders
        .iter()
        .map(|order| match refused.get(&order.request.id) {
            Some(why) => Ok(why.clone()),
            None => registered.next().ok_or(Error::Contended),
        })
        .collect()
}

struct Inserted {
    no: OrderNo,
    status: Status,
    created_at: Timestamp,
    awaited: bool,
}

/// The start of each order. Members of queues must know beforehand whether their start time has come: only then they take a
/// position now.
async fn begins(tx: &Tx<'_>, orders: &[NewOrder], waits: &[bool]) -> Result<Vec<Begin>> {
    let member_start = |order: &NewOrder| order.request.start_at.filter(|_| order.queue.is_some());
    let starts: Vec<Option<Timestamp>> = orders.iter().map(member_start).collect();
    let starts_later: Vec<bool> = if starts.iter().any(Option::is_some) {
        let rows = tx.query(&tx.prepare_cached(STILL_TO_COME).await?, &[&starts]).await?;
        rows.iter().map(|row| row.get("is_later")).collect()
    } else {
        vec![false; orders.len()]
    };
    let begin =
        |((order, waits), later): ((&NewOrder, &bool), bool)| Begin::of(*waits, later, order.queue.is_some());
    Ok(orders.iter().zip(waits).zip(starts_later).map(begin).collect())
}

/// Positions of the orders that become members of their queues now.
async fn positions_of(tx: &Tx<'_>, orders: &[NewOrder], begins: &[Begin]) -> Result<Vec<Option<i64>>> {
    let queued: Vec<Option<&str>> = orders
        .iter()
        .zip(begins)
        .map(|(order, begin)| order.queue.as_deref().filter(|_| begin.joins_queue))
        .collect();
    let places: Vec<&str> = queued.iter().copied().flatten().collect();
    let mut positions = queues::take_positions(tx, &places).await?.into_iter();
    Ok(queued.iter().map(|queue| queue.and_then(|_| positions.next())).collect())
}

async fn insert_orders(
    tx: &Tx<'_>,
    orders: &[NewOrder],
    positions: &[Option<i64>],
    begins: &[Begin],
) -> Result<HashMap<String, Inserted>> {
    let new: Vec<(&NewOrder, Option<i64>, &Begin)> = orders
        .iter()
        .zip(positions.iter().copied().zip(begins))
        .map(|(order, (position, begin))| (order, position, begin))
        .collect();
    let columns = columns!((order, position, begin) in &new => {
        id: &str = order.request.id.as_str(),
        digest: &[u8] = order.request.digest.as_slice(),
        scenario: i32 = order.scenario.0,
        mode: &str = order.mode.as_str(),
        queue: Option<&str> = order.queue.as_deref(),
        priority: &str = order.request.priority.as_str(),
        flow: &str = order.flow.as_str(),
        transaction_id: Option<&str> = order.request.transaction_id.as_deref(),
        notify: Option<String> = stored_notify(order),
        trace: Option<&str> = order.trace.as_deref(),
        start_at: Option<Timestamp> = order.request.start_at,
        start_deadline: Option<Timestamp> = order.start_deadline,
        start_period: Option<i64> = seconds(order.request.period_to_start),
        answers: Option<Uuid> = order.answers.map(|request| request.0),
        promise_at: Option<Timestamp> = order.request.promise_at,
        labels: Option<String> = order.request.labels.stored(),
        position: Option<i64> = *position,
        at_once: &str = begin.at_once.as_str(),
        later: &str = begin.later.as_str(),
    });
    let rows = columns.query(tx, INSERT_ORDERS, &[]).await?;
    rows.iter()
        .map(|row| {
            let inserted = Inserted {
                no: OrderNo(row.get("no")),
                status: word(row, "status", "orders.status")?,
                created_at: row.get("created_at"),
                awaited: row.get("awaited"),
            };
            Ok((row.get("id"), inserted))
        })
        .collect()
}

/// The notification wish of an order as it is stored. Nodes of the version before look for the request of a
/// parent in its place; nodes that know the column `answers` tell the two apart.
fn stored_notify(order: &NewOrder) -> Option<String> {
    let of_parent = || order.answers.map(|request| NotifyRequest::of_parent(request).to_value());
    let wish = order.request.notify.as_ref().map(Receivers::to_value).or_else(of_parent);
    wish.map(|wish| wish.to_string())
}

fn seconds(period: Option<Duration>) -> Option<i64> {
    period.and_then(|period| i64::try_from(period.as_secs()).ok())
}

/// Payload, place and deadlines of the orders that were inserted: sent together, one round trip.
async fn insert_places(
    tx: &Tx<'_>,
    orders: &[NewOrder],
    positions: &[Option<i64>],
    waits: &[bool],
    inserted: &HashMap<String, Inserted>,
) -> Result<()> {
    let (mut payloads, mut labels) = (Vec::new(), Vec::new());
    let (mut ready, mut queued) = (Vec::new(), Vec::new());
    let (mut due, mut deadlines): (_, Vec<Deadline>) = (Vec::new(), Vec::new());
    for ((order, position), waits) in orders.iter().zip(positions).zip(waits) {
        let Some(row) = inserted.get(&order.request.id) else { continue };
        let no = row.no.0;
        payloads.push((no, order));
        labels.extend(order.request.labels.iter().map(|(key, value)| (no, key, value)));
        match order.request.start_at.filter(|_| row.status == Status::Postponed) {
            // Its place is written with its conditions.
            _ if *waits => {}
            Some(start_at) => due.push((no, Stream::Postponed, start_at)),
            None => ready.push((no, order, *position)),
        }
        if let (Some(queue), Some(position)) = (order.queue.as_deref(), position) {
            queued.push((no, queue, *position));
        }
        let from = (row.status != Status::Postponed && !*waits).then_some(row.created_at);
        deadlines.extend(Deadline::of_life(no, from, order.start_deadline, order.process_timeout));
    }
    let payloads = columns!((no, order) in &payloads => {
        order_no: i64 = *no,
        params: String = order.request.params.to_string(),
    });
    let ready = columns!((no, order, position) in &ready => {
        no: i64 = *no,
        pass: Uuid = Uuid::new_v4(),
        flow: &str = order.flow.as_str(),
        priority: &str = order.request.priority.as_str(),
        queue: Option<&str> = order.queue.as_deref(),
        position: Option<i64> = *position,
    });
    let attributes = orders
        .iter()
        .filter_map(|order| Some((inserted.get(&order.request.id)?.no.0, order.attributes.as_slice())));
    let attributes: Vec<(i64, &[AttributeValue])> =
        attributes.filter(|(_, values)| !values.is_empty()).collect();
    try_join!(
        beside(search::put_values(tx, &attributes)),
        beside(insert_labels(tx, &labels)),
        beside(payloads.execute(tx, INSERT_PAYLOADS, &[])),
        beside(ready.execute(tx, INSERT_READY, &[])),
        beside(queues::enqueue(tx, &queued)),
        beside(insert_due(tx, &due)),
        beside(deadlines::set(tx, &deadlines)),
    )
    .map(|_| ())
}

async fn insert_labels(tx: &Tx<'_>, labels: &[(i64, &str, &str)]) -> Result<()> {
    if labels.is_empty() {
        return Ok(());
    }
    let columns = columns!((no, key, value) in labels => {
        order_no: i64 = *no,
        key: &str = *key,
        value: &str = *value,
    });
    columns.execute(tx, INSERT_LABELS, &[]).await?;
    Ok(())
}

/// Digest and status of those of these orders that are registered, by their ids.
pub async fn known(client: &impl Connection, ids: &[&str]) -> Result<HashMap<String, (Vec<u8>, Status)>> {
    let statement = client.prepare_cached(KNOWN).await?;
    let rows = client.query(&statement, &[&ids]).await?;
    rows.iter()
        .map(|row| Ok((row.get("id"), (row.get("digest"), word(row, "status", "orders.status")?))))
        .collect()
}
