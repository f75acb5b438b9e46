//! Changes of one locked order by hand: a restart (ORD-22), a repair (ORD-23), an update before it goes
//! on (ORD-27).
//!
//! A claim reads parameters as they were when it began. So whatever changes an order that is ready
//! makes its readiness another one, with the next number: a claim that waits for the lock finds
//! its own gone, and the dispatcher hands out the new one.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{Priority, ScenarioStatus};
use pagurus_domain::scenario::stage::Wake;

use crate::control::{Allowed, Locked, Place};
use crate::sql::statements;
use crate::stages::ReadyStage;
use crate::{Error, Result, Tx, due, history, queues, requests};

statements! {
    SAVE_CONTEXT = "
        INSERT INTO contexts (order_no, snapshot) VALUES ($1, $2)
        ON CONFLICT (order_no) DO UPDATE SET snapshot = excluded.snapshot";
    DROP_CONTEXT = "DELETE FROM contexts WHERE order_no = $1";
    REOPEN = "
        UPDATE orders
           SET status = $3, scenario_status = 'undefined', life = life + 1, visited = 0, distance = NULL,
               started_at = NULL, finished_at = NULL, updated_at = now(), result = NULL, message = NULL,
               error_class = NULL, error_message = NULL, error_system = NULL, start_deadline = $2, step = NULL
         WHERE no = $1";
    SET_DEADLINE = "
        INSERT INTO deadlines (order_no, kind, at) VALUES ($1, $2, $3)
        ON CONFLICT (order_no, kind) DO UPDATE SET at = excluded.at";
    DROP_DUE = "DELETE FROM due WHERE order_no = $1";
    DROP_READY = "DELETE FROM ready WHERE order_no = $1";
    REPAIR = "
        UPDATE orders
           SET status = $8, scenario_status = $2, step = $3, entry_point = coalesce($4, entry_point),
               visited = $5, distance = $6, attempt = $7, updated_at = now(), error_class = NULL, error_message = NULL,
               error_system = NULL
         WHERE no = $1";
    REPLACE_PARAMS = "UPDATE payloads SET params = $2 WHERE order_no = $1";
    UPDATE = "
        UPDATE orders SET status = $2, priority = $3, start_at = $4, notify = $5, attempt = $6, updated_at = now()
         WHERE no = $1";
    RENEW = "
        UPDATE ready SET attempt = attempt + 1, pass = gen_random_uuid(), priority = $2
         WHERE order_no = $1
        RETURNING order_no, attempt, flow, priority, queue, position, stream IS NOT NULL";
    POSTPONE = "
        INSERT INTO due (order_no, stream, due_at) VALUES ($1, $3, $2)
        ON CONFLICT (order_no) DO UPDATE SET due_at = excluded.due_at, stream = excluded.stream
         WHERE due.due_at IS NOT NULL";
}

/// How a locked order begins a new life.
#[derive(Clone, Debug)]
pub struct Reopening<'a> {
    /// Position and variables to begin with, as JSON; none begins at the initial state.
    pub snapshot: Option<String>,
    /// Changed parameters, as JSON.
    pub params: Option<String>,
    /// Latest start of the new life.
    pub start_deadline: Option<Timestamp>,
    /// Longest life.
    pub process_timeout: Option<Duration>,
    /// Who or what causes it.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// Begins a new life of a locked, final order.
///
/// # Errors
/// The database fails.
pub async fn reopen(tx: &Tx<'_>, allowed: Allowed<'_>, new: &Reopening<'_>) -> Result<ReadyStage> {
    let order = allowed.order();
    let no = order.no.0;
    requests::cancel(tx, &[no]).await?;
    match &new.snapshot {
        Some(snapshot) => tx.execute(&tx.prepare_cached(SAVE_CONTEXT).await?, &[&no, snapshot]).await?,
        None => tx.execute(&tx.prepare_cached(DROP_CONTEXT).await?, &[&no]).await?,
    };
    if let Some(params) = &new.params {
        tx.execute(&tx.prepare_cached(REPLACE_PARAMS).await?, &[&no, params]).await?;
    }
    let reopen = tx.prepare_cached(REOPEN).await?;
    tx.execute(&reopen, &[&no, &new.start_deadline, &allowed.to().as_str()]).await?;
    let process = new.process_timeout.and_then(|timeout| order.now.checked_add(timeout).ok());
    for (kind, at) in [("start", new.start_deadline), ("process", process)] {
        if let Some(at) = at {
            tx.execute(&tx.prepare_cached(SET_DEADLINE).await?, &[&no, &kind, &at]).await?;
        }
    }
    history::append(tx, order.no, allowed.cause().as_str(), new.source, &new.detail).await?;
    if let Some(queue) = order.queue.as_deref() {
        let positions = queues::take_positions(tx, &[queue]).await?;
        queues::enqueue(tx, &[no], &[queue], &positions).await?;
    }
    let mut stages = due::make_ready(tx, &[(no, None)], Wake::Start.as_str(), None, None).await?;
    let mut stage = stages.pop().ok_or(Error::Contended)?;
    stage.woken = false;
    Ok(stage)
}

/// Where a stuck order goes on within its life.
#[derive(Clone, Debug)]
pub struct Repairing<'a> {
    /// Position and variables, as JSON.
    pub snapshot: String,
    /// How the state stands to the target.
    pub scenario_status: ScenarioStatus,
    /// The state that is entered.
    pub step: &'a str,
    /// The same, if a restart may resume there.
    pub entry_point: Option<&'a str>,
    /// States entered in this life, this one counted in.
    pub visited: i32,
    /// Transitions to the nearest target.
    pub distance: Option<i32>,
    /// Who causes it.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// Lets a locked, suspended order go on where it is told, in the same life: what it waited for is
/// asked for no more. It keeps its place in its queue, or takes the tail.
///
/// # Errors
/// The database fails.
pub async fn repair(tx: &Tx<'_>, allowed: Allowed<'_>, new: &Repairing<'_>) -> Result<ReadyStage> {
    let order = allowed.order();
    let no = order.no.0;
    tx.execute(&tx.prepare_cached(DROP_READY).await?, &[&no]).await?;
    tx.execute(&tx.prepare_cached(DROP_DUE).await?, &[&no]).await?;
    requests::cancel(tx, &[no]).await?;
    tx.execute(&tx.prepare_cached(SAVE_CONTEXT).await?, &[&no, &new.snapshot]).await?;
    let repair = tx.prepare_cached(REPAIR).await?;
    tx.execute(
        &repair,
        &[
            &no,
            &new.scenario_status.as_str(),
            &new.step,
            &new.entry_point,
            &new.visited,
            &new.distance,
            &handed_out(order),
            &allowed.to().as_str(),
        ],
    )
    .await?;
    history::append(tx, order.no, allowed.cause().as_str(), new.source, &new.detail).await?;
    due::rejoin_queues(tx, &[no]).await?;
    let mut stages = due::make_ready(tx, &[(no, None)], Wake::Start.as_str(), None, None).await?;
    stages.pop().ok_or(Error::Contended)
}

/// The number of the last hand-out that was or might have been: the next is another one.
fn handed_out(order: &Locked) -> i32 {
    order.ready_attempt().unwrap_or(order.attempt)
}

/// What an order is to be like.
#[derive(Clone, Debug)]
pub struct Updating<'a> {
    /// Other parameters, as JSON; none leaves them.
    pub params: Option<String>,
    /// Its position, as JSON, where that is to be another.
    pub snapshot: Option<String>,
    /// Urgency.
    pub priority: Priority,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Notification wish, as JSON.
    pub notify: Option<String>,
    /// Whether it is to wait for its start now, or the start it waits for is another.
    pub starts: Starts,
    /// Who causes it.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// What an update does to the place of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// It stays where it is.
    AsBefore,
    /// It waits until then, in this stream, whatever it waited for or was ready for; the past is now.
    At(Timestamp, Stream),
}

/// What an update led to, to be told below the commit.
#[derive(Clone, Debug, Default)]
pub struct Updated {
    /// What may run, under its new number.
    pub ready: Option<ReadyStage>,
    /// The readiness that is no more, by its number.
    pub gone: Option<i32>,
    /// When its start is due, if that was set.
    pub due: Option<(Stream, Timestamp)>,
}

/// Changes a locked order that does not run. Conditions by other orders stay as they are.
///
/// # Errors
/// The database fails.
pub async fn update(tx: &Tx<'_>, allowed: Allowed<'_>, new: &Updating<'_>) -> Result<Updated> {
    let order = allowed.order();
    let no = order.no.0;
    if let Some(params) = &new.params {
        tx.execute(&tx.prepare_cached(REPLACE_PARAMS).await?, &[&no, params]).await?;
    }
    if let Some(snapshot) = &new.snapshot {
        tx.execute(&tx.prepare_cached(SAVE_CONTEXT).await?, &[&no, snapshot]).await?;
    }
    let defers = matches!(new.starts, Starts::At(..)) && matches!(order.place, Place::Ready { .. });
    let attempt = if defers { handed_out(order) } else { order.attempt };
    let update = tx.prepare_cached(UPDATE).await?;
    let priority = new.priority.as_str();
    tx.execute(&update, &[&no, &allowed.to().as_str(), &priority, &new.start_at, &new.notify, &attempt])
        .await?;
    // Moving the start is a part of an update, with a status of its own.
    history::append(tx, order.no, Cause::Updated.as_str(), new.source, &new.detail).await?;
    let gone = order.ready_attempt();
    if let Starts::At(at, stream) = new.starts {
        tx.execute(&tx.prepare_cached(DROP_READY).await?, &[&no]).await?;
        queues::leave(tx, &[no]).await?;
        tx.execute(&tx.prepare_cached(POSTPONE).await?, &[&no, &at, &stream.number()]).await?;
        return Ok(Updated { ready: None, gone, due: Some((stream, at)) });
    }
    let renew = tx.prepare_cached(RENEW).await?;
    let row = tx.query_opt(&renew, &[&no, &priority]).await?;
    let ready = row.map(|row| due::read_ready(&row, row.get(6))).transpose()?;
    Ok(Updated { ready, gone, due: None })
}
