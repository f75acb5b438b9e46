//! Notifier: sends what stands in the outbox until it is delivered.
//!
//! News tells of new rows at once and is divided among the notifiers (`hearing`); a slow pass takes what news
//! did not tell of, and what failed before. A row leaves the outbox only after the confirm of the broker, or after its
//! receiver has answered with 2xx.

mod deliver;
mod form;
mod gathering;
mod group;
mod hearing;
mod publish;
mod removal;
mod traced;
mod webhooks;

use std::sync::Arc;

use pagurus_domain::trace::TraceContext;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::offline::Intermittent;
use pagurus_runtime::order_log::{TARGET, is_wanted};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::Notification;

/// Runs until the process is to stop.
///
/// # Errors
/// Reasons for which the service cannot work at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    let news = Intermittent::new(&host, host.broker.consume(hearing::consumer(&host))?);
    host.start("share of the news", hearing::NewsShare(news.consumer().clone()));
    host.spawn("news while in service", news.clone().follow());
    let webhooks = Arc::new(webhooks::Webhooks::new(&host));
    host.spawn("new notifications", deliver::fresh(host.clone(), news, webhooks.clone()));
    host.start("due notifications", deliver::DueNotifications::default());
    host.spawn("webhooks", webhooks.run());
    host.at_work(false).await;
    host.draining.cancelled().await;
    host.readiness.not_ready("draining");
    host.join().await;
    Ok(())
}

/// Counts and logs what the database refused.
fn note<E: std::borrow::Borrow<Error>>(host: &Host, what: &str, outcome: Result<(), E>) {
    if let Err(error) = outcome {
        host.metrics.count(Count::StoreErrors, what, 1);
        tracing::warn!(what, error = chain(error.borrow()), "the outbox could not be read or written");
    }
}

/// Writes that a notification was delivered; at `debug` that it will be sent again because of an error (ORD-6).
fn log_tried(notification: &Notification, error: Option<&str>) {
    if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
        return;
    }
    let order = order_of(notification);
    if !is_wanted(&order) {
        return;
    }
    let transaction = notification.transaction_id.as_deref();
    let trace = notification.trace.as_deref().and_then(TraceContext::of_stored).map(|trace| trace.trace_id());
    let occasion = &*notification.kind;
    match error {
        None => {
            tracing::info!(target: TARGET, order, transaction, trace, occasion, "a notification was delivered");
        }
        Some(error) => tracing::debug!(
            target: TARGET,
            order,
            transaction,
            trace,
            occasion,
            error,
            "a notification was not delivered yet"
        ),
    }
}

/// The id of the order, as its own message tells it.
fn order_of(notification: &Notification) -> String {
    #[derive(serde::Deserialize)]
    struct IdOfNotice {
        id: String,
    }
    let named = serde_json::from_str::<IdOfNotice>(&notification.body);
    named.map_or_else(|_| notification.no.to_string(), |named| named.id)
}
