//! Answers to requests: stored in any case, judged once, and shown to the stages that
//! follow.

pub mod kept;
pub(crate) mod taken;

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{RequestId, ScenarioNo};
use pagurus_domain::number::saturated;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::columns::columns;
use crate::hot::due;
use crate::hot::requests::actor_of;
use crate::hot::stages::ReadyStage;
use crate::sql::statements;
use crate::{Client, Result, Tx};
pub use taken::{Accepted, body, callbacks_of_order, results};

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
        RETURNING r.id, r.order_no, r.awaited, CASE WHEN r.hand_out > 0 THEN r.name END AS task,
                  CASE WHEN r.awaited THEN r.system END AS system, o.flow";
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
    // Counted no further than the bound.
    STATUSES = "
        SELECT r.id, r.status,
               (SELECT count(*) FROM (SELECT FROM callbacks c WHERE c.request_id = ANY(ARRAY[r.id]) LIMIT $2) AS counted) AS kept
          FROM requests r WHERE r.id = ANY($1::uuid[])";
    STORE = "
        INSERT INTO callbacks (request_id, named, order_no, verdict, step_status, headers, body)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bytea[])
               AS t (request_id, named, order_no, verdict, step_status, headers, body)";
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

/// Callbacks to one request that are kept: a called system that repeats its answer on and on fills no disk.
const MOST_OF_REQUEST: i64 = 20;
/// Bytes that are kept of the body of a callback for nobody.
pub const ORPHAN_BODY_BYTES: usize = 16 * 1024;
/// Header fields of a callback for nobody are kept up to here, and left out beyond.
const ORPHAN_HEADER_BYTES: usize = 4 * 1024;

/// Verdicts on a batch of callbacks, and what follows from them.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// Verdict on each callback, in order.
    pub verdicts: Vec<CallbackVerdict>,
    /// The orders that go on now.
    pub woken: Vec<ReadyStage>,
    /// Number of callbacks for nobody, and of further ones to the same request, that were not kept: there are too many already.
    pub unkept: usize,
    /// The requests that are not waited for any more: of which flow, to which called system.
    pub closed: Vec<(String, String)>,
    /// The actor of each task that was decided.
    pub decided: Vec<String>,
}

/// The scenarios of the orders whose requests these callbacks answer, by request; nothing of those for nobody.
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

/// Stores callbacks in any case, and wakes the orders whose last open one came. Anybody
/// may send one for nobody: of those no more than `max_orphans` are kept.
///
/// # Errors
/// The database fails; nothing is stored then.
pub async fn answer<C>(tx: &Tx<'_>, callbacks: &[C], max_orphans: u32) -> Result<Answered>
where
    C: Borrow<NewCallback> + Sync,
{
    let callbacks: Vec<&NewCallback> = callbacks.iter().map(Borrow::borrow).collect();
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
    let task = |row: &Row| Some((row.get::<_, Uuid>("id"), actor_of(row.get::<_, Option<&str>>("task")?)));
    let (tasks, decided): (Vec<Uuid>, Vec<String>) = rows.iter().filter_map(task).unzip();
    if !tasks.is_empty() {
        let statement = tx.prepare_cached(CANCEL_SIBLINGS).await?;
        tx.execute(&statement, &[&tasks]).await?;
    }
    let closed = |row: &Row| Some((row.get("flow"), row.get::<_, Option<String>>("system")?));
    let closed = rows.iter().filter_map(closed).collect();
    let accepted = fresh.len();
    let mut known: HashMap<Uuid, KnownRequest> =
        if accepted == callbacks.len() { HashMap::new() } else { requests(tx, &asked).await? };
    let verdicts: Vec<CallbackVerdict> = callbacks
        .iter()
        .map(|callback| match callback.request.map(|id| id.0) {
            // The first of the batch takes the place; the next of the same request is a double.
            Some(id) if fresh.remove(&id) => CallbackVerdict::Accepted,
            Some(id) if !order_of.contains_key(&id) => CallbackVerdict::Orphan,
            Some(id) if known.get(&id).is_some_and(|request| request.is_answered) => {
                CallbackVerdict::Duplicate
            }
            Some(_) => CallbackVerdict::Late,
            None => CallbackVerdict::Orphan,
        })
        .collect();
    let mut left = room;
    let kept = callbacks.iter().copied().zip(&verdicts).filter(|(callback, verdict)| match verdict {
        CallbackVerdict::Accepted => true,
        CallbackVerdict::Orphan => takes_place(&mut left),
        CallbackVerdict::Duplicate | CallbackVerdict::Late => callback
            .request
            .and_then(|id| known.get_mut(&id.0))
            .is_some_and(|request| takes_place(&mut request.room)),
    });
    let kept: Vec<_> = kept.collect();
    let unkept = callbacks.len() - kept.len();
    store(tx, &kept, &order_of).await?;
    // What an order does not await, because it is held or the stage that asked goes on, wakes nobody. Of a task every
    // hand-out counts.
    let wakes = |row: &&Row| row.get("awaited") || row.get::<_, Option<&str>>("task").is_some();
    let awaiting = rows.iter().filter(wakes).map(|row| row.get("order_no"));
    let awaiting: BTreeSet<i64> = awaiting.collect();
    let woken = if awaiting.is_empty() {
        Vec::new()
    } else {
        due::wake_answered(tx, &awaiting.into_iter().collect::<Vec<_>>()).await?
    };
    Ok(Answered { verdicts, woken, unkept, closed, decided })
}

/// A request that a callback names.
struct KnownRequest {
    is_answered: bool,
    /// Number of callbacks to it that may be kept yet.
    room: usize,
}

async fn requests(tx: &Tx<'_>, asked: &[Uuid]) -> Result<HashMap<Uuid, KnownRequest>> {
    let statement = tx.prepare_cached(STATUSES).await?;
    let rows = tx.query(&statement, &[&asked, &MOST_OF_REQUEST]).await?;
    let read = |row: &Row| {
        let is_answered = row.get::<_, &str>("status") == "answered";
        let room = saturated::<usize>(MOST_OF_REQUEST - row.get::<_, i64>("kept"));
        (row.get("id"), KnownRequest { is_answered, room })
    };
    Ok(rows.iter().map(read).collect())
}

/// Takes one of the places that are left, if there is one.
const fn takes_place(left: &mut usize) -> bool {
    let takes = *left > 0;
    *left = left.saturating_sub(1);
    takes
}

/// Number of callbacks for nobody that may be kept yet.
async fn room_for_orphans(tx: &Tx<'_>, max: u32) -> Result<usize> {
    let statement = tx.prepare_cached(ORPHANS).await?;
    let kept: i64 = tx.query_one(&statement, &[&i64::from(max)]).await?.get("kept");
    Ok(saturated::<usize>(i64::from(max) - kept))
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
pub async fn prolong(client: &Client, pass: RequestId) -> Result<Option<Timestamp>> {
    let statement = client.prepare_cached(PROLONG).await?;
    let row = client.query_opt(&statement, &[&pass.0, &Stream::Wait.number()]).await?;
    Ok(row.map(|row| row.get("due_at")))
}
