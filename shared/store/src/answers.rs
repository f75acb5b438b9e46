//! Answers to requests: stored whatever becomes of them, judged once, and shown to the stages that
//! follow.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Life, OrderNo, RequestId, ScenarioNo};
use pagurus_domain::scenario::stage::Callback;
use pagurus_domain::scenario::{Folded, value};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::columns::columns;
use crate::sql::statements;
use crate::stages::{LONG_BYTES, ReadyStage};
use crate::{Client, Result, Tx, due};

statements! {
    FIND = "SELECT id, order_no FROM requests WHERE id = ANY($1::uuid[])";
    SCENARIOS = "
        SELECT r.id, o.scenario
          FROM (SELECT id, order_no FROM requests WHERE id = ANY($1::uuid[]) OFFSET 0) AS r
          JOIN orders o ON o.no = ANY(ARRAY[r.order_no])";
    LOCK_ORDERS = "SELECT no FROM orders WHERE no = ANY($1::bigint[]) ORDER BY no FOR UPDATE";
    // A request that no wait was for stays open at the end of its life, and is closed by that.
    ANSWER = "
        UPDATE requests r SET status = 'answered', closed_at = now()
          FROM orders o
         WHERE r.id = ANY($1::uuid[]) AND r.status = 'open'
           AND o.no = ANY(ARRAY[r.order_no]) AND o.life = r.life AND o.finished_at IS NULL
        RETURNING r.id, r.hand_out > 0 AS is_task";
    // One decision ends a task, whichever of its hand-outs it answers.
    CANCEL_SIBLINGS = "
        UPDATE requests r SET status = 'canceled', closed_at = now()
          FROM unnest($1::uuid[]) AS t (id)
         CROSS JOIN LATERAL (SELECT id, order_no, life, visit, action FROM requests WHERE id = t.id OFFSET 0) AS a
         WHERE r.order_no = ANY(ARRAY[a.order_no]) AND r.life = a.life AND r.visit = a.visit
           AND r.action = a.action AND r.id <> a.id AND r.status = 'open'";
    // Least passes over a bound that is not there; no heartbeat outlasts the longest wait.
    PROLONG = "
        UPDATE due d
           SET due_at = greatest(d.due_at, least(clock_timestamp() + make_interval(secs => r.work_seconds), r.ends_at, r.wait_ends_at))
          FROM (SELECT order_no, work_seconds, CASE WHEN force_finish THEN task_ends_at END AS ends_at, wait_ends_at FROM requests
                 WHERE id = $1 AND status = 'open' AND awaited AND work_seconds IS NOT NULL OFFSET 0) AS r
         WHERE d.order_no = ANY(ARRAY[r.order_no]) AND d.stream = $2
        RETURNING d.due_at";
    // Counted no further than the bound: an index has what was not accepted.
    ORPHANS = "
        SELECT count(*) AS kept FROM (SELECT FROM callbacks WHERE verdict = 'orphan' AND verdict <> 'accepted' LIMIT $1) AS counted";
    STATUSES = "SELECT id, status FROM requests WHERE id = ANY($1::uuid[])";
    STORE = "
        INSERT INTO callbacks (request_id, named, order_no, verdict, step_status, headers, body)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bytea[])
               AS t (request_id, named, order_no, verdict, step_status, headers, body)";
    // The last answer to the last request of each name: an answer to an earlier one would look
    // like one to the present. What a stage registered that died before its end is not counted, or
    // its repeat would judge the wait that it begins with by requests that came after it.
    // OFFSET 0 keeps the steps apart: order, its requests, their answers, each by its key. Joined
    // freely, the plan made for empty tables reads every callback there is.
    RESULTS = "
        SELECT t.no AS order_no, r.name, CASE WHEN octet_length(c.body) <= $2 THEN c.body END AS body, c.headers, c.step_status,
               c.received_at, c.no, octet_length(c.body) AS bytes
          FROM unnest($1::bigint[]) AS t (no)
         CROSS JOIN LATERAL (SELECT life, visited FROM orders WHERE no = t.no OFFSET 0) AS o
         CROSS JOIN LATERAL (
               SELECT id, name,
                      rank() OVER (PARTITION BY name ORDER BY visit DESC, action DESC) AS age
                 FROM requests WHERE order_no = t.no AND life = o.life AND visit <= o.visited OFFSET 0) AS r
         CROSS JOIN LATERAL (
               SELECT no, body, headers, step_status, received_at FROM callbacks
                WHERE request_id = r.id AND verdict = 'accepted' OFFSET 0) AS c
         WHERE r.age = 1
         ORDER BY c.no";
    BODY = "SELECT body FROM callbacks WHERE no = $1";
    CALLBACKS_OF_ORDER = "
        SELECT c.request_id, c.verdict, c.step_status, c.headers, c.body, c.received_at, r.name, r.life
          FROM requests r
         CROSS JOIN LATERAL (SELECT * FROM callbacks WHERE request_id = r.id OFFSET 0) AS c
         WHERE r.order_no = $1 ORDER BY c.no";
}

/// An answer from outside.
#[derive(Clone, Debug)]
pub struct NewCallback {
    /// The request that it names, as text: it may be no id at all.
    pub named: String,
    /// The same, where it is an id.
    pub request: Option<RequestId>,
    /// Status of the called system's step, from a header.
    pub step_status: Option<String>,
    /// Header fields, as JSON.
    pub headers: Option<String>,
    /// The body, whatever it is.
    pub body: Vec<u8>,
}

/// Verdict on a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallbackVerdict {
    /// The first answer to an open request.
    Accepted,
    /// The request was answered before.
    Duplicate,
    /// The wait is over, or the life of the order is.
    Late,
    /// Nobody asked.
    Orphan,
}

impl CallbackVerdict {
    /// The one spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Late => "late",
            Self::Orphan => "orphan",
        }
    }
}

/// Bytes that are kept of the body of a callback for nobody.
pub const ORPHAN_BODY_BYTES: usize = 16 * 1024;
/// Header fields of a callback for nobody are kept up to here, and left out beyond.
const ORPHAN_HEADER_BYTES: usize = 4 * 1024;

/// Verdicts on a batch of callbacks, and what follows from them.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// One for each callback, in order.
    pub verdicts: Vec<CallbackVerdict>,
    /// The orders that go on now.
    pub woken: Vec<ReadyStage>,
    /// How many of those for nobody were not kept, because there are so many already.
    pub unkept: usize,
}

/// The scenarios of the orders whose requests these callbacks answer, by request; nothing of those for nobody.
///
/// # Errors
/// The database fails.
pub async fn scenarios(
    client: &Client,
    callbacks: &[&NewCallback],
) -> Result<HashMap<RequestId, ScenarioNo>> {
    let asked: Vec<Uuid> = callbacks.iter().filter_map(|c| c.request.map(|id| id.0)).collect();
    if asked.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = client.prepare_cached(SCENARIOS).await?;
    let rows = client.query(&statement, &[&asked]).await?;
    Ok(rows.iter().map(|row| (RequestId(row.get("id")), ScenarioNo(row.get("scenario")))).collect())
}

/// Stores callbacks, whatever becomes of them, and wakes the orders whose last open one came. Anybody
/// may send one for nobody: of those no more than `max_orphans` are kept.
///
/// # Errors
/// The database fails; nothing is stored then.
pub async fn answer(tx: &Tx<'_>, callbacks: &[&NewCallback], max_orphans: u32) -> Result<Answered> {
    let asked: Vec<Uuid> = callbacks.iter().filter_map(|c| c.request.map(|id| id.0)).collect();
    let find = tx.prepare_cached(FIND).await?;
    let order_of: HashMap<Uuid, i64> =
        tx.query(&find, &[&asked]).await?.iter().map(|row| (row.get("id"), row.get("order_no"))).collect();
    let known = |callback: &NewCallback| callback.request.is_some_and(|id| order_of.contains_key(&id.0));
    let orphans = callbacks.iter().filter(|callback| !known(callback)).count();
    // Before anything is locked.
    let room = if orphans == 0 { 0 } else { room_for_orphans(tx, max_orphans).await? };
    let mut orders: Vec<i64> = order_of.values().copied().collect();
    orders.sort_unstable();
    orders.dedup();
    let lock = tx.prepare_cached(LOCK_ORDERS).await?;
    tx.execute(&lock, &[&orders]).await?;
    let answer = tx.prepare_cached(ANSWER).await?;
    let rows = tx.query(&answer, &[&asked]).await?;
    let mut fresh: HashSet<Uuid> = rows.iter().map(|row| row.get("id")).collect();
    let tasks: Vec<Uuid> = rows.iter().filter(|row| row.get("is_task")).map(|row| row.get("id")).collect();
    if !tasks.is_empty() {
        let statement = tx.prepare_cached(CANCEL_SIBLINGS).await?;
        tx.execute(&statement, &[&tasks]).await?;
    }
    let accepted = fresh.len();
    let statuses: HashMap<Uuid, String> = if accepted == callbacks.len() {
        HashMap::new()
    } else {
        let statuses = tx.prepare_cached(STATUSES).await?;
        tx.query(&statuses, &[&asked]).await?.iter().map(|row| (row.get("id"), row.get("status"))).collect()
    };
    let verdicts: Vec<CallbackVerdict> = callbacks
        .iter()
        .map(|callback| match callback.request.map(|id| id.0) {
            // The first of the batch takes the place; the next of the same request is a double.
            Some(id) if fresh.remove(&id) => CallbackVerdict::Accepted,
            Some(id) if !order_of.contains_key(&id) => CallbackVerdict::Orphan,
            Some(id) if statuses.get(&id).is_some_and(|status| status == "answered") => {
                CallbackVerdict::Duplicate
            }
            Some(_) => CallbackVerdict::Late,
            None => CallbackVerdict::Orphan,
        })
        .collect();
    let mut left = room;
    let kept = callbacks.iter().copied().zip(&verdicts).filter(|(_, verdict)| {
        let keeps = **verdict != CallbackVerdict::Orphan || left > 0;
        left = if **verdict == CallbackVerdict::Orphan { left.saturating_sub(1) } else { left };
        keeps
    });
    store(tx, &kept.collect::<Vec<_>>(), &order_of).await?;
    let woken = if accepted == 0 { Vec::new() } else { due::wake_answered(tx, &orders).await? };
    Ok(Answered { verdicts, woken, unkept: orphans.saturating_sub(room) })
}

/// How many callbacks for nobody may be kept yet.
async fn room_for_orphans(tx: &Tx<'_>, max: u32) -> Result<usize> {
    let statement = tx.prepare_cached(ORPHANS).await?;
    let kept: i64 = tx.query_one(&statement, &[&i64::from(max)]).await?.get("kept");
    Ok(usize::try_from(i64::from(max) - kept).unwrap_or(0))
}

async fn store(
    tx: &Tx<'_>,
    callbacks: &[(&NewCallback, &CallbackVerdict)],
    order_of: &HashMap<Uuid, i64>,
) -> Result<()> {
    if callbacks.is_empty() {
        return Ok(());
    }
    // An id that was never given out is kept as text only: nothing must look like a real request.
    let known = |callback: &NewCallback| callback.request.filter(|id| order_of.contains_key(&id.0));
    let columns = columns!((callback, verdict) in callbacks => {
        request_id: Option<Uuid> = known(callback).map(|id| id.0),
        named: &str = callback.named.as_str(),
        order_no: Option<i64> = known(callback).and_then(|id| order_of.get(&id.0).copied()),
        verdict: &str = verdict.as_str(),
        step_status: Option<&str> = callback.step_status.as_deref(),
        headers: Option<&str> = kept_of(callback, **verdict).0,
        body: &[u8] = kept_of(callback, **verdict).1,
    });
    columns.execute(tx, STORE, &[]).await?;
    Ok(())
}

/// Headers and body as they are kept.
fn kept_of(callback: &NewCallback, verdict: CallbackVerdict) -> (Option<&str>, &[u8]) {
    let (headers, body) = (callback.headers.as_deref(), callback.body.as_slice());
    if verdict != CallbackVerdict::Orphan {
        return (headers, body);
    }
    let short = headers.filter(|headers| headers.len() <= ORPHAN_HEADER_BYTES);
    (short, &body[..body.len().min(ORPHAN_BODY_BYTES)])
}

/// A heartbeat of an actor: its hand-out goes on for another work time-out. Until when, or `None`
/// where this hand-out is over.
///
/// # Errors
/// The database fails.
pub async fn prolong(client: &Client, pass: RequestId) -> Result<Option<Timestamp>> {
    let statement = client.prepare_cached(PROLONG).await?;
    let row = client.query_opt(&statement, &[&pass.0, &Stream::Wait.number()]).await?;
    Ok(row.map(|row| row.get("due_at")))
}

/// An accepted callback, for a stage.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Number under which it is stored.
    pub no: i64,
    /// Length of its body.
    pub bytes: usize,
    /// Name of the request that it answers.
    pub name: String,
    headers: Value,
    step_status: Option<String>,
    received_at: Timestamp,
    /// None where it is longer than [`LONG_BYTES`]: then [`body`] reads it.
    body: Option<Vec<u8>>,
}

impl Accepted {
    /// A header that it came with.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?.1.as_str()
    }

    /// True if its body is still to be read.
    #[must_use]
    pub const fn is_unread(&self) -> bool {
        self.body.is_none()
    }

    /// The callback as the stage gets it, without a tree: the stage may begin later.
    #[must_use]
    pub fn callback(self, read: Option<Vec<u8>>) -> Callback {
        let body = self.body.or(read).unwrap_or_default();
        let shown = body_value(&body, &self.headers);
        let mut value = json!({
            "headers": self.headers,
            "stepStatus": self.step_status,
            "receivedAt": self.received_at.to_string(),
        });
        // Moved, not copied: the tree of a long answer is large.
        if let Value::Object(map) = &mut value {
            map.insert("body".into(), shown);
        }
        Callback {
            name: self.name,
            value: Folded::from(value).folded(),
            received_at: Some(self.received_at),
            body: String::from_utf8(body)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            step_status: self.step_status,
        }
    }
}

/// The accepted callbacks of these orders in their present life, the last of each name.
///
/// # Errors
/// The database fails.
pub async fn results(client: &Client, orders: &[i64]) -> Result<HashMap<OrderNo, Vec<Accepted>>> {
    let statement = client.prepare_cached(RESULTS).await?;
    let rows = client.query(&statement, &[&orders, &LONG_BYTES]).await?;
    let mut results: HashMap<OrderNo, Vec<Accepted>> = HashMap::new();
    for row in &rows {
        let of_order = results.entry(OrderNo(row.get("order_no"))).or_default();
        let name: String = row.get("name");
        of_order.retain(|earlier| earlier.name != name);
        of_order.push(Accepted {
            no: row.get("no"),
            bytes: usize::try_from(row.get::<_, i32>("bytes")).unwrap_or(0),
            name,
            headers: headers_value(row.get("headers")),
            step_status: row.get("step_status"),
            received_at: row.get("received_at"),
            body: row.get("body"),
        });
    }
    Ok(results)
}

/// The body of a callback.
///
/// # Errors
/// The database fails.
pub async fn body(client: &Client, no: i64) -> Result<Vec<u8>> {
    let statement = client.prepare_cached(BODY).await?;
    Ok(client.query_one(&statement, &[&no]).await?.get("body"))
}

/// A callback that an order got.
#[derive(Clone, Debug)]
pub struct TakenCallback {
    /// Name of the request that it answers.
    pub request: String,
    /// Life of the order that asked.
    pub life: Life,
    /// Verdict, as one word.
    pub verdict: String,
    /// Status of the called system's step.
    pub step_status: Option<String>,
    /// Body as a value.
    pub body: Value,
    /// Headers.
    pub headers: Value,
    /// Time at which it came.
    pub received_at: Timestamp,
}

/// The callbacks of an order, as the API shows them.
///
/// # Errors
/// The database fails.
pub async fn callbacks_of_order(client: &Client, no: OrderNo) -> Result<Vec<TakenCallback>> {
    let statement = client.prepare_cached(CALLBACKS_OF_ORDER).await?;
    let rows = client.query(&statement, &[&no.0]).await?;
    let read = |row: &tokio_postgres::Row| {
        let headers = headers_value(row.get("headers"));
        TakenCallback {
            request: row.get("name"),
            life: Life(row.get("life")),
            verdict: row.get("verdict"),
            step_status: row.get("step_status"),
            body: body_value(row.get("body"), &headers),
            headers,
            received_at: row.get("received_at"),
        }
    };
    Ok(rows.iter().map(read).collect())
}

fn body_value(body: &[u8], headers: &Value) -> Value {
    value::body_value(&String::from_utf8_lossy(body), headers["content-type"].as_str())
}

fn headers_value(headers: Option<&str>) -> Value {
    headers.and_then(|headers| serde_json::from_str(headers).ok()).unwrap_or_else(|| json!({}))
}
