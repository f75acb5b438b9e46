//! Form of a message that can never be handled, as it is kept.
//!
//! The body stays byte for byte. The original properties are kept as *data* in headers and never as
//! properties: an expiration would make the copy vanish, a user id would be refused by the broker,
//! and `CC` would send it where its sender likes.

mod kept;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    delivery::Delivery,
    message::{HeaderValue, Message, Properties, headers_to_keep},
    topology::Names,
};

pub use kept::{NewRefusal, replayed_message, stored_form};

/// Enough for every honest message, and far below what a frame can hold.
const MAX_ORIGINAL_BYTES: usize = 32 * 1024;
/// Longest reason in bytes; more would be no reason but a document.
const MAX_REASON_BYTES: usize = 4 * 1024;

/// Header with the id that the message is given at its refusal.
pub const ID: &str = "refused-id";
/// Header with the reason, for people.
pub const REASON: &str = "refused-reason";
/// Header with the time of the refusal.
pub const AT: &str = "refused-at";
/// Header with the exchange to which the message had been published.
pub const EXCHANGE: &str = "refused-exchange";
/// Header with the key with which the message had been published.
pub const KEY: &str = "refused-key";
/// Header that says that the broker confirmed the receipt to the sender of the message.
pub const ANSWERED: &str = "refused-answered";
/// First part of the headers that hold the original properties.
pub const ORIGINAL: &str = "x-orig-";
/// Header that says that something did not fit.
pub const TRUNCATED: &str = "x-orig-truncated";

/// The message for the queue of refused messages. `at` is the time of the refusal in RFC 3339.
#[must_use]
pub fn refused_message(names: &Names, delivery: &Delivery, reason: &str, at: &str) -> Message {
    let mut headers = vec![
        (ID.to_owned(), Uuid::new_v4().to_string().into()),
        (REASON.to_owned(), bounded(reason).into()),
        (AT.to_owned(), at.into()),
        (EXCHANGE.to_owned(), delivery.exchange.as_str().into()),
        (KEY.to_owned(), delivery.routing_key.as_str().into()),
    ];
    headers.extend(original(&delivery.properties));
    Message {
        exchange: names.refused.clone(),
        key: String::new(),
        body: delivery.body.clone(),
        to_one: false,
        mandatory: true,
        useful_for: None,
        properties: Properties { persistent: true, headers, ..Properties::default() },
    }
}

/// The same for a message whose sender got a receipt.
#[must_use]
pub fn answered(mut refused: Message) -> Message {
    refused.properties.headers.push((ANSWERED.to_owned(), "true".into()));
    refused
}

fn original(properties: &Properties) -> Vec<(String, HeaderValue)> {
    let timestamp = properties.timestamp.map(|seconds| seconds.to_string());
    let priority = properties.priority.map(|priority| priority.to_string());
    let delivery_mode = if properties.persistent { "2" } else { "1" };
    let fields = [
        ("content-type", properties.content_type.as_deref()),
        ("content-encoding", properties.content_encoding.as_deref()),
        ("correlation-id", properties.correlation_id.as_deref()),
        ("reply-to", properties.reply_to.as_deref()),
        ("message-id", properties.message_id.as_deref()),
        ("type", properties.type_.as_deref()),
        ("app-id", properties.app_id.as_deref()),
        ("user-id", properties.user_id.as_deref()),
        ("expiration", properties.expiration.as_deref()),
        ("timestamp", timestamp.as_deref()),
        ("priority", priority.as_deref()),
        ("delivery-mode", Some(delivery_mode)),
    ];
    let mut headers: Vec<(String, HeaderValue)> = fields
        .into_iter()
        .filter_map(|(name, text)| Some((format!("{ORIGINAL}{name}"), text?.into())))
        .collect();
    // All fields together have less than 3 KiB: only headers can be too much.
    let used: usize =
        headers.iter().map(|(name, value)| name.len() + value.as_text().map_or(0, str::len)).sum();
    let (kept, truncated) = headers_within(
        &properties.headers,
        MAX_ORIGINAL_BYTES.saturating_sub(used + TRUNCATED.len() + "true".len()),
    );
    if !properties.headers.is_empty() {
        headers.push((format!("{ORIGINAL}headers"), kept.into()));
    }
    if truncated {
        headers.push((TRUNCATED.to_owned(), "true".into()));
    }
    headers
}

/// Returns as many headers as fit, as JSON text, and true if some did not.
fn headers_within(headers: &[(String, HeaderValue)], limit: usize) -> (String, bool) {
    let Value::Object(all) = headers_to_keep(headers) else {
        return ("{}".to_owned(), true);
    };
    let count = all.len();
    let mut kept = Map::new();
    let mut used = ORIGINAL.len() + "headers".len() + "{}".len();
    for (name, value) in all {
        // Quotes, colon and comma; escapes count with the text.
        let size = Value::String(name.clone()).to_string().len() + value.to_string().len() + 2;
        if used + size <= limit {
            used += size;
            kept.insert(name, value);
        }
    }
    let truncated = kept.len() < count;
    (Value::Object(kept).to_string(), truncated)
}

fn bounded(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;
    use crate::{delivery::DeliveryTag, message::to_amqp};

    fn delivery(properties: Properties) -> Delivery {
        Delivery {
            tag: DeliveryTag { generation: 1, tag: 1 },
            exchange: "pagurus.orders".to_owned(),
            routing_key: "k".repeat(255),
            redelivered: false,
            properties,
            body: vec![0, 159, 146, 150],
        }
    }

    fn text<'a>(message: &'a Message, name: &str) -> &'a str {
        let header = message.properties.header(name);
        header.and_then(HeaderValue::as_text).unwrap()
    }

    #[test]
    fn amqp_1_properties_become_data() {
        let delivery = delivery(Properties {
            message_id: Some("m-1".to_owned()),
            reply_to: Some("somewhere".to_owned()),
            user_id: Some("guest".to_owned()),
            expiration: Some("1000".to_owned()),
            headers: vec![
                ("CC".to_owned(), HeaderValue::List(vec!["spy".into()])),
                ("n".to_owned(), 5.into()),
            ],
            ..Properties::default()
        });
        let names = Names::new("pagurus");
        let message = refused_message(&names, &delivery, "not JSON", "2026-01-02T03:04:05Z");
        assert_eq!(message.body, delivery.body);
        assert!(message.properties.persistent && message.mandatory);
        assert_eq!(message.properties.reply_to, None);
        assert_eq!(message.properties.expiration, None);
        assert_eq!(message.properties.header("CC"), None);
        assert_eq!(text(&message, REASON), "not JSON");
        assert_eq!(text(&message, AT), "2026-01-02T03:04:05Z");
        assert_eq!(text(&message, "x-orig-message-id"), "m-1");
        assert_eq!(text(&message, "x-orig-expiration"), "1000");
        assert_eq!(text(&message, "x-orig-headers"), r#"{"CC":["spy"],"n":5}"#);
        assert_eq!(message.properties.header(TRUNCATED), None);
    }

    #[test]
    fn amqp_1_a_flood_of_headers_is_bounded_and_still_fits_a_frame() {
        let headers = (0..2000).map(|number| (format!("h{number}"), "\"".repeat(60).into())).collect();
        let delivery = delivery(Properties { headers, ..Properties::default() });
        let reason = "é".repeat(10_000);
        let message = refused_message(&Names::new("pagurus"), &delivery, &reason, "now");
        assert_eq!(text(&message, TRUNCATED), "true");
        let size: usize = message
            .properties
            .headers
            .iter()
            .filter(|(name, _)| name.starts_with(ORIGINAL))
            .map(|(name, value)| name.len() + value.as_text().map_or(0, str::len))
            .sum();
        assert!(size > 30_000 && size <= MAX_ORIGINAL_BYTES, "{size}");
        assert!(text(&message, REASON).len() <= MAX_REASON_BYTES);
        assert!(to_amqp(&message.properties).is_ok());
    }
}
