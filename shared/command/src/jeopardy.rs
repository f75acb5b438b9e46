//! Marks of orders that will probably miss their promise (ORD-31): once in each life, with a line in the history and a
//! notification. The expectation is the caller's.

use pagurus_domain::order::notification::Jeopardy;
use pagurus_domain::subscription::ActiveSubscriptions;
use pagurus_domain::time;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::hot::control::{self, Locked};
use pagurus_store::hot::history::{self, NewEvent};
use pagurus_store::hot::outbox::{self, NewNotification};
use pagurus_store::hot::standing;
use pagurus_store::lists::promises::{self, NewJeopardy};
use serde_json::json;

/// Kind of the event that a marked order has in its history.
const EVENT: &str = "jeopardy";

/// Marks orders that will probably be late, all in one transaction, with their notifications. Those that are marked already, or
/// have ended, are left as they are.
///
/// # Errors
/// The database fails, or one of the orders is locked, or on its way from one place to another: none is marked then.
pub async fn mark_late(host: &Host, mut late: Vec<NewJeopardy>) -> Result<(), Error> {
    let nos: Vec<i64> = late.iter().map(|one| one.no.0).collect();
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let locked = control::lock_all(&tx, &nos).await?;
    if !locked.moved.is_empty() {
        return Err(Error::Contended);
    }
    let marked = promises::mark(&tx, &late).await?;
    late.retain(|one| marked.contains(&one.no.0));
    let details: Vec<String> = late.iter().map(detail).collect();
    let events = late.iter().zip(&details).map(|(one, detail)| NewEvent {
        no: one.no,
        kind: EVENT,
        source: &host.name,
        detail,
    });
    history::append_all(&tx, &events.collect::<Vec<_>>()).await?;
    let of = |one: &NewJeopardy| locked.orders.iter().find(|order| order.head.no == one.no);
    let (_, standing) = standing::standing(&tx).await?;
    let notified = late.iter().filter_map(|one| Some(of_order(of(one)?, one, &standing)));
    let notifications: Vec<NewNotification> = notified.flatten().collect();
    outbox::put(&tx, &notifications).await?;
    tx.commit().await?;
    drop(client);
    late.iter().filter_map(|one| Some((of(one)?, one))).for_each(|(order, one)| note(host, order, one));
    let changed = late.iter().map(|one| one.no).collect();
    Effects { notifications, changed, ..Effects::default() }.send(host).await;
    Ok(())
}

fn note(host: &Host, order: &Locked, one: &NewJeopardy) {
    host.metrics.count(Count::Jeopardies, &order.scenario, 1);
    tracing::warn!(
        order = order.head.id, transaction = order.head.transaction_id, promised = %one.promise_at,
        expected = %one.expected_at, cause = one.cause, "the order will probably be late"
    );
}

fn detail(one: &NewJeopardy) -> String {
    let (promise_at, expected_at) = (time::shown(one.promise_at), time::shown(one.expected_at));
    json!({"promiseAt": promise_at, "expectedAt": expected_at, "cause": one.cause}).to_string()
}

fn of_order(order: &Locked, one: &NewJeopardy, standing: &ActiveSubscriptions) -> Vec<NewNotification> {
    let (promise_at, expected_at) = (one.promise_at, one.expected_at);
    let jeopardy = Jeopardy { promise_at, expected_at, cause: &one.cause };
    NewNotification::of_jeopardy(&order.content(), &jeopardy, standing)
}
