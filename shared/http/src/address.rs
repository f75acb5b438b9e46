//! Target of a request: the called system, and the path there.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hyper::Uri;
use hyper::header::HeaderValue;
use url::{Position, Url};

use super::Broken;

/// A parsed URL.
#[derive(Clone, Debug)]
pub struct Address {
    /// The called system.
    pub authority: Arc<Authority>,
    /// The path with its query, as the request line has it.
    pub path: Uri,
    /// Name of the certificate that is shown to the system.
    pub certificate: Option<Box<str>>,
    /// Names of the secrets that are sent there.
    pub secrets: Arc<[String]>,
    /// Time by which a new connection is made, where that may come before the time of all connections is over.
    pub(super) connects_by: Option<Instant>,
}

/// A called system: scheme, host and port.
#[derive(Debug)]
pub struct Authority {
    /// The beginning of its URLs, up to the path, as they are written.
    pub text: Box<str>,
    /// True if it is asked by TLS.
    pub tls: bool,
    /// The host: a name in ASCII, or a literal address without brackets.
    pub host: Box<str>,
    /// The port.
    pub port: u16,
    /// The value of `Host`.
    pub host_field: HeaderValue,
    /// The value of `Authorization`, for a URL with a user.
    pub credentials: Option<HeaderValue>,
}

impl Authority {
    /// The address, if the host is written as one.
    #[must_use]
    pub fn literal(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    fn of(text: &str, url: &Url) -> Result<Self, Broken> {
        let refused = |why: &str| Broken::Url(format!("`{}` {why}", text_without_user(url)));
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => return Err(Broken::Url(format!("`{other}` is no scheme for a call"))),
        };
        let host = url.host_str().ok_or_else(|| refused("has no host"))?;
        let port = url.port_or_known_default().ok_or_else(|| refused("has no port"))?;
        let host_field = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
            .map_err(|_| refused("has no host that can be written"))?;
        Ok(Self {
            text: text.into(),
            tls,
            host: host.trim_matches(['[', ']']).into(),
            port,
            host_field,
            credentials: credentials(url),
        })
    }
}

impl Address {
    /// Parses a URL. Those of one system begin alike, which is parsed once: `known` finds it.
    ///
    /// # Errors
    /// The text is no URL of HTTP.
    pub fn parse(text: &str, known: impl FnOnce(&str) -> Option<Arc<Authority>>) -> Result<Self, Broken> {
        let refused = |error: &dyn std::fmt::Display| Broken::Url(format!("`{text}`: {error}"));
        let (beginning, path) = split(text);
        if is_plain(path)
            && let Some(authority) = known(beginning)
        {
            let path = if path.is_empty() { "/" } else { path };
            let path = path.parse().map_err(|error| refused(&error))?;
            return Ok(Self::of(authority, path));
        }
        let url = Url::parse(text).map_err(|error| refused(&error))?;
        let authority = Authority::of(beginning, &url)?;
        let path =
            url[Position::BeforePath..Position::AfterQuery].parse().map_err(|error| refused(&error))?;
        Ok(Self::of(Arc::new(authority), path))
    }

    fn of(authority: Arc<Authority>, path: Uri) -> Self {
        let (certificate, secrets) = (None, Arc::default());
        Self { authority, path, certificate, secrets, connects_by: None }
    }
}

impl Address {
    /// The same for a caller that shows a certificate, if it names one.
    ///
    /// # Errors
    /// The system is not asked by TLS.
    pub fn showing(self, certificate: Option<String>) -> Result<Self, Broken> {
        if certificate.is_some() && !self.authority.tls {
            let host = &self.authority.host;
            return Err(Broken::Url(format!(
                "`{host}` is called by `http://`, and a certificate can be presented only over TLS"
            )));
        }
        Ok(Self { certificate: certificate.map(Into::into), ..self })
    }

    /// The same for a request that holds these secrets.
    #[must_use]
    pub fn holding(self, secrets: Arc<[String]>) -> Self {
        Self { secrets, ..self }
    }

    /// The same for a request that waits for a new connection until then, and no longer than the client waits for any.
    #[must_use]
    pub fn connecting_by(self, by: Instant) -> Self {
        Self { connects_by: Some(by), ..self }
    }
}

/// The scheme with the authority, and what follows.
fn split(text: &str) -> (&str, &str) {
    let begin = text.find("://").map_or(0, |at| at + 3);
    let end = text[begin..].find(['/', '\\', '?', '#']).map_or(text.len(), |at| begin + at);
    text.split_at(end)
}

/// True for a path with query that a URL parser would leave as it is.
fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.'
                    | b'_'
                    | b'~'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
                    | b':'
                    | b'@'
                    | b'/'
                    | b'?'
            )
    };
    (path.is_empty() || path.starts_with('/')) && path.bytes().all(plain) && !path.contains("/.")
}

/// The URL up to its path, without the user that may stand in it.
fn text_without_user(url: &Url) -> String {
    format!("{}://{}", url.scheme(), &url[Position::BeforeHost..Position::AfterPort])
}

/// The value of `Authorization` for the user and password of a URL.
fn credentials(url: &Url) -> Option<HeaderValue> {
    use base64::Engine as _;
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
    let mut plain = decoded(url.username());
    plain.push(b':');
    plain.extend(decoded(url.password().unwrap_or_default()));
    let mut value =
        HeaderValue::from_str(&format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(plain))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text, |_| None).unwrap()
    }

    #[test]
    fn a_known_system_gives_the_same_as_a_url_that_is_parsed_whole() {
        for path in ["", "/", "/a/b-c_d~e", "/a?b=c&d=e/f?g", "/a//b;c=d", "/$&()*+,;=:@!", "/a.b/c..d"] {
            let text = format!("http://shop.example:8080{path}");
            let whole = parsed(&text);
            let known = Address::parse(&text, |beginning| {
                assert_eq!(beginning, "http://shop.example:8080");
                Some(whole.authority.clone())
            });
            assert!(is_plain(path), "{path}");
            assert_eq!(known.unwrap().path, whole.path, "{path}");
        }
    }

    #[test]
    fn what_a_parser_would_change_is_parsed_whole() {
        for path in
            ["/a b", "/ä", "/a/../b", "/./a", "/%2e%2E/a", "/a#b", "\\a", "/a'b", "/a\"b", "?a=b", "/{a}"]
        {
            assert!(!is_plain(path), "{path}");
        }
        assert_eq!(parsed("http://h/a/../b c?d e#f").path, "/b%20c?d%20e");
        assert_eq!(parsed("http://h?a").path, "/?a");
    }

    #[test]
    fn the_authority_tells_how_a_system_is_asked() {
        let plain = parsed("http://Shop.Example/a").authority;
        assert_eq!((&*plain.host, plain.port, plain.tls), ("shop.example", 80, false));
        assert_eq!(plain.host_field, "shop.example");
        let literal = parsed("https://[::1]:8443").authority;
        assert_eq!(
            (literal.literal(), literal.port, literal.tls),
            (Some("::1".parse().unwrap()), 8443, true)
        );
        assert_eq!(literal.host_field, "[::1]:8443");
        let user = parsed("http://us%40er:pa%3Ass@h/").authority;
        assert_eq!(user.credentials.as_ref().unwrap(), "Basic dXNAZXI6cGE6c3M=");
    }

    #[test]
    fn err_3_what_is_no_url_of_http_is_refused() {
        for text in ["", "h/a", "ftp://h/", "http://", "http://h:99999/", "http://a b/", "mailto:a@b", "/a"] {
            let failure = Address::parse(text, |_| None).unwrap_err().named();
            assert_eq!(failure.chain, ["HttpError", "UrlError"], "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn qlt_8_no_text_breaks_the_reader_and_what_it_takes_has_a_host_that_can_be_written(
            text in proptest::prop_oneof!["https?://[a-z0-9@:/?#\\[\\]%.é \\\\-]{0,24}", "\\PC{0,24}"],
        ) {
            if let Ok(address) = Address::parse(&text, |_| None) {
                proptest::prop_assert!(!address.authority.host.is_empty());
                proptest::prop_assert!(address.path.path().starts_with('/') || address.path.path() == "*");
                let again = Address::parse(&text, |_| Some(address.authority.clone())).unwrap();
                proptest::prop_assert_eq!(&again.authority.host, &address.authority.host);
            }
        }
    }
}
