//! Changes of one locked order by hand: a restart (ORD-22), a repair (ORD-23), an update before it goes
//! on (ORD-27).
//!
//! A claim reads parameters as they were when it began. So whatever changes an order that is ready
//! makes its readiness another one, with the next number: a claim that waits for the lock finds
//! its own gone, and the dispatcher hands out the new one.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::attributes::AttributeValue;
use pagurus_domain::id::{Attempt, ScenarioNo};
use pagurus_domain::order::change::Waking;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::order::{Priority, ScenarioStatus};

use crate::columns::columns;
use crate::hot::control::{Allowed, Locked, Place};
use crate::hot::deadlines::{self, Deadline};
use crate::hot::dependencies;
use crate::hot::history;
use crate::hot::history::NewEvent;
use crate::hot::place;
use crate::hot::queues;
use crate::hot::ready::{ReadyStage, read_ready};
use crate::hot::requests;
use crate::lists::search;
use crate::outside::answers::kept;
use crate::recovery::consistency::marks;
use crate::sql::statements;
use crate::{Error, Result, Tx};

statements! {
    SAVE_CONTEXTS = "
        INSERT INTO contexts (order_no, snapshot)
        SELECT * FROM unnest($1::bigint[], $2::text[]) AS t (order_no, snapshot)
        ON CONFLICT (order_no) DO UPDATE SET snapshot = excluded.snapshot";
    DROP_CONTEXTS = "DELETE FROM contexts WHERE order_no = ANY($1::bigint[])";
    REOPEN = "
        UPDATE orders o
           SET status = t.status, scenario_status = t.scenario_status, life = o.life + 1, stages = 0, retries = 0, visited = 0, distance = NULL,
               started_at = NULL, finished_at = NULL, updated_at = now(), result = NULL, message = NULL,
               error_class = NULL, error_message = NULL, error_system = NULL, error_state = NULL, start_deadline = t.start_deadline, step = NULL,
               entry_point = t.entry_point, scenario = coalesce(t.scenario, o.scenario)
          FROM unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::integer[])
               AS t (no, status, scenario_status, start_deadline, entry_point, scenario)
         WHERE o.no = ANY(ARRAY[t.no])";
    DROP_DUE = "DELETE FROM due WHERE order_no = $1";
    DROP_READY = "DELETE FROM ready WHERE order_no = $1";
    REPAIR = "
        UPDATE orders
           SET status = $7, scenario_status = $2, step = $3, entry_point = $3,
               visited = $4, distance = $5, attempt = $6, updated_at = now(), error_class = NULL, error_message = NULL,
               error_system = NULL, error_state = NULL, scenario = coalesce($8, scenario)
         WHERE no = $1";
    REPLACE_PARAMS = "
        UPDATE payloads p SET params = t.params
          FROM unnest($1::bigint[], $2::text[]) AS t (no, params) WHERE p.order_no = ANY(ARRAY[t.no])";
    UPDATE = "
        UPDATE orders SET status = $2, priority = $3, start_at = $4, notify = $5, attempt = $6, updated_at = now()
         WHERE no = $1";
    RENEW = "
        UPDATE ready SET attempt = attempt + 1, pass = gen_random_uuid(), priority = $2
         WHERE order_no = $1
        RETURNING order_no, attempt, flow, priority, queue, position, woken";
    POSTPONE = "
        INSERT INTO due (order_no, stream, due_at) VALUES ($1, $3, $2)
        ON CONFLICT (order_no) DO UPDATE SET due_at = excluded.due_at, stream = excluded.stream
         WHERE due.due_at IS NOT NULL";
}

/// Changed parameters.
#[derive(Clone, Debug)]
pub struct ChangedParams {
    /// Parameters as JSON.
    pub text: String,
    /// Values of the attributes by which the order is found.
    pub attributes: Vec<AttributeValue>,
}

/// Start of a new life of a locked order.
#[derive(Clone, Debug)]
pub struct Reopening<'a> {
    /// Position and variables to begin with, as JSON; none begins at the initial state.
    pub snapshot: Option<String>,
    /// True if it keeps the answers of the former life.
    pub keeps_answers: bool,
    /// The state that it begins at, to which a later repeat or restart goes back; none is the initial one.
    pub entry_point: Option<String>,
    /// Another version of its scenario.
    pub scenario: Option<ScenarioNo>,
    /// Condition that it waits for before it begins, where it does.
    pub postponed: Option<Postponement>,
    /// Changed parameters.
    pub params: Option<ChangedParams>,
    /// Latest start of the new life.
    pub start_deadline: Option<Timestamp>,
    /// Longest life.
    pub process_timeout: Option<Duration>,
    /// Source of the change.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// Condition that a new life waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Postponement {
    /// Other orders, and then its time, if that is still to come.
    ForOthers,
    /// This time.
    Until(Timestamp),
}

/// Begins a new life of a locked, final order, at once.
pub async fn reopen(tx: &Tx<'_>, allowed: Allowed<'_>, new: Reopening<'_>) -> Result<ReadyStage> {
    reopen_all(tx, &[(allowed, new)]).await?.pop().ok_or(Error::Contended)
}

/// Begins new lives of locked, final orders, in a number of statements that does not grow with them. Answers
/// with the stages of those that wait for nothing.
pub async fn reopen_all(tx: &Tx<'_>, orders: &[(Allowed<'_>, Reopening<'_>)]) -> Result<Vec<ReadyStage>> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let nos: Vec<i64> = orders.iter().map(|(allowed, _)| allowed.order().head.no.0).collect();
    let keeping = orders.iter().filter(|(_, new)| new.keeps_answers);
    let keeping: Vec<i64> = keeping.map(|(allowed, _)| allowed.order().head.no.0).collect();
    kept::keep(tx, &keeping).await?;
    requests::cancel(tx, &nos).await?;
    // What was wrong with the former life is looked at again.
    marks::unmark(tx, &nos).await?;
    let blank = orders.iter().filter(|(_, new)| new.snapshot.is_none());
    let blank: Vec<i64> = blank.map(|(allowed, _)| allowed.order().head.no.0).collect();
    tx.execute(&tx.prepare_cached(DROP_CONTEXTS).await?, &[&blank]).await?;
    save_contexts(tx, &texts(orders, |new| new.snapshot.as_deref())).await?;
    let changed =
        orders.iter().filter_map(|(allowed, new)| Some((allowed.order().head.no.0, new.params.as_ref()?)));
    replace_params(tx, &changed.collect::<Vec<_>>()).await?;
    let columns = columns!((allowed, new) in orders => {
        no: i64 = allowed.order().head.no.0,
        status: &str = allowed.change().to.as_str(),
        scenario_status: &str = allowed.change().scenario_status(allowed.order().scenario_status).as_str(),
        start_deadline: Option<Timestamp> = new.start_deadline,
        entry_point: Option<&str> = new.entry_point.as_deref(),
        scenario: Option<i32> = new.scenario.map(|scenario| scenario.0),
    });
    columns.execute(tx, REOPEN, &[]).await?;
    let of_lives = orders.iter().flat_map(|(allowed, new)| {
        let order = allowed.order();
        let from = new.postponed.is_none().then_some(order.now);
        Deadline::of_life(order.head.no.0, from, new.start_deadline, new.process_timeout)
    });
    deadlines::set(tx, &of_lives.collect::<Vec<_>>()).await?;
    let events: Vec<NewEvent<'_>> =
        orders.iter().map(|(allowed, new)| event(*allowed, new.source, &new.detail)).collect();
    history::append_all(tx, &events).await?;
    let (mut at_once, mut for_others, mut until) = (Vec::new(), Vec::new(), Vec::new());
    for (no, (_, new)) in nos.into_iter().zip(orders) {
        match new.postponed {
            None => at_once.push(no),
            Some(Postponement::ForOthers) => for_others.push(no),
            Some(Postponement::Until(at)) => until.push((no, Stream::Postponed, at)),
        }
    }
    // A caller that restarts one order waits for it; a mass of them must not stand before what others send.
    let by = if orders.len() == 1 { Waking::ByHand } else { Waking::AmongMany };
    let ready = place::wake_now(tx, &at_once, by).await?;
    place::insert_due(tx, &until).await?;
    dependencies::reopen(tx, &for_others).await?;
    Ok(ready)
}

/// Numbers of the orders that have such a text, with it.
fn texts<'a>(
    orders: &'a [(Allowed<'_>, Reopening<'_>)],
    text: impl Fn(&'a Reopening<'_>) -> Option<&'a str>,
) -> Vec<(i64, &'a str)> {
    orders.iter().filter_map(|(allowed, new)| Some((allowed.order().head.no.0, text(new)?))).collect()
}

/// Writes positions and variables of locked orders, as JSON.
pub async fn save_contexts(tx: &Tx<'_>, snapshots: &[(i64, &str)]) -> Result<()> {
    if !snapshots.is_empty() {
        let columns = columns!((no, snapshot) in snapshots => {
            order_no: i64 = *no,
            snapshot: &str = *snapshot,
        });
        columns.execute(tx, SAVE_CONTEXTS, &[]).await?;
    }
    Ok(())
}

async fn replace_params(tx: &Tx<'_>, orders: &[(i64, &ChangedParams)]) -> Result<()> {
    if orders.is_empty() {
        return Ok(());
    }
    let columns = columns!((no, params) in orders => {
        no: i64 = *no,
        params: &str = params.text.as_str(),
    });
    columns.execute(tx, REPLACE_PARAMS, &[]).await?;
    let values: Vec<(i64, &[AttributeValue])> =
        orders.iter().map(|(no, params)| (*no, params.attributes.as_slice())).collect();
    search::replace_values(tx, &values).await
}

/// The event of the history that a change is.
fn event<'a>(allowed: Allowed<'_>, source: &'a str, detail: &'a str) -> NewEvent<'a> {
    NewEvent { no: allowed.order().head.no, kind: allowed.change().cause.as_str(), source, detail }
}

/// Point at which a stuck order goes on within its life.
#[derive(Clone, Debug)]
pub struct Repairing<'a> {
    /// Position and variables, as JSON.
    pub snapshot: String,
    /// Another version of its scenario.
    pub scenario: Option<ScenarioNo>,
    /// Relation of the state to the target.
    pub scenario_status: ScenarioStatus,
    /// The state that is entered, to which a later repeat or restart goes back.
    pub step: &'a str,
    /// States entered in this life, this one counted in.
    pub visited: i32,
    /// Transitions to the nearest target.
    pub distance: Option<i32>,
    /// Person or program that causes it.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// Lets a locked, suspended order go on at the given point, in the same life: what it waited for is
/// asked for no more. It keeps its place in its queue, or takes the tail.
pub async fn repair(tx: &Tx<'_>, allowed: Allowed<'_>, new: &Repairing<'_>) -> Result<ReadyStage> {
    let order = allowed.order();
    let no = order.head.no.0;
    tx.execute(&tx.prepare_cached(DROP_READY).await?, &[&no]).await?;
    tx.execute(&tx.prepare_cached(DROP_DUE).await?, &[&no]).await?;
    requests::cancel(tx, &[no]).await?;
    marks::unmark(tx, &[no]).await?;
    save_contexts(tx, &[(no, &new.snapshot)]).await?;
    let repair = tx.prepare_cached(REPAIR).await?;
    tx.execute(
        &repair,
        &[
            &no,
            &new.scenario_status.as_str(),
            &new.step,
            &new.visited,
            &new.distance,
            &handed_out(order).0,
            &allowed.change().to.as_str(),
            &new.scenario.map(|scenario| scenario.0),
        ],
    )
    .await?;
    history::append_all(tx, &[event(allowed, new.source, &new.detail)]).await?;
    place::wake_now(tx, &[no], Waking::ByHand).await?.pop().ok_or(Error::Contended)
}

/// The number of the last hand-out that was or might have been: the next is another one.
fn handed_out(order: &Locked) -> Attempt {
    order.ready_attempt().unwrap_or(order.attempt)
}

/// Fields that an order is to have.
#[derive(Clone, Debug)]
pub struct Updating<'a> {
    /// Other parameters; none leaves them.
    pub params: Option<ChangedParams>,
    /// Position, as JSON, where that is to be another.
    pub snapshot: Option<String>,
    /// Urgency.
    pub priority: Priority,
    /// Not before.
    pub start_at: Option<Timestamp>,
    /// Notification wish, as JSON.
    pub notify: Option<String>,
    /// True if it is to wait for its start now, or the start it waits for is another.
    pub starts: Starts,
    /// Person or program that causes it.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// Effect of an update on the place of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// The order stays where it is.
    AsBefore,
    /// The order waits until then, in this stream, whatever it waited for or was ready for; the past is now.
    At(Timestamp, Stream),
}

/// Consequences of an update, to be sent below the commit.
#[derive(Clone, Debug, Default)]
pub struct Updated {
    /// Stage that may run, under its new number.
    pub ready: Option<ReadyStage>,
    /// The readiness that is no more, by its number.
    pub gone: Option<Attempt>,
    /// When its start is due, if that was set.
    pub due: Option<(Stream, Timestamp)>,
}

/// Changes a locked order that does not run. Conditions by other orders stay as they are.
pub async fn update(tx: &Tx<'_>, allowed: Allowed<'_>, new: &Updating<'_>) -> Result<Updated> {
    let order = allowed.order();
    let no = order.head.no.0;
    if let Some(params) = &new.params {
        replace_params(tx, &[(no, params)]).await?;
    }
    if let Some(snapshot) = &new.snapshot {
        save_contexts(tx, &[(no, snapshot)]).await?;
    }
    let defers = matches!(new.starts, Starts::At(..)) && matches!(order.place, Place::Ready { .. });
    let attempt = if defers { handed_out(order) } else { order.attempt };
    let update = tx.prepare_cached(UPDATE).await?;
    let priority = new.priority.as_str();
    tx.execute(
        &update,
        &[&no, &allowed.change().to.as_str(), &priority, &new.start_at, &new.notify, &attempt.0],
    )
    .await?;
    // Moving the start is a part of an update, with a status of its own.
    history::append(tx, order.head.no, Cause::Updated.as_str(), new.source, &new.detail).await?;
    let gone = order.ready_attempt();
    if let Starts::At(at, stream) = new.starts {
        tx.execute(&tx.prepare_cached(DROP_READY).await?, &[&no]).await?;
        queues::leave(tx, &[no]).await?;
        if stream == Stream::Postponed {
            deadlines::halt(tx, no).await?;
        }
        tx.execute(&tx.prepare_cached(POSTPONE).await?, &[&no, &at, &stream.number()]).await?;
        return Ok(Updated { ready: None, gone, due: Some((stream, at)) });
    }
    let renew = tx.prepare_cached(RENEW).await?;
    let row = tx.query_opt(&renew, &[&no, &priority]).await?;
    let ready = row.map(|row| read_ready(&row)).transpose()?;
    Ok(Updated { ready, gone, due: None })
}
