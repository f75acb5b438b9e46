//! Forecast of whether an order will keep its promise (ORD-31), and why not.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::flow::StartEstimate;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::promise::{ExpectedEnd, PromiseVerdict, PromisedOrder, RemainingTimes};
use pagurus_runtime::config::Settings;
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_store::lists::promises::{self, PromiseStand};
use pagurus_store::outside::orders::{self, OrderRow as Row};
use pagurus_store::{Client, Error};
use pagurus_wire::foresight::PromiseView;

use super::eta::{FlowOutlook, WaitingStage};
use super::sentence::Explainer;
use crate::foresight::promise_view;
use crate::retry;

/// Judges orders with promises. The figures of each flow are read once.
#[derive(Debug, Default)]
pub struct Foresight {
    flows: HashMap<String, FlowOutlook>,
}

impl Foresight {
    /// Judges whether an order will be late, or when to look again; `times` are those of its scenario. The stages before it
    /// are counted only if it matters.
    pub async fn judge(
        &mut self,
        client: &Client,
        stand: &PromiseStand,
        times: &RemainingTimes,
    ) -> Result<PromiseVerdict, Error> {
        let bound = self.with_start(client, stand, true).await?.judge(times, stand.now);
        match bound {
            PromiseVerdict::Jeopardy(_) if stand.ready_since.is_some() => {
                Ok(self.with_start(client, stand, false).await?.judge(times, stand.now))
            }
            verdict => Ok(verdict),
        }
    }

    /// Time at which an order will have ended.
    async fn expected(
        &mut self,
        client: &Client,
        stand: &PromiseStand,
        times: &RemainingTimes,
    ) -> Result<ExpectedEnd, Error> {
        Ok(self.with_start(client, stand, false).await?.expected(times, stand.now))
    }

    /// The order with its wait for a worker.
    async fn with_start(
        &mut self,
        client: &Client,
        stand: &PromiseStand,
        is_bound: bool,
    ) -> Result<PromisedOrder, Error> {
        let mut order = stand.order.clone();
        if let Some(since) = stand.ready_since {
            if !self.flows.contains_key(&stand.flow) {
                self.flows.insert(stand.flow.clone(), FlowOutlook::read(client, &stand.flow).await?);
            }
            let queue = stand.queue.as_ref().map(|(queue, position)| (queue.as_str(), *position));
            let stage = WaitingStage { no: stand.no, flow: &stand.flow, since, queue };
            if let Some(flow) = self.flows.get(&stand.flow) {
                let outlook = flow.start_of(client, stage, is_bound).await?;
                // A flow that stands still goes on standing as long as it has stood, for all that is known.
                let still = outlook.still_since.map(|since| stand.now.duration_since(since).unsigned_abs());
                order.start = outlook.start.or(still.map(|time| StartEstimate { p50: time, p90: time }));
                order.not_before = order.not_before.max(outlook.stopped_until);
            }
        }
        Ok(order)
    }
}

/// Explains in one plain sentence why an order does not run; `None` if there is no such order.
pub async fn plain_reason(
    client: &Client,
    catalogue: &Catalogue,
    settings: &Settings,
    id: &str,
) -> Result<Option<String>, Error> {
    let Some(row) = orders::view(client, id).await? else { return Ok(None) };
    let known = catalogue.get(client, ScenarioNo(row.scenario_no)).await?;
    let scenario = known.and_then(Known::readable);
    let cycles = retry::cycles(settings, scenario.as_deref(), &row, Timestamp::now());
    let explainer = Explainer { settings, scope: &AccessScope::WHOLE };
    explainer.sentence(client, &row, &cycles).await.map(|(_, text)| Some(text))
}

/// The promise of an order with what is expected now, where it has one.
pub(super) async fn of_order(client: &Client, row: &Row) -> Result<Option<PromiseView>, Error> {
    let Some(promise_at) = row.promise_at else { return Ok(None) };
    let mark = promises::of_order(client, row.no).await?;
    let expected_at = match promises::stands(client, &[row.no.0]).await?.pop() {
        None => None,
        Some(stand) => {
            let known = promises::remaining_times(client, &[&stand.scenario]).await?;
            let times = known.get(&stand.scenario).cloned().unwrap_or_default();
            let expected = Foresight::default().expected(client, &stand, &times).await?;
            expected.is_known.then_some(expected.p90)
        }
    };
    Ok(Some(promise_view(promise_at, expected_at, mark)))
}
