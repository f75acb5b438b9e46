//! Which service a connection belongs to, as far as the broker's rights and names depend on it.
//!
//! Never decides anything else by it.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// One of the five services; each has a broker user and owns a part of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Takes orders, commands and callbacks.
    Intake,
    /// Hands work out.
    Dispatcher,
    /// Wakes what is due and recovers what is stuck.
    Activator,
    /// Runs stages.
    Worker,
    /// Sends notifications.
    Notifier,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Intake, Self::Dispatcher, Self::Activator, Self::Worker, Self::Notifier];

    /// The one spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Dispatcher => "dispatcher",
            Self::Activator => "activator",
            Self::Worker => "worker",
            Self::Notifier => "notifier",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Service {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|service| service.as_str() == text)
            .ok_or_else(|| Error::InvalidSetting(format!("no service is called {text:?}")))
    }
}
