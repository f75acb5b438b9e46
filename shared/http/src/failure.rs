//! Why there is no answer, under the names that the rules of operators see (ERR-3).

use std::io;
use std::time::Duration;

use pagurus_scenario::stage::{HttpFailure, SECRET_KEPT};
use pagurus_tls::explained;

/// A call that brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The text is no URL of HTTP.
    #[error("{0}")]
    Url(String),
    /// A header field cannot be written.
    #[error("{0}")]
    Header(String),
    /// The name of the host leads nowhere, or only to what may not be called.
    #[error("{0}")]
    Resolve(String),
    /// The address may not be called.
    #[error("{0}")]
    Forbidden(String),
    /// A secret that the call holds may not be sent there.
    #[error("{0}")]
    Secret(String),
    /// Nobody accepted the connection in time.
    #[error("no connection within {0:?}")]
    ConnectTimeout(Duration),
    /// The connection was refused, or there is no way to the system.
    #[error("{0}")]
    Connect(io::Error),
    /// Files of certificates on this side cannot be used.
    #[error("{0}")]
    Files(String),
    /// The two sides found no common TLS.
    #[error("{0}")]
    Tls(String),
    /// The connection broke before the head of the answer had come.
    #[error("{}", deepest(.0))]
    Head(hyper::Error),
    /// The connection broke inside the body of the answer.
    #[error("{}", deepest(.0))]
    Body(hyper::Error),
}

impl Broken {
    /// A connection that broke before the head of the answer had come: with TLS 1.3 a server refuses a certificate only then.
    pub(super) fn before_answer(error: hyper::Error) -> Self {
        match explained(&error) {
            Some(sentence) => Self::Tls(sentence),
            None => Self::Head(error),
        }
    }

    /// The failure with its names, from the outermost to the cause.
    #[must_use]
    pub fn named(&self) -> HttpFailure {
        HttpFailure { chain: self.chain().to_vec(), message: self.to_string() }
    }

    fn chain(&self) -> &'static [&'static str] {
        match self {
            Self::Url(_) => &["HttpError", "UrlError"],
            Self::Forbidden(_) => &["HttpError", "Forbidden"],
            Self::Secret(_) => &["HttpError", SECRET_KEPT],
            Self::Header(_) => &["HttpError"],
            Self::Resolve(_) => &["HttpError", "ConnectError", "DnsError"],
            Self::ConnectTimeout(_) => &["HttpError", "ConnectError", "ConnectTimeout"],
            Self::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                &["HttpError", "ConnectError", "ConnectionRefused"]
            }
            Self::Connect(_) => &["HttpError", "ConnectError"],
            Self::Tls(_) | Self::Files(_) => &["HttpError", "ConnectError", "TlsError"],
            Self::Head(error) | Self::Body(error) if was_reset(error) => &["HttpError", "ConnectionReset"],
            Self::Body(_) => &["HttpError", "BodyError"],
            Self::Head(error) if error.is_parse() => &["HttpError", "ProtocolError"],
            Self::Head(error)
                if error.is_incomplete_message() || error.is_canceled() || error.is_closed() =>
            {
                &["HttpError", "ConnectionClosed"]
            }
            Self::Head(_) => &["HttpError"],
        }
    }
}

/// True if the other side broke the connection off, which a writer learns as a broken pipe.
fn was_reset(error: &hyper::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return matches!(io.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
        }
        cause = inner.source();
    }
    false
}

/// The cause of an error; `hyper` says only where it was met.
fn deepest(error: &hyper::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest.to_string()
}
