//! Words of the engine instead of the answer that was asked for.

use std::time::Duration;

use serde::Deserialize;

/// Anything that is not the answer that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine says no.
    #[error("{problem}")]
    Problem {
        /// The problem, in its own words.
        problem: Box<Problem>,
        /// After which time the same request may succeed.
        retry_after: Option<Duration>,
    },
    /// The engine did not answer: nobody knows whether the request was done. Repeating it is harmless.
    #[error("{0}")]
    Unreachable(String),
    /// Something else has answered than the engine: a proxy, a balancer, or another program at this address.
    #[error("{url}: the answer has the status {status}, and is none of the engine")]
    Foreign {
        /// The address that was asked.
        url: String,
        /// The HTTP status of the answer.
        status: u16,
        /// After which time the same request may succeed.
        retry_after: Option<Duration>,
    },
}

impl Error {
    /// True if the same request may succeed later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Problem { problem, .. } => matches!(problem.kind(), "busy" | "unavailable"),
            Self::Unreachable(_) => true,
            Self::Foreign { status, .. } => *status == 429 || *status >= 500,
        }
    }

    /// The answer of the engine, where it says no.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem { problem, .. } => Some(problem),
            Self::Unreachable(_) | Self::Foreign { .. } => None,
        }
    }

    pub(crate) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Problem { retry_after, .. } | Self::Foreign { retry_after, .. } => *retry_after,
            Self::Unreachable(_) => None,
        }
    }
}

/// A problem, as RFC 9457 describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The URI of the type, `urn:pagurus:problem:KIND`.
    #[serde(rename = "type")]
    pub uri: String,
    /// The same for every problem of the type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Words for this occurrence.
    pub detail: String,
    /// The first field at fault.
    pub pointer: Option<String>,
    /// All that is wrong.
    #[serde(default)]
    pub errors: Vec<Detail>,
    /// The status of the order, where that is the reason.
    pub order_status: Option<String>,
}

impl Problem {
    /// The kind: `invalid`, `conflict`, `refused`, `not-found`, `busy`, …
    #[must_use]
    pub fn kind(&self) -> &str {
        self.uri.rsplit(':').next().unwrap_or_default()
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.detail)?;
        for (index, error) in self.errors.iter().enumerate() {
            let before = if index == 0 { ": " } else { "; " };
            write!(formatter, "{before}{} {}", error.pointer, error.message)?;
        }
        Ok(())
    }
}

/// A fault in a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Detail {
    /// The place, as a JSON pointer.
    pub pointer: String,
    /// Fault of the field.
    pub message: String,
    /// Text to write instead.
    pub hint: Option<String>,
}
