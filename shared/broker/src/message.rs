//! Messages as plain data: what is published, what is delivered, and the values of headers.
//!
//! Nothing of lapin is visible outside. Every string that goes into an AMQP short string is checked
//! here, because one byte too many would panic or break the connection.

use std::borrow::Cow;
use std::time::Duration;

use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldArray, FieldTable, LongString, MAX_SHORT_STRING_LENGTH, ShortString},
};
use serde_json::{Map, Value, json};

use crate::error::Error;

/// A content header must fit into one frame, which is 128 KiB by default; the rest is left to the
/// other properties. A larger one would end the whole connection with a frame error.
const MAX_HEADER_BYTES: usize = 96 * 1024;
/// Delivery mode of AMQP for messages that survive a restart of the broker.
const PERSISTENT: u8 = 2;

/// The value of one header.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderValue {
    /// Text in UTF-8.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// Any whole number.
    Integer(i64),
    /// Any number with a fraction; AMQP decimals come as this.
    Float(f64),
    /// Yes or no.
    Boolean(bool),
    /// Seconds since 1970-01-01 UTC.
    Timestamp(u64),
    /// Several values.
    List(Vec<HeaderValue>),
    /// Named values.
    Table(Vec<(String, HeaderValue)>),
    /// No value.
    Null,
}

impl HeaderValue {
    /// The text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A single value as text; senders do not always write a status as one.
    #[must_use]
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Text(text) => text.into(),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes),
            Self::Integer(number) => number.to_string().into(),
            Self::Float(number) => number.to_string().into(),
            Self::Boolean(boolean) => boolean.to_string().into(),
            Self::Timestamp(_) | Self::List(_) | Self::Table(_) | Self::Null => return None,
        })
    }
}

impl From<&str> for HeaderValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for HeaderValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for HeaderValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// Properties of a message, in both directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// MIME type of the body.
    pub content_type: Option<String>,
    /// Encoding of the body, such as `gzip`.
    pub content_encoding: Option<String>,
    /// Ties an answer to its request.
    pub correlation_id: Option<String>,
    /// Queue for the answer.
    pub reply_to: Option<String>,
    /// Identity of the message, the same over repeats.
    pub message_id: Option<String>,
    /// Kind of the message, as its sender says.
    pub type_: Option<String>,
    /// Program that sent it.
    pub app_id: Option<String>,
    /// Broker user that sent it. Read only: sending it back would be refused by the broker.
    pub user_id: Option<String>,
    /// Time to live in ms, as text. Read only: kept on a copy it would make that vanish.
    pub expiration: Option<String>,
    /// Seconds since 1970-01-01 UTC.
    pub timestamp: Option<u64>,
    /// Priority as the sender says. Read only.
    pub priority: Option<u8>,
    /// True if the message survives a restart of the broker.
    pub persistent: bool,
    /// Headers in the order of their names.
    pub headers: Vec<(String, HeaderValue)>,
}

impl Properties {
    /// The value of the header with this name, in whatever case it is written.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&HeaderValue> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A message to publish.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Exchange; empty for the default exchange, where the key is the name of a queue.
    pub exchange: String,
    /// Routing key.
    pub key: String,
    /// Content.
    pub body: Vec<u8>,
    /// True if being routed to no queue at all is reported as [`crate::Published::Unroutable`].
    pub mandatory: bool,
    /// The broker drops the message after this time in a queue; none keeps it. Whole milliseconds.
    pub useful_for: Option<Duration>,
    /// True if one queue is to have it, whichever it is: of transient messages, one that a service of the same process has taken does
    /// not go to the broker.
    pub to_one: bool,
    /// Everything else.
    pub properties: Properties,
}

impl Message {
    /// A persistent, mandatory JSON message without further properties.
    pub fn json(exchange: impl Into<String>, key: impl Into<String>, body: Vec<u8>) -> Self {
        Self {
            exchange: exchange.into(),
            key: key.into(),
            body,
            mandatory: true,
            useful_for: None,
            to_one: false,
            properties: Properties {
                content_type: Some("application/json".to_owned()),
                persistent: true,
                ..Properties::default()
            },
        }
    }
}

/// Headers as a JSON object, as scenarios read them. Bytes that are not text become `{"$bytes": "<hexadecimal>"}`, times seconds.
#[must_use]
pub fn headers_to_json(headers: &[(String, HeaderValue)]) -> Value {
    object(headers, |seconds| json!(seconds))
}

/// The same for a message that is kept: times become `{"$timestamp": <seconds>}`, so that they can be times again.
pub(crate) fn headers_to_keep(headers: &[(String, HeaderValue)]) -> Value {
    object(headers, |seconds| json!({ "$timestamp": seconds }))
}

fn object(headers: &[(String, HeaderValue)], time: fn(u64) -> Value) -> Value {
    let object: Map<String, Value> =
        headers.iter().map(|(name, value)| (name.clone(), value_to_json(value, time))).collect();
    Value::Object(object)
}

fn value_to_json(value: &HeaderValue, time: fn(u64) -> Value) -> Value {
    match value {
        HeaderValue::Text(text) => json!(text),
        HeaderValue::Bytes(bytes) => {
            let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "$bytes": hexadecimal })
        }
        HeaderValue::Integer(number) => json!(number),
        HeaderValue::Float(number) => json!(number),
        HeaderValue::Boolean(boolean) => json!(boolean),
        HeaderValue::Timestamp(seconds) => time(*seconds),
        HeaderValue::List(values) => values.iter().map(|value| value_to_json(value, time)).collect(),
        HeaderValue::Table(entries) => object(entries, time),
        HeaderValue::Null => Value::Null,
    }
}

/// A short string, or a fault that names the field.
pub(crate) fn short(field: &'static str, text: &str) -> Result<ShortString, Error> {
    ShortString::try_new(text).map_err(|_| Error::InvalidName {
        field,
        bytes: text.len(),
        limit: MAX_SHORT_STRING_LENGTH,
    })
}

/// The properties as lapin wants them. What is read only stays behind.
pub(crate) fn to_amqp(properties: &Properties) -> Result<BasicProperties, Error> {
    let mut amqp = BasicProperties::default();
    if properties.persistent {
        amqp = amqp.with_delivery_mode(PERSISTENT);
    }
    if let Some(text) = &properties.content_type {
        amqp = amqp.with_content_type(short("content_type", text)?);
    }
    if let Some(text) = &properties.content_encoding {
        amqp = amqp.with_content_encoding(short("content_encoding", text)?);
    }
    if let Some(text) = &properties.correlation_id {
        amqp = amqp.with_correlation_id(short("correlation_id", text)?);
    }
    if let Some(text) = &properties.reply_to {
        amqp = amqp.with_reply_to(short("reply_to", text)?);
    }
    if let Some(text) = &properties.message_id {
        amqp = amqp.with_message_id(short("message_id", text)?);
    }
    if let Some(text) = &properties.type_ {
        amqp = amqp.with_type(short("type", text)?);
    }
    if let Some(text) = &properties.app_id {
        amqp = amqp.with_app_id(short("app_id", text)?);
    }
    if let Some(seconds) = properties.timestamp {
        amqp = amqp.with_timestamp(seconds);
    }
    if !properties.headers.is_empty() {
        let bytes = table_size(&properties.headers);
        if bytes > MAX_HEADER_BYTES {
            return Err(Error::HeadersTooLarge { bytes, limit: MAX_HEADER_BYTES });
        }
        amqp = amqp.with_headers(to_table(&properties.headers)?);
    }
    Ok(amqp)
}

/// The properties of a message, with the time after which nobody needs it. The broker takes no time
/// above 32 bits of milliseconds: for 49 days and more a message is kept for ever.
pub(crate) fn to_amqp_for(message: &Message) -> Result<BasicProperties, Error> {
    let amqp = to_amqp(&message.properties)?;
    let useful_for = message.useful_for.and_then(|time| u32::try_from(time.as_millis()).ok());
    match useful_for {
        Some(milliseconds) => Ok(amqp.with_expiration(short("expiration", &milliseconds.to_string())?)),
        None => Ok(amqp),
    }
}

/// Encoded size of a table in bytes, or a little more.
fn table_size(entries: &[(String, HeaderValue)]) -> usize {
    let size = |(name, value): &(String, HeaderValue)| 2 + name.len() + value_size(value);
    4 + entries.iter().map(size).sum::<usize>()
}

fn value_size(value: &HeaderValue) -> usize {
    match value {
        HeaderValue::Text(text) => 4 + text.len(),
        HeaderValue::Bytes(bytes) => 4 + bytes.len(),
        HeaderValue::List(values) => 4 + values.iter().map(|value| 1 + value_size(value)).sum::<usize>(),
        HeaderValue::Table(entries) => table_size(entries),
        HeaderValue::Integer(_)
        | HeaderValue::Float(_)
        | HeaderValue::Timestamp(_)
        | HeaderValue::Boolean(_)
        | HeaderValue::Null => 8,
    }
}

fn to_table(entries: &[(String, HeaderValue)]) -> Result<FieldTable, Error> {
    let mut table = FieldTable::default();
    for (name, value) in entries {
        table.insert(short("header name", name)?, to_value(value)?);
    }
    Ok(table)
}

fn to_value(value: &HeaderValue) -> Result<AMQPValue, Error> {
    Ok(match value {
        HeaderValue::Text(text) => AMQPValue::LongString(LongString::from(text.as_bytes())),
        HeaderValue::Bytes(bytes) => AMQPValue::ByteArray(bytes.as_slice().into()),
        HeaderValue::Integer(number) => AMQPValue::LongLongInt(*number),
        HeaderValue::Float(number) => AMQPValue::Double(*number),
        HeaderValue::Boolean(boolean) => AMQPValue::Boolean(*boolean),
        HeaderValue::Timestamp(seconds) => AMQPValue::Timestamp(*seconds),
        HeaderValue::List(values) => {
            let values = values.iter().map(to_value).collect::<Result<Vec<_>, _>>()?;
            AMQPValue::FieldArray(FieldArray::from(values))
        }
        HeaderValue::Table(entries) => AMQPValue::FieldTable(to_table(entries)?),
        HeaderValue::Null => AMQPValue::Void,
    })
}

/// The properties of something that arrived.
pub(crate) fn from_amqp(amqp: &BasicProperties) -> Properties {
    let text = |field: &Option<ShortString>| field.as_ref().map(ToString::to_string);
    Properties {
        content_type: text(amqp.content_type()),
        content_encoding: text(amqp.content_encoding()),
        correlation_id: text(amqp.correlation_id()),
        reply_to: text(amqp.reply_to()),
        message_id: text(amqp.message_id()),
        type_: text(amqp.kind()),
        app_id: text(amqp.app_id()),
        user_id: text(amqp.user_id()),
        expiration: text(amqp.expiration()),
        timestamp: *amqp.timestamp(),
        priority: *amqp.priority(),
        persistent: *amqp.delivery_mode() == Some(PERSISTENT),
        headers: amqp.headers().as_ref().map(from_table).unwrap_or_default(),
    }
}

fn from_table(table: &FieldTable) -> Vec<(String, HeaderValue)> {
    table.into_iter().map(|(name, value)| (name.to_string(), from_value(value))).collect()
}

fn from_value(value: &AMQPValue) -> HeaderValue {
    match value {
        AMQPValue::Boolean(boolean) => HeaderValue::Boolean(*boolean),
        AMQPValue::ShortShortInt(number) => HeaderValue::Integer(i64::from(*number)),
        AMQPValue::ShortShortUInt(number) => HeaderValue::Integer(i64::from(*number)),
        AMQPValue::ShortInt(number) => HeaderValue::Integer(i64::from(*number)),
        AMQPValue::ShortUInt(number) => HeaderValue::Integer(i64::from(*number)),
        AMQPValue::LongInt(number) => HeaderValue::Integer(i64::from(*number)),
        AMQPValue::LongUInt(number) => HeaderValue::Integer(i64::from(*number)),
        AMQPValue::LongLongInt(number) => HeaderValue::Integer(*number),
        AMQPValue::Float(number) => HeaderValue::Float(f64::from(*number)),
        AMQPValue::Double(number) => HeaderValue::Float(*number),
        AMQPValue::DecimalValue(decimal) => {
            let scale = 10_f64.powi(i32::from(decimal.scale));
            HeaderValue::Float(f64::from(decimal.value) / scale)
        }
        AMQPValue::ShortString(text) => HeaderValue::Text(text.to_string()),
        AMQPValue::LongString(text) => match std::str::from_utf8(text.as_bytes()) {
            Ok(text) => HeaderValue::Text(text.to_owned()),
            Err(_) => HeaderValue::Bytes(text.as_bytes().to_vec()),
        },
        AMQPValue::FieldArray(array) => HeaderValue::List(array.as_slice().iter().map(from_value).collect()),
        AMQPValue::Timestamp(seconds) => HeaderValue::Timestamp(*seconds),
        AMQPValue::FieldTable(table) => HeaderValue::Table(from_table(table)),
        AMQPValue::ByteArray(bytes) => HeaderValue::Bytes(bytes.as_slice().to_vec()),
        AMQPValue::Void => HeaderValue::Null,
    }
}

#[cfg(test)]
mod tests;
