//! When an order that waits will start (ORD-30): from its place and from what the dispatcher knows of its flow.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::dispatch::{StartEstimate, queue_estimate, start_estimate};
use pagurus_domain::id::OrderNo;
use pagurus_store::orders::OrderRow as Row;
use pagurus_store::{Client, Error, flows, queues, stops};
use pagurus_wire::foresight::EtaView;

/// Stages that are counted before one, at most: what waits behind more starts later than anybody reckons with.
const MOST: i64 = 100_000;

/// A stage that waits for a worker.
#[derive(Clone, Copy, Debug)]
pub struct WaitingStage<'a> {
    /// Its order.
    pub no: OrderNo,
    /// Flow of the order.
    pub flow: &'a str,
    /// The queue, with its place there.
    pub queue: Option<(&'a str, i64)>,
}

/// What is known of the start of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartOutlook {
    /// Its flow is stopped by hand until then.
    pub stopped_until: Option<Timestamp>,
    /// The time until it starts; none where that is not known, or its flow is stopped.
    pub start: Option<StartEstimate>,
}

/// What is known of the start of a stage that waits.
///
/// # Errors
/// The database fails.
pub async fn start_of(client: &Client, stage: WaitingStage<'_>) -> Result<StartOutlook, Error> {
    let stops = stops::of_flow(client, stage.flow).await?;
    if !stops.is_empty() {
        let ends: Option<Vec<Timestamp>> = stops.iter().map(|stop| stop.rule.until).collect();
        return Ok(StartOutlook { stopped_until: ends.and_then(|ends| ends.into_iter().max()), start: None });
    }
    let Some(flow) = flows::one(client, stage.flow).await? else { return Ok(StartOutlook::default()) };
    let before = match stage.queue {
        Some((queue, position)) => queues::before(client, queue, position).await?,
        None => 0,
    };
    let start = if before > 0 {
        queue_estimate(&flow.record, u32::try_from(before).unwrap_or(u32::MAX))
    } else {
        let position = flows::ready_before(client, stage.flow, stage.no, MOST).await?;
        start_estimate(&flow.record, position)
    };
    Ok(StartOutlook { stopped_until: None, start })
}

/// The stage of an order, where it waits for a worker.
pub(crate) fn waiting(row: &Row) -> Option<WaitingStage<'_>> {
    let waits = row.ready_since.is_some() && row.running.is_none();
    let stage = || WaitingStage { no: row.no, flow: &row.flow, queue: row.queue.as_deref().zip(row.position) };
    waits.then(stage)
}

/// The same for people; none where nothing is known.
pub(super) fn shown(start: Option<StartEstimate>, now: Timestamp) -> Option<EtaView> {
    let StartEstimate { p50, p90 } = start?;
    let at = |after| now.checked_add(SignedDuration::try_from(after).ok()?).ok();
    Some(EtaView { p50: at(p50)?, p90: at(p90)? })
}
