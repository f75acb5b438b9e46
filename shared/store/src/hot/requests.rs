//! Requests: registered before they are sent, awaited, timed out and canceled. What answers them is in
//! [`crate::outside::answers`].

pub mod left;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::flow::OpenRequests;
use pagurus_domain::id::{Life, OrderNo, Pass, RequestId};
use pagurus_domain::number::saturated;
use pagurus_scenario::stage::{Cancel, TASK_PREFIX, TaskTerms};
use pagurus_wire::parts::RequestView;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::cancellations;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result, Tx};

/// Time at which a request was closed: by itself, or with the life that asked.
macro_rules! closed_at {
    () => {
        "coalesce(r.closed_at, CASE WHEN o.life = r.life THEN o.finished_at END)"
    };
}

statements! {
    // By the orders that wait: all requests there ever were are many more.
    OPEN = "
        SELECT o.flow, r.system, count(*) AS open,
               count(*) FILTER (WHERE r.registered_at > now() - make_interval(secs => $2)) AS recent
          FROM due d
          JOIN requests r ON r.order_no = ANY(ARRAY[d.order_no]) AND r.status = 'open' AND r.awaited AND r.system IS NOT NULL
          JOIN orders o ON o.no = ANY(ARRAY[d.order_no])
         WHERE d.stream = $1
         GROUP BY o.flow, r.system";
    // Only who holds the pass may register, and the same action of the same visit gets the same id.
    REGISTER = "
        INSERT INTO requests (id, order_no, life, visit, action, name,
                              hand_out, work_seconds, accept_first, task_ends_at, force_finish, wait_ends_at, cancel)
        SELECT gen_random_uuid(), t.no, t.life, t.visit, t.action, t.name,
               t.hand_out, t.work_seconds, t.accept_first, t.task_ends_at, t.force_finish, t.wait_ends_at, t.cancel
          FROM unnest($1::bigint[], $2::uuid[], $3::integer[], $4::integer[], $5::integer[], $6::text[],
                      $7::integer[], $8::double precision[], $9::boolean[], $10::timestamptz[], $11::boolean[], $12::timestamptz[],
                      $13::text[])
               AS t (no, pass, life, visit, action, name,
                     hand_out, work_seconds, accept_first, task_ends_at, force_finish, wait_ends_at, cancel)
          JOIN running r ON r.order_no = ANY(ARRAY[t.no]) AND r.pass = t.pass
        ON CONFLICT (order_no, life, visit, action, hand_out) DO UPDATE
           -- A repeat from a savepoint asks again what got no answer in time.
           SET status = CASE WHEN requests.status = 'answered' THEN 'answered' ELSE 'open' END,
               closed_at = CASE WHEN requests.status = 'answered' THEN requests.closed_at END,
               task_ends_at = excluded.task_ends_at, wait_ends_at = excluded.wait_ends_at,
               cancel = coalesce(excluded.cancel, requests.cancel)
        RETURNING id, order_no, name";
    // Only the newest hand-out of such a task may still be answered.
    SUPERSEDE = "
        UPDATE requests r SET status = 'canceled', closed_at = now()
          FROM unnest($1::uuid[]) AS t (id)
         CROSS JOIN LATERAL (
               SELECT order_no, life, visit, action, hand_out FROM requests WHERE id = t.id OFFSET 0) AS new
         WHERE r.order_no = ANY(ARRAY[new.order_no]) AND r.life = new.life AND r.visit = new.visit
           AND r.action = new.action AND r.hand_out < new.hand_out AND r.status = 'open'";
    // What an order awaits is what its last stage said, and nothing from before.
    AWAIT = "
        WITH given_up AS (
            UPDATE requests SET awaited = false
             WHERE order_no = ANY($3::bigint[]) AND status = 'open' AND awaited AND NOT id = ANY($1::uuid[])
            RETURNING order_no, system),
        asked AS (
            UPDATE requests r SET awaited = true, system = t.system
              FROM unnest($1::uuid[], $2::text[]) AS t (id, system)
             WHERE r.id = ANY(ARRAY[t.id]) AND r.status = 'open' AND NOT r.awaited
            RETURNING r.order_no, r.system)
        SELECT order_no, system, 1 AS by FROM asked WHERE system IS NOT NULL
         UNION ALL
        SELECT order_no, system, -1 FROM given_up WHERE system IS NOT NULL";
    // What an action says only after its answer came: how its request is given up.
    SET_CANCELS = "
        UPDATE requests r SET cancel = t.cancel
          FROM unnest($1::uuid[], $2::text[]) AS t (id, cancel)
         WHERE r.id = ANY(ARRAY[t.id]) AND r.status = 'open' AND r.cancel IS DISTINCT FROM t.cancel";
    // An earlier hand-out of a task stays open where the first answer counts, whichever it is, but
    // not when the time of the whole task is over.
    TIME_OUT = "
        WITH closed AS (
        UPDATE requests SET status = 'timeout', closed_at = now()
         WHERE order_no = ANY($1::bigint[]) AND status = 'open'
           AND (awaited AND NOT accept_first OR task_ends_at <= now() OR wait_ends_at <= now())
        RETURNING id, order_no, life, name, cancel)
        INSERT INTO cancellations (id, request, order_no, life, name, call, next_at)
        SELECT gen_random_uuid(), id, order_no, life, name, cancel, now() FROM closed WHERE cancel IS NOT NULL";
    // Tasks whose hand-out these orders wait for: it is too late now.
    OVERDUE_TASKS = "
        SELECT r.order_no, r.name, s.name AS scenario
          FROM requests r
          JOIN orders o ON o.no = ANY(ARRAY[r.order_no])
          JOIN scenarios s ON s.no = o.scenario
         WHERE r.order_no = ANY($1::bigint[]) AND r.status = 'open' AND r.awaited AND r.work_seconds IS NOT NULL";
    // What a stage that did not end has handed out to actors. What the order awaits by the end of a stage before goes on.
    TASKS_OF_STAGES = "
        SELECT r.id, r.name, r.hand_out, o.id AS order_id
          FROM unnest($1::bigint[], $2::timestamptz[]) AS t (no, started_at)
          JOIN orders o ON o.no = ANY(ARRAY[t.no])
         CROSS JOIN LATERAL (
               SELECT id, name, hand_out FROM requests
                WHERE order_no = t.no AND life = o.life AND status = 'open' AND work_seconds IS NOT NULL AND NOT awaited
                  AND registered_at >= t.started_at
               OFFSET 0) AS r
         ORDER BY t.no, r.hand_out";
    CANCEL = "
        WITH closed AS (
        UPDATE requests SET status = 'canceled', closed_at = now()
         WHERE order_no = ANY($1::bigint[]) AND status = 'open'
        RETURNING id, order_no, life, name, cancel)
        INSERT INTO cancellations (id, request, order_no, life, name, call, next_at)
        SELECT gen_random_uuid(), id, order_no, life, name, cancel, now() FROM closed WHERE cancel IS NOT NULL";
    OF_LIFE = "
        SELECT id, name, status FROM requests WHERE order_no = $1 AND life = $2
         ORDER BY visit DESC, action DESC, hand_out DESC LIMIT 1000";
    // One that was given up and asked again is open: the end of its former round does not count.
    OF_ORDER = concat!("
        SELECT r.id, r.name,
               CASE WHEN r.status <> 'open' OR is_open THEN r.status ELSE 'canceled' END AS status,
               r.awaited, r.life, r.visit, r.system, r.registered_at,
               ", closed_at!(), " AS closed_at,
               CASE WHEN NOT is_open THEN c.status WHEN r.cancel IS NOT NULL THEN 'ready' END AS cancel,
               CASE WHEN NOT is_open THEN c.last_error END AS cancel_error
          FROM requests r JOIN orders o ON o.no = r.order_no
         CROSS JOIN LATERAL (
               SELECT r.status = 'open' AND o.finished_at IS NULL AND o.life = r.life AS is_open) AS stand
          LEFT JOIN LATERAL (
               SELECT status, last_error FROM cancellations WHERE order_no = $1 AND request = r.id
                ORDER BY created_at DESC LIMIT 1) AS c ON NOT is_open
         WHERE r.order_no = $1 ORDER BY r.registered_at, r.id OFFSET $2 LIMIT $3");
    TIMES = concat!("
        SELECT r.order_no, r.name, r.registered_at, ", closed_at!(), " AS closed_at
          FROM requests r JOIN orders o ON o.no = ANY(ARRAY[r.order_no])
         WHERE r.order_no = ANY($1::bigint[]) ORDER BY r.order_no, r.registered_at, r.id LIMIT $2");
    AWAITED = "
        SELECT r.name FROM requests r JOIN orders o ON o.no = r.order_no AND o.life = r.life
         WHERE r.order_no = $1 AND r.status = 'open' AND r.awaited ORDER BY r.registered_at, r.id LIMIT 1000";
}

/// Called systems from which orders now wait for more answers or for fewer, by order.
pub type MovedRequests = HashMap<OrderNo, Vec<(String, i32)>>;

/// A request to be stored before it is sent.
#[derive(Clone, Debug)]
pub struct NewRequest {
    /// The order.
    pub no: OrderNo,
    /// The right to register.
    pub pass: Pass,
    /// Life of the order.
    pub life: Life,
    /// Number of the visit.
    pub visit: u32,
    /// Index of the action.
    pub action: u32,
    /// Number of the hand-out of a task, or of the start of a child.
    pub hand_out: u32,
    /// Name that the scenario gives it.
    pub name: String,
    /// Set where it is a hand-out of a task.
    pub task: Option<TaskTerms>,
    /// The way in which it is given up.
    pub cancel: Cancel,
}

/// Stores requests; `None` where the pass no longer holds.
pub async fn register(tx: &Tx<'_>, requests: &[NewRequest]) -> Result<Vec<Option<RequestId>>> {
    let columns = columns!(new in requests => {
        no: i64 = new.no.0,
        pass: Uuid = new.pass.0,
        life: i32 = new.life.0,
        visit: i32 = count(new.visit),
        action: i32 = count(new.action),
        name: &str = new.name.as_str(),
        hand_out: i32 = count(new.hand_out),
        work_seconds: Option<f64> = new.task.map(|task| task.work_timeout.as_secs_f64()),
        accept_first: bool = new.task.is_some_and(|task| task.accept_first),
        task_ends_at: Option<Timestamp> = new.task.and_then(|task| task.task_ends_at),
        force_finish: bool = new.task.is_some_and(|task| task.force_finish),
        wait_ends_at: Option<Timestamp> = new.task.map(|task| task.wait_ends_at),
        cancel: Option<&str> = new.cancel.call(),
    });
    let mut rows = columns.query(tx, REGISTER, &[]).await?;
    // An order runs one stage, and a stage registers one request at a time.
    let asked: HashMap<i64, &str> = requests.iter().map(|new| (new.no.0, new.name.as_str())).collect();
    let is_other =
        |row: &&Row| asked.get(&row.get("order_no")).is_some_and(|name| *name != row.get::<_, &str>("name"));
    let left: Vec<Uuid> = rows.iter().filter(is_other).map(|row| row.get("id")).collect();
    if !left.is_empty() {
        left::leave(tx, &left).await?;
        // The rest is there, and stays as it is.
        rows = columns.query(tx, REGISTER, &[]).await?;
    }
    let ids: HashMap<i64, Uuid> = rows.iter().map(|row| (row.get("order_no"), row.get("id"))).collect();
    let alone = requests.iter().filter(|r| r.hand_out > 1 && r.task.is_some_and(|task| !task.accept_first));
    let alone: Vec<Uuid> = alone.filter_map(|r| ids.get(&r.no.0).copied()).collect();
    if !alone.is_empty() {
        let statement = tx.prepare_cached(SUPERSEDE).await?;
        tx.execute(&statement, &[&alone]).await?;
    }
    let again = requests.iter().filter(|r| r.cancel != Cancel::Never);
    let (again, orders): (Vec<Uuid>, Vec<i64>) =
        again.filter_map(|r| Some((*ids.get(&r.no.0)?, r.no.0))).unzip();
    if !again.is_empty() {
        cancellations::forget(tx, &again, &orders).await?;
    }
    Ok(requests.iter().map(|r| ids.get(&r.no.0).copied().map(RequestId)).collect())
}

/// Count of the interpreter, as a column holds it.
fn count(number: u32) -> i32 {
    saturated::<i32>(number)
}

/// A task that was not decided within the work time-out of its hand-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverdueTask {
    /// Name of the actor.
    pub actor: String,
    /// Name of the scenario of its order.
    pub scenario: String,
}

/// The tasks that these orders wait for, by the number of the order.
pub(crate) async fn overdue_tasks(tx: &Tx<'_>, orders: &[i64]) -> Result<HashMap<i64, OverdueTask>> {
    let rows = tx.query(&tx.prepare_cached(OVERDUE_TASKS).await?, &[&orders]).await?;
    let read = |row: &Row| {
        (row.get("order_no"), OverdueTask { actor: actor_of(row.get("name")), scenario: row.get("scenario") })
    };
    Ok(rows.iter().map(read).collect())
}

/// A hand-out of a task that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTask {
    /// Name of the actor.
    pub actor: String,
    /// The order.
    pub order: String,
    /// The token of the hand-out.
    pub pass: RequestId,
    /// Number.
    pub hand_out: i32,
}

/// Tasks that stages with a worker have handed out to actors; each stage by its order and its begin.
pub async fn tasks_of_stages(tx: &Tx<'_>, stages: &[(OrderNo, Timestamp)]) -> Result<Vec<OpenTask>> {
    let columns = columns!((no, started_at) in stages => {
        no: i64 = no.0,
        started_at: Timestamp = *started_at,
    });
    let rows = columns.query(tx, TASKS_OF_STAGES, &[]).await?;
    let read = |row: &Row| OpenTask {
        actor: actor_of(row.get("name")),
        order: row.get("order_id"),
        pass: RequestId(row.get("id")),
        hand_out: row.get("hand_out"),
    };
    Ok(rows.iter().map(read).collect())
}

/// The actor of a request, whose name tells it.
pub(crate) fn actor_of(request: &str) -> String {
    request.strip_prefix(TASK_PREFIX).unwrap_or(request).to_owned()
}

/// These requests are what the orders now wait for, and no others: each with the called system that is to answer it, if it
/// is one. Answers with the called systems of those that were not waited for before, and of those that are not any more: how
/// many more requests there are of each.
pub(crate) async fn mark_awaited(
    tx: &Tx<'_>,
    orders: &[i64],
    requests: &[(RequestId, Option<&str>)],
) -> Result<MovedRequests> {
    let columns = columns!((id, system) in requests => {
        id: Uuid = id.0,
        system: Option<&str> = *system,
    });
    let rows = columns.query(tx, AWAIT, &[&orders]).await?;
    let mut moved = MovedRequests::new();
    for row in &rows {
        moved.entry(OrderNo(row.get("order_no"))).or_default().push((row.get("system"), row.get("by")));
    }
    Ok(moved)
}

/// The wait of these orders is over: what was awaited and did not come is too late from now on.
pub(crate) async fn time_out(tx: &Tx<'_>, orders: &[i64]) -> Result<()> {
    let statement = tx.prepare_cached(TIME_OUT).await?;
    tx.execute(&statement, &[&orders]).await?;
    Ok(())
}

/// Notes how these requests are given up, each as the JSON of its call.
pub(crate) async fn set_cancels(tx: &Tx<'_>, cancels: &[(RequestId, &str)]) -> Result<()> {
    let columns = columns!((id, cancel) in cancels => {
        id: Uuid = id.0,
        cancel: &str = *cancel,
    });
    columns.execute(tx, SET_CANCELS, &[]).await?;
    Ok(())
}

/// This life of the orders is over: no request of it will be applied any more.
pub async fn cancel(tx: &Tx<'_>, orders: &[i64]) -> Result<()> {
    let statement = tx.prepare_cached(CANCEL).await?;
    tx.execute(&statement, &[&orders]).await?;
    Ok(())
}

/// A request by its name, for who answers it by hand.
#[derive(Clone, Debug)]
pub struct NamedRequest {
    /// Id, which must not be shown.
    pub id: RequestId,
    /// Name.
    pub name: String,
    /// True while it may be answered.
    pub is_open: bool,
}

/// The requests of a life of an order, the newest first, a thousand at most.
pub async fn of_life(tx: &Tx<'_>, no: OrderNo, life: Life) -> Result<Vec<NamedRequest>> {
    let statement = tx.prepare_cached(OF_LIFE).await?;
    let rows = tx.query(&statement, &[&no.0, &life.0]).await?;
    let read = |row: &Row| NamedRequest {
        id: RequestId(row.get("id")),
        name: row.get("name"),
        is_open: row.get::<_, &str>("status") == "open",
    };
    Ok(rows.iter().map(read).collect())
}

/// Requests of an order behind the first `before`, the oldest first, `limit` at most.
pub async fn of_order(client: &Client, no: OrderNo, before: i64, limit: i64) -> Result<Vec<RequestView>> {
    let statement = client.prepare_cached(OF_ORDER).await?;
    let rows = client.query(&statement, &[&no.0, &before, &limit]).await?;
    let read = |row: &Row| read!(row => RequestView { name, status, awaited, life, visit, system, registered_at, closed_at, cancel, cancel_error });
    Ok(rows.iter().map(read).collect())
}

/// Time for which a request was open.
#[derive(Clone, Debug)]
pub struct RequestTime {
    /// Name.
    pub name: String,
    /// Time of its registration.
    pub registered_at: Timestamp,
    /// Time of its end; none while it is open.
    pub closed_at: Option<Timestamp>,
}

/// Times of the requests of these orders, the oldest of each order first, `limit` in all.
pub async fn times(client: &Client, nos: &[i64], limit: i64) -> Result<HashMap<OrderNo, Vec<RequestTime>>> {
    let rows = client.query(&client.prepare_cached(TIMES).await?, &[&nos, &limit]).await?;
    let mut times: HashMap<OrderNo, Vec<RequestTime>> = HashMap::new();
    for row in &rows {
        let time = read!(row => RequestTime { name, registered_at, closed_at });
        times.entry(OrderNo(row.get("order_no"))).or_default().push(time);
    }
    Ok(times)
}

/// Names of the requests that an order waits for, a thousand at most.
pub async fn awaited(client: &Client, no: OrderNo) -> Result<Vec<String>> {
    let rows = client.query(&client.prepare_cached(AWAITED).await?, &[&no.0]).await?;
    Ok(rows.iter().map(|row| row.get("name")).collect())
}

/// All requests to called systems that are waited for and unanswered, counted by flow and system; those that were
/// registered within this time besides. Looks at all orders that wait.
pub async fn open(client: &Client, recent: Duration) -> Result<Vec<OpenRequests>> {
    let statement = client.prepare_cached(OPEN).await?;
    let rows = client.query(&statement, &[&Stream::Wait.number(), &recent.as_secs_f64()]).await?;
    let count = |row: &Row, name: &str| u32::try_from(row.get::<_, i64>(name)).unwrap_or(u32::MAX);
    let read = |row: &Row| OpenRequests {
        flow: row.get::<_, &str>("flow").into(),
        system: row.get::<_, &str>("system").into(),
        open: count(row, "open"),
        recent: count(row, "recent"),
    };
    Ok(rows.iter().map(read).collect())
}
