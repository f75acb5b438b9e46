//! Spans of orders: their histories, their requests, and the stops of their flows.

use std::collections::HashMap;
use std::ops::ControlFlow;

use jiff::Timestamp;
use pagurus_domain::flow::{DecisionSubject, FlowState};
use pagurus_domain::order::ledger::{self, LedgerReason, LedgerSpan};
use pagurus_store::hot::history::{self, HistoryEvent};
use pagurus_store::hot::requests::{self, RequestTime};
use pagurus_store::lists::ledger::LedgerOrder;
use pagurus_store::upkeep::decisions::{self, DecisionsWanted};
use pagurus_store::{Client, Error};

use super::history::HistoryReader;
use crate::part::read_on;

/// Requests of one order, and decisions about one flow, that are looked at.
const LOOKED_AT: i64 = 1000;
/// Events of one order of many that are looked at: as many as some hundred stages leave.
const EVENTS: i64 = 500;

/// A time in which a flow was stopped, with the reason.
type StopTime = (Timestamp, Timestamp, String);

/// Reader of the spans of orders.
pub(super) struct SpanReader<'a> {
    client: &'a Client,
    /// Stops before it are of no interest.
    from: Timestamp,
    /// Present time.
    now: Timestamp,
    /// Stops of the flows that were met.
    stops: HashMap<String, Vec<StopTime>>,
}

impl<'a> SpanReader<'a> {
    /// A reader of spans that end after this time.
    pub fn new(client: &'a Client, from: Timestamp, now: Timestamp) -> Self {
        Self { client, from, now, stops: HashMap::new() }
    }

    /// Spans of one order, however long its history is.
    pub async fn of_one(&mut self, order: &LedgerOrder) -> Result<Vec<LedgerSpan>, Error> {
        let mut reader = HistoryReader::new(order, self.end(order));
        read_on(self.client, order.no, 0, |event| {
            reader.take(event);
            ControlFlow::Continue(())
        })
        .await?;
        let mut times = requests::times(self.client, &[order.no.0], LOOKED_AT).await?;
        self.explained(order, reader.finish(), times.remove(&order.no)).await
    }

    /// Spans of each of some orders; none of an order whose history is too long to be read among others.
    pub async fn of_some(&mut self, orders: &[LedgerOrder]) -> Result<Vec<Option<Vec<LedgerSpan>>>, Error> {
        let nos: Vec<i64> = orders.iter().map(|order| order.no.0).collect();
        let events = history::of_orders(self.client, &nos, EVENTS).await?;
        let limit = LOOKED_AT.saturating_mul(i64::try_from(nos.len()).unwrap_or(i64::MAX));
        let mut times = requests::times(self.client, &nos, limit).await?;
        let mut all = Vec::with_capacity(orders.len());
        for order in orders {
            let events: &[HistoryEvent] = events.get(&order.no).map_or(&[], Vec::as_slice);
            if i64::try_from(events.len()).is_ok_and(|read| read >= EVENTS) {
                all.push(None);
                continue;
            }
            let mut reader = HistoryReader::new(order, self.end(order));
            events.iter().for_each(|event| reader.take(event));
            all.push(Some(self.explained(order, reader.finish(), times.remove(&order.no)).await?));
        }
        Ok(all)
    }

    /// End of the time that counts: the end of the order, or now.
    fn end(&self, order: &LedgerOrder) -> Timestamp {
        order.finished_at.unwrap_or(self.now)
    }

    /// The spans with what their waits are about.
    async fn explained(
        &mut self,
        order: &LedgerOrder,
        mut spans: Vec<LedgerSpan>,
        asked: Option<Vec<RequestTime>>,
    ) -> Result<Vec<LedgerSpan>, Error> {
        let asked = asked.unwrap_or_default();
        spans.iter_mut().filter(|span| span.reason == LedgerReason::Wait).for_each(|span| name(span, &asked));
        let may_be_stopped =
            |span: &LedgerSpan| matches!(span.reason, LedgerReason::Queue | LedgerReason::Capacity);
        if !spans.iter().any(may_be_stopped) {
            return Ok(spans);
        }
        if !self.stops.contains_key(&order.flow) {
            let stops = stops(self.client, &order.flow, self.from, self.now).await?;
            self.stops.insert(order.flow.clone(), stops);
        }
        Ok(ledger::with_stops(spans, self.stops.get(&order.flow).map_or(&[], Vec::as_slice)))
    }
}

/// Says for which requests a time passed.
fn name(span: &mut LedgerSpan, asked: &[RequestTime]) {
    let open = asked.iter().filter(|one| {
        let closed = one.closed_at.map_or(i64::MAX, Timestamp::as_millisecond);
        one.registered_at.as_millisecond() <= span.from && closed > span.from
    });
    let names: Vec<&str> = open.map(|one| one.name.as_str()).collect();
    span.about = (!names.is_empty()).then(|| names.join(", "));
}

/// Times between two moments in which a flow was stopped, oldest first, as far as the decisions about it are kept.
async fn stops(client: &Client, flow: &str, from: Timestamp, end: Timestamp) -> Result<Vec<StopTime>, Error> {
    let wanted = DecisionsWanted {
        subject: DecisionSubject::Flow,
        name: flow,
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
        if until <= from {
            break;
        }
    }
    stops.reverse();
    Ok(stops)
}
