//! A refused message on its way out of its queue: as it is stored, and as it is sent again.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::{ANSWERED, AT, EXCHANGE, ID, KEY, ORIGINAL, REASON, original};
use crate::delivery::Delivery;
use crate::illegible::is_broken;
use crate::message::{HeaderValue, Message, Properties};
use crate::topology::Names;

/// Headers that would send copies where the sender likes, or that the broker alone writes.
const NOT_AGAIN: &[&str] = &["CC", "BCC", "x-death"];
/// Headers by which the broker tells of a message that it gave up by itself.
const GIVEN_UP_BECAUSE: &str = "x-first-death-reason";
const GIVEN_UP_IN: &str = "x-first-death-queue";

/// A refused message, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRefusal {
    /// Id that it was given at its refusal; made from its content where it has none.
    pub id: Uuid,
    /// Reason of the refusal.
    pub reason: String,
    /// Time of the refusal; none where the broker gave it up.
    pub refused_at: Option<String>,
    /// True if its sender got a receipt.
    pub answered: bool,
    /// Exchange to which it had been published.
    pub exchange: String,
    /// Key with which it had been published.
    pub key: String,
    /// Properties that it had, each as text; `headers` as JSON.
    pub properties: Value,
    /// Body, byte for byte.
    pub body: Vec<u8>,
}

/// The stored form of a message from the queue of refused ones.
#[must_use]
pub fn stored_form(names: &Names, delivery: &Delivery) -> NewRefusal {
    let text = |name: &str| delivery.properties.header(name)?.to_text().map(std::borrow::Cow::into_owned);
    let id = text(ID).and_then(|id| id.parse().ok());
    let id = id.unwrap_or_else(|| {
        let content =
            [delivery.routing_key.as_bytes(), text(AT).unwrap_or_default().as_bytes(), &delivery.body]
                .concat();
        Uuid::new_v5(&Uuid::NAMESPACE_OID, &content)
    });
    let refused = text(REASON);
    let (headers, reason) = match refused {
        Some(reason) => (delivery.properties.headers.clone(), reason),
        None => {
            let why = text(GIVEN_UP_BECAUSE).unwrap_or_else(|| "without a word".to_owned());
            (original(&delivery.properties), format!("the broker gave it up: {why}"))
        }
    };
    NewRefusal {
        id,
        reason,
        refused_at: text(AT),
        answered: text(ANSWERED).is_some(),
        exchange: text(EXCHANGE).unwrap_or_else(|| match text(GIVEN_UP_IN) {
            Some(queue) if queue == names.callbacks_in => names.callbacks.clone(),
            _ => names.orders.clone(),
        }),
        key: text(KEY).unwrap_or_else(|| delivery.routing_key.clone()),
        properties: as_json(&headers),
        body: delivery.body.clone(),
    }
}

fn as_json(headers: &[(String, HeaderValue)]) -> Value {
    let fields = headers.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(ORIGINAL)?;
        let text = value.to_text()?;
        let parsed = if name == "headers" { serde_json::from_str(&text).ok() } else { None };
        Some((name.to_owned(), parsed.unwrap_or_else(|| Value::String(text.into_owned()))))
    });
    Value::Object(fields.collect())
}

/// A stored message as it is published again.
///
/// # Errors
/// The stored properties cannot be read.
pub fn replayed_message(
    exchange: &str,
    key: &str,
    properties: &str,
    body: Vec<u8>,
) -> Result<Message, String> {
    let properties: Map<String, Value> = serde_json::from_str(properties)
        .map_err(|error| format!("its properties cannot be read: {error}"))?;
    let text = |name: &str| {
        properties.get(name).and_then(Value::as_str).map(str::to_owned).filter(|text| !is_broken(text))
    };
    let headers = properties.get("headers").and_then(Value::as_object).into_iter().flatten();
    let headers = headers
        .filter(|(name, _)| !NOT_AGAIN.contains(&name.as_str()) && name.len() <= 255)
        .map(|(name, value)| (name.clone(), header(value)))
        .collect();
    Ok(Message {
        exchange: exchange.to_owned(),
        key: key.to_owned(),
        body,
        to_one: false,
        mandatory: true,
        useful_for: None,
        properties: Properties {
            content_type: text("content-type"),
            content_encoding: text("content-encoding"),
            correlation_id: text("correlation-id"),
            // The name that the broker has not filled in yet means the channel of the sender, which we are not.
            reply_to: text("reply-to").filter(|to| to != "amq.rabbitmq.reply-to"),
            message_id: text("message-id"),
            type_: text("type"),
            app_id: text("app-id"),
            timestamp: text("timestamp").and_then(|seconds| seconds.parse().ok()),
            persistent: true,
            headers,
            ..Properties::default()
        },
    })
}

/// A header as it was before it became JSON.
fn header(value: &Value) -> HeaderValue {
    match value {
        Value::Null => HeaderValue::Null,
        Value::Bool(flag) => HeaderValue::Boolean(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(number) => HeaderValue::Integer(number),
            None => HeaderValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => HeaderValue::Text(text.clone()),
        Value::Array(items) => HeaderValue::List(items.iter().map(header).collect()),
        Value::Object(map) => marked(map).unwrap_or_else(|| {
            HeaderValue::Table(map.iter().map(|(name, value)| (name.clone(), header(value))).collect())
        }),
    }
}

/// A value that JSON has no kind for.
fn marked(map: &Map<String, Value>) -> Option<HeaderValue> {
    let (mark, value) = map.iter().next().filter(|_| map.len() == 1)?;
    match mark.as_str() {
        "$bytes" => value.as_str().and_then(bytes).map(HeaderValue::Bytes),
        "$timestamp" => value.as_u64().map(HeaderValue::Timestamp),
        _ => None,
    }
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes();
    let pairs =
        digits.chunks_exact(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    if digits.len().is_multiple_of(2) { pairs.collect() } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::delivery::DeliveryTag;
    use crate::refused::refused_message;

    fn delivery(properties: Properties) -> Delivery {
        Delivery {
            tag: DeliveryTag { generation: 1, tag: 1 },
            exchange: "pagurus.orders".to_owned(),
            routing_key: "order.create".to_owned(),
            redelivered: false,
            properties,
            body: vec![0, 159, 146, 150],
        }
    }

    #[test]
    fn amqp_1_a_message_that_was_refused_and_is_sent_again_is_what_it_was() {
        let before = Properties {
            content_type: Some("application/json".to_owned()),
            correlation_id: Some("c-1".to_owned()),
            reply_to: Some("pagurus.reply.x".to_owned()),
            message_id: Some("m-1".to_owned()),
            timestamp: Some(1_700_000_000),
            persistent: true,
            headers: vec![
                ("blob".to_owned(), HeaderValue::Bytes(vec![0, 255])),
                ("list".to_owned(), HeaderValue::List(vec!["a".into(), 5.into()])),
                ("n".to_owned(), 5.into()),
                ("when".to_owned(), HeaderValue::Timestamp(1_700_000_000)),
            ],
            ..Properties::default()
        };
        let names = Names::new("pagurus");
        let came = delivery(before.clone());
        let aside = refused_message(&names, &came, "not JSON", "2026-01-02T03:04:05Z");
        let taken = stored_form(
            &names,
            &Delivery { properties: aside.properties, body: aside.body, ..delivery(Properties::default()) },
        );
        assert_eq!(
            (taken.reason.as_str(), taken.exchange.as_str(), taken.key.as_str()),
            ("not JSON", "pagurus.orders", "order.create")
        );
        let again =
            replayed_message(&taken.exchange, &taken.key, &taken.properties.to_string(), taken.body).unwrap();
        assert_eq!((again.properties, again.body), (before, came.body));
    }

    #[test]
    fn amqp_1_what_the_broker_gave_up_by_itself_is_kept_and_nothing_goes_where_its_sender_likes() {
        let headers = vec![
            ("CC".to_owned(), HeaderValue::List(vec!["spy".into()])),
            (GIVEN_UP_BECAUSE.to_owned(), "delivery_limit".into()),
            (GIVEN_UP_IN.to_owned(), "pagurus.callbacks.in".into()),
        ];
        let came = delivery(Properties {
            headers,
            reply_to: Some("amq.rabbitmq.reply-to".to_owned()),
            ..Properties::default()
        });
        let names = Names::new("pagurus");
        let taken = stored_form(&names, &came);
        assert_eq!(
            (taken.reason.as_str(), taken.exchange.as_str()),
            ("the broker gave it up: delivery_limit", "pagurus.callbacks")
        );
        assert_eq!(taken.id, stored_form(&names, &came).id, "delivered twice, it is one");
        let again = replayed_message("e", "k", &taken.properties.to_string(), Vec::new()).unwrap().properties;
        assert!(again.header("CC").is_none() && again.reply_to.is_none());
    }
}
