//! Work that is done in batches: the words of it, each spelled once.

use std::time::Duration;

use super::{Metrics, Span};

/// Work that is done in batches, the value of the label `operation` of `pagurus_batch_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Registrations.
    Register,
    /// Callbacks.
    Answer,
    /// Hand-outs that a worker claims.
    Claim,
    /// Requests that are stored before they are sent.
    PrepareRequests,
    /// Ends of stages.
    Finish,
    /// Notifications to the broker.
    Notify,
    /// Webhooks that a notifier takes to send.
    TakeWebhooks,
    /// Waits and pollings that are due.
    ScanCalls,
    /// Sleeps, retries and start times that are due.
    ScanTimers,
    /// Tasks that are overdue.
    CollectOverdue,
    /// Ended orders whose time is over.
    RemoveOrders,
    /// Promises that are looked at.
    Promises,
    /// Orders that the consistency check looks at.
    Check,
}

impl Work {
    /// All of it.
    pub const ALL: [Self; 13] = [
        Self::Register,
        Self::Answer,
        Self::Claim,
        Self::PrepareRequests,
        Self::Finish,
        Self::Notify,
        Self::TakeWebhooks,
        Self::ScanCalls,
        Self::ScanTimers,
        Self::CollectOverdue,
        Self::RemoveOrders,
        Self::Promises,
        Self::Check,
    ];

    /// Word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Answer => "answer",
            Self::Claim => "claim",
            Self::PrepareRequests => "prepare_requests",
            Self::Finish => "finish",
            Self::Notify => "notify",
            Self::TakeWebhooks => "take_webhooks",
            Self::ScanCalls => "scan_calls",
            Self::ScanTimers => "scan_timers",
            Self::CollectOverdue => "collect_overdue",
            Self::RemoveOrders => "remove_orders",
            Self::Promises => "promises",
            Self::Check => "check",
        }
    }
}

impl Metrics {
    /// Observes the time of a batch.
    pub fn batch(&self, work: Work, time: Duration) {
        self.span(Span::Batch, work.as_str(), time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_all_work_stands_in_the_guide_under_the_word_that_is_counted() {
        let guide = include_str!("../../../../docs/guides/metrics.md");
        for work in Work::ALL {
            let word = work.as_str();
            let is_described =
                guide.contains(&format!("operation=\"{word}\"")) || guide.contains(&format!("`{word}` ("));
            assert!(is_described, "docs/guides/metrics.md does not describe `{word}`");
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{word}");
        }
    }
}
