//! Changes of one order from outside its stages: by operators and clients, and by recovery.
//!
//! Each begins with a lock on the order and on its place, so that what is decided in between
//! holds until the commit.

use jiff::Timestamp;
use pagurus_domain::id::{OrderNo, Pass, ScenarioNo};
use pagurus_domain::order::notification::Content;
use pagurus_domain::order::transition::{self, Cause, Refused};
use pagurus_domain::order::{Mode, OrderError, Priority, ScenarioStatus, Status};
use serde_json::Value;

use crate::orders::word;
use crate::outbox::{self, End, NewNotification};
use crate::patience::wait_briefly;
use crate::sql::statements;
use crate::stages::ReadyStage;
use crate::{Connection, Error, Result, Tx, calls, dependencies, history, queues, requests};

statements! {
    FIND = "SELECT no FROM orders WHERE id = $1";
    LOCK_RUNNING = "SELECT pass, attempt FROM running WHERE order_no = $1 FOR UPDATE";
    LOCK_READY = "SELECT attempt, reissued FROM ready WHERE order_no = $1 FOR UPDATE";
    LOCK_ORDER = "
        SELECT o.no, o.id, o.scenario, o.mode, o.queue, o.transaction_id, o.notify, o.trace, o.status, o.scenario_status,
               o.step, o.entry_point, o.life, o.attempt, o.created_at, o.started_at, o.result, o.message, now(),
               s.name, s.version, o.start_period, o.awaited, o.start_at, o.priority, o.error_class
          FROM orders o JOIN scenarios s ON s.no = o.scenario
         WHERE o.no = $1 FOR UPDATE OF o";
    LOCK_DUE = "SELECT 1 FROM due WHERE order_no = $1 FOR UPDATE";
    DROP_RUNNING = "DELETE FROM running WHERE order_no = $1";
    DROP_READY = "DELETE FROM ready WHERE order_no = $1";
    DROP_DUE = "DELETE FROM due WHERE order_no = $1";
    DROP_DEADLINES = "DELETE FROM deadlines WHERE order_no = $1";
    READ_CONTEXT = "SELECT snapshot FROM contexts WHERE order_no = $1";
    READ_PARAMS = "SELECT params FROM payloads WHERE order_no = $1";
    END = "
        UPDATE orders
           SET status = $2, scenario_status = $3, attempt = greatest(attempt, $4), finished_at = now(), updated_at = now(),
               error_class = CASE WHEN $7 THEN error_class ELSE $5 END,
               error_message = CASE WHEN $7 THEN error_message ELSE $6 END,
               error_system = CASE WHEN $7 THEN error_system END
         WHERE no = $1";
    ID = "SELECT id FROM orders WHERE no = $1";
}

/// Where a non-final order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A stage of it may run.
    Ready {
        /// Number that the hand-out would bear.
        attempt: i32,
    },
    /// A stage of it is with a worker.
    Running {
        /// The right to write its end.
        pass: Pass,
    },
    /// It is suspended.
    Due,
    /// It is final.
    None,
}

/// An order whose row and place are locked by the transaction.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// The pinned version.
    pub scenario_no: ScenarioNo,
    /// Name of the scenario.
    pub scenario: String,
    /// Its version.
    pub scenario_version: i32,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The queue.
    pub queue: Option<String>,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Notification wish, as JSON.
    pub notify: Option<String>,
    /// Trace context.
    pub trace: Option<String>,
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
    /// Registered at.
    pub created_at: Timestamp,
    /// First stage of this life.
    pub started_at: Option<Timestamp>,
    /// Result, as JSON.
    pub result: Option<String>,
    /// Message of the scenario.
    pub message: Option<String>,
    /// Seconds from sending to the latest start.
    pub start_period: Option<i64>,
    /// Whether others wait for its end.
    pub awaited: bool,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Urgency.
    pub priority: Priority,
    /// Class of the error, of this life's last stage or its end.
    pub error_class: Option<String>,
    /// Time of the transaction.
    pub now: Timestamp,
    /// Where it stands.
    pub place: Place,
}

impl Locked {
    /// The attempt that is with a worker.
    #[must_use]
    pub fn running(&self) -> Option<i32> {
        matches!(self.place, Place::Running { .. }).then_some(self.attempt)
    }

    /// The number under which it is ready, if it is.
    #[must_use]
    pub const fn ready_attempt(&self) -> Option<i32> {
        match self.place {
            Place::Ready { attempt } => Some(attempt),
            _ => None,
        }
    }

    /// Asks the law whether this may happen to the order as it stands.
    ///
    /// # Errors
    /// The law refuses; the answer says in which statuses it may happen.
    pub fn may(&self, cause: Cause) -> std::result::Result<Allowed<'_>, Refused> {
        transition::next(self.status, cause).map(|to| Allowed { order: self, cause, to })
    }

    /// The last hand-out, as it is told: the number that a change by hand took for itself is none.
    fn executed_attempt(&self) -> i32 {
        let waits_for_its_first = self.life == 1 && matches!(self.status, Status::New | Status::Postponed);
        if waits_for_its_first { 0 } else { self.attempt }
    }
}

/// What the law allows to happen to a locked order. Nothing that changes one can be called without it.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    order: &'a Locked,
    cause: Cause,
    to: Status,
}

impl<'a> Allowed<'a> {
    /// The order.
    #[must_use]
    pub const fn order(&self) -> &'a Locked {
        self.order
    }

    /// What happens to it.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        self.cause
    }

    /// The status that follows.
    #[must_use]
    pub const fn to(&self) -> Status {
        self.to
    }
}

/// Locks an order and its place; `None` where no such order is. Waits for no lock longer than a statement
/// of ours holds one, and nor does the rest of the transaction: whoever acts keeps a connection, and
/// others stand behind.
///
/// # Errors
/// The database fails, or the order moved while it was being locked: the same call may be repeated
/// in another transaction.
pub async fn lock(tx: &Tx<'_>, id: &str) -> Result<Option<Locked>> {
    wait_briefly(tx).await?;
    let find = tx.prepare_cached(FIND).await?;
    let Some(row) = tx.query_opt(&find, &[&id]).await? else { return Ok(None) };
    let no: i64 = row.get(0);
    let running = tx.query_opt(&tx.prepare_cached(LOCK_RUNNING).await?, &[&no]).await?;
    let ready = tx.query_opt(&tx.prepare_cached(LOCK_READY).await?, &[&no]).await?;
    let order = tx.query_one(&tx.prepare_cached(LOCK_ORDER).await?, &[&no]).await?;
    let due = tx.query_opt(&tx.prepare_cached(LOCK_DUE).await?, &[&no]).await?;
    let stored: Status = word(&order, 8, "orders.status")?;
    let reissued = ready.as_ref().is_some_and(|row| row.get(1));
    let (place, attempt) = match (&running, &ready, &due) {
        (Some(row), _, _) => (Place::Running { pass: Pass(row.get(0)) }, row.get(1)),
        // What is handed out again ran under the number before.
        (_, Some(row), _) if reissued => (Place::Ready { attempt: row.get(0) }, row.get::<_, i32>(0) - 1),
        (_, Some(row), _) => (Place::Ready { attempt: row.get(0) }, order.get(13)),
        (_, _, Some(_)) => (Place::Due, order.get(13)),
        _ if stored.is_final() => (Place::None, order.get(13)),
        _ => return Err(Error::Contended),
    };
    Ok(Some(Locked {
        no: OrderNo(no),
        id: order.get(1),
        scenario_no: ScenarioNo(order.get(2)),
        scenario: order.get(19),
        scenario_version: order.get(20),
        mode: word(&order, 3, "orders.mode")?,
        queue: order.get(4),
        transaction_id: order.get(5),
        notify: order.get(6),
        trace: order.get(7),
        status: if matches!(place, Place::Running { .. }) || reissued { Status::Running } else { stored },
        scenario_status: word(&order, 9, "orders.scenario_status")?,
        step: order.get(10),
        entry_point: order.get(11),
        life: order.get(12),
        attempt,
        created_at: order.get(14),
        started_at: order.get(15),
        result: order.get(16),
        message: order.get(17),
        start_period: order.get(21),
        awaited: order.get(22),
        start_at: order.get(23),
        priority: word(&order, 24, "orders.priority")?,
        error_class: order.get(25),
        now: order.get(18),
        place,
    }))
}

/// How a locked order ends.
#[derive(Clone, Debug)]
pub struct Ending<'a> {
    /// Why, for `fail`.
    pub error: Option<OrderError>,
    /// Who or what causes it.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// What the end of an order led to, to be told below the commit.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Whether there is a notification.
    pub notified: bool,
    /// Orders that waited for this end and may run now.
    pub ready: Vec<ReadyStage>,
}

/// Ends this life of a locked order: takes it from its place and its queue, closes its requests,
/// writes its end and the notification of it, and settles what waits for it.
///
/// # Errors
/// The database fails.
pub async fn end_life(tx: &Tx<'_>, allowed: Allowed<'_>, ending: &Ending<'_>) -> Result<Ended> {
    let Allowed { order, cause, to: status } = allowed;
    let no = order.no.0;
    for statement in [DROP_RUNNING, DROP_READY, DROP_DUE, DROP_DEADLINES] {
        tx.execute(&tx.prepare_cached(statement).await?, &[&no]).await?;
    }
    queues::leave(tx, &[no]).await?;
    requests::cancel(tx, &[no]).await?;
    calls::close(tx, &[no]).await?;
    // What was begun has ended elsewhere than in a target state (ORD-8).
    let scenario_status = match (status, order.scenario_status) {
        (Status::Canceled | Status::Interrupted, ScenarioStatus::Undefined) => ScenarioStatus::Undefined,
        _ => ScenarioStatus::Failed,
    };
    let (class, message) = ending
        .error
        .as_ref()
        .map_or((None, None), |error| (error.class.as_deref(), Some(error.message.as_str())));
    let end_statement = tx.prepare_cached(END).await?;
    tx.execute(
        &end_statement,
        &[
            &no,
            &status.as_str(),
            &scenario_status.as_str(),
            &order.attempt,
            &class,
            &message,
            // Giving a failed order up does not make its failure another one.
            &order.status.is_final(),
        ],
    )
    .await?;
    history::append(tx, order.no, cause.as_str(), ending.source, &ending.detail).await?;
    let result = order.result.as_deref().and_then(|result| serde_json::from_str::<Value>(result).ok());
    let content = Content {
        id: &order.id,
        correlation_id: None,
        transaction_id: order.transaction_id.as_deref(),
        scenario: &order.scenario,
        scenario_version: order.scenario_version,
        status,
        scenario_status,
        step: order.step.as_deref(),
        result: result.as_ref(),
        message: order.message.as_deref(),
        error: ending.error.as_ref(),
        created_at: order.created_at,
        started_at: order.started_at,
        finished_at: order.now,
        attempt: order.executed_attempt(),
        timezone: None,
    };
    let which = if order.status.is_final() { End::Second } else { End::First };
    let notification = order.notify.as_deref().and_then(|notify| {
        let end = (order.no, order.life, which);
        NewNotification::of_end(&content, notify, end, order.trace.as_deref())
    });
    outbox::put(tx, notification.as_slice()).await?;
    if order.status == Status::Postponed {
        dependencies::close(tx, order.no).await?;
    }
    let ready = if order.awaited { dependencies::ended(tx, &[no]).await? } else { Vec::new() };
    Ok(Ended { notified: notification.is_some(), ready })
}

/// The stored position and variables of a locked order, as JSON.
///
/// # Errors
/// The database fails.
pub async fn snapshot(tx: &Tx<'_>, no: OrderNo) -> Result<Option<String>> {
    let row = tx.query_opt(&tx.prepare_cached(READ_CONTEXT).await?, &[&no.0]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// The parameters of an order, as JSON.
///
/// # Errors
/// The database fails.
pub async fn params(tx: &Tx<'_>, no: OrderNo) -> Result<String> {
    let row = tx.query_opt(&tx.prepare_cached(READ_PARAMS).await?, &[&no.0]).await?;
    Ok(row.map_or_else(|| "{}".to_owned(), |row| row.get(0)))
}

/// The client's id of an order.
///
/// # Errors
/// The database fails, or there is no such order.
pub async fn id_of(tx: &Tx<'_>, no: OrderNo) -> Result<String> {
    Ok(tx.query_one(&tx.prepare_cached(ID).await?, &[&no.0]).await?.get(0))
}
