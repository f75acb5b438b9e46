//! The history of an order, as its ledger reads it.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::order::ledger::{LedgerEntry, LedgerReason, LedgerSpan, LedgerStage, OrderLedger};
use pagurus_domain::order::transition::{Cause, TABLE};
use pagurus_domain::order::{Mode, Status};
use pagurus_store::hot::history::HistoryEvent;
use pagurus_store::lists::ledger::LedgerOrder;
use serde::Deserialize;

use crate::history::ENTERED;

/// Detail of an event, as far as it says where time went. Read by its fields: a long history has tens of thousands of them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LedgerDetail {
    started_at: Option<String>,
    ended_at: Option<String>,
    waited_ms: Option<i64>,
    status: Option<String>,
    rests: Option<String>,
    steps: Vec<LedgerStep>,
}

/// A call of a stage.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LedgerStep {
    at: Option<String>,
    ms: Option<i64>,
    target: String,
}

/// Shows the history of an order to its ledger.
pub(super) struct HistoryReader<'a> {
    ledger: OrderLedger,
    order: &'a LedgerOrder,
    /// True until a stage of the present life has been seen.
    is_first: bool,
    /// True while the order is in no queue, or stands behind others in its own: until a stage of the life has begun, and after a
    /// sleep.
    queues: bool,
    /// True until anything has been seen that says where time went.
    is_new: bool,
}

impl<'a> HistoryReader<'a> {
    /// The ledger of an order of which nothing is known but that it was registered.
    pub fn new(order: &'a LedgerOrder, end: Timestamp) -> Self {
        let ledger = OrderLedger::new(order.created_at, end, (LedgerReason::Postponed, None));
        Self { ledger, order, is_first: true, queues: true, is_new: true }
    }

    /// Goes behind the registration of an order of which no stage is known: it might have run since then, unless it was postponed.
    fn leave_registration(&mut self) {
        if std::mem::take(&mut self.is_new) && !self.order.is_postponed {
            let ready = self.ready();
            self.ledger.turn(self.order.created_at, ready);
        }
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &HistoryEvent) {
        let detail: LedgerDetail = serde_json::from_str(&event.detail).unwrap_or_default();
        match event.kind.as_str() {
            "stage" | ENTERED => {
                let ready = self.ready();
                self.is_new = false;
                if let Some(stage) = self.stage(event, &detail) {
                    self.queues = stage.then.0 == LedgerReason::Sleep;
                    self.ledger.stage(stage, ready);
                    self.is_first = false;
                }
            }
            kind if ends_life(kind) => {
                self.leave_registration();
                if let Some(started) = time(detail.started_at.as_deref()) {
                    self.ledger.turn(started, (LedgerReason::Work, None));
                }
                self.ledger.turn(event.at, (LedgerReason::Ended, None));
            }
            "restart_postponed" => {
                self.queues = true;
                self.ledger.turn(event.at, (LedgerReason::Postponed, None));
            }
            "restarted" | "rerun" | "repaired" => {
                (self.is_first, self.queues) = (true, true);
                let ready = self.ready();
                self.ledger.turn(event.at, ready);
            }
            // A stage whose node was lost is handed out once more: until then somebody had it.
            "reissued" => {
                if let Some(started) = time(detail.started_at.as_deref()) {
                    self.ledger.turn(started, (LedgerReason::Work, None));
                }
                self.ledger.turn(event.at, (LedgerReason::Capacity, None));
            }
            _ => {}
        }
    }

    /// The reason for which the order waits when it may run.
    fn ready(&self) -> LedgerEntry {
        match (&self.order.queue, self.order.mode) {
            (Some(queue), Mode::Sequential) if self.queues => (LedgerReason::Queue, Some(queue.clone())),
            _ => (LedgerReason::Capacity, None),
        }
    }

    fn stage(&self, event: &HistoryEvent, detail: &LedgerDetail) -> Option<LedgerStage> {
        let started_at = time(detail.started_at.as_deref())?;
        let waited =
            detail.waited_ms.and_then(|ms| started_at.checked_sub(SignedDuration::from_millis(ms)).ok());
        // Stages of a version before do not say it. Without a time of its own, an order might run at once.
        let at_once = self.is_first && self.order.start_at.is_none();
        let then = match detail.status.as_deref().and_then(|word| word.parse::<Status>().ok()) {
            None => (LedgerReason::Work, None),
            Some(Status::Wait) if detail.rests.is_some() => (LedgerReason::System, None),
            Some(Status::Retry) => (LedgerReason::Retry, detail.rests.clone()),
            Some(status) => (LedgerReason::of(status), None),
        };
        Some(LedgerStage {
            ready_at: waited.or(at_once.then_some(self.order.created_at)),
            started_at,
            calls: detail.steps.iter().filter_map(call).collect(),
            until: time(detail.ended_at.as_deref()).unwrap_or(event.at),
            then,
        })
    }

    /// All spans, up to what the order does now.
    pub fn finish(mut self) -> Vec<LedgerSpan> {
        if let Some(since) = self.order.ready_since {
            let ready = self.ready();
            self.ledger.turn(since, ready);
        }
        if let Some(since) = self.order.running_since {
            self.leave_registration();
            self.ledger.turn(since, (LedgerReason::Work, None));
        }
        self.ledger.finish()
    }
}

/// True for an event other than a stage that ends a life.
fn ends_life(kind: &str) -> bool {
    kind.parse::<Cause>()
        .is_ok_and(|cause| TABLE.iter().any(|(known, _, to)| *known == cause && to.is_final()))
}

fn time(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// A call that a stage waited for: when, until when, and of what.
fn call(step: &LedgerStep) -> Option<(Timestamp, Timestamp, String)> {
    let from = time(step.at.as_deref())?;
    let until = from.checked_add(SignedDuration::from_millis(step.ms?)).ok()?;
    Some((from, until, step.target.clone()))
}
