//! Orders: registering many, and reading one.

use std::collections::HashMap;
use std::str::FromStr;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{OrderNo, UnknownWord};
use pagurus_domain::order::registration::NewOrder;
use pagurus_domain::order::{Mode, Priority, ScenarioStatus, Status};
use tokio::try_join;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::dependencies::admission::{self, Admission};
use crate::sql::statements;
use crate::stages::ReadyStage;
use crate::{Client, Error, Result, Tx, queues};

statements! {
    // A sequential order with a start time takes its place when that has come, even if it has.
    INSERT_ORDERS = "
        INSERT INTO orders (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify,
                            trace, start_at, start_deadline, start_period, created_at, status, awaited)
        SELECT id, digest, scenario, mode, queue, priority, flow, transaction_id, notify,
               trace, start_at, start_deadline, start_period,
               coalesce(to_timestamp(position / 1000.0), date_trunc('milliseconds', clock_timestamp())),
               CASE WHEN waits OR start_at > now() OR (start_at IS NOT NULL AND queue IS NOT NULL) THEN 'postponed' ELSE 'new' END,
               EXISTS (SELECT FROM dependencies d WHERE d.before_id = ANY(ARRAY[t.id]))
          FROM unnest($1::text[], $2::bytea[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[],
                      $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::bigint[], $14::bigint[], $15::boolean[])
               AS t (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify,
                     trace, start_at, start_deadline, start_period, position, waits)
        ON CONFLICT (id) DO NOTHING
        RETURNING no, id, status, created_at, awaited";
    INSERT_PAYLOADS = "
        INSERT INTO payloads (order_no, params) SELECT * FROM unnest($1::bigint[], $2::text[])";
    INSERT_READY = "
        INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, queue, position, since)
        SELECT no, pass, 1, 'start', flow, priority, queue, position, now()
          FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[])
               AS t (no, pass, flow, priority, queue, position)";
    INSERT_DUE = "
        INSERT INTO due (order_no, stream, due_at) SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::timestamptz[])";
    INSERT_DEADLINES = "
        INSERT INTO deadlines (order_no, kind, at) SELECT * FROM unnest($1::bigint[], $2::text[], $3::timestamptz[])";
    KNOWN = "
        SELECT o.id, o.digest, CASE WHEN w.order_no IS NOT NULL OR r.reissued THEN 'running' ELSE o.status END
          FROM orders o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.id = ANY($1::text[])";
    VIEW = "
        SELECT o.no, o.id, s.name, s.version, o.mode, o.queue, o.priority, o.flow, o.transaction_id, o.notify,
               o.start_at, o.start_deadline, o.created_at,
               CASE WHEN w.order_no IS NOT NULL OR r.reissued THEN 'running' ELSE o.status END,
               o.scenario_status, o.step, o.entry_point, o.life, o.attempt, o.visited, o.distance,
               o.started_at, o.finished_at, o.updated_at, o.result, o.message, o.error_class, o.error_message,
               p.params, d.due_at, n.name, w.attempt, w.started_at, r.order_no IS NOT NULL, r.since, o.scenario,
               q.position, c.snapshot, o.start_period
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN payloads p ON p.order_no = ANY(ARRAY[o.no])
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN nodes n ON n.incarnation = ANY(ARRAY[w.node])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
          LEFT JOIN due d ON d.order_no = ANY(ARRAY[o.no])
          LEFT JOIN queued q ON q.order_no = ANY(ARRAY[o.no])
          LEFT JOIN contexts c ON c.order_no = ANY(ARRAY[o.no])
         WHERE o.id = $1";
    STATUS = "
        SELECT CASE WHEN w.order_no IS NOT NULL OR r.reissued THEN 'running' ELSE o.status END, o.life
          FROM orders o
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.id = $1";
    LIST = "
        SELECT o.no, o.id, s.name, s.version,
               CASE WHEN w.order_no IS NOT NULL OR r.reissued THEN 'running' ELSE o.status END,
               o.scenario_status, o.step, o.created_at, o.updated_at, o.error_class
          FROM orders o
          JOIN scenarios s ON s.no = o.scenario
          LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
          LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
         WHERE o.no < $1
           AND ($2::text IS NULL OR s.name = $2)
           AND ($3::text IS NULL OR CASE WHEN w.order_no IS NOT NULL OR r.reissued THEN 'running' ELSE o.status END = $3)
         ORDER BY o.no DESC
         LIMIT $4";
}

/// What became of one registration.
#[derive(Clone, Debug)]
pub enum Registered {
    /// It is new, and durable with the commit.
    Accepted {
        /// Our number of it.
        no: OrderNo,
        /// Created at, by the database's clock.
        created_at: Timestamp,
        /// What may run of it; none while it is postponed.
        ready: Option<ReadyStage>,
        /// Whether it waits for others, or others for it: somebody should look at it soon.
        conditional: bool,
    },
    /// The same order was registered before.
    Duplicate(Status),
    /// Another order bears this id.
    Conflict(Status),
    /// It would wait for itself, by this way.
    Cycle(Vec<String>),
}

/// Registers orders. Ids are unique within `orders`: the caller sees to it.
///
/// # Errors
/// The database fails; nothing is registered then.
pub async fn register(tx: &Tx<'_>, orders: &[NewOrder]) -> Result<Vec<Registered>> {
    let admission = Admission::of(tx, orders).await?;
    if !admission.refused.is_empty() {
        return register_rest(tx, orders, &admission).await;
    }
    let waits: Vec<bool> = orders.iter().map(|order| admission.waits(order)).collect();
    let positions = positions_of(tx, orders, &waits).await?;
    let inserted = insert_orders(tx, orders, &positions, &waits).await?;
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
                        attempt: 1,
                        flow: order.flow.clone(),
                        priority: order.request.priority,
                        place: order.request.queue.clone().zip(*position),
                        woken: false,
                    }),
                    conditional: *waits || row.awaited,
                });
            }
            match known.get(id) {
                Some((digest, status)) if digest[..] == order.request.digest[..] => {
                    Ok(Registered::Duplicate(*status))
                }
                Some((_, status)) => Ok(Registered::Conflict(*status)),
                // Its row was there a moment ago and is gone: retention took it. Ask again.
                None => Err(Error::Contended),
            }
        })
        .collect()
}

/// Registers all but those that would close a cycle.
async fn register_rest(tx: &Tx<'_>, orders: &[NewOrder], admission: &Admission) -> Result<Vec<Registered>> {
    let rest: Vec<NewOrder> =
        orders.iter().filter(|order| !admission.refused.contains_key(&order.request.id)).cloned().collect();
    let mut registered = Box::pin(register(tx, &rest)).await?.into_iter();
    orders
        .iter()
        .map(|order| match admission.refused.get(&order.request.id) {
            Some(way) => Ok(Registered::Cycle(way.clone())),
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

/// A sequential order that may start now takes its place; one that is postponed takes it later.
async fn positions_of(tx: &Tx<'_>, orders: &[NewOrder], waits: &[bool]) -> Result<Vec<Option<i64>>> {
    let queued: Vec<Option<&str>> = orders
        .iter()
        .zip(waits)
        .map(|(order, waits)| {
            order.request.queue.as_deref().filter(|_| order.request.start_at.is_none() && !waits)
        })
        .collect();
    let places: Vec<&str> = queued.iter().copied().flatten().collect();
    let mut positions = queues::take_positions(tx, &places).await?.into_iter();
    Ok(queued.iter().map(|queue| queue.and_then(|_| positions.next())).collect())
}

async fn insert_orders(
    tx: &Tx<'_>,
    orders: &[NewOrder],
    positions: &[Option<i64>],
    waits: &[bool],
) -> Result<HashMap<String, Inserted>> {
    let id: Vec<&str> = orders.iter().map(|o| o.request.id.as_str()).collect();
    let digest: Vec<&[u8]> = orders.iter().map(|o| o.request.digest.as_slice()).collect();
    let scenario: Vec<i32> = orders.iter().map(|o| o.scenario.0).collect();
    let mode: Vec<&str> = orders.iter().map(|o| o.request.mode.as_str()).collect();
    let queue: Vec<Option<&str>> = orders.iter().map(|o| o.request.queue.as_deref()).collect();
    let priority: Vec<&str> = orders.iter().map(|o| o.request.priority.as_str()).collect();
    let flow: Vec<&str> = orders.iter().map(|o| o.flow.as_str()).collect();
    let transaction: Vec<Option<&str>> = orders.iter().map(|o| o.request.transaction_id.as_deref()).collect();
    let notify: Vec<Option<String>> = orders
        .iter()
        .map(|o| o.request.notify.as_ref().map(|notify| notify.to_value().to_string()))
        .collect();
    let trace: Vec<Option<&str>> = orders.iter().map(|o| o.trace.as_deref()).collect();
    let start_at: Vec<Option<Timestamp>> = orders.iter().map(|o| o.request.start_at).collect();
    let deadline: Vec<Option<Timestamp>> = orders.iter().map(|o| o.start_deadline).collect();
    let period: Vec<Option<i64>> = orders
        .iter()
        .map(|o| o.request.period_to_start.and_then(|period| i64::try_from(period.as_secs()).ok()))
        .collect();
    let statement = tx.prepare_cached(INSERT_ORDERS).await?;
    let rows = tx
        .query(
            &statement,
            &[
                &id,
                &digest,
                &scenario,
                &mode,
                &queue,
                &priority,
                &flow,
                &transaction,
                &notify,
                &trace,
                &start_at,
                &deadline,
                &period,
                &positions,
                &waits,
            ],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let inserted = Inserted {
                no: OrderNo(row.get(0)),
                status: word(row, 2, "orders.status")?,
                created_at: row.get(3),
                awaited: row.get(4),
            };
            Ok((row.get(1), inserted))
        })
        .collect()
}

/// Rows of `ready`, column by column.
#[derive(Default)]
struct ReadyColumns<'a> {
    no: Vec<i64>,
    pass: Vec<Uuid>,
    flow: Vec<&'a str>,
    priority: Vec<&'a str>,
    queue: Vec<Option<&'a str>>,
    position: Vec<Option<i64>>,
}

/// Payload, place and deadlines of the orders that were inserted: sent together, one round trip.
async fn insert_places(
    tx: &Tx<'_>,
    orders: &[NewOrder],
    positions: &[Option<i64>],
    waits: &[bool],
    inserted: &HashMap<String, Inserted>,
) -> Result<()> {
    let mut payloads: (Vec<i64>, Vec<String>) = Default::default();
    let mut ready = ReadyColumns::default();
    let mut queued: (Vec<i64>, Vec<&str>, Vec<i64>) = Default::default();
    let mut due: (Vec<i64>, Vec<i16>, Vec<Timestamp>) = Default::default();
    let mut deadlines: (Vec<i64>, Vec<&str>, Vec<Timestamp>) = Default::default();
    for ((order, position), waits) in orders.iter().zip(positions).zip(waits) {
        let Some(row) = inserted.get(&order.request.id) else { continue };
        let no = row.no.0;
        payloads.0.push(no);
        payloads.1.push(order.request.params.to_string());
        match order.request.start_at.filter(|_| row.status == Status::Postponed) {
            // Its place is written with its conditions.
            _ if *waits => {}
            Some(start_at) => {
                due.0.push(no);
                due.1.push(Stream::Postponed.number());
                due.2.push(start_at);
            }
            None => {
                ready.no.push(no);
                ready.pass.push(Uuid::new_v4());
                ready.flow.push(&order.flow);
                ready.priority.push(order.request.priority.as_str());
                ready.queue.push(order.request.queue.as_deref());
                ready.position.push(*position);
            }
        }
        if let (Some(queue), Some(position)) = (order.request.queue.as_deref(), position) {
            queued.0.push(no);
            queued.1.push(queue);
            queued.2.push(*position);
        }
        let process = order.process_timeout.and_then(|timeout| row.created_at.checked_add(timeout).ok());
        for (kind, at) in [("start", order.start_deadline), ("process", process)] {
            if let Some(at) = at {
                deadlines.0.push(no);
                deadlines.1.push(kind);
                deadlines.2.push(at);
            }
        }
    }
    let payload_statement = tx.prepare_cached(INSERT_PAYLOADS).await?;
    let ready_statement = tx.prepare_cached(INSERT_READY).await?;
    try_join!(
        async { Ok(tx.execute(&payload_statement, &[&payloads.0, &payloads.1]).await?) },
        async {
            Ok(tx
                .execute(
                    &ready_statement,
                    &[&ready.no, &ready.pass, &ready.flow, &ready.priority, &ready.queue, &ready.position],
                )
                .await?)
        },
        queues::enqueue(tx, &queued.0, &queued.1, &queued.2),
        insert_due(tx, &due.0, &due.1, &due.2),
        insert_deadlines(tx, &deadlines.0, &deadlines.1, &deadlines.2),
    )
    .map(|_| ())
}

pub(crate) async fn insert_due(tx: &Tx<'_>, nos: &[i64], streams: &[i16], at: &[Timestamp]) -> Result<()> {
    if !nos.is_empty() {
        let statement = tx.prepare_cached(INSERT_DUE).await?;
        tx.execute(&statement, &[&nos, &streams, &at]).await?;
    }
    Ok(())
}

async fn insert_deadlines(tx: &Tx<'_>, nos: &[i64], kinds: &[&str], at: &[Timestamp]) -> Result<()> {
    if !nos.is_empty() {
        let statement = tx.prepare_cached(INSERT_DEADLINES).await?;
        tx.execute(&statement, &[&nos, &kinds, &at]).await?;
    }
    Ok(())
}

async fn known(tx: &Tx<'_>, ids: &[&str]) -> Result<HashMap<String, (Vec<u8>, Status)>> {
    let statement = tx.prepare_cached(KNOWN).await?;
    let rows = tx.query(&statement, &[&ids]).await?;
    rows.iter().map(|row| Ok((row.get(0), (row.get(1), word(row, 2, "orders.status")?)))).collect()
}

/// An order with everything a reader may want of its own rows.
#[derive(Clone, Debug)]
pub struct OrderView {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its version.
    pub scenario_version: i32,
    /// Our number of that version.
    pub scenario_no: i32,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue.
    pub queue: Option<String>,
    /// Place in the queue, while it is a member.
    pub position: Option<i64>,
    /// Urgency.
    pub priority: Priority,
    /// Flow marker.
    pub flow: String,
    /// Business transaction.
    pub transaction_id: Option<String>,
    /// Notification wish, as JSON.
    pub notify: Option<String>,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Present status.
    pub status: Status,
    /// How it stands to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Last entry point visited.
    pub entry_point: Option<String>,
    /// Which life.
    pub life: i32,
    /// Last hand-out.
    pub attempt: i32,
    /// States entered in this life.
    pub visited: i32,
    /// Transitions to the nearest target.
    pub distance: Option<i32>,
    /// First stage of this life.
    pub started_at: Option<Timestamp>,
    /// Ended at.
    pub finished_at: Option<Timestamp>,
    /// Last change.
    pub updated_at: Timestamp,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Message of the scenario.
    pub message: Option<String>,
    /// Class of the error.
    pub error_class: Option<String>,
    /// The error.
    pub error_message: Option<String>,
    /// Parameters, as JSON.
    pub params: String,
    /// Until when it is suspended.
    pub due_at: Option<Timestamp>,
    /// The node that runs its stage.
    pub node: Option<String>,
    /// The attempt that runs, and since when.
    pub running: Option<(i32, Timestamp)>,
    /// Since when a stage of it may run.
    pub ready_since: Option<Timestamp>,
    /// Position and variables, as JSON.
    pub snapshot: Option<String>,
    /// Seconds from sending to the latest start.
    pub start_period: Option<i64>,
}

/// Reads one order.
///
/// # Errors
/// The database fails.
pub async fn view(client: &Client, id: &str) -> Result<Option<OrderView>> {
    let statement = client.prepare_cached(VIEW).await?;
    let Some(row) = client.query_opt(&statement, &[&id]).await? else { return Ok(None) };
    let running: Option<i32> = row.get(31);
    let ready: bool = row.get(33);
    Ok(Some(OrderView {
        no: OrderNo(row.get(0)),
        id: row.get(1),
        scenario: row.get(2),
        scenario_version: row.get(3),
        mode: word(&row, 4, "orders.mode")?,
        queue: row.get(5),
        priority: word(&row, 6, "orders.priority")?,
        flow: row.get(7),
        transaction_id: row.get(8),
        notify: row.get(9),
        start_at: row.get(10),
        start_deadline: row.get(11),
        created_at: row.get(12),
        status: word(&row, 13, "orders.status")?,
        scenario_status: word(&row, 14, "orders.scenario_status")?,
        step: row.get(15),
        entry_point: row.get(16),
        life: row.get(17),
        attempt: running.unwrap_or_else(|| row.get(18)),
        visited: row.get(19),
        distance: row.get(20),
        started_at: row.get(21),
        finished_at: row.get(22),
        updated_at: row.get(23),
        result: row.get(24),
        message: row.get(25),
        error_class: row.get(26),
        error_message: row.get(27),
        params: row.get::<_, Option<String>>(28).unwrap_or_else(|| "{}".to_owned()),
        due_at: row.get(29),
        node: row.get(30),
        running: running.zip(row.get(32)),
        ready_since: if ready { row.get(34) } else { None },
        scenario_no: row.get(35),
        position: row.get(36),
        snapshot: row.get(37),
        start_period: row.get(38),
    }))
}

/// Status and life of one order.
///
/// # Errors
/// The database fails.
pub async fn status(client: &Client, id: &str) -> Result<Option<(Status, i32)>> {
    let statement = client.prepare_cached(STATUS).await?;
    let row = client.query_opt(&statement, &[&id]).await?;
    row.map(|row| Ok((word(&row, 0, "orders.status")?, row.get(1)))).transpose()
}

/// One line of a list of orders.
#[derive(Clone, Debug)]
pub struct OrderLine {
    /// Our number: the cursor of the list.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its version.
    pub scenario_version: i32,
    /// Present status.
    pub status: Status,
    /// How it stands to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Registered at.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Class of the error.
    pub error_class: Option<String>,
}

/// Orders, newest first, below a number, of one scenario and status where given.
///
/// # Errors
/// The database fails.
pub async fn list(
    client: &Client,
    below: OrderNo,
    scenario: Option<&str>,
    status: Option<Status>,
    limit: i64,
) -> Result<Vec<OrderLine>> {
    let statement = client.prepare_cached(LIST).await?;
    let rows = client.query(&statement, &[&below.0, &scenario, &status.map(Status::as_str), &limit]).await?;
    rows.iter()
        .map(|row| {
            Ok(OrderLine {
                no: OrderNo(row.get(0)),
                id: row.get(1),
                scenario: row.get(2),
                scenario_version: row.get(3),
                status: word(row, 4, "orders.status")?,
                scenario_status: word(row, 5, "orders.scenario_status")?,
                step: row.get(6),
                created_at: row.get(7),
                updated_at: row.get(8),
                error_class: row.get(9),
            })
        })
        .collect()
}

/// A vocabulary word of a row.
pub(crate) fn word<T: FromStr<Err = UnknownWord>>(row: &Row, column: usize, what: &'static str) -> Result<T> {
    let text: &str = row.get(column);
    text.parse().map_err(|_| Error::broken(what, text))
}
