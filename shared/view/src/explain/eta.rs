//! When an order that waits will start (ORD-30): from its place and from what the dispatcher knows of its flow.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::dispatch::{StartEstimate, queue_estimate, start_estimate};
use pagurus_store::orders::OrderRow as Row;
use pagurus_store::{Client, Error, flows, queues, stops};
use pagurus_wire::order::EtaView;

/// Stages that are counted before one, at most: what waits behind more starts later than anybody reckons with.
const MOST: i64 = 100_000;

/// When an order starts that may run, or waits in a queue; none for any other, and where nothing is known.
///
/// # Errors
/// The database fails.
pub(super) async fn of(client: &Client, row: &Row, now: Timestamp) -> Result<Option<EtaView>, Error> {
    let waits = row.ready_since.is_some() && row.running.is_none();
    if !waits || !stops::of_flow(client, &row.flow).await?.is_empty() {
        return Ok(None);
    }
    let Some(flow) = flows::one(client, &row.flow).await? else { return Ok(None) };
    let before = match (&row.queue, row.position) {
        (Some(queue), Some(position)) => queues::before(client, queue, position).await?,
        _ => 0,
    };
    let estimate = if before > 0 {
        queue_estimate(&flow.record, u32::try_from(before).unwrap_or(u32::MAX))
    } else {
        let position = flows::ready_before(client, &row.flow, row.no, MOST).await?;
        start_estimate(&flow.record, position)
    };
    Ok(estimate.and_then(|StartEstimate { p50, p90 }| {
        let at = |after| now.checked_add(SignedDuration::try_from(after).ok()?).ok();
        Some(EtaView { p50: at(p50)?, p90: at(p90)? })
    }))
}
