//! Names and numbers that identify things. No behaviour beyond checking their form.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use crate::document::{Fault, nearest};

/// Gives a vocabulary enum its one spelling, for SQL, JSON, metrics, logs and pages alike:
/// `ALL`, `as_str`, `Display` and `FromStr`.
#[macro_export]
macro_rules! spelled {
    ($name:ident { $($variant:ident => $text:literal),+ $(,)? }) => {
        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The one spelling of this value.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::id::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::id::UnknownWord::new(text, <Self as $crate::id::Vocabulary>::WORDS)),
                }
            }
        }

        impl $crate::id::Vocabulary for $name {
            const WORDS: &'static [&'static str] = &[$($text),+];
        }
    };
}
pub use spelled;

/// Our own number of an order: ascending, never shown to be guessed from, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderNo(pub i64);

impl fmt::Display for OrderNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a hand-out of an order: counts from 1 over all its lives, and no failed try is meant by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt(pub i32);

impl Attempt {
    /// The one of an order that was never handed out.
    pub const FIRST: Self = Self(1);

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number before this one.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a life of an order: 1, and one more with each restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Life(pub i32);

impl Life {
    /// The one that begins with the registration.
    pub const FIRST: Self = Self(1);

    /// The life after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Unguessable token of one hand-out of work: a result with another pass is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pass(pub Uuid);

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The growing number of a lease: who holds an older one has been fenced out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub i64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A life of a process, from a sequence in the database: a node that comes back under its old name is another incarnation,
/// whatever its clock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub i64);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Our number of one version of one scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScenarioNo(pub i32);

/// A scenario's name with its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScenarioRef {
    /// The name, as orders use it.
    pub name: Arc<str>,
    /// Counts from 1 for each name.
    pub version: i32,
}

/// Unguessable name of an asynchronous request; anyone who knows it may answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub Uuid);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for RequestId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

/// Service that a process belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Takes orders, callbacks and calls; serves the API.
    Intake,
    /// Decides what runs next.
    Dispatcher,
    /// Wakes suspended orders and recovers.
    Activator,
    /// Runs stages.
    Worker,
    /// Sends notifications.
    Notifier,
}

spelled!(Role {
    Intake => "intake",
    Dispatcher => "dispatcher",
    Activator => "activator",
    Worker => "worker",
    Notifier => "notifier",
});

impl Role {
    /// The layer of the installation that the service belongs to.
    #[must_use]
    pub const fn layer(self) -> &'static str {
        match self {
            Self::Intake => "reception",
            Self::Dispatcher | Self::Activator => "distribution",
            Self::Worker | Self::Notifier => "execution",
        }
    }
}

/// Transports by which an intake takes what comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntakeTransport {
    /// HTTP and AMQP.
    Both,
    /// HTTP alone: it takes nothing from the broker.
    Http,
    /// AMQP alone: it answers probes, and serves no API.
    Amqp,
}

spelled!(IntakeTransport { Both => "both", Http => "http", Amqp => "amqp" });

impl IntakeTransport {
    /// True if it serves the API.
    #[must_use]
    pub const fn serves_http(self) -> bool {
        matches!(self, Self::Both | Self::Http)
    }

    /// True if it takes messages.
    #[must_use]
    pub const fn takes_amqp(self) -> bool {
        matches!(self, Self::Both | Self::Amqp)
    }
}

/// Values that are written as words.
pub trait Vocabulary {
    /// The words, in the order of declaration.
    const WORDS: &'static [&'static str];
}

/// A word that is not in a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of: {}", known.join(", "))]
pub struct UnknownWord {
    /// The given word, cut to 64 characters.
    pub word: String,
    /// The words that would do.
    pub known: &'static [&'static str],
}

impl UnknownWord {
    /// The refusal of a text that is none of these words.
    #[must_use]
    pub fn new(text: &str, known: &'static [&'static str]) -> Self {
        Self { word: text.chars().take(64).collect(), known }
    }

    /// The fault that the word stands at this place.
    #[must_use]
    pub fn fault(&self, pointer: &str) -> Fault {
        let fault = Fault::placed(None, pointer, format!("must be one of {}", self.known.join(", ")));
        match nearest(&self.word, self.known.iter().copied()) {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault,
        }
    }
}
