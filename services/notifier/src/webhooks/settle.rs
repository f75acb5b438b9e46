//! Outcomes of webhooks, written many at a time: a row leaves the outbox when its receiver has it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::notification::delay;
use pagurus_runtime::batch::{Failed, Linger, Shape};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::{Batcher, Host};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::{FailedNotification, Notification, OutboxKey};
use pagurus_store::hot::outbox::webhooks;

use super::WebhookOutcome;
use crate::{log_tried, order_of, removal};

/// Bounds within which outcomes are gathered.
const GATHER: Shape = Shape { max: 500, lanes: 1, linger: Linger::UnderLoad(Duration::from_millis(2)) };

type Settled = Arc<(Arc<Notification>, WebhookOutcome)>;

/// Writes outcomes.
pub(super) struct Settler(Batcher<Settled, (), Error>);

pub(super) fn settler(host: &Host) -> Settler {
    let host = host.clone();
    Settler(Batcher::start(GATHER, Error::concerns_one_item, move |batch: Arc<[Settled]>| {
        let host = host.clone();
        async move { write(&host, &batch).await }
    }))
}

impl Settler {
    /// Writes the outcome of a notification. If that fails, the notification is sent again once nobody is kept off it.
    pub async fn settle(&self, host: &Host, notification: Arc<Notification>, outcome: WebhookOutcome) {
        if let Err(Failed::Handler(error)) = self.0.submit(Arc::new((notification, outcome))).await {
            host.metrics.count(Count::StoreErrors, "settle webhooks", 1);
            tracing::warn!(error = chain(&*error), "the outcome of a webhook could not be written");
        }
    }
}

async fn write(host: &Host, batch: &[Settled]) -> Result<Vec<()>, Error> {
    let (delivered, kept): (Vec<&Settled>, Vec<&Settled>) =
        batch.iter().partition(|settled| settled.1 == WebhookOutcome::Delivered);
    delivered.iter().for_each(|settled| log_tried(&settled.0, None));
    let delivered: Vec<OutboxKey> = delivered.iter().map(|settled| settled.0.key()).collect();
    removal::remove(host, &delivered).await?;
    let kept: Vec<FailedNotification<'_>> = kept.iter().map(|settled| failed(host, settled)).collect();
    if !kept.is_empty() {
        let client = host.store.work().await?;
        let given_up = webhooks::failed(&client, &kept, host.settings().notify.webhook.give_up_after).await?;
        note_given_up(host, given_up as u64);
    }
    for settled in batch {
        host.metrics.count(Count::Notifications, settled.1.word(), 1);
    }
    Ok(vec![(); batch.len()])
}

/// The row of a notification that was not delivered.
fn failed<'a>(host: &Host, settled: &'a Settled) -> FailedNotification<'a> {
    let (notification, outcome) = &**settled;
    let settings = &host.settings().notify;
    let (error, parked) = match outcome {
        WebhookOutcome::Gone => ("the receiver answered 410: it wants no more".to_owned(), Some("gone")),
        WebhookOutcome::Parked(why, error) => (error.clone(), Some(*why)),
        WebhookOutcome::Refused(error)
        | WebhookOutcome::Ours(error)
        | WebhookOutcome::Trouble { error, .. } => (error.clone(), None),
        WebhookOutcome::Delivered => (String::new(), None),
    };
    if let Some(why) = parked {
        tracing::warn!(
            order = order_of(notification),
            transaction = notification.transaction_id,
            receiver = notification.receiver,
            why,
            error,
            "a webhook was parked"
        );
    }
    if parked.is_none() {
        log_tried(notification, Some(&error));
    }
    let delay = delay(notification.attempts, settings.retry_initial, settings.retry_max, rand::random());
    FailedNotification { notification, error, delay, parked }
}

/// Gives up what has waited for a receiver in trouble for too long; nothing of it is older than the time beside it.
pub(super) async fn give_up(host: &Host, (receiver, since): (&str, Option<Timestamp>), why: &str) {
    let after = host.settings().notify.webhook.give_up_after;
    let given_up = async {
        let client = host.store.work().await?;
        webhooks::give_up(&client, (receiver, since), after, why).await
    };
    match given_up.await {
        Ok(given_up) if given_up > 0 => {
            note_given_up(host, given_up);
            tracing::warn!(receiver, given_up, why, "webhooks were given up: see `pagurus notifications`");
        }
        outcome => crate::note(host, "give up webhooks", outcome.as_ref().map(|_| ())),
    }
}

fn note_given_up(host: &Host, count: u64) {
    host.metrics.count(Count::Notifications, "given_up", count);
}
