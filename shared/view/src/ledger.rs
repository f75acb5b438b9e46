//! Where the time of an order went (ORD-32): its history, its requests and the stops of its flow, as spans.

use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::{DecisionSubject, FlowState};
use pagurus_domain::order::ledger::{self, LedgerEntry, LedgerReason, LedgerSpan, LedgerStage, OrderLedger};
use pagurus_domain::order::{Mode, Status};
use pagurus_store::hot::history::HistoryEvent;
use pagurus_store::hot::requests;
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::upkeep::decisions::{self, DecisionsWanted};
use pagurus_store::{Client, Error};
use pagurus_wire::ledger::{LedgerShareView, LedgerSpanView, LedgerView};
use pagurus_wire::parts::RequestView;
use pagurus_wire::problem::Problem;
use serde_json::Value;

use crate::Views;
use crate::history::{ENTERED, parsed, text};
use crate::part::read_on;
use crate::steps;

/// Spans that are shown.
const SHOWN: usize = 1000;
/// Requests, and decisions about the flow, that are looked at.
const LOOKED_AT: i64 = 1000;

impl Views {
    /// Says for which reasons the time of an order passed.
    pub async fn ledger(&self, id: &str) -> Result<LedgerView, Problem> {
        let (client, row) = self.found(id).await?;
        let now = Timestamp::now();
        let spans = spans(&client, &row, row.finished_at.unwrap_or(now)).await;
        Ok(view(&row, row.finished_at.unwrap_or(now), &spans.map_err(self.failed("read"))?))
    }
}

async fn spans(client: &Client, row: &Row, end: Timestamp) -> Result<Vec<LedgerSpan>, Error> {
    let mut reader = HistoryReader {
        ledger: OrderLedger::new(row.created_at, end, (LedgerReason::Postponed, None)),
        row,
        is_first: true,
    };
    read_on(client, row, 0, |event| {
        reader.take(event);
        ControlFlow::Continue(())
    })
    .await?;
    let mut spans = reader.present().finish();
    if spans.iter().any(|span| span.reason == LedgerReason::Wait) {
        let asked = requests::of_order(client, row.no, 0, LOOKED_AT).await?;
        spans.iter_mut().filter(|span| span.reason == LedgerReason::Wait).for_each(|span| name(span, &asked));
    }
    if spans.iter().any(|span| matches!(span.reason, LedgerReason::Queue | LedgerReason::Capacity)) {
        spans = ledger::with_stops(spans, &stops(client, row, end).await?);
    }
    Ok(spans)
}

/// Shows the history of an order to its ledger.
struct HistoryReader<'a> {
    ledger: OrderLedger,
    row: &'a Row,
    /// True until a stage of the present life has been seen: only the first one waits for the queue of the order.
    is_first: bool,
}

impl HistoryReader<'_> {
    fn take(&mut self, event: &HistoryEvent) {
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
        match (&self.row.queue, self.row.mode) {
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
        let at_once = self.is_first && self.row.start_at.is_none();
        let then = match detail["status"].as_str().and_then(|word| word.parse::<Status>().ok()) {
            None => (LedgerReason::Work, None),
            Some(Status::Wait) if detail["rests"].is_string() => (LedgerReason::System, None),
            Some(Status::Retry) => (LedgerReason::Retry, detail["rests"].as_str().map(str::to_owned)),
            Some(status) => (LedgerReason::of(status), None),
        };
        Some(LedgerStage {
            ready_at: waited.or(at_once.then_some(self.row.created_at)),
            started_at,
            calls: detail["steps"].as_array().into_iter().flatten().filter_map(call).collect(),
            until: time(&detail["endedAt"]).unwrap_or(event.at),
            then,
        })
    }

    /// The ledger with what the order does now.
    fn present(mut self) -> OrderLedger {
        let row = self.row;
        if let Some(since) = row.ready_since {
            let ready = self.ready();
            self.ledger.turn(since, ready);
        }
        if let Some((_, since)) = row.running {
            self.ledger.turn(since, (LedgerReason::Work, None));
        }
        self.ledger
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

/// Says for which requests a time passed.
fn name(span: &mut LedgerSpan, asked: &[RequestView]) {
    let open = asked.iter().filter(|one| {
        let closed = one.closed_at.map_or(i64::MAX, Timestamp::as_millisecond);
        one.registered_at.as_millisecond() <= span.from && closed > span.from
    });
    let names: Vec<&str> = open.map(|one| one.name.as_str()).collect();
    span.about = (!names.is_empty()).then(|| names.join(", "));
}

/// Times in which the flow of an order was stopped, oldest first, as far as the decisions about it are kept.
async fn stops(
    client: &Client,
    row: &Row,
    end: Timestamp,
) -> Result<Vec<(Timestamp, Timestamp, String)>, Error> {
    let wanted = DecisionsWanted {
        subject: DecisionSubject::Flow,
        name: &row.flow,
        since: Timestamp::UNIX_EPOCH,
        before: (end, ""),
    };
    let mut until = end;
    let mut stops = Vec::new();
    for one in decisions::page(client, &wanted, LOOKED_AT).await? {
        let decision = one.view;
        let is_stop = matches!(
            decision.state.parse(),
            Ok(FlowState::Stopped | FlowState::DisabledManually | FlowState::Probing)
        );
        if is_stop {
            stops.push((decision.at, until, decision.why));
        }
        until = decision.at;
        if until <= row.created_at {
            break;
        }
    }
    stops.reverse();
    Ok(stops)
}

fn view(row: &Row, until: Timestamp, spans: &[LedgerSpan]) -> LedgerView {
    let total_ms = spans.iter().map(|span| span.until - span.from).sum::<i64>();
    let share = |ms: i64| if total_ms == 0 { 0.0 } else { ms as f64 / total_ms as f64 };
    let shares = ledger::sums(spans).into_iter().map(|((reason, detail), ms)| LedgerShareView {
        reason: reason.to_string(),
        detail,
        ms,
        share: share(ms),
    });
    let left_out = spans.len().saturating_sub(SHOWN);
    let moment = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or(row.created_at);
    let shown = spans.iter().skip(left_out).map(|span| LedgerSpanView {
        from: moment(span.from),
        until: moment(span.until),
        reason: span.reason.to_string(),
        detail: span.about.clone(),
    });
    LedgerView {
        id: row.id.clone(),
        from: row.created_at,
        until,
        total_ms,
        shares: shares.collect(),
        spans: shown.collect(),
        left_out,
    }
}
