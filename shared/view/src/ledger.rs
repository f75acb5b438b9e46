//! Where time went (ORD-32): of one order, span by span, and of many, in sums.

mod history;
mod spans;
mod sums;

use jiff::Timestamp;
use pagurus_domain::order::ledger::{LedgerEntry, LedgerSpan, LedgerSums};
use pagurus_store::lists::ledger::{self, LedgerOrder};
use pagurus_wire::ledger::{LedgerShareView, LedgerSpanView, LedgerView};
use pagurus_wire::problem::Problem;

use crate::Views;
use spans::SpanReader;
pub use sums::{LedgerFields, LedgerQuery};

/// Spans that are shown.
const SHOWN: usize = 1000;

impl Views {
    /// Says for which reasons the time of an order passed.
    pub async fn ledger(&self, id: &str) -> Result<LedgerView, Problem> {
        let (client, row) = self.found(id).await?;
        let now = Timestamp::now();
        let read = async {
            let Some(order) = ledger::orders(&client, &[row.no.0]).await?.pop() else { return Ok(None) };
            let spans = SpanReader::new(&client, order.created_at, now).of_one(&order).await?;
            Ok(Some((order, spans)))
        };
        let (order, spans) = read.await.map_err(self.failed("read"))?.ok_or_else(|| Problem::no_order(id))?;
        Ok(view(row.id, &order, order.finished_at.unwrap_or(now), &spans))
    }
}

fn view(id: String, order: &LedgerOrder, until: Timestamp, spans: &[LedgerSpan]) -> LedgerView {
    let mut sums = LedgerSums::within(order.created_at, until);
    sums.add(spans);
    let left_out = spans.len().saturating_sub(SHOWN);
    let moment = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or(order.created_at);
    let shown = spans.iter().skip(left_out).map(|span| LedgerSpanView {
        from: moment(span.from),
        until: moment(span.until),
        reason: span.reason.to_string(),
        detail: span.about.clone(),
    });
    LedgerView {
        id,
        from: order.created_at,
        until,
        total_ms: sums.total(),
        shares: shares(sums, usize::MAX),
        spans: shown.collect(),
        left_out,
    }
}

/// The shares of sums, `most` of them by name.
fn shares(sums: LedgerSums, most: usize) -> Vec<LedgerShareView> {
    let total_ms = sums.total();
    let share = |ms: i64| if total_ms == 0 { 0.0 } else { ms as f64 / total_ms as f64 };
    let view = |((reason, detail), ms): (LedgerEntry, i64)| LedgerShareView {
        reason: reason.to_string(),
        detail,
        ms,
        share: share(ms),
    };
    sums.shares(most).into_iter().map(view).collect()
}
