//! Locks on orders and on their places, for changes from outside their stages: by operators and clients,
//! and by recovery. What is decided after the lock holds until the commit.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, OrderNo, Pass};
use pagurus_domain::order::change::{Change, shown};
use pagurus_domain::order::notification::Content;
use pagurus_domain::order::transition::{Cause, Refused};
use pagurus_domain::order::{OrderHead, Priority, ScenarioStatus, Status};
use tokio_postgres::Row;

use crate::patience::wait_briefly;
use crate::row::{head, word};
use crate::sql::statements;
use crate::{Error, Result, Tx};

statements! {
    FIND = "SELECT no FROM orders WHERE id = ANY($1::text[])";
    LOCK_RUNNING = "
        SELECT order_no, pass, attempt, started_at FROM running WHERE order_no = ANY($1::bigint[]) ORDER BY order_no FOR UPDATE";
    LOCK_READY = "
        SELECT order_no, attempt, reissued FROM ready WHERE order_no = ANY($1::bigint[]) ORDER BY order_no FOR UPDATE";
    LOCK_ORDERS = "
        SELECT o.no, o.id, o.scenario, o.mode, o.queue, o.transaction_id, o.notify, o.answers, o.labels::text AS labels, o.trace, o.status, o.scenario_status,
               o.step, o.entry_point, o.life, o.attempt, o.created_at, o.started_at, o.stages, o.retries, o.result, o.message, now() AS now,
               s.name AS scenario_name, s.version AS scenario_version, o.start_period, o.awaited, o.start_at, o.start_deadline,
               o.priority, o.error_class
          FROM orders o JOIN scenarios s ON s.no = o.scenario
         WHERE o.no = ANY($1::bigint[]) ORDER BY o.no FOR UPDATE OF o";
    LOCK_DUE = "SELECT order_no FROM due WHERE order_no = ANY($1::bigint[]) ORDER BY order_no FOR UPDATE";
    SNAPSHOTS = "SELECT order_no, snapshot FROM contexts WHERE order_no = ANY($1::bigint[])";
    PARAMS = "SELECT order_no, params FROM payloads WHERE order_no = ANY($1::bigint[])";
}

/// Place of a non-final order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A stage of it may run.
    Ready {
        /// Number that the hand-out would have.
        attempt: Attempt,
    },
    /// A stage of it is with a worker.
    Running {
        /// The right to write its end.
        pass: Pass,
    },
    /// The order is suspended.
    Due,
    /// The order is final, or on its way between two places.
    None,
}

/// An order whose row and place are locked by the transaction.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Head of the order.
    pub head: OrderHead,
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// The queue.
    pub queue: Option<String>,
    /// Present status.
    pub status: Status,
    /// Relation of the order to its target.
    pub scenario_status: ScenarioStatus,
    /// Present state.
    pub step: Option<String>,
    /// Last entry point visited.
    pub entry_point: Option<String>,
    /// Begin of the stage that is with a worker.
    pub running_since: Option<Timestamp>,
    /// Last hand-out.
    pub attempt: Attempt,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Message of the scenario.
    pub message: Option<String>,
    /// Seconds from sending to the latest start.
    pub start_period: Option<i64>,
    /// True if others wait for its end.
    pub awaited: bool,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Latest start.
    pub start_deadline: Option<Timestamp>,
    /// Urgency.
    pub priority: Priority,
    /// Class of the error, of this life's last stage or its end.
    pub error_class: Option<String>,
    /// Time of the transaction.
    pub now: Timestamp,
    /// Place of the order.
    pub place: Place,
}

impl Locked {
    /// The order as a notification tells of it that is no end.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        Content {
            order: &self.head,
            scenario: &self.scenario,
            scenario_version: self.scenario_version,
            status: self.status,
            scenario_status: self.scenario_status,
            step: self.step.as_deref(),
            result: None,
            message: self.message.as_deref(),
            error: None,
            started_at: self.head.started_at,
            finished_at: self.now,
            stages: self.head.stages,
            retries: self.head.retries,
        }
    }

    /// The attempt that is with a worker.
    #[must_use]
    pub fn running(&self) -> Option<Attempt> {
        matches!(self.place, Place::Running { .. }).then_some(self.attempt)
    }

    /// The number under which it is ready, if it is.
    #[must_use]
    pub const fn ready_attempt(&self) -> Option<Attempt> {
        match self.place {
            Place::Ready { attempt } => Some(attempt),
            _ => None,
        }
    }

    /// True where it may wait for other orders.
    pub(crate) fn has_conditions(&self) -> bool {
        self.status == Status::Postponed
    }

    /// Asks the law whether this may happen to the order as it stands.
    ///
    /// # Errors
    /// The law refuses; the answer says in which statuses it may happen.
    pub fn may(&self, cause: Cause) -> std::result::Result<Allowed<'_>, Refused> {
        Change::of(self.status, cause).map(|change| Allowed { order: self, change })
    }
}

/// A change that the law allows for a locked order. Nothing that changes one can be called without it.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    order: &'a Locked,
    change: Change,
}

impl<'a> Allowed<'a> {
    /// The order.
    #[must_use]
    pub const fn order(&self) -> &'a Locked {
        self.order
    }

    /// The change, with everything that follows.
    #[must_use]
    pub const fn change(&self) -> Change {
        self.change
    }
}

/// Orders that were locked together.
#[derive(Clone, Debug, Default)]
pub struct LockedOrders {
    /// Orders that stand still now, by ascending number.
    pub orders: Vec<Locked>,
    /// Orders that changed their place while they were being locked: the same call may be repeated for
    /// them in another transaction.
    pub moved: Vec<OrderNo>,
}

/// Locks an order and its place; `None` where no such order is. Waits for no lock longer than a statement
/// of ours holds one, and nor does the rest of the transaction: the caller keeps a connection, and
/// others stand behind.
///
/// # Errors
/// The database fails, or the order moved while it was being locked: the same call may be repeated
/// in another transaction.
pub async fn lock(tx: &Tx<'_>, id: &str) -> Result<Option<Locked>> {
    let LockedOrders { mut orders, moved } = lock_named(tx, &[id]).await?;
    if moved.is_empty() { Ok(orders.pop()) } else { Err(Error::Contended) }
}

/// Locks the orders of these ids like [`lock_all`].
///
/// # Errors
/// The database fails, or somebody has locked one of them for longer than a statement of ours does.
pub async fn lock_named(tx: &Tx<'_>, ids: &[&str]) -> Result<LockedOrders> {
    let rows = tx.query(&tx.prepare_cached(FIND).await?, &[&ids]).await?;
    let nos: Vec<i64> = rows.iter().map(|row| row.get("no")).collect();
    if nos.is_empty() { Ok(LockedOrders::default()) } else { lock_all(tx, &nos).await }
}

/// Locks orders and their places, in a number of statements that does not grow with them. An order that
/// is not there is in neither list.
///
/// # Errors
/// The database fails, or somebody has locked one of them for longer than a statement of ours does.
pub async fn lock_all(tx: &Tx<'_>, nos: &[i64]) -> Result<LockedOrders> {
    let all = lock_as_they_are(tx, nos).await?;
    let stands = |order: &Locked| order.place != Place::None || order.status.is_final();
    let (orders, moved): (Vec<Locked>, Vec<Locked>) = all.into_iter().partition(stands);
    Ok(LockedOrders { orders, moved: moved.into_iter().map(|order| order.head.no).collect() })
}

/// Locks orders like [`lock_all`] for callers that mend what is wrong: also those that are not final and stand nowhere.
///
/// # Errors
/// The database fails, or somebody has locked one of them for longer than a statement of ours does.
pub async fn lock_as_they_are(tx: &Tx<'_>, nos: &[i64]) -> Result<Vec<Locked>> {
    wait_briefly(tx).await?;
    let running = tx.query(&tx.prepare_cached(LOCK_RUNNING).await?, &[&nos]).await?;
    let ready = tx.query(&tx.prepare_cached(LOCK_READY).await?, &[&nos]).await?;
    let orders = tx.query(&tx.prepare_cached(LOCK_ORDERS).await?, &[&nos]).await?;
    let due = tx.query(&tx.prepare_cached(LOCK_DUE).await?, &[&nos]).await?;
    let running: HashMap<i64, &Row> = running.iter().map(|row| (row.get("order_no"), row)).collect();
    let ready: HashMap<i64, &Row> = ready.iter().map(|row| (row.get("order_no"), row)).collect();
    let due: HashSet<i64> = due.iter().map(|row| row.get("order_no")).collect();
    orders
        .iter()
        .map(|row| {
            let no: i64 = row.get("no");
            read_locked(row, (running.get(&no).copied(), ready.get(&no).copied(), due.contains(&no)))
        })
        .collect()
}

/// Reads a locked order with the row of its place. One that is not final and stands nowhere is so for a moment
/// between two places.
fn read_locked(row: &Row, places: (Option<&Row>, Option<&Row>, bool)) -> Result<Locked> {
    let stored: Status = word(row, "status", "orders.status")?;
    let mut attempt = Attempt(row.get("attempt"));
    let mut is_reissued = false;
    let running_since = places.0.map(|running| running.get("started_at"));
    let place = match places {
        (Some(running), _, _) => {
            attempt = Attempt(running.get("attempt"));
            Place::Running { pass: Pass(running.get("pass")) }
        }
        (_, Some(ready), _) => {
            let next = Attempt(ready.get("attempt"));
            is_reissued = ready.get("reissued");
            // What is handed out again ran under the number before.
            attempt = if is_reissued { next.previous() } else { attempt };
            Place::Ready { attempt: next }
        }
        (_, _, true) => Place::Due,
        _ => Place::None,
    };
    Ok(Locked {
        head: head(row)?,
        scenario: row.get("scenario_name"),
        scenario_version: row.get("scenario_version"),
        queue: row.get("queue"),
        status: shown(stored, matches!(place, Place::Running { .. }), is_reissued),
        scenario_status: word(row, "scenario_status", "orders.scenario_status")?,
        step: row.get("step"),
        entry_point: row.get("entry_point"),
        running_since,
        attempt,
        result: row.get("result"),
        message: row.get("message"),
        start_period: row.get("start_period"),
        awaited: row.get("awaited"),
        start_at: row.get("start_at"),
        start_deadline: row.get("start_deadline"),
        priority: word(row, "priority", "orders.priority")?,
        error_class: row.get("error_class"),
        now: row.get("now"),
        place,
    })
}

/// The stored positions and variables of locked orders, as JSON.
pub async fn snapshots(tx: &Tx<'_>, nos: &[i64]) -> Result<HashMap<OrderNo, String>> {
    let rows = tx.query(&tx.prepare_cached(SNAPSHOTS).await?, &[&nos]).await?;
    Ok(rows.iter().map(|row| (OrderNo(row.get("order_no")), row.get("snapshot"))).collect())
}

/// The parameters of orders, as JSON.
pub async fn params(tx: &Tx<'_>, nos: &[i64]) -> Result<HashMap<OrderNo, String>> {
    let rows = tx.query(&tx.prepare_cached(PARAMS).await?, &[&nos]).await?;
    Ok(rows.iter().map(|row| (OrderNo(row.get("order_no")), row.get("params"))).collect())
}
