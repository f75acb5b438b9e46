//! Webhooks: their URLs, the patterns that allow them, and what the answer of a receiver means.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use url::{Position, Url};

use super::wildcard::matches;
use crate::MASKED;

/// End of a URL whose query is not shown.
const HIDDEN_QUERY: &str = "?***";

/// The URL of a webhook, as the HTTP client will read it: what is checked is what is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// The fault of the URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err("must name a host, like https://hooks.example/orders".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not name a user: notifications are signed, see `notify.allow`".to_owned());
        }
        if url.fragment().is_some() {
            return Err("must not have a part after `#`: it is never sent".to_owned());
        }
        Ok(Self(url))
    }

    /// The URL as it is called.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The receiver: scheme, host and port. What goes to one receiver waits in one lane.
    #[must_use]
    pub fn receiver(&self) -> String {
        let port = self.0.port_or_known_default().unwrap_or_default();
        format!("{}://{}:{port}", self.0.scheme(), self.0.host_str().unwrap_or_default())
    }

    /// The URL without its query, in which receivers have their tokens.
    pub(super) fn place(&self) -> &str {
        &self.0[..Position::AfterPath]
    }
}

/// A URL of a client as it is shown: of a webhook without its query, in which receivers have their tokens. What names an
/// exchange or a queue is shown as it is.
#[must_use]
pub fn shown_url(url: &str) -> Cow<'_, str> {
    match url.split_once('?') {
        Some((place, _)) if place.starts_with("http") => format!("{place}?{MASKED}").into(),
        _ => url.into(),
    }
}

/// True if the query of this URL of a webhook is hidden.
pub(super) fn is_hidden(url: &str) -> bool {
    url.ends_with(HIDDEN_QUERY) && url.starts_with("http")
}

/// The whole URL for one that somebody read and sends back: the one that is kept, if that is shown so.
///
/// # Errors
/// The query is hidden, and no URL that is kept here is shown so.
pub fn whole_url(url: &str, kept: Option<&str>) -> Result<String, String> {
    if !is_hidden(url) {
        return Ok(url.to_owned());
    }
    let kept = kept.filter(|kept| shown_url(kept) == url).map(str::to_owned);
    kept.ok_or_else(|| format!("ends with `{HIDDEN_QUERY}`, as a query is shown: write the whole URL"))
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.place())
    }
}

/// An entry of `notify.allow` for webhooks: `https://HOST[:PORT][/PATH]`, with `*` for any run of characters in host and
/// path, and for any port. Each part is held against its own part of a URL, so that no path can look like a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookPattern {
    scheme: &'static str,
    host: String,
    /// None means any.
    port: Option<u16>,
    /// None means any path.
    path: Option<String>,
    /// The name of the secret with which notifications are signed.
    pub secret: String,
    /// Name of the certificate that is shown to the receiver.
    pub certificate: Option<String>,
}

impl WebhookPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Says how to write it.
    pub fn parse(text: &str, secret: &str) -> Result<Self, String> {
        let refused = |why: &str| format!("`{text}` {why}; write it like `https://hooks.example/orders/*`");
        let (scheme, rest, usual) = match text.split_once("://") {
            Some(("https", rest)) => ("https", rest, 443),
            Some(("http", rest)) => ("http", rest, 80),
            _ => return Err(refused("does not begin with `https://` or `http://`")),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], Some(rest[at..].to_owned())),
            None => (rest, None),
        };
        let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if is_port(port) => {
                (host, Some(port.parse().map_err(|_| refused("has an invalid port"))?))
            }
            Some((host, "*")) => (host, None),
            _ => (authority, Some(usual)),
        };
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let allowed = |c: char| match literal {
            Some(_) => c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '[' | ']'),
            None => c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*'),
        };
        if host.is_empty() || !host.chars().all(allowed) {
            return Err(refused("has no valid host"));
        }
        if host.chars().all(|c| matches!(c, '*' | '.')) {
            return Err(refused("would let an order choose any host"));
        }
        let host = host.to_ascii_lowercase();
        Ok(Self { scheme, host, port, path, secret: secret.to_owned(), certificate: None })
    }

    /// The same for receivers that are shown this certificate.
    ///
    /// # Errors
    /// They are called without TLS.
    pub fn showing(self, certificate: &str) -> Result<Self, String> {
        if self.scheme != "https" {
            return Err(
                "a certificate can be presented only over TLS: begin `url` with `https://`".to_owned()
            );
        }
        Ok(Self { certificate: Some(certificate.to_owned()), ..self })
    }

    /// True if the entry names this URL.
    #[must_use]
    pub fn takes(&self, url: &WebhookUrl) -> bool {
        let url = &url.0;
        let host = url.host_str().unwrap_or_default();
        url.scheme() == self.scheme
            && (self.port.is_none() || url.port_or_known_default() == self.port)
            && matches(&self.host, host.trim_end_matches('.'))
            && self.path.as_deref().is_none_or(|path| matches(path, &url[Position::BeforePath..]))
    }
}

/// The answer of a receiver, as Standard Webhooks reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverAnswer {
    /// 2xx: it has the notification.
    Delivered,
    /// 410: it wants no more.
    Gone,
    /// 408, 425, 429 or 5xx: the receiver is in trouble, and may say for how long.
    Busy {
        /// From `Retry-After`, in seconds.
        retry_after: Option<Duration>,
    },
    /// Anything else, redirects among them: this notification was refused. It is sent again, since receivers are mended.
    Refused,
}

impl ReceiverAnswer {
    /// Reads a status, with the field `Retry-After` that came with it. A date in it says nothing here.
    #[must_use]
    pub fn of(status: u16, retry_after: Option<&str>) -> Self {
        match status {
            200..300 => Self::Delivered,
            410 => Self::Gone,
            408 | 425 | 429 | 500.. => {
                let seconds = retry_after.and_then(|text| text.trim().parse().ok());
                Self::Busy { retry_after: seconds.map(Duration::from_secs) }
            }
            _ => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn takes(pattern: &str, url: &str) -> bool {
        WebhookPattern::parse(pattern, "s").unwrap().takes(&WebhookUrl::parse(url).unwrap())
    }

    #[test]
    fn ord_18_a_pattern_names_scheme_host_port_and_path_each_by_its_own_part() {
        for url in [
            "https://hooks.example/orders/1",
            "https://HOOKS.example:443/orders/1?a=b",
            "https://hooks.example./orders/",
        ] {
            assert!(takes("https://hooks.example/orders/*", url), "{url}");
        }
        for url in [
            "http://hooks.example/orders/1",
            "https://hooks.example:8443/orders/1",
            "https://hooks.example.evil.test/orders/1",
            "https://evil.test/hooks.example/orders/1",
            "https://hooks.example/orders/../admin",
            "https://hooks.example/orders/%2e%2e/admin",
            "https://hooks.example",
        ] {
            assert!(!takes("https://hooks.example/orders/*", url), "{url}");
        }
        assert!(takes("http://*.example:8080", "http://a.b.example:8080/any?x"));
        assert!(!takes("http://*.example:8080", "http://evil.test:8080/.example"));
        assert!(takes("http://[::1]:9/x", "http://[::1]:9/x"));
        assert!(
            takes("http://127.0.0.1:*", "http://127.0.0.1:8080/")
                && takes("http://127.0.0.1:*/a", "http://127.0.0.1/a")
        );
    }

    #[test]
    fn ord_18_a_pattern_that_names_no_host_is_refused() {
        for bad in [
            "",
            "hooks.example",
            "ftp://a",
            "https://",
            "https://*",
            "https://*.*/x",
            "https://a:99999",
            "https://u@a/",
        ] {
            assert!(WebhookPattern::parse(bad, "s").is_err(), "{bad}");
        }
    }

    #[test]
    fn ord_18_a_url_has_a_host_and_neither_user_nor_fragment() {
        for bad in
            ["https://", "https:///x y", "https://u:p@h/", "https://u@h/", "https://h/#a", "https://h:99999/"]
        {
            assert!(WebhookUrl::parse(bad).is_err(), "{bad}");
        }
        let url = WebhookUrl::parse("https://Hooks.Example/a?token=t").unwrap();
        assert_eq!(url.receiver(), "https://hooks.example:443");
        assert_eq!(url.to_string(), "https://hooks.example/a", "a token is not shown");
        assert_eq!(url.as_str(), "https://hooks.example/a?token=t");
    }

    #[test]
    fn scn_15_a_webhook_is_shown_without_its_query_and_sent_back_as_the_one_that_is_kept() {
        let kept = "https://Hooks.example/a?token=t?u";
        let shown = shown_url(kept);
        assert_eq!(shown, "https://Hooks.example/a?***");
        assert_eq!(shown_url(&shown), shown);
        for other in ["https://hooks.example/a", "amqp://?key=k", "callback:1"] {
            assert_eq!(shown_url(other), other);
            assert_eq!(whole_url(other, Some(kept)).unwrap(), other);
        }
        assert_eq!(whole_url(&shown, Some(kept)).unwrap(), kept);
        for other in [None, Some("https://hooks.example/b?token=t"), Some("amqp://?key=k")] {
            assert!(whole_url(&shown, other).unwrap_err().contains("write the whole URL"));
        }
    }

    #[test]
    fn ord_18_a_receiver_has_it_with_2xx_wants_no_more_with_410_and_gets_it_again_with_all_else() {
        let after = |seconds| ReceiverAnswer::Busy { retry_after: Some(Duration::from_secs(seconds)) };
        let busy = ReceiverAnswer::Busy { retry_after: None };
        for (status, field, expected) in [
            (200, None, ReceiverAnswer::Delivered),
            (204, None, ReceiverAnswer::Delivered),
            (301, None, ReceiverAnswer::Refused),
            (400, None, ReceiverAnswer::Refused),
            (404, None, ReceiverAnswer::Refused),
            (410, None, ReceiverAnswer::Gone),
            (429, Some(" 7"), after(7)),
            (500, None, busy),
            (503, Some("Wed, 21 Oct 2026 07:28:00 GMT"), busy),
        ] {
            assert_eq!(ReceiverAnswer::of(status, field), expected, "{status}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ord_18_qlt_8_no_text_breaks_the_readers_and_a_url_that_is_taken_is_taken_as_it_is_called(
            text in proptest::prop_oneof!["https?://[a-z0-9@:/?#\\[\\]%.é*]{0,20}", crate::any::text()],
            host in "[a-z]{1,8}\\.example",
        ) {
            if let Ok(url) = WebhookUrl::parse(&text) {
                proptest::prop_assert_eq!(WebhookUrl::parse(url.as_str()), Ok(url.clone()));
                proptest::prop_assert!(shown_url(url.as_str()).len() <= url.as_str().len() + HIDDEN_QUERY.len());
            }
            // Whatever a pattern is, it takes no host that it does not name.
            if let Ok(pattern) = WebhookPattern::parse(&text, "s") {
                let url = WebhookUrl::parse(&format!("{}://{host}/", pattern.scheme)).unwrap();
                proptest::prop_assert!(!pattern.takes(&url) || matches(&pattern.host, &host));
            }
        }
    }
}
