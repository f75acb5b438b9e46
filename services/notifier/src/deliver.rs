//! Delivery of notifications to the broker: publishes with confirms, removes what was confirmed, keeps the rest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pagurus_broker::{Delivery, HeaderValue, Message, Published};
use pagurus_domain::id::{Life, OrderNo};
use pagurus_domain::low_water::LowWater;
use pagurus_domain::order::notification::{NotifyFormat, Target, delay, shown_url};
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::batch::Failed;
use pagurus_runtime::metrics::{Count, Level, Work};
use pagurus_runtime::node::chain;
use pagurus_runtime::offline::{Intermittent, Taken};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::traces::{SpanKind, messaging};
use pagurus_runtime::{Host, news};
use pagurus_store::hot::outbox::sending::{self, FailedNotification, Notification, OutboxKey, Unread};
use pagurus_store::hot::outbox::shown;
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_store::{Client, Error};
use pagurus_wire::message::{OutboxNews, OutboxRow};
use tokio::sync::{OwnedSemaphorePermit, RwLockReadGuard, Semaphore};

use crate::form::{EncodedNotification, type_of};
use crate::removal::{self, Removal};
use crate::webhooks::Webhooks;
use crate::{log_tried, note, order_of, traced};

/// Notifications of one batch: as many as fit a window of confirms.
const BATCH: i64 = 500;
/// Messages of news taken at once.
const MESSAGES: usize = 50;
/// Batches of news that are published at a time, as the publisher has lanes: one is on its way while the other is confirmed.
const PUBLISHING: usize = 2;
/// Batches of news in progress; those that are published only wait for their removal, and hold keys of rows.
const MOST_IN_PROGRESS: usize = 64;
/// Interval at which the slow pass looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Sends what news tells of, until the process is to stop.
pub(crate) async fn fresh(host: Host, from: Intermittent, webhooks: Arc<Webhooks>) -> anyhow::Result<()> {
    let removal = Removal::start(&host);
    let publishing = Arc::new(Semaphore::new(PUBLISHING));
    // Nothing is taken that could not be published at once: news that waits in the broker's queue is dropped when it gets old.
    let next = async || {
        let permit = publishing.clone().acquire_owned().await.ok()?;
        Some((permit, from.next(MESSAGES).await?))
    };
    let mut in_progress = FuturesUnordered::new();
    loop {
        tokio::select! {
            taken = next(), if in_progress.len() < MOST_IN_PROGRESS => match taken {
                Some((permit, taken)) => {
                    in_progress.push(send_announced(&host, &webhooks, &removal, taken, permit));
                }
                None => break,
            },
            Some(()) = in_progress.next() => {}
        }
    }
    while in_progress.next().await.is_some() {}
    Ok(())
}

/// Sends what a batch of news tells of, and removes what was confirmed.
async fn send_announced(
    host: &Host,
    webhooks: &Webhooks,
    removal: &Removal,
    mut taken: Taken,
    permit: OwnedSemaphorePermit,
) {
    let mut announced = Announced::default();
    for delivery in std::mem::take(&mut taken.deliveries) {
        announced.hear(host, webhooks, &delivery);
    }
    let permit = Arc::new(permit);
    // Before the reader of ends beside it, who waits for them.
    let sending = removal.sending.share().await;
    tokio::join!(
        send_rows(host, removal, announced.rows, (permit.clone(), sending)),
        send_unread(host, removal, announced.ended, permit),
    );
}

/// Sends notifications that the news contains.
async fn send_rows(
    host: &Host,
    removal: &Removal,
    rows: Vec<Notification>,
    (permit, _sending): (Arc<OwnedSemaphorePermit>, RwLockReadGuard<'_, ()>),
) {
    let mut confirmed = Vec::new();
    for window in rows.chunks(BATCH as usize) {
        let begun = Instant::now();
        let outcome = publish(host, window).await;
        confirmed.extend(outcome.confirmed);
        note(host, "new notifications", keep_new(host, outcome.failed).await);
        host.metrics.batch(Work::Notify, begun.elapsed());
    }
    drop((rows, permit));
    match removal.remove(confirmed).await {
        Ok(()) => {}
        Err(Failed::Handler(error)) => note(host, "new notifications", Err(&*error)),
        // The slow pass sends them again.
        Err(Failed::Gone(gone)) => tracing::warn!(error = chain(&gone), "notifications stay in the outbox"),
    }
}

async fn keep_new(host: &Host, failed: Vec<(&Notification, DeliveryFailure)>) -> Result<(), Error> {
    if failed.is_empty() {
        return Ok(());
    }
    let client = host.store.work().await?;
    keep(host, &client, failed).await
}

/// Sends notifications that are still to be read.
async fn send_unread(
    host: &Host,
    removal: &Removal,
    unread: Vec<Unread>,
    _permit: Arc<OwnedSemaphorePermit>,
) {
    // All ends of a life are read: one that was sent and still stands there would be sent again, and hold up the second.
    let reads_ends = unread.iter().any(|one| one.kind.is_none());
    let sending = &removal.sending;
    let _sending = if reads_ends { sending.share_after_others().await } else { sending.share().await };
    for window in unread.chunks(BATCH as usize) {
        note(host, "new notifications", send_fresh(host, window).await);
    }
}

/// New notifications announced by news.
#[derive(Default)]
struct Announced {
    /// Notifications that the news contains.
    rows: Vec<Notification>,
    /// Notifications that are still to be read.
    ended: Vec<Unread>,
}

impl Announced {
    fn hear(&mut self, host: &Host, webhooks: &Webhooks, delivery: &Delivery) {
        let read = news::read::<OutboxNews>(&host.metrics, "outbox", &delivery.body);
        let Some(news) = read else { return };
        if news.webhooks {
            webhooks.wake();
        }
        self.rows.extend(news.rows.into_iter().filter_map(stored));
        let unread = news.ended.into_iter();
        self.ended.extend(unread.map(|one| Unread {
            no: OrderNo(one.no),
            life: Life(one.life),
            kind: one.kind,
        }));
    }
}

/// Returns the stored form of a row that nobody has tried to send yet.
fn stored(row: OutboxRow) -> Option<Notification> {
    Some(Notification {
        no: OrderNo(row.no),
        life: Life(row.life),
        kind: row.kind,
        message_id: row.message_id.parse().ok()?,
        target: row.target,
        correlation_id: row.correlation_id,
        transaction_id: row.transaction_id,
        trace: row.trace,
        body: row.body,
        // What has another form, has a number or goes over HTTP is not sent as a row.
        format: NotifyFormat::Pagurus,
        number: None,
        receiver: None,
        secret: None,
        attempts: 0,
    })
}

async fn send_fresh(host: &Host, ended: &[Unread]) -> Result<(), Error> {
    let client = host.store.work().await?;
    let notifications = sending::read(&client, ended).await?;
    drop(client);
    send(host, &notifications).await
}

/// Sending of what is due in the outbox: of everything once its time has come.
#[derive(Default)]
pub(crate) struct DueNotifications {
    low_water: LowWater,
}

impl BackgroundTask for DueNotifications {
    const PAUSE: TurnPause = |_| LOOK_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let sent = send_due(host, &mut self.low_water).await;
        let full = matches!(sent, Ok(count) if count >= BATCH as usize);
        note(host, "due notifications", sent.map(|_| ()));
        note(host, "outbox", show(host).await);
        if full { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}

async fn send_due(host: &Host, low_water: &mut LowWater) -> Result<usize, Error> {
    // Without the broker nothing is taken: the rows would only count attempts.
    if !host.broker.state().publish.is_up() {
        return Ok(0);
    }
    let client = host.store.recovery().await?;
    let Some(from) = first::look(&client, TimedList::Outbox, low_water).await?.come() else { return Ok(0) };
    let notifications = sending::take(&client, from, BATCH).await?;
    drop(client);
    send(host, &notifications).await?;
    Ok(notifications.len())
}

async fn show(host: &Host) -> Result<(), Error> {
    let client = host.store.api().await?;
    let (waiting, parked, age) = shown::backlog(&client).await?;
    host.metrics.level(Level::Outbox, "waiting", waiting as f64);
    host.metrics.level(Level::Outbox, "parked", parked as f64);
    host.metrics.level(Level::OutboxAge, "", age.unwrap_or(0.0));
    Ok(())
}

/// Fate of a notification that was not confirmed.
enum DeliveryFailure {
    /// Nobody takes it, or it is not allowed: an operator decides.
    Parked(&'static str, String),
    /// The world failed: again, later.
    Later(String),
}

/// Sends notifications and removes those that were confirmed.
async fn send(host: &Host, notifications: &[Notification]) -> Result<(), Error> {
    if notifications.is_empty() {
        return Ok(());
    }
    let begun = Instant::now();
    let PublishOutcome { confirmed, failed } = publish(host, notifications).await;
    let client = host.store.work().await?;
    removal::remove(host, &client, &confirmed).await?;
    if !failed.is_empty() {
        keep(host, &client, failed).await?;
    }
    host.metrics.batch(Work::Notify, begun.elapsed());
    Ok(())
}

/// Outcome of a publishing: what the broker has, and what it has not.
struct PublishOutcome<'a> {
    confirmed: Vec<OutboxKey>,
    failed: Vec<(&'a Notification, DeliveryFailure)>,
}

async fn publish<'a>(host: &Host, notifications: &'a [Notification]) -> PublishOutcome<'a> {
    let mut messages = Vec::with_capacity(notifications.len());
    let mut addressed = Vec::with_capacity(notifications.len());
    let mut failed = Vec::new();
    for notification in notifications {
        let mut span = traced::notification(host, notification, SpanKind::Producer);
        match message(host, notification, span.context()) {
            Ok(message) => {
                traced::message(&mut span, &message);
                messages.push(message);
                addressed.push((notification, span));
            }
            Err(why) => {
                span.fail("not_allowed", &why);
                failed.push((notification, DeliveryFailure::Parked("not_allowed", why)));
            }
        }
    }
    let own = messages.iter().all(|message| message.exchange == host.broker.names().notifications);
    let publishing = Instant::now();
    let published = if own {
        host.broker.publish_many(messages).await
    } else {
        host.broker.publish_many_foreign(messages).await
    };
    let given = addressed.len();
    let mut confirmed = Vec::with_capacity(given);
    for ((notification, mut span), published) in addressed.into_iter().zip(published) {
        match published {
            Published::Confirmed => {
                log_tried(notification, None);
                confirmed.push(notification.key());
            }
            Published::Unroutable { text, .. } => {
                span.fail("unroutable", &text);
                failed.push((notification, DeliveryFailure::Parked("unroutable", text)));
            }
            Published::Failed(error) => {
                let error = error.to_string();
                span.fail("broker", &error);
                failed.push((notification, DeliveryFailure::Later(error)));
            }
        }
    }
    // Notifications to queues and exchanges of others are counted together.
    let exchange = if own { host.broker.names().notifications.as_str() } else { "several" };
    let took = publishing.elapsed();
    host.metrics.messages_sent(exchange, confirmed.len(), "", took);
    host.metrics.messages_sent(exchange, given - confirmed.len(), "unconfirmed", took);
    host.metrics.count(Count::Notifications, "confirmed", confirmed.len() as u64);
    PublishOutcome { confirmed, failed }
}

async fn keep(
    host: &Host,
    client: &Client,
    failed: Vec<(&Notification, DeliveryFailure)>,
) -> Result<(), Error> {
    let settings = &host.settings().notify;
    let rows: Vec<FailedNotification<'_>> = failed
        .into_iter()
        .map(|(notification, trouble)| {
            let (initial, max) = (settings.retry_initial, settings.retry_max);
            let delay = delay(notification.attempts, initial, max, rand::random());
            match trouble {
                DeliveryFailure::Parked(why, error) => {
                    host.metrics.count(Count::Notifications, why, 1);
                    tracing::warn!(
                        order = order_of(notification),
                        transaction = notification.transaction_id,
                        address = &*shown_url(&notification.target),
                        why,
                        error,
                        "a notification was parked"
                    );
                    FailedNotification { notification, error, delay, parked: Some(why) }
                }
                DeliveryFailure::Later(error) => {
                    host.metrics.count(Count::Notifications, "failed", 1);
                    log_tried(notification, Some(&error));
                    FailedNotification { notification, error, delay, parked: None }
                }
            }
        })
        .collect();
    sending::failed(client, &rows).await
}

/// Builds the message of a notification. Checks again that its target is allowed: the configuration
/// may have become stricter since the order was registered.
fn message(
    host: &Host,
    notification: &Notification,
    trace: Option<&TraceContext>,
) -> Result<Message, String> {
    let allow = &host.settings().notify.allow;
    let target = Target::stored(&notification.target)?;
    allow.permits(&target)?;
    let (exchange, key) = match target {
        Target::Queue(queue) => (String::new(), queue),
        Target::Callback(request) => {
            let mut message = Message::json(
                host.broker.names().callbacks.clone(),
                "order",
                notification.body.clone().into_bytes(),
            );
            message.properties.message_id = Some(notification.message_id.to_string());
            message.properties.correlation_id = Some(request.to_string());
            messaging::carry(&mut message.properties, trace);
            return Ok(message);
        }
        Target::Webhook(_) => return Err("it does not go to the broker".to_owned()),
        Target::Exchange { exchange, key } => {
            (exchange.unwrap_or_else(|| allow.default_exchange.clone()), key)
        }
    };
    let form = EncodedNotification::of(notification, &host.settings().notify.source, trace);
    let headers: Vec<(String, HeaderValue)> = form.headers().collect();
    let mut message = Message::json(exchange, key, form.body.into_bytes());
    let properties = &mut message.properties;
    properties.content_type = Some(form.content_type.to_owned());
    properties.headers = headers;
    if let Some(number) = notification.number {
        properties.headers.push(("sequence".into(), HeaderValue::Integer(number)));
    }
    properties.message_id = Some(notification.message_id.to_string());
    properties.correlation_id = notification.correlation_id.clone();
    properties.type_ = Some(type_of(notification).into());
    messaging::carry(properties, trace);
    if let Some(transaction) = &notification.transaction_id {
        properties.headers.push(("transaction-id".into(), HeaderValue::Text(transaction.clone())));
    }
    Ok(message)
}
