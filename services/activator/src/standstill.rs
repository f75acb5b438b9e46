//! Orders that stand still: suspended for longer than `notify.parked_after`, which is reported to their clients (ORD-18).

use pagurus_domain::low_water::LowWater;
use pagurus_domain::number::saturated;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::notification::{Content, ParkedReason};
use pagurus_domain::subscription::ActiveSubscriptions;
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::hot::control::{self, Locked, LockedOrders, Place};
use pagurus_store::hot::history::{self, NewEvent};
use pagurus_store::hot::outbox::{self, NewNotification};
use pagurus_store::hot::standing;
use pagurus_store::recovery::suspensions::{self, Suspension};
use pagurus_store::upkeep::first::{self, TimedList};
use serde_json::json;

/// Kind of the event that such an order has in its history: those who follow orders learn of it in this way.
const EVENT: &str = "parked";

/// Tells of orders that are suspended since the hand-out that was noted; those that have gone on since are passed over.
pub(crate) async fn look(host: &Host, low_water: &mut LowWater) -> Result<(), Error> {
    let limit = saturated::<i64>(host.settings().recovery.batch);
    let mut client = host.store.recovery().await?;
    let Some(from) = first::look(&client, TimedList::Suspensions, low_water).await?.come() else {
        return Ok(());
    };
    let tx = client.transaction().await?;
    let passed = suspensions::passed(&tx, from, limit).await?;
    if passed.is_empty() {
        return Ok(());
    }
    let nos: Vec<i64> = passed.iter().map(|suspension| suspension.no.0).collect();
    let LockedOrders { orders, moved } = control::lock_all(&tx, &nos).await?;
    if !moved.is_empty() {
        // Rolled back: the next look finds them again.
        return Err(Error::Contended);
    }
    let (_, standing) = standing::standing(&tx).await?;
    let still = orders.iter().filter(|order| order.place == Place::Due).filter_map(|order| {
        let is_of = |one: &&Suspension| one.no == order.head.no && one.attempt == order.attempt;
        Some(of_order(order, passed.iter().find(is_of)?, &standing))
    });
    let notifications: Vec<NewNotification> = still.flatten().collect();
    outbox::put(&tx, &notifications).await?;
    let parked = passed.iter().filter(|one| notifications.iter().any(|sent| sent.no == one.no));
    let parked: Vec<(&Suspension, String)> = parked.map(|one| (one, detail(one))).collect();
    let events =
        parked.iter().map(|(one, detail)| NewEvent { no: one.no, kind: EVENT, source: &host.name, detail });
    history::append_all(&tx, &events.collect::<Vec<_>>()).await?;
    tx.commit().await?;
    let changed = parked.iter().map(|(one, _)| one.no).collect();
    Effects { notifications, changed, ..Effects::default() }.send(host).await;
    Ok(())
}

fn detail(suspension: &Suspension) -> String {
    json!({"reason": ParkedReason::Suspended.as_str(), "since": suspension.since}).to_string()
}

fn of_order(order: &Locked, suspension: &Suspension, standing: &ActiveSubscriptions) -> Vec<NewNotification> {
    let message = suspension.error.clone().unwrap_or_default();
    let error = order.error_class.as_ref().map(|class| OrderError::new(class.as_str(), message));
    let content = Content {
        order: &order.head,
        scenario: &order.scenario,
        scenario_version: order.scenario_version,
        status: order.status,
        scenario_status: order.scenario_status,
        step: order.step.as_deref(),
        result: None,
        message: order.message.as_deref(),
        error: error.as_ref(),
        started_at: order.head.started_at,
        finished_at: suspension.since,
        stages: order.head.stages,
        retries: order.head.retries,
    };
    NewNotification::of_suspension(&content, order.attempt.0, standing)
}
