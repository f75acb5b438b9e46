//! Targets of messages to clients, and the URLs that name them.

use std::fmt;

use percent_encoding::percent_decode_str;

use super::webhook::WebhookUrl;
use crate::id::RequestId;

/// Longest name in AMQP, in bytes: a short string.
pub(super) const MAX_NAME_BYTES: usize = 255;

/// Target of a message to a client.
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
    /// To a receiver over HTTP.
    Webhook(WebhookUrl),
    /// To the engine itself, as the answer to a request: the end of a child order is a callback of
    /// its parent. No client can ask for it.
    Callback(RequestId),
}

/// Prefix of the URL of a callback.
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
    /// The fault of the URL.
    pub fn stored(url: &str) -> Result<Self, String> {
        match url.strip_prefix(CALLBACK) {
            Some(id) => id.parse().map(Self::Callback).map_err(|_| format!("`{id}` is not a request")),
            None => Self::parse(url),
        }
    }

    /// Reads `amqp://?queue=…`, `amqp://?key=…` or `amqp://?exchange=…&key=…`, or the URL of a webhook.
    ///
    /// # Errors
    /// The fault of the URL.
    pub fn parse(url: &str) -> Result<Self, String> {
        if url.starts_with("https://") || url.starts_with("http://") {
            return WebhookUrl::parse(url).map(Self::Webhook);
        }
        let Some(query) = url.strip_prefix("amqp://?").or_else(|| url.strip_prefix("amqp:///?")) else {
            return Err("must begin with `amqp://?`, like amqp://?exchange=orders&key=done, or be the `https://` URL of \
                        a webhook"
                .into());
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
            Self::Webhook(url) => write!(f, "webhook `{url}`"),
            Self::Exchange { exchange: None, key } => write!(f, "key `{key}`"),
            Self::Exchange { exchange: Some(exchange), key } => {
                write!(f, "exchange `{exchange}` with key `{key}`")
            }
        }
    }
}

/// Decodes what a URL writes with `%`. The library passes over a `%` that begins nothing: its author
/// meant something else.
fn percent_decode(text: &str) -> Result<String, String> {
    let is_code = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_code) {
        return Err("has `%` without two hexadecimal digits".to_owned());
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| "is not UTF-8 after decoding".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn ord_18_a_url_names_a_queue_or_a_key_or_an_exchange_with_a_key() {
        let exchange = |exchange: Option<&str>, key: &str| Target::Exchange {
            exchange: exchange.map(str::to_owned),
            key: key.to_owned(),
        };
        assert_eq!(Target::parse("amqp://?queue=a%2Fb"), Ok(Target::Queue("a/b".into())));
        assert_eq!(Target::parse("amqp://?key=k"), Ok(exchange(None, "k")));
        assert_eq!(
            Target::parse("amqp://?exchange=brt&key=ps.status"),
            Ok(exchange(Some("brt"), "ps.status"))
        );
        for bad in [
            "ftp://x",
            "http://",
            "amqp://host/?key=k",
            "amqp://?",
            "amqp://?queue=a&key=b",
            "amqp://?exchange=a",
            "amqp://?key=%4",
            "amqp://?key=a&key=b",
            "amqp://?key=%0a",
            "amqp://?x=1",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
        assert!(Target::parse(&format!("amqp://?key={}", "k".repeat(256))).is_err());
    }

    #[test]
    fn ord_18_a_url_of_http_names_a_webhook() {
        let Ok(Target::Webhook(url)) = Target::parse("https://hooks.example/a") else { panic!() };
        assert_eq!(url.as_str(), "https://hooks.example/a");
        assert_eq!(Target::stored("https://hooks.example/a"), Ok(Target::Webhook(url)));
        assert_eq!(Target::parse("amqp://?queue=%D1%8F%25"), Ok(Target::Queue("я%".into())));
        assert!(Target::parse("amqp://?queue=%ff").is_err());
    }

    proptest::proptest! {
        #[test]
        fn ord_18_qlt_8_no_url_breaks_the_reader_and_names_come_back_from_their_escapes(
            text in proptest::prop_oneof!["(amqp://\\?(queue|key|exchange)=[a%&=#?é/0-9]{0,12})", "https?://[a-z0-9@:/?#\\[\\]%.é]{0,16}", crate::any::text()],
            queue in "\\PC{1,40}",
        ) {
            let _ = (Target::parse(&text), Target::stored(&text));
            let escaped: String = queue.bytes().map(|byte| format!("%{byte:02X}")).collect();
            if queue.len() <= MAX_NAME_BYTES {
                proptest::prop_assert_eq!(Target::parse(&format!("amqp://?queue={escaped}")), Ok(Target::Queue(queue)));
            }
        }
    }
}
