//! Targets of messages to clients, and the URLs that name them.

use std::fmt;

use crate::id::RequestId;

/// Longest name in AMQP, in bytes: a short string.
pub(super) const MAX_NAME_BYTES: usize = 255;

/// Where a message to a client goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Straight into a queue.
    Queue(String),
    /// To an exchange (the configured one where none is named) with a routing key.
    Exchange {
        /// None means the configured default exchange.
        exchange: Option<String>,
        /// The routing key.
        key: String,
    },
    /// To the engine itself, as the answer to a request: the end of a child order is a callback of
    /// its parent. No client can ask for it.
    Callback(RequestId),
}

/// What the URL of a callback begins with.
pub(super) const CALLBACK: &str = "callback:";

impl Target {
    /// The URL under which the end of a child order is kept.
    #[must_use]
    pub fn callback_url(request: RequestId) -> String {
        format!("{CALLBACK}{request}")
    }

    /// Reads a URL as it is stored: of a client, or of the engine itself.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn stored(url: &str) -> Result<Self, String> {
        match url.strip_prefix(CALLBACK) {
            Some(id) => id.parse().map(Self::Callback).map_err(|_| format!("`{id}` is no request")),
            None => Self::parse(url),
        }
    }

    /// Reads `amqp://?queue=…`, `amqp://?key=…` or `amqp://?exchange=…&key=…`.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn parse(url: &str) -> Result<Self, String> {
        let Some(query) = url.strip_prefix("amqp://?").or_else(|| url.strip_prefix("amqp:///?")) else {
            return Err("must begin with `amqp://?`, like amqp://?exchange=orders&key=done".into());
        };
        let (mut queue, mut exchange, mut key) = (None, None, None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode(value)?;
            if value.is_empty() || value.len() > MAX_NAME_BYTES || value.chars().any(char::is_control) {
                return Err(format!(
                    "`{name}` must have 1 to {MAX_NAME_BYTES} bytes without control characters"
                ));
            }
            let place = match name {
                "queue" => &mut queue,
                "exchange" => &mut exchange,
                "key" => &mut key,
                _ => return Err("may only name `queue`, `exchange` and `key`".into()),
            };
            if place.replace(value).is_some() {
                return Err(format!("names `{name}` twice"));
            }
        }
        match (queue, exchange, key) {
            (Some(queue), None, None) => Ok(Self::Queue(queue)),
            (None, exchange, Some(key)) => Ok(Self::Exchange { exchange, key }),
            _ => Err("needs `queue`, or `key`, or `exchange` and `key`".into()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(queue) => write!(f, "queue `{queue}`"),
            Self::Callback(request) => write!(f, "request {request}"),
            Self::Exchange { exchange: None, key } => write!(f, "key `{key}`"),
            Self::Exchange { exchange: Some(exchange), key } => {
                write!(f, "exchange `{exchange}` with key `{key}`")
            }
        }
    }
}

fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
            let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
            bytes.push(decoded.ok_or("has `%` without two hexadecimal digits")?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 after decoding".to_owned())
}
