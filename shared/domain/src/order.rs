//! The order: its vocabularies. Its law stands in [`transition`], what follows from it in [`change`], its beginning in
//! [`registration`], what it waits for in [`dependency`], changes by hand in [`amendment`], its last
//! word in [`notification`].

pub mod amendment;
pub mod change;
pub mod dependency;
pub mod labels;
pub mod ledger;
pub mod notification;
pub mod principal;
pub mod registration;
pub mod stage;
pub mod transition;
pub mod wait_reason;

use std::time::Duration;

use jiff::Timestamp;

use crate::activation::{AgeGroups, Stream};
use crate::classes::UNCLASSIFIED;
use crate::id::{Life, OrderNo, RequestId, ScenarioNo, spelled};

/// Status of an order in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Registered, waits for execution.
    New,
    /// Waits for its start conditions.
    Postponed,
    /// A stage is with a worker.
    Running,
    /// Suspended until a time set by the scenario.
    Sleep,
    /// Waits for callbacks, or their time-out.
    Wait,
    /// Between two attempts of polling an external system.
    Polling,
    /// Waits to repeat after a classified error.
    Retry,
    /// Restarted, waits for execution.
    Reopen,
    /// Ended in a terminal state, result delivered.
    Success,
    /// Ended by error, or in a terminal state that means failure.
    Fail,
    /// Stopped before execution by an operator.
    Interrupted,
    /// Given up for good.
    Canceled,
}

spelled!(Status {
    New => "new",
    Postponed => "postponed",
    Running => "running",
    Sleep => "sleep",
    Wait => "wait",
    Polling => "polling",
    Retry => "retry",
    Reopen => "reopen",
    Success => "success",
    Fail => "fail",
    Interrupted => "interrupted",
    Canceled => "canceled",
});

impl Status {
    /// True if this life of the order is over.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Fail | Self::Interrupted | Self::Canceled)
    }

    /// The stream of a suspension with this status and of this length.
    #[must_use]
    pub fn stream(self, length: Duration, groups: &AgeGroups) -> Stream {
        match self {
            Self::Wait => Stream::Wait,
            Self::Polling => Stream::Polling,
            Self::Retry => Stream::Retry,
            Self::Postponed => Stream::Postponed,
            _ if length <= groups.youngest => Stream::Youngest,
            _ if length <= groups.middle => Stream::Middle,
            _ => Stream::Oldest,
        }
    }
}

/// Relation of an order to the target states of its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScenarioStatus {
    /// Not yet executed.
    Undefined,
    /// A target state can be reached from the present one.
    OnTarget,
    /// None can.
    OffTarget,
    /// Ended in a target state.
    Target,
    /// Ended elsewhere.
    Failed,
}

spelled!(ScenarioStatus {
    Undefined => "undefined",
    OnTarget => "on_target",
    OffTarget => "off_target",
    Target => "target",
    Failed => "failed",
});

/// True if an order owns a queue while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Runs beside all others.
    Parallel,
    /// Runs while no other order of its queue does.
    Sequential,
}

spelled!(Mode { Parallel => "parallel", Sequential => "sequential" });

/// Urgency of an order among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Before the others.
    High,
    /// Like the others.
    Normal,
    /// After the others, never starved.
    Low,
}

spelled!(Priority { High => "high", Normal => "normal", Low => "low" });

/// Why an order ended `fail`, or waits in `retry`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OrderError {
    /// The class: of a rule, of a script, or one of the engine's own (`deadline.exceeded`, …).
    pub class: Option<String>,
    /// For people.
    pub message: String,
    /// The called system that it is about: host with port of an HTTP call, `amqp:` with the
    /// exchange (or, without one, the queue) of a message, `actor:` with the name of an actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The state in which it arose, where the scenario went on from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The status that it answered a call with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// True if it was repeated by a policy until none of its repeats was left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhausted: bool,
}

impl OrderError {
    /// An error of this class, about no called system.
    #[must_use]
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class: Some(class.into()), message: message.into(), ..Self::default() }
    }

    /// The class as people read it.
    #[must_use]
    pub fn class_word(&self) -> &str {
        self.class.as_deref().unwrap_or(UNCLASSIFIED)
    }

    /// The same without the one character that the database cannot keep: texts of others are in it.
    #[must_use]
    pub fn storable(self) -> Self {
        Self {
            class: self.class.map(storable),
            message: storable(self.message),
            system: self.system.map(storable),
            ..self
        }
    }

    /// The same, about this system.
    #[must_use]
    pub fn about(self, system: Option<String>) -> Self {
        Self { system, ..self }
    }
}

/// The text with a mark in place of each NUL, which no text of the database can hold.
#[must_use]
pub fn storable(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

/// Head of an order: the part that its claim, its lock and its notifications share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderHead {
    /// Our number.
    pub no: OrderNo,
    /// The client's id.
    pub id: String,
    /// The pinned version.
    pub scenario: ScenarioNo,
    /// Parallel or sequential.
    pub mode: Mode,
    /// The business transaction.
    pub transaction_id: Option<String>,
    /// Notification wish of its client, as JSON.
    pub notify: Option<String>,
    /// The request of its parent that its end answers.
    pub answers: Option<RequestId>,
    /// Labels that its client chose.
    pub labels: labels::Labels,
    /// Trace context.
    pub trace: Option<String>,
    /// Number of the life.
    pub life: Life,
    /// Registered at.
    pub created_at: Timestamp,
    /// First stage of this life; none before it.
    pub started_at: Option<Timestamp>,
    /// Stages of this life that ran to their end.
    pub stages: i32,
    /// Number of those among them that were repeats after a classified error.
    pub retries: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_2_sleepers_are_grouped_by_the_length_of_their_sleep() {
        let groups = AgeGroups::default();
        let of = |hours: u64| Status::Sleep.stream(Duration::from_secs(hours * 3600), &groups);
        assert_eq!(
            [of(1), of(24), of(25), of(24 * 30), of(24 * 31)],
            [Stream::Youngest, Stream::Youngest, Stream::Middle, Stream::Middle, Stream::Oldest]
        );
    }
}
