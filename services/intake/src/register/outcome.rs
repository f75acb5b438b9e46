//! Outcomes of registrations, and their texts for clients.

use pagurus_command::CLAMPED;
use pagurus_domain::order::Status;
use pagurus_wire::problem::{Problem, Type};

/// Note about an order whose notifications carry no id of the client.
const UNCORRELATED: &str =
    "`notify` has a `url` and no `correlationId`: the notification names the order by its `id` alone";

/// The outcome of a registration.
#[derive(Clone, Debug)]
pub(crate) enum RegistrationOutcome {
    /// The order is durable.
    Accepted {
        /// `new` or `postponed`.
        status: Status,
        /// True if the sending time lay in the future and was taken back to the receipt.
        clamped: bool,
        /// True if somebody is to be notified of it without a `correlationId`, which belongs to every `url` (ORD-18).
        uncorrelated: bool,
    },
    /// The same order was there before.
    Duplicate(Status),
    /// Another order has the id.
    Conflict(Status),
    /// The order was refused.
    Rejected(Problem),
    /// Unknown if the order is registered; the same may be sent again.
    Unavailable(Problem),
}

impl RegistrationOutcome {
    /// Returns the outcome of an order that was not taken. One that may be taken later is not at fault: a client that looks at
    /// the status would drop a good order, which may even be registered.
    pub const fn refused(problem: Problem) -> Self {
        if matches!(problem.status, 429 | 503) { Self::Unavailable(problem) } else { Self::Rejected(problem) }
    }

    /// Returns the word that receipts and answers use.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::Duplicate(_) => "duplicate",
            Self::Conflict(_) => "conflict",
            Self::Rejected(_) => "rejected",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// Returns the present status of the order, if it exists.
    pub const fn status(&self) -> Option<Status> {
        match self {
            Self::Accepted { status, .. } | Self::Duplicate(status) | Self::Conflict(status) => Some(*status),
            Self::Rejected(_) | Self::Unavailable(_) => None,
        }
    }

    /// Returns a note of what was not done quite as asked for.
    pub fn note(&self) -> Option<String> {
        let Self::Accepted { clamped, uncorrelated, .. } = self else { return None };
        let notes = [(*clamped, CLAMPED), (*uncorrelated, UNCORRELATED)];
        let notes: Vec<&str> = notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Returns the problem of an order that was not registered.
    pub fn problem(&self) -> Option<Problem> {
        match self {
            Self::Accepted { .. } | Self::Duplicate(_) => None,
            Self::Conflict(status) => Some(
                Problem::new(Type::Conflict, "an order with this id and other content is registered")
                    .with_status(status),
            ),
            Self::Rejected(problem) | Self::Unavailable(problem) => Some(problem.clone()),
        }
    }
}
