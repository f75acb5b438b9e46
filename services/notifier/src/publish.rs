//! Publishing of notifications: their messages, the confirms of the broker, and what follows where there is none.

use std::time::Instant;

use pagurus_broker::{HeaderValue, Message, Published};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::notification::{Target, delay, shown_url};
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::traces::{SpanKind, TraceSpan, messaging};
use pagurus_store::Error;
use pagurus_store::hot::outbox::sending::{self, FailedNotification, Notification, OutboxKey};

use crate::form::{EncodedNotification, type_of};
use crate::group::{self, EncodedGroup, by_message};
use crate::{log_tried, order_of, traced};

/// Fate of a notification that was not confirmed.
#[derive(Clone)]
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

impl<'a> PublishOutcome<'a> {
    /// Notes that the notifications of one message were not delivered.
    fn fail(&mut self, together: Vec<Traced<'a>>, failure: &DeliveryFailure) {
        let (kind, error) = match failure {
            DeliveryFailure::Parked(why, error) => (*why, error),
            DeliveryFailure::Later(error) => ("broker", error),
        };
        for (notification, mut span) in together {
            span.fail(kind, error);
            self.failed.push((notification, failure.clone()));
        }
    }
}

/// A notification with its span.
type Traced<'a> = (&'a Notification, TraceSpan);

/// Publishes notifications and waits for their confirms. Those of a group go in one message.
pub(crate) async fn publish<'a>(host: &Host, notifications: &'a [Notification]) -> PublishOutcome<'a> {
    let mut messages = Vec::with_capacity(notifications.len());
    let mut addressed: Vec<Vec<Traced<'a>>> = Vec::with_capacity(notifications.len());
    let mut outcome =
        PublishOutcome { confirmed: Vec::with_capacity(notifications.len()), failed: Vec::new() };
    for together in by_message(notifications) {
        let traced = |one: &'a Notification| (one, traced::notification(host, one, SpanKind::Producer));
        let mut together: Vec<Traced<'a>> = together.into_iter().map(traced).collect();
        match message(host, &together) {
            Ok(message) => {
                together.iter_mut().for_each(|(_, span)| traced::message(span, &message));
                messages.push(message);
                addressed.push(together);
            }
            Err(why) => outcome.fail(together, &DeliveryFailure::Parked("not_allowed", why)),
        }
    }
    let own = messages.iter().all(|message| message.exchange == host.broker.names().notifications);
    let publishing = Instant::now();
    let published = if own {
        host.broker.publish_many(messages).await
    } else {
        host.broker.publish_to_receivers(messages).await
    };
    let (given, mut delivered) = (addressed.len(), 0);
    for (together, published) in addressed.into_iter().zip(published) {
        match published {
            Published::Confirmed => {
                delivered += 1;
                for (notification, _) in together {
                    log_tried(notification, None);
                    outcome.confirmed.push(notification.key());
                }
            }
            Published::Unroutable { text, .. } => {
                outcome.fail(together, &DeliveryFailure::Parked("unroutable", text));
            }
            Published::Failed(error) => {
                outcome.fail(together, &DeliveryFailure::Later(error.to_string()));
            }
        }
    }
    // Notifications to queues and exchanges of others are counted together.
    let exchange = if own { host.broker.names().notifications.as_str() } else { "several" };
    let took = publishing.elapsed();
    host.metrics.messages_sent(exchange, delivered, "", took);
    host.metrics.messages_sent(exchange, given - delivered, "unconfirmed", took);
    host.metrics.count(Count::Notifications, "confirmed", outcome.confirmed.len() as u64);
    outcome
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

/// Builds the message of a notification, or of several of one group. Checks again that its target is allowed: the
/// configuration may have become stricter since the order was registered.
fn message(host: &Host, together: &[Traced<'_>]) -> Result<Message, String> {
    let Some(((first, span), others)) = together.split_first() else { return Err("it is empty".to_owned()) };
    let settings = &host.settings().notify;
    let target = Target::stored(&first.target)?;
    settings.allow.permits(&target)?;
    let (exchange, key) = match target {
        Target::Queue(queue) => (String::new(), queue),
        Target::Callback(request) => return Ok(callback(host, first, request, span.context())),
        Target::Webhook(_) => return Err("it does not go to the broker".to_owned()),
        Target::Exchange { exchange, key } => {
            (exchange.unwrap_or_else(|| settings.allow.default_exchange.clone()), key)
        }
    };
    if first.form.group.is_none() && others.is_empty() {
        let form = EncodedNotification::of(first, &settings.source, span.context());
        return Ok(single(exchange, key, first, form, span.context()));
    }
    let members: Vec<_> = together.iter().map(|(one, span)| (*one, span.context())).collect();
    let group = EncodedGroup::of(&members, &settings.source).map_err(|error| error.to_string())?;
    let mut message = Message::json(exchange, key, group.body.into_bytes());
    let properties = &mut message.properties;
    properties.content_type = Some(group.content_type.to_owned());
    properties.message_id = Some(group.message_id.to_string());
    properties.type_ = Some(group::TYPE.to_owned());
    Ok(message)
}

/// Returns the message that answers a request of the parent of an order.
fn callback(
    host: &Host,
    notification: &Notification,
    request: RequestId,
    trace: Option<&TraceContext>,
) -> Message {
    let body = notification.body.clone().into_bytes();
    let mut message = Message::json(host.broker.names().callbacks.clone(), "order", body);
    message.properties.message_id = Some(notification.message_id.to_string());
    message.properties.correlation_id = Some(request.to_string());
    messaging::carry(&mut message.properties, trace);
    message
}

/// Returns the message of a notification that goes alone.
fn single(
    exchange: String,
    key: String,
    notification: &Notification,
    form: EncodedNotification,
    trace: Option<&TraceContext>,
) -> Message {
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
    message
}
