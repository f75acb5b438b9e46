//! The history of an order, as its ledger reads it.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::order::ledger::{LedgerEntry, LedgerReason, LedgerSpan, LedgerStage, OrderLedger};
use pagurus_domain::order::{Mode, Status};
use pagurus_store::hot::history::HistoryEvent;
use pagurus_store::lists::ledger::LedgerOrder;
use serde_json::Value;

use crate::history::{ENTERED, parsed, text};
use crate::steps;

/// Shows the history of an order to its ledger.
pub(super) struct HistoryReader<'a> {
    ledger: OrderLedger,
    order: &'a LedgerOrder,
    /// True until a stage of the present life has been seen: only the first one waits for the queue of the order.
    is_first: bool,
}

impl<'a> HistoryReader<'a> {
    /// The ledger of an order of which nothing is known but that it was registered.
    pub fn new(order: &'a LedgerOrder, end: Timestamp) -> Self {
        let ledger = OrderLedger::new(order.created_at, end, (LedgerReason::Postponed, None));
        Self { ledger, order, is_first: true }
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &HistoryEvent) {
        let detail = parsed(&event.detail);
        match event.kind.as_str() {
            "stage" | ENTERED => {
                let ready = self.ready();
                if let Some(stage) = self.stage(event, &detail) {
                    self.ledger.stage(stage, ready);
                    self.is_first = false;
                }
            }
            "canceled" | "interrupted" | "killed" | "abandoned" => {
                self.ledger.turn(event.at, (LedgerReason::Ended, None));
            }
            "restart_postponed" => self.ledger.turn(event.at, (LedgerReason::Postponed, None)),
            "restarted" | "rerun" | "repaired" => {
                self.is_first = true;
                let ready = self.ready();
                self.ledger.turn(event.at, ready);
            }
            // A stage whose node was lost is handed out once more: until then somebody had it.
            "reissued" => {
                if let Some(started) = time(&detail["startedAt"]) {
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
            (Some(queue), Mode::Sequential) if self.is_first => (LedgerReason::Queue, Some(queue.clone())),
            _ => (LedgerReason::Capacity, None),
        }
    }

    fn stage(&self, event: &HistoryEvent, detail: &Value) -> Option<LedgerStage> {
        let started_at = time(&detail["startedAt"])?;
        let waited = detail["waitedMs"]
            .as_i64()
            .and_then(|ms| started_at.checked_sub(SignedDuration::from_millis(ms)).ok());
        // Stages of a version before do not say it. Without a time of its own, an order might run at once.
        let at_once = self.is_first && self.order.start_at.is_none();
        let then = match detail["status"].as_str().and_then(|word| word.parse::<Status>().ok()) {
            None => (LedgerReason::Work, None),
            Some(Status::Wait) if detail["rests"].is_string() => (LedgerReason::System, None),
            Some(Status::Retry) => (LedgerReason::Retry, detail["rests"].as_str().map(str::to_owned)),
            Some(status) => (LedgerReason::of(status), None),
        };
        Some(LedgerStage {
            ready_at: waited.or(at_once.then_some(self.order.created_at)),
            started_at,
            calls: detail["steps"].as_array().into_iter().flatten().filter_map(call).collect(),
            until: time(&detail["endedAt"]).unwrap_or(event.at),
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
            self.ledger.turn(since, (LedgerReason::Work, None));
        }
        self.ledger.finish()
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// A call that a stage waited for: when, until when, and of what.
fn call(step: &Value) -> Option<(Timestamp, Timestamp, String)> {
    let from = steps::moment(step)?;
    let until = from.checked_add(SignedDuration::from_millis(step["ms"].as_i64()?)).ok()?;
    Some((from, until, text(step, "target")))
}
