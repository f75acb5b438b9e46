//! The series of counts.

use pagurus_domain::order::Status;

/// A series. Those that are timed have a sum and buckets, those with a time a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Series {
    /// Orders that were registered, by scenario.
    Registered,
    /// Lives that ended `success`, by scenario.
    Succeeded,
    /// Lives that ended `fail`, by scenario.
    Failed,
    /// Lives that ended `interrupted`, by scenario.
    Interrupted,
    /// Lives that ended `canceled`, by scenario.
    Canceled,
    /// Stages by the status that followed, timed.
    Stages,
    /// Stages and lives that ended with an error, by its class.
    ErrorClasses,
    /// The same by the called system, where the error is about one.
    ErrorSystems,
    /// HTTP calls of systems, by host and port, timed.
    Calls,
    /// Tasks that were decided, by actor.
    TasksDecided,
    /// Hand-outs of tasks whose work time-out passed, by actor.
    TasksOverdue,
    /// Stages that became ready, by flow.
    FlowCame,
    /// Stages that ended and do not come again, by flow, with their time.
    FlowStages,
    /// The same with the time for which they had been ready.
    FlowWaits,
    /// Stages that failed, or were held before a call, and come again, by flow.
    FlowRepeats,
    /// Calls that were answered while their stage waited, by system and flow ([`super::pair`]), with their time.
    Answered,
    /// Calls that were answered by callback, by system and flow, with their time.
    CalledBack,
    /// Calls that failed for a reason of the system, by system and flow, with their time.
    CallsFailed,
}

impl Series {
    /// All of them.
    pub(super) const ALL: [Self; 18] = [
        Self::Registered,
        Self::Succeeded,
        Self::Failed,
        Self::Interrupted,
        Self::Canceled,
        Self::Stages,
        Self::ErrorClasses,
        Self::ErrorSystems,
        Self::Calls,
        Self::TasksDecided,
        Self::TasksOverdue,
        Self::FlowCame,
        Self::FlowStages,
        Self::FlowWaits,
        Self::FlowRepeats,
        Self::Answered,
        Self::CalledBack,
        Self::CallsFailed,
    ];

    /// Word under which it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Succeeded => "ended.success",
            Self::Failed => "ended.fail",
            Self::Interrupted => "ended.interrupted",
            Self::Canceled => "ended.canceled",
            Self::Stages => "stages",
            Self::ErrorClasses => "errors.class",
            Self::ErrorSystems => "errors.system",
            Self::Calls => "calls",
            Self::TasksDecided => "tasks.decided",
            Self::TasksOverdue => "tasks.overdue",
            Self::FlowCame => "flows.came",
            Self::FlowStages => "flows.stages",
            Self::FlowWaits => "flows.waits",
            Self::FlowRepeats => "flows.repeats",
            Self::Answered => "calls.answered",
            Self::CalledBack => "calls.called_back",
            Self::CallsFailed => "calls.failed",
        }
    }

    /// True if the times of it are counted in buckets: not of those that only replays read.
    pub(super) const fn has_buckets(self) -> bool {
        matches!(self, Self::Stages | Self::Calls)
    }

    /// The series of a word; none where another version counts it.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|series| series.as_str() == word)
    }

    /// Lives that ended in this status; none where it is no end.
    pub(super) const fn ended(status: Status) -> Option<Self> {
        match status {
            Status::Success => Some(Self::Succeeded),
            Status::Fail => Some(Self::Failed),
            Status::Interrupted => Some(Self::Interrupted),
            Status::Canceled => Some(Self::Canceled),
            _ => None,
        }
    }
}
