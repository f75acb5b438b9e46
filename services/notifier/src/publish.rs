//! Publishing of notifications: their messages, the confirms of the broker, and what follows where there is none.

use std::time::Instant;

use pagurus_broker::{HeaderValue, Message, Published};
use pagurus_domain::order::notification::{Target, delay, shown_url};
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::traces::{SpanKind, messaging};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::{self, FailedNotification, Notification, OutboxKey};

use crate::form::{EncodedNotification, type_of};
use crate::{log_tried, order_of, traced};

/// Fate of a notification that was not confirmed.
pub(crate) enum DeliveryFailure {
    /// Nobody takes it, or it is not allowed: an operator decides.
    Parked(&'static str, String),
    /// The world failed: again, later.
    Later(String),
}

/// Outcome of a publishing: what the broker has, and what it has not.
pub(crate) struct PublishOutcome<'a> {
    pub confirmed: Vec<OutboxKey>,
    pub failed: Vec<(&'a Notification, DeliveryFailure)>,
}

/// Publishes notifications and waits for their confirms.
pub(crate) async fn publish<'a>(host: &Host, notifications: &'a [Notification]) -> PublishOutcome<'a> {
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

/// Keeps what was not confirmed in the outbox, for later or for an operator.
pub(crate) async fn keep(host: &Host, failed: Vec<(&Notification, DeliveryFailure)>) -> Result<(), Error> {
    if failed.is_empty() {
        return Ok(());
    }
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
    sending::failed(&host.store.work().await?, &rows).await
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
