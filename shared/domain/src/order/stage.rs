//! A stage, as the life of its order sees it: why it runs, and the ways in which the order can go on after it, with
//! what each of them needs.

use jiff::Timestamp;

use super::transition::Cause;
use super::{OrderError, ScenarioStatus, Status};
use crate::id::{RequestId, spelled};

/// Reason for which the stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wake {
    /// The first stage of a life, or one that goes on at the cursor.
    Start,
    /// The time of a sleep or of a wait is over.
    Timer,
    /// All callbacks are in.
    Callback,
    /// A retry is due.
    Retry,
    /// The next attempt of a polling is due.
    Poll,
    /// A call from outside came while the order rested.
    Call,
    /// The order has outlived its process time-out, and its state says what follows.
    ProcessTimeout,
}

spelled!(Wake {
    Start => "start",
    Timer => "timer",
    Callback => "callback",
    Retry => "retry",
    Poll => "poll",
    Call => "call",
    ProcessTimeout => "process_timeout",
});

/// The way in which an order goes on after a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// The order rests until a time, and leaves its queue.
    Sleep {
        /// Time at which the sleep is over.
        until: Timestamp,
    },
    /// The order waits for callbacks.
    Wait {
        /// Time at which the wait is over.
        until: Timestamp,
        /// The requests whose callbacks are awaited.
        requests: Vec<RequestId>,
    },
    /// The order waits before an action, because the system that it calls must be left alone.
    Hold {
        /// Time at which it is tried again.
        until: Timestamp,
    },
    /// The polling state makes its next attempt later.
    Poll {
        /// Time of the next attempt.
        at: Timestamp,
    },
    /// The failed action is repeated.
    Retry {
        /// Time at which the next attempt is due.
        at: Timestamp,
        /// The failure.
        error: OrderError,
    },
    /// The life of the order is over.
    End {
        /// `success` or `fail`.
        status: Status,
        /// `target` or `failed`.
        scenario_status: ScenarioStatus,
        /// Cause of the failure, if it failed.
        error: Option<OrderError>,
    },
}

impl Then {
    /// The end of a life that failed by no event of its scenario.
    #[must_use]
    pub const fn failed(error: OrderError) -> Self {
        Self::End { status: Status::Fail, scenario_status: ScenarioStatus::Failed, error: Some(error) }
    }

    /// The status that follows.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Sleep { .. } => Status::Sleep,
            Self::Wait { .. } | Self::Hold { .. } => Status::Wait,
            Self::Poll { .. } => Status::Polling,
            Self::Retry { .. } => Status::Retry,
            Self::End { status, .. } => *status,
        }
    }

    /// The event that this end of the stage is for the order.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        match self {
            Self::Sleep { .. } => Cause::Slept,
            Self::Wait { .. } | Self::Hold { .. } => Cause::Waited,
            Self::Poll { .. } => Cause::Polled,
            Self::Retry { .. } => Cause::Retried,
            Self::End { status: Status::Success, .. } => Cause::Succeeded,
            Self::End { .. } => Cause::Failed,
        }
    }

    /// Time at which the suspension is over; `None` for an end.
    #[must_use]
    pub const fn due_at(&self) -> Option<Timestamp> {
        match self {
            Self::Sleep { until } | Self::Wait { until, .. } | Self::Hold { until } => Some(*until),
            Self::Poll { at } | Self::Retry { at, .. } => Some(*at),
            Self::End { .. } => None,
        }
    }
}
