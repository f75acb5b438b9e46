//! State of a process's connections to the broker, as readiness shows it.
//!
//! Plain values: nothing here connects or asks.

use std::{fmt, time::Duration};

/// State of one of the two connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// In use.
    Up,
    /// Gone, and why; being restored.
    Down(String),
    /// Connected, but the broker takes no messages, and why.
    Blocked(String),
}

impl LinkState {
    /// True if work gets through.
    #[must_use]
    pub fn is_up(&self) -> bool {
        *self == Self::Up
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up => formatter.write_str("up"),
            Self::Down(reason) => write!(formatter, "down: {reason}"),
            Self::Blocked(reason) => write!(formatter, "blocked: {reason}"),
        }
    }
}

/// Time without its queue after which a consumer is reported; before, it is only restored.
pub const STARVED: Duration = Duration::from_secs(5);

/// State of both connections, of the consumers and of the topology, for readiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerState {
    /// The connection that publishes.
    pub publish: LinkState,
    /// The connection that consumes and acknowledges.
    pub consume: LinkState,
    /// Queues that were to be consumed and could not be for [`STARVED`] at least.
    pub starved: Vec<String>,
    /// Exchanges, queues and bindings that are missing at the broker, each with the reason.
    pub missing: Vec<String>,
}

impl BrokerState {
    /// True if both are up, every queue is consumed that is to be, and nothing is missing at the broker.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.publish.is_up() && self.consume.is_up() && self.starved.is_empty() && self.missing.is_empty()
    }
}
