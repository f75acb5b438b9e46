//! Ends of lives from outside a stage: by operators and clients, and by recovery. Many in one transaction,
//! in a number of statements that does not grow with them.

use std::borrow::Cow;

use jiff::Timestamp;
use pagurus_domain::id::Attempt;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::change::LifeEnd;
use pagurus_domain::order::notification::Content;
use pagurus_domain::subscription::ActiveSubscriptions;
use pagurus_domain::time;
use serde_json::Value;

use crate::columns::columns;
use crate::hot::calls;
use crate::hot::control::{Allowed, Locked};
use crate::hot::dependencies;
use crate::hot::history;
use crate::hot::history::NewEvent;
use crate::hot::outbox;
use crate::hot::outbox::NewNotification;
use crate::hot::queues;
use crate::hot::ready::ReadyStage;
use crate::hot::requests;
use crate::hot::standing;
use crate::sql::statements;
use crate::{Error, Result, Tx};

statements! {
    DROP_RUNNING = "DELETE FROM running WHERE order_no = ANY($1::bigint[])";
    DROP_READY = "DELETE FROM ready WHERE order_no = ANY($1::bigint[])";
    DROP_DUE = "DELETE FROM due WHERE order_no = ANY($1::bigint[])";
    DROP_DEADLINES = "DELETE FROM deadlines WHERE order_no = ANY($1::bigint[])";
    END = "
        UPDATE orders o
           SET status = t.status, scenario_status = t.scenario_status, attempt = greatest(o.attempt, t.attempt),
               finished_at = now(), updated_at = now(),
               error_class = CASE WHEN t.keeps_error THEN o.error_class ELSE t.class END,
               error_message = CASE WHEN t.keeps_error THEN o.error_message ELSE t.message END,
               error_system = CASE WHEN t.keeps_error THEN o.error_system END,
               error_state = CASE WHEN t.keeps_error THEN o.error_state END,
               started_at = coalesce(o.started_at, t.started_at), step = coalesce(o.step, t.step)
          FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::boolean[], $8::timestamptz[], $9::text[])
               AS t (no, status, scenario_status, attempt, class, message, keeps_error, started_at, step)
         WHERE o.no = ANY(ARRAY[t.no])";
}

/// End of a locked order.
#[derive(Clone, Debug)]
pub struct Ending<'a> {
    /// Error, for an end `fail`.
    pub error: Option<OrderError>,
    /// The state in which its first stage was begun, where nothing of that was written yet.
    pub step: Option<String>,
    /// Source of the end.
    pub source: &'a str,
    /// More for the history, as JSON.
    pub detail: String,
}

/// Consequences of the ends of orders, to be sent below the commit.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Notifications that were stored.
    pub notifications: Vec<NewNotification>,
    /// Orders that waited for these ends and may run now.
    pub ready: Vec<ReadyStage>,
}

/// Ends the lives of locked orders: takes each from its place and its queue, closes its requests, writes
/// its end and the notification of it, and settles what waits for it.
///
/// # Errors
/// The database fails, or a change is no end: then nothing was written.
pub async fn end_lives(tx: &Tx<'_>, ends: &[(Allowed<'_>, Ending<'_>)]) -> Result<Ended> {
    if ends.is_empty() {
        return Ok(Ended::default());
    }
    let nos: Vec<i64> = ends.iter().map(|(allowed, _)| allowed.order().head.no.0).collect();
    for statement in [DROP_RUNNING, DROP_READY, DROP_DUE, DROP_DEADLINES] {
        tx.execute(&tx.prepare_cached(statement).await?, &[&nos]).await?;
    }
    queues::leave(tx, &nos).await?;
    requests::cancel(tx, &nos).await?;
    calls::close(tx, &nos).await?;
    write(tx, ends).await?;
    let details: Vec<Cow<'_, str>> =
        ends.iter().map(|(allowed, ending)| detail(&ending.detail, allowed.order().running_since)).collect();
    let events: Vec<NewEvent<'_>> = ends
        .iter()
        .zip(&details)
        .map(|((allowed, ending), detail)| NewEvent {
            no: allowed.order().head.no,
            kind: allowed.change().cause.as_str(),
            source: ending.source,
            detail,
        })
        .collect();
    history::append_all(tx, &events).await?;
    let (_, standing) = standing::standing(tx).await?;
    let mut stored = Vec::new();
    for (allowed, ending) in ends {
        let Some(end) = allowed.change().ends_life else {
            return Err(Error::broken("change", allowed.change().cause));
        };
        stored.extend(notifications(*allowed, ending, end, &standing));
    }
    outbox::put(tx, &stored).await?;
    let postponed = ends.iter().map(|(allowed, _)| allowed.order()).filter(|order| order.has_conditions());
    dependencies::close(tx, &postponed.map(|order| order.head.no.0).collect::<Vec<_>>()).await?;
    let awaited = ends.iter().map(|(allowed, _)| allowed.order()).filter(|order| order.awaited);
    let ready = dependencies::ended(tx, &awaited.map(|order| order.head.no.0).collect::<Vec<_>>()).await?;
    Ok(Ended { notifications: stored, ready })
}

/// Detail of the end of an order for its history, with the start of the stage that was under way: no row of its own tells of that.
fn detail(of_end: &str, running_since: Option<Timestamp>) -> Cow<'_, str> {
    let Some(since) = running_since else { return Cow::Borrowed(of_end) };
    match serde_json::from_str(of_end) {
        Ok(Value::Object(mut fields)) => {
            fields.entry("startedAt").or_insert_with(|| time::shown(since).into());
            Cow::Owned(Value::Object(fields).to_string())
        }
        _ => Cow::Borrowed(of_end),
    }
}

async fn write(tx: &Tx<'_>, ends: &[(Allowed<'_>, Ending<'_>)]) -> Result<()> {
    let columns = columns!((allowed, ending) in ends => {
        no: i64 = allowed.order().head.no.0,
        status: &str = allowed.change().to.as_str(),
        scenario_status: &str = allowed.change().scenario_status(allowed.order().scenario_status).as_str(),
        attempt: i32 = last_number(allowed.order()).0,
        class: Option<&str> = ending.error.as_ref().and_then(|error| error.class.as_deref()),
        message: Option<&str> = ending.error.as_ref().map(|error| error.message.as_str()),
        keeps_error: bool = allowed.change().keeps_error(),
        started_at: Option<Timestamp> = allowed.order().running_since,
        step: Option<&str> = ending.step.as_deref(),
    });
    columns.execute(tx, END, &[]).await?;
    Ok(())
}

/// The number that the next readiness of the order must be above. What was ready may have been handed out under its own
/// number, though nobody claimed it: another life that bore the same could be taken for it.
fn last_number(order: &Locked) -> Attempt {
    order.ready_attempt().unwrap_or(order.attempt)
}

/// The notifications of an end.
fn notifications(
    allowed: Allowed<'_>,
    ending: &Ending<'_>,
    end: LifeEnd,
    standing: &ActiveSubscriptions,
) -> Vec<NewNotification> {
    let (order, change) = (allowed.order(), allowed.change());
    let result = order.result.as_deref().and_then(|result| serde_json::from_str::<Value>(result).ok());
    let content = Content {
        order: &order.head,
        scenario: &order.scenario,
        scenario_version: order.scenario_version,
        status: change.to,
        scenario_status: change.scenario_status(order.scenario_status),
        step: order.step.as_deref().or(ending.step.as_deref()),
        result: result.as_ref(),
        message: order.message.as_deref(),
        error: ending.error.as_ref(),
        started_at: order.head.started_at.or(order.running_since),
        finished_at: order.now,
        stages: order.head.stages,
        retries: order.head.retries,
    };
    NewNotification::of(&content, end, standing)
}
